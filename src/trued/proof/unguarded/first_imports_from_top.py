"""Searches for the reason `first_imports_from_top`."""

import sys
from collections.abc import Collection, Mapping

from trued.proof.room.frozen_files import is_below, is_test
from trued.proof.room.import_folders import projects_of_base
from trued.proof.room.project_folders import SHARED, file_of_module, names_in
from trued.proof.text.python_imports import dotted_modules_asked, strings_in
from trued.proof.unguarded.change.tried_change import TriedChange
from trued.support.lazy_regex import lazy_regex

_LOADS = r"import_module|__import__|find_spec|load_module|resolve_name|run_module|run_path|spec_from_\w+"
_BY_NAME = lazy_regex(rf"\b(?:{_LOADS}|exec|eval)\b")
# The name of a module, or code, that is computed.
_COMPUTED = lazy_regex(rf"(?:\b(?:{_LOADS})|(?<![\w.])(?:exec|eval))\((?!\s*[\"'][^\"']*[\"']\s*[,)])")
_WORD = lazy_regex(r"[A-Za-z_]\w*")
_NAME = lazy_regex(r"[A-Za-z_][\w.]*")


async def first_imports_from_top(tried: TriedChange) -> list[str]:
    """Catches code of a project folder that works in checks only: it imports a module from the top of the repository or
    from its `src`, where every program of a check finds it. A project that is installed, or started in its own folder,
    does not find it.

    Returns the files of project folders that begin to import modules from there.
    """
    known, here = await tried.sides.blobs()
    places = await projects_of_base(tried.workspace, tried.contract, with_top=True)
    code = [path for path in here if path.endswith(".py") and any(is_below(path, folder) for folder in places)]
    if not code:
        return []
    used = {*await tried.files.code()}
    texts = await tried.sides.read([path for path in code if not is_test(path) or path in used])
    return _first_imports(texts, (known, here), places, tried.contract.project_roots)


def _first_imports(
    sides: tuple[Mapping[str, str], Mapping[str, str]],
    known: tuple[Collection[str], Collection[str]],
    places: Mapping[str, frozenset[str]],
    roots: Collection[str],
) -> list[str]:
    """The head's files in project folders that import a module from the top or from `src`, if no file of their project
    does so on the base. If the change adds a module at the top or in `src`, the result also has each file that computes
    names of modules more often than on the base.

    `sides`: path → text of the Python files of project folders, on base and head. `known`: all paths, on base and head.
    `places`: project folder → where it finds modules on the base (see `roots_by_project`). `roots`: all import roots.
    """
    (before, after), (on_base, on_head) = sides, known
    changes = [path for path in on_head if path.endswith(".py") and path not in on_base]
    importing = list[str]()
    for folder, found in places.items():
        own = {root for root in {folder, f"{folder}/src"} & {*roots}}
        strange = [place for place in SHARED if place not in found]
        if not own or not strange:
            continue  # code of this project is started at the top, where it finds these modules
        has_new = any(_lies_in(path, strange, places) for path in changes)
        names = frozenset[str]().union(*(names_in(place, on_head) for place in strange))
        for path, text in after.items():
            if is_below(path, folder) and (
                any(
                    file_of_module(module, place, on_head)
                    and not any(file_of_module(module, root, on_base) for root in own | (found - {*SHARED}))
                    for module in (set[str]() if names.isdisjoint(_WORD.findall(text)) else _modules(text))
                    for place in strange
                )
                or (has_new and len(_COMPUTED.findall(text)) > len(_COMPUTED.findall(before.get(path, ""))))
            ):
                importing.append(path)
    return sorted(importing)


def _modules(text: str) -> set[str]:
    """The modules that this text imports, or may import by a name in one of its strings."""
    modules = dotted_modules_asked(text)
    if _BY_NAME.search(text):
        modules |= {name.rstrip(".") for words in strings_in(text) for name in _NAME.findall(words)}
    return {module for module in modules if module.partition(".")[0] not in sys.stdlib_module_names}


def _lies_in(path: str, places: Collection[str], projects: Collection[str]) -> bool:
    """Whether this file lies in one of these places, and in no project folder. A place is `src` or the top (`.`); the
    top has all files that are not in `src`."""
    place = "src" if path.startswith("src/") else "."
    return place in places and not any(is_below(path, folder) for folder in projects)
