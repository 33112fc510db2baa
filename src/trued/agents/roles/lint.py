"""Checks role files: what is wrong with them, and which of their fields are not used."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trued.agents.roles.export import is_unchanged
from trued.agents.roles.other_tools import RoleFormat, read_other
from trued.agents.roles.own_format import parse_role
from trued.agents.roles.places import format_of, other_files_of_project, stem_of
from trued.errors import BadInput
from trued.support.located import read_text


@dataclass(frozen=True, slots=True)
class RoleFinding:
    """One sentence about one place in a file. `wrong`: the file cannot be used; otherwise the sentence is a note."""

    where: str
    says: str
    wrong: bool = False


def role_files(project: Path) -> Iterator[tuple[Path, RoleFormat | None]]:
    """Role files of a repository, each with its format: our own files (None), then those of other tools."""
    folder = project / ".trued" / "roles"
    yield from ((path, None) for path in (sorted(folder.glob("*.md")) if folder.is_dir() else ()))
    yield from ((file.path, file.form) for file in other_files_of_project(project))


def lint_role_file(path: Path, form: RoleFormat | None = None, *, shown: str = "") -> list[RoleFinding]:
    """Check one role file, and return what is wrong or not used. `form`: the file's format; None: the format that its
    folder implies. `shown`: the file's name in findings."""
    form, shown = form or format_of(path), shown or str(path)
    try:
        text = read_text(path, shown)
        if form is None:
            parse_role(text, shown, stem_of(path))
            return []
        reading = read_other(text, shown, stem_of(path), form)
    except BadInput as error:
        then = f" ({error.then})" if error.then else ""
        return [RoleFinding(error.where or shown, f"{error.what}{then}", wrong=True)]
    return [RoleFinding(f"{shown}:{line}", note) for line, note in sorted(reading.notes) if not is_unchanged(text)]
