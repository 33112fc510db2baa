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
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from trued.cli.context import AsJson
from trued.cli.gate_ci import ci, drop_event
from trued.cli.options import AcceptOption, Reason, RepositoryOption, Who
from trued.cli.terminal import (
    ask_name_and_reason,
    err,
    hint,
    home,
    is_interactive,
    out,
    outside_agents,
    print_json,
)
from trued.engine.signals import STOPPING, stop_on_signals
from trued.engine.worktree import Checkout, open_checkout
from trued.errors import BadInput, Interrupted, TruedError
from trued.gate import claude, claude_stop, git_hook, pushed_refs
from trued.gate.claude_stop import HookCall
from trued.gate.install import (
    PLACES,
    GateOptions,
    GateSite,
    amend_contract,
    attest_requirement,
    existing_gate,
    find_problems,
    github_steps,
    install_gate,
    remove_gate,
)
from trued.gate.judge import JudgedTree
from trued.gate.messages import headline, missing_approval, reasons
from trued.gate.state import Gate, GateStore, check_outside
from trued.inputs.settings.folders import user_config
from trued.inputs.settings.loader import load_settings
from trued.model import Settings
from trued.proof.verdict.conclusion import exit_code_of_run
from trued.reporting.views.ledger import ledger_for_agents
from trued.support.plain_text import plain
from trued.support.plurals import counted
from trued.support.processes import agent_around

if TYPE_CHECKING:
    from trued.model.events import JournalEvent

NO_GATE = (
    "trued gate: no contract is sealed for this repository, so nothing was checked; `trued gate install` seals one"
)
Result = TypeVar("Result")
app = typer.Typer(rich_markup_mode=None)
gate_app = typer.Typer(rich_markup_mode=None, no_args_is_help=False)
app.add_typer(gate_app, name="gate", help="Block agents, pushes and CI until requirements are met")
gate_app.command()(ci)
hooks = typer.Typer(rich_markup_mode=None)
gate_app.add_typer(hooks, name="hook", help="Called by Claude Code and git; reads their input from stdin")

Places = Annotated[
    list[str], typer.Argument(metavar="claude|git|github...", help="Where to install the gate.", show_default=False)
]
RequirementsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The requirements file; keep it outside the repository.", show_default=False),
]
BaseOption = Annotated[
    str | None,
    typer.Option(metavar="REV", help="The commit that the work starts from.", show_default="where the branch began"),
]
Attempts = Annotated[
    int | None, typer.Option(min=1, max=7, help="How many times in a row to block an agent's stop.", show_default="3")
]
Within = Annotated[
    float | None,
    typer.Option(min=1, metavar="SECONDS", help="Total time limit for all checks together.", show_default="600"),
]


@gate_app.callback(invoke_without_command=True)
def ask(
    context: typer.Context,
    head: Annotated[
        str, typer.Option(metavar="REV", help="The commit to check.", show_default="the working tree")
    ] = "",
    repo: RepositoryOption = Path(),
    as_json: AsJson = False,
) -> None:
    """Check the working tree, with uncommitted changes and new files, or a commit, against the sealed contract.

    `trued gate install claude --requirements FILE` seals the contract and blocks Claude Code's stop until it is met.
    """
    if context.invoked_subcommand:
        return
    site, gate = _existing_gate(repo)
    judge = site.judge(gate, _print_event)
    judged = _run_to_end(judge.judge_commit(_commit(site.checkout, head)) if head else judge.judge_worktree())
    _print_verdict(site, gate, judged, as_json=as_json)
    raise typer.Exit(exit_code_of_run(judged.outcome))


