"""`trued gate`: install the gate, run it by hand, and answer the hooks that call it."""

import asyncio
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from trued import gate
from trued.cli.context import AsJson
from trued.cli.gate_ci import ci
from trued.cli.terminal import err, hint, home, out, outside_agents, person_there, print_json, typed, whoami
from trued.engine.worktree import Checkout, checkout
from trued.errors import BadInput, Interrupted, TruedError
from trued.inputs.settings import loader as config
from trued.model import Settings
from trued.proof.contract import exit_code
from trued.reporting.views import ledger
from trued.support.plurals import counted
from trued.support.processes import agent_around
from trued.support.redaction import plain

Found = TypeVar("Found")
app = typer.Typer(rich_markup_mode=None)
gates = typer.Typer(rich_markup_mode=None, no_args_is_help=False)
app.add_typer(gates, name="gate", help="Block agents, pushes and CI until requirements are met")
gates.command()(ci)
hooks = typer.Typer(rich_markup_mode=None)
gates.add_typer(hooks, name="hook", help="Called by Claude Code and git; reads their input from stdin")

Places = Annotated[
    list[str], typer.Argument(metavar="claude|git|github...", help="Where to install it.", show_default=False)
]
Requirements = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The requirements file; keep it outside the repository.", show_default=False),
]
Base = Annotated[
    str | None,
    typer.Option(
        metavar="REV", help="The commit that the work starts from.", show_default="merge base with the upstream"
    ),
]
Accept = Annotated[
    str | None, typer.Option(metavar="GRADE", help="The lowest grade that counts as met.", show_default="attested")
]
Attempts = Annotated[
    int | None, typer.Option(min=1, max=7, help="Block an agent's stop at most this often.", show_default="3")
]
Within = Annotated[
    float | None, typer.Option(min=1, metavar="SECONDS", help="Time limit for all checks.", show_default="600")
]
Repo = Annotated[Path, typer.Option(metavar="DIR", help="The repository.", show_default="this folder")]
Who = Annotated[str, typer.Option("--as", metavar="NAME", help="Your name.", show_default=False)]
Reason = Annotated[str, typer.Option(help="Your reason.", show_default=False)]


@gates.callback(invoke_without_command=True)
def ask(
    context: typer.Context,
    head: Annotated[
        str, typer.Option(metavar="REV", help="The commit to check.", show_default="the working tree")
    ] = "",
    repo: Repo = Path(),
    as_json: AsJson = False,
) -> None:
    """Check the working tree, with uncommitted changes and new files, against the sealed contract.

    `trued gate install claude --requirements FILE` seals the contract and blocks Claude Code's stop until it is met.
    """
    if context.invoked_subcommand:
        return
    grounds, standing = _standing(repo)
    judge = grounds.judge(standing, _tell)
    found = _run(judge.commit(_commit(grounds.checkout, head)) if head else judge.now())
    _show(grounds, standing, found, as_json=as_json)
    raise typer.Exit(exit_code(found.outcome))


@gates.command()
def install(
    places: Places,
    requirements: Requirements = None,
    base: Base = None,
    accept: Accept = None,
    attempts: Attempts = None,
    within: Within = None,
    repo: Repo = Path(),
) -> None:
    """Seal the contract and install the gate for Claude Code, git or GitHub. Everything else in their files stays."""
    outside_agents("gate install")
    grounds = _grounds(repo)
    if grounds.keep.gate():
        _by_a_person("install")
    wanted = gate.Wanted(requirements, base, _settings(accept).accept if accept else None, attempts, within)
    if wanted.accept is None and grounds.keep.gate() is None:
        wanted = gate.Wanted(requirements, base, _settings(None).accept, attempts, within)
    done = _run(gate.install(grounds, _known(places), wanted, tell=_tell))
    for place in _known(places):
        out().print(Text(f"{place}: {plain(done.installed[place].path)}"), soft_wrap=True)
    _sealed(grounds, done)


@gates.command()
def remove(places: Places, repo: Repo = Path()) -> None:
    """Remove the gate and restore the files that it changed."""
    _by_a_person("remove")
    gone = gate.remove(_grounds(repo), _known(places))
    for place in _known(places):
        out().print(f"{place}: {'removed' if place in gone else 'was not installed'}")


@gates.command()
def status(repo: Repo = Path(), as_json: AsJson = False) -> None:
    """Show the sealed contract, where the gate is installed, changes made to it since, and its last decisions."""
    grounds = _grounds(repo)
    standing, recorded = grounds.keep.gate(), grounds.keep.recorded()
    troubles = gate.troubles(standing) if standing else []
    if as_json:
        data = (
            standing.model_dump(mode="json", exclude={"installed": {"__all__": {"before", "after"}}})
            if standing
            else None
        )
        print_json({"gate": data, "troubles": troubles, "recorded": recorded})
        return
    if standing is None:
        out().print("no gate is installed here")
    else:
        for place, one in standing.installed.items():
            out().print(Text(f"{place}: {plain(one.path)}"), soft_wrap=True)
        _sealed(grounds, standing)
        for note in standing.amendments:
            out().print(Text(plain(f"amended by {note.who}: {note.why} ({note.what})")), soft_wrap=True)
    for sentence in troubles:
        out().print(Text(f"! {plain(sentence)}", "red"), soft_wrap=True)
    for line in recorded[-5:]:
        told = ", ".join(
            f"{WORDS.get(name, name)} {_words(value)}" for name, value in line.items() if name not in ("at", "what")
        )
        out().print(Text(plain(f"{line.get('what', '')}: {told}"), "dim"), soft_wrap=True)


