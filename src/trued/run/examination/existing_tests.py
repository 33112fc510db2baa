"""Regression checks of every run: the base's own tests, and the base's own tools that the user's words ask for."""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TypeAlias

from trued.inputs.project.manifests import PackageManifest, make_targets, makefile_of
from trued.inputs.requirements.guard_phrases import guard_kind, named_command
from trued.model import EXISTING_TESTS, Check, CommandCheck, DependenciesCheck, Requirement, Requirements, TestsCheck
from trued.proof.checks.dependencies import SOURCES
from trued.proof.checks.package_manifests import is_package_manifest
from trued.proof.hashes import check_hash
from trued.proof.reach.uncollected_tests import (
    FOREIGN_CODE,
    TESTS_MODULE,
    data_of_tests,
    may_start_tests,
    read_by_tests,
)
from trued.proof.room.frozen_files import (
    CONFIGURED,
    configured_test_functions,
    configured_test_names,
    configures_pytest,
    has_tests,
    holds_python_tests,
    is_among_tests,
    is_named_like_a_script_test,
    is_named_like_a_test,
)
from trued.proof.text.command_parser import RunnerCall, counted_part, recognise_runner
from trued.protocols import Workspace
from trued.support.shell_words import started_commands
from trued.support.tables import json_table

VERBOSITY = ("-q", "-qq", "-v", "-vv", "--quiet", "--verbose", "-x", "--exitfirst")  # flags that select no tests
MOST_READ = 40  # if none of this many files named like tests has a test, there is no suite
COUNTED = ("vitest", "jest", "mocha")  # packages with a test runner whose results the engine can count
TARGETS = {"lint": ("lint",), "types": ("types", "typecheck", "mypy"), "build": ("build",)}
TEST_TARGETS = ("test", "tests", "check")
# Files by which a suite of another language is recognised. The engine cannot count these tests: a note says so.
FOREIGN = {
    "Cargo.toml": "cargo test",
    "Gemfile": "rspec or rake test",
    "pom.xml": "mvn test",
    "build.gradle": "gradle test",
    "build.gradle.kts": "gradle test",
    "mix.exs": "mix test",
    "phpunit.xml": "phpunit",
    "phpunit.xml.dist": "phpunit",
    "deno.json": "deno test",
}
# File endings of other languages. Tests in these languages may be there without a manifest.
FOREIGN_ENDINGS = (
    *(".rb", ".php", ".pl", ".t", ".lua", ".java", ".kt", ".scala", ".cs", ".swift", ".ex", ".exs", ".dart", ".jl"),
    *(".rs", ".c", ".cc", ".cpp"),
)
# Endings of tests that are no code. If tests of the base name or list such files, a runner of code reads them.
WRITTEN_TESTS = (
    *(".feature", ".story", ".robot", ".hurl", ".bru", ".side", ".jmx", ".tavern.yaml", ".tavern.yml"),
    *(".venom.yaml", ".venom.yml", ".postman_collection.json", ".stepci.yml", ".stepci.yaml", ".cram"),
)
_TESTS_NOTEBOOKS = re.compile(r"\b(?:nbval|nbmake|testbook)\b")
_STEP = re.compile(r"\n[ \t]*-[ \t]")  # where a step of a CI begins
_COMPARES = re.compile(r"(?:^|[;&|(\n]|\brun:|\bscript:|\bif|!)[ \t]*(?:test|\[\[?|diff|cmp|grep -\w*q\w*)[ \t]")
_STARTS = re.compile(r"-m[ \t]+([\w.]+)|(?:^|[\s\"'(./])((?:[\w-]+/)*[\w-]+\.(?:py|[cm]?[jt]s|sh))(?![\w.])")
MOST_NAMED = 5  # at most this many such files are named
_FOREIGN_TEST = re.compile(r"(?:.+[._-])?(?:tests?|spec)|tests?[._-].+|.*[a-z0-9]Tests?|Tests?[A-Z].*")
SHELL_SCRIPTS = (".sh", ".bash", ".bats")
_RUNS_ALL = re.compile(r"run|all|main|check")  # names of scripts that stand for the whole folder of tests
_SHELL_TEST = re.compile(r"(?:.+[._-])?(?:tests?|spec)|test[._-].+", re.IGNORECASE)
_Blobs: TypeAlias = Mapping[str, str]


