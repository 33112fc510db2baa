"""One HTML file that shows a run from its journal: who did what, what was refuted, and what the grade rests on."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trued.engine.run_store import RunStore


def write(store: "RunStore", run_id: str, path: Path | None = None) -> Path:
    """Write the report of a run; without a path it goes to the run's own folder."""
    # imported here, because the command line imports this package even to print help
    from trued.reporting.html.gather import gather
    from trued.reporting.html.page import page
    from trued.reporting.html.render import rendered
    from trued.support import atomic_files

    material = gather(store, run_id)
    target = path or material.folder / "report.html"
    if path is None:
        material.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_files.write(target, rendered(page(material)), sync=False)
    return target


def write_comparison(data: Mapping[str, Any], path: Path) -> Path:
    """Write a comparison as a separate HTML page. `data`: what `compare --json` prints."""
    from trued.reporting.html.comparison import compared
    from trued.reporting.html.render import environment
    from trued.support import atomic_files

    page = environment().get_template("comparison.html.j2").render(one=compared(data))
    atomic_files.write(path, page, sync=False)
    return path
