"""Finds the files of the project that JavaScript and TypeScript code imports by a short name, such as `@/core`.

The settings in which a project defines such names are read as data: `imports` of a package.json, `paths` of a
tsconfig.json, `alias` and `moduleNameMapper` of a tool's settings. A name that the settings compute is not found.
"""

import json
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from trued.proof.text.languages import SCRIPTS, is_script
from trued.proof.text.script_imports import imported_names, without_comments
from trued.support.lazy_regex import lazy_regex

_SETTINGS = lazy_regex(rf"package\.json|[jt]sconfig[\w.-]*\.json|.+\.config(?:{'|'.join(map(re.escape, SCRIPTS))})")
_TRAILING_COMMA = lazy_regex(r",(?=\s*[}\]])")
_BLOCK = lazy_regex(r"(?<![\w$])[\"']?(?:alias|moduleNameMapper)[\"']?\s*[:=]\s*")
# A path from the folder of the settings, as a text or in a call: `path.resolve(__dirname, "src")`,
# `fileURLToPath(new URL("./src", import.meta.url))`.
_TARGET = (
    r"(?P<called>(?:new\s+URL|(?:path\.)?(?:resolve|join)|(?:url\.)?fileURLToPath)\(\s*)*(?:(?:__dirname|import\.meta\.dirname|process\.cwd\(\))\s*,\s*)?"
    r"[\"'`](?P<target>[^\"'`\n]*)[\"'`](?:\s*,\s*import\.meta\.url)?[\s)]*+(?:\.pathname\s*+)?"
)
_KEY = r"(?:[\"'`](?P<text>[^\"'`\n]+)[\"'`]|(?P<bare>[\w$]+))"
_ENTRY = lazy_regex(rf"\s*{_KEY}\s*:\s*{_TARGET}(?:,|$)\s*")
_PAIR = lazy_regex(rf"\s*\{{\s*find\s*:\s*{_KEY}\s*,\s*replacement\s*:\s*{_TARGET},?\s*\}}\s*(?:,|$)\s*")
_MAPPED_NAME = lazy_regex(r"\^([\w@~#/-]+)(\(\.[*+]\))?\$")  # an ordinary key of `moduleNameMapper`
_ENTRANCES = ("main", "module", "browser", "type")  # keys of a package.json that say how its code is loaded
_VALUE_SIGN = lazy_regex(r"\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?|`[^`]*+`?|[\[\](){},;]|\n\s*+")
_CONTINUES = frozenset(".?:|&+=>")  # a line that ends or begins with one of these continues
_TYPE_ASSERTION = lazy_regex(r"(?<=[}\]])\s+(?:as|satisfies)\s+[\w<>, ]++$")
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
        """The paths that `name` may stand for where the file at `path` imports it. They may lack a suffix."""
        paths = []
        for alias in self._aliases:
            begin, star, end = alias.name.partition("*")
            inside = alias.folder == "." or path.startswith(f"{alias.folder}/")
            fits = name.startswith(begin) and name.endswith(end) and len(name) >= len(begin) + len(end)
            if inside and (fits if star else name == alias.name):
                middle = name[len(begin) : len(name) - len(end)]
                paths.append(posixpath.normpath(alias.target.replace("*", middle)))
        return [path for path in paths if _is_inside(path)]

    def leads_inside(self, path: str, name: str, files: Collection[str]) -> bool:
        """Whether this name in the file at `path` stands for one of these files."""
        return any(fitting_files(target, files) for target in self.places(path, name))

    def loaded_by(self, path: str, text: str) -> list[str]:
        """The paths, perhaps without suffix, that a script with this text imports by short names."""
        names = imported_names(text) if self._aliases and is_script(path) else []
        return [target for name in names for target in self.places(path, name)]


def is_settings(path: str) -> bool:
    """Whether the file may define short names for the project's files."""
    pure = PurePosixPath(path)
    return bool(_SETTINGS.fullmatch(pure.name)) and "node_modules" not in pure.parts


def fitting_files(target: str, files: Iterable[str]) -> list[str]:
    """The files that an import of the path `target` may load. The path may lack a suffix or `index`."""
    bare = re.sub(r"\.[cm]?jsx?$", "", target.split("?")[0])  # TypeScript code names the compiled file: `x.js`
    fits = re.compile(rf"{re.escape(bare)}(?:/index)?(?:\.\w+)*")
    return [path for path in files if path.startswith(bare) and fits.fullmatch(path)]


def relative_imports(path: str, text: str) -> list[str]:
    """The paths, perhaps without suffix, that a script with this text imports by names such as `./x` and `../x`."""
    names = [name for name in imported_names(text) if name.startswith(".")] if is_script(path) else []
    return [posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) for name in names]


def has_unread_aliases(before: str, after: str) -> bool:
    """Whether a changed script has a new value of `alias` or `moduleNameMapper` with an entry that the engine cannot
    read as a path inside the project. If the script is too long to be read, any change counts."""
    if len(after) > MOST_SETTINGS:
        return before != after
    old_blocks = {*_blocks(before)}
    return any(block not in old_blocks and not _is_understood(block) for block in _blocks(after))


def values_in(text: str, key: re.Pattern[str]) -> Iterator[str]:
    """The value after each match of `key` in a script, without comments. Matches inside an earlier value are left out,
    because that value contains them already."""
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
    data = _object_or_empty(text)
    options = data.get("compilerOptions")
    remaining = {key: value for key, value in data.items() if key != "imports"}
    if isinstance(options, Mapping):
        remaining["compilerOptions"] = {key: value for key, value in options.items() if key != "paths"}
    return _dump(remaining) or text if data else text


