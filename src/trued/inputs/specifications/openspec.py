"""OpenSpec: requirements and scenarios by heading, in openspec/specs and in changes in progress."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from trued.inputs.specifications.boxes import without_box_in_prose
from trued.inputs.specifications.ids import command_checks, slug, whole_command, with_fences, without_fences
from trued.inputs.specifications.ids import requirement_of as requirement
from trued.inputs.specifications.listed_items import LABEL, aside_lines, boxed_items, other_items, words_of_item
from trued.inputs.specifications.numbered import number_of, numbered_words
from trued.inputs.specifications.unread_lines import refuse_open_comment, unread_items
from trued.inputs.vocabulary import section_kind
from trued.model import Check, Requirement, Requirements
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import Block, Heading, Item, List, Other, Paragraph, Table, parse, split_lines

# Between "requirement" or "scenario" and the colon, there may be a number or a short name. A dash counts as a colon,
# and after a number the colon may be missing.
TITLE = lazy_regex(
    r"([*_]*)(requirement|scenario)(?=[\s*_:\uff1a])[*_]*"
    r"\s*(?:[\w.()#-]{0,12}\s*[:\uff1a\u2013\u2014-]+|[\w.()#-]*\d[\w.()#-]*)\s*(\S.*)",
    re.IGNORECASE | re.DOTALL,
)
TITLE_WORDS = 3  # a longer title may ask for something itself
HOLDS = lazy_regex(r"\brequirements\b", re.IGNORECASE)
DELTA = lazy_regex(r"((?:(?:added|modified|removed|renamed)(?:\W+and)?\W+)+)requirements")
RENAME = lazy_regex(r"\W*(?:from|to)\b", re.IGNORECASE)


class OpenSpec:
    name = "OpenSpec (openspec/specs, openspec/changes)"

    def matching_paths(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if _is_spec(PurePosixPath(path).parts))

    def recognises(self, text: str) -> bool:
        return bool(_OpenSpecFile("", "").read_structure(without_fences(text)))

    def read(self, files: Mapping[str, str]) -> Requirements:
        every: list[Requirement] = []
        for path, text in files.items():
            every += with_fences(_OpenSpecFile(path, _capability(path)).read(without_fences(text)), text, path)
        return Requirements(file=", ".join(files), requirements=tuple(every))


def _is_spec(parts: tuple[str, ...]) -> bool:
    """Whether the path is `openspec/specs/AREA/spec.md`, or a `spec.md` below the `specs` of a change in progress."""
    if len(parts) < 4 or parts[0] != "openspec" or parts[-1] != "spec.md":
        return False
    return parts[1] == "specs" or (parts[1] == "changes" and parts[2] != "archive" and "specs" in parts[3:-1])


def _capability(path: str) -> str:
    parts = PurePosixPath(path).parts
    below = parts[len(parts) - parts[::-1].index("specs") : -1] if "specs" in parts else parts[-2:-1]
    return slug("-".join(below), "spec")


@dataclass
class _OpenSpecFile:
    """One file, read from top to bottom."""

    file: str
    area: str
    delta: str = ""  # added, modified, removed, renamed; "" outside of a change
    name: str = ""  # id of the current requirement
    found: list[Requirement] = field(default_factory=list)
    open: bool = False  # whether text that follows belongs to the last requirement
    level: int = 0  # level of the heading of the last requirement, or of the last scenario without a requirement above
    inside: bool = False  # whether this part of the file holds requirements
    lines: set[int] = field(default_factory=set)  # numbers of the lines that were read, or that ask for nothing
    # for each sentence that only says that a command passes: its requirement's index in `found`, words, line and check
    commands: list[tuple[int, str, int, tuple[Check, ...]]] = field(default_factory=list)
    rest: list[Item] = field(default_factory=list)  # list items outside of requirements; they are read last
    nongoal: int = 0  # the level of the heading under which the current text is a non-goal; 0 if there is none

    def read(self, text: str) -> list[Requirement]:
        refuse_open_comment(text, self.file)
        self.read_structure(text)
        self._give_checks()
        self.open = False
        for words, lines in boxed_items(self.rest, words_of_item):
            self.lines |= lines
            if words:
                self._add_words(words, min(lines), whole_command(words))
        for words, line in unread_items(text, self.lines, without_box_in_prose):
            self._add_words(words, line, whole_command(words))
        read = self.lines | {requirement.source.line for requirement in self.found}
        known = {number_of(requirement.text) for requirement in self.found}
        for words, line in unread_items(text, read, numbered_words):
            if number_of(words) not in known:  # a line may mention the number of a known requirement
                self._add_words(words, line)
        read = self.lines | {requirement.source.line for requirement in self.found}
        for words, line in other_items(self.rest, read, split_lines(text)):
            self._add_words(words, line, whole_command(words))
        return sorted(self.found, key=lambda one: one.source.line)

    def read_structure(self, text: str) -> list[Requirement]:
        """Read the requirements below headings of this format. Lists outside of these sections are only collected in
        `rest`."""
        blocks = parse(text)
        asides = aside_lines(blocks)
        for block in blocks:
            is_outside = not (self.open or self.inside)
            if isinstance(block, Heading):
                self._take_heading(block)
                if not self.nongoal or block.level <= self.nongoal:
                    self.nongoal = block.level if section_kind(block.words.plain) == "nongoal" else 0
            elif is_outside and isinstance(block, Paragraph) and (match := TITLE.match(block.words.raw)):
                self._begin(match, LABEL, block.line)
            elif is_outside and isinstance(block, List) and not self.nongoal and block.line not in asides:
                renamed = self.delta == "renamed"
                self.rest += [item for item in block.items if not (renamed and RENAME.match(item.words.raw))]
            elif not is_outside:
                self._more(block)
            if self.open or self.inside or self.nongoal:
                self.lines |= set(range(block.line, block.end + 1))
        return self.found

    def _take_heading(self, heading: Heading) -> None:
        if match := TITLE.match(heading.words.raw):
            self._begin(match, heading.level, heading.line)
        elif self.open and heading.level > self.level:  # a heading inside of the requirement
            self._add_words(heading.words.raw, heading.line)
        elif heading.level <= 2:
            delta = DELTA.search(heading.words.plain.lower())
            kinds = set(re.findall(r"\w+ed\b", delta[1])) if delta else set[str]()
            self.delta, self.name, self.open = kinds.pop() if len(kinds) == 1 else "", "", False
            self.inside = self.delta != "renamed" and bool(HOLDS.search(heading.words.plain))
        else:
            self.open = False
            if self.inside:
                self._add_words(heading.words.raw, heading.line)

    def _begin(self, match: re.Match[str], level: int, line: int) -> None:
        """Begin a requirement or a scenario."""
        self.open, words = True, match[3].removesuffix(match[1])
        if match[2].lower() == "requirement":
            self.name, self.level = f"{self.area}.{slug(words)}", level
            text = f"{words} (removed)" if self.delta == "removed" else words
            self.found.append(requirement(self.name, text, self.file, line))
        else:
            above = self.name or self.area
            self.level = self.level if self.name else level
            self.found.append(requirement(_short(f"{above}.{slug(words)}"), words, self.file, line))

    def _more(self, block: Block) -> None:
        """Add the text of a block to the current requirement. If there is none, the text becomes a requirement of its
        own."""
        if isinstance(block, Paragraph):
            self._add_words(block.words.raw, block.line, command_checks(block.words))
        elif isinstance(block, List):
            self._add_words("\n".join(item.text for item in block.walk()), block.line)
        elif isinstance(block, Table):
            rows = (block.header, *(row.cells for row in block.rows))
            self._add_words("\n".join(" | ".join(cell.raw for cell in row) for row in rows), block.line)
        elif isinstance(block, Other) and block.text:
            self._add_words(block.text, block.line)

    def _add_words(self, words: str, line: int, checks: tuple[Check, ...] = ()) -> None:
        """Add words to the current requirement. If there is none, the words become a requirement of their own."""
        if not self.open:
            first, _, _ = words.partition("\n")
            name = _short(f"{self.area}.{slug(first)}")
            self.found.append(requirement(name, words, self.file, line, checks))
            return
        last = self.found[-1]
        self.found[-1] = last.model_copy(update={"text": f"{last.text}\n{words}"})
        self.commands += [(len(self.found) - 1, words, line, checks)] if checks else []

    def _give_checks(self) -> None:
        """Decide which requirement each command checks. If the requirement has a short title and no text but the
        command's sentence, the command becomes its check. Otherwise the sentence becomes a requirement of its own,
        because a command shows nothing about the other words."""
        for at, words, line, checks in self.commands:
            main = self.found[at]
            title, _, below = main.text.partition("\n")
            if below == words and len(title.split()) <= TITLE_WORDS:
                self.found[at] = main.model_copy(update={"checks": checks})
            else:
                self.found.append(requirement(_short(f"{main.id}.{slug(words)}"), words, self.file, line, checks))


def _short(name: str, longest: int = 78) -> str:
    return name[:longest].rstrip(".-_")
