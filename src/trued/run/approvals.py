"""Approvals: which of people's decisions still apply to the work as it is now. Does no I/O."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from trued.model import Approval, ProcessedDecisions
from trued.model.records import WHOLE_CONTRACT
from trued.support.hashing import digest
from trued.support.plurals import counted, few

if TYPE_CHECKING:
    from trued.model import Requirement

FILES = 5  # changed files that a reason lists; the others are only counted


def steps_of(requirement: "Requirement") -> tuple[str, ...]:
    """The steps that a person follows before deciding; the requirement's own text if it has no steps."""
    from trued.model import ManualCheck  # imported here: it is slow to load, and answering a question needs no checks

    steps = tuple(step for check in requirement.checks if isinstance(check, ManualCheck) for step in check.steps)
    return steps or (requirement.text,)


def is_manual(requirement: "Requirement") -> bool:
    from trued.model import ManualCheck

    return any(isinstance(check, ManualCheck) for check in requirement.checks)


def asked_of(requirement: "Requirement") -> str:
    """Hash of what a person is asked to decide: the requirement's text and manual steps. A decision applies only while
    this hash is unchanged."""
    return digest(requirement.text, list(steps_of(requirement)))


@dataclass(frozen=True, slots=True)
class ChangesSince:
    """What changed between two commits, without the engine's own files."""

    files: tuple[str, ...] = ()
    commits: int = 0
    known: bool = True  # False: one of the commits is gone

    @property
    def same(self) -> bool:
        return self.known and not self.files

    def __str__(self) -> str:
        if not self.known:
            return "that commit cannot be found any more"
        earlier = f"{counted(self.commits, 'commit')} earlier; " if self.commits else ""
        return f"{earlier}changed since: {few(self.files, FILES)}"


Compare: TypeAlias = Callable[[str, str], ChangesSince]
# a decision's requirement and time → the head at which a step processed it
HeadByDecision: TypeAlias = Mapping[tuple[str, float], str]


def head_by_decision(processed: Iterable[ProcessedDecisions]) -> dict[tuple[str, float], str]:
    return {(decision.requirement, decision.at): step.head for step in processed for decision in step.words}


def unprocessed_decisions(
    decisions: Iterable[Approval],
    processed: Sequence[ProcessedDecisions],
    requirements: Collection[str],
    *,
    every: bool = False,
) -> list[Approval]:
    """For each requirement, the newest decision that the workflow has not processed yet. `requirements`: the ids of the
    contract's requirements. Decisions on requirements that a person has removed from the contract are left out.

    A rejection is always returned. An approval is returned only if its requirement was parked: a person had to decide
    on it, and nobody was available. `every`: return all approvals, also of the whole contract. This is for a workflow
    that records approvals in its files.
    """
    known, parked = head_by_decision(processed), {requirement for step in processed for requirement in step.parked}
    subjects = {*requirements, WHOLE_CONTRACT} if every else {*requirements}
    unprocessed = [
        decision
        for decision in decisions
        if decision.requirement in subjects and (decision.requirement, decision.at) not in known
    ]
    newest = {decision.requirement: decision for decision in unprocessed}  # the later one replaces the earlier one
    return [decision for decision in newest.values() if every or decision.rejected or decision.requirement in parked]


def commits_to_compare(
    decisions: Iterable[Approval], commits: Mapping[str, str], heads: HeadByDecision
) -> Iterator[tuple[str, str]]:
    """The pairs of commits that `current_decisions` compares to find out which decisions still apply. `commits`:
    requirement → the commit for which a decision on the requirement is needed. `heads`: decision → the head when the
    workflow processed the decision."""
    for decision in decisions:
        commit = commits.get(decision.requirement, "")
        for earlier in (decision.commit, heads.get((decision.requirement, decision.at), "")):
            if commit and earlier and earlier != commit:
                yield earlier, commit


def current_decisions(
    decisions: Sequence[Approval],
    commits: Mapping[str, str],
    heads: HeadByDecision,
    compare: Compare,
    asked: Mapping[str, str],
) -> list[Approval]:
    """For each requirement, the last decision (approval or rejection) that still applies. If no decision on a
    requirement applies, its last decision, with the reason in `stale`.

    `commits` and `heads`: as in `commits_to_compare`. `asked`: requirement → the hash of what a person is asked now
    (see `asked_of`).
    """
    current: dict[str, Approval] = {}
    for decision in decisions:
        commit, asked_now = commits.get(decision.requirement, ""), asked.get(decision.requirement, "")
        is_changed = bool(decision.asked and asked_now and decision.asked != asked_now)
        stale = "the requirement has changed since" if is_changed else _stale_reason(decision, commit, heads, compare)
        earlier = current.get(decision.requirement)
        if earlier is None or earlier.stale or not stale:
            reason = stale and f"{_decision_text(decision)}, {stale}"
            current[decision.requirement] = decision.model_copy(update={"stale": reason})
    return list(current.values())


def _stale_reason(decision: Approval, commit: str, heads: HeadByDecision, compare: Compare) -> str:
    """Why a decision does not apply at this commit; "" if it applies."""
    if not (decision.commit and commit) or decision.commit == commit:
        return ""
    changes = compare(decision.commit, commit)
    if changes.same:
        return ""
    if not decision.rejected:
        return str(changes)
    processed_at = heads.get((decision.requirement, decision.at), "")
    if not processed_at or processed_at == commit or compare(processed_at, commit).same:
        return ""  # it still applies: no agent has received the rejection yet, or none has changed anything since
    return "and it has been worked on since"


def _decision_text(decision: Approval) -> str:
    how = "rejected" if decision.rejected else "attested"
    return f"{how} at {decision.commit[:10] or 'an earlier time'} by {decision.who}: {decision.why}"
