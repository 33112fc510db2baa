"""The lines of all parts of a TOML text: a scanner that trusts that the text was parsed before."""

from collections.abc import Iterator

from trued.support.located.spots import Spot

_SPACE = " \t\r\n"
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}


def toml_lines(text: str) -> dict[Spot, int]:
    return _Toml(text).lines


class _Toml:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1
        self.lines: dict[Spot, int] = {(): 1}
        self.counts: dict[Spot, int] = {}  # arrays of tables: how many elements so far
        table: Spot = ()
        while self._skip():
            if self.text.startswith("[[", self.at):
                table = self._header(2)
            elif self.text[self.at] == "[":
                table = self._header(1)
            else:
                self._pair(table)

    def _step(self, count: int = 1) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def _skip(self, also: str = "") -> bool:
        """Over space, line ends and comments; False at the end of the text."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in _SPACE or char in also:
                self._step()
            else:
                return True
        return False

    def _header(self, brackets: int) -> Spot:
        line = self.line
        self._step(brackets)
        keys = list(self._keys("]"))
        self._step(brackets)
        table: Spot = ()
        for key in keys[:-1]:
            table = self._inside((*table, key), line)
        table = (*table, keys[-1])
        if brackets == 2:
            self.lines.setdefault(table, line)
            self.counts[table] = self.counts.get(table, 0) + 1
            table = (*table, self.counts[table] - 1)
        self.lines.setdefault(table, line)
        return table

    def _inside(self, spot: Spot, line: int) -> Spot:
        """A table on the way; for an array of tables its last element."""
        self.lines.setdefault(spot, line)
        return (*spot, self.counts[spot] - 1) if spot in self.counts else spot

    def _pair(self, table: Spot) -> None:
        line = self.line
        keys = list(self._keys("="))
        self._step()
        for key in keys:
            table = (*table, key)
            self.lines.setdefault(table, line)
        self._value(table)

    def _keys(self, stop: str) -> Iterator[str]:
        """The parts of a dotted key, up to `stop`, which is not consumed."""
        while self._skip(".") and self.text[self.at] != stop:
            if self.text[self.at] in "\"'":
                yield self._string()
            else:
                start = self.at
                while self.text[self.at] not in f".{stop}{_SPACE}":
                    self.at += 1
                yield self.text[start : self.at]

    def _value(self, spot: Spot) -> None:
        self._skip()
        char = self.text[self.at]
        if char == "[":
            self._step()
            number = 0
            while self._skip(",") and self.text[self.at] != "]":
                self.lines[(*spot, number)] = self.line
                self._value((*spot, number))
                number += 1
            self._step()
        elif char == "{":
            self._step()
            while self._skip(",") and self.text[self.at] != "}":
                self._pair(spot)
            self._step()
        elif char in "\"'":
            self._string()
        else:
            while self.at < len(self.text) and self.text[self.at] not in ",]}#\n":
                self.at += 1

    def _string(self) -> str:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at):
            self._long(quote)
            return ""
        self.at += 1
        parts: list[str] = []
        while self.text[self.at] != quote:
            if self.text[self.at] == "\\" and quote == '"':
                parts.append(self._escape())
            else:
                parts.append(self.text[self.at])
                self.at += 1
        self.at += 1
        return "".join(parts)

    def _escape(self) -> str:
        kind = self.text[self.at + 1]
        size = {"u": 4, "U": 8, "x": 2}.get(kind, 0)
        digits = self.text[self.at + 2 : self.at + 2 + size]
        self.at += 2 + size
        return chr(int(digits, 16)) if size else _ESCAPES.get(kind, kind)

    def _long(self, quote: str) -> None:
        """Over a string in three quotation marks; up to two more may stand before its end."""
        self._step(3)
        while not self.text.startswith(quote * 3, self.at):
            self._step(2 if self.text[self.at] == "\\" and quote == '"' else 1)
        self._step(3)
        while self.at < len(self.text) and self.text[self.at] == quote:
            self._step()
