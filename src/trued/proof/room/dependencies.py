"""The dependencies that a commit declares, read as text from its manifests and lock files. Nothing is run. Pure."""

import configparser
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from packaging.markers import UndefinedEnvironmentName, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile")
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
_LISTS = re.compile(
    r"(requirements/)?([\w.-]*-)?(requirements|tests?|testing|dev)([-_.](tests?|testing|dev))?\.(txt|in)"
)
TESTING, WORKING = ("test", "tests", "testing"), ("dev", "develop", "development")
# Programs that no test imports: where nothing else is missing, nothing is built for their sake.
TOOLS = frozenset(
    {
        *("black", "build", "coverage", "flake8", "isort", "mkdocs", "mypy", "nox", "pre-commit", "pylint", "pyright"),
        *("pytest", "ruff", "setuptools", "sphinx", "tox", "twine", "uv", "wheel"),
    }
)
# Modules that are called otherwise than what brings them, as far as one cannot be guessed from the other.
BROUGHT_BY = {
    "bs4": "beautifulsoup4", "cv2": "opencv-python", "Crypto": "pycryptodome", "git": "gitpython", "jwt": "pyjwt",
    "OpenSSL": "pyopenssl", "PIL": "pillow", "serial": "pyserial", "sklearn": "scikit-learn", "yaml": "pyyaml",
    "zmq": "pyzmq", "attr": "attrs", "pkg_resources": "setuptools", "google": "protobuf", "win32api": "pywin32",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declarations:
    """Requirements by name, and the versions that a lock file fixes."""

    requirements: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()  # name==version
    files: tuple[str, ...] = ()  # where they were read

    @property
    def names(self) -> frozenset[str]:
        """The normalised names of the required packages."""
        return frozenset(canonicalize_name(one.name) for one in map(parse_requirement, self.requirements) if one)


def is_dependency_manifest(path: str) -> bool:
    """Is it a file that declares Python dependencies?"""
    return path in MANIFESTS or path in LOCKS or bool(_LISTS.fullmatch(path))


def read_declarations(files: Mapping[str, str]) -> Declarations:
    """What these manifests (path → text) declare."""
    found: list[str] = []
    for path, text in sorted(files.items()):
        found += [one for one in _read(path, text) if parse_requirement(one)]
    locked = [one for path, text in sorted(files.items()) if path in LOCKS for one in _locked(path, text)]
    return Declarations(tuple(dict.fromkeys(found)), tuple(_single(locked)), tuple(sorted(files)))


def parse_requirement(text: str) -> Requirement | None:
    """A requirement that a registry can meet; None for paths, addresses and what cannot be read."""
    try:
        found = Requirement(text)
    except InvalidRequirement:
        return None
    return None if found.url else found


def missing_requirements(
    requirements: Iterable[str], installed: Mapping[str, str], python: tuple[int, ...]
) -> tuple[str, ...]:
    """Those that this interpreter needs and does not have in a fitting version."""
    surroundings = {
        **{name: str(value) for name, value in default_environment().items()},
        "python_version": ".".join(map(str, python[:2])),
        "python_full_version": ".".join(map(str, python[:3])),
        "extra": "",
    }
    versions = {str(canonicalize_name(name)): version.split(" ")[0] for name, version in installed.items()}
    return tuple(one for one in requirements if not _met(one, versions, surroundings))


def _met(text: str, versions: Mapping[str, str], surroundings: Mapping[str, str]) -> bool:
    wanted = parse_requirement(text)
    if wanted is None:
        return True
    try:
        if wanted.marker and not wanted.marker.evaluate(dict(surroundings)):
            return True
        version = versions.get(canonicalize_name(wanted.name))
        return version is not None and wanted.specifier.contains(version, prereleases=True)
    except (UndefinedEnvironmentName, InvalidVersion):
        return True  # it cannot be known what would meet it


def provides_module(name: str, module: str) -> bool:
    """Would a package of this name bring this module?"""
    top = module.split(".")[0]
    package, wanted = canonicalize_name(name), canonicalize_name(top)
    if canonicalize_name(BROUGHT_BY.get(top, top)) == package:
        return True
    return package in (f"python-{wanted}", f"py-{wanted}", f"py{wanted}", f"{wanted}-python", f"{wanted}py")


# -- one file each -----------------------------------------------------------------------------------------------------


def _read(path: str, text: str) -> Iterable[str]:
    name = PurePosixPath(path).name
    try:
        if path == "pyproject.toml":
            return list(_project(tomllib.loads(text)))
        if path == "setup.cfg":
            return list(_setup(text))
        if path == "Pipfile":
            return [*_poetry(tomllib.loads(text).get("packages")), *_poetry(tomllib.loads(text).get("dev-packages"))]
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError, TypeError):
        return []
    return _lines(text) if name.endswith((".txt", ".in")) else []


