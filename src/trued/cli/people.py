"""Commands by which a person speaks: answer, approve, reject, amend, trust."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trued.cli.context import AsJson, chosen, completed, opened, top_of
from trued.cli.format import line
from trued.cli.summary import conclude, contract_lines
from trued.cli.terminal import err, hint, home, out, outside_agents, person_there, print_json, typed, whoami
from trued.engine.approvals import Word, judged_at, say, settled
from trued.engine.engine import Engine
from trued.engine.records import Change
from trued.engine.trust import TABLE, found, is_trusted
from trued.engine.trust import trust as remember
from trued.errors import BadInput
from trued.model import Contract, RunRecord
from trued.support.redaction import plain

app = typer.Typer(rich_markup_mode=None)

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN] ANSWER", show_default=False, help="The run, and what you say: yes, stop, redo, words."
    ),
]


@app.command()
def answer(
    words: Words = None,
    comment: Annotated[
        str, typer.Option("-m", "--comment", help="With redo: what is missing.", show_default=False)
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Answer what a run asks: yes, stop or redo; an agent's own question in your own words.

    `trued resume` goes on from there.
    """
    outside_agents("answer")
    said = words or []
    if not 1 <= len(said) <= 2:
        raise BadInput("say what the answer is", then='trued answer RUN yes|stop|redo, or RUN "your own words"')
    with opened() as engine:
        if len(said) == 1 and any(one.id == said[0] for one in engine.journal.runs()):
            raise BadInput(f"{said[0]} is a run, and no answer", then=f"trued answer {said[0]} ANSWER")
        record = chosen(engine, said[0] if len(said) == 2 else None)
        question = engine.answer(record.id, said[-1], comment=comment, who=whoami())
    if as_json:
        print_json(question.model_dump(mode="json"))
    else:
        out().print(Text(f"{record.id}: {plain(question.key)}: {question.answer}"), soft_wrap=True)
    hint(f"go on with: trued resume {record.id}")


RunAlone = Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run.", autocompletion=completed)]
Reason = Annotated[str, typer.Option(help="Why you give your word.", show_default=False)]
Who = Annotated[str, typer.Option("--as", metavar="NAME", help="Who you are.", show_default=False)]
Instead = Annotated[bool, typer.Option("--instead", help="In place of what was said of the same work before.")]


@app.command()
def approve(
    run: RunAlone = None,
    requirements: Annotated[
        list[str] | None, typer.Argument(metavar="[REQUIREMENT]...", help="Only these; else the whole contract.")
    ] = None,
    reason: Reason = "",
    who: Who = "",
    instead: Instead = False,
    as_json: AsJson = False,
) -> None:
    """Give your word: for the contract, so that what holds is proven, or for a requirement that no check can prove.

    The contract is shown first. No agent is called again; a run that was only planned goes on with `trued resume`.
    """
    outside_agents("approve")
    _said(run, requirements or [], Word(who, reason, instead=instead), as_json=as_json)


@app.command()
def reject(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run.", autocompletion=completed)],
    requirements: Annotated[list[str], typer.Argument(metavar="REQUIREMENT...", help="What does not hold.")],
    reason: Reason = "",
    who: Who = "",
    instead: Instead = False,
    as_json: AsJson = False,
) -> None:
    """Say that a requirement does not hold, and why. `trued resume` tells those who build, and they mend it.

    It stands until the work has been changed; then somebody has to look again.
    """
    outside_agents("reject")
    _said(run, requirements, Word(who, reason, rejected=True, instead=instead), as_json=as_json)


def _said(run: str | None, wanted: list[str], word: Word, *, as_json: bool) -> None:
    with opened() as engine:
        record = chosen(engine, run)
        contract = engine.contract(record.id)
        if contract is None:
            raise BadInput(f"run {record.id} has no contract yet", then=f"`trued resume {record.id}` seals one")
        _known(record, contract, wanted)
        who, why = _signed(engine, record, contract, wanted, word)
        record = say(engine, record.id, wanted or [None], replace(word, who=who, why=why))
        if settled(engine, record):
            hint("all is decided: it is written down on the branch, and proven once more")
            record = asyncio.run(engine.resume(record.id))
        conclude(engine, record, as_json=as_json)
        if engine.journal.driver(record.id):
            hint("the run is going on: what it changes after that commit needs another look")


def _known(record: RunRecord, contract: Contract, wanted: list[str]) -> None:
    known = [one.id for one in contract.requirements]
    if unknown := [one for one in wanted if one not in known]:
        raise BadInput(f"run {record.id} has no requirement {unknown[0]!r}", then=f"it has {', '.join(known)}")


def _signed(engine: Engine, record: RunRecord, contract: Contract, wanted: list[str], word: Word) -> tuple[str, str]:
    """Name and reason of a person who has seen what they stand for."""
    given = bool(word.who and word.why)
    if not given and not person_there():
        raise BadInput("your word needs a terminal, or your name and a reason", then="--as NAME --reason TEXT")
    shown = [one for one in contract.requirements if not wanted or one.id in wanted]
    contract_lines(
        engine, record, contract.model_copy(update={"requirements": tuple(shown)}), console=err(), cases=True
    )
    for name, verdict in judged_at(engine, record.id).items() if wanted else ():
        if name in wanted:
            hint(f"{name}: as it is at commit {verdict.commit[:10]}; trued diff {record.id} shows the work")
    if given:
        return word.who, word.why
    what = ", ".join(wanted) or "this whole contract"
    return _given(f"the rejection of {what}" if word.rejected else what, word.who, word.why)


