"""Read TOML, JSON and YAML into plain values, and remember the line of every part."""

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
from trued.support.located.lines import json_lines, toml_lines
from trued.support.located.spots import DEPTH_LIMIT, FILE_LIMIT, NODE_LIMIT, Spot

SIMPLER = "nest it less deeply, and write shorter numbers"


@dataclass(frozen=True, slots=True)
class Located:
    """A value from a file, and the lines of its parts."""

    file: str
    value: Any
    lines: Mapping[Spot, int] = field(default_factory=dict)

    def line(self, *spot: str | int) -> int:
        """The line of the part at the path `spot` (keys and indexes), or of the nearest part around it."""
        while spot and spot not in self.lines:
            spot = spot[:-1]
        return self.lines.get(spot, 1)

    def where(self, *spot: str | int) -> str:
        """`file:line` of the part at the path `spot`."""
        return f"{self.file}:{self.line(*spot)}"


def read_text(path: Path, name: str = "") -> str:
    """Read a UTF-8 file that the user named; error messages call it `name`. Raises BadInput if it cannot be read."""
    name = name or str(path)
    try:
        if path.is_dir():
            raise BadInput(f"{name} is a folder", then="pass a file")
        if not S_ISREG((status := path.stat()).st_mode):  # a pipe or a device might never end
            raise BadInput(f"{name} is not a regular file", then="pass a file")
        if status.st_size > FILE_LIMIT:
            raise BadInput(f"{name} is larger than {FILE_LIMIT // 1024 // 1024} MB", then="pass a smaller file")
        data = path.read_bytes()
    except OSError as error:
        what = "there is no file" if isinstance(error, FileNotFoundError) else f"{error.strerror or 'cannot read'}:"
        raise BadInput(f"{what} {name}", then="check the path and its permissions") from error
    except ValueError as error:  # a NUL in the path
        raise BadInput(f"{name!r} is not a file name", then="pass a file") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput("the file is not UTF-8 text", f"{name}:{line}", "save it as UTF-8") from error


def nearest(word: str, known: Iterable[str]) -> str:
    """The hint for an unknown word: "did you mean …?" if a known word is close, else all known words."""
    known = list(known)
    close = difflib.get_close_matches(word, known, 1, 0.6)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def read_toml(text: str, file: str) -> Located:
    """Read TOML. Raises BadInput with the line of a syntax error, or of a value that cannot be stored as JSON."""
    text = text.removeprefix("\ufeff")
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, location = str(error).partition(" (at ")
        line = "".join(char for char in location.partition(",")[0] if char.isdigit()) or str(text.count("\n") + 1)
        raise BadInput(f"this is not TOML: {_reason(what)}", f"{file}:{line}", "fix that line") from error
    except (RecursionError, ValueError) as error:
        raise BadInput(f"this is not TOML: {_reason(str(error))}", f"{file}:1", SIMPLER) from error
    return _storable(Located(file, value, toml_lines(text, file)))


def read_json(text: str, file: str) -> Located:
    """Read JSON. Raises BadInput with the line of a syntax error, of a duplicate key, or of a value that cannot be
    stored as JSON, such as NaN."""
    text = text.removeprefix("\ufeff")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"this is not JSON: {_reason(error.msg)}", f"{file}:{error.lineno}", "fix that line") from error
    except (RecursionError, ValueError) as error:
        raise BadInput(f"this is not JSON: {_reason(str(error))}", f"{file}:1", SIMPLER) from error
    return _storable(Located(file, value, json_lines(text, file)))


def read_yaml(text: str, file: str, first: int = 1) -> Located:
    """Read YAML 1.2; `first` is the line of the file on which the text begins. Raises BadInput with a line."""
    from trued.support.located.yaml import yaml_value

    value, lines = yaml_value(text.removeprefix("\ufeff"), file, first)
    return _storable(Located(file, value, lines))


def _reason(message: str) -> str:
    return message[:1].lower() + message[1:200].replace("\n", " ")


def _storable(located: Located) -> Located:
    """Return `located`. Raises BadInput for what JSON cannot represent (dates, infinities, broken characters), because
    contracts are stored as JSON; also for too many or too deeply nested values."""
    todo: list[tuple[Spot, Any]] = [((), located.value)]
    count = 0
    while todo:
        spot, value = todo.pop()
        count += 1
        if count > NODE_LIMIT or len(spot) > DEPTH_LIMIT:
            raise BadInput(
                "the file has too many values", located.where(*spot), "split it, or remove what is not needed"
            )
        if isinstance(value, dict):
            todo += [((*spot, key), part) for key, part in value.items()]
            todo += [((*spot, key), key) for key in value]
        elif isinstance(value, list):
            todo += [((*spot, number), part) for number, part in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            raise BadInput(f"{value} cannot be stored as JSON", located.where(*spot), "use a finite number")
        elif isinstance(value, str):
            if any("\ud800" <= char <= "\udfff" for char in value):
                raise BadInput(
                    "this text contains half a character (a lone surrogate)",
                    located.where(*spot),
                    "write the whole character",
                )
        elif not isinstance(value, bool | int | float | None):
            raise BadInput(f"{value} is a date or time", located.where(*spot), "put it in quotation marks")
    return located
