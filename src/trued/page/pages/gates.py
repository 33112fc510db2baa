"""What the gates of repositories decided, from their records."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trued.model import Grade
from trued.page.pages.common import HOME, made, paged
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.support.foreign_json import parse_json
from trued.support.lazy_regex import lazy_regex

TAIL = 256 * 1024  # bytes at the end of each record that are read
HASH = lazy_regex("[0-9a-f]{40,64}", re.ASCII)
MOST = 2_000  # lines of all gates together that are shown, the newest


@dataclass(frozen=True)
class GateLine:
    """One line of a gate's record."""

    gate: str
    at: float
    what: str
    grade: str
    facts: str


def gates(reader: Reader, params: Params) -> PageView:
    every = sorted(_lines(reader.home), key=lambda line: (-line.at, line.gate))[:MOST]
    names = sorted({line.gate for line in every})
    only = params.get("gate", "")
    shown = [line for line in every if not only or line.gate == only]
    pieces = {"gates": piece("gates/page.html.j2", paging=paged(shown, params, "gate"), names=names[:100], only=only)}
    return made(reader, "Gates", pieces, HOME)


def _lines(home: Path) -> Iterator[GateLine]:
    for file in sorted((home / "gates").glob("*/record.jsonl")):
        try:
            with file.open("rb") as opened:
                opened.seek(max(0, file.stat().st_size - TAIL))
                content = opened.read(TAIL)
        except OSError:
            continue
        for line in content.splitlines():
            if (row := _row(line)) is not None:
                at = row.pop("at", 0)
                when = float(at) if isinstance(at, int | float) else 0.0
                what = str(row.pop("what", ""))
                grade = str(row.pop("grade", ""))
                yield GateLine(file.parent.name, when, what, grade if grade in set(Grade) else "", _facts(row))


def _row(line: bytes) -> dict[str, Any] | None:
    row = parse_json(line)
    return row if isinstance(row, dict) else None


def _facts(row: dict[str, Any]) -> str:
    return " · ".join(f"{name} {_value_text(value)}" for name, value in row.items() if value not in ("", None, [], {}))[
        :600
    ]


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value_text, value))
    text = str(value)
    return text[:10] if HASH.fullmatch(text) else text


ROUTE = PageRoute("/gates", gates)
