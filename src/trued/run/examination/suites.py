"""Finds the test suites of a commit, and its own commands for build, lint and types.

The tests of each project folder run in that folder. Tests outside all project folders run in the root folder.
"""

import posixpath
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TypeAlias

from trued.inputs.project.manifests import PackageManifest, make_targets, makefile_of
from trued.model import Check, CommandCheck, DependenciesCheck, TestsCheck
from trued.proof.dependencies.package_manifests import is_package_manifest
from trued.proof.room.frozen_files import (
    CONFIGURED,
    TESTS_MODULES,
    configured_test_functions,
    configured_test_names,
    configures_pytest,
    has_tests,
    holds_python_tests,
    is_named_like_a_script_test,
    is_named_like_a_test,
    is_tests_module,
)
from trued.proof.room.project_folders import project_folders
from trued.proof.runners.node import node_test_files
from trued.proof.text.command_parser import RunnerCall, counted_part, package_folder, recognise_runner
from trued.proof.text.languages import WITH_MANIFESTS
from trued.protocols import Workspace
from trued.run.examination.tests_without_runner import absent_submodules, tests_of_other_tools, tests_without_runner
from trued.support.tables import json_table

COUNTED = ("vitest", "jest", "mocha")  # packages with a test runner whose results the engine can count
TARGETS = {"lint": ("lint",), "types": ("types", "typecheck", "mypy"), "build": ("build",)}
TEST_TARGETS = ("test", "tests", "check")
_Blobs: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OwnTools:
    """The checks that a commit itself offers: its test suites, and its commands for build, lint and types."""

    # by kind: tests, build, lint, types, dependencies, unchanged dependencies
    checks: Mapping[str, tuple[Check, ...]]
    scripts: Mapping[str, Mapping[str, str]]  # folder → the scripts of its package.json; "" is the top
    not_run: tuple[str, ...] = ()  # suites that cannot be run here, and why

    @property
    def suites(self) -> tuple[Check, ...]:
        """The test suites: counted tests, or commands of which only the exit code counts."""
        return self.checks.get("tests", ())

    def runner(self, command: str) -> RunnerCall | None:
        """The test runner that a command starts, directly or by a script of the folder's package.json. None if the
        engine does not know the runner, or if there is none."""
        folder = package_folder(command)
        return recognise_runner(command, self.scripts.get(folder, {}), of=folder)


async def suites_of(workspace: Workspace, commit: str) -> tuple[Check, ...]:
    """The test suites of a commit."""
    return (await own_tools(workspace, commit)).suites


async def own_tools(workspace: Workspace, commit: str) -> OwnTools:
    """The checks that the commit itself offers, by kind, and the suites that cannot be run here."""
    blobs = await workspace.blobs(commit)
    folders = project_folders(blobs)
    packages = {folder: await _package(workspace, commit, blobs, folder) for folder in ("", *folders.node)}
    scripts = packages[""].scripts
    suites = [
        *await _python_suites(workspace, commit, blobs, folders.python),
        *_go_suites(blobs, folders.go),
        *await _node_suites(workspace, commit, blobs, packages),
    ]
    not_run = [*tests_of_other_tools(blobs), *absent_submodules(await workspace.submodules(commit), blobs)]
    targets = make_targets(await _read_text(workspace, commit, makefile_of(blobs)))
    if not suites and (target := next((name for name in TEST_TARGETS if name in targets), "")):
        suites.append(CommandCheck(command=f"make {target}"))
    if not any(isinstance(suite, CommandCheck) for suite in suites):  # such a command may run any test file
        lonely = await tests_without_runner(workspace, commit, blobs, scripts)
        not_run += [f"{path}: trued has no runner for it" for path in lonely]
    checks: dict[str, tuple[Check, ...]] = {"tests": tuple(suites)} if suites else {}
    if any(path.endswith(WITH_MANIFESTS) or is_package_manifest(path) for path in blobs):
        checks["dependencies"] = (DependenciesCheck(),)
        checks["unchanged dependencies"] = (DependenciesCheck(unchanged=True),)
    for kind, names in TARGETS.items():
        if target := next((name for name in names if name in targets), ""):
            checks[kind] = (CommandCheck(command=f"make {target}"),)
        elif script := next((name for name in names if name in scripts), ""):
            checks[kind] = (CommandCheck(command=f"npm run --silent {script}"),)
    return OwnTools(checks, {folder: manifest.scripts for folder, manifest in packages.items()}, tuple(not_run))


