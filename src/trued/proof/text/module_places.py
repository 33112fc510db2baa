"""Finds the files that a Python import may load, if Python looks beside the importing file, above it and in `src`.

Python may load fewer files than are found here, because it is unknown where it really looks.
"""

import posixpath
from collections.abc import Iterable
from pathlib import PurePosixPath

from trued.proof.text.python_imports import imported_modules


def may_import(path: str, text: str, target: str) -> bool:
    """Whether the file `path`, which has this text, may import the Python file `target`."""
    place = target.removesuffix("/__init__.py").removesuffix(".py")
    return path.endswith(".py") and place in possible_places(path, imported_modules(text))


def possible_places(path: str, modules: Iterable[str]) -> frozenset[str]:
    """The paths, without their suffix, at which the file `path` may find these modules."""
    names, folders = [module.replace(".", "/") for module in modules], ["src", *map(str, PurePosixPath(path).parents)]
    return frozenset(posixpath.normpath(f"{folder}/{name}") for folder in folders for name in names)
