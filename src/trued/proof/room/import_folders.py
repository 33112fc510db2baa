"""Decides from which folders of a clean room Python imports, and which modules are the project's own.

A check finds what a user would find. Python itself adds the folder of a script, and with `-m` the current folder. It
finds other folders only if the project is installed, or if somebody has set PYTHONPATH.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

from trued.model import Contract
from trued.proof.room.bench import has_module
from trued.proof.room.frozen_files import is_below, is_test
from trued.proof.room.project_folders import (
    SHARED,
    file_of_module,
    names_in,
    project_folders,
    regular_modules,
    roots_by_project,
    top_level_modules,
)
from trued.proof.text.commit_texts import as_text, decoded
from trued.proof.text.python_imports import dotted_modules_asked
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import table_at, toml_table

_WORD = lazy_regex(r"\w+")
SOURCE = "src"
NEW_SOURCE = (
    "checks do not look for modules in the new folder src, because no manifest or setting leads there; if users find "
    'them: `environment: {path: [".", "src"]}`'
)
VARIABLE = "PYTHONPATH"
_INSTALLING = ("pyproject.toml", "setup.py")  # files by which pip can install a project
_LEADS_TO_SOURCE = lazy_regex(rf"(?i:{VARIABLE}).*?\b{SOURCE}\b", re.DOTALL)
# Files at the top that may say where Python finds modules, besides those of an installation.
_SETTINGS = ("setup.cfg", "pytest.ini", "tox.ini", "Makefile", "justfile", "Dockerfile", ".env", ".envrc")
# Names of files that may set a variable. Documents set none.
_MAY_SET = lazy_regex(r".*\.(?:sh|bash|env|envrc|toml|ini|cfg|mk|ya?ml|service)|[^.]*")
# Text that sets it, outside of comments: `NAME=x`, `NAME: x`, `NAME := x`, a quoted name, the first argument of a
# command (`ENV NAME x`), or a name with a value in the next line of a YAML file. `$NAME:` and `unset NAME` set nothing.
_SETS = lazy_regex(
    rf"^[^#\n]*(?<![$\w{{])(?:{VARIABLE}\s*(?:[:?+]{{0,3}}=|:)|[\"']{VARIABLE}[\"']|{VARIABLE}\s+value\b)"
    rf"|^\s*(?!unset\b)\w+(?:[ \t]+-\w+)*[ \t]+{VARIABLE}[ \t]+\S",
    re.MULTILINE,
)


def paths_in_room(room: Path, folders: tuple[str, ...]) -> tuple[str, ...]:
    """The absolute paths of these folders of the room."""
    return tuple(str(room / folder) if folder != "." else str(room) for folder in folders)


async def projects_of_base(
    workspace: Workspace, contract: Contract, *, with_top: bool = False
) -> dict[str, frozenset[str]]:
    """Project folder of the base → the folders in which its programs find modules (see `roots_by_project`).

    If the base has only one project, its code is read only `with_top`, to find out whether it imports modules from the
    top or from `src`.
    """
    on_base = await workspace.blobs(contract.base)
    folders = project_folders(on_base).python if contract.project_roots else ()
    is_read = with_top or len(folders) > 1
    code = [path for path in on_base if path.endswith(".py") and not is_test(path)] if is_read and folders else []
    read = await workspace.read_all(contract.base, code)
    texts = {path: decoded(content) for path, content in read.items()}
    return roots_by_project(on_base, contract.project_roots, texts) if folders else {}


def usual_roots(
    room: Path, projects: Collection[str], on_base: Collection[str], *, with_source: bool = True
) -> tuple[str, ...]:
    """The folders from which a project imports, if nobody names them: the top, `src` (`with_source`), and the import
    roots of the base's project folders (`projects`).

    A module that the commit adds to one of these folders may have the name of a module that the base has in another.
    Users get the base's module, so its folder comes before the folder of the new module. If Python would find the new
    module even then, because the base's package has no `__init__.py`, the folder of the new module is left out.
    """
    candidates = (*(place for place in SHARED if with_source or place != SOURCE), *projects)
    roots = [root for root in candidates if (room / root).is_dir()]
    names = {root: _names_on_base(root, on_base) for root in roots}
    # Names that the base has in both folders are no copies. At the top and in `src`, only modules and packages with an
    # `__init__.py` count as such names: a folder without one is no module of the project, whatever a commit adds to it.
    there = {root: names[root] if root in projects else regular_modules(root, on_base) for root in roots}
    code = [path for path in on_base if path.endswith(".py")] if projects else []
    own_modules = {root: top_level_modules(root, code) for root in roots}
    first, left_out = set[str](), set[str]()
    for root, other in ((root, other) for root in roots for other in roots if root != other):
        copies = [name for name in names[root] - there[other] if _is_found(room, name, (root, other), on_base)]
        if {root, other}.isdisjoint(projects):
            first |= {"src"} if root == "src" and copies else set()
            continue
        are_code = [
            has_module(room / root, name)
            for name in copies
            if name in own_modules[root] and _has_code(room / root, name)
        ]
        first |= {root} if any(are_code) else set()
        left_out |= {other} if not all(are_code) else set()
    used = [root for root in roots if root not in left_out]
    return (*(root for root in used if root in first), *(root for root in used if root not in first))


async def finds_source(workspace: Workspace, base: str, commit: str) -> bool:
    """Whether a user finds modules in the folder `src` of this commit.

    The base decides: it has modules there, or it has no modules at all. If it has modules at the top only, a manifest
    or a setting of the commit must lead to the new folder.
    """
    on_base = [path for path in await workspace.blobs(base) if path.endswith(".py") and not is_test(path)]
    if any(is_below(path, SOURCE) for path in on_base) or not top_level_modules(".", on_base):
        return True
    in_commit = await workspace.blobs(commit)
    read = await workspace.read_all(commit, [name for name in (*_INSTALLING, *_SETTINGS) if name in in_commit])
    texts = {path: as_text(content) for path, content in read.items()}
    if any(_LEADS_TO_SOURCE.search(text) for text in texts.values()):
        return True
    if not _is_installable(texts, ""):
        return False
    at_top = top_level_modules(".", [path for path in in_commit if path.endswith(".py") and not is_test(path)])
    return not at_top or any(SOURCE in _WORD.findall(texts.get(path, "")) for path in (*_INSTALLING, "setup.cfg"))


async def roots_found_everywhere(
    workspace: Workspace, base: str, commit: str, roots: Collection[str]
) -> frozenset[str]:
    """Those of these import roots that a user's Python finds wherever a program starts: all roots if the base sets
    PYTHONPATH somewhere, else the roots of projects that can be installed, and those on which the base's own programs
    rely."""
    texts = dict[str, str]()
    for version in (base, commit):  # what the commit makes installable is so for a user, too
        manifests = [path for path in await workspace.blobs(version) if PurePosixPath(path).name in _INSTALLING]
        read = await workspace.read_all(version, manifests)
        texts |= {f"{version}:{path}": as_text(content) for path, content in read.items()}
    found = {
        root
        for root in roots
        if any(
            _is_installable(texts, f"{version}:{folder}") for version in (base, commit) for folder in _projects(root)
        )
    }
    if found == {*roots}:
        return frozenset(found)
    on_base = await workspace.blobs(base)
    settings = [path for path in on_base if _MAY_SET.fullmatch(PurePosixPath(path).name)]
    if any(_SETS.search(as_text(content)) for content in (await workspace.read_all(base, settings)).values()):
        return frozenset(roots)
    code = [path for path in on_base if path.endswith(".py") and not is_test(path)]
    programs = {path: decoded(content) for path, content in (await workspace.read_all(base, code)).items()}
    return frozenset(found | {root for root in roots if _is_relied_on(root, programs, on_base)})


def _projects(root: str) -> tuple[str, ...]:
    """The prefixes of the paths of a project with this import root: `""` for the top, `a/` for `a` and for `a/src`."""
    folder = PurePosixPath(root)
    folders = (folder, folder.parent) if folder.name == SOURCE else (folder,)
    return tuple("" if str(place) == "." else f"{place}/" for place in folders)


def _is_installable(texts: Mapping[str, str], folder: str) -> bool:
    """Whether pip can install the project in this folder. `texts`: path → text; `folder`: a prefix of paths."""
    if f"{folder}setup.py" in texts:
        return True
    manifest = toml_table(texts.get(f"{folder}pyproject.toml", ""))
    poetry = table_at(manifest, "tool", "poetry")
    if poetry.get("package-mode") is False or table_at(manifest, "tool", "uv").get("package") is False:
        return False
    return bool(poetry) or not manifest.keys().isdisjoint(("project", "build-system"))


def _is_relied_on(root: str, programs: Mapping[str, str], paths: Collection[str]) -> bool:
    """Whether a program of the base finds modules in this root only because the folder is on the path: a file outside
    of packages that imports a module from there, and does not change `sys.path` itself. `programs`: path → text."""
    names = names_in(root, programs)
    for path, text in programs.items():
        folder = str(PurePosixPath(path).parent)
        is_inside = folder == root or f"{folder}/__init__.py" in paths or (root != "." and is_below(path, root))
        if is_inside or "sys.path" in text or names.isdisjoint(_WORD.findall(text)):
            continue
        own = path.split("/")[0] if root == "." else ""
        beside = names_in(folder, [other for other in programs if is_below(other, folder)])
        modules = [module for module in dotted_modules_asked(text) if module.partition(".")[0] not in {own, *beside}]
        if any(file_of_module(module, root, paths) for module in modules):
            return True
    return False


def _is_found(room: Path, name: str, places: tuple[str, str], on_base: Collection[str]) -> bool:
    """Whether the second of these places has a module or package of this name that Python finds.

    If neither place has one, Python joins their folders of this name that have no `__init__.py`. Then new files in the
    second place's folder count, too.
    """
    root, other = places
    if has_module(room / other, name) or root == "." or has_module(room / root, name):
        return has_module(room / other, name)
    parts = (str(path.relative_to(room)) for path in (room / other / name).rglob("*.py"))
    return any(path not in on_base and not is_below(path, f"{root}/{name}") and not is_test(path) for path in parts)


def _has_code(root: Path, name: str) -> bool:
    return has_module(root, name) or (root / name).is_dir()


def _names_on_base(root: str, on_base: Collection[str]) -> frozenset[str]:
    """The names of the files and folders that the base has directly in this folder, without the suffix `.py`. In a
    folder below the top, only Python files and folders with Python files count."""
    if root == ".":
        return frozenset(path.split("/")[0].removesuffix(".py") for path in on_base)
    inner = (path.removeprefix(f"{root}/") for path in on_base if path.startswith(f"{root}/") and path.endswith(".py"))
    return frozenset(path.split("/")[0].removesuffix(".py") for path in inner)


def roots_for_commands(room: Path, contract: Contract) -> tuple[str, ...]:
    """The import folders for commands: only those that the contract names. From any other folder, the tools that a
    command starts could import modules of the head in place of the tools' own."""
    return paths_in_room(room, contract.environment.path) if contract.environment.path else ()


def modules_of_project(paths: Iterable[str], roots: Iterable[str]) -> frozenset[str]:
    """Top-level modules that the project's own folders provide. If one of these cannot be imported, that is the
    project's fault, never the environment's."""
    code = [PurePosixPath(path) for path in paths if path.endswith((".py", ".so", ".pyx"))]
    places = {PurePosixPath(root) for root in roots} | {path.parent for path in code if is_test(str(path))}
    modules = set()
    for path in code:
        for place in places.intersection(path.parents):
            modules.add(path.relative_to(place).parts[0].split(".")[0])
    return frozenset(modules)
