"""Finds the line of every part of a JSON or TOML text that a real parser has already accepted."""

import json
import re
import tomllib
from collections.abc import Iterator

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex
from trued.support.located.spots import DEPTH_LIMIT, Spot

_SPACE = lazy_regex(r"(?:[\s,]++|#[^\n]*+)*+")
_STRING = lazy_regex(
    r"""
      \"{3} (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ \"{3,5}
    | '{3}  (?: [^']++ | '{1,2}(?!') )*+ '{3,5}
    | " (?: [^"\\]++ | \\. )*+ "
    | ' [^']*+ '
    """,
    re.VERBOSE | re.DOTALL,
)
_BARE_KEY = lazy_regex(r"[\w-]+")
_BARE_VALUE = lazy_regex(r"[^,\]}#\n]*")


def json_lines(text: str, file: str) -> dict[Spot, int]:
    """The line of every part. Raises BadInput for a duplicate key, which the real parser accepts silently."""
    scanner = _Scanner(text, file, is_json=True)
    scanner.skip_space()
    scanner.value(())
    return scanner.lines


def toml_lines(text: str, file: str) -> dict[Spot, int]:
    scanner = _Scanner(text, file, is_json=False)
    scanner.document()
    return scanner.lines


class _Scanner:
    """Scans JSON or TOML and records the line of every part. One class does both, because a JSON object and a TOML
    inline table differ only in ":" and "="."""

    def __init__(self, text: str, file: str, *, is_json: bool) -> None:
        self.text, self.file, self.is_json = text, file, is_json
        self.at, self.line = 0, 1
        self.lines: dict[Spot, int] = {} if is_json else {(): 1}
        self.lengths: dict[Spot, int] = {}  # lengths of TOML's arrays of tables so far

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        taken = match[0] if match else ""
        self.at += len(taken)
        self.line += taken.count("\n")
        return taken

    def skip_space(self) -> str:
        """Skip white space, commas and comments; returns the next character, or "" at the end."""
        self.take(_SPACE)
        return self.text[self.at : self.at + 1]

    def value(self, spot: Spot) -> None:
        self.lines.setdefault(spot, self.line)
        if len(spot) > DEPTH_LIMIT:
            raise BadInput("nested too deeply", f"{self.file}:{self.line}", "nest lists and tables less deeply")
        start = self.text[self.at]
        if start == "{":
            self.at += 1
            while self.skip_space() != "}":
                self.pair(spot)
            self.at += 1
        elif start == "[":
            self.at += 1
            number = 0
            while self.skip_space() != "]":
                self.value((*spot, number))
                number += 1
            self.at += 1
        else:
            self.take(_STRING if start in "\"'" else _BARE_VALUE)

    def pair(self, spot: Spot) -> None:
        line = self.line
        for key in self.keys(":="):
            spot = (*spot, key)
            if self.is_json and spot in self.lines:
                raise BadInput(f'"{key}" occurs twice', f"{self.file}:{line}", "keep one of them")
            self.lines.setdefault(spot, line)
        self.at += 1
        self.skip_space()
        self.value(spot)

    def keys(self, stop: str) -> Iterator[str]:
        """The parts of a dotted key, up to one of the characters of `stop`, which is not consumed."""
        while (start := self.skip_space()) not in stop:
            if start == ".":
                self.at += 1
            elif start in "\"'":
                quoted = self.take(_STRING)
                yield str(json.loads(quoted) if self.is_json else tomllib.loads(f"key = {quoted}")["key"])
            else:
                yield self.take(_BARE_KEY)

    # -- TOML

    def document(self) -> None:
        table: Spot = ()
        while start := self.skip_space():
            if start == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> Spot:
        """Read `[table]` or `[[array of tables]]` and return its path. Double brackets begin the next element of the
        array."""
        line, brackets = self.line, 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        *around, last = self.keys("]")
        self.at += brackets
        table: Spot = ()
        for key in around:
            table = (*table, key)
            self.lines.setdefault(table, line)
            if table in self.lengths:  # an array of tables: its last element is meant
                table = (*table, self.lengths[table] - 1)
        table = (*table, last)
        if brackets == 2:
            self.lines.setdefault(table, line)
            self.lengths[table] = self.lengths.get(table, 0) + 1
            table = (*table, self.lengths[table] - 1)
        self.lines.setdefault(table, line)
        return table