# -- Python ------------------------------------------------------------------------------------------------------------


async def _python_suites(workspace: Workspace, commit: str, blobs: _Blobs, folders: Collection[str]) -> Iterator[Check]:
    """The suites of each project folder, and the suites of the files outside all project folders."""
    commands_by_folder = {folder: await _suites_in(workspace, commit, blobs, folder, folders) for folder in folders}
    folders_with_suites = [folder for folder, commands in commands_by_folder.items() if commands]
    top = await _suites_in(workspace, commit, blobs, "", folders, apart=folders_with_suites)
    return (
        TestsCheck(command=command)
        for command in (
            *top,
            *(inner_command for commands in commands_by_folder.values() for inner_command in commands),
        )
    )


async def _suites_in(
    workspace: Workspace,
    commit: str,
    blobs: _Blobs,
    folder: str,
    folders: Collection[str],
    apart: Collection[str] = (),
) -> list[str]:
    """The commands of at most two suites, both run by pytest: the test files that pytest finds by name (default or
    configured), and modules named `test.py` or `tests.py`, which pytest runs only if it is given their
    paths.

    `apart`: folders whose tests other suites run.
    """
    python = [path for path in _own_paths(blobs, folder, folders) if path.endswith(".py")]
    patterns, functions = await _test_names(workspace, commit, blobs, folder)
    matching = [path for path in python if any(_matches_pattern(path, pattern) for pattern in patterns)]
    modules = [path for path in python if PurePosixPath(path).name in TESTS_MODULES and path not in matching]
    texts = await workspace.read_all(commit, [*matching, *modules])
    with_tests = {
        path
        for path, text in texts.items()
        if holds_python_tests(text, functions) and (path in matching or is_tests_module(path, text, functions))
    }
    commands: list[str] = []
    if not with_tests.isdisjoint(matching) or await _has_tests(workspace, commit, python):
        left_out = "".join(f" {shlex.quote(f'--ignore={other}')}" for other in apart)
        commands.append(f"python -m pytest -q{left_out}")
    if arguments := [shlex.quote(_from(folder, path)) for path in sorted(with_tests.intersection(modules))]:
        commands.append(f"python -m pytest -q {' '.join(arguments)}")
    return [_in_folder(folder, command) for command in commands]


def _matches_pattern(path: str, pattern: str) -> bool:
    """Whether pytest's pattern matches the file: a pattern with a slash matches paths, one without matches names."""
    return fnmatchcase(f"/{path}", f"*/{pattern}") if "/" in pattern else fnmatchcase(PurePosixPath(path).name, pattern)


async def _test_names(workspace: Workspace, commit: str, blobs: _Blobs, folder: str) -> tuple[list[str], list[str]]:
    """The name patterns in the pytest configuration of this folder: for test files, and for test functions and classes.
    If only functions or classes are configured, the patterns for files are pytest's defaults. Both lists are empty if
    no names are configured."""
    for path in [posixpath.join(folder, name) for name in CONFIGURED]:
        text = await _read_text(workspace, commit, path) if path in blobs else ""
        if path in blobs and configures_pytest(path, text):
            files, functions = configured_test_names(path, text), configured_test_functions(path, text)
            return files or (["test_*.py", "*_test.py"] if functions else []), functions
    return [], []


