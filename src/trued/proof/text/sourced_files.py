"""Finds the files that a shell script reads into itself: `. lib.sh`, `source "$(dirname "$0")/lib.sh"`."""

import posixpath
import re
from collections.abc import Collection
from fnmatch import fnmatchcase

from trued.proof.text.languages import CODE
from trued.support.lazy_regex import lazy_regex

_COMMAND = r"\$\((?:[^()]|\([^()]*\))*\)"  # its output becomes a part of a word
_PARTS = (_COMMAND, r"\$\{[^}]*\}", r"`[^`]*`", rf"\"(?:{_COMMAND}|[^\"])*\"", r"'[^']*'", r"[^\s;&|<>()]")
# The word after `.` or `source`, where a command may begin.
_BEFORE = r"(?:^|[;&|({!@+-]|\b(?:then|do|else|if|elif|while|until|command|builtin)\b|\beval[ \t]+[\"'])[ \t]*"
_SOURCED = lazy_regex(rf"{_BEFORE}(?:\.|source)[ \t]+(?:--[ \t]+)?((?:{'|'.join(_PARTS)})+)", re.MULTILINE)
_COMPUTED = lazy_regex(rf"{_COMMAND}|\$\{{[^}}]*\}}|\$\w+|`[^`]*`|\$[@*#?$!-]")
_NAMED = lazy_regex(r"[\w@+./*?\[\]-]+")


def sourced_files(text: str, folders: Collection[str], paths: Collection[str]) -> set[str]:
    """The files among `paths` that the script may read into itself. Names are relative to one of `folders`, or to the
    top of the project.

    A variable or command in front of a name (`$DIR/lib.sh`) stands for one of `folders`. If none of them has the file,
    it stands for any folder. If a name is nothing but a variable or command, every file that any word of the script
    names may be read, except code in other languages.
    """
    found = set[str]()
    for match in _SOURCED.finditer(text.replace("\\\n", " ")):
        word = re.sub(r"[\"']", "", _COMPUTED.sub("*", match[1]))
        tail = re.sub(r"^\*+/", "", word)
        if tail.strip("*./"):
            found |= files_at(tail, folders, paths) or {path for path in paths if fnmatchcase(path, f"*/{tail}")}
        else:
            named = {path for name in _NAMED.findall(text) for path in files_at(name, folders, paths)}
            found |= {path for path in named if path.endswith(".sh") or not path.endswith(CODE)}
    return found


def files_at(name: str, folders: Collection[str], paths: Collection[str]) -> set[str]:
    """The files that this name or pattern means in these folders, or at the top."""
    if not name.strip("*./"):
        return set()
    places = {posixpath.normpath(posixpath.join(folder, name)) for folder in {"", *folders}}
    if not {"*", "?", "["} & {*name}:
        return places & {*paths}
    return {path for path in paths for place in places if fnmatchcase(path, place)}
