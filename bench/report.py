"""The report of a long run: CPU to make it, its size, its nodes, and how long Chromium takes to open it."""

import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bench.show import Target, show
from tests.reporting.html.reading import Read
from tests.reporting.html.sample import long_run
from trued.reporting.html.page import page
from trued.reporting.html.render import rendered

CHUNKS = (4, 100, 1000, 5000)
MANY = 1000
NODES, MEGABYTES, MAKE_S, OPEN_S = 30_000, 3.0, 3.0, 2.0
TURNS = 5
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> bool:
    figures = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for number in CHUNKS:
            one = long_run(number)
            began = time.process_time()
            html = rendered(page(one))
            made = time.process_time() - began
            path = Path(folder) / f"{number}.html"
            path.write_text(html, encoding="utf-8")
            size, opened = len(html.encode()) / 1e6, _opened(browser, path)
            figures[number] = {"make_s": made, "megabytes": size, "nodes": Read(html).nodes, "open_s": opened}
        browser.close()
    rows = [
        [
            f"{number} chunks",
            f"{one['make_s']:.2f}",
            f"{one['megabytes']:.2f}",
            f"{one['nodes']:.0f}",
            f"{one['open_s']:.2f}",
        ]
        for number, one in figures.items()
    ]
    many = figures[MANY]
    targets = [
        Target(f"nodes at {MANY}", many["nodes"], NODES),
        Target(f"MB at {MANY}", many["megabytes"], MEGABYTES),
        Target(f"CPU s to make it at {MANY}", many["make_s"], MAKE_S),
        Target(f"s to open it at {MANY}", many["open_s"], OPEN_S),
    ]
    return show("report", ["report", "CPU s", "MB", "nodes", "s to open"], rows, targets, figures)


def _opened(browser: Browser, path: Path) -> float:
    """Seconds until it has loaded, the best of a few: others use the machine, too."""
    found = []
    for _ in range(TURNS):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        opened = context.new_page()
        opened.goto(path.as_uri())
        found.append(float(opened.evaluate(LOADED)) / 1000)
        context.close()
    return min(found)
