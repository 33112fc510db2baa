"""The handoff workflow without the engine: a command that leads coder after coder through a list of features."""

from pathlib import Path

from trued.agents.roles.export import Export
from trued.agents.roles.other_tools import RoleFormat
from trued.model import Settings
from trued.workflows.by_hand import plan_command
from trued.workflows.handoff import feature_list
from trued.workflows.handoff.init_script import SCRIPT
from trued.workflows.handoff.progress_file import PROGRESS

ABOUT = "Build an application from its specification, one feature and one fresh coder at a time"


def handbook(form: RoleFormat, top: Path) -> list[Export]:
    """The command as a file below `top`, in the format of a tool."""
    files = {"features": feature_list.NAME, "script": SCRIPT, "progress": PROGRESS[0]}
    template = Path(__file__).parent / "handoff.md.j2"
    return plan_command(form, top, "handoff", ABOUT, template, attempts=Settings().rounds, **files)
