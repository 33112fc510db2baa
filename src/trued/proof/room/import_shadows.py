"""Finds new files that shadow a module imported by frozen tests, such as a `decimal.py` next to them. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

_IMPORTED = re.compile(r"^\s*(?:from\s+([A-Za-z_]\w*)|import\s+(.+))", re.MULTILINE)
_TOP = re.compile(r"\s*([A-Za-z_]\w*)")


def top_level_imports(texts: Iterable[str]) -> frozenset[str]:
    """Top-level modules that these test files import."""
    found: set[str] = set()
    for text in texts:
        for one, several in _IMPORTED.findall(text):
            names = [one] if one else [match.group(1) for part in several.split(",") if (match := _TOP.match(part))]
            found.update(names)
    return frozenset(found)


def shadowing_files(
    added: Iterable[str], folders: Collection[str], tests: Mapping[str, str], others: Collection[str]
) -> list[str]:
    """The added files that would be imported instead of a module from `others` (standard library, installed packages)
    that a frozen test imports.
    """
    wanted = top_level_imports(tests.values()) & frozenset(others)
    return [path for path in added if _name(path, folders) in wanted] if wanted else []


def _name(path: str, folders: Collection[str]) -> str:
    """The top-level module that this file is or belongs to; "" if there is none."""
    pure = PurePosixPath(path)
    if pure.suffix not in (".py", ".so", ".pyd"):
        return ""
    for folder in (PurePosixPath(one) for one in folders):
        if pure.is_relative_to(folder):
            inner = pure.relative_to(folder).parts
            if len(inner) == 1:
                return inner[0].split(".")[0]
            if len(inner) == 2 and inner[1] == "__init__.py":
                return inner[0]
    return ""
