"""Detects the project in this folder as a run would: its kind, and how it is built, tested and started."""

from pathlib import Path

from trued.inputs.project.entry_points import CODE
from trued.inputs.project.kind import ProjectKind, files_to_read, project_kind, with_user_commands
from trued.model import Settings
from trued.support.user_git import ask_git
from trued.workspace.git.batch import batch_input, parse_batch


def kind_here(top: Path, settings: Settings) -> ProjectKind:
    """The kind of the project at HEAD, where a run would start."""
    paths = paths_at_head(top)
    texts = _read_committed(top, files_to_read(paths))
    return with_user_commands(project_kind(paths, texts.get), settings.commands)


def sources_here(top: Path, *, most: int, size: int) -> dict[str, str]:
    """The text of each code file at HEAD, by path: at most `most` files, and none longer than `size` characters."""
    code = tuple(path for path in paths_at_head(top) if path.endswith(CODE) and "\n" not in path)[:most]
    return {path: text for path, text in _read_committed(top, code).items() if len(text) <= size}


def paths_at_head(top: Path) -> list[str]:
    """All paths of the commit HEAD."""
    listed = ask_git(top, "ls-tree", "-r", "-z", "--name-only", "HEAD") or b""
    return [name.decode(errors="replace") for name in listed.split(b"\0") if name]


def _read_committed(top: Path, paths: tuple[str, ...]) -> dict[str, str]:
    """The text of each path at HEAD, read with one `git cat-file --batch`. Paths that HEAD does not have are left
    out."""
    names = batch_input(f"HEAD:{path}" for path in paths)
    output = ask_git(top, "cat-file", "--batch", fed=names) if paths else b""
    return {
        path: answer.content.decode(errors="replace")
        for path, answer in zip(paths, parse_batch(output or b""), strict=False)  # there are no answers if git failed
        if answer.content is not None
    }
