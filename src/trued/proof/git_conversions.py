"""Finds files whose content in an ordinary checkout differs from that in a clean room.

A room has every file exactly as git stores it. In an ordinary checkout, git changes files that have certain attributes
(`ident`, `eol=crlf`, an encoding, a filter), so code could be right in a room and wrong in every clone.
"""

import re
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

ATTRIBUTES = ".gitattributes"
_CONVERTING = lazy_regex(r"(?:ident|crlf|eol=crlf|crlf=.+|filter=.+|working-tree-encoding=.+)")
_AFFECTING = lazy_regex(r"[-!]?(?:ident|crlf|eol|text|binary|filter|working-tree-encoding)(?:=.*)?")
_MACRO = "[attr]"  # begins a line that defines a macro: one name for several attributes
_IDENT = b"$Id"  # git inserts the file's hash after this text


async def converted_files(workspace: Workspace, base: str, commit: str, changed: Collection[str]) -> list[str]:
    """Everything in the head that may make an ordinary checkout differ from a clean room:

    - new lines of `.gitattributes` files that make git convert files;
    - `.gitattributes` files in which lines of the base were removed or moved;
    - changed files with the text `$Id`, if the base has the attribute `ident`, which makes git replace this text.
    """
    before, after = await _attributes(workspace, base), await _attributes(workspace, commit)
    if not before and not after:
        return []
    names = _converting_names([line for lines in (*before.values(), *after.values()) for line in lines])
    known = [line for lines in before.values() for line in lines if names & set(line[1:])]
    places = []
    for path in sorted({*before, *after}):
        was, now = before.get(path, []), after.get(path, [])
        places += [f"{path} ({' '.join(line)})" for line in now if line not in was and names & set(line[1:])]
        if known and _overriding(was) != _overriding([line for line in now if line in was]):
            places.append(f"{path} (an attribute of the base was removed or moved)")
    if not any("ident" in line for line in known):
        return places
    marked = await workspace.read_all(commit, sorted(set(changed)))
    return [*places, *(path for path, content in marked.items() if _IDENT in content)]


async def unconverted_files(workspace: Workspace, base: str) -> list[str]:
    """Lines of the base's `.gitattributes` files that make git convert files, each with the file's path. Lines for Git
    LFS are left out, because clean rooms have the content of LFS files."""
    lines = await _attributes(workspace, base)
    names = _converting_names([line for several in lines.values() for line in several]) - {"filter=lfs"}
    return [f"{path} ({' '.join(line)})" for path in sorted(lines) for line in lines[path] if names & set(line[1:])]


async def _attributes(workspace: Workspace, commit: str) -> dict[str, list[list[str]]]:
    """Path of each `.gitattributes` file → its lines, split into words by git's rules, not by Unicode's."""
    files = [path for path in await workspace.blobs(commit) if PurePosixPath(path).name == ATTRIBUTES]
    contents = await workspace.read_all(commit, files)
    return {
        path: [words for line in content.split(b"\n") if (words := _words(line))] for path, content in contents.items()
    }


def _words(line: bytes) -> list[str]:
    words = [word.decode("utf-8", "replace") for word in re.split(rb"[ \t\r]+", line.strip(b" \t\r"))]
    return [] if not words[0] or words[0].startswith("#") else words


def _converting_names(lines: Iterable[list[str]]) -> set[str]:
    """The attributes in these lines that convert files, and the macros that stand for one of them."""
    every = list(lines)
    converting = {word for line in every for word in line[1:] if _CONVERTING.fullmatch(word)}
    macros = {line[0].removeprefix(_MACRO): set(line[1:]) for line in every if line[0].startswith(_MACRO)}
    while more := {name for name, words in macros.items() if words & converting} - converting:
        converting |= more  # a macro may contain another macro
    return converting


def _overriding(lines: Iterable[list[str]]) -> list[list[str]]:
    """The lines that can turn a conversion on or off. Their order matters, because later lines override earlier
    ones."""
    return [line for line in lines if line[0].startswith(_MACRO) or any(map(_AFFECTING.fullmatch, line[1:]))]
