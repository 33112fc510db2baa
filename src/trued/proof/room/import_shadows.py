"""Finds new files that shadow a module that the project or a frozen test imports, such as a new `decimal.py`."""

import re
import sysconfig
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

_IMPORTED = re.compile(r"^\s*(?:from\s+([A-Za-z_]\w*)|import\s+(.+))", re.MULTILINE)
_AT_ONCE = re.compile(r"^(?:from|import)\b.*", re.MULTILINE)  # not inside a function, or only under some condition
_IS_STARTED = re.compile(r"^if\s+__name__\s*==|^#!", re.MULTILINE)
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


def files_in_place_of_others(
    added: Iterable[str],
    folders: Collection[str],
    texts: Mapping[str, str],
    standard: Collection[str],
    others: Collection[str],
) -> list[str]:
    """The added files that Python would load instead of a module of its own (`standard`) or of a package (`others`), if
    the project imports that module. What Python's own modules import counts, too.

    `texts`: path → text of the base's Python files. Python looks in `folders`, and in the folder of a script that it
    starts.
    """
    started = {str(PurePosixPath(path).parent) for path, text in texts.items() if _IS_STARTED.search(text)}
    named = [(path, _name(path, {*folders, *started})) for path in added]
    named = [(path, name) for path, name in named if name in standard or name in others]
    if not named:
        return []
    imported = top_level_imports(texts.values())
    imported |= _imported_by_python(imported & frozenset(standard))
    return [path for path, name in named if name in imported]


def _imported_by_python(modules: Iterable[str]) -> frozenset[str]:
    """The modules that are loaded with these modules of Python's own, at any depth."""
    left, found = [*modules], set[str]()
    library = Path(sysconfig.get_path("stdlib"))
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            files = [library / f"{name}.py", *(library / name).glob("*.py")]
            texts = [one.read_text(errors="replace") for one in files if one.is_file()]
            left += top_level_imports("\n".join(_AT_ONCE.findall(text)) for text in texts)
    return frozenset(found)


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
