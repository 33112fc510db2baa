"""Finds the packaged roles, and role files of other tools in a project and in the user's folders."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trued.agents.roles.other_tools import FORMS, RoleFormat
from trued.agents.roles.tool_folders import TOOL_FOLDERS
from trued.errors import BadInput

ANSWER = "outside"  # the only folder of this package without roles: it has texts for using roles without the engine
MOST = 2000  # role files in one folder; a folder with more was not meant for roles


@dataclass(frozen=True, slots=True)
class RoleFile:
    """A file that can contain a role of another tool."""

    path: Path
    stem: str  # the file's name without endings; for OpenCode with its subfolders: `review/security`
    form: RoleFormat


def packaged_files() -> list[Path]:
    """The files of our own roles, sorted by path."""
    return [path for path in sorted(Path(__file__).parent.glob("*/*.md")) if path.parent.name != ANSWER]


def other_files_of_project(root: Path) -> Iterator[RoleFile]:
    """Role files of other tools in a project, folder by folder."""
    for name, folders in TOOL_FOLDERS.items():
        for folder, pattern in folders:
            yield from _below(root / folder, FORMS[name], pattern)


def other_files_of_user(home: Path, config: Path) -> Iterator[RoleFile]:
    """Role files of other tools in the user's folders."""
    yield from _below(home / ".claude" / "agents", FORMS["claude"])
    yield from _below(home / ".copilot" / "agents", FORMS["github"])
    yield from _below(config / "opencode" / "agent", FORMS["opencode"])
    yield from _below(config / "opencode" / "agents", FORMS["opencode"])


def format_of(path: Path) -> RoleFormat | None:
    """The format of a file, determined by its folder; None for our own."""
    parts = path.absolute().parts
    if path.name.endswith((".agent.md", ".chatmode.md")) or {".github", ".copilot"} & set(parts):
        return FORMS["github"]
    return next(
        (FORMS[part.lstrip(".")] for part in reversed(parts) if part.lstrip(".") in ("claude", "opencode")), None
    )


def stem_of(path: Path) -> str:
    """The file name without the endings of role files."""
    return path.name.removesuffix(".md").removesuffix(".agent").removesuffix(".chatmode")


def _below(top: Path, form: RoleFormat, pattern: str = "**/*.md") -> Iterator[RoleFile]:
    paths = sorted(top.glob(pattern)) if top.is_dir() else []
    if len(paths) > MOST:
        raise BadInput(f"{top} contains {len(paths)} files", then=f"keep at most {MOST} role files there")
    for path in paths:
        if form.bare and path.name.lower() == "readme.md":
            continue  # for people, not a role
        inner = (*path.parent.relative_to(top).parts, stem_of(path)) if form.name == "opencode" else (stem_of(path),)
        yield RoleFile(path, "/".join(inner), form)
