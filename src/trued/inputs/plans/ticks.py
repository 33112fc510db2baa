"""Tick a plan's checklist: only by evidence, or by a person's approval."""

from collections.abc import Sequence

from trued.inputs.plans.plan import tick_lines
from trued.model import Criterion, Grade, Judged, Plan, Requirement, Verdict


def ticked_plan(plan: Plan, requirements: Sequence[Requirement], verdict: Verdict) -> str:
    """A copy of the plan in which every proven or attested criterion is ticked, with the requirement and commit."""
    judged = {one.id: one for one in verdict.requirements}
    done = {}
    for criterion in plan.criteria:
        standing = [judged[one.id] for one in requirements if one.id in judged and _stands_for(one, criterion)]
        if standing and all(one.grade.is_met() for one in standing):
            done[criterion.source.line] = "; ".join(_who_and_what(one, verdict.commit) for one in standing)
    return tick_lines(plan.text, done)


def _stands_for(requirement: Requirement, criterion: Criterion) -> bool:
    words = " ".join(criterion.text.split())
    named = {" ".join(entry.split()) for entry in requirement.covers}
    own = requirement.source == criterion.source and " ".join(requirement.text.split()) == words
    return own or words in named or f"{criterion.kind}: {words}" in named


def _who_and_what(judged: Judged, commit: str) -> str:
    word = f", {judged.why[0]}" if judged.grade is Grade.ATTESTED and judged.why else ""
    return f"{judged.id} {judged.grade} at {commit[:12]}{word}"
