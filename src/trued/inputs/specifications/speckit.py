"""spec-kit: specs/NNN-name/spec.md with user stories, acceptance scenarios, FR-001, SC-001 and edge cases."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trued.inputs.specifications.ids import command_checks, requirement_of, slug, with_fences, without_fences
from trued.model import Check, Requirement, Requirements
from trued.support.markdown import Heading, Item, List, Paragraph, parse

PLACE = re.compile(r"(?:\.specify/)?specs/([^/]+)/spec\.md")
STORY = re.compile(r"user story\s+(\d+)\b", re.IGNORECASE)
NUMBERED = re.compile(r"(?:\*\*|__)?((?:FR|NFR|SC|AC|REQ|TR|UX)-?\d+[a-z]?)\b", re.IGNORECASE)
# Headings whose items are requirements even without a number; other sections are about the work.
ASKING = {
    "edge case": "edge",
    "acceptance scenario": "scenario",
    "acceptance criteria": "acceptance",
    "functional requirement": "requirement",
    "success criteria": "success",
    "measurable outcome": "success",
}
ABOUT = ("why this priority", "independent test")  # labels of texts about how to work, not about what must hold


class SpecKit:
    name = "spec-kit (specs/*/spec.md)"

    def matching_paths(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if PLACE.fullmatch(path))

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
    story: str = ""
    section: str = ""  # the value in ASKING for the last heading or label; "" if it has none
    has_text: bool = False  # whether the current story already has its text
    counts: dict[str, int] = field(default_factory=dict)
    found: list[Requirement] = field(default_factory=list)

    def read(self, text: str) -> list[Requirement]:
        for block in parse(text):
            if isinstance(block, Heading):
                self._take_heading(block)
            elif isinstance(block, Paragraph):
                for part in block.fields():
                    self._paragraph(part)
            elif isinstance(block, List):
                for item in block.items:
                    self._item(item)
        return self.found

    def _take_heading(self, heading: Heading) -> None:
        title = heading.words.plain
        if match := STORY.search(title):
            self.story, self.section, self.has_text = f"US{match[1]}", "", False
            self._add(self.story, heading.words.raw, heading.line)
            return
        self.section = _section_of(title)
        if heading.level <= 2 or (self.section and heading.level <= 3):
            self.story = ""
        if match := NUMBERED.match(title):
            self._add(match[1].upper(), heading.words.raw, heading.line)

    def _paragraph(self, paragraph: Paragraph) -> None:
        if match := NUMBERED.match(paragraph.words.raw):
            self._add(match[1].upper(), paragraph.words.raw, paragraph.line)
            return
        label = paragraph.words.label.strip(" :").lower()
        if label:
            self.section = _section_of(label) if not label.startswith(ABOUT) else ""
            return
        if self.story and not self.has_text and not self.section:
            story = self.found[-1]
            self.found[-1] = story.model_copy(update={"text": f"{story.text}\n{paragraph.words.raw}"})
            self.has_text = True

    def _item(self, item: Item) -> None:
        """Add an item with the items nested in it; a nested item with its own number is also a separate requirement."""
        whole, checks = "\n".join(nested_item.text for nested_item in item.walk()), command_checks(item.words)
        if match := NUMBERED.match(item.words.raw):
            self._add(match[1].upper(), whole, item.line, checks)
        elif self.section:
            self._add(self._numbered(item.number), whole, item.line, checks)
        for below in item.items:
            if NUMBERED.match(below.words.raw) or not whole:
                self._item(below)

    def _numbered(self, number: str) -> str:
        """The id of an unnumbered item: `US1.2` is the second scenario of the first story, `edge-3` an edge case."""
        kind = self.story if self.story and self.section == "scenario" else self.section
        self.counts[kind] = self.counts.get(kind, 0) + 1
        join = "." if kind == self.story else "-"
        return f"{kind}{join}{number if number and kind == self.story else self.counts[kind]}"

    def _add(self, name: str, text: str, line: int, checks: tuple[Check, ...] = ()) -> None:
        self.found.append(requirement_of(f"{self.prefix}{name}", text, self.file, line, checks))


def _section_of(title: str) -> str:
    low = title.lower()
    return next((kind for phrase, kind in ASKING.items() if phrase in low), "")
