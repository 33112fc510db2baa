"""The ticket workflow without the engine: a command that leads from a ticket to a pull request."""

from pathlib import Path

from trued.agents.roles.export import Export
from trued.agents.roles.other_tools import RoleFormat
from trued.model import Settings
from trued.workflows.by_hand import plan_command

ABOUT = "Bring a ticket to a pull request: implement, verify in a browser, fix"


def handbook(form: RoleFormat, top: Path) -> list[Export]:
    """The command as a file in the format of one tool."""
    return plan_command(form, top, "ticket", ABOUT, Path(__file__).parent / "ticket.md.j2", rounds=Settings().rounds)
