"""A plain Markdown checklist: each `- [ ]` or `- [x]` is a requirement, and so is whatever else looks like one."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from trued.inputs.specifications.ids import requirement_of, slug, whole_command, with_fences, without_fences
from trued.inputs.specifications.unread_lines import unread_items
from trued.model import Requirement, Requirements
from trued.support.markdown import Item, List, parse

NAMES = ("checklist", "acceptance", "acceptance-criteria", "requirements", "definition-of-done", "done", "todo")
FOLDERS = ("", "docs", "doc", ".github")
# A box with any one mark, or none; not a link, a footnote or a numbered reference. Boxes are also signs and inputs.
BOX = re.compile(
    r"(?:\*\*|__|~~|`)?(?:\[\s*[^\s\[\]\d^]?\s*\](?![(\[:])|[☐☑☒✅❌✔✘✓✗]|<input[^>\n]*\bcheckbox\b[^>\n]*>)(?:\*\*|__|`)?\s*"
)


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
    for block in parse(text):
        for item in block.walk() if isinstance(block, List) else ():
            if item.checked is not None:
                own = list(_with_plain_items(item))
                lines |= {line for part in own for line in range(part.line, part.own_end + 1)}
                items += [("\n".join(part.text for part in own), item.line)] if item.words.raw else []
    items += unread_items(text, lines, BOX)
    return [
        requirement_of(f"{prefix}{number}", words, path, line, whole_command(words))
        for number, (words, line) in enumerate(sorted(items, key=lambda found: found[1]), 1)
    ]


def _with_plain_items(item: Item) -> Iterator[Item]:
    """The item, and the items nested in it that have no box."""
    yield item
    for below in item.items:
        if below.checked is None and not BOX.match(below.words.raw):
            yield from _with_plain_items(below)
