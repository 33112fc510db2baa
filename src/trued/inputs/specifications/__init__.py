"""Find and read requirements that a repository already has: spec-kit, OpenSpec, checklists, a requirements file.

To add a format, write one module like its siblings and one entry in GROUPS, where the first group that matches a path
wins. If the format's text can be recognised, add it to `read_specification`, too. For files that are not Markdown, see
`engine/requirements_source.py`.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from trued.errors import BadInput
from trued.inputs.requirements.coverage import unique_ids
from trued.inputs.specifications.checklist import Checklist
from trued.inputs.specifications.openspec import OpenSpec
from trued.inputs.specifications.own_file import OwnFile
from trued.inputs.specifications.speckit import SpecKit
from trued.model import Requirements


class SpecificationFormat(Protocol):
    """One format in which repositories keep requirements. It reads no file itself: it gets paths and texts."""

    @property
    def name(self) -> str:
        """The format's name, for people."""
        ...

    def matching_paths(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The paths that this format reads, out of all paths of a commit."""
        ...

    def read(self, files: Mapping[str, str]) -> Requirements:
        """The requirements of these files, in the users' words, each with file and line."""
        ...


# A group counts only if no group before it matches: a requirements file replaces all other formats.
GROUPS: tuple[tuple[SpecificationFormat, ...], ...] = ((OwnFile(),), (SpecKit(), OpenSpec()), (Checklist(),))


def find_specifications(paths: Iterable[str]) -> dict[str, SpecificationFormat]:
    """Path → the format that reads this file. Only the first group of formats that matches any path is used. Empty if
    no format matches."""
    listed = sorted(paths)
    for group in GROUPS:
        if taken := {path: source for source in group for path in source.matching_paths(listed)}:
            return taken
    return {}


def read_specifications(taken: Mapping[str, SpecificationFormat], texts: Mapping[str, str]) -> Requirements:
    """All requirements of these files, with unique ids."""
    parts = [
        source.read({path: texts[path] for path in sorted(taken) if taken[path] is source and path in texts})
        for source in dict.fromkeys(taken.values())
    ]
    whole = parts[0] if len(parts) == 1 else Requirements(requirements=())
    every = tuple(unique_ids(requirement for part in parts for requirement in part.requirements))
    return whole.model_copy(update={"file": ", ".join(sorted(texts)), "requirements": every})


def read_specification(path: str, text: str) -> Requirements:
    """Read requirements from one file, in the first format that finds some. The formats that match its path are tried
    first, then spec-kit and OpenSpec if the text looks like theirs, then checklist. Raises BadInput if no format finds
    requirements."""
    spots = [source for group in GROUPS for source in group if source.matching_paths([path.lstrip("/"), _tail(path)])]
    by_shape = [source for source in (SpecKit(), OpenSpec()) if source.recognises(text)]
    for source in (*spots, *by_shape, Checklist()):
        if (made := source.read({path: text})).requirements:
            return made
    raise BadInput(
        f"no requirements were recognised in {path}",
        then="write `- [ ] what must hold` lines, or a requirements file in TOML, YAML or JSON",
    )


def _tail(path: str) -> str:
    """The end of the path, beginning with its folder `openspec/` or `specs/`; the file's name if the path has neither
    folder."""
    for mark in ("openspec/", "specs/"):
        if (at := f"/{path}".find(f"/{mark}")) >= 0:
            return path[at:]
    return path.rpartition("/")[2]
