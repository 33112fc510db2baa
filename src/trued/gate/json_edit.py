"""Edits JSON as text: adds or removes one member or element and leaves every other byte as it is."""

import json
import re
from dataclasses import dataclass
from typing import Any

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex

_SPACE = lazy_regex(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class JsonPart:
    """One member of an object or one element of an array. `start`, `value` and `end` are positions in the text: where
    the part starts, where its value starts, and where the part ends."""

    name: str | int
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON text that holds an object. Edits keep its style: line ends and indentation."""

    text: str

    @classmethod
    def read(cls, data: bytes, where: str) -> "JsonText":
        """Decode a file's bytes; `where` names the file. Raises BadInput if it is not a JSON object."""
        try:
            text = data.decode()
            value = json.loads(text.removeprefix(MARK))
        except UnicodeDecodeError:
            raise BadInput("the file is not UTF-8", where, "fix it by hand; nothing was changed") from None
        except ValueError as error:
            line = getattr(error, "lineno", 1)
            what = f"the file is not JSON: {getattr(error, 'msg', error)}"
            raise BadInput(what, f"{where}:{line}", "fix it by hand; nothing was changed") from None
        except RecursionError:
            raise BadInput("the file is nested too deeply", where, "fix it by hand; nothing was changed") from None
        if not isinstance(value, dict):
            raise BadInput("the file is not a JSON object", f"{where}:1", "fix it by hand; nothing was changed")
        return cls(text)

    def bytes(self) -> bytes:
        return self.text.encode()

    def at(self, *path: str | int) -> Any:
        """The value at `path`; None if there is none."""
        spot = self._spot(path)
        return None if spot is None else _DECODER.raw_decode(self.text, spot)[0]

    def line(self, *path: str | int) -> int:
        spot = self._spot(path)
        return self.text.count("\n", 0, spot or 0) + 1

    def append(self, path: tuple[str | int, ...], name: str | None, value: Any) -> "JsonText":
        """Append a part to the object or array at `path`. `name`: the name of the new member of an object; None for an
        array."""
        spot = self._spot(path)
        assert spot is not None  # noqa: S101  (callers have checked that it exists)
        parts = self._parts(spot)
        inner = self._indent * (len(path) + 1)
        label = f"{json.dumps(name)}: " if name is not None else ""
        written = label + json.dumps(value, indent=self._indent, ensure_ascii=False).replace(
            "\n", self._newline + inner
        )
        if parts:
            return self._splice(parts[-1].end, parts[-1].end, f",{self._newline}{inner}{written}")
        shut = self._closing_bracket(spot)
        outer = self._indent * len(path)
        return self._splice(spot + 1, shut, f"{self._newline}{inner}{written}{self._newline}{outer}")

    def drop(self, *path: str | int) -> "JsonText":
        """Remove the part at `path`, and the comma and the space between it and its neighbour."""
        holder = self._spot(path[:-1])
        assert holder is not None  # noqa: S101
        parts = self._parts(holder)
        place = max(
            index for index, part in enumerate(parts) if part.name == path[-1]
        )  # of several parts with this name, the last one counts: see `_spot`
        if len(parts) == 1:
            return self._splice(holder + 1, self._closing_bracket(holder), "")
        if place:
            return self._splice(parts[place - 1].end, parts[place].end, "")
        return self._splice(parts[0].start, parts[1].start, "")

    # -- positions in the text -------------------------------------------------------------------------------------

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def _indent(self) -> str:
        match = re.search(r"\n([ \t]+)\S", self.text)
        return match[1] if match else "  "

    def _splice(self, start: int, end: int, text: str) -> "JsonText":
        return JsonText(self.text[:start] + text + self.text[end:])

    def _skip(self, spot: int) -> int:
        match = _SPACE.match(self.text, spot)
        return match.end() if match else spot

    def _spot(self, path: tuple[str | int, ...]) -> int | None:
        spot = self._skip(len(MARK) if self.text.startswith(MARK) else 0)
        for name in path:
            if self.text[spot] not in "{[":
                return None
            # if two members have the same name, the last one counts, as in other JSON parsers
            values = [part.value for part in self._parts(spot) if part.name == name]
            if not values:
                return None
            spot = values[-1]
        return spot

    def _parts(self, spot: int) -> list[JsonPart]:
        """The parts of the object or array that begins at `spot`."""
        members, parts = self.text[spot] == "{", list[JsonPart]()
        spot = self._skip(spot + 1)
        while self.text[spot] not in "}]":
            start, name = spot, len(parts)
            label: str | int = name
            if members:
                label, spot = _DECODER.raw_decode(self.text, spot)
                spot = self._skip(self._skip(spot) + 1)
            _, end = _DECODER.raw_decode(self.text, spot)
            parts.append(JsonPart(label, start, spot, end))
            spot = self._skip(end)
            if self.text[spot] == ",":
                spot = self._skip(spot + 1)
        return parts

    def _closing_bracket(self, spot: int) -> int:
        """The position of the bracket that closes the object or array at `spot`."""
        parts = self._parts(spot)
        return self._skip(parts[-1].end if parts else spot + 1)
