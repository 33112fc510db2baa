"""Finds the project folders of a commit: folders below the top that have a manifest of their own. Does no I/O.

If the top is itself a project of a language, the commit has no project folders of this language: what such a project
runs and imports is decided at the top alone.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from trued.proof.room.frozen_files import is_test
from trued.proof.text.python_imports import dotted_modules_asked
from trued.support.lazy_regex import lazy_regex

# Folders whose manifests do not belong to the project.
ASIDE = lazy_regex(
    r"\..*|build|dist|docs?|(?:example|fixture|sample|script|test|tool)s?|node_modules|third_party|vendor|venv"
)
_PYTHON = lazy_regex(r"pyproject\.toml|setup\.(?:py|cfg)|Pipfile|\.?pytest\.ini|requirements[\w.-]*\.(?:txt|in)")
_LISTS = "requirements"  # a folder with the lists of packages of the folder above
# Further files that make the top a Python project, because they decide how Python tests run there.
_AT_TOP = frozenset(("conftest.py", "tox.ini", "noxfile.py"))
SHARED = (".", "src")  # where code lies that belongs to no project folder
_WORD = lazy_regex(r"[A-Za-z_]\w*")
_NOT_IMPORTED = frozenset(("setup", "conftest", "noxfile", "manage"))  # modules that only tools load, or people start


@dataclass(frozen=True, slots=True)
class ProjectFolders:
    """The project folders of a commit by language."""

    python: tuple[str, ...] = ()
    node: tuple[str, ...] = ()
    go: tuple[str, ...] = ()


def project_folders(paths: Collection[str]) -> ProjectFolders:
    """The project folders among these paths of a commit. A folder inside another project of its language belongs to
    that project, except for Go, where each module has its own tests."""
    python = {_python_folder(path) for path in paths} - {None}
    node = {_folder(path) for path in paths if PurePosixPath(path).name == "package.json"}
    go = {_folder(path) for path in paths if PurePosixPath(path).name == "go.mod"}
    return ProjectFolders(
        python=()
        if not _AT_TOP.isdisjoint(paths)
        else _outermost(_own(folder for folder in python if folder is not None)),
        node=_outermost(_own(node)),
        go=_own(go),
    )


def import_roots(paths: Collection[str]) -> tuple[str, ...]:
    """The folders, besides the top and `src`, from which the Python projects of these paths import: each project
    folder, and its `src`.

    Left out are folders with a top-level module that another folder has, too, because nobody can know which of the two
    is meant. Folders with a module that is named like one of Python's own are left out, too.
    """
    folders = project_folders(paths).python
    places = [place for folder in folders for place in (folder, f"{folder}/src")]
    code = [path for path in paths if path.endswith((".py", ".pyx", ".so")) and not is_test(path)]
    paths_below = {place: list[str]() for place in (".", "src", *places)}
    for path in code:
        for folder in PurePosixPath(path).parents:
            if str(folder) in paths_below:
                paths_below[str(folder)].append(path)
    modules = {place: top_level_modules(place, paths_below[place]) for place in places}
    modules_of_places = {".": _regular(".", paths_below["."]), "src": _regular("src", paths_below["src"]), **modules}
    owners = Counter(name for names in modules_of_places.values() for name in names)
    roots = [
        place
        for place in places
        if modules[place]
        and f"{place}/__init__.py" not in paths
        and _regular(place, paths_below[place]).isdisjoint(sys.stdlib_module_names)
        and all(owners[name] == 1 for name in modules[place])
    ]
    return tuple(roots)


def owners_of_modules(paths: Iterable[str], roots: Collection[str]) -> dict[str, str]:
    """Top-level module → the one of these import roots that has it."""
    below = {root: list[str]() for root in roots}
    for path in paths:
        for folder in PurePosixPath(path).parents if path.endswith(".py") and not is_test(path) else ():
            if str(folder) in below:
                below[str(folder)].append(path)
    return {name: root for root, inner in below.items() for name in top_level_modules(root, inner)}


def roots_by_project(
    paths: Collection[str], roots: Collection[str], texts: Mapping[str, str]
) -> dict[str, frozenset[str]]:
    """Project folder → the folders in which the project's programs find modules. These are the import roots (of
    `roots`) of the project itself, and of every project that its code imports, directly or through other code. The
    repository's top folder and its `src` are added only if this code imports a module from there. All other folders may
    be missing where the project is installed.

    `texts`: path → text of the Python files of the commit, without tests.
    """
    projects, known = project_folders(paths).python, frozenset(paths)
    own_roots = {folder: {root for root in roots if root in (folder, f"{folder}/src")} for folder in projects}
    project_of = {root: folder for folder, roots_of_folder in own_roots.items() for root in roots_of_folder}
    owners = {name: root for name, root in owners_of_modules(paths, roots).items() if root in project_of}
    shared = {name for place in SHARED for name in names_in(place, paths)}
    texts_of = defaultdict[str, list[str]](list)
    for path, text in texts.items():
        texts_of[_piece(path, projects)].append(text)
    places, pieces = dict[str, set[str]](), dict[str, set[str]]()  # what each piece of code that was read imports

    def read(piece: str) -> None:
        places[piece], pieces[piece] = set(), set()
        own_names = {name for name, root in owners.items() if project_of[root] == piece and name not in shared}
        names = {*owners, *shared} - own_names
        for text in texts_of[piece]:
            # Only texts that contain one of these names are parsed, because to parse all texts would take long.
            for module in set[str]() if names.isdisjoint(_WORD.findall(text)) else dotted_modules_asked(text):
                root = owners.get(module.partition(".")[0], "")
                pieces[piece] |= {project_of[root]} if root else set()
                for place in SHARED:
                    file = file_of_module(module, place, known)
                    if file and not (root and file_of_module(module, root, known)):
                        places[piece].add(place)
                        pieces[piece].add(_piece(file, projects))

    found = dict[str, frozenset[str]]()
    for project in projects:
        reached, waiting = {project}, [project]
        while waiting:
            piece = waiting.pop()
            if piece not in pieces:
                read(piece)
            waiting += pieces[piece] - reached
            reached |= pieces[piece]
        found[project] = frozenset(place for piece in reached for place in (*own_roots.get(piece, ()), *places[piece]))
    return found


def names_in(place: str, paths: Iterable[str]) -> frozenset[str]:
    """The names of all Python modules in this folder, and of all folders there with Python files."""
    inner_paths = (_below(place, path) for path in paths if path.endswith(".py"))
    return frozenset(parts[0].removesuffix(".py") for parts in inner_paths if parts)


def _piece(path: str, projects: Collection[str]) -> str:
    """The project folder that contains this file. For a file outside all project folders, the path of its top-level
    module or package instead, as a folder: `./kit/` or `src/kit/`."""
    project = next((str(above) for above in PurePosixPath(path).parents if str(above) in projects), "")
    place = "src" if path.startswith("src/") else "."
    return project or f"{place}/{_below(place, path)[0].removesuffix('.py')}/"


def file_of_module(module: str, place: str, paths: Collection[str]) -> str:
    """The file of a module that is found in this folder; "" if there is none."""
    stem = str(PurePosixPath(place) / module.replace(".", "/"))
    return next((path for path in (f"{stem}/__init__.py", f"{stem}.py") if path in paths), "")


def top_level_modules(place: str, paths: Iterable[str]) -> frozenset[str]:
    """The top-level names by which code imports the files below this folder, if Python looks for modules there. Names
    for tools and tests are left out."""
    inner_paths = [_below(place, path) for path in paths]
    names = {parts[0].partition(".")[0] for parts in inner_paths if parts and (len(parts) > 1 or "." in parts[0])}
    return frozenset(name for name in names - _NOT_IMPORTED - {"src", ""} if not ASIDE.fullmatch(name))


def _regular(place: str, paths: Iterable[str]) -> frozenset[str]:
    """Like `top_level_modules`, but only names of modules, and of packages with an `__init__.py`."""
    inner_paths = [(path, _below(place, path)) for path in paths]
    return top_level_modules(
        place, [path for path, parts in inner_paths if len(parts) == 1 or parts[1:] == ("__init__.py",)]
    )


def regular_modules(place: str, paths: Iterable[str]) -> frozenset[str]:
    """The modules in this folder, and the packages with an `__init__.py`. Python finds each of these before a folder of
    the same name without an `__init__.py`."""
    inner_paths = [_below(place, path) for path in paths]
    modules = {
        name.removesuffix(".py") for name, *more in filter(None, inner_paths) if name.endswith(".py") and not more
    }
    modules |= {parts[0].partition(".")[0] for parts in inner_paths if parts and parts[0].endswith((".so", ".pyd"))}
    return frozenset(modules | {parts[0] for parts in inner_paths if parts[1:] == ("__init__.py",)})


def _below(place: str, path: str) -> tuple[str, ...]:
    """The parts of a path below a folder; () if the path is not in the folder."""
    if place == ".":
        return tuple(path.split("/"))
    return tuple(path[len(place) + 1 :].split("/")) if path.startswith(f"{place}/") else ()


def _python_folder(path: str) -> str | None:
    """The folder of the Python project to which this manifest belongs; None if the file is no manifest."""
    pure = PurePosixPath(path)
    if pure.parent.name == _LISTS and pure.suffix in (".txt", ".in"):
        return _folder(str(pure.parent))
    return _folder(path) if _PYTHON.fullmatch(pure.name) else None


def _folder(path: str) -> str:
    folder = PurePosixPath(path).parent
    return "" if str(folder) == "." else str(folder)


def _own(folders: Iterable[str]) -> tuple[str, ...]:
    """These folders without those of tests, examples and other people's code. () if the top is among the folders."""
    distinct = {*folders}
    if "" in distinct:
        return ()
    return tuple(
        sorted(folder for folder in distinct if not any(ASIDE.fullmatch(part) for part in PurePosixPath(folder).parts))
    )


def _outermost(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(folder for folder in folders if {*map(str, PurePosixPath(folder).parents)}.isdisjoint(folders))
