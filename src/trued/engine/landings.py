"""Where a run's work has been brought, as its journal remembers it."""

from typing import TYPE_CHECKING

from ..kit import digest
from ..types import Approval, Contract, Value, Verdict

if TYPE_CHECKING:
    from . import Engine

LAND, LANDING = "land onto ", "/landing"


class Landed(Value):
    """A commit on a branch of the user's. Written before the branch is moved: it counts where the branch holds it."""

    onto: str
    before: str
    commit: str
    head: str  # the run's own commit
    how: str
    who: str = ""
    contract: str = ""  # step with the contract by which it was proven again; "" where it is the run's own commit
    verdict: str = ""  # step with that verdict
    words: tuple[Approval, ...] = ()  # of people, that hold for this commit


def part_of(onto: str, commit: str, tip: str, contract: str) -> str:
    """One part of the journal for one commit on one target by one contract: another is never mistaken for it."""
    return f"{LAND}{onto}/{digest(commit, tip, contract)[:10]}"


def landings(engine: "Engine", run_id: str) -> list[Landed]:
    keys = [key for key, _, _ in engine.journal.steps(run_id) if key.startswith(LAND) and key.endswith(LANDING)]
    return [Landed.model_validate_json(engine.journal.step(run_id, key) or "") for key in keys]


def proven_as(engine: "Engine", run_id: str, one: Landed) -> tuple[Contract, Verdict] | None:
    """Contract and verdict of a commit that was proven again before it landed."""
    contract, verdict = [engine.journal.step(run_id, key) if key else None for key in (one.contract, one.verdict)]
    if contract is None or verdict is None:
        return None
    return Contract.model_validate_json(contract), Verdict.model_validate_json(verdict)
