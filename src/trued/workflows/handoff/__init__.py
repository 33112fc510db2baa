"""Handoff: agents build an application from its specification, feature by feature, and hand over to each other in
files."""

from typing import TYPE_CHECKING

from trued.workflows.descriptor import BranchState, Input, Rounds, WorkflowDescriptor

if TYPE_CHECKING:
    from trued.model import Goal, Settings


def owned_files(settings: "Settings", goal: "Goal") -> tuple[str, ...]:
    """Files that only the engine writes: feature list, state, progress notes, set-up script, and the example of an
    end-to-end test. They do not count as work."""
    from trued.workflows.handoff import agent_state, e2e_example, feature_list
    from trued.workflows.handoff.init_script import SCRIPT
    from trued.workflows.handoff.progress_file import PROGRESS

    return feature_list.NAME, agent_state.NAME, *PROGRESS, settings.progress, SCRIPT, e2e_example.EXAMPLE


HANDOFF = WorkflowDescriptor(
    name="handoff",
    flow="trued.workflows.handoff.flow:handoff",
    roles=("initializer", "coder"),
    spared_roles="trued.workflows.handoff.input:spared_roles",
    takes=Input.SPECIFICATION,
    default_for=frozenset({Input.SPECIFICATION}),
    check_input="trued.workflows.handoff.input:check_specification",
    starts_empty=True,
    branch_state=BranchState("agent_state.json", "trued.workflows.handoff.agent_state:parse_agent_state"),
    role_folder="trued.agents.roles:handoff",
    replies="trued.workflows.handoff.replies:REPLIES",
    handbook="trued.workflows.handoff.handbook:handbook",
    estimate="trued.workflows.handoff.estimate:calls",
    owned_files=owned_files,
    records_approvals=True,
    takes_more_rounds=True,
    continuations="trued.workflows.handoff.view:continuations",
    rounds=Rounds("coders, all features", roles=("coder",)),
    view="trued.workflows.handoff.view:HandoffView",
)
