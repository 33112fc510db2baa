"""Detects the project in this folder as a run would: its kind, and how it is built, tested and started."""

import subprocess
from pathlib import Path

from trued.inputs.project.entry_points import CODE
from trued.inputs.project.kind import ProjectKind, files_to_read, project_kind, with_user_commands
from trued.model import Settings

WITHIN_S = 30
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")


def kind_here(top: Path, settings: Settings) -> ProjectKind:
    """The kind of the project at HEAD, where a run would start."""
    listed = _asked(top, "ls-tree", "-r", "-z", "--name-only", "HEAD") or b""
    paths = [name.decode(errors="replace") for name in listed.split(b"\0") if name]
    texts = _texts(top, files_to_read(paths))
    return with_user_commands(project_kind(paths, texts.get), settings.commands)


def sources_here(top: Path, *, most: int, size: int) -> dict[str, str]:
    """The code files at HEAD with their texts: at most `most`, each of at most `size` characters."""
    listed = _asked(top, "ls-tree", "-r", "-z", "--name-only", "HEAD") or b""
    paths = [name.decode(errors="replace") for name in listed.split(b"\0") if name]
    code = tuple(path for path in paths if path.endswith(CODE) and "\n" not in path)[:most]
    return {path: text for path, text in _texts(top, code).items() if len(text) <= size}


def _texts(top: Path, paths: tuple[str, ...]) -> dict[str, str]:
    """Read all files with one `git cat-file --batch`, which answers in the order of its input."""
    answer = _asked(top, "cat-file", "--batch", fed="".join(f"HEAD:{path}\n" for path in paths)) if paths else b""
    found, rest = dict[str, str](), answer or b""
    for path in paths:
        head, _, rest = rest.partition(b"\n")
        size = head.rpartition(b" ")[2]
        if head.endswith(b" missing") or not size.isdigit():
            continue
        found[path], rest = rest[: int(size)].decode(errors="replace"), rest[int(size) + 1 :]
    return found


def _asked(top: Path, *words: str, fed: str = "") -> bytes | None:
    try:
        done = subprocess.run(
            [*_GIT, "-C", str(top), *words], input=fed.encode(), capture_output=True, check=False, timeout=WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