@gate_app.command()
def install(  # noqa: PLR0913 - each is a flag
    places: Places,
    requirements: RequirementsOption = None,
    base: BaseOption = None,
    accept: AcceptOption = None,
    attempts: Attempts = None,
    within: Within = None,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared", help="Claude Code: write to the project's shared settings instead of your own local ones."
        ),
    ] = False,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="PACKAGE",
            help="GitHub: the pinned package for pip in CI: git+https://…@COMMIT, trued==VERSION or a committed wheel.",
            show_default="where this trued came from",
        ),
    ] = "",
    repo: RepositoryOption = Path(),
) -> None:
    """Seal the contract and install the gate for Claude Code, git or GitHub. Your other settings are kept."""
    outside_agents("gate install")
    site = _site(repo)
    if site.store.gate():
        _refuse_agents("install")
    bar = _settings(accept).accept if accept or site.store.gate() is None else None
    options = GateOptions(requirements, base, bar, attempts, within, shared, source)
    done = _run_to_end(install_gate(site, _known_places(places), options, emit=_print_event))
    for place in _known_places(places):
        out().print(Text(f"{place}: {plain(done.installed[place].path)}"), soft_wrap=True)
    _print_contract(site, done)
    _print_next_steps(site, done, places)


@gate_app.command()
def remove(places: Places, repo: RepositoryOption = Path()) -> None:
    """Remove the gate and restore the files that it changed."""
    _refuse_agents("remove")
    gone = remove_gate(_site(repo), _known_places(places))
    for place in _known_places(places):
        out().print(f"{place}: {'removed' if place in gone else 'was not installed'}")


@gate_app.command()
def status(repo: RepositoryOption = Path(), as_json: AsJson = False) -> None:
    """Show the sealed contract and its amendments, where the gate is installed, and its last decisions."""
    site = _site(repo)
    gate, recorded = site.store.gate(), site.store.last_records()
    problems = find_problems(site, gate) if gate else []
    if as_json:
        data = gate.model_dump(mode="json", exclude={"installed": {"__all__": {"before", "after"}}}) if gate else None
        print_json({"gate": data, "troubles": problems, "recorded": recorded})
        return
    if gate is None:
        out().print("no gate is installed here")
    else:
        for place, installation in gate.installed.items():
            out().print(Text(f"{place}: {plain(installation.path)}"), soft_wrap=True)
        _print_contract(site, gate)
        for note in gate.amendments:
            out().print(Text(plain(f"amended by {note.who}: {note.why} ({note.what})")), soft_wrap=True)
    for sentence in problems:
        out().print(Text(f"! {plain(sentence)}", "red"), soft_wrap=True)
    for line in recorded[-5:]:
        facts = ", ".join(
            f"{NAMES.get(name, name)} {_value_text(value)}"
            for name, value in line.items()
            if name not in ("at", "what")
        )
        out().print(Text(plain(f"{line.get('what', '')}: {facts}"), "dim"), soft_wrap=True)


NAMES = {"places": "in"}


def _value_text(value: object) -> str:
    """A value of the gate's log as text."""
    return " and ".join(map(_value_text, value)) or "none" if isinstance(value, list) else str(value)


@gate_app.command()
def amend(  # noqa: PLR0913 - each is a flag
    requirements: RequirementsOption = None,
    base: BaseOption = None,
    accept: AcceptOption = None,
    attempts: Attempts = None,
    within: Within = None,
    attest: Annotated[
        str,
        typer.Option(
            metavar="REQUIREMENT",
            help="Accept this requirement yourself (grade attested), for the work as it is now.",
            show_default=False,
        ),
    ] = "",
    who: Who = "",
    reason: Reason = "",
    repo: RepositoryOption = Path(),
) -> None:
    """Change the sealed contract, or accept a requirement yourself. Recorded with your name and reason."""
    _refuse_agents("amend")
    site, _ = _existing_gate(repo)
    name, why = _ask_name_and_reason(who, reason)
    if attest:
        _run_to_end(attest_requirement(site, attest, who=name, why=why, emit=_print_event))
        out().print(Text(plain(f"{attest}: accepted by {name}")), soft_wrap=True)
        return
    options = GateOptions(requirements, base, _settings(accept).accept if accept else None, attempts, within)
    _print_contract(site, _run_to_end(amend_contract(site, options, who=name, why=why, emit=_print_event)))


