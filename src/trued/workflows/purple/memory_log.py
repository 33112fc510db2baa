"""MEMORY.md: the implementation log, chunk by chunk. Agents' texts are escaped and cannot look like parts of it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator

from trued.model import Grade, Verdict
from trued.model.value import Value, newer_fields
from trued.proof.verdict.for_agents import reason_for_agents
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import Heading, split_lines
from trued.support.markdown import parse as parse_markdown
from trued.support.plain_text import plain, unix_lines

TITLE = "## Implementation Log"
NONE = "None"
ChunkStatus: TypeAlias = Literal["complete", "gaps remain", "in progress", "not checked", "already met", "marked done"]
MARKS: dict[ChunkStatus, str] = {
    "complete": "✅ complete",
    "gaps remain": "⚠️ gaps remain",
    "in progress": "… in progress",
    "not checked": "❔ built, and no check shows that it is right: a person decides",
    "already met": "✅ met before this run, and not built again",
    "marked done": "❔ marked as done in the plan, and not built again: a person decides",
}
ITERATION = lazy_regex(r"^#### Team A – Iteration (\d+)", re.MULTILINE)
TEXT_LIMIT = 4000  # characters in one entry: people are to read the log
# At most this many characters of people's sections, of earlier runs and of this run are in a brief; the file has all.
OWN_LIMIT, EARLIER_LIMIT, LEARNT_LIMIT = 3000, 2500, 5000
# At the start of a line, these could begin a heading, a list, a rule, a fence or a table.
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
)


def _tidy(text: str) -> str:
    """Remove control characters and surrounding space, and cut to size."""
    text = plain(unix_lines(text)).expandtabs(4)
    return (text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]} […]").strip()


def _one_line(text: str) -> str:
    return " ".join(_tidy(text).split())


def _without_empty(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text)


def _file_pairs(pairs: Any) -> Any:
    return tuple((_one_line(str(path)).replace("`", "'") or "?", str(what)) for path, what in pairs)


Text: TypeAlias = Annotated[str, AfterValidator(_tidy)]
Line: TypeAlias = Annotated[str, AfterValidator(_one_line)]
Texts: TypeAlias = Annotated[tuple[Text, ...], AfterValidator(_without_empty)]
Files: TypeAlias = Annotated[tuple[tuple[str, Text], ...], BeforeValidator(_file_pairs)]


class Iteration(Value):
    """One round of the pair: what Team A says it did, what Team B found, and what the engine's own checks showed."""

    _as_before = newer_fields("asked", "refuted", "put_back", "assessed", "verdict", "reasons")

    asked: Texts = ()  # what a person asked for: the comment of a redo, the reason of a rejection
    implemented: Texts = ()
    files: Files = ()  # path and what changed in it
    refuted: Texts = ()  # files that Team A names although git shows no change
    put_back: Texts = ()  # files that a team changed although it may not; the engine undid that
    notes: Texts = ()
    assessed: Texts = ()  # Team B's judgement of each requirement, with its place
    steel_man: Texts = ()
    gaps: Texts = ()
    fixed: Texts = ()
    status: Literal["PASS", "GAPS_REMAIN"]
    verdict: Line = ""  # the engine's verdict
    reasons: Texts = ()  # reasons of the verdict


