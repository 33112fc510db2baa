"""Approvals: which of people's decisions still apply to the work as it is now. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from trued.model import Approval, ProcessedDecisions
from trued.model.records import WHOLE_CONTRACT
from trued.support.hashing import digest
from trued.support.plurals import counted, few

if TYPE_CHECKING:
    from trued.model import Requirement

FILES = 5  # at most this many changed files that a reason names; the others are only counted


def steps_of(requirement: "Requirement") -> tuple[str, ...]:
    """The steps that a person follows before deciding; the requirement's own text if it names no steps."""
    from trued.model import ManualCheck  # imported here: it is slow to load, and answering a question needs no checks

    steps = tuple(step for check in requirement.checks if isinstance(check, ManualCheck) for step in check.steps)
    return steps or (requirement.text,)


def is_manual(requirement: "Requirement") -> bool:
    from trued.model import ManualCheck

    return any(isinstance(check, ManualCheck) for check in requirement.checks)


def asked_of(requirement: "Requirement") -> str:
    """Hash of a requirement's text and manual steps. An approval applies only while this hash is unchanged."""
    return digest(requirement.text, list(steps_of(requirement)))


@dataclass(frozen=True, slots=True)
class Since:
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


Compare: TypeAlias = Callable[[str, str], Since]
# an approval's requirement and time → the head at which a step processed it
HeadByDecision: TypeAlias = Mapping[tuple[str, float], str]


def head_by_decision(processed: Iterable[ProcessedDecisions]) -> dict[tuple[str, float], str]:
    return {(word.requirement, word.at): one.head for one in processed for word in one.words}


def unprocessed_decisions(
    words: Iterable[Approval], processed: Sequence[ProcessedDecisions], asked: Collection[str], *, every: bool = False
) -> list[Approval]:
    """For each requirement, the newest decision that the workflow has not processed yet. Approvals are left out, except
    of parked requirements: a person had to decide on these, and nobody was there. `every`: keep all approvals, for a
    workflow that records them in its files. `asked`: the contract's requirements; decisions on requirements that a
    person has removed are left out."""
    known, parked = head_by_decision(processed), {name for one in processed for name in one.parked}
    meant = {*asked, WHOLE_CONTRACT} if every else {*asked}
    news = [one for one in words if one.requirement in meant and (one.requirement, one.at) not in known]
    newest = {one.requirement: one for one in news}  # the later one replaces the earlier one
    return [one for one in newest.values() if every or one.rejected or one.requirement in parked]


def commits_to_compare(
    words: Iterable[Approval], at: Mapping[str, str], heads: HeadByDecision
) -> Iterator[tuple[str, str]]:
    """The pairs of commits to compare in order to know which approvals still apply."""
    for one in words:
        now = at.get(one.requirement, "")
        for before in (one.commit, heads.get((one.requirement, one.at), "")):
            if now and before and before != now:
                yield before, now


def current_decisions(
    words: Sequence[Approval], at: Mapping[str, str], heads: HeadByDecision, compare: Compare, asked: Mapping[str, str]
) -> list[Approval]:
    """The decision (approval or rejection) that applies to each requirement at the commit in `at`. If none applies, the
    last one, with the reason why it is stale. `asked`: the hash of what each requirement asks for now."""
    found: dict[str, Approval] = {}
    for one in words:
        now, said_of = at.get(one.requirement, ""), asked.get(one.requirement, "")
        another = bool(one.asked and said_of and one.asked != said_of)
        stale = "the requirement has changed since" if another else _stale_reason(one, now, heads, compare)
        before = found.get(one.requirement)
        if before is None or before.stale or not stale:
            found[one.requirement] = one.model_copy(update={"stale": stale and f"{_decision_text(one)}, {stale}"})
    return list(found.values())


def _stale_reason(word: Approval, now: str, heads: HeadByDecision, compare: Compare) -> str:
    if not (word.commit and now) or word.commit == now:
        return ""
    since = compare(word.commit, now)
    if since.same:
        return ""
    if not word.rejected:
        return str(since)
    there = heads.get((word.requirement, word.at), "")
    if not there or there == now or compare(there, now).same:
        return ""  # it still applies: no agent has received the rejection yet, or none has changed anything since
    return "and it has been worked on since"


def _decision_text(word: Approval) -> str:
    how = "rejected" if word.rejected else "attested"
    return f"{how} at {word.commit[:10] or 'an earlier time'} by {word.who}: {word.why}"
