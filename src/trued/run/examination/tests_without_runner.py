"""Names the tests of a commit that no runner known to the engine can run."""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from trued.proof.reach.own_checks import SHELL_SCRIPTS, STARTS
from trued.proof.reach.uncollected_tests import FOREIGN_CODE, data_of_tests, files_that_tests_read, may_start_tests
from trued.proof.room.frozen_files import is_among_tests
from trued.proof.text.command_parser import recognise_runner
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex
from trued.support.shell_words import started_commands

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
# Endings of test files that are not code. If tests in code name or list such files, the runner of that code reads them.
WRITTEN_TESTS = (
    *(".feature", ".story", ".robot", ".hurl", ".bru", ".side", ".jmx", ".tavern.yaml", ".tavern.yml"),
    *(".venom.yaml", ".venom.yml", ".postman_collection.json", ".stepci.yml", ".stepci.yaml", ".cram"),
)
_TESTS_NOTEBOOKS = lazy_regex(r"\b(?:nbval|nbmake|testbook)\b")
_STEP = lazy_regex(r"\n[ \t]*-[ \t]")  # where a step of a CI begins
_COMPARES = lazy_regex(r"(?:^|[;&|(\n]|\brun:|\bscript:|\bif|!)[ \t]*(?:test|\[\[?|diff|cmp|grep -\w*q\w*)[ \t]")
MOST_NAMED = 5  # at most this many files of one kind are named; shell scripts have a limit of their own
MOST_SHELL = 40  # at most this many shell scripts are named
_FOREIGN_TEST = lazy_regex(r"(?:.+[._-])?(?:tests?|spec)|tests?[._-].+|.*[a-z0-9]Tests?|Tests?[A-Z].*")
_RUNS_ALL = lazy_regex(r"run|all|main|check")  # names of scripts that stand for the whole folder of tests
_SHELL_TEST = lazy_regex(r"(?:.+[._-])?(?:tests?|spec)|test[._-].+", re.IGNORECASE)


def absent_submodules(folders: Iterable[str], blobs: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each submodule that is in a folder of tests and was not fetched to this machine."""
    for folder in folders:
        if is_among_tests(f"{folder}/any") and not any(path.startswith(f"{folder}/") for path in blobs):
            yield f"tests of {folder}: the submodule is not here: `git submodule update --init` fetches it"


def tests_of_other_tools(blobs: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each suite that the engine does not run, as far as manifests such as `Cargo.toml` show them."""
    yield from (f"tests for {tool}: trued has no runner for them" for tool in _foreign(blobs))


def _foreign(blobs: Mapping[str, str]) -> Iterator[str]:
    """The test commands of languages whose tests the engine cannot run, such as `cargo test in server`. There is one
    entry for each folder with a manifest of such a language and with tests."""
    for name, tool in FOREIGN.items():
        folders = [folder for folder in _folders_with(name, blobs) if any(map(_among_tests, _below(folder, blobs)))]
        if "" in folders:
            yield tool
        else:
            yield from (f"{tool} in {folder}" for folder in folders)


def _folders_with(name: str, blobs: Mapping[str, str]) -> list[str]:
    """The folders that contain a file of this name; "" is the root. Folders of tests and of other people's code, such
    as `vendor`, are left out."""
    found = [path for path in blobs if path.rpartition("/")[2] == name and not is_among_tests(path)]
    return [path.rpartition("/")[0] for path in found if FOREIGN_CODE.isdisjoint(path.split("/"))]


def _below(folder: str, blobs: Mapping[str, str]) -> Iterator[str]:
    return (path for path in blobs if not folder or path.startswith(f"{folder}/"))


def _is_foreign_test(path: str) -> bool:
    """Whether the file is in another language and named like a test. False for other people's code."""
    pure = PurePosixPath(path)
    if not path.endswith(FOREIGN_ENDINGS) or not FOREIGN_CODE.isdisjoint(pure.parts):
        return False
    return pure.suffix == ".t" or bool(_FOREIGN_TEST.fullmatch(pure.stem))


async def tests_without_runner(
    workspace: Workspace, commit: str, blobs: Mapping[str, str], scripts: Mapping[str, str]
) -> list[str]:
    """Files that hold tests, by name or content, but that the engine cannot run:

    - tests in other languages, if no manifest shows a suite
    - tests that are no code, such as `.feature` files
    - notebooks that a tool tests, and CI settings with a step that tests something
    - shell scripts that start no test runner known to the engine
    """
    foreign = [] if any(_foreign(blobs)) else [path for path in blobs if _is_foreign_test(path)]
    data = await data_of_tests(workspace, commit, foreign)
    foreign = [path for path in foreign if path not in data][:MOST_NAMED]
    named = [path for path in blobs if path.endswith(SHELL_SCRIPTS) and _is_script_of_tests(path)]
    written = [path for path in blobs if path.endswith(WRITTEN_TESTS) and FOREIGN_CODE.isdisjoint(path.split("/"))]
    read = await files_that_tests_read(workspace, commit, written)
    foreign += [path for path in written if path not in read][:MOST_NAMED]
    foreign += await _tested_by_settings(workspace, commit, blobs)
    texts = await workspace.read_all(commit, named)
    shell = {path: texts.get(path, b"").decode("utf-8", "replace") for path in named}
    lonely = [path for path, text in shell.items() if not _starts_runner(text, scripts)]
    return [*foreign, *lonely[:MOST_SHELL]]


async def _tested_by_settings(workspace: Workspace, commit: str, blobs: Mapping[str, str]) -> list[str]:
    """Notebooks, if settings of the base name a tool that tests them, and settings of a CI with a step that starts
    code of the project and compares something."""
    settings = await workspace.read_all(commit, [path for path in blobs if may_start_tests(path)])
    texts = {path: content.decode("utf-8", "replace") for path, content in settings.items()}
    notebooks = [path for path in blobs if path.endswith(".ipynb")][:MOST_NAMED]
    found = notebooks if any(map(_TESTS_NOTEBOOKS.search, texts.values())) else []
    own = {*blobs, *(part for path in blobs if path.endswith(".py") for part in (path.split("/")[0], path[:-3]))}
    found += [
        path for path, text in texts.items() if path.endswith((".yml", ".yaml")) and _has_step_of_tests(text, own)
    ]
    return found


def _has_step_of_tests(text: str, own: Collection[str]) -> bool:
    for step in _STEP.split(text):
        started = {name.split(".")[0] or path for name, path in STARTS.findall(step)} - {""}
        if not started.isdisjoint(own) and _COMPARES.search(step):
            return True
    return False


def _is_script_of_tests(path: str) -> bool:
    pure = PurePosixPath(path)
    in_tests = pure.parent.name in ("test", "tests", "spec") and bool(_RUNS_ALL.fullmatch(pure.stem))
    return in_tests or path.endswith(".bats") or bool(_SHELL_TEST.fullmatch(pure.stem))


def _starts_runner(text: str, scripts: Mapping[str, str]) -> bool:
    commands = [shlex.join(words) for line in text.splitlines() for words in started_commands(line.strip())]
    return any(recognise_runner(command, scripts) for command in commands)


def _among_tests(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return "test" in parts[-1].lower() or not {"test", "tests", "spec"}.isdisjoint(parts[:-1]) or parts[-1] == "lib.rs"
