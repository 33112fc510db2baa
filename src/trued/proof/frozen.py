"""Which files decide how tests are judged: they come from the base, whatever the head did to them."""

import configparser
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from trued.types import CommandCheck, Requirement, TestsCheck

CONFIGURATION = ("conftest.py", "pytest.ini", ".pytest.ini")  # read by pytest alone: nothing else can need the head's
SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
CONFIGURED = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")  # in pytest's own order


CUSTOMIZING = ("sitecustomize", "usercustomize")  # loaded by every Python that finds them, before anything else
DRIVERS = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "inv": ("tasks.py",),
    "invoke": ("tasks.py",),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json", ".npmrc")),
}
_SHELLS = re.compile(r"(ba|da|z|k)?sh|python(\d(\.\d+)?)?|node|perl|ruby|make|gmake|source|\.|env|exec|time")
_TESTING = re.compile(rb"^\s*(async\s+)?def test|^class Test|unittest", re.MULTILINE)


def is_configuration(path: str) -> bool:
    return PurePosixPath(path).name in CONFIGURATION or is_customizing(path)


def is_customizing(path: str) -> bool:
    return any(part.split(".")[0] in CUSTOMIZING for part in PurePosixPath(path).parts)


def is_test(path: str) -> bool:
    """Test modules by name, and all that belongs to them."""
    return named_like_a_test(path) or among_tests(path)


def named_like_a_test(path: str) -> bool:
    name = PurePosixPath(path).name
    return fnmatchcase(name, "test_*.py") or fnmatchcase(name, "*_test.py")


def among_tests(path: str) -> bool:
    """All that is in a folder `tests`, or in the project's own folder `test`."""
    parts = PurePosixPath(path).parts
    return "tests" in parts[:-1] or (parts[0] == "test" and len(parts) > 1)


def holds_tests(path: str, content: bytes) -> bool:
    """For runners that name no ids: a product's module may be called `t_test.py`, too."""
    return named_like_a_test(path) and bool(_TESTING.search(content))


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
    found = {path: blob for path, blob in blobs.items() if is_configuration(path) or among_tests(path)}
    for named in {name for check in checks for name in check.files}:
        matching = {path: blob for path, blob in blobs.items() if below(path, named)}
        found |= matching or {named: ""}
    for check in checks:
        if isinstance(check, CommandCheck) and not check.files:
            found |= _drivers(check.command, blobs)
    return dict(sorted(found.items()))


def collected(ids: Iterable[str], blobs: Mapping[str, str]) -> dict[str, str]:
    """The files that held what was counted on the base, whatever they are called."""
    files = {one.split("::")[0] for one in ids}
    return {path: blobs[path] for path in sorted(files & blobs.keys())}


def _drivers(command: str, blobs: Mapping[str, str]) -> dict[str, str]:
    """What decides the meaning of a command that names no files: its build file, and scripts that it starts."""
    found: dict[str, str] = {}
    for words in _simple_commands(command):
        family = DRIVERS.get(PurePosixPath(words[0]).name, ())
        if any(name in blobs for name in family):
            found |= {name: blobs.get(name, "") for name in family}
        script = words[0]
        if _SHELLS.fullmatch(PurePosixPath(words[0]).name):
            script = next((one for one in words[1:] if not one.startswith("-")), "")
        path = script.removeprefix("./")
        if path in blobs:
            found[path] = blobs[path]
    return found


def _simple_commands(command: str) -> list[list[str]]:
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return []
    commands: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set("();<>|&"):
            commands.append([])
        elif commands[-1] or not re.match(r"\w+=", word):
            commands[-1].append(word)
    return [one for one in commands if one]


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
