"""Decides which files only developers use: tests, settings of tools, build files and files in folders like `scripts`.

A file for developers may use packages that only developers install. A file is not for developers if changed code of the
product imports it.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from trued.proof.dependencies.source_imports import read_source
from trued.proof.room.frozen_files import is_test
from trued.proof.text.script_aliases import is_settings
from trued.proof.text.script_imports import imported_names
from trued.support.lazy_regex import lazy_regex

DRIVEN = ("setup.py", "Gemfile", "noxfile.py", "tasks.py", "dodo.py", "conftest.py")  # code that may install packages
_AT_THE_TOP = ("tasks.py", "dodo.py")  # further down, a module of the product may have such a name
# Folders beside the manifest. Only at the top, because a product may have an inner package called `tools`.
_FOLDERS = frozenset(
    {
        *("tools", "tool", "scripts", "docs", "doc", "examples", "example", "bench", "benchmarks", "dev", "ci", "e2e"),
        *("cypress", "stories", "tasks"),
    }
)
_NAMES_FOR_DEVELOPERS = lazy_regex(
    r"[\w.-]*\.(?:config|conf|stories|bench|setup)\.\w+|\.[\w-]+rc\.\w+|(?:gulp|grunt)file\.\w+", re.IGNORECASE
)
_PYTHON_IMPORT = lazy_regex(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import\b([^\n#;(]*(?:\([^)]*\))?)", re.MULTILINE)


class DevelopmentFiles:
    """Tells files of the product from files that only developers use."""

    def __init__(self, changed: Mapping[str, str]) -> None:
        """`changed`: path → text of the changed code."""
        product = {path: text for path, text in changed.items() if not is_for_developers(path)}
        self._imported = {word for path, text in product.items() for word in _imported_words(path, text)}

    def contains(self, path: str, folder: str = "") -> bool:
        """Whether only developers use the file. `folder`: the folder of the package to which the file belongs."""
        return is_for_developers(path, folder) and self._imported.isdisjoint(_marks(path, folder))


def is_for_developers(path: str, folder: str = "") -> bool:
    pure = PurePosixPath(path)
    inside = posixpath.relpath(path, folder or ".")
    driven = pure.name in DRIVEN and (pure.name not in _AT_THE_TOP or inside == pure.name)
    if is_test(path) or is_settings(path) or driven or _NAMES_FOR_DEVELOPERS.fullmatch(pure.name):
        return True
    return _is_folder_for_developers(inside.split("/"))


def _is_folder_for_developers(parts: list[str]) -> bool:
    return len(parts) > 1 and (parts[0] in _FOLDERS or (parts[0][:1] == "." and parts[0] != ".."))


def _marks(path: str, folder: str) -> set[str]:
    """The words by which an import would name the file. These are the names of the folders above it that are for
    developers or tests; without such a folder, the file's own name."""
    parts = posixpath.relpath(path, folder or ".").split("/")
    marks = {part for at, part in enumerate(parts[:-1]) if is_test("/".join((*parts[: at + 1], "x.py")))}
    marks |= {parts[0]} if _is_folder_for_developers(parts) else set()
    return marks or {PurePosixPath(path).stem}


def _imported_words(path: str, text: str) -> Iterable[str]:
    if not path.endswith(".py"):
        return {re.sub(r"\.[cm]?[jt]sx?$", "", part) for name in imported_names(text) for part in name.split("/")}
    words = [word for groups in _PYTHON_IMPORT.findall(text) for names in groups for word in re.findall(r"\w+", names)]
    return {*words, *read_source(path, text).imports}
