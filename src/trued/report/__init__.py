"""One HTML file that tells a run from the journal: who did what, what was refuted, and what the grade rests on."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def write_comparison(data: Mapping[str, Any], path: Path) -> Path:
    """Write what `compare --json` prints as a page of its own."""
    from .. import durable
    from .comparing import compared
    from .render import environment

    page = environment().get_template("comparison.html.j2").render(one=compared(data))
    durable.write(path, page, sync=False)
    return path
