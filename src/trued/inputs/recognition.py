"""Recognises by structure, name and title what an input file is: a plan, a ticket, or a goal in words."""

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import PurePath

from trued.errors import BadInput
from trued.inputs.plans.chunks import chunks_of
from trued.inputs.plans.outline import Outline
from trued.inputs.plans.plan import parse_plan
from trued.inputs.tickets.ticket import KEY, file_key, is_ticket
from trued.inputs.vocabulary import bare_title, is_phase, title_words
from trued.model import Goal, Plan
from trued.support.markdown import Block, Heading, Paragraph, parse, split_lines

PROSE = frozenset({"", ".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc", ".org"})
LABEL_WORDS = 4  # most words of a label, such as "Acceptance criteria:"; more words before a colon are a sentence


class FileKind(Enum):
    """What a file can be recognised as."""

    PLAN = auto()
    TICKET = auto()
    WORDS = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class RecognisedFile:
    """What a file is, and how it was recognised."""

    kind: FileKind
    why: str


def recognise_file(text: str, file: str) -> RecognisedFile:
    """What the text of a file is; unknown for data and source code."""
    if is_ticket(text, file):
        return RecognisedFile(FileKind.TICKET, "its header has a key")
    if PurePath(file).suffix.lower() not in PROSE:
        return RecognisedFile(FileKind.UNKNOWN, "it is not prose")
    form = _form(text, file)
    if form.has_named_chunks or (form.has_chunks and form.is_called_plan):
        return RecognisedFile(FileKind.PLAN, "it has chunks")
    if form.key and not form.is_called_plan:
        return RecognisedFile(FileKind.TICKET, f"it is named {form.key}")
    if form.has_chunks:
        return RecognisedFile(FileKind.PLAN, "it has a list of tasks")
    if form.is_called_plan:
        return RecognisedFile(FileKind.PLAN, "it is called a plan")
    if form.has_acceptance_criteria:
        return RecognisedFile(FileKind.TICKET, "it has acceptance criteria")
    return RecognisedFile(FileKind.WORDS, "it has neither chunks nor acceptance criteria")


def is_plan(text: str, file: str) -> bool:
    """Whether a run's input file is a plan, with or without mistakes. Any other file is a goal in words."""
    return bool(file) and _form(text, file).has_chunks


def plan_of(goal: Goal) -> Plan | None:
    """The goal as a plan; None if it is a goal in words. Raises BadInput for a plan with mistakes."""
    file = goal.source.file
    return parse_plan(goal.text, file) if is_plan(goal.text, file) else None


@dataclass(frozen=True, slots=True)
class _Form:
    """The features of a Markdown text."""

    has_chunks: bool
    has_named_chunks: bool  # chunks with ids or in phases; a bare list of tasks may be part of any text
    is_called_plan: bool
    has_acceptance_criteria: bool
    key: str


def _form(text: str, file: str) -> _Form:
    blocks = parse(text)
    headings = [bare_title(block.words.plain) for block in blocks if isinstance(block, Heading)]
    title = next(
        (bare_title(block.words.plain) for block in blocks if isinstance(block, Heading) and block.level == 1), ""
    )
    key = KEY.match(title)
    outline = Outline(file)
    try:
        outline.read(blocks, len(split_lines(text)))
        names = [draft.id for draft in (*outline.drafts, *outline.details) if not key or draft.id != key[1]]
        named = bool(names) or any(map(is_phase, headings))
        chunks = bool(chunks_of(outline)) and (named or not key or any(not draft.id for draft in outline.drafts))
    except BadInput:  # a plan with a mistake: parsing it reports the mistake
        named = chunks = True
    return _Form(
        has_chunks=chunks,
        has_named_chunks=named,
        is_called_plan="plan" in title_words(PurePath(file).stem) or title_words(title)[:1] == ["plan"],
        has_acceptance_criteria=any("acceptance" in title_words(label) for label in (*headings, *_labels(blocks))),
        key=key[1] if key else file_key(file),
    )


def _labels(blocks: list[Block]) -> list[str]:
    """Labels such as `**Acceptance criteria:**` or `Acceptance criteria:` before a list."""
    lines = [part.words.plain for block in blocks if isinstance(block, Paragraph) for part in block.fields()]
    labels = [line.partition(":")[0] for line in lines if ":" in line] + [line for line in lines if ":" not in line]
    return [label for label in labels if len(label.split()) <= LABEL_WORDS]
