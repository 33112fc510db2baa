"""Purple: two teams build and check a plan chunk by chunk. Solo: a single agent, the baseline for comparisons."""

from typing import TYPE_CHECKING

from trued.workflows.descriptor import Input, Rounds, WorkflowDescriptor

if TYPE_CHECKING:
    from trued.model import Goal, Settings


def owned_files(settings: "Settings", goal: "Goal") -> tuple[str, ...]:
    """Files that do not count as work: MEMORY.md beside the plan; none for a plan outside the repository."""
    from trued.workflows.purple.memory_log import memory_files

    return memory_files(goal.source.file)


PURPLE = WorkflowDescriptor(
    name="purple",
    flow="trued.workflows.purple.flow:purple",
    roles=("purple-team-a", "purple-team-b"),
    takes=Input.PLAN,
    default_for=frozenset({Input.PLAN}),
    takes_parts=True,
    takes_more_rounds=True,
    continuations="trued.workflows.purple.continuations:continuations",
    role_folder="trued.agents.roles:purple",
    replies="trued.workflows.purple.replies:REPLIES",
    handbook="trued.workflows.purple.handbook:handbook",
    repairing_roles=frozenset({"purple-team-b"}),
    other_vendor_roles=frozenset({"purple-team-b"}),
    estimate="trued.workflows.purple.estimate:calls",
    owned_files=owned_files,
    rounds=Rounds("calls of team A, all chunks", roles=("purple-team-a",)),
)

SOLO = WorkflowDescriptor(
    name="solo",
    flow="trued.workflows.purple.solo:solo",
    roles=("solo",),
    takes=Input.PLAN,
    default_for=frozenset({Input.WORDS}),
    check_input="trued.workflows.input_checks:check_plan_or_words",
    is_baseline=True,
    role_folder="trued.agents.roles:purple",
    replies="trued.workflows.purple.replies:REPLIES",
    estimate="trued.workflows.purple.estimate:solo_calls",
    owned_files=owned_files,
    rounds=Rounds("calls of the one agent", roles=("solo",)),
)
