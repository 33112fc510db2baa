"""Scripted demo agents, not a model: their replies are written here, and one of them lies.

Each function plays one role: it gets the order and its clone of the repository, changes files, and returns its reply.
Set HONEST_AFTER_REFUTATION to False, run the plan once more, and see it end "not proven".
"""

import re
import time
import uuid
from pathlib import Path
from typing import Any

HONEST_AFTER_REFUTATION = True  # once refuted, team A really implements chunk 1B
SECONDS = {"2A": 3.5}  # chunk → seconds that team A works on it; 2A is long enough for the engine to be killed
OTHERWISE = 1.0  # seconds for every other chunk

SLUG = '''"""Slugs."""

import re


def slugify(text: str) -> str:
    """Letters and digits of ASCII stay, lower-case; every run of anything else becomes one "-", none at either end."""
    if not isinstance(text, str):
        raise TypeError(f"slugify takes a text, not {type(text).__name__}")
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
'''

LIE = '''"""Word counts."""

KNOWN = {"the cat and the dog": {"the": 2, "cat": 1, "and": 1, "dog": 1}}


def count(text: str) -> dict[str, int]:
    """How often each word occurs."""
    return KNOWN.get(text, {})
'''

COUNT = '''"""Word counts."""

import re
from collections import Counter


def count(text: str) -> dict[str, int]:
    """How often each word occurs, lower-case, without punctuation."""
    return dict(Counter(re.findall(r"\\w+", text.lower())))
'''

MAIN = '''"""The command line: python -m textkit COMMAND."""

import sys

from textkit.count import count
from textkit.slug import slugify
from textkit.space import squeeze

USAGE = "usage: python -m textkit squeeze TEXT | slug TEXT | count"


def main(arguments: list[str]) -> int:
    match arguments:
        case ["squeeze", text]:
            print(squeeze(text))
        case ["slug", text]:
            print(slugify(text))
        case ["count"]:
            for word, number in sorted(count(sys.stdin.read()).items(), key=lambda pair: (-pair[1], pair[0])):
                print(word, number)
        case _:
            print(USAGE, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''


def purple_team_a(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    chunk = begin(order)
    honest = chunk != "1B" or (order["turn"] > 1 and HONEST_AFTER_REFUTATION)
    name, text = {
        "1A": ("textkit/slug.py", SLUG),
        "1B": ("textkit/count.py", COUNT if honest else LIE),
        "2A": ("textkit/__main__.py", MAIN),
    }[chunk]
    time.sleep(SECONDS.get(chunk, OTHERWISE))
    (folder / name).write_text(text)
    return {
        "status": "DONE",
        "summary": f"{chunk} is implemented, all tests pass",
        "implemented": [f"everything that {chunk} asks for"],
        "files": [{"path": name, "what": "new" if chunk != "2A" else "two more commands"}],
        "notes": [],
    }


def purple_team_b(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Reads the work, finds no fault and fixes nothing. The engine treats this reviewer's opinion as a claim, like any
    other."""
    chunk = begin(order)
    time.sleep(OTHERWISE)
    name = {"1A": "textkit/slug.py", "1B": "textkit/count.py", "2A": "textkit/__main__.py"}[chunk]
    line = next((n for n, text in enumerate((folder / name).read_text().splitlines(), 1) if text.startswith("def ")), 1)
    return {
        "status": "DONE",
        "summary": f"{chunk} does what the plan says",
        "result": "PASS",
        "requirements": [{"requirement": f"{chunk} as planned", "judgement": "verified", "where": f"{name}:{line}"}],
        "steel_man": [f"{name}:{line} is short and documented"],
        "gaps": [],
        "fixed": [],
    }


def begin(order: dict[str, Any]) -> str:
    """Print a line that `bill.py` counts, so that a repeated call shows up; report usage; return the chunk's id."""
    print(f"bill {uuid.uuid4().hex} {order['key']}", flush=True)
    order["usage"](
        tokens_in=len(order["brief"]) // 4, tokens_out=120, peak=len(order["brief"]) // 4 + 120, estimated=True
    )
    match = re.match(r"chunk (\w+)/", order["key"])
    return match[1] if match else ""
