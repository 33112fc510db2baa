"""Pictures of the live page in a real Chromium: the README's, or every page of a state folder to look through.

`python tools/page_picture.py` plays the demo (a minute or two) and makes docs/images/page.png; `--demo FOLDER` takes
one that `trued demo --keep FOLDER` left. `--state FOLDER --sheets OUT` looks at a state folder instead and writes a
sheet for each page, light and dark: the page at three widths, side by side. Without addresses it follows the links of
the pages, to one of each kind.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "page.png"
SIZE: ViewportSize = {"width": 1400, "height": 1000}
WIDTHS = (1400, 900, 390)
TALL = 2600  # pixels of a page that a sheet shows
SCALE = 0.6
ALL_LINKS = "all => all.map(one => new URL(one.getAttribute('href'), document.baseURI).href)"  # also of an SVG
TRUED = [sys.executable, "-m", "trued"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--demo", type=Path, metavar="FOLDER", help="what `trued demo --keep FOLDER` left")
    parser.add_argument("--state", type=Path, metavar="FOLDER", help="a state folder, for --sheets")
    parser.add_argument("--sheets", type=Path, metavar="OUT", help="where to write a sheet for each kind of page")
    parser.add_argument("addresses", nargs="*", metavar="ADDRESS", help="for --sheets: only these, such as /history")
    given = parser.parse_args()
    if bool(given.state) != bool(given.sheets):
        parser.error("--state and --sheets need each other")
    if given.sheets:
        take_sheets(given.state, given.sheets, given.addresses)
    elif given.demo:
        take_picture(given.demo)
    else:
        with tempfile.TemporaryDirectory(prefix="trued-picture-") as folder:
            demo = Path(folder) / "demo"
            subprocess.run([*TRUED, "demo", "--keep", str(demo)], check=True)
            take_picture(demo)


# -- the README's picture ----------------------------------------------------------------------------------------------


def take_picture(demo: Path) -> None:
    """Serve the demo's runs to be looked at, open the newest one as a browser does, and keep what it shows."""
    environ = {**os.environ, "TRUED_HOME": str(demo / "state")}
    listed = subprocess.run([*TRUED, "ls", "--all", "--json"], env=environ, check=True, capture_output=True)
    run = json.loads(listed.stdout)[0]["id"]
    with served(demo / "state", "--look") as page, chromium() as browser:
        tab = entered(browser.new_context(viewport=SIZE, color_scheme="light"), page)
        tab.goto(f"{page['url']}/r/{run}")
        tab.wait_for_selector("#ledger")
        tab.screenshot(path=str(PICTURE))
    sys.stdout.write(f"{PICTURE}\n")


@contextlib.contextmanager
def served(home: Path, *flags: str) -> Iterator[dict[str, str]]:
    """`trued page` of a state folder: the facts that it prints once it answers."""
    environ, serve = {**os.environ, "TRUED_HOME": str(home)}, [*TRUED, "page", "--no-open", "--json", *flags]
    with subprocess.Popen(serve, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield _first_object(server.stdout or sys.stdin)
        finally:
            server.terminate()


def _first_object(lines: IO[str]) -> dict[str, str]:
    text = ""
    for line in lines:
        text += line
        try:
            return dict(json.loads(text))
        except ValueError:
            continue
    raise SystemExit("the page did not start")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def entered(context: BrowserContext, page: dict[str, str]) -> Page:
    """A tab that shows the list of runs."""
    tab = context.new_page()
    tab.goto(Path(page["enter"]).as_uri())
    tab.wait_for_selector("#runs")
    return tab


# -- sheets ------------------------------------------------------------------------------------------------------------


def take_sheets(state: Path, folder: Path, addresses: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with served(state) as page, chromium() as browser, tempfile.TemporaryDirectory(prefix="trued-sheets-") as shots:
        tab = entered(browser.new_context(viewport=SIZE), page)
        for address in addresses or linked_pages(tab, page["url"]):
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme="light" if scheme == "light" else "dark")
                files = [_shot(tab, page["url"] + address, width, Path(shots) / f"{width}.png") for width in WIDTHS]
                name = re.sub(r"\W+", "-", address).strip("-") or "runs"
                _sheet(browser, address, files, folder / f"{name[:80]}.{scheme}.png")
            sys.stdout.write(f"{address}\n")


def linked_pages(tab: Page, url: str) -> list[str]:
    """Addresses that links lead to, one of each kind; the last is one that is not there."""
    found, kinds = ["/"], set[str]()
    for address in found:
        tab.goto(url + address)
        links: list[str] = tab.eval_on_selector_all("a[href]", ALL_LINKS)
        for link in links:
            parts = urlsplit(link)
            there = parts.path + (f"?{parts.query}" if parts.query else "")
            if f"{parts.scheme}://{parts.netloc}" == url and _kind(there) not in kinds:
                kinds.add(_kind(there))
                found.append(there)
    return [*found, "/r/r-nothere"]


def _kind(address: str) -> str:
    """What pages of one kind have in common: the names in their address are left out."""
    path, _, query = address.partition("?")
    parts = path.split("/")
    for number in (2, 4):
        parts[number : number + 1] = ["*"] if len(parts) > number else []
    return "/".join(parts[:5]) + "?" + "&".join(sorted(one.partition("=")[0] for one in query.split("&")))


def _shot(tab: Page, address: str, width: int, file: Path) -> Path:
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(address)
    tab.wait_for_selector("main")
    tab.wait_for_timeout(400)
    tall = min(TALL, int(tab.evaluate("document.documentElement.scrollHeight")))
    tab.screenshot(path=str(file), full_page=True, clip={"x": 0, "y": 0, "width": width, "height": max(tall, 300)})
    return file


def _sheet(browser: Browser, title: str, files: list[Path], to: Path) -> None:
    pictures = "".join(
        f'<img src="{file.as_uri()}" width="{width * SCALE:.0f}">' for file, width in zip(files, WIDTHS, strict=True)
    )
    style = "body{margin:8px;background:#888;font:13px sans-serif}img{vertical-align:top;margin-right:8px}"
    whole = to.with_suffix(".html")
    whole.write_text(f"<meta charset=utf-8><style>{style}</style><p>{title}</p><nobr>{pictures}</nobr>")
    tab = browser.new_page(viewport={"width": int(sum(WIDTHS) * SCALE) + 48, "height": 300})
    tab.goto(whole.as_uri())
    tab.screenshot(path=str(to), full_page=True)
    tab.close()
    whole.unlink()


if __name__ == "__main__":
    main()