class ChunkSection(Value):
    """The section of one chunk in MEMORY.md, as this run writes it."""

    _as_before = newer_fields("run")

    chunk: Line
    scope: Line
    iterations: tuple[Iteration, ...] = ()
    status: ChunkStatus = "in progress"
    gaps: Texts = ()  # gaps that remain
    run: Line = ""  # the run's id: it distinguishes the run's iterations from those of earlier runs

    def with_round(self, iteration: Iteration, verdict: Verdict, status: ChunkStatus | None = None) -> "ChunkSection":
        """A copy with one more round. The chunk's status is the engine's verdict, not Team B's."""
        gaps = tuple(gap.what for gap in verdict.gaps)
        status = status or ("complete" if verdict.holds else "gaps remain")
        return self._with(iterations=(*self.iterations, iteration), status=status, gaps=gaps)

    def without_work(self, verdict: Verdict) -> "ChunkSection":
        """The section of a chunk that is skipped, because its checks pass, or because the plan marks it as done and
        nothing contradicts that."""
        status: ChunkStatus = "already met" if verdict.grade >= Grade.TESTED else "marked done"
        return self._with(status=status)

    def _with(self, **changed: object) -> "ChunkSection":
        # `model_copy` would also copy the cached texts
        fields = {name: getattr(self, name) for name in ChunkSection.model_fields}
        return ChunkSection.model_validate({**fields, **changed})

    @cached_property
    def text(self) -> str:
        """This chunk's section of the log, in Markdown. Cached, because the whole log is written again after every
        round, and may have a thousand chunks."""
        return "\n".join((_chunk_heading(self), *_body(self)))

    def continuing(self, earlier: str) -> str:
        """The section, preceded by what earlier runs wrote about the chunk."""
        last = max((int(number) for number in ITERATION.findall(earlier)), default=0)
        body = "\n".join((f"#### Run {self.run or 'after that'}\n", *_body(self, last)))
        return f"{earlier.rstrip()}\n\n{body}"

    @cached_property
    def memory(self) -> str:
        """What the next agent should know about this chunk, in a few lines; cached, because the agents of all later
        chunks also get them."""
        last = self.iterations[-1] if self.iterations else None
        lines = [f"Chunk {self.chunk}: {self.scope} ({MARKS[self.status]})"]
        for iteration in self.iterations:
            lines += [f"- asked by a person: {text}" for text in iteration.asked]
        if last:
            lines += [f"- files: {', '.join(path for path, _ in last.files)}"] if last.files else []
            lines += [f"- note: {text}" for text in last.notes]
            lines += [f"- fixed by Team B: {text}" for text in last.fixed]
        return "\n".join([*lines, *(f"- gap left: {text}" for text in self.gaps)])


def status_of(verdict: Verdict) -> ChunkStatus:
    """The chunk's status: complete only if evidence shows that. If no check covers it, a person decides, whatever the
    teams say."""
    if not verdict.holds:
        return "gaps remain"
    return "complete" if verdict.grade > Grade.UNPROVEN else "not checked"


def reasons_of(verdict: Verdict) -> tuple[str, ...]:
    """Why a verdict is as it is, as far as an implementer may know: without held-out cases."""
    states = [
        f"{judged.id} is {judged.grade}{f': {reason_for_agents(judged)}' if judged.holds and judged.why else ''}"
        for judged in verdict.requirements
    ]
    return (*states, *(located(gap.what, gap.where) for gap in verdict.gaps))


def located(what: str, where: str) -> str:
    """A finding with its place, if it has one."""
    return f"{what} ({where})" if where and where not in what else what


def render(existing: str, sections: Iterable[ChunkSection]) -> str:
    """The existing file with these sections in its Implementation Log; everything else stays byte for byte.

    Iterations of a chunk from an earlier run are kept, and the new iterations come after them.
    """
    before, log, after = _split(existing)
    new = {section.chunk: section for section in sections}
    known = frozenset(new)
    parts = [f"{new.pop(chunk).continuing(text)}\n" if chunk in new else text for chunk, text in log]
    if log and log[-1][0] in known:  # the last part needs no separating line
        parts[-1] = parts[-1].removesuffix("\n")
    if not log:
        gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
        parts = [f"{gap}{TITLE}\n\n"]
    for text in (section.text for section in new.values()):
        if parts[-1].strip() and not parts[-1].endswith("\n\n"):
            parts.append("\n" if parts[-1].endswith("\n") else "\n\n")
        parts.append(text)
    if after and not parts[-1].endswith("\n\n"):
        parts.append("\n")
    return "".join((before, *parts, after))


