"""Front matter: fields between two lines of ---, each with its line number. Other tools' files are parsed as leniently
as those tools parse them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex
from trued.support.located import Located, read_yaml
from trued.support.located.spots import Spot

BEGIN = "begin the file with --- , name, description and tools, and a second ---"
FIELD = lazy_regex(r"([A-Za-z][\w-]*)\s*:(?:\s+(.*))?$")
WORD = r"[A-Za-z][\w-]*"
SIMPLE = lazy_regex(rf"([a-z]+): (?:([A-Za-z](?:[\w .,;'()-]*[\w.')])?)|\[({WORD}(?:, {WORD})*)\])", re.ASCII)
MEANING = lazy_regex(r"null|true|false|yes|no|on|off|y|n", re.I)  # words that some YAML parsers do not read as text


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A file in two parts: its fields, and the text below them."""

    fields: Located
    body: str
    line: int  # first line of the body


def read_strict(text: str, file: str) -> FrontMatter:
    """Parse our own format. Raises BadInput if the front matter is missing, has no end, has no fields or is not valid
    YAML."""
    head, body, line = _halves(text, file)
    fields = read_simple(head, file) or read_yaml(head, file, first=2)
    if not isinstance(fields.value, dict):
        raise BadInput("the front matter has no fields", f"{file}:2", BEGIN)
    return FrontMatter(fields, body, line)


def read_simple(head: str, file: str) -> Located | None:
    """Parse fields that are words or lists of words, one field per line, as in all packaged roles. The result is the
    same as that of the YAML parser, which is slower. None if there is any other line."""
    values: dict[str, Any] = {}
    lines: dict[Spot, int] = {(): 2}
    for number, line in enumerate(head.split("\n"), 2):
        match = SIMPLE.fullmatch(line)
        if match is None or match[1] in values:
            return None
        items = match[3].split(", ") if match[3] else [match[2]]
        if any(MEANING.fullmatch(word) for word in (match[1], *items)):
            return None
        values[match[1]] = items if match[3] else match[2]
        lines |= dict.fromkeys(((match[1],), *((match[1], item) for item in range(len(items)) if match[3])), number)
    return Located(file, values, lines)


def read_lenient(text: str, file: str, known: Collection[str]) -> FrontMatter | None:
    """Parse other tools' formats: a field that is not valid YAML is read as text. None if the file has no fields.
    Raises BadInput if the front matter has no end, contains a line that is no field, or contains a field twice.
    `known`: the names of fields that can follow a description; a line with any other name belongs to the
    description."""
    if not text.removeprefix("\ufeff").startswith("---"):
        return None
    head, body, line = _halves(text, file)
    try:
        fields = read_yaml(head, file, first=2)
    except BadInput:
        fields = _read_entries(head, file, known)
    return FrontMatter(fields, body, line) if isinstance(fields.value, dict) else None


def _halves(text: str, file: str) -> tuple[str, str, int]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise BadInput("the role file has no front matter", f"{file}:1", BEGIN)
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    raise BadInput("the front matter has no closing ---", f"{file}:1", BEGIN)


def _read_entries(head: str, file: str, known: Collection[str]) -> Located:
    values: dict[str, Any] = {}
    lines: dict[Spot, int] = {(): 2}
    for key, line, chunk in _entries(head, file, known):
        if key in values:
            raise BadInput(f'"{key}" occurs twice', f"{file}:{line}", "keep one of them")
        field = _parse_field(key, chunk, file, line)
        values[key] = field.value[key]
        lines |= {spot: number for spot, number in field.lines.items() if spot}
    return Located(file, values, lines)


def _parse_field(key: str, chunk: str, file: str, line: int) -> Located:
    """Parse one field: as YAML if possible, else as text."""
    try:
        parsed = read_yaml(chunk, file, first=line)
    except BadInput:
        parsed = Located(file, None)
    if isinstance(parsed.value, dict) and parsed.value.keys() == {key}:
        return parsed
    text = chunk.partition(":")[2].strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return Located(file, {key: text}, {(key,): line})


def _entries(head: str, file: str, known: Collection[str]) -> Iterator[tuple[str, int, str]]:
    """Name, line and text of each field. In a description only a known name starts the next field, since
    descriptions contain lines like `user: …`."""
    key, begun, lines = "", 2, list[str]()
    for number, line in enumerate(head.split("\n"), 2):
        match = FIELD.match(line)
        if match and (key != "description" or match[1] in known):
            if key:
                yield key, begun, "\n".join(lines)
            key, begun, lines = match[1], number, [line]
        elif key:
            lines.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            raise BadInput(f"{line.strip()[:60]!r} is not a field", f"{file}:{number}", "write `name: value`")
    if key:
        yield key, begun, "\n".join(lines)