# -- hooks -------------------------------------------------------------------------------------------------------------


@hooks.command("claude")
def hook_claude() -> None:
    """Answer Claude Code's hook: read its JSON from stdin, print JSON. An error in the gate itself never blocks."""
    try:
        call = claude_stop.parse_hook_call(sys.stdin.buffer.read(claude_stop.MOST_BYTES + 1))
    except TruedError as error:
        _exit_without_block(str(error))
    try:
        answer = _run_to_end(_answer_hook(call))
    except TruedError as error:
        answer = _answer_to_error(call, error)
    if answer:
        print(json.dumps(answer))


async def _answer_hook(call: HookCall) -> dict[str, str]:
    """The answers of all gates around the agent, joined into one. The agent's project and another repository in which
    the agent works can each have a gate. An empty answer shows nothing and blocks nothing."""
    folders = claude_stop.work_folders(call, os.environ.get("CLAUDE_PROJECT_DIR", ""), Path.cwd())
    gates, unreadable = _gates_around(folders)
    if not gates and not unreadable:
        return {} if call.event in claude_stop.BEGINNINGS else {"systemMessage": NO_GATE}
    answers = [_answer_to_error(call, error) for error in unreadable]
    for site, gate in gates:
        try:
            answers.append(await _answer_of_gate(call, site, gate))
        except TruedError as error:  # one gate's error must not hide the answer of another gate
            answers.append(_answer_to_error(call, error))
    return claude_stop.join_answers(answers)


def _answer_to_error(call: HookCall, error: TruedError) -> dict[str, str]:
    """The answer of a gate that cannot judge. It never blocks. It shows the error to the user, but is empty when a turn
    or an agent has only just begun."""
    if call.event in claude_stop.BEGINNINGS:
        return {}
    return {"systemMessage": f"trued gate could not judge, so nothing is proven: {plain(str(error))}"}


async def _answer_of_gate(call: HookCall, site: GateSite, gate: Gate) -> dict[str, str]:
    if call.event == claude_stop.SETTINGS_CHANGED:
        return claude_stop.answer_settings_change(find_problems(site, gate, ["claude"]))
    judge = site.judge(gate, drop_event)
    if call.event in claude_stop.BEGINNINGS:
        await claude_stop.record_beginning(call, judge)
        return {}
    answer, judged = await claude_stop.answer_stop(call, judge)
    if judged is None:
        site.store.record("left alone", session=call.session, event=call.event)
    else:
        outcome = "blocked" if "decision" in answer else "let go" if judged.passed else "let go, not proven"
        blocks = site.store.session(call.session).blocks
        site.store.record(outcome, session=call.session, event=call.event, blocks=blocks)
    if problems := find_problems(site, gate):
        answer["systemMessage"] = "\n".join([*filter(None, [answer.get("systemMessage")]), *problems])
    return {name: plain(text) for name, text in answer.items()}


def _gates_around(folders: list[Path]) -> tuple[list[tuple[GateSite, Gate]], list[TruedError]]:
    """Return the gates of the repositories that contain these folders, each once, and an error for each other
    repository that cannot be read.

    An unreadable repository is reported because it might have a gate. An unreadable folder inside the checkout of a
    gate is ignored: the agent may have removed it.
    """
    gates, unreadable = dict[Path, tuple[GateSite, Gate]](), dict[Path, TruedError]()
    for folder in folders:
        try:
            checkout = open_checkout(folder, os.environ)
            site = _site_of(checkout)
            if checkout.common not in gates and (gate := site.store.gate()):
                gates[checkout.common] = site, gate
        except TruedError as error:
            if any(os.path.lexists(parent / ".git") for parent in (folder, *folder.parents)):
                unreadable[folder] = error
    roots = [site.checkout.root for site, _ in gates.values()]
    lost = {str(error): error for folder, error in unreadable.items() if not any(map(folder.is_relative_to, roots))}
    return [*gates.values()], [*lost.values()]


