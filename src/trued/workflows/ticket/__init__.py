"""Ticket: implements one issue of a tracker, verifies it in rounds, and offers it as a pull request."""

from trued.workflows.descriptor import Input, Rounds, WorkflowDescriptor

TICKET = WorkflowDescriptor(
    name="ticket",
    flow="trued.workflows.ticket.flow:ticket",
    roles=("impl-agent", "verify-agent", "fix-agent", "pr-agent"),
    takes=Input.TICKET,
    default_for=frozenset({Input.TICKET}),
    role_folder="trued.agents.roles:ticket",
    replies="trued.workflows.ticket.replies:REPLIES",
    handbook="trued.workflows.ticket.handbook:handbook",
    repairing_roles=frozenset({"verify-agent", "pr-agent"}),
    estimate="trued.workflows.ticket.estimate:calls",
    offers_pull_request=True,
    rounds=Rounds("rounds of verification", event="round"),
    view="trued.workflows.ticket.view:TicketView",
)
