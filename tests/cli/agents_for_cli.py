"""Scripted agents for the command line's tests: team A lies once about 1A, and logs terminal control sequences."""

from pathlib import Path
from typing import Any


def purple_team_a(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    file = folder / "tiny.py"
    if "chunk 1A" in order["key"]:
        right = order["turn"] > 1
        file.write_text("def double(x):\n    return x + x\n" if right else "def double(x):\n    return 42\n")
    else:
        file.write_text(file.read_text() + "\n\ndef triple(x):\n    return 3 * x\n")
    print("\x1b[2Jall \x1b]0;owned\x07tests [bold]pass[/bold]")
    order["usage"](tokens_in=1200, tokens_out=300, tokens_cached=10, peak=1500, cost_usd=0.25, estimated=False)
    return {"implemented": ["it"], "files": [{"path": "tiny.py", "what": "a function"}], "notes": []}


def purple_team_b(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {"result": "PASS", "steel_man": ["tiny.py reads well"], "gaps": [], "fixed": []}


def solo(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    return purple_team_a({**order, "key": "chunk 1A", "turn": 2}, folder)
