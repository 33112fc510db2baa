"""What a person can do next with a run.

An ended run may be continued after a person has edited its file or reopened parts of its work.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import RunRecord
from trued.support import atomic_files
from trued.workflows.descriptor import load
from trued.workflows.registry import descriptor, find_descriptor

if TYPE_CHECKING:
    from trued.run.editable_files import LiveCopies

CONTINUABLE = ("not proven",)  # the only one of `ENDED_STATES` that is not final


def continuations(store: RunStore, record: RunRecord) -> list[tuple[str, str]]:
    """Commands that continue a run which ended without success, each with what it does."""
    if record.state not in CONTINUABLE:
        return []
    workflow = find_descriptor(record.workflow)
    if workflow is None or not workflow.continuations:
        return []
    return [*load(workflow.continuations)(record.id, store.journal.events(record.id))]


def next_steps(store: RunStore, record: RunRecord) -> list[tuple[str, str]]:
    """Commands that a person may want next, each with what it does; [] while the run is at work."""
    name = record.id
    look = [(f"trued diff {name}", "shows the work")]
    resume = f"trued resume {name}"
    own = {
        "planned": [(f"trued approve {name}", "approves the contract"), (resume, "starts the work")],
        "interrupted": [(resume, "continues it")],
        "limited": [(resume, "continues it, with a higher limit")],
        "failed": [(resume, "tries the failed call again"), (f"trued logs {name}", "says what happened")],
        "unjudged": [(resume, "tries again")],
        "not proven": look,
        "done": [(f"trued land {name}", "merges it"), *look, (f"trued report {name}", "writes the report")],
    }
    found = own.get(record.state, [])
    # `landed` is asked only for a run that is done, because it searches the events of all runs
    if record.state == "done" and store.journal.landed().get(name):
        found = found[1:]
    return [*continuations(store, record), *found]


def has_unread_edit(store: RunStore, record: RunRecord) -> bool:
    """Whether a person edited the file that the workflow lets people edit, and the run has not read the edit yet."""
    workflow = find_descriptor(record.workflow)
    if workflow is None or not workflow.editable:
        return False
    return _copies(store, record).is_edited(workflow.editable)


def editable_copy(store: RunStore, record: RunRecord) -> Path | None:
    """The file that people may edit while the run lasts; None if it does not exist yet, or if the workflow has no such
    file."""
    workflow = descriptor(record.workflow)
    place = _copies(store, record).place(workflow.editable) if workflow.editable else None
    return place if place and place.is_file() else None


def reopen(store: RunStore, record: RunRecord, names: Sequence[str]) -> None:
    """Reopen parts of the work by marking them as open in the run's editable file. Raises BadInput for an unknown name,
    and for a run whose workflow or state does not allow reopening."""
    workflow = descriptor(record.workflow)
    if not workflow.reopen:
        raise BadInput(f"a run of {workflow.name} has no part that can be reopened", then="leave out --reopen")
    if record.has_ended and record.state not in CONTINUABLE:
        what = f"run {record.id} is {record.state}: no part of it can be reopened"
        raise BadInput(what, then="start a new run; it continues from what has landed")
    from trued.engine.impersonation import refuse_if_agent_could_answer

    refuse_if_agent_could_answer(store, record)
    place = _copies(store, record).place(workflow.editable)
    if not place.is_file():
        raise BadInput(f"run {record.id} has planned nothing yet", then=f"`trued resume {record.id}` continues it")
    text = load(workflow.reopen)(place.read_text(encoding="utf-8", errors="surrogateescape"), names)
    atomic_files.write(place, str(text).encode(errors="surrogateescape"), sync=True)


def is_continuable(store: RunStore, record: RunRecord) -> bool:
    """Whether an ended run can be driven again: `continuations` suggests a plain `trued resume RUN`, or the run ended
    as "not proven" and a person has edited its file since. Raises BadInput if a person has edited the file of a run in
    any other state."""
    if not has_unread_edit(store, record):
        return any(command == f"trued resume {record.id}" for command, _ in continuations(store, record))
    if record.state in CONTINUABLE:
        return True
    what = (
        f"run {record.id} is {record.state}: your edit of {descriptor(record.workflow).editable} is not read any more"
    )
    raise BadInput(what, then="start a new run; it continues from what has landed")


def _copies(store: RunStore, record: RunRecord) -> "LiveCopies":
    # imported here, because callers that only list the next commands do not need them
    from trued.run.editable_files import LiveCopies
    from trued.run.state import FileState

    return LiveCopies(store.folder(record.id), FileState(owned=store.owned_files(record.id)), Counter())
