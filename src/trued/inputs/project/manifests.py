"""Find a repository's projects by their manifests and lock files, and how each is installed."""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from typing import Any, TypeAlias

from trued.proof.room.declared_packages import (
    LISTS,
    declared_requirements,
    extras_for_tests,
    for_tests,
    groups_for_tests,
)
from trued.proof.room.project_folders import ASIDE
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import json_table, parse_toml, table_at, toml_table

Read: TypeAlias = Callable[[str], str | None]

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make looks for them
PLACEHOLDER = "no test specified"  # `npm init` writes it into a test script that only fails
_TARGET = lazy_regex(r"^([\w.-]+)[ \t]*:(?!:*=)", re.MULTILINE)
_READ = ("pyproject.toml", "setup.cfg", "setup.py", "package.json", "yarn.lock")
_WORD = lazy_regex(r"[A-Za-z0-9]")  # how a requirement begins; an option of pip begins with "-"
_PINNED = lazy_regex(r"^[^#\n]*--hash=", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with something to install or to run."""

    folder: str  # "." or a path below the root
    language: str  # python | node | go | rust | java
    tool: str  # pip, uv, npm, cargo, … or the command of Maven or Gradle; "" if nothing is installed
    files: tuple[str, ...]  # the only files that the installation depends on
    commands: tuple[tuple[str, ...], ...]  # the arguments of each call of the tool
    test: str = ""  # the test command, if the project's files show one
    start: str = ""
    build: str = ""

    def within(self, command: str) -> str:
        return command if self.folder == "." else f"(cd {shlex.quote(self.folder)} && {command})"

    @property
    def test_alone(self) -> str:
        """The test command for a check of this project alone. It has no parentheses: only a line that joins the
        commands of several projects needs them."""
        return self.test if self.folder == "." else self.test.removeprefix("(").removesuffix(")")


def is_manifest(path: str) -> bool:
    """Whether the file's text, not only its presence, says how a project is set up."""
    names = (path, path.partition("/")[2])
    return any(name in _READ or LISTS.fullmatch(name) for name in names)


def projects(paths: Collection[str], read: Read, deep: int = 1) -> tuple[Project, ...]:
    """All Python projects, then all Node projects. The project in the root comes first among those of its language."""
    by_folder = folders(paths, deep)
    inside = text_reader(by_folder, read)
    return (*_python_projects(by_folder, inside), *_node_projects(by_folder, inside))


def folders(paths: Collection[str], deep: int = 1) -> dict[str, set[str]]:
    """The root and the folders down to `deep` levels below it, each with the paths of all files in it. Folders with a
    name such as "examples" or "tests" are left out."""
    by_folder: dict[str, set[str]] = {".": set(paths)}
    for path in sorted(paths):
        parts = path.split("/")
        for level in range(1, min(deep, len(parts) - 1) + 1):
            if ASIDE.fullmatch(parts[level - 1]):
                break
            by_folder.setdefault("/".join(parts[:level]), set()).add("/".join(parts[level:]))
    return by_folder


Inside: TypeAlias = Callable[[str, str], str]


def text_reader(by_folder: Mapping[str, set[str]], read: Read) -> Inside:
    """A function that returns a file's text by folder and name; "" if there is none."""

    def inside(folder: str, name: str) -> str:
        if name not in by_folder[folder]:
            return ""
        return read(name if folder == "." else f"{folder}/{name}") or ""

    return inside


# -- Python


def _python_projects(by_folder: Mapping[str, set[str]], inside: Inside) -> Iterator[Project]:
    projects = [project for folder in by_folder if (project := _python(folder, by_folder[folder], inside)) is not None]
    yield from projects
    code = any(path.endswith(".py") and path.count("/") < 3 for path in by_folder["."])
    if not projects and code:  # without a manifest, use the interpreter that is there
        yield Project(".", "python", "", (), (), _python_test(".", by_folder["."], "python3"))


def _python(folder: str, names: set[str], inside: Inside) -> Project | None:
    parsed = parse_toml(inside(folder, "pyproject.toml"))
    # A broken file counts as a package: pip then says what is wrong with it.
    manifest: dict[str, Any] = {"build-system": {}} if parsed is None else parsed
    test = _python_test(folder, names, ".venv/bin/python")
    if folder != "." and "uv.lock" not in names and _member(folder, toml_table(inside(".", "pyproject.toml"))):
        return None
    locked: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("uv.lock", "uv", ("sync", "--frozen", "--quiet", *_uv_extras(manifest))),
        ("poetry.lock", "poetry", ("install", "--no-interaction", "--quiet", *_poetry_extras(manifest))),
        ("Pipfile.lock", "pipenv", ("sync", "--dev")),
    )
    for lock, tool, command in locked:
        if lock in names:
            beside = "Pipfile" if tool == "pipenv" else "pyproject.toml"
            return Project(folder, "python", tool, (lock, *({beside} & names)), (command,), test)
    lists = sorted((name for name in names if LISTS.fullmatch(name)), key=lambda name: ("/" in name, len(name)))
    declaring = tuple(name for name in ("pyproject.toml", "setup.py", "setup.cfg") if name in names)
    texts = {name: inside(folder, name) for name in (*lists, *declaring)}
    commands = tuple(_pip(lists, texts, manifest))
    if not commands and "project" not in manifest:
        return None
    return Project(folder, "python", "pip", (*lists, *declaring), commands, test)