def _given(what: str, who: str, reason: str) -> tuple[str, str]:
    """Asked for at the terminal, where the command line does not say it."""
    name = who or asyncio.run(typed(f"Who gives their word for {what}? [{whoami()}] "))
    why = reason or asyncio.run(typed("Why? (empty: nothing is changed) "))
    if name is None or not why:
        raise BadInput("nothing was changed", then="a reason is needed")
    return name or whoami(), why


@app.command()
def amend(  # noqa: PLR0913  a flag is a parameter
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run.", autocompletion=completed)] = None,
    requirements: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another requirements file, in place of the old one.")
    ] = None,
    add: Annotated[Path | None, typer.Option(metavar="FILE", help="Requirements to add, from a file.")] = None,
    remove: Annotated[list[str] | None, typer.Option(metavar="ID", help="A requirement to take out.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Work that cannot be red: guards decide.")
    ] = None,
    supersedes: Annotated[
        list[str] | None, typer.Option(metavar="ID=TEST", help="A test of the base that a requirement changes.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why the contract is changed.", show_default=False)] = "",
    who: Annotated[str, typer.Option("--as", metavar="NAME", help="Who you are.", show_default=False)] = "",
    as_json: AsJson = False,
) -> None:
    """Change the contract of a run: only you may, and the journal names you and the reason.

    What changed is run on the base again. No agent is called; `trued resume` goes on by the new contract.
    """
    outside_agents("amend")
    for path in filter(None, (requirements, add)):
        if not path.is_file():
            raise BadInput(f"there is no file {path}", then="name a requirements file")
    with opened() as engine:
        record = chosen(engine, run)
        if not (who and reason) and not person_there():
            raise BadInput("your word needs a terminal, or your name and a reason", then="--as NAME --reason TEXT")
        what = f"an amendment of {record.id}"
        name, why = (who, reason) if who and reason else _given(what, who, reason)
        change = Change(
            requirements=requirements,
            add=add,
            remove=tuple(remove or ()),
            keep=tuple(keep or ()),
            supersedes=_tests(supersedes or []),
            who=name,
            why=why,
        )
        record = asyncio.run(engine.amend(record.id, change))
        if contract := engine.contract(record.id):
            contract_lines(engine, record, contract, console=err(), cases=True)
        conclude(engine, record, as_json=as_json)


def _tests(pairs: list[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, equals, test = pair.partition("=")
        if not equals or not name or not test:
            raise BadInput(f"{pair!r} names no requirement and test", then="--supersedes ID=tests/test_x.py::test_y")
        found[name] = (*found.get(name, ()), test)
    return found


@app.command()
def trust(
    digest: Annotated[
        str, typer.Argument(help="What was shown before; needed where there is no terminal.", show_default=False)
    ] = "",
    repo: Annotated[Path, typer.Option(metavar="DIR", help="The repository.", show_default="this folder")] = Path(),
    as_json: AsJson = False,
) -> None:
    """See what this repository would set or say to agents, word for word, and trust it.

    Trust holds for exactly these bytes: whatever changes is asked about again.
    """
    outside_agents("trust")
    top = top_of(repo)
    if top is None:
        raise BadInput(f"{repo.resolve()} is not in a git repository", then="go to one, or name it with --repo")
    what = found(top)
    trusted = is_trusted(home(), top, what.digest)
    if as_json and not digest:
        print_json({"repository": str(top), "files": list(what.files), "digest": what.digest, "trusted": trusted})
        return
    if not what.files:
        out().print("nothing here asks for trust: no trued.toml, no [tool.trued], no roles")
        return
    if digest and digest != what.digest:
        raise BadInput(
            "that is not the digest of what lies here now", then=f"look with `trued trust`; it is {what.digest}"
        )
    if not digest:
        _show(top, what.files, what.digest)
    if trusted:
        out().print("trusted already")
    elif digest or _agreed():
        remember(home(), top, what.digest, whoami())
        out().print(f"trusted: {what.digest}")
    else:
        hint(f"not trusted; where there is no terminal: trued trust {what.digest}")
        raise typer.Exit(3)


def _show(top: Path, files: tuple[str, ...], digest: str) -> None:
    console = out()
    for name in files:
        console.print(Text(line(name), "bold"), soft_wrap=True)
        path = top / ("pyproject.toml" if name == TABLE else name)
        for text in plain(path.read_bytes().decode("utf-8", "replace")).splitlines():
            console.print(Text(f"  {text}"), soft_wrap=True)
    console.print(f"digest {digest}", soft_wrap=True)


def _agreed() -> bool:
    return person_there() and (asyncio.run(typed("Trust exactly this? yes / no: ")) or "").lower() in ("y", "yes")
