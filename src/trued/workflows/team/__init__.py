"""Team: a PM, a tech lead, developers, QA and UAT work on a goal until it is accepted."""

from typing import TYPE_CHECKING

from trued.workflows.descriptor import Input, Rounds, WorkflowDescriptor

if TYPE_CHECKING:
    from trued.model import Goal, Settings


def owned_files(settings: "Settings", goal: "Goal") -> tuple[str, ...]:
    """Files that do not count as work: the folder with the team's backlog, inboxes and results."""
    return (".trued/team/",)


TEAM = WorkflowDescriptor(
    name="team",
    flow="trued.workflows.team.flow:team",
    roles=("pm", "techlead", "dev", "qa", "uat"),
    takes=Input.WORDS,
    check_input="trued.workflows.team.input:check_goal",
    role_folder="trued.agents.roles:team",
    replies="trued.workflows.team.replies:REPLIES",
    repairing_roles=frozenset({"qa", "uat"}),
    asks_people=False,
    estimate="trued.workflows.team.estimate:calls",
    owned_files=owned_files,
    rewritten_folders=(".trued/team/",),
    writes_into=".trued/team/",
    documents=(".trued/team/",),
    rounds=Rounds("attempts of dev, all tasks", event="team", fields={"kind": "attempt"}),
    editable=".trued/team/backlog.md",
    reopen="trued.workflows.team.backlog:reopened",
    continuations="trued.workflows.team.view:continuations",
    view="trued.workflows.team.view:TeamView",
)
