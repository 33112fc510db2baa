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

from trued.proof.text.languages import SCRIPTS, is_script
from trued.proof.text.script_imports import imported_names, without_comments

_SETTINGS = re.compile(rf"package\.json|[jt]sconfig[\w.-]*\.json|.+\.config(?:{'|'.join(map(re.escape, SCRIPTS))})")
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_BLOCK = re.compile(r"(?<![\w$])[\"']?(?:alias|moduleNameMapper)[\"']?\s*[:=]\s*")
# A path from the folder of the settings, as a text or in a call: `path.resolve(__dirname, "src")`,
# `fileURLToPath(new URL("./src", import.meta.url))`.
_TARGET = (
    r"(?P<called>(?:new\s+URL|(?:path\.)?(?:resolve|join)|(?:url\.)?fileURLToPath)\(\s*)*(?:(?:__dirname|import\.meta\.dirname|process\.cwd\(\))\s*,\s*)?"
    r"[\"'`](?P<target>[^\"'`\n]*)[\"'`](?:\s*,\s*import\.meta\.url)?[\s)]*+(?:\.pathname\s*+)?"
)
_KEY = r"(?:[\"'`](?P<text>[^\"'`\n]+)[\"'`]|(?P<bare>[\w$]+))"
_ENTRY = re.compile(rf"\s*{_KEY}\s*:\s*{_TARGET}(?:,|$)\s*")
_PAIR = re.compile(rf"\s*\{{\s*find\s*:\s*{_KEY}\s*,\s*replacement\s*:\s*{_TARGET},?\s*\}}\s*(?:,|$)\s*")
_MAPPED = re.compile(r"\^([\w@~#/-]+)(\(\.[*+]\))?\$")  # an ordinary key of `moduleNameMapper`
_ENTRANCES = ("main", "module", "browser", "type")  # keys of a package.json that say how its code is loaded
_VALUE_SIGN = re.compile(r"\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?|`[^`]*+`?|[\[\](){},;]|\n\s*+")
_CONTINUES = frozenset(".?:|&+=>")  # a line that ends or begins with one of these continues
_TYPED = re.compile(r"(?<=[}\]])\s+(?:as|satisfies)\s+[\w<>, ]++$")
MOST_SETTINGS = 200_000  # longer settings are not read


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
        names = imported_names(text) if self._aliases and is_script(path) else []
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


def relative_imports(path: str, text: str) -> list[str]:
    """The paths, perhaps without suffix, that a script with this text imports from its own folder or another."""
    names = [one for one in imported_names(text) if one.startswith(".")] if is_script(path) else []
    return [posixpath.normpath(posixpath.join(posixpath.dirname(path), one)) for one in names]


def has_unread_aliases(before: str, after: str) -> bool:
    """Whether a script newly defines short names that are not all understood as paths of the project."""
    if len(after) > MOST_SETTINGS:
        return before != after
    known = {*_blocks(before)}
    return any(one not in known and not _is_understood(one) for one in _blocks(after))


def values_in(text: str, key: re.Pattern[str]) -> Iterator[str]:
    """The value after each match of `key` in a script, without comments. Matches inside an earlier value are left out,
    because that value contains theirs."""
    plain, end = without_comments(text), 0
    for match in key.finditer(plain):
        if match.start() >= end:
            end = _end_of_value(plain, match.end())
            yield plain[match.end() : end]


def without_aliases(path: str, text: str) -> str:
    """The text of settings without their definitions of short names."""
    if is_script(path):
        plain = without_comments(text)
        for block in _blocks(text):
            plain = plain.replace(block, "")
        return plain
    data = _parsed(text)
    options = data.get("compilerOptions")
    rest = {key: one for key, one in data.items() if key != "imports"}
    if isinstance(options, Mapping):
        rest["compilerOptions"] = {key: one for key, one in options.items() if key != "paths"}
    return _dumped(rest) or text if data else text


def leads_elsewhere(before: str, after: str) -> bool:
    """Whether a package.json may let a name that it had before stand for another file than before. A file that cannot
    be read may."""
    was, now = _parsed(before), _read(after or "{}")
    if (
        now is None
        or any(was.get(key) != now.get(key) for key in _ENTRANCES)
        or ("exports" in was) != ("exports" in now)
    ):
        return True
    for key in ("imports", "exports"):
        old, new = (_names(one.get(key)) for one in (was, now))
        if any(not text or new.get(name) != text for name, text in old.items()):
            return True
        # A name takes precedence over a pattern that fits it, and so does a longer pattern.
        wide = tuple(name.partition("*")[0] for name in old if "*" in name or name.endswith("/"))
        if any(name.startswith(wide) for name in new if name not in old):
            return True
    return False