async def with_existing_tests(workspace: Workspace, asked: Requirements) -> tuple[Requirements, list[str]]:
    """The requirements together with the base's own tests, and the hashes of the checks that can refute but never
    prove.

    The tests are not a requirement: they have no grade, and if they fail they refute every requirement.
    """
    tools, unguarded = await _tools(workspace, workspace.base)
    there = await workspace.blobs(workspace.base)
    scripts = (await _package(workspace, workspace.base, there)).scripts
    named = [_with_named_runner(one, tools.get("tests", ()), scripts, there) for one in asked.requirements]
    requirements = tuple(_with_base_tools(one, tools) for one in named)
    # What is kept by the very suite of the base shows as much as that suite does, whoever named the command.
    given = {
        check_hash(check)
        for one in asked.requirements
        for check in one.checks
        if not (one.keep and _suites_like(check, tools.get("tests", ()), scripts))
    }
    suites = [check for check in tools.get("tests", ()) if check_hash(check) not in given]
    made = asked.model_copy(
        update={
            "requirements": requirements,
            "suites": tuple(_suite(check, number) for number, check in enumerate(suites, 1)),
            "unguarded": tuple(unguarded),
        }
    )
    kept = [one.checks for one in named if one.keep]
    names = {check_hash(check) for every in (*tools.values(), *kept) for check in every}
    found = [check_hash(check) for one in (*requirements, *made.suites) for check in one.checks]
    return made, [name for name in dict.fromkeys(found) if name in names and name not in given]


def _suite(check: Check, number: int) -> Requirement:
    name = EXISTING_TESTS if number == 1 else f"{EXISTING_TESTS} {number}"
    return Requirement(id=name, text="the base's own tests still pass", keep=True, checks=(check,))


def _with_named_runner(
    one: Requirement, suites: tuple[Check, ...], scripts: Mapping[str, str], there: _Blobs
) -> Requirement:
    """If the requirement's sentence names a test command ("`pytest -q` passes"), give it a check that counts these
    tests. (A command check would see only an exit code, and would not run in the environment of tests.) If the command
    runs the base's whole suite, it gets the check of that suite. Other requirements are returned unchanged.

    The check is a guard (`keep`), unless the command names test files that the base does not have: the implementer
    writes those, so what they show is only `self-tested`.
    """
    command = named_command(one.text)
    named = (CommandCheck(command=command),)
    if not command or one.parts or one.checks not in ((), named):
        return one
    asked = recognise_runner(command, scripts)
    words = [word for word in asked.arguments if "/" in word or word.endswith((".py", ".js", ".ts"))] if asked else []
    if asked is None or asked.before:
        return one
    if not all(_is_there(word, there) for word in words):
        return one.model_copy(update={"checks": (TestsCheck(command=command),)})
    same = _suites_like(TestsCheck(command=command), suites, scripts)
    return one.model_copy(update={"keep": True, "checks": tuple(same) or (TestsCheck(command=command),)})


def _is_there(word: str, there: _Blobs) -> bool:
    path = word.partition("::")[0].removeprefix("./").rstrip("/").removesuffix("/...")
    return path in ("", ".", "...") or path in there or any(one.startswith(f"{path}/") for one in there)


def _suites_like(check: Check, suites: tuple[Check, ...], scripts: Mapping[str, str]) -> list[Check]:
    """Of these suites, those that the check runs whole, by the same runner and after the same commands."""
    if not isinstance(check, TestsCheck) or check.files or check.from_ or check.report or check.e2e:
        return []
    asked = recognise_runner(check.command, scripts)
    return [one for one in suites if asked and isinstance(one, TestsCheck) and _same_run(asked, one, scripts)]


def _same_run(asked: RunnerCall, check: TestsCheck, scripts: Mapping[str, str]) -> bool:
    """Whether the command runs the whole suite, ignoring verbosity flags."""
    suite = recognise_runner(check.command, scripts)
    return suite is not None and _what_is_run(asked) == _what_is_run(suite)


