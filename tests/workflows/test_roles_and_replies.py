"""What a role file says of its answer is what the workflow asks of it, field by field."""

import re

import pytest
from pydantic import ValidationError

from trued import Reply
from trued.agents.roles import load_roles
from trued.run.run import ProposedPlan as Chunks
from trued.workflows.handoff import replies as handoff_replies
from trued.workflows.pipeline import replies as pipeline_replies
from trued.workflows.purple import replies as purple_replies
from trued.workflows.team import replies as team_replies
from trued.workflows.ticket import replies as ticket_replies

PIPELINE: dict[str, type[Reply]] = {
    "researcher": pipeline_replies.Researched,
    "spec": pipeline_replies.Specified,
    "designer": pipeline_replies.Designed,
    **dict.fromkeys(("ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"), pipeline_replies.Critique),
    "planner": pipeline_replies.Planned,
    **dict.fromkeys(("implementer", "documentation-writer"), pipeline_replies.Implemented),
    "v-build": pipeline_replies.BuildChecked,
    **dict.fromkeys(("v-tests", "v-tasks", "v-feature"), pipeline_replies.Verified),
    **dict.fromkeys(("r-quality", "r-security", "r-testing", "r-knowledge"), pipeline_replies.Reviewed),
}
OTHERS: dict[str, tuple[type[Reply], ...]] = {
    "planner": (Chunks,),
    "purple-team-a": (purple_replies.Built,),
    "purple-team-b": (purple_replies.Review,),
    "impl-agent": (ticket_replies.Implemented,),
    "verify-agent": (ticket_replies.Verified,),
    "fix-agent": (ticket_replies.Fixed,),
    "pr-agent": (ticket_replies.PullRequest,),
    "initializer": (handoff_replies.Initialized,),
    "coder": (handoff_replies.Coded,),
    "pm": (team_replies.Breakdown, team_replies.Fixes, team_replies.Clarified),
    "techlead": (team_replies.Specified, team_replies.Clarified),
    "dev": (team_replies.Developed,),
    "qa": (team_replies.Tested,),
    "uat": (team_replies.Validated,),
}
EVERYWHERE = {"status", "summary", "question"}
UNUSED = {  # fields that a role shares with others and has no use for
    **{name: {"severity"} for name in ("researcher", "spec", "designer", "planner", "implementer")},
    "documentation-writer": {"severity", "disputes"},
    **{name: {"tasks"} for name in ("v-tests", "v-feature")},
    "r-knowledge": {"repeats"},
}


def named(role: str) -> set[str]:
    outputs = load_roles(None, None)[role].prompt.partition("## Outputs\n")[2].partition("\n## ")[0]
    return set(re.findall(r"\*\*(\w+)\*\*", outputs))


def fields(*replies: type[Reply]) -> set[str]:
    return {name for reply in replies for name in reply.model_fields} - EVERYWHERE


@pytest.mark.spec("PIPE-1", "PIPE-13", "AGT-3")
@pytest.mark.parametrize("role", sorted(PIPELINE))
def test_an_agent_of_the_pipeline_is_told_of_every_field_that_its_memory_and_the_tables_need(role: str) -> None:
    assert fields(PIPELINE[role]) - UNUSED.get(role, set()) <= named(role)
    assert not named(role) & UNUSED.get(role, set())


@pytest.mark.spec("AGT-3", "TEAM-5", "TEAM-6", "TEAM-7")
@pytest.mark.parametrize("role", sorted(OTHERS))
def test_a_role_names_every_field_of_what_it_answers(role: str) -> None:
    assert fields(*OTHERS[role]) <= named(role)
    if role in ("qa", "uat"):
        assert {"what", "reproduction", "expected", "actual", "severity", "case"} <= named(role)
    if role in ("dev", "qa"):
        assert "asks" in named(role)


@pytest.mark.spec("TEAM-1", "TEAM-15")
def test_a_breakdown_of_more_tasks_than_anybody_reads_is_none() -> None:
    def planned(stories: int, tasks: int) -> dict[str, object]:
        story = {"name": "s", "tasks": [{"title": "t"}] * tasks}
        return {"features": [{"name": "f", "criteria": ["c"], "stories": [story] * stories}]}

    assert len(team_replies.Breakdown.model_validate(planned(10, 100)).features) == 1
    with pytest.raises(ValidationError, match="1010 tasks are too many"):
        team_replies.Breakdown.model_validate(planned(10, 101))
