"""Reads manifests: which packages they declare, and whether a changed manifest may add packages in another way. Pure.

A package counts as declared only where the format declares packages. Any other changed setting must contain no new
word, because some tool may read that word as the name of a package. A manifest with such a new word is reported as a
file that may add packages.
"""

import ast
import configparser
import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any

from trued.proof.checks.package_words import new_words
from trued.proof.room.dependencies import values_by_name
from trued.support.tables import json_table, table_at, toml_table

MOST_BYTES = 2_000_000  # at most this many bytes of a manifest are read
TABLES = ("pyproject.toml", "Pipfile", "Cargo.toml", "package.json")
LISTS = re.compile(r"(?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.(?:txt|in)|(?:dev|test|tests)\.(?:txt|in)")
_DECLARING = re.compile(r"(?!.*(?:constraint|override|built)).*dependencies|dependency-groups|requires", re.IGNORECASE)
# Keys of tables that say where a package comes from (name → source).
_REDIRECTING = re.compile(r"overrides|resolutions|sources|patch|replace", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z0-9@][\w./@-]*)")
_EXTRAS = re.compile(r"\s*[\w.-]+\s*\[[^\]]+\]")
_GEM = re.compile(r"\bgem[\s(]+[\"']([^\"']+)")
# A line that names other lists, or a folder of the project.
_NAMES_LISTS = re.compile(r"(?:-r|-c|--requirement|--constraint)[\s=]*([^\s:]+)|file:\s*(.+)")
_NAMES_FOLDER = re.compile(r"(?:(?:-e|--editable)[\s=]*)?(\.[\w./-]*)(?:\[[\w,\s-]*\])?")
REQUIREMENTS = ("install_requires", "setup_requires", "tests_require", "extras_require", "requires")
NOT_PACKAGES = frozenset({"python"})  # poetry lists the interpreter among the packages
PIPENV_OWN = ("source", "requires", "scripts", "pipenv")  # every other table of a Pipfile lists packages
# Manifest → its tables in which the keys of `METADATA` only describe the project. `()` is the top level.
DESCRIBED: dict[str, tuple[tuple[str, ...], ...]] = {
    "pyproject.toml": (("project",), ("tool", "poetry")),
    "Cargo.toml": (("package",), ("workspace", "package")),
    "package.json": ((),),
    "setup.cfg": (("metadata",),),
}
METADATA = frozenset(
    {
        *(
            "name",
            "version",
            "description",
            "long_description",
            "readme",
            "license",
            "license-files",
            "authors",
            "author",
        ),
        *("author_email", "maintainers", "contributors", "keywords", "classifiers", "urls", "url", "homepage", "bugs"),
        *("project_urls", "repository", "documentation", "funding", "requires-python", "dynamic", "type", "engines"),
        *("edition", "rust-version"),
    }
)
# Settings of tools that load no code but their own, and descriptions of pytest's marks.
READ_ONLY_TOOLS = (
    *(("tool", "ruff"), ("tool", "black")),
    *(("tool", "pytest", "ini_options", "markers"), ("tool:pytest", "markers")),
)
# Settings of isort by which it loads code of other packages, each with the values that mean isort's own code.
ISORT_LOADS: dict[str, tuple[str, ...]] = {
    "profile": ("black", "django", "pycharm", "google", "open_stack", "plone", "attrs", "hug", "wemake", "appnexus"),
    "sort_order": ("native", "natural"),
    "formatter": (),
}
OWN_CODE = ("packages", "py-modules", "py_modules")  # settings that list the project's own folders and modules
ENTRY_POINTS = ("scripts", "gui-scripts", "entry-points", "plugins", "options.entry_points")
_ENTRY_POINT = re.compile(r"(\w+)[\w.]*:[\w.]+")
GO_VERBS = ("module", "go", "toolchain", "require", "replace", "exclude", "retract")
# Functions that a changed setup.py may call, because they only find its own files and texts.
SETUP_CALLS = frozenset(
    {*("setup", "find_packages", "find_namespace_packages", "open", "read", "read_text", "strip", "Path"), "dirname"}
)

Setting = tuple[tuple[str, ...], str]  # keys, value; "" for an empty table or list


def is_package_manifest(path: str) -> bool:
    """Whether people declare packages in this file. Lock files do not count, because tools generate them."""
    parts = PurePosixPath(path).parts
    name = parts[-1]
    known = name in (*TABLES, "setup.cfg", "setup.py", "go.mod", "Gemfile") or LISTS.fullmatch(name)
    listed = parts[-2:-1] == ("requirements",) and name.endswith((".txt", ".in"))
    return bool(known or listed) and "node_modules" not in parts


