"""Each role file describes the reply that its workflow asks for, field by field."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from trued import Reply
from trued.agents.roles import load_roles
from trued.run.run import ProposedPlan as Chunks
from trued.workflows.descriptor import WorkflowDescriptor, load
from trued.workflows.pipeline import replies as pipeline_replies
from trued.workflows.registry import descriptors
from trued.workflows.team import replies as team_replies

WORKFLOWS = Path(__file__).parents[2] / "src" / "trued" / "workflows"
OURS = [one for one in descriptors() if one.replies.startswith("trued.")]
PIPELINE: dict[str, type[Reply]] = {role: replies[0] for role, replies in pipeline_replies.REPLIES.items()}
OTHERS: dict[str, tuple[type[Reply], ...]] = {
    "planner": (Chunks,),
    **{
        role: replies
        for one in OURS
        for role, replies in load(one.replies).items()
        if one.name != "pipeline" and role != "solo"  # solo has the reply of purple-team-a
    },
}
EVERYWHERE = {"status", "summary", "question"}
UNUSED = {  # role → fields of a shared reply that it does not use
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


@pytest.mark.parametrize("workflow", OURS, ids=lambda one: one.name)
def test_a_workflow_lists_the_replies_that_it_asks_its_roles_for(workflow: WorkflowDescriptor) -> None:
    listed = load(workflow.replies)
    assert set(workflow.roles) <= set(listed)
    folder = WORKFLOWS / workflow.flow.split(".")[2]
    asked = {
        (role, reply)
        for file in folder.glob("*.py")
        for role, reply in re.findall(r'"([a-z][a-z-]+)", ([A-Z][a-z]\w+)\b', file.read_text())
        if role in listed
    }
    assert asked
    assert {pair for pair in asked if pair[1] not in [one.__name__ for one in listed[pair[0]]]} == set()


@pytest.mark.spec("TEAM-1", "TEAM-15")
def test_a_breakdown_of_more_tasks_than_anybody_reads_is_none() -> None:
    def planned(stories: int, tasks: int) -> dict[str, object]:
        story = {"name": "s", "tasks": [{"title": "t"}] * tasks}
        return {"features": [{"name": "f", "criteria": ["c"], "stories": [story] * stories}]}

    assert len(team_replies.Breakdown.model_validate(planned(10, 100)).features) == 1
    with pytest.raises(ValidationError, match="1010 tasks are too many"):
        team_replies.Breakdown.model_validate(planned(10, 101))
