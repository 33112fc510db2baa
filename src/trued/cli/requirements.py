"""The commands `requirements new` and `requirements export`: both write a requirements file for the user."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trued.cli.context import AsJson, RunName, check_writable, is_over, open_store, repository_here, selected_run
from trued.cli.options import RepositoryOption, is_file
from trued.cli.terminal import hint, outside_agents, print_json
from trued.errors import BadInput

if TYPE_CHECKING:
    from trued.model import Contract, Requirement, Requirements, RunRecord

app = typer.Typer(rich_markup_mode=None)
group = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
app.add_typer(group, name="requirements", help="Write a requirements file: a scaffold, or a run's approved cases")

MOST_SOURCES = 400  # at most this many files are searched for entry points
TEXT_BYTES = 200_000

Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="The file to write (.yaml).", show_default="stdout"),
]


@group.command()
def new(
    goal: Annotated[
        str | None,
        typer.Argument(
            metavar="[GOAL|FILE]",
            help="What must be true: a sentence, or a file with a plan or ticket.",
            show_default=False,
        ),
    ] = None,
    output: Output = None,
    repo: RepositoryOption = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a requirements file to fill in, from your words and this repository's functions, routes and tests."""
    from trued.cli.project_kind import kind_here, paths_at_head, sources_here
    from trued.inputs.project.entry_points import entry_points
    from trued.inputs.requirements.file import parse_requirements
    from trued.inputs.requirements.file_text import scaffold_text
    from trued.model import Settings
    from trued.proof.room.project_folders import import_roots, project_folders

    _check_output(output)
    top = repository_here(repo)
    kind, sources, paths = (
        kind_here(top, Settings()),
        sources_here(top, most=MOST_SOURCES, size=TEXT_BYTES),
        paths_at_head(top),
    )
    roots = import_roots(paths)
    # The names of modules in these folders are ambiguous: a check finds them only if the requirements name the folder.
    unclear = [folder for folder in project_folders(paths).python if not any(_is_below(root, folder) for root in roots)]
    entries = entry_points(sources, (*roots, *unclear))
    wanted = _requirements_from(goal)
    text = scaffold_text(
        wanted,
        tests=kind.tests or ([kind.test] if kind.test else []),
        start=kind.start,
        entry_points=entries,
        unclear=unclear,
    )
    parse_requirements(text, "requirements.yaml")
    if as_json:
        rows = [{"id": requirement.id, "text": requirement.text} for requirement in wanted]
        print_json({"requirements": rows, "entry_points": entries, "commands": kind.commands, "text": text})
        return
    _print_or_write(text, output)
    if output and output.resolve().is_relative_to(top.resolve()):
        where = f"{output} is inside the repository, where agents can read it"
        hint(f"{where}: move it out, or its cases may count as visible")


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


def _requirements_from(goal: str | None) -> "list[Requirement]":
    """The user's words as requirements: a ticket's criteria, a plan's chunks, or the sentences of other text. Without a
    goal, one requirement to fill in."""
    from trued.inputs.plans.plan import parse_plan
    from trued.inputs.requirements.coverage import user_requirements
    from trued.inputs.tickets.plan import ticket_plan
    from trued.inputs.tickets.ticket import is_ticket, parse_ticket
    from trued.model import Goal, Requirement, Source
    from trued.support.located import read_text

    if goal is None:
        return [Requirement(id="change-me", text="Say in one sentence what must be true")]
    if not goal.strip():
        raise BadInput("the goal is empty", then="describe what must be true, or name a file")
    if not is_file(goal):
        every = user_requirements(None, Goal(text=goal), None)
        return [requirement for requirement in every if not requirement.parts]
    text = read_text(Path(goal))
    parsed_goal = Goal(text=text, source=Source(file=Path(goal).name))
    plan = None
    if is_ticket(text, goal):
        plan = ticket_plan(parse_ticket(text, goal))
    else:
        try:
            plan = parse_plan(text, goal)
        except BadInput:  # the file is prose: each of its sentences becomes a requirement
            parsed_goal = Goal(text=text)
    return [requirement for requirement in user_requirements(plan, parsed_goal, None) if not requirement.parts]


