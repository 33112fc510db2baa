"""A plain Markdown checklist: each item with a box (such as `- [ ]`) or a number (such as FR-001) is a requirement."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from trued.errors import BadInput
from trued.inputs.specifications.boxes import without_box
from trued.inputs.specifications.ids import requirement_of, slug, whole_command, with_fences, without_fences
from trued.inputs.specifications.numbered import number_of, numbered_words
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
    blocks = parse(text)
    for block, following in pairwise(blocks):
        if isinstance(block, List) and isinstance(following, Paragraph):
            _refuse_without_words(block, path)
    items, read = list[tuple[str, int]](), set[int]()
    for words, lines in _listed(blocks, _words_of):
        read |= lines
        items += [(words, min(lines))] if words else []
    items += unread_items(text, read, without_box)
    read |= {line for _, line in items}
    known = {number_of(words) for words, _ in items}
    numbered = list[tuple[str, int]]()
    for words, lines in (*_below_headings(blocks, split_lines(text), read), *_listed(blocks, _numbered_words_of)):
        numbered += [(words, min(lines))] if words and read.isdisjoint(lines) else []
        read |= lines
    numbered += unread_items(text, read, numbered_words)
    items += [found for found in numbered if number_of(found[0]) not in known]  # a line may mention a known number
    return [
        requirement_of(f"{prefix}{number}", words, path, line, whole_command(words))
        for number, (words, line) in enumerate(sorted(items, key=lambda found: found[1]), 1)
    ]


def _listed(blocks: Sequence[Block], words_of: Callable[[Item], str | None]) -> Iterator[tuple[str, set[int]]]:
    """Words and lines of each list item for which `words_of` returns text, together with the plain items below it."""
    for block in blocks:
        for item in block.walk() if isinstance(block, List) else ():
            if (words := words_of(item)) is not None:
                below = [other for inner in item.items for other in _plain_items(inner)]
                lines = {line for part in (item, *below) for line in range(part.line, part.own_end + 1)}
                yield "\n".join(filter(None, (words, *item.more, *(other.text for other in below)))), lines


def _below_headings(blocks: Sequence[Block], lines: list[str], read: set[int]) -> Iterator[tuple[str, set[int]]]:
    """Words and lines of each heading that begins with a number such as FR-001, together with the unread lines below
    it. If all lines below a short heading were read, the heading is only their title, and its words are ""."""
    for at, heading in enumerate(blocks):
        title = numbered_words(heading.words.raw) if isinstance(heading, Heading) else None
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
    return numbered_words(item.words.raw)


def _refuse_without_words(block: List, path: str) -> None:
    """Raise BadInput if the list ends with a box without words: the paragraph below the list may be meant for it."""
    *_, last = block.walk()
    if _words_of(last) == "" and not last.more:
        then = "write what must hold beside the box, or remove the box"
        raise BadInput("this box has no words, and the text below does not belong to it", f"{path}:{last.line}", then)


def _plain_items(item: Item) -> Iterator[Item]:
    """The item and the items nested in it. An item with a box or a number is left out, with all items nested in it."""
    if _words_of(item) is None and _numbered_words_of(item) is None:
        yield item
        for below in item.items:
            yield from _plain_items(below)
