"""A plain Markdown checklist: each item with a box (such as `- [ ]`) or a number (such as FR-001) is a requirement.

In a file that has items with a box or number, every other list item is a requirement, too, unless it plainly asks for
nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from trued.errors import BadInput
from trued.inputs.specifications.boxes import without_box
from trued.inputs.specifications.ids import requirement_of, slug, whole_command, with_fences, without_fences
from trued.inputs.specifications.listed_items import aside_lines, boxed_items, other_items
from trued.inputs.specifications.numbered import number_of, numbered_words, words_after_number
from trued.inputs.specifications.unread_lines import unread_items
from trued.model import Requirement, Requirements
from trued.support.markdown import Block, Heading, Item, List, Paragraph, parse, split_lines

NAMES = ("checklist", "acceptance", "acceptance-criteria", "requirements", "definition-of-done", "done", "todo")
TITLE_WORDS = 3  # a longer heading may ask for something itself
FOLDERS = ("", "docs", "doc", ".github")


class Checklist:
    name = "a checklist (CHECKLIST.md, ACCEPTANCE.md, REQUIREMENTS.md, TODO.md)"

    def matching_paths(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if _is_checklist(PurePosixPath(path)))

    def read(self, files: Mapping[str, str]) -> Requirements:
        every: list[Requirement] = []
        for path, text in files.items():
            prefix = f"{slug(PurePosixPath(path).stem)}-" if len(files) > 1 else ""
            every += with_fences(_checklist_requirements(path, without_fences(text), prefix), text, path)
        return Requirements(file=", ".join(files), requirements=tuple(every))


def _is_checklist(path: PurePosixPath) -> bool:
    stem = path.stem.lower().replace("_", "-").replace(" ", "-")
    folder = "" if str(path.parent) == "." else str(path.parent)
    return path.suffix.lower() in (".md", ".markdown") and stem in NAMES and folder in FOLDERS


def _checklist_requirements(path: str, text: str, prefix: str) -> list[Requirement]:
    blocks, lines = parse(text), split_lines(text)
    for block, following in pairwise(blocks):
        if isinstance(block, List) and isinstance(following, Paragraph):
            _refuse_without_words(block, path)
    listed = [item for block in blocks if isinstance(block, List) for item in block.items]
    items, read = list[tuple[str, int]](), set[int]()
    for words, lines_of_item in boxed_items(listed, _words_of):
        read |= lines_of_item
        items += [(words, min(lines_of_item))] if words else []
    items += unread_items(text, read, without_box)
    read |= {line for _, line in items}
    known = {number_of(words) for words, _ in items}
    numbered = list[tuple[str, int]]()
    for words, lines_of_item in (
        *_below_headings(blocks, lines, read),
        *_paragraphs(blocks),
        *boxed_items(listed, _numbered_words_of),
    ):
        numbered += [(words, min(lines_of_item))] if words and read.isdisjoint(lines_of_item) else []
        read |= lines_of_item
    numbered += unread_items(text, read, numbered_words)
    items += [found for found in numbered if number_of(found[0]) not in known]  # a line may mention a known number
    if items:  # in a file with boxes or numbers, every other list item is a requirement, too
        asides = aside_lines(blocks)
        plain = [item for item in listed if item.line not in asides]
        items += other_items(plain, read | {line for _, line in items}, lines)
    return [
        requirement_of(f"{prefix}{number}", words, path, line, whole_command(words))
        for number, (words, line) in enumerate(sorted(items, key=lambda found: found[1]), 1)
    ]


def _paragraphs(blocks: Sequence[Block]) -> Iterator[tuple[str, set[int]]]:
    """Words and lines of each paragraph that begins with a number."""
    for block in blocks:
        if isinstance(block, Paragraph) and words_after_number(block.words.raw):
            yield block.words.raw, set(range(block.line, block.end + 1))


def _below_headings(blocks: Sequence[Block], lines: list[str], read: set[int]) -> Iterator[tuple[str, set[int]]]:
    """Words and lines of each heading that begins with a number such as FR-001, together with the unread lines below
    the heading. If the heading is short and all lines below it were read, it is only a title, and its words are ""."""
    for at, heading in enumerate(blocks):
        title = words_after_number(heading.words.raw) if isinstance(heading, Heading) else None
        if title and isinstance(heading, Heading):
            ends = (n for n in range(at + 1, len(blocks)) if _is_beside(blocks[n], heading.level))
            inner = blocks[at + 1 : next(ends, len(blocks))]
            every = {line for block in inner for line in range(block.line, block.end + 1) if lines[line - 1].strip()}
            rest = sorted(every - read)
            is_title = every and not rest and len(title.split()) <= TITLE_WORDS + 1
            words = "\n".join((title, *(lines[line - 1].strip() for line in rest)))
            yield "" if is_title else words, {heading.line, *rest}


def _is_beside(block: Block, level: int) -> bool:
    return isinstance(block, Heading) and block.level <= level


def _words_of(item: Item) -> str | None:
    """The item's words without its box; None if it has no box."""
    return item.words.raw if item.checked is not None else without_box(item.words.raw)


def _numbered_words_of(item: Item) -> str | None:
    return words_after_number(item.words.raw)


def _refuse_without_words(block: List, path: str) -> None:
    """Raise BadInput if the list ends with a box without words, because the paragraph below the list may be meant as
    these words."""
    *_, last = block.walk()
    if _words_of(last) == "" and not last.more:
        then = "write what must hold beside the box, or remove the box"
        raise BadInput("this box has no words, and the text below does not belong to it", f"{path}:{last.line}", then)
