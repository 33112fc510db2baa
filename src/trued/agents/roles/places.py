"""Where role files lie: in this package, in a project, and in the folders of a user."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trued.agents.roles.other_tools import FORMS, Form
from trued.agents.roles.tool_folders import TOOL_FOLDERS
from trued.errors import BadInput

ANSWER = "outside"  # a folder of this package that holds no role
MOST = 2000  # of others' files in one place: more is no folder of roles


@dataclass(frozen=True, slots=True)
class File:
    """A file that may hold a role of another tool."""

    path: Path
    stem: str  # its name without endings; below the folder of roles with the folders on the way
    form: Form


def packaged_files() -> list[Path]:
    """Our own roles, folder by folder and by name."""
    return [path for path in sorted(Path(__file__).parent.glob("*/*.md")) if path.parent.name != ANSWER]


def others_in(root: Path) -> Iterator[File]:
    """Those of a project, tool by tool and by name."""
    for name, places in TOOL_FOLDERS.items():
        for folder, pattern in places:
            yield from _below(root / folder, FORMS[name], pattern)


def others_of(home: Path, config: Path) -> Iterator[File]:
    """Those of a user, where each tool keeps its own."""
    yield from _below(home / ".claude" / "agents", FORMS["claude"])
    yield from _below(home / ".copilot" / "agents", FORMS["github"])
    yield from _below(config / "opencode" / "agent", FORMS["opencode"])
    yield from _below(config / "opencode" / "agents", FORMS["opencode"])


def form_of(path: Path) -> Form | None:
    """The kind of file, by where it lies; None for one of our own."""
    parts = path.absolute().parts
    if path.name.endswith((".agent.md", ".chatmode.md")) or {".github", ".copilot"} & set(parts):
        return FORMS["github"]
    return next(
        (FORMS[part.lstrip(".")] for part in reversed(parts) if part.lstrip(".") in ("claude", "opencode")), None
    )


def stem_of(path: Path) -> str:
    return path.name.removesuffix(".md").removesuffix(".agent").removesuffix(".chatmode")


def _below(top: Path, form: Form, pattern: str = "**/*.md") -> Iterator[File]:
    paths = sorted(top.glob(pattern)) if top.is_dir() else []
    if len(paths) > MOST:
        raise BadInput(f"{top} holds {len(paths)} files", then=f"keep at most {MOST} role files there")
    for path in paths:
        if form.bare and path.name.lower() == "readme.md":
            continue  # a word to people
        inner = (*path.parent.relative_to(top).parts, stem_of(path)) if form.name == "opencode" else (stem_of(path),)
        yield File(path, "/".join(inner), form)
