"""One HTML file that tells a run from the journal: who did what, what was refuted, and what the grade rests on."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..engine import Engine


def write(engine: "Engine", run_id: str, path: Path | None = None) -> Path:
    """Write the report of a run; without a path it goes to the run's own folder."""
    from .. import durable
    from .gather import gather  # loaded when used: the command line imports this package for its help
    from .page import page
    from .render import rendered

    material = gather(engine, run_id)
    target = path or material.folder / "report.html"
    durable.write(target, rendered(page(material)), sync=False)
    return target