def declared_in(path: str, text: str, *, exact: bool = False) -> frozenset[str]:
    """The packages that a manifest declares, with their addresses if it names any, and the lists and folders to which
    it refers (see `named_by`).

    If the manifest cannot be parsed, the result is all of its lines, so that nothing stays hidden. `exact`: with
    versions.
    """
    try:
        entries = [one for one in entries_in(PurePosixPath(path).name, text, exact=exact) if one]
    except (ValueError, SyntaxError, configparser.Error, RecursionError):
        return frozenset(" ".join(line.split()) for line in text.splitlines() if line.strip())
    if exact:
        return frozenset(" ".join(one.split()) for one in entries)
    return frozenset(name for one in entries for name in (normal_name(one), _address(one)) if name) - NOT_PACKAGES


def named_by(path: str, entry: str) -> tuple[str, ...]:
    """The paths of the lists or folders to which an entry of this manifest refers, such as `-r base.txt`."""
    lists, folder = _NAMES_LISTS.fullmatch(entry), _NAMES_FOLDER.fullmatch(entry)
    words = (lists[1] or lists[2]).split(",") if lists else [folder[1]] if folder else []
    return tuple(normpath(PurePosixPath(path).parent / one.strip()) for one in words)


def own_name(path: str, text: str) -> str:
    """The normalised name of the package that this manifest describes; "" if it names none."""
    name, data = PurePosixPath(path).name, table_in(path, text)
    key = {"Cargo.toml": "package", "pyproject.toml": "project"}.get(name)
    own = table_at(data, key) if key else data
    found = own.get("name") or table_at(data, "tool", "poetry").get("name")
    return normal_name(found) if isinstance(found, str) and found else ""


def table_in(path: str, text: str) -> dict[str, Any]:
    """What a manifest in JSON or TOML contains; nothing if it cannot be parsed."""
    name = PurePosixPath(path).name
    return (json_table if name.endswith(".json") else toml_table)(text) if name in TABLES else {}


def _address(entry: str) -> str:
    """`name @ address` if the entry has an address, else "". The same name from another address is another package."""
    name, at, place = entry.partition(" @ ")
    return f"{normal_name(name)} @ {place.split(';')[0].strip()}" if at and _NAME.match(entry) else ""


def entries_in(name: str, text: str, *, exact: bool = False) -> Iterable[str]:
    """The entries of a manifest with this file name, as they are written."""
    if name == "Pipfile":
        tables = {key: part for key, part in tomllib.loads(text).items() if key not in PIPENV_OWN}
        return [one for part in tables.values() for one in packages_in(part, exact=exact, declaring=True)]
    if name in TABLES:
        return packages_in(_parsed(name, text), exact=exact)
    if name == "setup.cfg":
        return _of_setup_cfg(text)
    if name == "setup.py":
        return _of_setup_py(text)
    if name == "go.mod":
        return _of_go(text, exact=exact)
    return _GEM.findall(text) if name == "Gemfile" else lines_in(text)


def _parsed(name: str, text: str) -> Any:
    """The parsed manifest. Raises ValueError if it cannot be parsed."""
    return json.loads(text) if name.endswith(".json") else tomllib.loads(text)


def packages_in(data: Any, *, exact: bool, declaring: bool = False, redirecting: bool = False) -> Iterator[str]:
    """The packages below every key that declares packages, at any depth: entries of lists and keys of tables. A package
    whose source is named is written as `name @ source`."""
    if isinstance(data, Mapping):
        for key, part in data.items():
            if key == "dynamic" and isinstance(part, Mapping):
                yield from _dynamic(part)
                continue
            inner = bool(_DECLARING.fullmatch(str(key)))
            several = [one for one in part if isinstance(one, Mapping)] if isinstance(part, list) else [part]
            if declaring or redirecting:
                for one in several:
                    place = _place(one)
                    if place or (declaring and not (isinstance(one, Mapping) and "include-group" in one)):
                        yield f"{key} @ {place}" if place else f"{key} {json.dumps(one)}" if exact else str(key)
            turning = bool(_REDIRECTING.fullmatch(str(key))) or (redirecting and isinstance(part, Mapping))
            if inner or turning or not declaring or isinstance(part, list):
                below = inner or (declaring and isinstance(part, list))
                yield from packages_in(part, exact=exact, declaring=below, redirecting=turning and not inner)
    elif isinstance(data, list):
        for one in data:
            if isinstance(one, str):
                yield from [one] if declaring else []
            elif not declaring:
                yield from packages_in(one, exact=exact)