def _what_is_run(call: RunnerCall) -> tuple[object, ...]:
    words = tuple(word for word in call.arguments if word not in VERBOSITY)
    return call.runner, words, dict(call.variables), call.before


def _with_base_tools(one: Requirement, tools: Mapping[str, tuple[Check, ...]]) -> Requirement:
    """If the requirement's sentence asks to keep tests, build, lint, types or dependencies as they are, give it the
    base's own checks for them, as guards. Other requirements are returned unchanged."""
    if one.checks or one.parts:
        return one
    kind = "tests" if one.keep else guard_kind(one.text)
    return one.model_copy(update={"keep": True, "checks": tools[kind]}) if kind in tools else one


async def suites_of(workspace: Workspace, commit: str) -> tuple[Check, ...]:
    """The test suites of a commit: counted tests, or commands of which only the exit code counts."""
    return (await _tools(workspace, commit))[0].get("tests", ())


async def _tools(workspace: Workspace, base: str) -> tuple[dict[str, tuple[Check, ...]], list[str]]:
    """The commit's own checks by kind (tests, build, lint, types, dependencies), and suites that cannot be run here."""
    blobs = await workspace.blobs(base)
    found: dict[str, tuple[Check, ...]] = {}
    manifest = await _package(workspace, base, blobs)
    suites, unguarded = list[Check](), list(_without_runner(blobs))
    suites += await _python_suites(workspace, base, blobs)
    if "go.mod" in blobs and any(path.endswith("_test.go") for path in blobs):
        suites.append(TestsCheck(command="go test ./..."))
    scripts = [path for path in blobs if is_named_like_a_script_test(path)]
    command = _node_suite(manifest, blobs)
    if command:
        suites.append(TestsCheck(command=command))
    if "test" in manifest.scripts and command != "npm test":
        # The engine cannot count what (else) this script checks, so only its exit code is checked.
        suites.append(CommandCheck(command="npm test"))
    if not command and await _has_tests(workspace, base, scripts):
        suites.append(TestsCheck(command="node --test"))
    unguarded += _absent_submodules(await workspace.submodules(base), blobs)
    targets = make_targets(await _read_text(workspace, base, makefile_of(blobs)))
    if not suites and (target := next((name for name in TEST_TARGETS if name in targets), "")):
        suites.append(CommandCheck(command=f"make {target}"))
    if not any(isinstance(one, CommandCheck) for one in suites):  # such a command may run any test file
        lonely = await _tests_without_runner(workspace, base, blobs, manifest.scripts)
        unguarded += [f"{path}: no runner that is known here" for path in lonely]
    found |= {"tests": tuple(suites)} if suites else {}
    if any(path.endswith(SOURCES) or is_package_manifest(path) for path in blobs):
        found["dependencies"] = (DependenciesCheck(),)
        found["unchanged dependencies"] = (DependenciesCheck(unchanged=True),)
    for kind, names in TARGETS.items():
        if target := next((name for name in names if name in targets), ""):
            found[kind] = (CommandCheck(command=f"make {target}"),)
        elif script := next((name for name in names if name in manifest.scripts), ""):
            found[kind] = (CommandCheck(command=f"npm run --silent {script}"),)
    return found, unguarded


async def _python_suites(workspace: Workspace, commit: str, blobs: _Blobs) -> list[Check]:
    """At most two suites, both run by pytest: the test files that pytest finds by name (default or configured), and
    modules named `tests.py`, which pytest runs only if it is given their paths."""
    python = [path for path in blobs if path.endswith(".py")]
    named, functions = await _test_names(workspace, commit, blobs)
    matching = [path for path in python if any(_matches_pattern(path, one) for one in named)]
    modules = [path for path in python if PurePosixPath(path).name == TESTS_MODULE and path not in matching]
    texts = await workspace.read_all(commit, [*matching, *modules])
    holding = {path for path, text in texts.items() if holds_python_tests(text, functions)}
    suites: list[Check] = []
    if not holding.isdisjoint(matching) or await _has_tests(workspace, commit, python):
        suites.append(TestsCheck(command="python -m pytest -q"))
    if own := [shlex.quote(path) for path in sorted(holding.intersection(modules))]:
        suites.append(TestsCheck(command=f"python -m pytest -q {' '.join(own)}"))
    return suites


