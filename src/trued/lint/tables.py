"""The decision table of the verification, read as a person would follow it: row by row, the first that fits."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from ..decide import CHECKERS, GATE, VERIFIERS
from .pages import Piece, normal

DONE, REVISE, ERROR, MISSING = "DONE", "NEEDS_REVISION", "ERROR", "missing"
Case: TypeAlias = Mapping[str, str]

WORD = re.compile(r"\b(DONE|NEEDS_REVISION|ERROR|missing)\b")
RESULT = re.compile(r"[`*_\s]*(DONE|NEEDS_REVISION|ERROR)[`*_\s.]*")
PROCEED = re.compile(r"\b(?:proceed|go(?:es)?\s+on)\b", re.I)
MANY = re.compile(r"\bat\s+least\s+(\d+|two|three)\b|\b(\d+|two|three)\s+or\s+more\b|\b(\d+)\+", re.I)
ALWAYS = re.compile(r"\b(?:otherwise|else|remaining|everything\s+else)\b|\ball\b[^|]*\bDONE\b", re.I)
NUMBERS = {"two": 2, "three": 3}
ONE = dict.fromkeys(VERIFIERS, DONE)
CASES: tuple[tuple[str, Case, str], ...] = (  # those in which no reading of the table is open
    ("all are DONE", ONE, DONE),
    (f"{GATE} is ERROR", {**ONE, GATE: ERROR}, ERROR),
    *((f"{name} is NEEDS_REVISION", {**ONE, name: REVISE}, REVISE) for name in CHECKERS),
    ("two of the others are ERROR", {**ONE, CHECKERS[0]: ERROR, CHECKERS[1]: ERROR}, ERROR),
)


@dataclass(frozen=True, slots=True)
class Rule:
    line: int
    fits: Callable[[Case], bool]
    result: str


def verification(pieces: Sequence[Piece]) -> Iterator[tuple[int, str]]:
    """What is wrong with the table: line and words; line 0 where there is none."""
    tables = [(line, rules) for line, rules in _tables(pieces) if rules]
    if not tables:
        yield 0, "step 6 has no decision table over v-build, v-tests, v-tasks and v-feature"
        return
    line, rules = tables[0]
    for said, case, wanted in CASES:
        fitting = next((rule for rule in rules if rule.fits(case)), None)
        if fitting is None:
            yield line, f"no row of the decision table says what comes of it when {said}"
        elif fitting.result != wanted:
            yield fitting.line, f"when {said} the result is {wanted}, not {fitting.result}"


def _tables(pieces: Sequence[Piece]) -> Iterator[tuple[int, list[Rule]]]:
    for number, piece in enumerate(pieces):
        if piece.kind != "header":
            continue
        rows = []
        for one in pieces[number + 1 :]:
            if one.kind != "row":
                break
            rows.append(one)
        names = [normal(cell) for cell in piece.cells]
        if all(name in names for name in VERIFIERS):
            yield piece.line, _by_column(names, rows)
        elif any(name in row.text.lower() for row in rows for name in VERIFIERS):
            yield piece.line, [rule for row in rows if (rule := _by_words(row))]


def _by_column(names: Sequence[str], rows: Sequence[Piece]) -> list[Rule]:
    """A column an agent. A row that speaks of several at once stands before the others: it is about what they share."""
    rules: list[Rule] = []
    for row in rows:
        result = _result(row.cells[-1]) or _result(row.cells[-1].rsplit("→")[-1])
        if not result:
            continue
        if MANY.search(row.text):
            rules.insert(0, Rule(row.line, _counted(row.cells[-1].rsplit("→")[0]), result))
            continue
        cells = dict(zip(names, row.cells, strict=False))
        own = {name: cells[name] for name in VERIFIERS}
        rules.append(Rule(row.line, partial(_all_meet, own), result))
    return rules


def _by_words(row: Piece) -> Rule | None:
    """A condition in words, and a cell with the result."""
    at = next((n for n, cell in enumerate(row.cells) if n and RESULT.fullmatch(cell)), 0)
    result = _result(row.cells[at])
    if not at or not result:
        return None
    condition = " ".join(row.cells[:at])
    return Rule(row.line, (lambda case: True) if ALWAYS.search(condition) else _counted(condition), result)


def _counted(condition: str) -> Callable[[Case], bool]:
    names = [name for name in VERIFIERS if name in condition.lower()] or list(CHECKERS)
    words = set(WORD.findall(condition))
    many = MANY.search(condition)
    least = _number(next(group for group in many.groups() if group)) if many else 1
    return lambda case: sum(case[name] in words for name in names) >= least


def _number(word: str) -> int:
    return NUMBERS.get(word.lower()) or int(word)


def _result(cell: str) -> str:
    found = RESULT.fullmatch(cell)
    return found[1] if found else DONE if PROCEED.search(cell) else ""


def _all_meet(cells: Mapping[str, str], case: Case) -> bool:
    return all(_meets(cell, case[name]) for name, cell in cells.items())


def _meets(cell: str, status: str) -> bool:
    words = WORD.findall(cell)
    if not words:
        return True  # any, *, —
    return (status not in words) if re.search(r"\bnot\b|≠|!=", cell, re.I) else status in words
