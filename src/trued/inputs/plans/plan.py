"""Parse a Markdown plan: chunks and criteria in the user's own words, each with file and line."""

from collections.abc import Mapping
from pathlib import Path

from trued.errors import BadInput
from trued.inputs.plans.chunks import chunks_of
from trued.inputs.plans.outline import TEACH, Draft, DraftCriterion, Outline, PlanSection
from trued.model import Criterion, Plan, Source, Task
from trued.support.located import read_text
from trued.support.markdown import List, parse, split_lines
from trued.support.plain_text import plain_line, unix_lines

PHASE_LIMIT = 4000  # characters of a phase's own text that each of its chunks gets as context, at most
OWN_LIMIT = 12000  # characters of a chunk's own lines that its agent gets, at most
CONTEXT_LIMIT = 8000
ID_LIMIT = 40
CUT = "[… cut here; the rest is in the plan]"


def read_plan(path: Path) -> str:
    """Read a plan file. Raises BadInput if it cannot be read or is empty."""
    text = read_text(path)
    if not text.strip().strip("\ufeff"):
        raise BadInput("the file is empty", f"{path}:1", TEACH)
    return text


def parse_plan(text: str, file: str) -> Plan:
    if not text.strip().strip("\ufeff"):
        raise BadInput("the file is empty", f"{file}:1", TEACH)
    lines = split_lines(text)
    outline = Outline(file)
    outline.read(parse(text), len(lines))
    drafts = chunks_of(outline)
    if not drafts:
        raise BadInput("the plan has no chunks", f"{file}:1", TEACH)
    phases = _Phases(outline, drafts)
    _assign_ids(drafts, phases)
    _check(drafts, file)
    excerpts = _excerpts(outline, phases, lines)
    return Plan(
        title=outline.title,
        tasks=tuple(_task(draft, phases, excerpts, lines, file) for draft in drafts),
        criteria=_criteria(outline.found, phases, file),
        unread=_criteria(outline.unread, phases, file),
        context=_context(outline, phases, lines),
        source=Source(file=file, line=1),
        text=text,
    )


def _criteria(drafts: list[DraftCriterion], phases: "_Phases", file: str) -> tuple[Criterion, ...]:
    return tuple(
        Criterion(
            text=draft.text,
            kind=draft.kind,
            phase=phases.name(draft.section),
            source=Source(file=file, line=draft.line),
        )
        for draft in sorted(drafts, key=lambda draft: draft.line)
    )


def tick_lines(text: str, done: Mapping[int, str]) -> str:
    """The plan with a proof comment at the end of some lines. If one of these lines has a checkbox, the box is ticked.
    `done`: line → the comment's text. All other lines are unchanged. Raises ValueError for a line that the plan does
    not have."""
    lines = split_lines(text)
    boxes = {
        item.line for block in parse(text) if isinstance(block, List) for item in block.walk() if item.checked is False
    }
    for number, why in done.items():
        if not 1 <= number <= len(lines):
            raise ValueError(f"the plan has no line {number}")
        body = lines[number - 1].rstrip("\r\n")
        end = lines[number - 1][len(body) :]
        note = f"<!-- proof: {_harmless(why)} -->"
        if note in body:
            continue
        if number in boxes:
            body = body.replace("[ ]", "[x]", 1)
        lines[number - 1] = f"{body.rstrip()} {note}{end}"
    return "".join(lines)


def _harmless(note: str) -> str:
    """The note on one line, without characters that would close the comment around it."""
    return plain_line(note).replace("--", "–").replace(">", "").strip("-") or "accepted"


# -- chunks


def _check(drafts: list[Draft], file: str) -> None:
    seen: dict[str, Draft] = {}
    for draft in drafts:
        where = f"{file}:{draft.line}"
        if not draft.title:
            raise BadInput(f"chunk {draft.id} has no scope", where, "write what to build in the chunk's row or heading")
        if len(draft.id) > ID_LIMIT or not all(char.isalnum() or char in "._-" for char in draft.id):
            raise BadInput(f'"{draft.id[:ID_LIMIT]}" is not a chunk id', where, "use letters, digits, '.', '_' and '-'")
        if (first := seen.setdefault(draft.id.casefold(), draft)) is not draft:
            raise BadInput(
                f"the chunk id {draft.id} is used twice, first on line {first.line}",
                where,
                "give each chunk an id of its own",
            )


