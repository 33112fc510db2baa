"""Reads the texts of a commit: all of them, those that it changed, and the lines that it added."""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from trued.protocols import Workspace

TEXT_BYTES, MOST_BYTES = 200_000, 20_000_000  # larger text files are skipped; MOST_BYTES is for all texts together
MOST_FILES, MOST_CODE_BYTES = 1000, 2**20  # at most this many changed files, and bytes of each, are read


async def text_files(workspace: Workspace, commit: str, suffixes: Collection[str] | None = None) -> dict[str, str]:
    """Path → text of every text file of the commit that is not too large. `suffixes`: only of files with these."""
    texts: dict[str, str] = {}
    bytes_left = MOST_BYTES
    async with workspace.room(commit) as room:
        for folder, folders, names in os.walk(room):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if suffixes is not None and path.suffix not in suffixes:
                    continue
                if path.is_symlink() or not path.is_file() or path.stat().st_size > min(TEXT_BYTES, bytes_left):
                    continue
                content = path.read_bytes()
                if b"\0" not in content:
                    texts[path.relative_to(room).as_posix()] = content.decode("utf-8", "replace")
                    bytes_left -= len(content)
    return texts


async def changed_texts(workspace: Workspace, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """Path → text on this commit, of the changed files that still exist."""
    contents = await workspace.read_all(commit, paths[:MOST_FILES])
    return {path: as_text(content) for path, content in contents.items() if content}


async def added_lines(workspace: Workspace, base: str, texts: Mapping[str, str]) -> dict[str, list[tuple[int, str]]]:
    """Path → lines of these texts that the file does not have on the base, each with its number."""
    lines: dict[str, list[tuple[int, str]]] = {}
    base_contents = await workspace.read_all(base, texts)
    for path, text in texts.items():
        before = set(as_text(base_contents.get(path, b"")).splitlines())
        lines[path] = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line not in before]
    return lines


def as_text(content: bytes) -> str:
    """The beginning of a file's content as text."""
    return content[:MOST_CODE_BYTES].decode("utf-8", "replace")


def is_cut(text: str) -> bool:
    """Whether a text that `as_text` returned may be only the beginning of its file."""
    return len(text.encode()) >= MOST_CODE_BYTES
