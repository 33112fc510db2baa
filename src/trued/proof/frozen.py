"""Which files decide how tests are judged: they come from the base, whatever the head did to them."""

import configparser
import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from trued.types import CommandCheck, Requirement, TestsCheck

CONFIGURATION = ("conftest.py", "pytest.ini", ".pytest.ini")  # read by pytest alone: nothing else can need the head's
SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
CONFIGURED = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")  # in pytest's own order


def is_configuration(path: str) -> bool:
    return PurePosixPath(path).name in CONFIGURATION


def is_test(path: str) -> bool:
    """Test modules by name; all else in a folder `tests`, or in the project's own folder `test`, belongs to them."""
    pure = PurePosixPath(path)
    named = fnmatchcase(pure.name, "test_*.py") or fnmatchcase(pure.name, "*_test.py")
    return named or "tests" in pure.parts[:-1] or (pure.parts[0] == "test" and len(pure.parts) > 1)


def is_compiled(path: str) -> bool:
    """Compiled code can say something else than its source, and is never what was reviewed."""
    return path.endswith((".pyc", ".pyo")) or "__pycache__" in PurePosixPath(path).parts


def below(path: str, named: str) -> bool:
    clean = named.removeprefix("./").rstrip("/")
    return path == clean or path.startswith(f"{clean}/") or clean in ("", ".")


def frozen(requirements: Iterable[Requirement], blobs: Mapping[str, str]) -> dict[str, str]:
    """Path → blob on base; "" for a file that a check names and that base does not have."""
    checks = [one for each in requirements for one in each.checks if isinstance(one, TestsCheck | CommandCheck)]
    if not checks:
        return {}
    found = {path: blob for path, blob in blobs.items() if is_configuration(path) or is_test(path)}
    for named in {name for check in checks for name in check.files}:
        matching = {path: blob for path, blob in blobs.items() if below(path, named)}
        found |= matching or {named: ""}
    return dict(sorted(found.items()))


def configures(path: str, text: str) -> bool:
    """Would pytest take its configuration from this file?"""
    name = PurePosixPath(path).name
    if name in ("pytest.ini", ".pytest.ini"):
        return True
    try:
        if name == "pyproject.toml":
            return "ini_options" in tomllib.loads(text).get("tool", {}).get("pytest", {})
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        return parser.has_section(SECTIONS[name])
    except (tomllib.TOMLDecodeError, configparser.Error):
        return False


def candidates(anchors: Iterable[str]) -> list[str]:
    """Where pytest looks for its configuration: from the arguments' common folder upwards."""
    folders = [PurePosixPath(one.split("::")[0]) for one in anchors]
    shared = folders[0] if folders else PurePosixPath(".")
    for folder in folders[1:]:
        while shared != folder and shared not in folder.parents and shared != PurePosixPath("."):
            shared = shared.parent
    line = [shared, *shared.parents] if shared != PurePosixPath(".") else [shared]
    return [str(folder / name) for folder in line for name in CONFIGURED]