def _project(data: dict[str, Any]) -> Iterator[str]:
    project, tool = data.get("project", {}), data.get("tool", {})
    yield from map(str, project.get("dependencies", ()))
    extras = project.get("optional-dependencies", {})
    for name in _for_tests(extras):
        yield from map(str, extras[name])
    groups = data.get("dependency-groups", {})
    for name in _for_tests(groups):
        yield from _group(groups, name)
    poetry = tool.get("poetry", {})
    yield from _poetry(poetry.get("dependencies"))
    yield from _poetry(poetry.get("dev-dependencies"))
    for name in _for_tests(poetry.get("group", {})):
        yield from _poetry(poetry["group"][name].get("dependencies"))


def _for_tests(named: Mapping[str, Any]) -> list[str]:
    """The extras or groups for tests; those for all work where tests have none of their own."""
    for family in (TESTING, WORKING):
        if found := [name for name in named if name.lower() in family]:
            return found
    return []


def _group(groups: Mapping[str, Any], name: str, depth: int = 8) -> Iterator[str]:
    for one in groups.get(name, ()) if depth else ():
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict) and "include-group" in one:
            yield from _group(groups, str(one["include-group"]), depth - 1)


def _poetry(table: Any) -> Iterator[str]:
    for name, wanted in (table or {}).items():
        version = wanted.get("version", "*") if isinstance(wanted, dict) else wanted
        optional = isinstance(wanted, dict) and (wanted.get("optional") or {"path", "git", "url"} & wanted.keys())
        if name != "python" and isinstance(version, str) and not optional:
            yield f"{name}{_range(version.strip())}"


def _range(version: str) -> str:
    """`^1.2` and `~1.2` in the words that every installer knows."""
    if version in ("", "*"):
        return ""
    if version[0] not in "^~" or version.startswith("~="):
        return version if version[0] in "<>=!~" else f"=={version}"
    numbers = [int(one) for one in re.findall(r"\d+", version)] or [0]
    place = next((i for i, one in enumerate(numbers) if one), len(numbers) - 1) if version[0] == "^" else 0
    place = min(1, len(numbers) - 1) if version[0] == "~" else place
    top = [*numbers[:place], numbers[place] + 1]
    return f">={version[1:]},<{'.'.join(map(str, top))}"


def _setup(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    yield from _lines(parser.get("options", "install_requires", fallback=""))
    if parser.has_section("options.extras_require"):
        extras = dict(parser.items("options.extras_require"))
        for name in _for_tests(extras):
            yield from _lines(extras[name])


def _lines(text: str) -> list[str]:
    joined = text.replace("\\\n", " ")
    lines = [re.split(r"\s#|^#|\s--hash", line)[0].strip().rstrip(";") for line in joined.splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def _locked(path: str, text: str) -> Iterator[tuple[str, str]]:
    try:
        if path == "Pipfile.lock":
            data = json.loads(text)
            pinned = {**data.get("default", {}), **data.get("develop", {})}
            yield from ((name, str(one.get("version", "")).lstrip("=")) for name, one in pinned.items())
            return
        data = tomllib.loads(text)
        for one in data.get("package", data.get("packages", ())):
            source = one.get("source", {})
            if not (isinstance(source, dict) and {"editable", "virtual", "git", "directory", "path"} & source.keys()):
                yield str(one.get("name", "")), str(one.get("version", ""))
    except (ValueError, AttributeError, TypeError):
        return


def _single(locked: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A lock for several surroundings may name two versions of one package: then it fixes none."""
    versions: dict[str, set[str]] = {}
    for name, version in locked:
        if name and version:
            versions.setdefault(canonicalize_name(name), set()).add(version)
    for name, found in sorted(versions.items()):
        if len(found) == 1:
            yield f"{name}=={found.pop()}"
