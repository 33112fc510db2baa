"""A plain Markdown checklist: each `- [ ]` or `- [x]` is a requirement."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from trued.inputs.specifications.ids import command_checks, requirement_of, slug, with_fences, without_fences
from trued.model import Requirement, Requirements
from trued.support.markdown import List, parse

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
    items = [
        item
        for block in parse(text)
        if isinstance(block, List)
        for item in block.walk()
        if item.checked is not None and item.words.raw
    ]
    return [
        requirement_of(f"{prefix}{number}", item.text, path, item.line, command_checks(item.words))
        for number, item in enumerate(items, 1)
    ]