@lru_cache(maxsize=4)  # cached, because the same file is split again after every round
def _split(existing: str) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """The text before the log, the log as pairs of chunk and text, and the text after the log. The first pair is the
    log's title, with "" as its chunk."""
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


def excerpt(existing: str, sections: Iterable[ChunkSection], chunk: str) -> str:
    """What the next agent on the chunk should read of MEMORY.md: people's own sections, what earlier runs
    wrote about this chunk, and what this run has learned so far. Long texts are cut; "" if there is nothing."""
    before, log, after = _split(existing)
    persons_text = "\n\n".join(part.strip() for part in (before, after) if part.strip())
    earlier = next((text.strip() for name, text in log if name == chunk), "")
    learnt = "\n\n".join(section.memory for section in sections)
    parts = (
        ("People wrote:", persons_text[:OWN_LIMIT], len(persons_text) > OWN_LIMIT),
        (f"Earlier runs on chunk {chunk}:", earlier[-EARLIER_LIMIT:], len(earlier) > EARLIER_LIMIT),
        ("This run so far:", learnt[-LEARNT_LIMIT:], len(learnt) > LEARNT_LIMIT),
    )
    return "\n\n".join(
        f"{title}{' (cut: the file has the rest)' if cut else ''}\n{text}" for title, text, cut in parts if text
    )


# -- writing


def _chunk_heading(section: ChunkSection) -> str:
    return f"### Chunk {_in_heading(section.chunk).replace(':', chr(92) + ':')}: {_in_heading(section.scope)}\n"


def _body(section: ChunkSection, before: int = 0) -> Iterator[str]:
    for number, iteration in enumerate(section.iterations, before + 1):
        yield f"#### Team A – Iteration {number}\n"
        if iteration.asked:
            yield from _list("Asked by a person", map(_escaped, iteration.asked))
        yield from _list("Implemented", map(_escaped, iteration.implemented))
        yield from _list(
            "Files", (f"`{path}`{f' – {_escaped(what)}' if what else ''}" for path, what in iteration.files)
        )
        if iteration.refuted:
            yield from _list("Claim refuted: git has no change of", map(_escaped, iteration.refuted))
        yield from _list("Notes", map(_escaped, iteration.notes))
        yield f"#### Team B – Iteration {number}\n"
        if iteration.assessed:
            yield from _list("Requirements", map(_escaped, iteration.assessed))
        yield from _list("Steel-man", map(_escaped, iteration.steel_man))
        yield from _list("Gaps", map(_escaped, iteration.gaps))
        yield from _list("Fixed", map(_escaped, iteration.fixed))
        yield f"**Status:** {iteration.status}\n"
        if iteration.verdict:
            yield f"#### Engine – Iteration {number}\n"
            yield f"**Verdict:** {_escaped(iteration.verdict)}\n"
            yield from _list("Reasons", map(_escaped, iteration.reasons))
        if iteration.put_back:
            yield from _list("Put back", map(_escaped, iteration.put_back))
    yield f"**Chunk status:** {MARKS[section.status]}\n"
    if section.gaps:
        yield from _list("Remaining gaps", map(_escaped, section.gaps))


def _list(name: str, entries: Iterable[str]) -> Iterator[str]:
    lines = [f"- {entry}" for entry in entries]
    yield f"**{name}:**\n\n" + "\n".join(lines) + "\n" if lines else f"**{name}:** {NONE}\n"


def _escaped(text: str) -> str:
    """The text escaped so that it stays one list item, without HTML."""
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
    _, marker, rest = line.strip().partition("Chunk ")
    chunk = re.split(r"(?<!\\):", rest, maxsplit=1)[0]
    return _unescaped(chunk).strip() if marker else ""


def memory_files(plan: str) -> tuple[str, ...]:
    """MEMORY.md beside the plan; none for a plan that is outside the repository."""
    outside = not plan or PurePosixPath(plan).is_absolute() or plan.startswith("..")
    return () if outside else (str(PurePosixPath(plan).with_name("MEMORY.md")),)