def _exit_without_block(sentence: str) -> NoReturn:
    """Print the sentence on stderr only, and exit with code 1. Claude Code then shows the sentence to the user and lets
    the agent stop."""
    err().print(Text(f"trued gate: {plain(sentence)}"), soft_wrap=True)
    raise typer.Exit(1)


@hooks.command("git")
def hook_git(
    remote: Annotated[list[str] | None, typer.Argument(help="Name and address of the remote, passed by git.")] = None,
) -> None:
    """Answer git's pre-push hook: read the refs from stdin, exit with 1 to refuse the push."""
    refs = pushed_refs.parse_pushed_refs(sys.stdin.buffer.read(pushed_refs.MOST_BYTES + 1))
    site = _site(Path())
    if not site.checkout.is_pushed_by(os.environ):
        raise BadInput(
            f"the pushed commits are not from the repository of {site.checkout.root}",
            then="push from its own working tree",
        )
    gate = site.store.gate()
    if gate is None:
        hint(NO_GATE)
        return
    commits, passed = pushed_refs.commits_to_check(site.checkout, gate.base, refs)
    for sentence in (*passed, *find_problems(site, gate)):
        hint(f"trued gate: {sentence}")
    judged = _run_to_end(pushed_refs.judge_commits(site.judge(gate, drop_event), commits))
    for commit, tree in judged.items():
        _print_headline(err(), tree, f"{commit[:12]} → {', '.join(commits[commit])}", gate)
    refused = [tree for tree in judged.values() if not tree.passed]
    site.store.record("push refused" if refused else "pushed", commits=list(judged))
    if refused:
        hint("nothing was pushed; `git push --no-verify` skips the gate and leaves no record")
        raise typer.Exit(1)


# -- output ------------------------------------------------------------------------------------------------------------


def _print_verdict(site: GateSite, gate: Gate, judged: JudgedTree, *, as_json: bool) -> None:
    problems = find_problems(site, gate)
    if as_json:
        contract = site.store.contract(gate)
        data = ledger_for_agents(judged.verdict, contract)
        more = {"state": judged.outcome.state, "accept": str(gate.accept), "tree": judged.tree, "dirty": judged.dirty}
        print_json({**data, **more, "contract": gate.contract, "base": gate.base, "troubles": problems})
        return
    _print_headline(out(), judged, "the working tree" if judged.dirty else judged.commit[:12], gate)
    for sentence in (*judged.notes, *problems):
        hint(f"! {sentence}")


def _print_headline(console: Console, judged: JudgedTree, what: str, gate: Gate) -> None:
    style, sentence = "green" if judged.passed else "red", headline(judged.outcome, gate.accept)
    console.print(Text.assemble(("trued gate: ", "bold"), f"{plain(what)}: ", (sentence, style)), soft_wrap=True)
    for line in [] if judged.passed else reasons(judged.verdict, gate.accept):
        console.print(Text(f"  {plain(line)}"), soft_wrap=True)
    if judged.outcome.lacking:
        hint(missing_approval(judged.outcome))


def _print_next_steps(site: GateSite, gate: Gate, places: list[str]) -> None:
    """Print what a person has to do now."""
    if "claude" in places:
        installed = gate.installed["claude"]
        if claude.name(installed) == claude.LOCAL and not site.checkout.is_ignored(Path(installed.path)):
            hint(f"add {claude.LOCAL} to .gitignore: it is yours alone, and git does not ignore it yet")
    if "git" in places and _is_generated(site, Path(gate.installed["git"].path)):
        folder = Path(gate.installed["git"].path).parent
        line = f'{site.command} {git_hook.OURS} "$@"'
        hint(
            f"git ignores {folder}, so another tool probably writes it. If that tool writes it again, this gate is"
            f" lost: then add this line to the tool's own {git_hook.NAME} hook: {line}"
        )
    if "github" in places:
        for number, sentence in enumerate(github_steps(site, gate), 1):
            hint(f"{number}. {sentence}")


