"""Parses JUnit XML of any runner. A head may forge it, so entities are refused and sizes are limited."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from xml.parsers import expat

MOST_BYTES = 32 * 2**20
MOST_ELEMENTS = 400_000
DEEPEST = 60
MOST_TEXT = 4000
_BAD = {"failure": "failed", "error": "error", "rerunFailure": "failed", "flakyFailure": "failed"}
_BAD |= {"rerunError": "error", "flakyError": "error"}
_IDLE = ("notrun", "skipped", "disabled", "suppressed", "pending")


class BadReport(Exception):
    """The file is not a valid report; the message says why."""


@dataclass(frozen=True, slots=True)
class ReportedTest:
    """One test of a report."""

    name: str
    group: str = ""  # the test's class in the report
    suites: tuple[str, ...] = ()  # names of the suites around it, from the outermost
    file: str = ""
    outcome: str = "passed"
    text: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class _Reader:
    tests: list[ReportedTest] = field(default_factory=list)
    suites: list[tuple[str, str]] = field(default_factory=list)  # name, file
    case: ReportedTest | None = None
    inside: str = ""  # the failure, error or skip element whose text is being read
    words: list[str] = field(default_factory=list)
    depth: int = 0
    elements: int = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.elements += 1
        if self.depth > DEEPEST or self.elements > MOST_ELEMENTS:
            raise BadReport(f"it has elements nested more than {DEEPEST} deep, or more than {MOST_ELEMENTS:,} elements")
        if tag == "testsuite":
            self.suites.append((attributes.get("name", ""), attributes.get("file", attributes.get("filepath", ""))))
        elif tag == "testcase":
            self.case = self._case(attributes)
        elif self.case is not None and (tag in _BAD or tag == "skipped"):
            self.inside, self.words = tag, [attributes.get("message", "")]

    def _case(self, attributes: dict[str, str]) -> ReportedTest:
        idle = attributes.get("status", "").lower() in _IDLE or attributes.get("result", "").lower() in _IDLE
        around = next((file for _, file in reversed(self.suites) if file), "")
        return ReportedTest(
            name=attributes.get("name", ""),
            group=attributes.get("classname", ""),
            suites=tuple(name for name, _ in self.suites if name),
            file=attributes.get("file", "") or around,
            outcome="skipped" if idle else "passed",
            seconds=as_seconds(attributes.get("time", "")),
        )

    def data(self, text: str) -> None:
        if self.inside and sum(map(len, self.words)) < MOST_TEXT:
            self.words.append(text)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag == self.inside and self.case is not None:
            text = "\n".join(filter(None, (word.strip() for word in self.words)))[:MOST_TEXT]
            worse = _BAD.get(tag, "skipped")
            if self.case.outcome not in _BAD.values():
                self.case = replace(self.case, outcome=worse, text=text)
            self.inside = ""
        elif tag == "testcase" and self.case is not None:
            self.tests.append(self.case)
            self.case = None
        elif tag == "testsuite" and self.suites:
            self.suites.pop()


def read_report(data: bytes) -> list[ReportedTest]:
    """The tests of a report. Raises BadReport if it is not well formed, is too large, or declares a document type."""
    if len(data) > MOST_BYTES:
        raise BadReport(f"it is larger than {MOST_BYTES >> 20} MiB")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    parser.StartDoctypeDeclHandler = _declared
    parser.EntityDeclHandler = _declared
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise BadReport(str(error)) from error
    return reader.tests


def _declared(*_: Any) -> None:
    raise BadReport("it declares a document type")


def as_seconds(text: str) -> float:
    """The text as a number of seconds; 0 if it is not a finite number of 0 or more."""
    try:
        seconds = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds >= 0 else 0.0


def id_in_file(test: ReportedTest, file: str) -> str:
    """The test's id inside its file: group and name, without the file."""
    is_group_repeated = test.group in ("", file, test.name) or test.name.startswith(test.group)
    parts = [test.name] if is_group_repeated else [test.group, test.name]
    return " > ".join(_inner(parts, file))


def _inner(parts: list[str], file: str) -> Iterator[str]:
    for part in parts:
        if part and part != file:
            yield part