def _pip(lists: list[str], texts: Mapping[str, str], manifest: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The calls of pip that install a project. `texts`: the texts of the requirements files in `lists`, and of the
    files that declare a package."""
    pinned = [name for name in lists if _PINNED.search(texts[name])]
    for name in lists:
        yield ("install", *(["--require-hashes"] if name in pinned else []), "-r", name)
    if "build-system" in manifest or "setup.py" in texts or "[metadata]" in texts.get("setup.cfg", ""):
        extras = dict.fromkeys(extra for name, text in texts.items() for extra in extras_for_tests(name, text))
        # The packages of dependency groups are named here, because not every pip can install a group.
        more = [] if pinned else _words(groups_for_tests(manifest))
        itself = f".[{','.join(extras)}]" if extras and not pinned else "."
        yield ("install", *(["--no-deps"] if pinned else []), "-e", itself, *more)
    elif not pinned and (needed := _words(declared_requirements("pyproject.toml", texts.get("pyproject.toml", "")))):
        yield ("install", *needed)


def _words(requirements: Iterable[str]) -> list[str]:
    return [requirement for requirement in dict.fromkeys(requirements) if _WORD.match(requirement)]


def _uv_extras(manifest: dict[str, Any]) -> Iterator[str]:
    for name in for_tests(table_at(manifest, "project", "optional-dependencies")):
        yield from ("--extra", name)
    for name in for_tests(table_at(manifest, "dependency-groups")):
        yield from ("--group", name)


def _poetry_extras(manifest: dict[str, Any]) -> Iterator[str]:
    own = table_at(manifest, "tool", "poetry", "extras") | table_at(manifest, "project", "optional-dependencies")
    for name in for_tests(own):
        yield from ("--extras", name)


def _member(folder: str, root: dict[str, Any]) -> bool:
    """Whether the folder is a member of the root's workspace, so that the root's lock file contains it."""
    members = table_at(root, "tool", "uv", "workspace").get("members")
    return isinstance(members, list) and any(fnmatch(folder, str(member)) for member in members)


def _python_test(folder: str, names: set[str], python: str) -> str:
    tests = any(re.search(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$", name) for name in names)
    command = f"{python} -m pytest"
    return (command if folder == "." else f"(cd {shlex.quote(folder)} && {command})") if tests else ""


# -- Node


def _node_projects(by_folder: Mapping[str, set[str]], inside: Inside) -> Iterator[Project]:
    root = json_table(inside(".", "package.json"))
    workspace = "workspaces" in root or "pnpm-workspace.yaml" in by_folder["."]
    for folder, names in by_folder.items():
        if "package.json" in names and not (folder != "." and workspace and not any(map(names.__contains__, _LOCKS))):
            yield _node(folder, names, inside)


_LOCKS = {
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}


def _node(folder: str, names: set[str], inside: Inside) -> Project:
    manifest = json_table(inside(folder, "package.json"))
    wanted = str(manifest.get("packageManager", "")).partition("@")[0]
    locks = [lock for lock in _LOCKS if lock in names]
    lock = next((candidate for candidate in locks if _LOCKS[candidate] == wanted), locks[0] if locks else "")
    tool = _LOCKS.get(lock, wanted if wanted in _LOCKS.values() else "npm")
    classic = "yarn lockfile v1" in inside(folder, "yarn.lock")[:200]
    commands = {
        "npm": ("ci" if lock else "install", *(() if lock else ("--no-package-lock",)), "--no-audit", "--no-fund"),
        "pnpm": ("install", *(("--frozen-lockfile",) if lock else ("--no-lockfile",))),
        "yarn": ("install", *(("--frozen-lockfile" if classic else "--immutable",) if lock else ())),
        "bun": ("install", *(("--frozen-lockfile",) if lock else ("--no-save",))),
    }
    scripts = PackageManifest.of(manifest).scripts
    made = Project(folder, "node", tool, ("package.json", *([lock] if lock else [])), (commands[tool],))
    by_name = f"{tool} run" if tool == "bun" else tool  # `bun test` is Bun's own runner, not the project's script
    test = made.within(f"{by_name} test") if "test" in scripts else ""
    begin = f"{by_name} start" if "start" in scripts else f"{tool} run dev" if "dev" in scripts else ""
    build = made.within(f"{tool} run build") if "build" in scripts else ""
    return replace(made, test=test, start=made.within(begin) if begin else "", build=build)


@dataclass(frozen=True, slots=True)
class PackageManifest:
    """The scripts and packages of a package.json, without the placeholder that `npm init` writes for missing tests."""

    scripts: Mapping[str, str]
    packages: Mapping[str, str]

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "PackageManifest":
        scripts = _text_values(manifest.get("scripts"))
        packages = {**_text_values(manifest.get("dependencies")), **_text_values(manifest.get("devDependencies"))}
        return cls({name: line for name, line in scripts.items() if PLACEHOLDER not in line}, packages)


def _text_values(value: Any) -> dict[str, str]:
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


# -- make


def makefile_of(names: Collection[str]) -> str:
    """The Makefile that make would read; "" if there is none."""
    return next((name for name in MAKEFILES if name in names), "")


def make_targets(makefile: str) -> frozenset[str]:
    """The targets with a rule of their own in a Makefile's text, such as `test:`. (`test := x` sets a variable.)"""
    return frozenset(_TARGET.findall(makefile))