def leads_elsewhere(before: str, after: str) -> bool:
    """Whether a change of package.json may make a name that could be imported before stand for another file. True also
    if the new text cannot be read."""
    old_data, new_data = _object_or_empty(before), _read_object(after or "{}")
    if (
        new_data is None
        or any(old_data.get(key) != new_data.get(key) for key in _ENTRANCES)
        or ("exports" in old_data) != ("exports" in new_data)
    ):
        return True
    for key in ("imports", "exports"):
        old_names, new_names = (_targets_by_name(data.get(key)) for data in (old_data, new_data))
        if any(not text or new_names.get(name) != text for name, text in old_names.items()):
            return True
        # Node prefers a plain name to a pattern that fits the name, and a longer pattern to a shorter one.
        wide = tuple(name.partition("*")[0] for name in old_names if "*" in name or name.endswith("/"))
        if any(name.startswith(wide) for name in new_names if name not in old_names):
            return True
    return False


def _targets_by_name(data: Any) -> dict[str, str]:
    """Each name in `imports` or `exports` → its target as text; "" if the target is nested too deeply. The text keeps
    the order of the target's conditions, because their order matters."""
    if data is None:
        return {}
    plain = isinstance(data, Mapping) and all(key.startswith((".", "#")) for key in data)
    return {key: _dump(target) for key, target in (data.items() if plain else [(".", data)])}


def _dump(data: Any) -> str:
    try:
        return json.dumps(data)
    except RecursionError:
        return ""


def _aliases(path: str, text: str) -> Iterator[Alias]:
    folder = start = posixpath.dirname(path) or "."
    if is_script(path):
        pairs = [pair for block in _blocks(text) for pair in _entries(block)]
    elif PurePosixPath(path).name == "package.json":
        pairs = [*_names_and_targets(_object_or_empty(text).get("imports"))]
    else:
        options = _object_or_empty(text).get("compilerOptions")
        options = options if isinstance(options, Mapping) else {}
        pairs, root = [*_names_and_targets(options.get("paths"))], options.get("baseUrl")
        start = posixpath.join(folder, root) if isinstance(root, str) else folder
    for name, target in pairs:
        if name.strip("*") and name.count("*") <= 1 and target.count("*") <= 1:
            yield Alias(folder, name, posixpath.normpath(posixpath.join(start, target)))


def _names_and_targets(data: Any) -> Iterator[tuple[str, str]]:
    """Name and target of each entry. A name may have several targets, in a list or by conditions."""
    yield from (
        (keys_and_target[0], keys_and_target[-1]) for keys_and_target in _leaves(data) if len(keys_and_target) > 1
    )


def _leaves(data: Any) -> Iterator[tuple[str, ...]]:
    """Every text in nested JSON data, as a tuple: the keys that lead to the text, then the text."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), data)]
    while waiting:
        keys, value = waiting.pop()
        if isinstance(value, str):
            yield (*keys, value)
        items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        waiting += [((*keys, str(key)), item) for key, item in items][::-1]


def _object_or_empty(text: str) -> Mapping[str, Any]:
    return _read_object(text) or {}


def _read_object(text: str) -> Mapping[str, Any] | None:
    """A JSON object, which may have comments and trailing commas; None if it cannot be read."""
    try:
        data = json.loads(_TRAILING_COMMA.sub("", without_comments(text)))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, Mapping) else None


def _blocks(text: str) -> Iterator[str]:
    """The value of each `alias` and `moduleNameMapper` in a script; none if the script is too long."""
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


def _first_pairs(block: str) -> tuple[list[tuple[str, str, bool]], bool]:
    """The entries of a block before the first one that cannot be parsed, and whether the whole block was parsed. An
    entry: name, target, and whether the target is inside a call."""
    bare = _TYPE_ASSERTION.sub("", block.strip())
    entry, entries, start = (_ENTRY if bare[:1] == "{" else _PAIR), bare[1:-1], 0
    pairs: list[tuple[str, str, bool]] = []
    while match := entry.match(entries, start):
        pairs.append((match["text"] or match["bare"], match["target"], bool(match["called"])))
        start = match.end()
    return pairs, bare[:1] + bare[-1:] in ("{}", "[]") and not entries[start:].strip()


def _entries(block: str) -> Iterator[tuple[str, str]]:
    """Name and target of the entries of a block, up to the first that cannot be parsed or that names a package."""
    for name, target, called in _first_pairs(block)[0]:
        if mapped := _MAPPED_NAME.fullmatch(name):
            target_path = target.replace("$1", "*").removeprefix("<rootDir>/")
            yield f"{mapped[1]}{'*' if mapped[2] else ''}", target_path
        elif called or target.startswith(("./", "../", "/", "<rootDir>")):
            path = target.removeprefix("<rootDir>").lstrip("/") or "."
            yield name, path
            yield f"{name}/*", f"{path}/*"  # a tool applies a short name to paths that begin with it, too
        else:
            return  # the name of a package


def _is_understood(block: str) -> bool:
    """Whether every entry of the block can be read, and stands for a path inside the project."""
    pairs, is_complete = _first_pairs(block)
    understood = {name.removesuffix("/*") for name, target in _entries(block) if _is_inside(posixpath.normpath(target))}
    return is_complete and len(understood) == len(pairs)


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return parts[0] not in ("..", "") and "node_modules" not in parts