@group.command()
def export(run: RunName = None, output: Output = None, as_json: AsJson = False) -> None:
    """Write a run's approved cases as a requirements file of your own, for `trued verify`.

    Cases that an agent wrote are exported only after a person approved the contract: in your file they count as yours.
    """
    from trued.inputs.requirements.file_text import requirements_text

    outside_agents("requirements export")
    _check_output(output)
    with open_store() as store:
        record = selected_run(store, run)
        contract = store.sealed_contract(record.id)
        if not is_over(store, record):
            what = f"run {record.id} has not ended: an agent could read its held-out cases"
            raise BadInput(what, then=f"wait for its end: trued watch {record.id}")
        approved = [
            approval for approval in store.approvals(record.id) if approval.requirement == "*" and not approval.stale
        ]
        by = approved[-1].who if approved else ""
        users = store.inputs(record.id)
    # not approved: use the user's own entry points and server, because an agent may have chosen the contract's
    if not by:
        users_file = users.requirements
        serve, interface = (users_file.serve, users_file.interface) if users_file else (None, ())
        contract = contract.model_copy(update={"serve": serve or users.settings.serve, "interface": interface})
    exported, left_out = _exportable(record, contract, approved=bool(by))
    who = f", approved by {by}" if by else ""
    heading = [f"The cases of run {record.id}{who}.", f"Base: {contract.base}"]
    heading += [f"Left out: {reason}" for reason in left_out]
    text = requirements_text(exported, heading)
    if as_json:
        rows = [{"id": requirement.id, "checks": len(requirement.checks)} for requirement in exported.requirements]
        print_json({"run": record.id, "approved_by": by, "requirements": rows, "left_out": left_out, "text": text})
        return
    _print_or_write(text, output)
    for reason in left_out:
        hint(f"left out: {reason}")


def _exportable(record: "RunRecord", contract: "Contract", *, approved: bool) -> "tuple[Requirements, list[str]]":
    """The requirements with the checks that may count as the user's own, and a reason for each requirement or check
    that is left out.

    A requirement that has no such check is left out, with one exception: if it covers an exported requirement, or is a
    part of one, it is exported with a manual check. Otherwise it would seem to be proven together with the other
    requirement. Raises BadInput if no check may count as the user's own.
    """
    from trued.inputs.requirements.file_text import CONFIRM, why_not_portable
    from trued.inputs.requirements.guard_phrases import guard_kind
    from trued.model import ManualCheck, Requirements
    from trued.proof.hashes import check_hash

    exported, left_out, unchecked = [], [], []
    for requirement in contract.requirements:
        if requirement.author and not approved:
            left_out.append(f"{requirement.id}: an agent wrote it, and nobody has approved it")
            continue
        usable = [check for check in requirement.checks if approved or check_hash(check) not in contract.authors]
        portable = tuple(check for check in usable if not why_not_portable(check))
        if portable:
            exported.append(requirement.model_copy(update={"checks": portable, "covers": ()}))
        if len(usable) < len(requirement.checks):
            left_out.append(f"{requirement.id}: an agent wrote its cases, and nobody has approved them")
        elif len(portable) < len(usable):
            left_out.append(f"{requirement.id}: {next(filter(None, map(why_not_portable, usable)))}")
        elif not requirement.checks and guard_kind(requirement.text):
            left_out.append(f"{requirement.id}: it has no check")
        if not portable and not requirement.parts and not guard_kind(requirement.text):
            unchecked.append(requirement)
    if not exported:
        what = f"run {record.id} has no case that a person wrote or approved"
        raise BadInput(what, then=f"read and approve them first: trued approve {record.id}")
    for requirement in unchecked:
        if any(by.id in requirement.covers or requirement.id in by.parts for by in exported):
            exported.append(requirement.model_copy(update={"checks": (ManualCheck(steps=(CONFIRM,)),), "covers": ()}))
        elif not requirement.checks:
            left_out.append(f"{requirement.id}: it has no check")
    made = Requirements(
        environment=contract.environment,
        serve=contract.serve,
        interface=contract.interface,
        requirements=tuple(exported),
    )
    return made, left_out


def _check_output(output: Path | None) -> None:
    check_writable(output, "--output")
    if output is None:
        return
    if output.suffix not in (".yaml", ".yml"):
        raise BadInput(f"{output} is not the name of a YAML file", "--output", "use a name that ends in .yaml")
    if output.exists():
        raise BadInput(f"{output} exists already", "--output", "choose another name, or remove it")


def _print_or_write(text: str, output: Path | None) -> None:
    """Print the text, or write it to a file that only this user can read: held-out cases are secrets."""
    if output is None:
        print(text, end="")
        return
    output.touch(mode=0o600)
    output.write_text(text, encoding="utf-8")
    print(output)
