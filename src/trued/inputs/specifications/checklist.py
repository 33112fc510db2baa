"""A plain Markdown checklist: each `- [ ]` or `- [x]` is a requirement, and so is whatever else looks like one."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from trued.errors import BadInput
from trued.inputs.specifications.boxes import without_box
from trued.inputs.specifications.ids import requirement_of, slug, whole_command, with_fences, without_fences
from trued.inputs.specifications.unread_lines import unread_items
from trued.model import Requirement, Requirements
from trued.support.markdown import Item, List, Paragraph, parse

NAMES = ("checklist", "acceptance", "acceptance-criteria", "requirements", "definition-of-done", "done", "todo")
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
    items, lines = list[tuple[str, int]](), set[int]()
    blocks = parse(text)
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if isinstance(block, List) and isinstance(following, Paragraph):
            _refuse_without_words(block, path)
        for item in block.walk() if isinstance(block, List) else ():
            if (words := _words_of(item)) is not None:
                below = [other for inner in item.items for other in _plain_items(inner)]
                lines |= {line for part in (item, *below) for line in range(part.line, part.own_end + 1)}
                whole = "\n".join(filter(None, (words, *item.more, *(other.text for other in below))))
                items += [(whole, item.line)] if whole else []
    items += unread_items(text, lines, without_box)
    return [
        requirement_of(f"{prefix}{number}", words, path, line, whole_command(words))
        for number, (words, line) in enumerate(sorted(items, key=lambda found: found[1]), 1)
    ]


def _words_of(item: Item) -> str | None:
    """The item's words without its box; None if it has no box."""
    return item.words.raw if item.checked is not None else without_box(item.words.raw, listed=True)


def _refuse_without_words(block: List, path: str) -> None:
    """Raise BadInput if a list ends with a box that has no words, although a text follows that may be meant."""
    *_, last = block.walk()
    if _words_of(last) == "" and not last.more:
        then = "write what must hold beside the box, or remove the box"
        raise BadInput("this box has no words, and the text below does not belong to it", f"{path}:{last.line}", then)


def _plain_items(item: Item) -> Iterator[Item]:
    """The item and those nested in it, as far as they have no box."""
    if _words_of(item) is None:
        yield item
        for below in item.items:
            yield from _plain_items(below)
