"""Finds files that an ordinary checkout has with another content than a clean room.

A room has every file byte for byte. Git's own attributes (`ident`, `eol=crlf`, an encoding, a filter) change files when
they are checked out, so code could be right in a room and wrong in every clone. Pure but for reading.
"""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from trued.protocols import Workspace

ATTRIBUTES = ".gitattributes"
_CONVERTING = re.compile(r"(?:ident|crlf|eol=crlf|crlf=.+|filter=.+|working-tree-encoding=.+)")
_IDENT = b"$Id"  # git writes the file's hash behind it


async def converted_files(workspace: Workspace, base: str, commit: str, changed: Collection[str]) -> list[str]:
    """The attributes that the head adds and that convert files, each with its file; and changed files with a mark that
    an attribute of the base's replaces."""
    files = [path for path in await workspace.blobs(commit) if PurePosixPath(path).name == ATTRIBUTES]
    if not files:
        return []
    before, after = await workspace.read_all(base, files), await workspace.read_all(commit, files)
    known = {line for content in before.values() for line in _converting_lines(content)}
    added = [f"{path} ({line})" for path in files for line in _converting_lines(after[path]) if line not in known]
    if not any("ident" in line.split() for line in known):
        return added
    marked = await workspace.read_all(commit, sorted(set(changed)))
    return [*added, *(path for path, content in marked.items() if _IDENT in content)]


def _converting_lines(content: bytes) -> list[str]:
    lines = (line.split("#")[0] for line in content.decode("utf-8", "replace").splitlines())
    return [" ".join(line.split()) for line in lines if any(map(_CONVERTING.fullmatch, line.split()[1:]))]
