"""Names code that a change altered: a file, or one piece of a file."""

from pathlib import PurePosixPath
from typing import NamedTuple


class CodePiece(NamedTuple):
    """A file, or one function, class or other piece of its code. As text: `file`, or `file (name)`."""

    path: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.path} ({self.name})" if self.name else self.path


def last_part(name: str) -> str:
    """What follows the last dot of a name."""
    return name.rpartition(".")[2]


def module_name(path: str) -> str:
    """The last part of the name by which a Python file is imported."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.name == "__init__.py" else pure.stem


def names_in_imports(path: str) -> set[str]:
    """Names by which imports may mention this file: its name without ending, and each folder above it."""
    pure = PurePosixPath(path)
    return {pure.stem, *pure.parts[:-1]}
