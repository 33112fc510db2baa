"""Reads a MEMORY.md back, so that tests can compare it with what was written."""

import re
from collections.abc import Iterator

from trued.workflows.purple.memory_log import MARKS, NONE, ChunkSection, Iteration, _chunk_of, _split, _unescaped


def parse(text: str) -> tuple[ChunkSection, ...]:
    """The chunks of a log."""
    _, log, _ = _split(text)
    return tuple(LogLines(part).section() for chunk, part in log if chunk)


class LogLines:
    """One section of the log, read line by line."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0

    def section(self) -> ChunkSection:
        heading = self._next()
        scope = re.split(r"(?<!\\): ?", heading, maxsplit=1)[1]
        iterations: list[Iteration] = []
        while self._peek().startswith("#### Team A"):
            iterations.append(self._iteration())
        mark = self._field("Chunk status")
        gaps = tuple(self._entries("Remaining gaps")) if self._peek() else ()
        status = next(name for name, text in MARKS.items() if text == mark)
        return ChunkSection(
            chunk=_chunk_of(heading),
            scope=_unescaped(scope),
            iterations=tuple(iterations),
            status=status,
            gaps=gaps,
        )

    def _iteration(self) -> Iteration:
        self._next()
        implemented = tuple(self._entries("Implemented"))
        files = tuple(_file(entry) for entry in self._raw("Files"))
        notes = tuple(self._entries("Notes"))
        self._next()
        steel_man, gaps, fixed = (tuple(self._entries(name)) for name in ("Steel-man", "Gaps", "Fixed"))
        status = self._field("Status")
        return Iteration.model_validate(
            {
                "implemented": implemented,
                "files": files,
                "notes": notes,
                "steel_man": steel_man,
                "gaps": gaps,
                "fixed": fixed,
                "status": status,
            }
        )

    def _peek(self) -> str:
        while self.at < len(self.lines) and not self.lines[self.at]:
            self.at += 1
        return self.lines[self.at] if self.at < len(self.lines) else ""

    def _next(self) -> str:
        line = self._peek()
        self.at += 1
        return line

    def _field(self, name: str) -> str:
        return self._next().removeprefix(f"**{name}:**").strip()

    def _entries(self, name: str) -> Iterator[str]:
        return map(_unescaped, self._raw(name))

    def _raw(self, name: str) -> Iterator[str]:
        if self._field(name) == NONE:
            return
        while self._peek().startswith("- "):
            entry = self._next()[2:]
            while (len(entry) - len(entry.rstrip("\\"))) % 2:
                entry = f"{entry[:-1]}\n{self.lines[self.at][2:]}"
                self.at += 1
            yield entry


def _file(entry: str) -> tuple[str, str]:
    path, _, rest = entry[1:].partition("`")
    return path, _unescaped(rest.removeprefix(" – "))
