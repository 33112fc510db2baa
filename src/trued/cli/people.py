"""The commands by which a person decides: `approve`, `reject`, `amend`, `trust`."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from trued.cli.context import AsJson, open_store, repository_here, run_completions, selected_run
from trued.cli.format import line
from trued.cli.options import Reason, RepositoryOption, Who
from trued.cli.summary import contract_lines, print_end
from trued.cli.terminal import (
    ask_name_and_reason,
    err,
    hint,
    home,
    is_interactive,
    out,
    outside_agents,
    print_json,
    read_line,
    whoami,
)
from trued.engine.approvals import Decision, decide, is_settled
from trued.errors import BadInput, Waiting
from trued.model import Contract, RunRecord
from trued.support.plain_text import plain
from trued.support.plurals import counted

if TYPE_CHECKING:
    from trued.engine.run_store import RunStore

app = typer.Typer(rich_markup_mode=None)

RunAlone = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="The run's id, or the beginning of it.", autocompletion=run_completions),
]
Instead = Annotated[bool, typer.Option("--instead", help="Replace an earlier decision on the same work.")]


@app.command()
def approve(
    run: RunAlone = None,
    requirements: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REQUIREMENT]...", help="The requirements to accept. Without any, the contract is approved."
        ),
    ] = None,
    reason: Reason = "",
    who: Who = "",
    instead: Instead = False,
    as_json: AsJson = False,
) -> None:
    """Approve the contract, so that passing cases count as proven; or accept requirements that no check can prove.

    The contract is shown first. No agent is called. If the run was only planned, `trued resume` starts its work.
    The exit code is 0 once the decision is recorded, whatever the run's state.
    """
    outside_agents("approve")
    _record_decision(run, requirements or [], Decision(who, reason, instead=instead), as_json=as_json)


@app.command()
def reject(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The run's id, or the beginning of it.", autocompletion=run_completions)
    ],
    requirements: Annotated[
        list[str], typer.Argument(metavar="REQUIREMENT...", help="The requirements that are not met.")
    ],
    reason: Reason = "",
    who: Who = "",
    instead: Instead = False,
    as_json: AsJson = False,
) -> None:
    """Reject a requirement, with a reason. `trued resume` passes the reason to the agents, who fix the work.

    The rejection is valid until the work changes; then a person has to look again. The exit code is 0 once it is
    recorded, whatever the run's state.
    """
    outside_agents("reject")
    _record_decision(run, requirements, Decision(who, reason, rejected=True, instead=instead), as_json=as_json)


def _record_decision(run: str | None, wanted: list[str], decision: Decision, *, as_json: bool) -> None:
    from trued.proof.hashes import contract_hash  # imported here, because it loads the proof packages

    with open_store() as store:
        record = selected_run(store, run)
        contract = store.sealed_contract(record.id)
        _check_requirements_exist(record, contract, wanted)
        latest = store.latest_verdicts(record.id)
        shown, commits = (
            contract_hash(contract),
            {name: latest[name].commit if name in latest else "" for name in wanted},
        )
        who, why = _ask_signature(store, record, contract, commits, wanted, decision)
        decision = replace(decision, who=who, why=why, contract=shown, commits=commits)
        record = decide(store, record.id, wanted or [None], decision)
        done = "rejected" if decision.rejected else "approved"
        hint(f"recorded: {line(', '.join(wanted) or 'the contract', 200)} {done} by {line(who)}")
        if is_settled(store, record):
            hint("everything is decided: recording it on the branch and proving the final commit")
            import asyncio  # imported here, because only driving a run needs it

            from trued.engine.engine import Engine

            record = asyncio.run(Engine(store).resume(record.id))
        print_end(store, record, as_json=as_json)
        if store.journal.driver(record.id):
            hint("recorded; but the run is still working: look at what it changes from now on, too")


def _check_requirements_exist(record: RunRecord, contract: Contract, wanted: list[str]) -> None:
    known = [requirement.id for requirement in contract.requirements]
    if unknown := [name for name in wanted if name not in known]:
        raise BadInput(f"run {record.id} has no requirement {unknown[0]!r}", then=f"it has {', '.join(known)}")


def _ask_signature(
    store: "RunStore",
    record: RunRecord,
    contract: Contract,
    commits: Mapping[str, str],
    wanted: list[str],
    decision: Decision,
) -> tuple[str, str]:
    """Show the person what they decide on, and return their name and reason. `commits`: requirement → the commit that
    it was judged at."""
    _check_signable(decision.who, decision.why)
    shown = [requirement for requirement in contract.requirements if not wanted or requirement.id in wanted]
    contract_lines(store, record, contract.model_copy(update={"requirements": tuple(shown)}), console=err(), cases=True)
    for name, commit in commits.items():
        if commit:
            hint(f"{name}: judged at commit {commit[:10]}; trued diff {record.id} shows the work")
    if decision.who and decision.why:
        return decision.who, decision.why
    what = ", ".join(wanted) or "these cases as yours"
    verb = "reject" if decision.rejected else "accept" if wanted else "approve"
    hint(f"To {verb} {what}, sign with your name and a reason.")
    return ask_name_and_reason(decision.who, decision.why)


def _check_signable(who: str, reason: str) -> None:
    """Raise BadInput if name or reason is missing and there is no terminal at which to ask for it."""
    lacking = [
        (what, flag)
        for value, what, flag in ((who, "name", "--as NAME"), (reason, "reason", "--reason TEXT"))
        if not value
    ]
    if lacking and not is_interactive():
        named, flags = " and ".join(f"a {what}" for what, _ in lacking), " ".join(flag for _, flag in lacking)
        verb = "is" if len(lacking) == 1 else "are"
        raise BadInput(f"{named} {verb} missing", then=f"pass {flags}, or use a terminal")


@app.command()
def amend(  # noqa: PLR0913  a flag is a parameter
    run: RunAlone = None,
    requirements: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replace the requirements file by this one.")
    ] = None,
    add: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Add the requirements in this file to the run's contract.")
    ] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Add a criterion that the final verdict lists as outside the contract. ID is a criterion, a feature "
            "(adds all its criteria), or `all`; repeatable.",
        ),
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(metavar="ID", help="Remove this requirement.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID", help="This requirement only asks that behaviour stays as it is: existing tests decide."
        ),
    ] = None,
    supersedes: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=TEST", help="The requirement changes what this existing test expects."),
    ] = None,
    contract: Annotated[
        str,
        typer.Option(metavar="HASH", help="Refuse unless the run's contract has this hash.", show_default=False),
    ] = "",
    reason: Reason = "",
    who: Who = "",
    as_json: AsJson = False,
) -> None:
    """Change a run's contract. The journal records your name and reason; agents cannot do this.

    Changed checks are run on the base again. No agent is called; `trued resume` continues with the new contract.
    The exit code is 0 once the amendment is recorded, even if the run is no longer proven; `trued watch` exits with
    the run's code.
    """
    import asyncio

    from trued.engine.amendments import ContractChange  # imported here, because it loads the proof packages
    from trued.engine.amendments import amend as amend_contract

    outside_agents("amend")
    for path in filter(None, (requirements, add)):
        if not path.is_file():
            raise BadInput(f"there is no file {path}", then="pass a requirements file")
    with open_store() as store:
        record = selected_run(store, run)
        _check_signable(who, reason)
        if not (who and reason):
            hint(f"To amend the contract of {record.id}, sign with your name and a reason.")
        name, why = ask_name_and_reason(who, reason)
        change = ContractChange(
            requirements=requirements,
            add=add,
            remove=tuple(remove or ()),
            keep=tuple(keep or ()),
            supersedes=_parse_superseded(supersedes or []),
            criteria=tuple(criterion or ()),
            who=name,
            why=why,
        )
        record = asyncio.run(amend_contract(store, record.id, change, contract))
        if sealed := store.contract(record.id):
            contract_lines(store, record, sealed, console=err(), cases=True)
        print_end(store, record, as_json=as_json)


def _parse_superseded(pairs: list[str]) -> dict[str, tuple[str, ...]]:
    superseded: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, equals, test = pair.partition("=")
        if not equals or not name or not test:
            raise BadInput(f"{pair!r} is not ID=TEST", then="use --supersedes ID=tests/test_x.py::test_y")
        superseded[name] = (*superseded.get(name, ()), test)
    return superseded


@app.command()
def trust(
    digest: Annotated[
        str,
        typer.Argument(help="The digest that `trued trust` showed; required without a terminal.", show_default=False),
    ] = "",
    repo: RepositoryOption = Path(),
    as_json: AsJson = False,
) -> None:
    """Show the settings, roles and instructions that this repository gives to agents, and ask whether to trust them.

    With DIGEST, trust them at once. Settings that no run could use are refused. Trust applies to exactly these bytes:
    after a change you are asked again.
    """
    # imported here, because no other command of this module reads roles
    from trued.engine.role_selection import check_repository_settings
    from trued.engine.trust import files_to_trust, is_trusted, record_trust

    outside_agents("trust")
    top = repository_here(repo)
    what = files_to_trust(top)
    trusted = is_trusted(home(), top, what.digest)
    if as_json and not digest:
        print_json({"repository": str(top), "files": list(what.files), "digest": what.digest, "trusted": trusted})
        return
    if not what.files:
        out().print("nothing here needs trust: no trued.toml, no [tool.trued], no roles")
        return
    if digest and digest != what.digest:
        raise BadInput(
            f"the files here have another digest: {what.digest}", then="look at them again with `trued trust`"
        )
    if not digest:
        _show(top, what.files, what.digest)
    check_repository_settings(top, os.environ)
    if trusted:
        out().print("already trusted")
    elif digest or _ask_trust():
        record_trust(home(), top, what.digest, whoami())
        out().print(f"trusted: {what.digest}")
    else:
        hint(f"not trusted; without a terminal: trued trust {what.digest}")
        raise typer.Exit(Waiting.code)


def _show(top: Path, files: tuple[str, ...], digest: str) -> None:
    from trued.engine.trust import TABLE

    console = out()
    for name in files:
        console.print(Text(line(name), "bold"), soft_wrap=True)
        path = top / ("pyproject.toml" if name == TABLE else name)
        content = plain(path.read_bytes().decode("utf-8", "replace"))
        lines = content.splitlines()
        # If there are multi-line strings, all lines are shown: in a string, an instruction may look like a comment.
        has_comments = path.suffix == ".toml" and not any(mark in content for mark in ('"""', "'''"))
        shown = [text for text in lines if not (has_comments and is_comment(text))]
        for text in shown:
            console.print(Text(f"  {text}"), soft_wrap=True)
        if len(shown) < len(lines):
            console.print(Text(f"  ({counted(len(lines) - len(shown), 'line')} of comments or blanks left out)", "dim"))
    console.print(f"digest {digest}", soft_wrap=True)


def is_comment(text: str) -> bool:
    """Whether a line of TOML sets nothing: it is blank or a comment."""
    return not text.strip() or text.strip().startswith("#")


def _ask_trust() -> bool:
    import asyncio

    return is_interactive() and (asyncio.run(read_line("Trust exactly this? yes / no: ")) or "").lower() in ("y", "yes")
