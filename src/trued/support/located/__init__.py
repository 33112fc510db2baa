"""TOML, JSON and YAML whose every value knows the line that it stands on."""

import difflib
import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any

from trued.errors import BadInput
from trued.support.located.spots import DEPTH_LIMIT, FILE_LIMIT, NODE_LIMIT, Spot


@dataclass(frozen=True, slots=True)
class Located:
    """A value from a file, and the lines of its parts."""

    file: str
    value: Any
    lines: Mapping[Spot, int] = field(default_factory=dict)

    def line(self, *spot: str | int) -> int:
        """The line of that part, or of the nearest thing around it."""
        while spot and spot not in self.lines:
            spot = spot[:-1]
        return self.lines.get(spot, 1)

    def where(self, *spot: str | int) -> str:
        return f"{self.file}:{self.line(*spot)}"


def read_text(path: Path, name: str = "") -> str:
    """The text of a file that the user named; one clear sentence where it cannot be had."""
    name = name or str(path)
    try:
        if path.is_dir():
            raise BadInput(f"{name} is a folder", then="name a file")
        if not S_ISREG((status := path.stat()).st_mode):  # a pipe or a device may never end
            raise BadInput(f"{name} is no ordinary file", then="name a file")
        if status.st_size > FILE_LIMIT:
            raise BadInput(f"{name} is larger than {FILE_LIMIT // 1024 // 1024} MB", then="name the right file")
        data = path.read_bytes()
    except OSError as error:
        what = "there is no file" if isinstance(error, FileNotFoundError) else f"{error.strerror or 'cannot read'}:"
        raise BadInput(f"{what} {name}", then="name a file that can be read") from error
    except ValueError as error:  # a NUL in the path
        raise BadInput(f"{name!r} is no file name", then="name a file") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput("the file is not UTF-8 text", f"{name}:{line}", "save it as UTF-8") from error


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean …` for a misspelt word, else what there is."""
    known = list(known)
    close = difflib.get_close_matches(word, known, 1, 0.6)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def read_toml(text: str, file: str) -> Located:
    from trued.support.located.toml import toml_lines

    text = text.removeprefix("\ufeff")
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, at = str(error).partition(" (at ")
        line = "".join(char for char in at.partition(",")[0] if char.isdigit()) or str(text.count("\n") + 1)
        raise BadInput(f"this is not TOML: {_sentence(what)}", f"{file}:{line}", "mend that line") from error
    except (RecursionError, ValueError) as error:
        raise BadInput(f"this is not TOML: {_sentence(str(error))}", f"{file}:1", "make it simpler") from error
    return _plain(Located(file, value, toml_lines(text)))


def read_json(text: str, file: str) -> Located:
    text = text.removeprefix("\ufeff")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"this is not JSON: {_sentence(error.msg)}", f"{file}:{error.lineno}", "mend that line"
        ) from error
    except (RecursionError, ValueError) as error:
        raise BadInput(f"this is not JSON: {_sentence(str(error))}", f"{file}:1", "make it simpler") from error
    return _plain(Located(file, value, _Json(text, file).lines))


def read_yaml(text: str, file: str, first: int = 1) -> Located:
    """YAML 1.2; `first` is the line of the file that the text begins on."""
    from trued.support.located.yaml import yaml_value

    value, lines = yaml_value(text.removeprefix("\ufeff"), file, first)
    return _plain(Located(file, value, lines))


def _sentence(words: str) -> str:
    return words[:1].lower() + words[1:200].replace("\n", " ")


def _plain(located: Located) -> Located:
    """Refuse what JSON cannot carry: dates, infinities, broken characters. A contract is JSON in the end."""
    todo: list[tuple[Spot, Any]] = [((), located.value)]
    count = 0
    while todo:
        spot, value = todo.pop()
        count += 1
        if count > NODE_LIMIT or len(spot) > DEPTH_LIMIT:
            raise BadInput("the file holds too much", located.where(*spot), "make it smaller")
        if isinstance(value, dict):
            todo += [((*spot, key), part) for key, part in value.items()]
            todo += [((*spot, key), key) for key in value]
        elif isinstance(value, list):
            todo += [((*spot, number), part) for number, part in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            raise BadInput(f"{value} cannot be compared", located.where(*spot), "use a finite number")
        elif isinstance(value, str):
            if any("\ud800" <= char <= "\udfff" for char in value):
                raise BadInput("half a character (a lone surrogate)", located.where(*spot), "write the whole character")
        elif not isinstance(value, bool | int | float | None):
            raise BadInput(f"{value} is a date or time", located.where(*spot), "put it in quotation marks")
    return located


class _Json:
    """Lines of all parts of a text that is known to be JSON."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file, self.at, self.line = text, file, 0, 1
        self.lines: dict[Spot, int] = {}
        self._value(())

    def _skip(self) -> str:
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n,:":
            self.line += self.text[self.at] == "\n"
            self.at += 1
        return self.text[self.at] if self.at < len(self.text) else ""

    def _value(self, spot: Spot) -> None:
        start = self._skip()
        self.lines.setdefault(spot, self.line)
        if len(spot) > DEPTH_LIMIT:
            raise BadInput("nested too deeply", f"{self.file}:{self.line}", "make it simpler")
        if start == "{":
            self.at += 1
            seen: set[str] = set()
            while self._skip() != "}":
                line, key = self.line, self._string()
                if key in seen:
                    raise BadInput(f'"{key}" is there twice', f"{self.file}:{line}", "keep one of them")
                seen.add(key)
                self.lines[(*spot, key)] = line
                self._value((*spot, key))
            self.at += 1
        elif start == "[":
            self.at += 1
            number = 0
            while self._skip() != "]":
                self._value((*spot, number))
                number += 1
            self.at += 1
        elif start == '"':
            self._string()
        else:
            while self.at < len(self.text) and self.text[self.at] not in " \t\r\n,]}":
                self.at += 1

    def _string(self) -> str:
        value, self.at = json.JSONDecoder().raw_decode(self.text, self.at)
        return str(value)
