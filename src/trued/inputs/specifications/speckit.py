"""spec-kit: specs/NNN-name/spec.md with user stories, acceptance scenarios, FR-001, SC-001 and edge cases."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trued.inputs.requirements.guard_phrases import NUMBERED
from trued.inputs.specifications.boxes import without_box_in_prose
from trued.inputs.specifications.ids import requirement_of, slug, whole_command, with_fences, without_fences
from trued.inputs.specifications.listed_items import aside_lines, boxed_items, is_aside, other_items, words_of_item
from trued.inputs.specifications.numbered import numbered_words
from trued.inputs.specifications.unread_lines import refuse_open_comment, unread_items
from trued.inputs.vocabulary import is_header_field, section_kind, title_words
from trued.model import Check, Requirement, Requirements
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import (
    Heading,
    Item,
    List,
    Other,
    Paragraph,
    Table,
    TableRow,
    Words,
    parse,
    split_lines,
)

PLACE = lazy_regex(r"(?:\.specify/)?specs/([^/]+)/spec\.md")
STORY = lazy_regex(r"user story\s+(\d+)\b", re.IGNORECASE)
# Headings whose contents are requirements even without a number; other sections are about the work.
ASKING = {
    "edge case": "edge",
    "acceptance scenario": "scenario",
    "acceptance criteria": "acceptance",
    "functional requirement": "requirement",
    "success criteria": "success",
    "measurable outcome": "success",
    "constraint": "constraint",
}
KINDS = {"goal": "requirement", "constraint": "constraint", "ship": "acceptance"}
CONTAINER = "user scenarios"  # the section of the stories; it asks for nothing itself
TITLE_WORDS = 3  # a longer heading may ask for something itself


class SpecKit:
    name = "spec-kit (specs/*/spec.md)"

    def matching_paths(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if PLACE.fullmatch(path))

    def recognises(self, text: str) -> bool:
        return bool(_SpeckitFile("", "", kinds={}).read_structure(without_fences(text)))

    def read(self, files: Mapping[str, str]) -> Requirements:
        several = len(files) > 1
        every: list[Requirement] = []
        for path, text in files.items():
            place = PLACE.search(path)
            prefix = f"{slug(place[1])}." if several and place else ""
            every += with_fences(_SpeckitFile(path, prefix).read(without_fences(text)), text, path)
        return Requirements(file=", ".join(files), requirements=tuple(every))


@dataclass
class _SpeckitFile:
    """One file, read from top to bottom; the place of a text decides its meaning."""

    file: str
    prefix: str
    # kind of a section, as `section_kind` finds it → the value of `section`
    kinds: Mapping[str, str] = field(default_factory=lambda: KINDS)
    story: str = ""
    section: str = ""  # the value in ASKING for the last heading or label; "" if it has none
    begun: int = 0  # how many requirements were found before this section
    level: int = 0  # level of the heading to which the section, or the open requirement, belongs
    open: bool = False  # whether text outside of sections belongs to the last requirement
    lines: set[int] = field(default_factory=set)  # numbers of the lines that were read
    asides: set[int] = field(default_factory=set)  # numbers of the lines about the specification or the work
    rest: list[Item] = field(default_factory=list)  # list items outside of requirements; they are read last
    counts: dict[str, int] = field(default_factory=dict)
    found: list[Requirement] = field(default_factory=list)

    def read(self, text: str) -> list[Requirement]:
        refuse_open_comment(text, self.file)
        self.read_structure(text)
        self.section = self.story = ""
        taken = self.lines | self.asides
        for words, lines in boxed_items(self.rest, words_of_item):
            taken |= lines
            if words:
                self._add(self._numbered(""), words, min(lines), whole_command(words))
        taken |= {requirement.source.line for requirement in self.found}
        for words, line in unread_items(text, taken, without_box_in_prose):
            self._add(self._numbered(""), words, line, whole_command(words))
        read = {requirement.source.line for requirement in self.found} | (taken - self.lines)
        for words, line in other_items(self.rest, read, split_lines(text)):
            self._add(self._numbered(""), words, line, whole_command(words))
        return sorted(self.found, key=lambda requirement: requirement.source.line)

    def read_structure(self, text: str) -> list[Requirement]:
        """Read text with a number such as FR-001, and sections that ask for something."""
        lines, blocks = split_lines(text), parse(text)
        self.asides = aside_lines(blocks)
        for block in blocks:
            before = list(self.found)
            if isinstance(block, Heading):
                self._take_heading(block)
            elif isinstance(block, Paragraph):
                for part in block.fields():
                    self._paragraph(part)
            elif isinstance(block, List):
                for item in block.items:
                    self._item(item)
            elif isinstance(block, Table):
                self._table(block)
            elif block.text:
                self._other(block, lines)
            if self.open or self.section or self.found != before:
                self.lines |= set(range(block.line, block.end + 1))
        for words, line in unread_items(text, self.lines, numbered_words):
            self._add_numbered(words, words, line)
        return self.found

    def _take_heading(self, heading: Heading) -> None:
        title, inner = heading.words.plain, heading.level > self.level
        if match := STORY.search(title):
            self.story, self.section, self.open, self.level = f"US{match[1]}", "", True, heading.level
            self._add(self.story, heading.words.raw, heading.line)
        elif NUMBERED.match(title):
            self.section, self.open, self.level = "", True, heading.level
            self._add_numbered(title, heading.words.raw, heading.line)
        elif inner and (self.section or self.open) and not self._section_of(title) and not is_aside(title):
            if self.open or len(title.split()) > TITLE_WORDS:
                self._more(heading.words.raw, heading.line)
        else:
            self._begin(self._section_of(title) if heading.level > 1 else "", heading.level)
            if self.section and (":" in title.strip(" :") or len(title.split()) > 2 * TITLE_WORDS):
                self._more(heading.words.raw, heading.line)
            if heading.level <= 2 or (self.section and heading.level <= 3):
                self.story = ""

    def _section_of(self, title: str) -> str:
        low = title.lower()
        if is_aside(title) or CONTAINER in low:
            return ""
        if set(title_words(title)) - {"mandatory"} == {"requirements"}:
            return "requirement"
        known = (kind for phrase, kind in ASKING.items() if phrase in low)
        return next(known, self.kinds.get(section_kind(title), ""))

    def _begin(self, section: str, level: int) -> None:
        self.section, self.begun, self.level, self.open = section, len(self.found), level, False

    def _paragraph(self, paragraph: Paragraph) -> None:
        raw, label = paragraph.words.raw, paragraph.words.label.strip(" :").lower()
        if self._add_numbered(raw, raw, paragraph.line):
            return
        aside = is_aside(label) or is_header_field(label)
        if label and (aside or self._section_of(label) or not (self.section or self.open)):
            self._begin("" if aside else self._section_of(label), self.level)
            raw = paragraph.words.rest.strip(" :*_") if self.section else ""
        if raw:
            self._more(raw, paragraph.line)

    def _item(self, item: Item) -> None:
        """Add an item with the items nested in it; a nested item with its own number is also a separate requirement."""
        whole = "\n".join(nested_item.text for nested_item in item.walk())
        if not self._add_numbered(item.words.raw, whole, item.line):
            if self.section:
                self._add(self._numbered(item.number), whole, item.line, whole_command(whole))
            elif self.open or item.line in self.asides:
                self._more(whole, item.line)
            else:
                self.rest.append(item)
        for below in item.items:
            if NUMBERED.match(below.words.raw) or not whole:
                self._item(below)

    def _table(self, table: Table) -> None:
        """Add each row, like an item. A row that begins with the number of a known requirement is added to that
        requirement's text: such rows occur in tables that say what is done."""
        header = [TableRow(table.header, table.line)] if NUMBERED.match(_first_words(table.header)) else []
        for row in (*header, *table.rows):
            text, match = (
                " | ".join(cell.raw for cell in row.cells).strip(" |"),
                NUMBERED.match(_first_words(row.cells)),
            )
            name = f"{self.prefix}{match[1].upper()}" if match else ""
            known = next((at for at, one in enumerate(self.found) if one.id == name and not one.checks), None)
            if known is not None:
                self._append(known, text)
            elif match:
                self._add_numbered(match[0], text, row.line)
            elif text and self.section:
                self._add(self._numbered(""), text, row.line)
            elif text:
                self._more(text, row.line)

    def _other(self, block: Other, lines: list[str]) -> None:
        """Read a quotation, code or HTML. Each line that begins with a number such as FR-001 begins a requirement. The
        lines above the first number are text without a number."""
        inner = [line.strip(" \t>\r\n") for line in lines[block.line - 1 : block.end]]
        starts = [at for at, line in enumerate(inner) if NUMBERED.match(line.lstrip("-*+ "))]
        for at, end in zip(starts, [*starts[1:], len(inner)], strict=False):
            text = "\n".join(filter(None, inner[at:end]))
            self._add_numbered(text.lstrip("-*+ "), text, block.line + at)
        before = "\n".join(filter(None, inner[: starts[0]])) if starts else block.text
        if before.strip("`~"):
            self._more(before, block.line)

    def _more(self, text: str, line: int) -> None:
        """Take text without a number.

        In a section, add it to the section's last requirement. If there is none yet, or if it has checks, the text
        becomes a new requirement. Outside of sections, do the same with the last requirement that began with a number,
        while it is open. If no requirement is open, the text is about the work and is left out.
        """
        inside = len(self.found) > self.begun if self.section else self.open
        if inside and not self.found[-1].checks:  # a check judges only the text that it was made from
            self._append(len(self.found) - 1, text)
        elif self.section or self.open:
            self._add(self._numbered(""), text, line)

    def _append(self, at: int, text: str) -> None:
        known = self.found[at]
        self.found[at] = known.model_copy(update={"text": f"{known.text}\n{text}"})

    def _add_numbered(self, words: str, text: str, line: int) -> bool:
        """Add a requirement if the words begin with a number, and return whether they do. Outside of sections, the new
        requirement stays open, so that the text below is added to it."""
        if match := NUMBERED.match(words):
            self._add(match[1].upper(), text, line, whole_command(text))
            if not self.section:
                self.open, self.level = True, self.level if self.open else 6
        return bool(match)

    def _numbered(self, number: str) -> str:
        """The id of an unnumbered item: `US1.2` is the second scenario of the first story, `edge-3` an edge case."""
        kind = self.story if self.story and self.section == "scenario" else self.section or "text"
        self.counts[kind] = self.counts.get(kind, 0) + 1
        join = "." if kind == self.story else "-"
        return f"{kind}{join}{number if number and kind == self.story else self.counts[kind]}"

    def _add(self, name: str, text: str, line: int, checks: tuple[Check, ...] = ()) -> None:
        self.found.append(requirement_of(f"{self.prefix}{name}", text, self.file, line, checks))


def _first_words(cells: Sequence[Words]) -> str:
    return next((cell.raw for cell in cells if cell.raw), "")