WORDS = {"places": "in"}


def _words(value: object) -> str:
    """A value of the gate's log as text."""
    return " and ".join(map(_words, value)) or "none" if isinstance(value, list) else str(value)


@gates.command()
def amend(  # noqa: PLR0913 - each is a flag
    requirements: Requirements = None,
    base: Base = None,
    accept: Accept = None,
    attempts: Attempts = None,
    within: Within = None,
    attest: Annotated[
        str,
        typer.Option(metavar="REQUIREMENT", help="Accept this requirement for the work as it is.", show_default=False),
    ] = "",
    who: Who = "",
    reason: Reason = "",
    repo: Repo = Path(),
) -> None:
    """Change the sealed contract, or accept a requirement yourself. Recorded with your name and reason."""
    _by_a_person("amend")
    grounds, _ = _standing(repo)
    name, why = _signed(who, reason)
    if attest:
        _run(gate.attest(grounds, attest, who=name, why=why, tell=_tell))
        out().print(Text(plain(f"{attest}: accepted by {name}")), soft_wrap=True)
        return
    wanted = gate.Wanted(requirements, base, _settings(accept).accept if accept else None, attempts, within)
    _sealed(grounds, _run(gate.amend(grounds, wanted, who=name, why=why, tell=_tell)))


# -- hooks -------------------------------------------------------------------------------------------------------------


@hooks.command("claude")
def hook_claude() -> None:
    """Answer Claude Code's hook: read its JSON from stdin, print JSON. An error of the gate blocks nobody."""
    try:
        question = gate.asked(sys.stdin.buffer.read(gate.MOST_BYTES + 1))
    except TruedError as error:
        _let_go(str(error))
    try:
        answer = _run(_answered(question))
    except TruedError as error:
        answer = {"systemMessage": f"trued gate could not judge, so nothing is proven: {plain(str(error))}"}
    if answer:
        print(json.dumps(answer))


async def _answered(question: gate.Asked) -> dict[str, str]:
    folders = gate.folder_of(question, os.environ.get("CLAUDE_PROJECT_DIR", ""), Path.cwd())
    grounds = _first_with_a_gate(folders)
    standing = grounds.keep.gate() if grounds else None
    if grounds is None or standing is None:
        return {"systemMessage": "trued gate: no contract is sealed for this repository; nothing was checked"}
    if question.event == gate.CHANGED:
        return gate.changed(gate.troubles(standing))
    found = await grounds.judge(standing, _quiet).now()
    session = grounds.keep.session(question.session)
    decision = gate.decide(standing, found, session, active=question.active)
    grounds.keep.keep(question.session, decision.session)
    outcome = "blocked" if decision.blocked else "let go" if found.passed else "let go, not proven"
    grounds.keep.record(outcome, session=question.session, event=question.event, blocks=decision.session.blocks)
    answer = decision.answer()
    if troubles := gate.troubles(standing):
        answer["systemMessage"] = "\n".join([*filter(None, [answer.get("systemMessage")]), *troubles])
    return {name: plain(text) for name, text in answer.items()}


def _first_with_a_gate(folders: list[Path]) -> gate.Grounds | None:
    for folder in folders:
        try:
            grounds = _grounds(folder)
        except BadInput:  # not a repository; try the next folder
            continue
        if grounds.keep.gate():
            return grounds
    return None


def _let_go(sentence: str) -> NoReturn:
    """Exit with 1 and no stdout: Claude Code shows the sentence to the user and lets the agent stop."""
    err().print(Text(f"trued gate: {plain(sentence)}"), soft_wrap=True)
    raise typer.Exit(1)


@hooks.command("git")
def hook_git(
    remote: Annotated[list[str] | None, typer.Argument(help="Name and address of the remote, passed by git.")] = None,
) -> None:
    """Answer git's pre-push hook: read the refs from stdin, exit with 1 to refuse the push."""
    refs = gate.pushed(sys.stdin.buffer.read(gate.MOST_LINES_BYTES))
    grounds = _grounds(Path())
    standing = grounds.keep.gate()
    if standing is None:
        return
    commits, said = gate.due(grounds.checkout, standing.base, refs)
    for sentence in (*said, *gate.troubles(standing)):
        hint(f"trued gate: {sentence}")
    found = _run(gate.judge_all(grounds.judge(standing, _quiet), commits))
    for commit, one in found.items():
        _stands(err(), one, f"{commit[:12]} → {', '.join(commits[commit])}", standing)
    refused = [one for one in found.values() if not one.passed]
    grounds.keep.record("push refused" if refused else "pushed", commits=list(found))
    if refused:
        hint("nothing was pushed; `git push --no-verify` skips the gate and leaves no record")
        raise typer.Exit(1)


