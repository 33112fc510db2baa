"""Parse a goal's text: success criteria, constraints and sentences, verbatim, each with its line."""

from dataclasses import dataclass, field

from trued.errors import BadInput
from trued.inputs import vocabulary
from trued.inputs.sentences import sentences_of
from trued.inputs.vocabulary import bare_title, section_kind
from trued.model import Criterion, Goal, Source, Value
from trued.support.markdown import Block, Heading, List, Other, Paragraph, Table, Words, parse, split_lines

GROUPS = {"ship": "criteria", "constraint": "constraints", "nongoal": "background", "problem": "background"}
GROUPS |= {"aside": "background"}  # kind of section or label → its field in GoalParts; every other kind: `sentences`
TEACH = 'say what is to be built; a heading "Success criteria" or "Constraints" may follow'


class GoalParts(Value):
    """The sentences of a goal, each in exactly one group."""

    title: str = ""
    criteria: tuple[Criterion, ...] = ()  # under "Success criteria", "Acceptance criteria", "Done when" …
    constraints: tuple[Criterion, ...] = ()
    sentences: tuple[Criterion, ...] = ()  # everything else that asks for something
    # under "Background", "Non-goals", "Notes" …: agents read these sentences, but no check covers them
    background: tuple[Criterion, ...] = ()

    @property
    def all_criteria(self) -> tuple[Criterion, ...]:
        """Everything that the goal asks for, in the order in which it was written."""
        return tuple(
            sorted((*self.sentences, *self.criteria, *self.constraints), key=lambda item: (item.source.line, item.kind))
        )


def parse_goal(goal: Goal) -> GoalParts:
    file = goal.source.file
    if not goal.text.strip().strip("\ufeff"):
        raise BadInput("the goal is empty", f"{file or 'goal'}:1", TEACH)
    reading = _GoalReading(goal.text, file)
    reading.read()
    return GoalParts(title=reading.title, **{name: tuple(found) for name, found in reading.found.items()})


@dataclass(slots=True)
class _Section:
    level: int
    title: str
    line: int
    kind: str
    empty: bool = True


@dataclass(slots=True)
class _GoalReading:
    text: str
    file: str
    title: str = ""
    found: dict[str, list[Criterion]] = field(
        default_factory=lambda: {"criteria": [], "constraints": [], "sentences": [], "background": []}
    )
    sections: list[_Section] = field(default_factory=list)
    label: str = ""  # the kind of the label above the next block; "" if there is no label

    def read(self) -> None:
        lines, blocks = split_lines(self.text), parse(self.text)
        for number, block in enumerate(blocks):
            follower = blocks[number + 1] if number + 1 < len(blocks) else None
            if isinstance(block, Heading):
                self._take_heading(block)
            elif isinstance(block, Paragraph):
                parts = block.fields()
                for at, part in enumerate(parts, 1):
                    self._paragraph(part, follower if at == len(parts) else None, lines)
            else:
                self._take(block, lines, self.label or self._section_kind())
                self.label = self.label if isinstance(block, Other) else ""
        self._close(0)
        self._title(blocks)

    def _take_heading(self, block: Heading) -> None:
        self._close(block.level)
        title, self.label = bare_title(block.words.plain), ""
        if not self.title and not self.sections and block.level == 1:
            self.title = title
        kind = section_kind(title)
        kind = kind if kind in GROUPS or kind == "goal" else self._section_kind()
        self.sections.append(_Section(block.level, block.words.raw, block.line, kind))

    def _section_kind(self) -> str:
        return self.sections[-1].kind if self.sections else ""

    def _close(self, level: int) -> None:
        """Close the open sections whose headings have this level or a deeper one. A heading with nothing under it
        becomes a sentence."""
        while self.sections and self.sections[-1].level >= level:
            closed = self.sections.pop()
            if self.sections:
                self.sections[-1].empty = False
            is_background = section_kind(bare_title(closed.title)) in ("nongoal", "problem", "aside")
            named = is_background or vocabulary.is_plain_label(closed.title) or vocabulary.is_work(closed.title)
            if closed.empty and closed.level > 1 and closed.title and not named:
                self._keep(closed.title, closed.line, closed.kind)

    def _title(self, blocks: list[Block]) -> None:
        """Add the title as a sentence if the goal has no other sentence. If nothing at all was found, add the whole
        text."""
        first = next((block for block in blocks if isinstance(block, Heading)), None)
        if self.title and first and not self.found["sentences"] and section_kind(self.title) != "goal":
            self._keep(first.words.raw, first.line, "")
        if not any(self.found.values()):
            self._keep(self.text.strip(), 1, "")

    def _paragraph(self, block: Paragraph, follower: Block | None, lines: list[str]) -> None:
        label, rest = _label(block.words, follower)
        kind = section_kind(label)
        if kind not in GROUPS:
            self.label = ""
            self._take(block, lines, self._section_kind())
            return
        self.label = "" if rest else kind
        if self.sections:
            self.sections[-1].empty = False
        if rest:
            pure = vocabulary.is_plain_label(label) or kind not in ("ship", "constraint")
            self._keep(rest if pure else block.words.raw, block.line, kind)
        elif not vocabulary.is_plain_label(label) or not isinstance(follower, List | Table | Other):
            self._keep(block.words.raw, block.line, kind)

    def _take(self, block: Block, lines: list[str], kind: str) -> None:
        if self.sections:
            self.sections[-1].empty = False
        block_sentences = sentences_of(block, lines)
        there = self.found[GROUPS.get(kind, "sentences")]
        if block_sentences and isinstance(block, Other) and there and there[-1].source.line < block.line:
            before = there.pop()  # code after a sentence is part of the sentence
            self._keep(f"{before.text}\n{block_sentences[0][0]}", before.source.line, kind)
            return
        for text, line in block_sentences:
            self._keep(text, line, kind)

    def _keep(self, text: str, line: int, kind: str) -> None:
        group = GROUPS.get(kind, "sentences")
        own = kind if group in ("criteria", "constraints") else "text"
        self.found[group].append(Criterion(text=text, kind=own, source=Source(file=self.file, line=line)))


def _label(words: Words, follower: Block | None) -> tuple[str, str]:
    """The label that a paragraph consists of or begins with, and the text after the label; two empty texts if there is
    no label."""
    if words.label and (words.label.endswith(":") or words.rest.startswith(":") or not words.rest):
        return words.label, words.rest.removeprefix(":").strip()
    if words.raw.endswith(":") and isinstance(follower, List | Table | Other) and len(words.raw.split()) <= 5:
        return words.raw, ""
    label, colon, rest = words.raw.partition(":")
    short = bool(colon) and rest[:1].isspace() and len(label.split()) <= 3
    return (label, rest.strip()) if short and vocabulary.is_plain_label(label) and not words.label else ("", "")