def _names(data: Any) -> dict[str, str]:
    """Each name in `imports` or `exports` → what it stands for, as text; "" if that is nested too deeply. The order of
    the conditions matters, so it is kept."""
    if data is None:
        return {}
    plain = isinstance(data, Mapping) and all(key.startswith((".", "#")) for key in data)
    return {key: _dumped(one) for key, one in (data.items() if plain else [(".", data)])}


def _dumped(data: Any) -> str:
    try:
        return json.dumps(data)
    except RecursionError:
        return ""


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


def _leaves(data: Any) -> Iterator[tuple[str, ...]]:
    """Each text in the data, after the keys that lead to it."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), data)]
    while waiting:
        keys, one = waiting.pop()
        if isinstance(one, str):
            yield (*keys, one)
        inner = one.items() if isinstance(one, Mapping) else enumerate(one) if isinstance(one, list) else ()
        waiting += [((*keys, str(key)), each) for key, each in inner][::-1]


def _parsed(text: str) -> Mapping[str, Any]:
    return _read(text) or {}


def _read(text: str) -> Mapping[str, Any] | None:
    """A JSON object, which may have comments and trailing commas; None if it cannot be read."""
    try:
        data = json.loads(_TRAILING_COMMA.sub("", without_comments(text)))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, Mapping) else None


def _blocks(text: str) -> Iterator[str]:
    """The value of each `alias` in a script; none if the script is too long."""
    return values_in(text, _BLOCK) if len(text) <= MOST_SETTINGS else iter(())


def _end_of_value(text: str, start: int) -> int:
    """Where the value ends that begins at this place of a script."""
    depth = 0
    for sign in _VALUE_SIGN.finditer(text, start):
        if sign[0] in "[{(":
            depth += 1
        elif sign[0] in "]})":
            depth -= 1
            if depth < 0:
                return sign.start()
        elif depth:
            continue
        elif sign[0] in ",;" or (sign[0][0] == "\n" and not _is_continued(text, start, sign)):
            return sign.start()
    return len(text)


def _is_continued(text: str, start: int, break_: re.Match[str]) -> bool:
    """Whether the value that begins at `start` continues after this line break."""
    end = break_.start()
    while end > start and text[end - 1].isspace():
        end -= 1
    return end == start or not {text[end - 1], text[break_.end() : break_.end() + 1]}.isdisjoint(_CONTINUES)


def _pairs(block: str) -> tuple[list[tuple[str, str, bool]], bool]:
    """Name and target of the first entries of a block, each with whether a call gives the target; and whether these
    are all entries."""
    bare = _TYPED.sub("", block.strip())
    entry, inner, place = (_ENTRY if bare[:1] == "{" else _PAIR), bare[1:-1], 0
    found: list[tuple[str, str, bool]] = []
    while one := entry.match(inner, place):
        found.append((one["text"] or one["bare"], one["target"], bool(one["called"])))
        place = one.end()
    return found, bare[:1] + bare[-1:] in ("{}", "[]") and not inner[place:].strip()


def _entries(block: str) -> Iterator[tuple[str, str]]:
    """Name and target of the entries of a block, up to the first that is not understood."""
    for name, target, called in _pairs(block)[0]:
        if mapped := _MAPPED.fullmatch(name):
            place = target.replace("$1", "*").removeprefix("<rootDir>/")
            yield f"{mapped[1]}{'*' if mapped[2] else ''}", place
        elif called or target.startswith(("./", "../", "/", "<rootDir>")):
            path = target.removeprefix("<rootDir>").lstrip("/") or "."
            yield name, path
            yield f"{name}/*", f"{path}/*"  # a tool applies a short name to paths that begin with it, too
        else:
            return  # the name of a package


def _is_understood(block: str) -> bool:
    """Whether every entry of the block stands for a path inside the project."""
    pairs, whole = _pairs(block)
    named = {name.removesuffix("/*") for name, target in _entries(block) if _is_inside(posixpath.normpath(target))}
    return whole and len(named) == len(pairs)


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return parts[0] not in ("..", "") and "node_modules" not in parts
