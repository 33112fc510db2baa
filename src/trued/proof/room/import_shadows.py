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
    """The added files that would be imported instead of a module from `others` (standard library, installed packages)
    that a frozen test imports.
    """
    imported_others = top_level_imports(tests.values()) & frozenset(others)
    return [path for path in added if _name(path, folders) in imported_others] if imported_others else []


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
    script_folders = {str(PurePosixPath(path).parent) for path, text in texts.items() if _IS_STARTED.search(text)}
    added_modules = [(path, _name(path, {*folders, *script_folders})) for path in added]
    added_modules = [(path, name) for path, name in added_modules if name in standard or name in others]
    if not added_modules:
        return []
    imported = top_level_imports(texts.values())
    imported |= _imported_by_python(imported & frozenset(standard))
    return [path for path, name in added_modules if name in imported]


def _imported_by_python(modules: Iterable[str]) -> frozenset[str]:
    """The modules that are loaded with these modules of Python's own, at any depth."""
    unread, loaded = [*modules], set[str]()
    library = Path(sysconfig.get_path("stdlib"))
    while unread:
        name = unread.pop()
        if name not in loaded:
            loaded.add(name)
            files = [library / f"{name}.py", *(library / name).glob("*.py")]
            texts = [file.read_text(errors="replace") for file in files if file.is_file()]
            unread += top_level_imports("\n".join(_AT_ONCE.findall(text)) for text in texts)
    return frozenset(loaded)


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
