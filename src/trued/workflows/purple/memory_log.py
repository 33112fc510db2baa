"""MEMORY.md: the implementation log, chunk by chunk. Agents' texts are escaped and cannot pass for parts of it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator

from trued.model import Value, Verdict
from trued.support.markdown import Heading, split_lines
from trued.support.markdown import parse as parse_markdown

TITLE = "## Implementation Log"
NONE = "None"
MARKS = {"complete": "✅ complete", "gaps remain": "⚠️ gaps remain", "in progress": "… in progress"}
CONTROLS = {code: " " for code in (*range(32), *range(127, 160), 0x2028, 0x2029) if chr(code) != "\n"}
TEXT_LIMIT = 4000  # of one entry: the log is for reading
AT_LINE_START = (
    "#",
    "-",
    "+",
    "*",
    ">",
    "=",
    "~",
    "|",
    "_",
    ":",
    "[",
    "```",
)  # what could begin a heading, a list, a rule, a fence or a table


def _tidy(text: str) -> str:
    """Remove control characters and surrounding space, and cut to size."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).translate(CONTROLS)
    text = text.encode("utf-8", "replace").decode()
    return (text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]} […]").strip()


def _one_line(text: str) -> str:
    return " ".join(_tidy(text).split())


def _said(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text)


def _files(pairs: Any) -> Any:
    return tuple((_one_line(str(path)).replace("`", "'") or "?", str(what)) for path, what in pairs)


Text: TypeAlias = Annotated[str, AfterValidator(_tidy)]
Line: TypeAlias = Annotated[str, AfterValidator(_one_line)]
Texts: TypeAlias = Annotated[tuple[Text, ...], AfterValidator(_said)]
Files: TypeAlias = Annotated[tuple[tuple[str, Text], ...], BeforeValidator(_files)]


class Iteration(Value):
    """One round of the pair: what Team A says it did, and what Team B found."""

    implemented: Texts = ()
    files: Files = ()  # path and what changed in it
    notes: Texts = ()
    steel_man: Texts = ()
    gaps: Texts = ()
    fixed: Texts = ()
    status: Literal["PASS", "GAPS_REMAIN"]


class Section(Value):
    """The section of one chunk."""

    chunk: Line
    scope: Line
    iterations: tuple[Iteration, ...] = ()
    status: Literal["complete", "gaps remain", "in progress"] = "in progress"
    gaps: Texts = ()  # that are left

    def with_round(self, iteration: Iteration, verdict: Verdict) -> "Section":
        """With one more round. The chunk's status is the engine's verdict, not Team B's."""
        return Section(
            chunk=self.chunk,
            scope=self.scope,
            iterations=(*self.iterations, iteration),
            status="complete" if verdict.holds else "gaps remain",
            gaps=tuple(gap.what for gap in verdict.gaps),
        )

    @cached_property
    def text(self) -> str:
        """The section in Markdown; kept, because a log of a thousand chunks is written after every round."""
        return "\n".join(_section(self))


def render(existing: str, sections: Iterable[Section]) -> str:
    """The existing file with these sections in its Implementation Log; everything else stays byte for byte."""
    before, log, after = _split(existing)
    new = {section.chunk: section.text for section in sections}
    parts = [new.pop(chunk) if chunk in new else text for chunk, text in log]
    if not log:
        gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
        parts = [f"{gap}{TITLE}\n\n"]
    for text in new.values():
        if parts[-1].strip() and not parts[-1].endswith("\n\n"):
            parts.append("\n" if parts[-1].endswith("\n") else "\n\n")
        parts.append(text)
    if after and not parts[-1].endswith("\n\n"):
        parts.append("\n")
    return "".join((before, *parts, after))


@lru_cache(maxsize=4)  # the same file is rendered after every round
def _split(existing: str) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """The text before the log, the log's parts by chunk ("": its title), and the text after it."""
    lines = split_lines(existing)
    inside, end = False, len(lines)
    cuts: list[tuple[str, int]] = []
    for block in parse_markdown(existing):
        if not isinstance(block, Heading) or block.level > (3 if inside else 2):
            continue
        if inside and block.level <= 2:
            end = block.line - 1
            break
        if inside and (chunk := _chunk_of(lines[block.line - 1])):
            cuts.append((chunk, block.line - 1))
        elif not inside and block.words.plain.strip().casefold() == TITLE[3:].casefold():
            inside = True
            cuts.append(("", block.line - 1))
    if not cuts:
        return existing, (), ""
    bounds = [start for _, start in cuts] + [end]
    log = tuple((chunk, "".join(lines[start : bounds[n + 1]])) for n, (chunk, start) in enumerate(cuts))
    return "".join(lines[: bounds[0]]), log, "".join(lines[end:])


# -- writing


def _section(section: Section) -> Iterator[str]:
    yield f"### Chunk {_in_heading(section.chunk).replace(':', chr(92) + ':')}: {_in_heading(section.scope)}\n"
    for number, one in enumerate(section.iterations, 1):
        yield f"#### Team A – Iteration {number}\n"
        yield from _list("Implemented", map(_escaped, one.implemented))
        yield from _list("Files", (f"`{path}`{f' – {_escaped(what)}' if what else ''}" for path, what in one.files))
        yield from _list("Notes", map(_escaped, one.notes))
        yield f"#### Team B – Iteration {number}\n"
        yield from _list("Steel-man", map(_escaped, one.steel_man))
        yield from _list("Gaps", map(_escaped, one.gaps))
        yield from _list("Fixed", map(_escaped, one.fixed))
        yield f"**Status:** {one.status}\n"
    yield f"**Chunk status:** {MARKS[section.status]}\n"
    if section.gaps:
        yield from _list("Remaining gaps", map(_escaped, section.gaps))


def _list(name: str, entries: Iterable[str]) -> Iterator[str]:
    lines = [f"- {entry}" for entry in entries]
    yield f"**{name}:**\n\n" + "\n".join(lines) + "\n" if lines else f"**{name}:** {NONE}\n"


def _escaped(text: str) -> str:
    """The text as one list item, whatever it contains, without HTML."""
    return "\\\n  ".join(_escaped_line(line) for line in text.split("\n"))


def _escaped_line(line: str) -> str:
    line = line.replace("\\", "\\\\").replace("<", "\\<").replace("&", "\\&")
    body = line.lstrip(" ")
    indent = line[: len(line) - len(body)]
    if body.startswith(AT_LINE_START):
        body = f"\\{body}"
    elif number := re.match(r"\d+(?=[.)])", body):
        body = f"{number[0]}\\{body[number.end() :]}"
    return indent + body


def _in_heading(text: str) -> str:
    return text.replace("\\", "\\\\").replace("<", "\\<").replace("&", "\\&").replace("#", "\\#")


def _unescaped(text: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def _chunk_of(line: str) -> str:
    """The chunk that a heading of the log names; "" if it names none."""
    _, found, rest = line.strip().partition("Chunk ")
    chunk = re.split(r"(?<!\\):", rest, maxsplit=1)[0]
    return _unescaped(chunk).strip() if found else ""


def memory_files(plan: str) -> tuple[str, ...]:
    """MEMORY.md beside the plan; none for a plan that is outside the repository."""
    outside = not plan or PurePosixPath(plan).is_absolute() or plan.startswith("..")
    return () if outside else (str(PurePosixPath(plan).with_name("MEMORY.md")),)
