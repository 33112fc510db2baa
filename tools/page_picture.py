"""Makes docs/images/page.png, the README's picture of the live page: the run of `trued demo` in a real Chromium.

`python tools/page_picture.py` plays the demo first (a minute or two); `--demo FOLDER` takes one that
`trued demo --keep FOLDER` left.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from playwright.sync_api import ViewportSize, sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "page.png"
SIZE: ViewportSize = {"width": 1400, "height": 1000}
TRUED = [sys.executable, "-m", "trued"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--demo", type=Path, metavar="FOLDER", help="what `trued demo --keep FOLDER` left")
    given = parser.parse_args().demo
    if given:
        take_picture(given)
        return
    with tempfile.TemporaryDirectory(prefix="trued-picture-") as folder:
        demo = Path(folder) / "demo"
        subprocess.run([*TRUED, "demo", "--keep", str(demo)], check=True)
        take_picture(demo)


def take_picture(demo: Path) -> None:
    """Serve the demo's runs to be looked at, open the newest one as a browser does, and keep what it shows."""
    environ = {**os.environ, "TRUED_HOME": str(demo / "state")}
    listed = subprocess.run([*TRUED, "ls", "--all", "--json"], env=environ, check=True, capture_output=True)
    run = json.loads(listed.stdout)[0]["id"]
    serve = [*TRUED, "page", "--look", "--no-open", "--json"]
    with subprocess.Popen(serve, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        try:
            _photograph(_first_object(server.stdout or sys.stdin), run)
        finally:
            server.terminate()


def _first_object(lines: IO[str]) -> dict[str, str]:
    """The facts that the server prints once it answers."""
    text = ""
    for line in lines:
        text += line
        try:
            return dict(json.loads(text))
        except ValueError:
            continue
    raise SystemExit("the page did not start")


def _photograph(page: dict[str, str], run: str) -> None:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
        tab.goto(Path(page["enter"]).as_uri())
        tab.wait_for_selector("#runs")
        tab.goto(f"{page['url']}/r/{run}")
        tab.wait_for_selector("#ledger")
        tab.screenshot(path=str(PICTURE))
        browser.close()
    sys.stdout.write(f"{PICTURE}\n")


if __name__ == "__main__":
    main()