async def _has_tests(workspace: Workspace, commit: str, paths: list[str]) -> bool:
    """Whether any of these files is named like a test and contains one. Every file with such a name is read, because
    many files without tests may come first."""
    texts = await workspace.read_all(commit, [path for path in paths if is_named_like_a_test(path)])
    return any(has_tests(path, text) for path, text in texts.items())


# -- Go and Node -------------------------------------------------------------------------------------------------------


def _go_suites(blobs: _Blobs, folders: Collection[str]) -> Iterator[Check]:
    for folder in ("", *folders):
        paths = _own_paths(blobs, folder, folders)
        if posixpath.join(folder, "go.mod") in blobs and any(path.endswith("_test.go") for path in paths):
            yield TestsCheck(command=_in_folder(folder, "go test ./..."))


async def _node_suites(
    workspace: Workspace, commit: str, blobs: _Blobs, packages: Mapping[str, PackageManifest]
) -> list[Check]:
    """The suites of each package, and the suite of the test files that are in no package."""
    suites = list[Check]()
    folders = [folder for folder in packages if folder]
    for folder, manifest in packages.items():
        paths = _own_paths(blobs, folder, folders)
        scripts = [path for path in paths if is_named_like_a_script_test(path)]
        test = f"npm --prefix {shlex.quote(folder)} test" if folder else "npm test"
        command = _node_command(manifest, folder, test, has_scripts=bool(scripts))
        if command:
            suites.append(TestsCheck(command=command))
        if "test" in manifest.scripts and command != test:
            # The engine cannot count what (else) this script checks, so only its exit code is checked.
            suites.append(CommandCheck(command=test))
        if not command and await _has_tests(workspace, commit, scripts):
            files = node_test_files(paths, []) if folders and not folder else []
            suites.append(TestsCheck(command=_in_folder(folder, " ".join(["node --test", *map(shlex.quote, files)]))))
    return suites


def _node_command(manifest: PackageManifest, folder: str, test: str, *, has_scripts: bool) -> str:
    """The command that runs the package's tests; "" if no tests can be counted.

    If the package's test script ends with a runner whose tests can be counted, the command is the parameter `test`
    (`npm test`). If the script goes on after this runner, the command is the script up to the runner. Without a test
    script, the command starts an installed runner if the package has test files (`has_scripts`).
    """
    if recognise_runner(test, manifest.scripts, of=folder) is not None:
        return test
    if "test" in manifest.scripts:
        both = [manifest.scripts[name] for name in ("pretest", "test") if name in manifest.scripts]
        part = counted_part(" && ".join(both), manifest.scripts)
        return _in_folder(folder, part) if part else ""
    tool = next((name for name in COUNTED if name in manifest.packages), "") if has_scripts else ""
    command = {"vitest": "npx vitest run"}.get(tool, f"npx {tool}" if tool else "")
    return _in_folder(folder, command) if command else ""


# -- folders -----------------------------------------------------------------------------------------------------------


def _in_folder(folder: str, command: str) -> str:
    return f"cd {shlex.quote(folder)} && {command}" if folder else command


def _from(folder: str, path: str) -> str:
    return posixpath.relpath(path, folder) if folder else path


def _own_paths(blobs: _Blobs, folder: str, folders: Collection[str]) -> list[str]:
    """The paths in this folder that are in none of the other folders inside it."""
    below = f"{folder}/" if folder else ""
    inside = tuple(f"{other}/" for other in folders if other != folder and other.startswith(below))
    return [path for path in blobs if path.startswith(below) and not (inside and path.startswith(inside))]


async def _read_text(workspace: Workspace, commit: str, path: str) -> str:
    return (await workspace.read(commit, path) or b"").decode("utf-8", "replace") if path else ""


async def _package(workspace: Workspace, commit: str, blobs: _Blobs, folder: str) -> PackageManifest:
    path = posixpath.join(folder, "package.json")
    return PackageManifest.of(json_table(await _read_text(workspace, commit, path if path in blobs else "")))
