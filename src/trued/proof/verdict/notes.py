"""Notes of a verdict, such as which files and which environment the checks used. They change no grade. Does no I/O.

A verdict keeps all its notes in `undecided`. Notes that only report what was done (`FactNote`) are kept apart from
notes about something that no check covers, so that each kind can be shown under its own heading.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from trued.model import Contract, FactNote, Verdict
from trued.support.hashing import git_blob_names
from trued.support.plurals import counted, few

if TYPE_CHECKING:  # not imported at run time: reports import this module, and should not load the clean room's code
    from trued.proof.room.clean_room import Graft


MOST_TESTS = 3  # at most this many tests are named in a note
BUT_OWN = "except for the change's own tests"


def fact_notes(verdict: Verdict) -> tuple[str, ...]:
    """The notes that only report what the engine did. All others name something that no check covers."""
    return tuple(note for note in verdict.undecided if note in (verdict.reported or ()))


def reported_notes(contract: Contract, notes: Iterable[str]) -> tuple[str, ...]:
    """The notes among `notes` that only report what was done. Some are new, and some come from the contract."""
    return tuple(str(note) for note in notes if isinstance(note, FactNote) or note in contract.reported)


def files_used(graft: "Graft", carried: Mapping[str, str], blobs_of_head: Mapping[str, str]) -> list[str]:
    """Notes about files that were not used in the head's version, and about what the room lacked.

    `carried`: the contract's own files (path → base64), which replace the base's version. The notes do not apply to the
    change's own tests: they run apart from all other checks, with the head's version of their files.
    """
    blobs_of_contract = {path: git_blob_names(base64.b64decode(data)) for path, data in carried.items()}
    differing = [
        path for path in carried if path in blobs_of_head and blobs_of_head[path] not in blobs_of_contract[path]
    ]
    restored = [path for path in graft.restored if path not in carried]
    removed = [path for path in graft.removed if path not in carried]
    notes = [
        *(f"{path}: the contract's version was used, not the change's" for path in differing),
        *(
            f"{path}: the base's version was used by tests, {BUT_OWN}; the head {_state_on_head(path in blobs_of_head)}"
            for path in restored
        ),
        *(f"{path}: added by the change, not used by tests {BUT_OWN}" for path in removed),
        *(f"{path}: its test scripts and settings are the base's, the rest the change's" for path in graft.merged),
        *(f"{path}: added or edited by the change, not run" for path in graft.added),
        *(f"{path}: only a build writes it; a placeholder was used" for path in graft.made_up),
    ]
    return [*map(FactNote, notes), *graft.lacking]


def kept_as_product(path: str) -> FactNote:
    """A note about a new file of the head that lies among tests or is named like one, but that the product imports."""
    return FactNote(f"{path}: added by the change, and used as product, because other code of the change imports it")


def _state_on_head(is_there: bool) -> str:
    return "has another version" if is_there else "does not have it"


def not_run(suite: str) -> str:
    """A note about a test suite of the base that could not be run. `suite`: its name, and the reason."""
    return f"existing tests not run: {suite}"


def not_collected(tests: Sequence[str]) -> list[str]:
    """A note about tests of the base that no check collects; [] if there are none."""
    return [f"existing tests not run, because no check collects them: {few(tests, MOST_TESTS)}"] if tests else []


def worst_counts() -> str:
    """A note saying that the same code failed earlier, so that the worst result counts."""
    return FactNote("the same code failed earlier under the same contract: the worst result counts")


def checked_unconverted(line: str) -> str:
    """A note saying that an attribute of the base makes git change files at checkout, but not in clean rooms."""
    return f"{line}: git converts these files at checkout; they were checked as they are stored"


def base_taken_again(why: str) -> str:
    """A note saying that checks were run again on the base, and why."""
    return FactNote(f"the base was checked again: {why}")


def passed_in_sequence(cases: int, turns: int) -> str:
    """A note saying that cases failed while two turns ran in parallel, but passed when the turns ran in sequence."""
    return FactNote(
        f"{counted(cases, 'case')} failed while two turns ran in parallel, and passed {turns} times in sequence: "
        "perhaps the machine was too busy"
    )
