"""The purple workflow without the engine: a command that leads both teams through a plan."""

from pathlib import Path

from trued.agents.roles.export import Export
from trued.agents.roles.other_tools import RoleFormat
from trued.model import Settings
from trued.workflows.by_hand import plan_command
from trued.workflows.purple.memory_log import ChunkSection, Iteration, render

ABOUT = "Carry out a plan chunk by chunk: Team A builds, Team B checks and repairs"


def handbook(form: RoleFormat, top: Path) -> list[Export]:
    """The command as a file in the format of one tool."""
    template = Path(__file__).parent / "purple.md.j2"
    return plan_command(form, top, "purple", ABOUT, template, rounds=Settings().rounds, log=_sample())


def _sample() -> str:
    """A log as the engine writes it."""
    round_one = Iteration(
        implemented=("`slugify` joins words with one hyphen",),
        files=(("textkit.py", "new function"),),
        notes=("unsure about digits",),
        steel_man=("empty text is handled, textkit.py:12",),
        gaps=("a leading hyphen stays, textkit.py:15",),
        status="GAPS_REMAIN",
    )
    section = ChunkSection(chunk="1A", scope="`slugify(text)`", iterations=(round_one,), status="gaps remain")
    return render("", [section]).strip()