def _is_generated(site: GateSite, hook: Path) -> bool:
    """Whether a tool for hooks, such as husky, probably wrote the hook's folder: the hook is in the working tree, and
    git ignores it."""
    root, git_folder = site.checkout.root, site.checkout.worktree.common
    return hook.is_relative_to(root) and not hook.is_relative_to(git_folder) and site.checkout.is_ignored(hook)


def _print_contract(site: GateSite, gate: Gate) -> None:
    contract = site.store.contract(gate)
    number = len(contract.requirements)
    out().print(
        Text(
            f"sealed: {counted(number, 'requirement')} on base {gate.base[:12]}, "
            f"contract {gate.contract[:12]}; a requirement counts as met if it is {gate.accept} or better"
        ),
        soft_wrap=True,
    )
    if not contract.held_out:
        advice = "move the file out of the working tree, or use --accept tested"
        hint(f"{contract.held_out_why}. Checks alone then give `tested` at most: {advice}")


# -- settings, repository, person --------------------------------------------------------------------------------------


def _settings(accept: str | None) -> Settings:
    """The user's own settings, with `accept` if it is given. The repository's own settings do not apply to its gate."""
    return load_settings({"accept": accept}, os.environ, None, user_config(os.environ))


def _site(repo: Path) -> GateSite:
    return _site_of(open_checkout(repo, os.environ))


def _site_of(checkout: Checkout) -> GateSite:
    settings = _settings(None)
    store = GateStore(home(), checkout.common)
    if store.gate():
        # the agent that is judged can write to the working tree, so the gate must not be kept there
        check_outside(store.home, checkout.root)
    return GateSite(checkout, store, _command(), settings.sandbox, settings.allow_unsandboxed)


def _existing_gate(repo: Path) -> tuple[GateSite, Gate]:
    site = _site(repo)
    return site, existing_gate(site)


def _command() -> str:
    """The shell command that starts this same program later, with the same private state."""
    installed = shutil.which("trued")
    same = installed is not None and Path(installed).resolve() == Path(sys.argv[0]).resolve()
    # -P: Python imports nothing from the current folder, which is the repository
    command = ["trued"] if same else [sys.executable, "-P", "-m", "trued"]
    chosen_home = os.environ.get("TRUED_HOME")
    assignment = f"TRUED_HOME={shlex.quote(str(home()))} " if chosen_home else ""
    return assignment + shlex.join(command)


def _commit(checkout: Checkout, name: str) -> str:
    if commit := checkout.named_commit(name):
        return commit
    raise BadInput(f"{checkout.root} has no commit {name!a}", then="pass another commit, or leave out --head")


def _known_places(places: list[str]) -> list[str]:
    for place in places:
        if place not in PLACES:
            raise BadInput(f"a gate cannot be installed in {place!a}", then=f"choose {', '.join(PLACES)}")
    return list(dict.fromkeys(places))


def _refuse_agents(command: str) -> None:
    outside_agents(f"gate {command}")
    if agent := agent_around():
        raise BadInput(
            f"`trued gate {command}` is refused inside an agent ({agent})", then="run it in your own terminal"
        )


def _ask_name_and_reason(who: str, reason: str) -> tuple[str, str]:
    """Name and reason of a person at a terminal. Options are not enough: unsandboxed agents could pass them."""
    if not is_interactive():
        raise BadInput("this command needs a terminal", then="run it in one")
    return ask_name_and_reason(who, reason)


def _run_to_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Run the work to its end. On a signal, cancel the work, wait until no process of a check is left, and raise
    Interrupted."""

    async def stoppable() -> Result:
        with stop_on_signals(signals=(*STOPPING, signal.SIGHUP)):
            return await work

    try:
        return asyncio.run(stoppable())
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted("interrupted: nothing was decided") from None


def _print_event(event: "JournalEvent") -> None:
    from trued.model.events.proof import CheckRan, CheckSealed

    if isinstance(event, CheckSealed | CheckRan):
        hint(f"{event.stored_kind}: {event.sort} {event.check}")
