"""Sort a ticket's text into its parts by headings and labels, sentence by sentence."""

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trued.inputs.sentences import sentences, sentences_of
from trued.inputs.tickets.images import picture_references
from trued.inputs.vocabulary import bare_title, file_names, section_kind, title_words
from trued.model import Criterion, Source
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import Block, Heading, List, Other, Paragraph, Words, parse, split_lines

TicketPart: TypeAlias = Literal[
    "summary", "description", "requirements", "acceptance", "areas", "preview", "pictures", "shown wrong"
]

TITLE_WORDS = 3
HINT_WORDS = 2  # most words of an area's name, unless it is in code marks or a path; a longer text asks for something
HINTS = ("areas", "preview", "pictures")
# Words that only point at a name, an address or a picture.
_POINTING_WORDS = (
    "see at here place on in of and or the a is open visit as below above attached attachment attachments "
    "preview previews url link links image images file files picture pictures screenshot screenshots "
    "mockup mockups none n/a tbd"
)
_POINTING = frozenset(_POINTING_WORDS.split())
_SHOWN = frozenset(["picture", "pictures", "screenshot", "screenshots", "mockup", "mockups", "wireframe", "wireframes"])
_AREAS = frozenset(["area", "areas", "component", "components", "module", "modules"])
_WRONG = frozenset(["actual", "current", "reproduce", "reproduction", "observed", "happens"])
_ASKED = frozenset(["requirement", "requirements", "requested", "wanted", "story", "stories"])
_TITLES = ("summary", "title")
_ADDRESS = lazy_regex(r"https?://[^\s<>\"'`)\]]+")
_PATH = lazy_regex(r"[\w./~-][^\n]*\.(?:png|jpe?g|gif|webp|svg)", re.IGNORECASE)
_PICTURES_ONLY = lazy_regex(r"(?:\s*(?:\[?!\[[^\]\n]*\]\([^)\n]*\)(?:\]\([^)\n]*\))?|<img\b[^>]*>))+\s*", re.IGNORECASE)
_CODE = lazy_regex(r"`([^`\n]+)`")
_SHOWN_NAME = lazy_regex(r"!\[[^\]\n]*\]\([^)\n]*\)|<img\b[^>]*>|https?://[^\s<>\"'`)\]]+", re.IGNORECASE)
_LINK = lazy_regex(r"\[([^\]\n]*)\]\([^)\n]*\)")
_PLACE = lazy_regex(r"[\w.@*-]*/[\w./@*~%?=&-]*|[\w-]+\.\w{1,5}(?!\w)")
_NAME = "\0"  # replaces a name while the words beside the name are examined
_LABEL = lazy_regex(r"(?:\*\*|__)?([A-Z][\w '/-]{1,40}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]*")


def part_of(title: str) -> TicketPart | None:
    """The part that a heading, label or field of this name begins; None if it begins none."""
    words = set(title_words(bare_title(title)))
    if "preview" in words:
        return "preview"
    if words & _SHOWN and not words & _WRONG:
        return "pictures"
    if words & _WRONG:
        return "shown wrong"
    if words & _AREAS or words == {"affected", "files"}:
        return "areas"
    if len(words) == 1 and words & set(_TITLES):
        return "summary"
    kind = section_kind(title)
    if kind == "ship":
        return "acceptance"
    return "requirements" if kind in ("goal", "constraint") or words & _ASKED else None


@dataclass(slots=True)
class _At:
    """The position in the text that is being read."""

    lines: list[str]
    shown: list[tuple[str, int]]
    first: int
    top: TicketPart
    part: TicketPart
    level: int = 0
    labelled: bool = False


