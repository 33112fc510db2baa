"""Reads manifests: which packages they declare, and whether a changed manifest may add packages in other ways.

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

from trued.proof.dependencies.package_words import new_words
from trued.proof.room.declared_packages import values_by_name
from trued.proof.text.package_names import normal_package_name
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import json_table, table_at, toml_table

MOST_BYTES = 2_000_000  # at most this many bytes of a manifest are read
TABLES = ("pyproject.toml", "Pipfile", "Cargo.toml", "package.json")
LIST_NAMES = lazy_regex(
    r"(?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.(?:txt|in)|(?:dev|test|tests)\.(?:txt|in)"
)
_DECLARES = lazy_regex(r"(?!.*(?:constraint|override|built)).*dependencies|dependency-groups|requires", re.IGNORECASE)
# Keys of tables that say where a package comes from (name → source).
_REDIRECTS = lazy_regex(r"overrides|resolutions|sources|patch|replace", re.IGNORECASE)
_NAME = lazy_regex(r"\s*([A-Za-z0-9@][\w./@-]*)")
_EXTRAS = lazy_regex(r"\s*[\w.-]+\s*\[[^\]]+\]")
# Keys of a package's table that say where it is installed: those of Poetry, and the names of markers in a Pipfile.
_CONDITION = lazy_regex(r"markers?|python\w*|platform\w*|os_name|sys_platform|implementation\w*")
_WORDS_OF_MARKER = lazy_regex(r"'[^']*'|\"[^\"]*\"|[\w.]+|[<>=!~]+|\S")
_GEM = lazy_regex(r"\bgem[\s(]+[\"']([^\"']+)")
# A line that names other lists, or a folder of the project.
_NAMES_LISTS = lazy_regex(r"(?:-r|-c|--requirement|--constraint)[\s=]*([^\s:]+)|file:\s*(.+)")
_NAMES_FOLDER = lazy_regex(r"(?:(?:-e|--editable)[\s=]*)?(\.[\w./-]*)(?:\[[\w,\s-]*\])?")
REQUIREMENTS = ("install_requires", "setup_requires", "tests_require", "extras_require", "requires")
NOT_PACKAGES = frozenset({"python"})  # poetry lists the interpreter among the packages
PIPENV_OWN = ("source", "requires", "scripts", "pipenv")  # every other table of a Pipfile lists packages
# Manifest → its tables in which the keys of `METADATA` only describe the project. `()` is the top level.
DESCRIBED_TABLES: dict[str, tuple[tuple[str, ...], ...]] = {
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
_ENTRY_POINT = lazy_regex(r"(\w+)[\w.]*:[\w.]+")
GO_VERBS = ("module", "go", "toolchain", "require", "replace", "exclude", "retract")
_OWN_FILES = ("package_dir", "package_data", "include_package_data", "exclude_package_data", "data_files", "zip_safe")
# Arguments of `setup` that a change may write literally: they describe the project, list its files or declare packages.
SETUP_DECLARATIONS = frozenset({*METADATA, *REQUIREMENTS, *OWN_CODE, *_OWN_FILES, "python_requires"})
_BARE_SETUP = "from setuptools import setup\nsetup()\n"  # a new setup.py is compared with this text

Setting = tuple[tuple[str, ...], str]  # keys, value; "" for an empty table or list


def is_package_manifest(path: str) -> bool:
    """Whether people declare packages in this file. Lock files do not count, because tools generate them."""
    parts = PurePosixPath(path).parts
    name = parts[-1]
    has_known_name = name in (*TABLES, "setup.cfg", "setup.py", "go.mod", "Gemfile") or LIST_NAMES.fullmatch(name)
    in_known_folder = parts[-2:-1] == ("requirements",) and name.endswith((".txt", ".in"))
    return bool(has_known_name or in_known_folder) and "node_modules" not in parts


def declared_in(path: str, text: str, *, exact: bool = False) -> frozenset[str]:
    """The packages that a manifest declares, with their addresses if the manifest names any, and the lists and folders
    to which the manifest refers (see `references_in`).

    If the manifest cannot be parsed, the result is all of its lines, so that nothing stays hidden. `exact`: with
    versions.
    """
    try:
        entries = [entry for entry in entries_in(PurePosixPath(path).name, text, exact=exact) if entry]
    except (ValueError, SyntaxError, configparser.Error, RecursionError):
        return frozenset(" ".join(line.split()) for line in text.splitlines() if line.strip())
    if exact:
        return frozenset(" ".join(entry.split()) for entry in entries)
    return (
        frozenset(name for entry in entries for name in (named_package(entry), _address(entry)) if name) - NOT_PACKAGES
    )


def references_in(path: str, entry: str) -> tuple[str, ...]:
    """The paths of the lists or folders to which an entry of this manifest refers, such as `-r base.txt`."""
    lists, folder = _NAMES_LISTS.fullmatch(entry), _NAMES_FOLDER.fullmatch(entry)
    words = (lists[1] or lists[2]).split(",") if lists else [folder[1]] if folder else []
    return tuple(normpath(PurePosixPath(path).parent / word.strip()) for word in words)


def own_name(path: str, text: str) -> str:
    """The normalised name of the package that this manifest describes; "" if it names none."""
    name, data = PurePosixPath(path).name, table_in(path, text)
    key = {"Cargo.toml": "package", "pyproject.toml": "project"}.get(name)
    own_table = table_at(data, key) if key else data
    name_value = own_table.get("name") or table_at(data, "tool", "poetry").get("name")
    return named_package(name_value) if isinstance(name_value, str) and name_value else ""


def table_in(path: str, text: str) -> dict[str, Any]:
    """The data of a manifest with a name in `TABLES`; empty for any other manifest, or if it cannot be parsed."""
    name = PurePosixPath(path).name
    return (json_table if name.endswith(".json") else toml_table)(text) if name in TABLES else {}


def _address(entry: str) -> str:
    """`name @ address` if the entry has an address, else "". The same name from another address is another package."""
    name, at, address = entry.partition(" @ ")
    return f"{named_package(name)} @ {address.split(';')[0].strip()}" if at and _NAME.match(entry) else ""


def entries_in(name: str, text: str, *, exact: bool = False) -> Iterable[str]:
    """The entries of a manifest with this file name, such as `flask>=2` or `name @ source`. If the text cannot be
    parsed, raises ValueError, SyntaxError or configparser.Error, for some formats only when the entries are read."""
    if name == "Pipfile":
        tables = {key: table for key, table in tomllib.loads(text).items() if key not in PIPENV_OWN}
        return [entry for table in tables.values() for entry in packages_in(table, exact=exact, declaring=True)]
    if name in TABLES:
        return packages_in(_parse(name, text), exact=exact)
    if name == "setup.cfg":
        return _entries_in_setup_cfg(text)
    if name == "setup.py":
        return _entries_in_setup_py(text)
    if name == "go.mod":
        return _entries_in_go_mod(text, exact=exact)
    return _GEM.findall(text) if name == "Gemfile" else lines_in(text)


def _parse(name: str, text: str) -> Any:
    """The parsed manifest. Raises ValueError if it cannot be parsed."""
    return json.loads(text) if name.endswith(".json") else tomllib.loads(text)


def packages_in(data: Any, *, exact: bool, declaring: bool = False, redirecting: bool = False) -> Iterator[str]:
    """The packages in parsed manifest data, at any depth. Packages are the entries of lists and the keys of tables
    below a key like `dependencies`, and the keys to which a table like `overrides` or `sources` gives a source. A
    package with a source is written as `name @ source`.

    `exact`: add what a table says about a package, such as its version. `declaring`: `data` is below a key like
    `dependencies`. `redirecting`: `data` is below a key like `overrides`.
    """
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key == "dynamic" and isinstance(value, Mapping):
                yield from _files_of_dynamic(value)
                continue
            declares = bool(_DECLARES.fullmatch(str(key)))
            alternatives = (
                [alternative for alternative in value if isinstance(alternative, Mapping)]
                if isinstance(value, list)
                else [value]
            )
            if declaring or redirecting:
                for alternative in alternatives:
                    source = _source_of(alternative)
                    if source or (
                        declaring and not (isinstance(alternative, Mapping) and "include-group" in alternative)
                    ):
                        yield (
                            f"{key} @ {source}" if source else f"{key} {json.dumps(alternative)}" if exact else str(key)
                        )
            redirects = bool(_REDIRECTS.fullmatch(str(key))) or (redirecting and isinstance(value, Mapping))
            if declares or redirects or not declaring or isinstance(value, list):
                below = declares or (declaring and isinstance(value, list))
                yield from packages_in(value, exact=exact, declaring=below, redirecting=redirects and not declares)
    elif isinstance(data, list):
        for entry in data:
            if isinstance(entry, str):
                yield from [entry] if declaring else []
            elif not declaring:
                yield from packages_in(entry, exact=exact)


def _files_of_dynamic(data: Mapping[str, Any]) -> Iterator[str]:
    """The files in which setuptools finds dependencies, each as `file: path`."""
    extras = data.get("optional-dependencies")
    for setting in (data.get("dependencies"), *(extras.values() if isinstance(extras, Mapping) else ())):
        files = setting.get("file", ()) if isinstance(setting, Mapping) else ()
        yield from (f"file: {file}" for file in ([files] if isinstance(files, str) else files))


def _source_of(value: Any) -> str:
    """The source of a package that the manifest names: `npm:other@1`, a git address, a path. "" if it names none."""
    if isinstance(value, Mapping):
        texts = {str(key): text for key, text in value.items() if isinstance(text, str)}
        return " ".join(text for key, text in sorted(texts.items()) if key == "package" or set(text) & {":", "/"})
    return value if isinstance(value, str) and set(value) & {":", "/"} else ""


def _entries_in_setup_cfg(text: str) -> Iterator[str]:
    for (section, key), value in setup_cfg_values(text):
        if key in REQUIREMENTS or section == "options.extras_require":
            yield from lines_in(value)


def setup_cfg_values(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    for section in parser.sections():
        for key, value in parser.items(section):
            yield (section, key.replace("-", "_")), value or ""


def _entries_in_setup_py(text: str) -> Iterator[str]:
    for _, value in setup_keywords(text):
        yield from texts_in(value)


def texts_in(value: ast.expr) -> Iterator[str]:
    """The texts in a literal value, without the keys of dictionaries, because the keys are names of extras."""
    nodes = list(ast.walk(value))
    extras = {id(key) for node in nodes if isinstance(node, ast.Dict) for key in node.keys}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in extras]
    yield from (node.value for node in texts if isinstance(node.value, str))


def setup_keywords(text: str) -> Iterator[tuple[str, ast.expr]]:
    """The keywords by which a setup.py passes requirements, each with its value. If the file passes a variable, the
    value is the one that the file assigns to the variable."""
    module = ast.parse(text)
    value_of = values_by_name(module)
    for node in ast.walk(module):
        if isinstance(node, ast.keyword) and node.arg in REQUIREMENTS:
            yield node.arg, value_of.get(node.value.id, node.value) if isinstance(node.value, ast.Name) else node.value


def _entries_in_go_mod(text: str, *, exact: bool) -> Iterator[str]:
    for verb, words in _go_lines(text):
        if verb == "require" and words:
            yield " ".join(words) if exact else words[0]
        elif verb == "replace" and "=>" in words[:-1]:
            yield f"=> {words[words.index('=>') + 1]}"


def _go_lines(text: str) -> Iterator[tuple[str, list[str]]]:
    """The directives of a go.mod, each with its words; quotation marks and comments are removed."""
    block = ""
    for line in text.splitlines():
        words = [word.strip('"`') for word in re.findall(r'"[^"]*"|`[^`]*`|[()]|[^\s()"`]+', line.split("//")[0])]
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


def named_package(entry: str) -> str:
    """The normalised name (PEP 503) of an entry's package. A name with a slash is not normalised. An option, address or
    reference is returned whole."""
    match = _NAME.match(entry)
    if entry.startswith(("-", "file:")) or "://" in entry.split(" @ ")[0] or not match:
        return " ".join(entry.split())
    return match[1] if "/" in match[1] else normal_package_name(match[1])


def condition_of(entry: str) -> str:
    """The condition under which an entry, given with its version, is installed, such as `python_version < '3.11'`; ""
    if there is none. Spaces and quotes are always written alike. A table of conditions is written as JSON."""
    if table := re.fullmatch(r"\S+ (\{.*\})", entry, re.DOTALL):
        return json.dumps(
            {key: value for key, value in json.loads(table[1]).items() if _CONDITION.fullmatch(key)} or ""
        ).strip('"')
    return " ".join(_WORDS_OF_MARKER.findall(entry.partition(";")[2].partition(" --")[0])).replace('"', "'")


def extras_of(entry: str) -> list[str]:
    """Each extra of an entry, as `package[extra]`. It counts as a package of its own."""
    extras = re.match(r"\s*([\w.-]+)\s*\[([^\]]+)\]", entry)
    return [f"{named_package(extras[1])}[{extra.strip()}]" for extra in extras[2].split(",")] if extras else []


# -- what else changed -------------------------------------------------------------------------------------------------


def is_read_whole(
    path: str, old_text: str, new_text: str, *, own_modules: Collection[str], known_paths: Collection[str]
) -> bool:
    """Whether the engine finds every package that the change of a manifest may add. This is so if each changed part
    either declares packages in the usual way or can add none.

    `own_modules`: modules of the project. `known_paths`: paths of the project.
    """
    name = PurePosixPath(path).name
    try:
        if len(new_text) >= MOST_BYTES or name == "Gemfile":
            return False
        if name == "setup.py":
            return _declares_only(old_text or _BARE_SETUP, new_text)
        if name == "go.mod":
            other_lines = [
                [line for line in _go_lines(text) if line[0] not in GO_VERBS] for text in (old_text, new_text)
            ]
            return all(line in other_lines[0] for line in other_lines[1])
        if name not in (*TABLES, "setup.cfg"):
            return {*filter(_EXTRAS.match, lines_in(new_text))} <= {*filter(_EXTRAS.match, lines_in(old_text))}
        before, after = ({*_settings(name, text)} if text else set() for text in (old_text, new_text))
    except (ValueError, SyntaxError, configparser.Error, RecursionError, MemoryError):
        return False
    may_be_optional = name == "Cargo.toml" and ("optional" in new_text or "\\" in new_text)
    if may_be_optional and any(keys[:1] == ("features",) and value for keys, value in after - before):
        return False  # an optional package may become part of a feature that everybody gets
    old_words = "\n".join([*declared_in(path, old_text), *(word for keys, value in before for word in (*keys, value))])
    old_words += "\nnode npm run" if name == "package.json" else ""
    new_settings = [
        setting for setting in sorted(after - before) if not _is_harmless(name, setting, own_modules, known_paths)
    ]
    lines = [
        line for keys, value in new_settings for word in (*_naming_keys(keys), value) for line in word.splitlines()
    ]
    return not new_words("", old_words, lines, known_paths=known_paths)


def _naming_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    # The project itself chooses the names below these keys, so they name no package.
    return () if keys[:1] in (("scripts",), ("imports",)) else keys


def _settings(name: str, text: str) -> Iterator[Setting]:
    """The settings of a manifest, except those that only declare a package and its version."""
    if name != "setup.cfg":
        yield from (setting for setting in _leaves(_parse(name, text)) if not _is_declared(name, *setting))
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
        items = data.items() if isinstance(data, Mapping) else (("", item) for item in data)
        for key, value in items:
            yield from _leaves(value, (*keys, str(key)))
    elif data is not None and not isinstance(data, bool | int | float):
        yield keys, data if isinstance(data, str) else str(data or "")


def _is_declared(name: str, keys: tuple[str, ...], value: str) -> bool:
    """Whether the setting only declares a package or its version, so that `declared_in` reports all of it."""
    if "dynamic" in keys[:-1]:
        return keys[-1] == "file" or keys[-2:] == ("file", "")
    declared_at = next((at for at, key in enumerate(keys) if _DECLARES.fullmatch(key)), None)
    if name == "Pipfile":
        declared_at = None if keys[0] in PIPENV_OWN else 0
    if declared_at is None:
        return False
    keys_below = keys[declared_at + 1 :]
    if keys_below[-1:] == ("",) and len(keys_below) <= 2:  # an entry in a list or in one of several named lists
        return not _EXTRAS.match(value)
    # `declared_in` reads a path as the package's source
    return (
        len(keys_below) <= 1
        or keys_below[-1] in ("version", "include-group")
        or (keys_below[-1] == "path" and "/" in value)
    )


def _is_harmless(name: str, setting: Setting, own_modules: Collection[str], known_paths: Collection[str]) -> bool:
    """Whether the setting can add no package: it describes the project, names the project's own code, or belongs to a
    tool that loads no other code."""
    keys, value = setting
    tables = [table for table in DESCRIBED_TABLES.get(name, ()) if keys[: len(table)] == table]
    if any(keys[len(table)] in METADATA for table in tables if len(keys) > len(table)):
        return True
    if any(keys[: len(table)] == table for table in READ_ONLY_TOOLS):
        return True
    if keys[:2] == ("tool", "isort"):
        return len(keys) > 2 and value in ISORT_LOADS.get(keys[2], (value,))
    if point := _ENTRY_POINT.fullmatch(value):
        return point[1] in own_modules and not {*ENTRY_POINTS}.isdisjoint(keys)
    if any(word in OWN_CODE for key in keys for word in key.split(".")):
        return (
            value.split(".")[0] in own_modules
            or value.removeprefix("./").rstrip("/") in known_paths
            or value in ("find:", "")
        )
    return False


# -- setup.py ----------------------------------------------------------------------------------------------------------


def _declares_only(old_text: str, new_text: str) -> bool:
    """Whether two versions of a setup.py differ at most in what they declare literally, so that `declared_in` reports
    every package that the newer one adds. Other code may add packages in ways that cannot be listed."""
    return (
        has_literal_requirements(new_text)
        and unusual_requirements(new_text) <= unusual_requirements(old_text)
        and _code_beside_declarations(old_text) == _code_beside_declarations(new_text)
    )


def has_literal_requirements(setup_py: str) -> bool:
    """Whether all requirements in this setup.py are literal, and no call takes arguments from a dictionary, which may
    hold further requirements. Raises SyntaxError or ValueError if the text cannot be parsed."""
    module = ast.parse(setup_py)
    variables = _literal_variables(module)
    keywords = [node for node in ast.walk(module) if isinstance(node, ast.keyword)]
    requirements = [keyword.value for keyword in keywords if keyword.arg in REQUIREMENTS]
    return all(keyword.arg for keyword in keywords) and all(
        _is_literal(value) or _variable(value) in variables for value in requirements
    )


def unusual_requirements(setup_py: str) -> set[str]:
    """The texts in this setup.py that may install more than one package: a requirement with an extra, or several
    requirements in one text."""
    entries = {entry for _, value in setup_keywords(setup_py) for entry in texts_in(value)}
    return {entry for entry in entries if _EXTRAS.match(entry) or len(entry.splitlines()) > 1}


def _code_beside_declarations(setup_py: str) -> str:
    """The syntax tree of a setup.py without what it declares literally: arguments of `setup` that are in
    `SETUP_DECLARATIONS`, and the variables that hold nothing but the value of such an argument."""
    module = ast.parse(setup_py)
    variables = _literal_variables(module)
    values: list[ast.expr] = []
    for call in [node for node in ast.walk(module) if isinstance(node, ast.Call)]:
        if called_name(call) == "setup":
            declarations = [
                keyword
                for keyword in call.keywords
                if keyword.arg in SETUP_DECLARATIONS
                and (_is_literal(keyword.value) or _variable(keyword.value) in variables)
            ]
            call.keywords = [keyword for keyword in call.keywords if keyword not in declarations]
            values += [keyword.value for keyword in declarations]
    assignments = [variables[name] for name in map(_variable, values) if name in variables]
    module.body = [statement for statement in module.body if statement not in assignments]
    return ast.dump(module)


def called_name(call: ast.Call) -> str:
    """The name of the function or method that is called; "" if it has none."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else _variable(call.func)


def _variable(value: ast.expr) -> str:
    """The name of the variable that an expression consists of; "" for any other expression."""
    return value.id if isinstance(value, ast.Name) else ""


def _literal_variables(module: ast.Module) -> dict[str, ast.Assign]:
    """Name → assignment, for each variable with a literal value that the module mentions only twice: where it is
    assigned, and at one other place. So no other code can change the value."""
    # every name in the module, whatever binds or uses it: an import, a function, an exception
    nodes = [node for node in ast.walk(module) if not isinstance(node, ast.Constant)]
    fields = [field for node in nodes for _, field in ast.iter_fields(node)]
    names = [name for field in fields for name in (field if isinstance(field, list) else [field])]
    mentions = Counter(name for name in names if isinstance(name, str))
    assignments = [statement for statement in module.body if isinstance(statement, ast.Assign)]
    return {
        name: assignment
        for assignment in assignments
        if len(assignment.targets) == 1
        and mentions[name := _variable(assignment.targets[0])] == 2
        and _is_literal(assignment.value)
    }


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError):
        return False
    return True
