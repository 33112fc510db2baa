"""Finds the files of the project that JavaScript and TypeScript code imports by a short name, such as `@/core`. Pure.

The settings in which a project defines such names are read as data: `imports` of a package.json, `paths` of a
tsconfig.json, `alias` and `moduleNameMapper` of a tool's settings. A name that is computed there is not found.
"""

import json
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from trued.proof.room.frozen_files import SCRIPTS, is_script

_IMPORTED = re.compile(r"(?:\bfrom|\bimport|\b(?:require|import|require\.resolve)\s*\()\s*[\"'`]([^\"'`\n]+)[\"'`]")
_SETTINGS = re.compile(rf"package\.json|[jt]sconfig[\w.-]*\.json|.+\.config(?:{'|'.join(map(re.escape, SCRIPTS))})")
# Comments, and also strings, because a string may contain what looks like a comment.
_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`)|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_BLOCK = re.compile(r"(?<![\w$])[\"']?(?:alias|moduleNameMapper)[\"']?\s*[:=]\s*")
# A path from the folder of the settings, as a text or in a call: `path.resolve(__dirname, "src")`,
# `fileURLToPath(new URL("./src", import.meta.url))`.
_TARGET = (
    r"(?P<called>(?:new\s+URL|(?:path\.)?(?:resolve|join)|(?:url\.)?fileURLToPath)\(\s*)*(?:(?:__dirname|import\.meta\.dirname|process\.cwd\(\))\s*,\s*)?"
    r"[\"'`](?P<target>[^\"'`\n]*)[\"'`](?:\s*,\s*import\.meta\.url)?[\s)]*(?:\.pathname)?\s*"
)
_KEY = r"(?:[\"'`](?P<text>[^\"'`\n]+)[\"'`]|(?P<bare>[\w$]+))"
_ENTRY = re.compile(rf"\s*{_KEY}\s*:\s*{_TARGET}(?:,|$)\s*")
_PAIR = re.compile(rf"\s*\{{\s*find\s*:\s*{_KEY}\s*,\s*replacement\s*:\s*{_TARGET},?\s*\}}\s*(?:,|$)\s*")
_MAPPED = re.compile(r"\^([\w@~#/-]+)(\(\.[*+]\))?\$")  # an ordinary key of `moduleNameMapper`
_LEADING = ("imports", "exports", "main", "module", "browser")  # keys of a package.json that lead to code
_BRACKETS = {"[": "]", "{": "}", "(": ")"}


class Alias(NamedTuple):
    """A short name. One `*` in it stands for any text, which takes the place of the `*` in the target."""

    folder: str  # only files below this folder use it
    name: str
    target: str  # path from the top of the project


class ScriptAliases:
    """The short names that the settings of one commit define."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts`: path → text. Files that define no short names are ignored."""
        self._aliases = [alias for path, text in texts.items() if is_settings(path) for alias in _aliases(path, text)]

    def places(self, path: str, name: str) -> list[str]:
        """The paths, perhaps without suffix, for which this name in the file at `path` may stand."""
        found = []
        for alias in self._aliases:
            begin, star, end = alias.name.partition("*")
            inside = alias.folder == "." or path.startswith(f"{alias.folder}/")
            fits = name.startswith(begin) and name.endswith(end) and len(name) >= len(begin) + len(end)
            if inside and (fits if star else name == alias.name):
                rest = name[len(begin) : len(name) - len(end)]
                found.append(posixpath.normpath(alias.target.replace("*", rest)))
        return [one for one in found if _is_inside(one)]

    def leads_inside(self, path: str, name: str, files: Collection[str]) -> bool:
        """Whether this name in the file at `path` stands for one of these files."""
        return any(fitting_files(place, files) for place in self.places(path, name))

    def loaded_by(self, path: str, text: str) -> list[str]:
        """The paths, perhaps without suffix, that a script with this text imports by short names."""
        names = _IMPORTED.findall(text) if self._aliases and is_script(path) else []
        return [place for name in names for place in self.places(path, name)]


def is_settings(path: str) -> bool:
    """Whether the file may define short names for the project's files."""
    pure = PurePosixPath(path)
    return bool(_SETTINGS.fullmatch(pure.name)) and "node_modules" not in pure.parts


def fitting_files(place: str, files: Iterable[str]) -> list[str]:
    """The files for which an import of this path may stand. The path may lack a suffix or `index`."""
    bare = re.sub(r"\.[cm]?jsx?$", "", place.split("?")[0])  # TypeScript code names the compiled file: `x.js`
    fits = re.compile(rf"{re.escape(bare)}(?:/index)?(?:\.\w+)*")
    return [one for one in files if one.startswith(bare) and fits.fullmatch(one)]


def has_unread_aliases(before: str, after: str) -> bool:
    """Whether a script newly defines short names that are not all understood as paths of the project."""
    known = {*_blocks(before)}
    return any(one not in known and not _is_understood(one) for one in _blocks(after))


def without_aliases(path: str, text: str) -> str:
    """The text of settings without their definitions of short names."""
    if is_script(path):
        plain = _without_comments(text)
        for block in _blocks(text):
            plain = plain.replace(block, "")
        return plain
    data = _parsed(text)
    options = data.get("compilerOptions")
    rest = {key: one for key, one in data.items() if key != "imports"}
    if isinstance(options, Mapping):
        rest["compilerOptions"] = {key: one for key, one in options.items() if key != "paths"}
    return json.dumps(rest) if data else text


def leads_elsewhere(before: str, after: str) -> bool:
    """Whether a package.json lets a name that it had before stand for another file than before."""
    was, now = ({*_leaves({key: one.get(key) for key in _LEADING})} for one in map(_parsed, (before, after)))
    return not was <= now


def _aliases(path: str, text: str) -> Iterator[Alias]:
    folder = start = posixpath.dirname(path) or "."
    if is_script(path):
        pairs = [pair for block in _blocks(text) for pair in _entries(block)]
    elif PurePosixPath(path).name == "package.json":
        pairs = [*_targets(_parsed(text).get("imports"))]
    else:
        options = _parsed(text).get("compilerOptions")
        options = options if isinstance(options, Mapping) else {}
        pairs, root = [*_targets(options.get("paths"))], options.get("baseUrl")
        start = posixpath.join(folder, root) if isinstance(root, str) else folder
    for name, target in pairs:
        if name.strip("*") and name.count("*") <= 1 and target.count("*") <= 1:
            yield Alias(folder, name, posixpath.normpath(posixpath.join(start, target)))


def _targets(data: Any) -> Iterator[tuple[str, str]]:
    """Name and target of each entry. A name may have several targets, in a list or by conditions."""
    yield from ((one[0], one[-1]) for one in _leaves(data) if len(one) > 1)


def _leaves(data: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Each text in the data, after the keys that lead to it."""
    if isinstance(data, str):
        yield (*keys, data)
    for key, one in data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ():
        yield from _leaves(one, (*keys, str(key)))


def _parsed(text: str) -> Mapping[str, Any]:
    """A JSON object, which may have comments and trailing commas; empty if it cannot be read."""
    try:
        data = json.loads(_TRAILING_COMMA.sub("", _without_comments(text)))
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, Mapping) else {}


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda found: found[1] or " ", text)


def _blocks(text: str) -> Iterator[str]:
    """The value of each `alias` in a script: a whole object or list, or else the rest of the line."""
    plain = _without_comments(text)
    for match in _BLOCK.finditer(plain):
        rest, depth = plain[match.end() :], 0
        if rest[:1] not in _BRACKETS:
            yield rest.partition("\n")[0]
            continue
        for place, sign in enumerate(rest):
            depth += (sign in _BRACKETS) - (sign in _BRACKETS.values())
            if not depth:
                yield rest[: place + 1]
                break
        else:
            yield rest


def _entries(block: str) -> Iterator[tuple[str, str]]:
    """Name and target of the entries of a block, up to the first that is not understood."""
    entry, left = (_ENTRY if block[:1] == "{" else _PAIR), block[1:-1]
    while found := entry.match(left):
        name, target = found["text"] or found["bare"], found["target"]
        if mapped := _MAPPED.fullmatch(name):
            name, target = f"{mapped[1]}{'*' if mapped[2] else ''}", target.replace("$1", "*")
            yield name, target.removeprefix("<rootDir>/")
        elif found["called"] or target.startswith(("./", "../", "/", "<rootDir>")):
            path = target.removeprefix("<rootDir>").lstrip("/") or "."
            yield name, path
            yield f"{name}/*", f"{path}/*"  # a tool applies a short name to paths that begin with it, too
        else:
            return  # the name of a package
        left = left[found.end() :]


def _is_understood(block: str) -> bool:
    """Whether every entry of the block stands for a path inside the project."""
    entry, left = (_ENTRY if block[:1] == "{" else _PAIR), block[1:-1]
    count = 0
    while found := entry.match(left):
        left, count = left[found.end() :], count + 1
    named = {name.removesuffix("/*") for name, target in _entries(block) if _is_inside(posixpath.normpath(target))}
    return block[:1] in ("{", "[") and not left.strip() and len(named) == count


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return parts[0] not in ("..", "") and "node_modules" not in parts