def _dynamic(data: Mapping[str, Any]) -> Iterator[str]:
    """The files in which setuptools finds dependencies, each as `file: path`."""
    extras = data.get("optional-dependencies")
    for part in (data.get("dependencies"), *(extras.values() if isinstance(extras, Mapping) else ())):
        named = part.get("file", ()) if isinstance(part, Mapping) else ()
        yield from (f"file: {one}" for one in ([named] if isinstance(named, str) else named))


def _place(part: Any) -> str:
    """The source of a package, if the manifest names one: `npm:other@1`, a git address, a path."""
    if isinstance(part, Mapping):
        texts = {str(key): one for key, one in part.items() if isinstance(one, str)}
        return " ".join(one for key, one in sorted(texts.items()) if key == "package" or set(one) & {":", "/"})
    return part if isinstance(part, str) and set(part) & {":", "/"} else ""


def _of_setup_cfg(text: str) -> Iterator[str]:
    for (section, key), value in setup_cfg_values(text):
        if key in REQUIREMENTS or section == "options.extras_require":
            yield from lines_in(value)


def setup_cfg_values(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    for section in parser.sections():
        for key, value in parser.items(section):
            yield (section, key.replace("-", "_")), value or ""


def _of_setup_py(text: str) -> Iterator[str]:
    for _, value in setup_keywords(text):
        yield from texts_in(value)


def texts_in(value: ast.expr) -> Iterator[str]:
    """The texts in a literal value, without the keys of dictionaries: these are names of extras, not packages."""
    nodes = list(ast.walk(value))
    extras = {id(key) for one in nodes if isinstance(one, ast.Dict) for key in one.keys}
    texts = [one for one in nodes if isinstance(one, ast.Constant) and id(one) not in extras]
    yield from (one.value for one in texts if isinstance(one.value, str))


def setup_keywords(text: str) -> Iterator[tuple[str, ast.expr]]:
    """Keyword and value of what a setup.py passes as requirements. If it passes a variable: its value."""
    module = ast.parse(text)
    named = values_by_name(module)
    for node in ast.walk(module):
        if isinstance(node, ast.keyword) and node.arg in REQUIREMENTS:
            yield node.arg, named.get(node.value.id, node.value) if isinstance(node.value, ast.Name) else node.value


def _of_go(text: str, *, exact: bool) -> Iterator[str]:
    for verb, words in _go_lines(text):
        if verb == "require" and words:
            yield " ".join(words) if exact else words[0]
        elif verb == "replace" and "=>" in words[:-1]:
            yield f"=> {words[words.index('=>') + 1]}"


def _go_lines(text: str) -> Iterator[tuple[str, list[str]]]:
    """The directives of a go.mod, each with its words; quotation marks and comments are removed."""
    block = ""
    for line in text.splitlines():
        words = [one.strip('"`') for one in re.findall(r'"[^"]*"|`[^`]*`|[()]|[^\s()"`]+', line.split("//")[0])]
        if words == [")"]:
            block = ""
        elif words[-1:] == ["("]:
            block = words[0]
        elif words:
            yield (block, words) if block else (words[0], words[1:])


def lines_in(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        bare = re.split(r"(?:^|\s)#", line)[0].strip()
        if bare and not bare.startswith("--hash"):
            yield bare


def normal_name(entry: str) -> str:
    """The normalised name of the package (PEP 503); an option, address or reference stays unchanged."""
    match = _NAME.match(entry)
    if entry.startswith(("-", "file:")) or "://" in entry.split(" @ ")[0] or not match:
        return " ".join(entry.split())
    return match[1] if "/" in match[1] else re.sub(r"[-_.]+", "-", match[1]).lower()


# -- what else changed -------------------------------------------------------------------------------------------------


def is_read_whole(path: str, was: str, now: str, *, own: Collection[str], known: Collection[str]) -> bool:
    """Whether every changed part of a manifest either declares packages in the usual way, or can add none.

    `own`: modules of the project; `known`: its paths.
    """
    name = PurePosixPath(path).name
    try:
        if len(now) >= MOST_BYTES or name == "Gemfile":
            return False
        if name == "setup.py":
            return _is_plain_setup(was, now)
        if name == "go.mod":
            others = [[line for line in _go_lines(one) if line[0] not in GO_VERBS] for one in (was, now)]
            return all(line in others[0] for line in others[1])
        if name not in (*TABLES, "setup.cfg"):
            return {*filter(_EXTRAS.match, lines_in(now))} <= {*filter(_EXTRAS.match, lines_in(was))}
        before, after = ({*_settings(name, one)} if one else set() for one in (was, now))
    except (ValueError, SyntaxError, configparser.Error, RecursionError, MemoryError):
        return False
    there = "\n".join([*declared_in(path, was), *(part for keys, value in before for part in (*keys, value))])
    there += "\nnode npm run" if name == "package.json" else ""
    fresh = [one for one in sorted(after - before) if not _is_harmless(name, one, own, known)]
    lines = [line for keys, value in fresh for part in (*_naming_keys(keys), value) for line in part.splitlines()]
    return not new_words("", there, lines, known=known)


def _naming_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    # The project itself chooses the names below these keys, so they name no package.
    return () if keys[0] in ("scripts", "imports") else keys


def _settings(name: str, text: str) -> Iterator[Setting]:
    """The settings of a manifest, except those that only declare a package and its version."""
    if name != "setup.cfg":
        yield from (one for one in _leaves(_parsed(name, text)) if not _is_declared(name, *one))
        return
    for (section, key), value in setup_cfg_values(text):
        if key in REQUIREMENTS or section == "options.extras_require":
            yield from (((section, key), line) for line in lines_in(value) if _EXTRAS.match(line))
            continue
        for line in value.splitlines():
            label, _, target = line.rpartition("=") if section in ENTRY_POINTS else ("", "", line)
            yield (section, key, label.strip()), target.strip()


def _leaves(data: Any, keys: tuple[str, ...] = ()) -> Iterator[Setting]:
    """Keys and value of every text in the data, and of every empty table or list. Numbers are left out, because they
    name no package."""
    if isinstance(data, Mapping | list) and data:
        inner = data.items() if isinstance(data, Mapping) else (("", one) for one in data)
        for key, part in inner:
            yield from _leaves(part, (*keys, str(key)))
    elif data is not None and not isinstance(data, bool | int | float):
        yield keys, data if isinstance(data, str) else str(data or "")


def _is_declared(name: str, keys: tuple[str, ...], value: str) -> bool:
    """Whether the setting only declares a package or its version, so that `declared_in` reports all of it."""
    if "dynamic" in keys[:-1]:
        return keys[-1] == "file" or keys[-2:] == ("file", "")
    place = next((at for at, key in enumerate(keys) if _DECLARING.fullmatch(key)), None)
    if name == "Pipfile":
        place = None if keys[0] in PIPENV_OWN else 0
    if place is None:
        return False
    rest = keys[place + 1 :]
    if rest[-1:] == ("",) and len(rest) <= 2:  # an entry in a list or in one of several named lists
        return not _EXTRAS.match(value)
    # `declared_in` reads a path as the package's source
    return len(rest) <= 1 or rest[-1] in ("version", "include-group") or (rest[-1] == "path" and "/" in value)


def _is_harmless(name: str, setting: Setting, own: Collection[str], known: Collection[str]) -> bool:
    """Whether the setting can add no package: it describes the project, names the project's own code, or belongs to a
    tool that loads no other code."""
    keys, value = setting
    places = [one for one in DESCRIBED.get(name, ()) if keys[: len(one)] == one]
    if any(keys[len(one)] in METADATA for one in places if len(keys) > len(one)):
        return True
    if any(keys[: len(one)] == one for one in READ_ONLY_TOOLS):
        return True
    if keys[:2] == ("tool", "isort"):
        return len(keys) > 2 and value in ISORT_LOADS.get(keys[2], (value,))
    if point := _ENTRY_POINT.fullmatch(value):
        return point[1] in own and not {*ENTRY_POINTS}.isdisjoint(keys)
    if any(part in OWN_CODE for key in keys for part in key.split(".")):
        return value.split(".")[0] in own or value.removeprefix("./").rstrip("/") in known or value in ("find:", "")
    return False


def _is_plain_setup(was: str, now: str) -> bool:
    """Whether a setup.py lists all its requirements literally, and newly calls only functions of `SETUP_CALLS`."""
    module = ast.parse(now)
    nodes = list(ast.walk(module))
    mentions = Counter(one.id for one in nodes if isinstance(one, ast.Name))
    given = [one.value for one in nodes if isinstance(one, ast.keyword) and one.arg in REQUIREMENTS]
    if any(isinstance(one, ast.Name) and mentions[one.id] != 2 for one in given):
        return False  # a variable with requirements is used more than once, so other code may change it
    try:
        for _, value in setup_keywords(now):
            ast.literal_eval(value)
    except (ValueError, TypeError):
        return False
    before = {ast.dump(one) for one in ast.walk(ast.parse(was)) if isinstance(one, ast.Call)}
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    fresh = [one for one in calls if ast.dump(one) not in before]
    called = {one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "") for one in fresh}
    return called <= SETUP_CALLS and not any(keyword.arg is None for call in calls for keyword in call.keywords)
