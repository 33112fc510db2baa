"""Detects the project in this folder as a run would: its kind, and how it is built, tested and started."""

from pathlib import Path

from trued.inputs.project.entry_points import CODE
from trued.inputs.project.kind import ProjectKind, files_to_read, project_kind, with_user_commands
from trued.model import Settings
from trued.support.user_git import ask_git


def kind_here(top: Path, settings: Settings) -> ProjectKind:
    """The kind of the project at HEAD, where a run would start."""
    paths = _paths_at_head(top)
    texts = _read_committed(top, files_to_read(paths))
    return with_user_commands(project_kind(paths, texts.get), settings.commands)


def sources_here(top: Path, *, most: int, size: int) -> dict[str, str]:
    """The code files at HEAD with their texts: at most `most` of them, without those longer than `size` characters."""
    code = tuple(path for path in _paths_at_head(top) if path.endswith(CODE) and "\n" not in path)[:most]
    return {path: text for path, text in _read_committed(top, code).items() if len(text) <= size}


def _paths_at_head(top: Path) -> list[str]:
    listed = ask_git(top, "ls-tree", "-r", "-z", "--name-only", "HEAD") or b""
    return [name.decode(errors="replace") for name in listed.split(b"\0") if name]


def _read_committed(top: Path, paths: tuple[str, ...]) -> dict[str, str]:
    """Path → text, read with one `git cat-file --batch`, which answers in the order of its input. Missing files are
    left out."""
    answer = (
        ask_git(top, "cat-file", "--batch", fed="".join(f"HEAD:{path}\n" for path in paths).encode()) if paths else b""
    )
    texts, rest = dict[str, str](), answer or b""
    for path in paths:
        head, _, rest = rest.partition(b"\n")
        size = head.rpartition(b" ")[2]
        if head.endswith(b" missing") or not size.isdigit():
            continue
        texts[path], rest = rest[: int(size)].decode(errors="replace"), rest[int(size) + 1 :]
    return texts