def _matches_pattern(path: str, pattern: str) -> bool:
    """Whether pytest's pattern matches the file: a pattern with a slash matches paths, one without matches names."""
    return fnmatchcase(f"/{path}", f"*/{pattern}") if "/" in pattern else fnmatchcase(PurePosixPath(path).name, pattern)


async def _test_names(workspace: Workspace, commit: str, blobs: _Blobs) -> tuple[list[str], list[str]]:
    """The project's pytest configuration: its patterns for test files, and those for test functions and classes. If
    only functions or classes are configured, the patterns for files are pytest's defaults."""
    for path in [one for one in CONFIGURED if one in blobs]:
        text = await _read_text(workspace, commit, path)
        if configures_pytest(path, text):
            files, functions = configured_test_names(path, text), configured_test_functions(path, text)
            return files or (["test_*.py", "*_test.py"] if functions else []), functions
    return [], []


async def _has_tests(workspace: Workspace, commit: str, paths: list[str]) -> bool:
    named = sorted(path for path in paths if is_named_like_a_test(path))
    for path in named[:MOST_READ]:
        if has_tests(path, await workspace.read(commit, path) or b""):
            return True
    return False


def _absent_submodules(folders: Iterable[str], blobs: _Blobs) -> Iterator[str]:
    """A sentence for each submodule that is in a folder of tests and was not fetched to this machine."""
    for folder in folders:
        if is_among_tests(f"{folder}/any") and not any(path.startswith(f"{folder}/") for path in blobs):
            yield f"tests of {folder}: the submodule is not here: `git submodule update --init` fetches it"


def _without_runner(blobs: _Blobs) -> Iterator[str]:
    """A sentence for each suite that the engine does not run, as far as manifests such as `Cargo.toml` show them."""
    yield from (f"tests by {tool}: no runner that is known here" for tool in _foreign(blobs))
    yield from (f"tests of {folder}: they are a package of their own" for folder in _inner_packages(blobs))


def _foreign(blobs: _Blobs) -> Iterator[str]:
    """The test commands of other languages, such as `cargo test`, if the base has them, in any folder. The engine
    cannot run these."""
    for name, tool in FOREIGN.items():
        folders = [one for one in _folders_with(name, blobs) if any(map(_among_tests, _below(one, blobs)))]
        if "" in folders:
            yield tool
        else:
            yield from (f"{tool} in {one}" for one in folders)


def _folders_with(name: str, blobs: _Blobs) -> list[str]:
    """The folders that contain a file of this name; "" is the root. Folders of tests and of other people's code, such
    as `vendor`, are left out."""
    found = [path for path in blobs if path.rpartition("/")[2] == name and not is_among_tests(path)]
    return [path.rpartition("/")[0] for path in found if FOREIGN_CODE.isdisjoint(path.split("/"))]


def _below(folder: str, blobs: _Blobs) -> Iterator[str]:
    return (path for path in blobs if not folder or path.startswith(f"{folder}/"))


def _is_foreign_test(path: str) -> bool:
    """Whether the file is in another language and named like a test. False for other people's code."""
    pure = PurePosixPath(path)
    if not path.endswith(FOREIGN_ENDINGS) or not FOREIGN_CODE.isdisjoint(pure.parts):
        return False
    return pure.suffix == ".t" or bool(_FOREIGN_TEST.fullmatch(pure.stem))


async def _tests_without_runner(
    workspace: Workspace, commit: str, blobs: _Blobs, scripts: Mapping[str, str]
) -> list[str]:
    """Files that are named like tests, but that the engine cannot run: tests in other languages, if no manifest has
    already shown a suite of them; tests that are no code (`.feature`); steps of a CI; and shell scripts that start no
    test runner known to the engine."""
    foreign = [] if any(_foreign(blobs)) else [path for path in blobs if _is_foreign_test(path)]
    data = await data_of_tests(workspace, commit, foreign)
    foreign = [path for path in foreign if path not in data][:MOST_NAMED]
    named = [path for path in blobs if path.endswith(SHELL_SCRIPTS) and _is_script_of_tests(path)][:MOST_READ]
    written = [path for path in blobs if path.endswith(WRITTEN_TESTS) and FOREIGN_CODE.isdisjoint(path.split("/"))]
    read = await read_by_tests(workspace, commit, written)
    foreign += [path for path in written if path not in read][:MOST_NAMED]
    foreign += await _tested_by_settings(workspace, commit, blobs)
    texts = await workspace.read_all(commit, named)
    shell = {path: texts.get(path, b"").decode("utf-8", "replace") for path in named}
    return [*foreign, *(path for path, text in shell.items() if not _starts_runner(text, scripts))]


