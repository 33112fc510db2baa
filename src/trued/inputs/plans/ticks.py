"""Ticks the criteria of a plan that are proven, or that a person has accepted."""

from collections.abc import Sequence

from trued.inputs.plans.plan import tick_lines
from trued.model import Criterion, Grade, Judged, Plan, Requirement, Verdict


def ticked_plan(plan: Plan, requirements: Sequence[Requirement], verdict: Verdict) -> str:
    """A copy of the plan in which every proven or attested criterion is ticked. A comment names the criterion's
    requirements and the commit."""
    judged = {item.id: item for item in verdict.requirements}
    done = {}
    for criterion in plan.criteria:
        standing = [
            judged[requirement.id]
            for requirement in requirements
            if requirement.id in judged and _stands_for(requirement, criterion)
        ]
        if standing and all(item.grade.is_proven_or_attested for item in standing):
            done[criterion.source.line] = "; ".join(_who_and_what(item, verdict.commit) for item in standing)
    return tick_lines(plan.text, done)


def _stands_for(requirement: Requirement, criterion: Criterion) -> bool:
    words = " ".join(criterion.text.split())
    covered = {" ".join(entry.split()) for entry in requirement.covers}
    is_own = requirement.source == criterion.source and " ".join(requirement.text.split()) == words
    return is_own or words in covered or f"{criterion.kind}: {words}" in covered


def _who_and_what(judged: Judged, commit: str) -> str:
    word = f", {judged.why[0]}" if judged.grade is Grade.ATTESTED and judged.why else ""
    return f"{judged.id} {judged.grade} at {commit[:12]}{word}"
