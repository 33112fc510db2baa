"""Reads the ticket of a run, and chooses its branch and the commit to start from."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from trued.engine.inputs import Inputs
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.inputs.tickets.ticket import parse_ticket, ticket_from_issue
from trued.integrations.forges import forge_of
from trued.integrations.trackers import tracker_of
from trued.integrations.trackers.names import ticket_name
from trued.model import Goal, RunRecord, Settings, Ticket
from trued.protocols import Forge
from trued.workspace.git.push import tip_at
from trued.workspace.git.repository import Repository, tip_of

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg")


def names_tracker_ticket(name: str, settings: Settings) -> bool:
    """Whether this names a ticket in a tracker."""
    found = ticket_name(name, settings)
    return found is not None and found.kind != "file"


def ticket_from_tracker(name: str, settings: Settings, environ: Mapping[str, str], root: Path) -> Ticket:
    """The ticket as its tracker has it now; the run keeps this copy.

    Absolute picture paths are dropped: agents may read the pictures of a ticket, and the ticket's author could name any
    file of this machine.
    """
    ticket = ticket_from_issue(tracker_of(settings, name, environ, root).issue(name))
    return ticket.model_copy(
        update={"pictures": tuple(picture for picture in ticket.pictures if not Path(picture).is_absolute())}
    )


def ticket_from_file(goal: Goal, root: Path) -> Ticket:
    """The ticket in a file. Pictures that are found beside the file get absolute paths."""
    ticket = parse_ticket(goal.text, goal.source.file)
    beside = (root / goal.source.file).parent
    return ticket.model_copy(
        update={"pictures": tuple(filter(None, (_picture(picture, beside) for picture in ticket.pictures)))}
    )


def _picture(name: str, beside: Path) -> str:
    """The picture's absolute path, with links resolved. If there is no picture file at this path: "" for an absolute
    `name`, and `name` itself otherwise."""
    try:
        place = (beside / name).resolve()
        there = "://" not in name and place.suffix.lower() in PICTURES and place.is_file()
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links
        there = False
    return str(place) if there else "" if Path(name).is_absolute() else name


# -- the branch --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TicketBranch:
    """A branch that the run may use. `start` and `base` are set if an earlier run of the ticket left work on it."""

    branch: str
    start: str = ""
    base: str = ""


async def choose_ticket_branch(store: RunStore, inputs: Inputs, repository: Repository) -> Inputs:
    """The inputs with the ticket's branch, which is free to use here, at the remote and at the forge. Raises BadInput
    if the run can use no branch."""
    assert inputs.ticket is not None  # noqa: S101  (looked at by the caller)
    folder = store.home / "pull-requests"
    forge = forge_of(inputs.settings.forge, store.environ, repository.root, folder)
    if forge.remote:
        await asyncio.to_thread(forge.ready)
        if not repository.branch:
            what = "HEAD is detached"
            raise BadInput(what, str(repository.root), "check out the branch that the pull request should target")
    found = await _choose_branch(store, inputs.ticket, repository, forge)
    return inputs.model_copy(update={"branch": found.branch, "start": found.start, "base": found.base})


async def _choose_branch(store: RunStore, ticket: Ticket, repository: Repository, forge: Forge) -> TicketBranch:
    runs = [run for run in store.journal.runs() if run.repository == str(repository.root)]
    # not runs of comparisons: their branches are named after the run
    runs = [run for run in runs if run.branch != f"trued/{run.id}"]
    known = [run.branch for run in runs if _same(store.inputs(run.id).ticket, ticket)]
    name = known[-1] if known else ticket.branch  # the ticket's first branch, even if its title was edited since
    for number in count(1):
        branch = name if number == 1 else f"{name}-{number}"
        own = [run for run in runs if run.branch == branch]
        if any(_key(store, run) != ticket.key for run in own):
            continue  # another ticket's branch: the names differ only in characters that a branch cannot have
        if at_work := next((run for run in own if not run.has_ended), None):
            what = f"run {at_work.id} works on {ticket.key} already: it is {at_work.state}"
            raise BadInput(what, then=f"`trued resume {at_work.id}` continues it, `trued cancel {at_work.id}` ends it")
        offered = await asyncio.to_thread(forge.offered, branch) if forge.remote else None
        if offered and offered.state != "open":
            continue  # a closed or merged pull request stays as it is, so the next branch gets a new one
        return await _usable_branch(branch, own, repository, forge)
    raise AssertionError("there is always a next number")


def _key(store: RunStore, run: RunRecord) -> str:
    ticket = store.inputs(run.id).ticket
    return ticket.key if ticket else ""


def _same(stored: Ticket | None, other: Ticket) -> bool:
    """Whether both are the same ticket: the same key from the same place."""
    named = stored is not None and "key" not in (*stored.missing, *other.missing)
    return named and stored is not None and (stored.key, stored.source.file) == (other.key, other.source.file)


async def _usable_branch(branch: str, own: list[RunRecord], repository: Repository, forge: Forge) -> TicketBranch:
    here = tip_of(repository.root, branch)
    there = await tip_at(repository.root, forge.remote, branch) if forge.remote else ""
    if tip_of(repository.root, above := branch.partition("/")[0]):
        what = f"there is a branch {above} in {repository.root}, so git cannot create {branch}"
        raise BadInput(what, then=f"rename it: git branch -m {above} …")
    if not here and not there:
        return TicketBranch(branch)
    left = next((run for run in reversed(own) if run.head in (here or there,) and there in ("", run.head)), None)
    if left is None:
        where = f"at {forge.remote}" if there and not here else f"in {repository.root}"
        raise BadInput(
            f"the branch {branch} {where} has work that no run of this ticket did",
            then="rename or remove it, and start again",
        )
    if branch == repository.branch:
        what = f"{branch} is checked out in {repository.root}, so no run can move it"
        raise BadInput(what, then="git switch to another branch")
    return TicketBranch(branch, start=left.head, base=left.base) if left.head != left.base else TicketBranch(branch)