async def _tested_by_settings(workspace: Workspace, commit: str, blobs: _Blobs) -> list[str]:
    """Notebooks, if settings of the base name a tool that tests them, and settings of a CI with a step that starts
    code of the project and compares something."""
    settings = await workspace.read_all(commit, [path for path in blobs if may_start_tests(path)])
    texts = {path: one.decode("utf-8", "replace") for path, one in settings.items()}
    notebooks = [path for path in blobs if path.endswith(".ipynb")][:MOST_NAMED]
    found = notebooks if any(map(_TESTS_NOTEBOOKS.search, texts.values())) else []
    own = {*blobs, *(part for path in blobs if path.endswith(".py") for part in (path.split("/")[0], path[:-3]))}
    found += [
        path for path, text in texts.items() if path.endswith((".yml", ".yaml")) and _has_step_of_tests(text, own)
    ]
    return found


def _has_step_of_tests(text: str, own: Collection[str]) -> bool:
    for step in _STEP.split(text):
        started = {name.split(".")[0] or path for name, path in _STARTS.findall(step)}
        if not started.isdisjoint(own) and _COMPARES.search(step):
            return True
    return False


def _is_script_of_tests(path: str) -> bool:
    pure = PurePosixPath(path)
    in_tests = pure.parent.name in ("test", "tests", "spec") and bool(_RUNS_ALL.fullmatch(pure.stem))
    return in_tests or path.endswith(".bats") or bool(_SHELL_TEST.fullmatch(pure.stem))


def _starts_runner(text: str, scripts: Mapping[str, str]) -> bool:
    commands = [shlex.join(words) for line in text.splitlines() for words in started_commands(line.strip())]
    return any(recognise_runner(one, scripts) for one in commands)


def _among_tests(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return "test" in parts[-1].lower() or not {"test", "tests", "spec"}.isdisjoint(parts[:-1]) or parts[-1] == "lib.rs"


def _inner_packages(blobs: _Blobs) -> Iterator[str]:
    """Node packages below the root that have tests of their own, if the root is not a package."""
    if "package.json" in blobs:
        return
    for path in blobs:
        folder = PurePosixPath(path).parent
        if PurePosixPath(path).name != "package.json" or "node_modules" in folder.parts:
            continue
        if any(is_named_like_a_script_test(one) and PurePosixPath(one).is_relative_to(folder) for one in blobs):
            yield str(folder)


async def _read_text(workspace: Workspace, commit: str, path: str) -> str:
    return (await workspace.read(commit, path) or b"").decode("utf-8", "replace") if path else ""


async def _package(workspace: Workspace, commit: str, blobs: _Blobs) -> PackageManifest:
    path = "package.json" if "package.json" in blobs else ""
    return PackageManifest.of(json_table(await _read_text(workspace, commit, path)))


def _node_suite(manifest: PackageManifest, blobs: _Blobs) -> str:
    """The command for the package's tests: `npm test` if it ends with a runner whose tests can be counted; if it does
    more after that runner, its part up to there. If there is no test script, the command of an installed runner.
    Otherwise ""."""
    if recognise_runner("npm test", manifest.scripts) is not None:
        return "npm test"
    if "test" in manifest.scripts:
        both = [manifest.scripts[name] for name in ("pretest", "test") if name in manifest.scripts]
        return counted_part(" && ".join(both), manifest.scripts)
    tests = any(is_named_like_a_script_test(path) for path in blobs)
    tool = next((name for name in COUNTED if name in manifest.packages), "") if tests else ""
    return {"vitest": "npx vitest run"}.get(tool, f"npx {tool}" if tool else "")