# -- output ------------------------------------------------------------------------------------------------------------


def _show(grounds: gate.Grounds, standing: gate.Gate, found: gate.Judgement, *, as_json: bool) -> None:
    troubles = gate.troubles(standing)
    if as_json:
        contract = grounds.keep.contract(standing)
        data = ledger(found.verdict, contract, over=False)  # the caller may be the agent under check
        more = {"state": found.outcome.state, "accept": str(standing.accept), "tree": found.tree, "dirty": found.dirty}
        print_json({**data, **more, "contract": standing.contract, "base": standing.base, "troubles": troubles})
        return
    _stands(out(), found, "the working tree" if found.dirty else found.commit[:12], standing)
    for sentence in (*found.notes, *troubles):
        hint(f"! {sentence}")


def _stands(console: Console, found: gate.Judgement, what: str, standing: gate.Gate) -> None:
    style, heading = "green" if found.passed else "red", gate.heading(found.outcome, standing.accept)
    console.print(Text.assemble(("trued gate: ", "bold"), f"{plain(what)}: ", (heading, style)), soft_wrap=True)
    for line in [] if found.passed else gate.reasons(found.verdict, standing.accept):
        console.print(Text(f"  {plain(line)}"), soft_wrap=True)
    if found.outcome.lacking:
        hint(gate.lacking(found.outcome))


def _sealed(grounds: gate.Grounds, standing: gate.Gate) -> None:
    contract = grounds.keep.contract(standing)
    number = len(contract.requirements)
    out().print(
        Text(
            f"sealed: {counted(number, 'requirement')} on base {standing.base[:12]}, "
            f"contract {standing.contract[:12]}; counts as met: {standing.accept} or better"
        ),
        soft_wrap=True,
    )
    if not contract.held_out:
        hint(f"{contract.held_out_why}; no grade can be above tested: move the file, or use --accept tested")


# -- settings, repository, person --------------------------------------------------------------------------------------


def _settings(accept: str | None) -> Settings:
    """The user's own settings; a repository's settings do not apply to its gate."""
    return config.load_settings({"accept": accept}, os.environ, None, config.user_config(os.environ))


def _grounds(repo: Path) -> gate.Grounds:
    here = checkout(repo, os.environ)
    settings = _settings(None)
    keep = gate.Keep(home(), here.common)
    return gate.Grounds(here, keep, _command(), settings.sandbox, settings.allow_unsandboxed)


def _standing(repo: Path) -> tuple[gate.Grounds, gate.Gate]:
    grounds = _grounds(repo)
    standing = grounds.keep.gate()
    if standing is None:
        raise BadInput("no gate is installed here", then="`trued gate install claude --requirements FILE`")
    return grounds, standing


def _command() -> str:
    """The shell command that starts this same program later, with the same private state."""
    found = shutil.which("trued")
    same = found is not None and Path(found).resolve() == Path(sys.argv[0]).resolve()
    words = ["trued"] if same else [sys.executable, "-P", "-m", "trued"]  # -P: import nothing from the repository
    given = os.environ.get("TRUED_HOME")
    place = f"TRUED_HOME={shlex.quote(str(home()))} " if given else ""
    return place + shlex.join(words)


def _commit(here: Checkout, name: str) -> str:
    if found := here.commit(name):
        return found
    raise BadInput(f"{here.root} has no commit {name!a}", then="pass another commit, or leave out --head")


def _known(places: list[str]) -> list[str]:
    for one in places:
        if one not in gate.PLACES:
            raise BadInput(f"a gate cannot be installed in {one!a}", then=f"choose {', '.join(gate.PLACES)}")
    return list(dict.fromkeys(places))


def _by_a_person(command: str) -> None:
    outside_agents(f"gate {command}")
    if agent := agent_around():
        raise BadInput(
            f"`trued gate {command}` is refused inside an agent ({agent})", then="run it in your own terminal"
        )


def _signed(who: str, reason: str) -> tuple[str, str]:
    """Name and reason of a person at a terminal. Options alone do not count: unsandboxed agents could pass them."""
    if not person_there():
        raise BadInput("this command needs a terminal", then="run it in one")
    name = who or (asyncio.run(typed(f"Your name: [{whoami()}] ")) or whoami())
    why = reason or asyncio.run(typed("Reason (leave empty to cancel): "))
    if not why:
        raise BadInput("nothing was changed", then="give a reason")
    return name, why


def _run(work: Coroutine[Any, Any, Found]) -> Found:
    """Run to the end. A signal cancels it cleanly, so that no process of a check is left behind."""

    async def told() -> Found:
        task = asyncio.current_task()
        for one in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(one, lambda: task and task.cancel())
        return await work

    try:
        return asyncio.run(told())
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise Interrupted("interrupted: nothing was decided") from None


def _tell(kind: str, /, **data: object) -> None:
    if kind in ("sealed", "checked"):
        hint(f"{kind}: {data.get('sort', '')} {data.get('check', '')}")


def _quiet(kind: str, /, **data: object) -> None:
    """Drop events: hooks print only their result."""