def _assign_ids(drafts: list[Draft], phases: "_Phases") -> None:
    """Give ids to chunks that have none: 1, 2, 3; with several phases 1A, 1B, 2A."""
    taken = {draft.id.casefold() for draft in drafts}
    order = list(dict.fromkeys(phases.name(draft.section) for draft in drafts))
    counts, ranks = dict.fromkeys(order, 0), {phase: str(n) for n, phase in enumerate(order, 1)}
    for draft in drafts:
        phase = phases.name(draft.section)
        while not draft.id:
            counts[phase] += 1
            name = ranks[phase] + _letters(counts[phase]) if len(order) > 1 else str(counts[phase])
            if name.casefold() not in taken:
                draft.id = name
                taken.add(name.casefold())


def _letters(number: int) -> str:
    name = ""
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def _task(draft: Draft, phases: "_Phases", excerpts: Mapping[str, str], lines: list[str], file: str) -> Task:
    phase = phases.name(draft.section)
    own = "\n".join(_slice(lines, start, end) for start, end in draft.spans)
    parts = (phases.heading(phase, lines), _shorten(own, OWN_LIMIT), excerpts.get(phase, ""))
    return Task(
        id=draft.id,
        title=draft.title,
        scope=draft.scope,
        brief="\n\n".join(part for part in parts if part),
        files=draft.files,
        phase=phase,
        source=Source(file=file, line=draft.line),
    )


# -- phases and excerpts


class _Phases:
    """Maps each section to its phase: the innermost heading around it that is called a phase or contains chunks."""

    def __init__(self, outline: Outline, drafts: list[Draft]) -> None:
        self._names: dict[int, str] = {}
        self._lines: dict[str, int] = {}
        self._holding = {id(_home(draft)) for draft in drafts}
        for section in outline.sections:
            self.name(section)

    def name(self, section: PlanSection | None) -> str:
        if section is None:
            return ""
        if id(section) not in self._names:
            own = section.phase or (id(section) in self._holding and section.level > 1 and not section.work)
            self._names[id(section)] = section.title if own else self.name(section.parent)
            if own:
                self._lines.setdefault(section.title, section.line)
        return self._names[id(section)]

    def heading(self, phase: str, lines: list[str]) -> str:
        """The first line of the phase, as it was written."""
        return _slice(lines, self._lines[phase], self._lines[phase]) if phase else ""


def _home(draft: Draft) -> PlanSection | None:
    return draft.section.parent if draft.section.chunk is draft else draft.section


def _excerpts(outline: Outline, phases: _Phases, lines: list[str]) -> dict[str, str]:
    """Phase → its text outside of chunks: prose and ship criteria."""
    parts: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for section, start, end in outline.spans:
        phase = phases.name(section)
        if not phase or sizes.get(phase, 0) > PHASE_LIMIT or _within_chunk(section):
            continue
        part = _slice(lines, start, end)
        parts.setdefault(phase, []).append(part)
        sizes[phase] = sizes.get(phase, 0) + len(part)
    return {phase: _shorten("\n\n".join(some), PHASE_LIMIT) for phase, some in parts.items()}


def _within_chunk(section: PlanSection | None) -> bool:
    while section is not None and section.chunk is None:
        section = section.parent
    return section is not None


def _context(outline: Outline, phases: _Phases, lines: list[str]) -> str:
    """The text outside of phases, for every agent to read, up to CONTEXT_LIMIT: problem, goals, non-goals, constraints,
    ship criteria and unread text."""
    parts: list[str] = []
    unread = {passage.line for passage in outline.unread}
    size = 0
    for section, start, end in outline.spans:
        if size > CONTEXT_LIMIT:
            break
        is_context = section.kind in ("problem", "goal", "nongoal", "constraint", "ship")
        if (is_context or not unread.isdisjoint(range(start, end + 1))) and not phases.name(section):
            part = _slice(lines, start, end)
            parts.append(part)
            size += len(part)
    return _shorten("\n\n".join(parts), CONTEXT_LIMIT)


def _slice(lines: list[str], start: int, end: int) -> str:
    return unix_lines("".join(lines[start - 1 : end])).strip("\n").removeprefix("\ufeff")


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit].rstrip()}\n{CUT}"
