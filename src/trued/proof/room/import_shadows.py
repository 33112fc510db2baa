"""Finds new files that shadow a module that the project or a frozen test imports, such as a new `decimal.py`."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from trued.proof.room.frozen_files import is_test
from trued.proof.room.project_folders import regular_modules, top_level_modules
from trued.support.lazy_regex import lazy_regex

_IMPORTED = lazy_regex(r"^\s*(?:from\s+([A-Za-z_]\w*)|import\s+(.+))", re.MULTILINE)
_AT_ONCE = lazy_regex(r"^(?:from|import)\b.*", re.MULTILINE)  # at the top level, under no condition
_IS_STARTED = lazy_regex(r"^if\s+__name__\s*==|^#!", re.MULTILINE)
_TOP = lazy_regex(r"\s*([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class StandardLibrary:
    """The modules that come with the Python of the checks, which may be of another version than the engine's."""

    modules: frozenset[str]
    folder: str

    def imported_by(self, modules: Iterable[str]) -> frozenset[str]:
        """These modules of the library, and all modules that they import as soon as they are loaded, at any depth."""
        unread, loaded = [*modules], set[str]()
        library = Path(self.folder)
        while unread:
            name = unread.pop()
            if name not in loaded:
                loaded.add(name)
                files = [library / f"{name}.py", *(library / name).glob("*.py")]
                texts = [file.read_text(errors="replace") for file in files if file.is_file()]
                unread += top_level_imports("\n".join(_AT_ONCE.findall(text)) for text in texts)
        return frozenset(loaded)


def top_level_imports(texts: Iterable[str]) -> frozenset[str]:
    """Top-level modules that these Python texts import."""
    modules: set[str] = set()
    for text in texts:
        for from_module, imported in _IMPORTED.findall(text):
            names = (
                [from_module]
                if from_module
                else [match.group(1) for part in imported.split(",") if (match := _TOP.match(part))]
            )
            modules.update(names)
    return frozenset(modules)


def shadowing_files(
    added: Iterable[str], folders: Collection[str], tests: Mapping[str, str], others: Collection[str]
) -> list[str]:
    """The added files that a frozen test would import instead of a module of the standard library or of an installed
    package (`others`)."""
    imported_others = top_level_imports(tests.values()) & frozenset(others)
    return [path for path in added if _name(path, folders) in imported_others] if imported_others else []


def files_in_place_of_others(
    added: Iterable[str],
    folders: Collection[str],
    texts: Mapping[str, str],
    standard: StandardLibrary,
    others: Collection[str],
) -> list[str]:
    """The added files that Python would load instead of a module of its standard library (`standard`) or of a package
    (`others`). Only modules count that the project imports, directly or through the standard library.

    `texts`: path → text of the base's Python files. Python looks in `folders`, and in the folder of a script that it
    starts.
    """
    script_folders = {str(PurePosixPath(path).parent) for path, text in texts.items() if _IS_STARTED.search(text)}
    added_modules = [(path, _name(path, {*folders, *script_folders})) for path in added]
    added_modules = [(path, name) for path, name in added_modules if name in standard.modules or name in others]
    if not added_modules:
        return []
    imported = top_level_imports(texts.values())
    imported |= standard.imported_by(imported & standard.modules)
    return [path for path, name in added_modules if name in imported]


def namesakes_among_tests(
    paths: Iterable[str],
    known: Collection[str],
    folders: Collection[str],
    tests: Mapping[str, str],
    packages: Sequence[Collection[str]],
) -> dict[str, str]:
    """Path → module of the product, for each of these files that tests of the base would load in place of this module.
    Tests do so because a runner looks for modules in the folder of a test first.

    `known`: all files of the base. `folders`: the folders from which checks import. `tests`: path → text of the base's
    tests. `packages`: the folders with an `__init__.py`, first on the base, then on the head.
    """
    product = [path for path in known if not is_test(path)]
    modules = {name for folder in folders for name in top_level_modules(folder, product)}
    regular = {name for folder in folders for name in regular_modules(folder, product)}
    imported = modules & top_level_imports(tests.values())
    if not imported:
        return {}
    places = {_place(path, inside) for path in tests for inside in packages} - {*folders}
    found: dict[str, str] = {}
    for path in paths:
        for place in places:
            inner = PurePosixPath(path).relative_to(place).parts if PurePosixPath(path).is_relative_to(place) else ()
            name = inner[0].split(".")[0] if inner else ""
            is_module = len(inner) == 1 and PurePosixPath(path).suffix in (".py", ".so", ".pyd", "")  # "": a link
            # A folder without `__init__.py` takes the place only of another folder without one.
            is_package = len(inner) > 1 and (
                name not in regular or any(str(PurePosixPath(place, name)) in inside for inside in packages)
            )
            if name in imported and (is_module or is_package):
                found[path] = name
    return found


def _place(test: str, packages: Collection[str]) -> str:
    """The folder in which a runner looks first for what this test imports: the nearest folder above the test that is no
    package."""
    return next((str(folder) for folder in PurePosixPath(test).parents if str(folder) not in packages), ".")


def _name(path: str, folders: Collection[str]) -> str:
    """The top-level module that this file is or belongs to; "" if there is none."""
    pure = PurePosixPath(path)
    if pure.suffix not in (".py", ".so", ".pyd"):
        return ""
    for folder in map(PurePosixPath, folders):
        if pure.is_relative_to(folder):
            inner = pure.relative_to(folder).parts
            if len(inner) == 1:
                return inner[0].split(".")[0]
            if len(inner) == 2 and inner[1] == "__init__.py":
                return inner[0]
    return ""
