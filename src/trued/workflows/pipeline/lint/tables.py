"""Decision tables, read as a person would follow them: the first row that matches wins."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from trued.support.lazy_regex import lazy_regex
from trued.workflows.pipeline.decision_tables import (
    CHECKERS,
    CRITICS,
    GATE,
    KNOWLEDGE,
    OTHERS,
    REVIEWERS,
    SECURITY,
    VERIFIERS,
    Concern,
    Flaw,
)
from trued.workflows.pipeline.lint.pages import TextBlock, normal

DONE, REVISE, ERROR, MISSING = "DONE", "NEEDS_REVISION", "ERROR", "missing"
# agent → its answer as one word: a status, or the severity that goes with DONE
StatusByAgent: TypeAlias = Mapping[str, str]

SCALES = ([str(word) for word in Concern], [str(word) for word in Flaw])
WORD = lazy_regex(rf"\b(DONE|NEEDS_REVISION|ERROR|missing|{'|'.join(word for scale in SCALES for word in scale)})\b")
WORSE = lazy_regex(r"\b(\w+) or (?:worse|above|higher)\b")
RESULT = lazy_regex(r"[`*_\s]*(DONE|NEEDS_REVISION|ERROR)[`*_\s.]*")
PROCEED = lazy_regex(r"\b(?:proceed|go(?:es)?\s+on)\b", re.I)
MANY = lazy_regex(r"\bat\s+least\s+(\d+|two|three)\b|\b(\d+|two|three)\s+or\s+more\b|\b(\d+)\+", re.I)
ALWAYS = lazy_regex(
    r"\b(?:otherwise|else|remaining|everything\s+else)\b|\ball\b[^|]*\b(?:DONE|Medium|Low|Minor)\b", re.I
)
NUMBERS = {"two": 2, "three": 3}


@dataclass(frozen=True, slots=True)
class Probe:
    """A case to look up in a decision table, and the result that a rule requires for it."""

    rule: str
    said: str
    case: StatusByAgent
    wanted: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    line: int
    fits: Callable[[StatusByAgent], bool]
    result: str


def _all(names: Sequence[str], **other: str) -> dict[str, str]:
    return dict.fromkeys(names, DONE) | {name.replace("_", "-"): word for name, word in other.items()}


CRITIQUE = (
    Probe("TS-6.2", "a critic finds something High", _all(CRITICS, ct_security="High"), REVISE),
    Probe("TS-6.2", "a critic finds something Critical", _all(CRITICS, ct_strategy="Critical"), REVISE),
    Probe("TS-6.2", "nothing is worse than Medium", _all(CRITICS, ct_security="Medium"), DONE),
    Probe("TS-6.3", "three critics are missing", _all(CRITICS) | dict.fromkeys(CRITICS[1:], MISSING), ERROR),
)
VERIFICATION = (
    Probe("TS-7.1", "all are DONE", _all(VERIFIERS), DONE),
    Probe("TS-7.1", f"{GATE} is ERROR", _all(VERIFIERS) | {GATE: ERROR}, ERROR),
    *(
        Probe("TS-7.1", f"{checker} is NEEDS_REVISION", _all(VERIFIERS) | {checker: REVISE}, REVISE)
        for checker in CHECKERS
    ),
    Probe("TS-7.1", "two of the others are ERROR", _all(VERIFIERS) | dict.fromkeys(CHECKERS[:2], ERROR), ERROR),
)
REVIEW = (
    Probe("TS-8.1", f"{SECURITY} finds a Blocker", _all(REVIEWERS) | {SECURITY: "Blocker"}, ERROR),
    Probe("TS-8.2", f"{SECURITY} is missing", _all(REVIEWERS) | {SECURITY: MISSING}, ERROR),
    Probe("TS-8.3", f"{KNOWLEDGE} is missing", _all(REVIEWERS) | {KNOWLEDGE: MISSING}, DONE),
    Probe("TS-8.3", f"{KNOWLEDGE} finds something Major", _all(REVIEWERS) | {KNOWLEDGE: "Major"}, DONE),
    Probe("TS-8.4", f"{' and '.join(OTHERS)} are missing", _all(REVIEWERS) | dict.fromkeys(OTHERS, MISSING), ERROR),
)


def wrong_results(pieces: Sequence[TextBlock], probes: Sequence[Probe]) -> Iterator[tuple[int, str, str]] | None:
    """The probes for which the table gives a wrong result: line, rule and message. None if no table can be parsed."""
    names = tuple(probes[0].case)
    tables = [(line, rows) for line, rows in _tables(pieces, names) if rows]
    return _check_probes(*tables[0], probes) if tables else None


def _check_probes(line: int, rows: Sequence[RuleRow], probes: Sequence[Probe]) -> Iterator[tuple[int, str, str]]:
    for probe in probes:
        fitting = next((row for row in rows if row.fits(probe.case)), None)
        if fitting is None:
            yield line, probe.rule, f"no row of the table says what happens when {probe.said}"
        elif fitting.result != probe.wanted:
            yield (
                fitting.line,
                probe.rule,
                f"when {probe.said}, the result must be {probe.wanted}; this row says {fitting.result}",
            )


def _tables(pieces: Sequence[TextBlock], names: Sequence[str]) -> Iterator[tuple[int, list[RuleRow]]]:
    for number, piece in enumerate(pieces):
        if piece.kind != "header":
            continue
        rows = []
        for later in pieces[number + 1 :]:
            if later.kind != "row":
                break
            rows.append(later)
        titles = [normal(cell) for cell in piece.cells]
        if all(name in titles for name in names):
            yield piece.line, _by_column(titles, rows, names)
        elif any(name in row.text.lower() for row in rows for name in names):
            yield piece.line, _by_words(rows, names)


def _by_column(titles: Sequence[str], rows: Sequence[TextBlock], names: Sequence[str]) -> list[RuleRow]:
    """The rules of a table with one column for each agent. A row such as "two or more …" comes first in the result,
    because people write it last but mean it as an exception to the other rows."""
    rules: list[RuleRow] = []
    for row in rows:
        condition, _, last = row.cells[-1].rpartition("→")
        result = _result(last)
        if not result:
            continue
        if MANY.search(row.text):
            rules.insert(0, RuleRow(row.line, _status_condition(condition, names), result))
            continue
        cells = dict(zip(titles, row.cells, strict=False))
        rules.append(RuleRow(row.line, partial(_all_meet, {name: cells[name] for name in names}), result))
    return rules


def _by_words(rows: Sequence[TextBlock], names: Sequence[str]) -> list[RuleRow]:
    """The rules of a table with a condition in words and a cell with the result; empty if a row cannot be parsed."""
    rules: list[RuleRow] = []
    for row in rows:
        position = next((n for n, cell in enumerate(row.cells) if n and RESULT.fullmatch(cell)), 0)
        condition = " ".join(row.cells[:position])
        if not position or not (WORD.search(condition) or ALWAYS.search(condition)):
            return []
        fits = _always if ALWAYS.search(condition) else _status_condition(condition, names)
        rules.append(RuleRow(row.line, fits, _result(row.cells[position])))
    return rules


def _always(case: StatusByAgent) -> bool:
    return True


def _status_condition(condition: str, cluster: Sequence[str]) -> Callable[[StatusByAgent], bool]:
    named = [name for name in cluster if name in condition.lower()]
    names = named or [name for name in cluster if name not in (GATE, KNOWLEDGE)]
    terms = set(WORD.findall(condition))
    for word in WORSE.findall(condition):
        terms |= {grade for scale in SCALES if word in scale for grade in scale[scale.index(word) :]}
    many = MANY.search(condition)
    least = _count_from(next(group for group in many.groups() if group)) if many else 1
    return lambda case: sum(case[name] in terms for name in names) >= least


def _count_from(word: str) -> int:
    return NUMBERS.get(word.lower()) or int(word)


def _result(cell: str) -> str:
    match = RESULT.fullmatch(cell)
    return match[1] if match else DONE if PROCEED.search(cell) else ""


def _all_meet(cells: Mapping[str, str], case: StatusByAgent) -> bool:
    return all(_meets(cell, case[name]) for name, cell in cells.items())


def _meets(cell: str, status: str) -> bool:
    terms = WORD.findall(cell)
    if not terms:
        return True  # the cell is empty or says "any", "*" or "—"
    return (status not in terms) if re.search(r"\bnot\b|≠|!=", cell, re.I) else status in terms