@dataclass(slots=True)
class Parts:
    """The parts of a ticket, each in the order in which it was written."""

    file: str
    summary: list[str] = field(default_factory=list)  # at most one: the first sentence of the summary
    requirements: list[Criterion] = field(default_factory=list)
    acceptance: list[Criterion] = field(default_factory=list)
    areas: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    preview: str = ""
    title: str = ""  # the first heading of the first level

    def read(self, text: str, first: int = 1, part: TicketPart = "description") -> None:
        """Read a text that begins on line `first`. Until its first heading or label, the text belongs to `part`."""
        at = _At(split_lines(text), picture_references(text), first, part, part)
        blocks = parse(text)
        for number, block in enumerate(blocks):
            if isinstance(block, Heading):
                bare = number + 1 == len(blocks) or isinstance(blocks[number + 1], Heading)
                self._take_heading(block, at, bare)
                continue
            for element in block.fields() if isinstance(block, Paragraph) else [block]:
                if isinstance(element, Paragraph) and (label := _label(element)):
                    at.part, at.labelled = label, True
                self._take(element, at)

    def _take_heading(self, block: Heading, at: "_At", bare: bool) -> None:
        if block.level == 1 and not self.title and not self.requirements and not self.acceptance:
            self.title = bare_title(block.words.plain)
            at.part, at.level, at.labelled = at.top, 0, False
            return
        named = part_of(block.words.plain)
        if named or block.level <= at.level or at.labelled:
            at.part, at.level, at.labelled = named or at.top, block.level, False
        # A heading that names no part may ask for something itself. A short one with text below it is only a title.
        if not named and (bare or len(block.words.plain.split()) > TITLE_WORDS):
            self.add("description", block.words.raw, at.first + block.line - 1)

    def _take(self, block: Block, at: "_At") -> None:
        verbatim = "".join(at.lines[block.line - 1 : block.end])
        shown = [address for address, line in at.shown if block.line <= line <= block.end]
        if at.part != "shown wrong":
            self.pictures += [picture for picture in shown if picture not in self.pictures]
        sentences = [(text, at.first + line - 1) for text, line in _sentences(block, at.lines)]
        if at.part == "areas":
            names = dict.fromkeys((*_listed_names(block), *_named_areas(verbatim)))
            self.areas += [name for name in names if name not in self.areas and is_hint("areas", name)]
        elif at.part == "preview" and not self.preview and (match := _ADDRESS.search(verbatim)):
            self.preview = match[0].rstrip(".,;")
        elif at.part == "pictures":
            named = [name for name in _listed_names(block) if _ADDRESS.fullmatch(name) or _PATH.fullmatch(name)]
            self.pictures += [picture for picture in named if picture not in self.pictures]
        elif at.part == "summary":
            sentences, first = (sentences, []) if self.summary else (sentences[1:], sentences[:1])
            self.summary += [text for text, _ in first]
        for text, line in sentences:
            only_shown = bool(shown) and bool(_PICTURES_ONLY.fullmatch(text))
            if not only_shown and not is_hint(at.part, text):
                self.add(at.part, text, line, code=isinstance(block, Other))

    def add(self, part: TicketPart, text: str, line: int, *, code: bool = False) -> None:
        into = self.acceptance if part == "acceptance" else self.requirements
        if code and into:  # code belongs to the sentence before it
            before = into.pop()
            into.append(before.model_copy(update={"text": f"{before.text}\n{text}"}))
            return
        kind = {"acceptance": "acceptance", "requirements": "goal"}.get(part, "text")
        into.append(Criterion(text=text, kind=kind, source=Source(file=self.file, line=line)))


def _named_areas(text: str) -> list[str]:
    """The names that lines of this text begin with, such as "`assets/`: scripts of the page"."""
    bare = (line.lstrip(" \t>-+").removeprefix("* ").lstrip("* ") for line in text.splitlines())
    found = [_CODE.match(line) or _PLACE.match(line) for line in bare]
    return [match[match.lastindex or 0] for match in found if match]


def _label_match(block: Paragraph) -> re.Match[str] | None:
    """The label that a paragraph begins with (`**Acceptance criteria:**` or `Acceptance criteria:`); None if it begins
    with none."""
    match = _LABEL.match(block.text)
    return match if match and part_of(match[1]) else None


def _label(block: Paragraph) -> TicketPart | None:
    if match := _label_match(block):
        return part_of(match[1])
    return part_of(block.words.label) if _is_bold(block) else None


def _is_bold(block: Paragraph) -> bool:
    return bool(block.words.label) and block.words.label == block.words.plain


def is_hint(part: str, text: str) -> bool:
    """Whether a text is only a hint: names of areas, an address, or pictures. A text that says more than that asks for
    something, such as "`tiny.py`: no list is doubled"."""
    if part not in HINTS:
        return False
    bare = _SHOWN_NAME.sub(_NAME, text)
    for marked in (_LINK, _CODE):
        bare = marked.sub(lambda name: _NAME if len(name[1].split()) <= HINT_WORDS else name[1], bare)
    bare = _NAME if _PATH.fullmatch(bare.strip()) and len(bare.split()) <= HINT_WORDS else _PLACE.sub(_NAME, bare)
    for name in re.split(r"[,;&|\n]|\s(?:and|or)\s|\s[/+]\s", bare):
        words = re.findall(r"[^\s()<>*_\0:.–—-][^\s()<>*_\0:]*", name)
        beside = [word for word in words if word.lower().strip(".,;:!?") not in _POINTING]
        is_name = part == "areas" and _NAME not in name and len(words) <= HINT_WORDS and name.strip()[-1:] not in ".!?"
        if beside and not is_name:
            return False
    return True


def _sentences(block: Block, lines: list[str]) -> list[tuple[str, int]]:
    """The sentences of a block with their lines; none if it is only a label."""
    if isinstance(block, Paragraph):
        if _is_bold(block) and part_of(block.words.label):
            return []
        if match := _label_match(block):
            return [(text, block.line + line - 1) for text, line in sentences(block.text[match.end() :])]
    return sentences_of(block, lines)


def _listed_names(block: Block) -> list[str]:
    """The names in a list or a line: the texts in code marks or, if there are none, the texts between commas."""
    if isinstance(block, List):
        return [name for item in block.walk() for name in _names(item.words)]
    if not isinstance(block, Paragraph):
        return []
    match = _label_match(block)
    inner = parse(block.text[match.end() :]) if match else [block]
    return [name for block in inner if isinstance(block, Paragraph) for name in _names(block.words)]


def _names(words: Words) -> tuple[str, ...]:
    return tuple(name.strip(" .") for name in file_names(words) if name.strip(" ."))
