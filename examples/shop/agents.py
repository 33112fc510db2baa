"""Scripted agents for the loyalty ticket, not a model: what they write and say is written down here.

The first implementation counts the points of the cards that are on the page when it opens, and forgets those that
"Load more" brings. The fix agent mends it, unless MENDS is False: then the run ends "not proven".
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

MENDS = True
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PAGES = {"/collections/tea?shown=7": "collection.png", "/quick-view/assam": "quick-view.png"}
HINGE = '<script type="module" src="/assets/collection.js"></script>\n'
HOOKED = '<script type="module" src="/assets/loyalty.js"></script>\n'

POINTS = """// Ten points for each full euro.
export const earned = (cents) => Math.floor(cents / 100) * 10;

export const words = (cents) => `Earn ${earned(cents)} points`;
"""

ONCE = """// Says on every card how many points it earns.
import { words } from "/assets/points.js";

function tell() {
  for (const place of document.querySelectorAll(".points[data-cents]")) {
    place.textContent = words(Number(place.dataset.cents));
  }
}

tell();
"""

ALWAYS = ONCE.replace(
    "\ntell();\n",
    """
tell();

// "Load more" puts cards on the page long after it was opened.
const cards = document.querySelector("#cards");
if (cards) new MutationObserver(tell).observe(cards, { childList: true });
""",
)

TEST = """import assert from "node:assert/strict";
import { test } from "node:test";

import { words } from "../assets/points.js";

test("only full euros earn points", () => {
  assert.equal(words(490), "Earn 40 points");
  assert.equal(words(1500), "Earn 150 points");
  assert.equal(words(99), "Earn 0 points");
});
"""

FILES = {"assets/points.js": POINTS, "assets/loyalty.js": ONCE, "test/points.test.js": TEST}

IMPLEMENTED = {
    "status": "DONE",
    "summary": "A script says on every card how many points it earns; the points are counted in one tested place",
    "success": True,
    "files_changed": ["assets/loyalty.js", "assets/points.js", "pages.js", "test/points.test.js"],
    "commit_sha": "",
}
FIXED = {
    "status": "DONE",
    "summary": "Cards that come later are counted, too",
    "success": True,
    "files_modified": ["assets/loyalty.js"],
    "changes_summary": "The script watches the list of cards and counts again when one is added",
}
WRITTEN = {
    "status": "DONE",
    "summary": "Written",
    "title": "SHOP-1883: product cards say how many points they earn",
    "body": 'Every card, also one that "Load more" brings, and the quick view say "Earn N points".',
}


def impl_agent(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    pages = folder / "pages.js"
    pages.write_text(pages.read_text().replace(HINGE, HOOKED + HINGE))
    return {**IMPLEMENTED, "branch_name": branch(order)}


def verify_agent(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Opens the preview in a real Chromium and reads what each card says. The engine looks for itself, too."""
    issues = [
        {
            "severity": "critical",
            "description": f"A card of {page} does not say how many points it earns",
            "location": page,
            "expected": expected,
            "actual": actual,
            "screenshot": picture,
        }
        for page, picture in PAGES.items()
        for expected, actual in read(address(order) + page, folder / picture)
        if expected != actual
    ]
    summary = f"{len(issues)} cards are wrong" if issues else "Every card says how many points it earns"
    return {
        "status": "DONE",
        "summary": summary,
        "passed": not issues,
        "issues": issues,
        "screenshots": list(PAGES.values()),
    }


def read(url: str, picture: Path) -> list[tuple[str, str]]:
    """What the cards of a page should say, and what they do say, in a browser."""
    browser = next(found for name in BROWSERS if (found := shutil.which(name)))
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=3000"]
    words = [browser, *quiet, "--window-size=1000,1200", f"--screenshot={picture}", "--dump-dom", url]
    html = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    cards = re.findall(r'data-cents="(\d+)">([^<]*)<', html)
    return [(f"Earn {int(cents) // 100 * 10} points", said) for cents, said in cards]


def address(order: dict[str, Any]) -> str:
    """Of the preview, as the brief names it."""
    found = re.search(r"http://127\.0\.0\.1:\d+", order["brief"])
    return found[0] if found else "http://127.0.0.1:8000"


def fix_agent(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    if MENDS:
        (folder / "assets/loyalty.js").write_text(ALWAYS)
    return FIXED


def pr_agent(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    return WRITTEN


def branch(order: dict[str, Any]) -> str:
    """As the brief names it."""
    found = re.search(r"(?:fix|feat)/SHOP-1883[\w-]*", order["brief"])
    return found[0] if found else ""
