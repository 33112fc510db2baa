"""Scripted agents for the loyalty ticket, not a model: what they write and say is written down here.

The first implementation counts the points of the cards that are on the page when it opens, and forgets those that
"Load more" brings. The fix agent mends it, unless MENDS is False: then the run ends "not proven".
"""

import subprocess
from pathlib import Path
from typing import Any

MENDS = True
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


def impl_agent(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    pages = folder / "pages.js"
    pages.write_text(pages.read_text().replace(HINGE, HOOKED + HINGE))
    return {
        "status": "DONE",
        "success": True,
        "branch_name": git(folder, "branch", "--show-current"),
        "files_changed": ["assets/loyalty.js", "assets/points.js", "pages.js", "test/points.test.js"],
        "commit_sha": "",
        "summary": "A script says on every card how many points it earns; the points are counted in one tested place",
    }


def verify_agent(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Knows one thing to look for. What the browser shows is for the engine to find out."""
    if "MutationObserver" in (folder / "assets/loyalty.js").read_text():
        return {
            "status": "DONE",
            "summary": "Every card shows its points",
            "passed": True,
            "issues": [],
            "screenshots": [],
        }
    issue = {
        "severity": "critical",
        "description": 'Cards that "Load more" brings do not show their points',
        "location": "/collections/tea?shown=7",
        "expected": "Earn 240 points",
        "actual": "+ loyalty points",
        "screenshot": "",
    }
    return {
        "status": "DONE",
        "summary": "The last cards are wrong",
        "passed": False,
        "issues": [issue],
        "screenshots": [],
    }


def fix_agent(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    if MENDS:
        (folder / "assets/loyalty.js").write_text(ALWAYS)
    return {
        "status": "DONE",
        "summary": "Cards that come later are counted, too",
        "success": True,
        "files_modified": ["assets/loyalty.js"],
        "changes_summary": "The script watches the list of cards and counts again when one is added",
        "beyond": [],
    }


def pr_agent(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {
        "status": "DONE",
        "summary": "Written",
        "title": "SHOP-1883: product cards say how many points they earn",
        "body": 'Every card, also one that "Load more" brings, and the quick view say "Earn N points".',
    }


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False).stdout.strip()
