"""Counts Go tests from the events of `go test -json`, and finds the file that contains each test."""

import posixpath
import random
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from trued.model import Outcomes, TestsCheck
from trued.proof.room.bench import Bench, CaseSelection, Fact, keepable_text, nonce, void_fact
from trued.proof.room.files_in_room import plant_file, replace_files
from trued.proof.room.frozen_files import is_below
from trued.proof.room.go_cache import OFFLINE, missing_go_package, module_name
from trued.proof.room.virtualenv import SYSTEM_PATH
from trued.proof.runners.counting import (
    CountedRun,
    CountedTest,
    RunnerFacts,
    counted_fact,
    file_text,
    nothing_collected,
    worst_outcomes,
)
from trued.proof.runners.made_to_fail import failing_go
from trued.proof.runners.sample_files import files_to_copy
from trued.proof.text.command_parser import RunnerCall
from trued.protocols import CommandResult
from trued.support.foreign_json import parse_json
from trued.support.lazy_regex import lazy_regex

MOST_TEXT = 4000
MOST_S = 1e6
_PACKAGE = lazy_regex(r"^package\s+(\w+)", re.MULTILINE)
_TEST = lazy_regex(r"^func\s+(Test\w*|Example\w*|Fuzz\w*)\s*\(", re.MULTILINE)
_UNBUILT = lazy_regex(rb"^FAIL\s+(\S+)\s+\[(?:build|setup) failed\]", re.MULTILINE)
_BROKE_OFF = lazy_regex(r"panic: |fatal error: |goroutine \d+ \[")
_CANARY = """package {package}

import "testing"

func Test{name}A(t *testing.T) {{
\tif x := {number}; x != 2 {{
\t\tt.Errorf("%v", x)
\t}}
}}

func Test{name}B(t *testing.T) {{
\tt.Fatal("{number}")
}}
"""
CANARIES = 2
_ENDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_DROPPED = ("json", "v", "failfast")  # dropped, because the engine sets its own output format and counts every test
_CHOOSING = ("run", "skip", "count", "shuffle")  # dropped if the engine has chosen the tests
_VALUED = frozenset(  # flags whose value may be a separate word
    (
        *("tags", "run", "skip", "count", "shuffle", "timeout", "cpu", "parallel", "p", "vet", "exec", "mod", "list"),
        *("modfile", "ldflags", "gcflags", "asmflags", "gccgoflags", "overlay", "buildmode", "toolexec", "o", "C"),
        *("outputdir", "bench", "benchtime", "fuzz", "fuzztime", "covermode", "coverpkg", "coverprofile"),
    )
)


@dataclass(frozen=True, slots=True)
class _Model:
    file: str
    package: str  # the name in its package clause
    content: str


async def run_go_tests(check: TestsCheck, runner_call: RunnerCall, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the check once in this room and return what every test id showed."""
    program = shutil.which("go", path=bench.plain.get("PATH", SYSTEM_PATH))
    if program is None:
        return void_fact("there is no go on the path", Outcomes.UNJUDGED, "program go", check.command)
    known = {*await bench.workspace.blobs(bench.base), *bench.carried}
    test_files = GoTestFiles(bench.room, known, bench.folder or ".")
    arguments = _parse_arguments(runner_call.arguments)
    chosen = _chosen(check, selection, test_files, arguments)
    call = _GoTestCall(check, runner_call, bench, program)
    with _canaries(bench, chosen) as canaries:
        shuffling = ["-shuffle=on"] if selection.second else []
        result = await call.run(
            ["-count=1", *shuffling, *_flags(arguments, canaries), *(arguments.packages or ["."]), *arguments.rest]
        )
    counted = _counted(result, test_files, selection, canaries)
    counted = replace(counted, copies=await _copies(call, test_files, chosen, counted))
    words = RunnerFacts(
        runner="go test",
        command=f"{program} test -json ← {check.command}",
        lacks=lambda text: missing_go_package(text, test_files.modules.values()),
        canaries=len(canaries),
        nothing=nothing_collected(selection),
    )
    stray = ""
    if result.exit_code == 0 and canaries:
        stray = "tests failed, but the command ended with 0: the results of this run cannot be trusted"
    return counted_fact(bench, result, counted, words, stray=stray)


@dataclass(frozen=True, slots=True)
class _GoTestArguments:
    """The parsed arguments of a `go test` command."""

    flags: list[tuple[str, list[str]]]  # name and words of each flag
    packages: list[str]
    rest: list[str]  # `-args` and all words after it: arguments of the tests themselves


def _parse_arguments(arguments: Iterable[str]) -> _GoTestArguments:
    parsed = _GoTestArguments([], [], [])
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, equals, _ = word.lstrip("-").removeprefix("test.").partition("=")
        if name == "args" and word != name:
            parsed.rest.extend((word, *words))
            break
        if not word.startswith("-"):
            parsed.packages.append(word)
        elif name not in _DROPPED:
            parsed.flags.append((name, [word, words.pop(0)] if name in _VALUED and not equals and words else [word]))
    return parsed


def _flags(arguments: _GoTestArguments, canaries: Iterable[str]) -> list[str]:
    """The command's flags. A flag that chooses tests by name also gets the names of the canaries."""
    canary_pattern = f"^(Test{'|Test'.join(canaries)})"
    words: list[str] = []
    for name, flag_words in arguments.flags:
        if name == "run" and canaries:
            pattern = flag_words[1] if len(flag_words) > 1 else flag_words[0].partition("=")[2]
            words.append(f"-run={canary_pattern}|{pattern}")
        else:
            words += flag_words
    return words


@dataclass(frozen=True, slots=True)
class _GoTestCall:
    check: TestsCheck
    runner_call: RunnerCall
    bench: Bench
    program: str

    async def run(self, words: list[str]) -> CommandResult:
        # Without a shared cache, Go compiles into a HOME that only this command uses, because tests can write there.
        variables = {
            **self.bench.plain,
            **self.runner_call.variables,
            **{**OFFLINE, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"},
        }
        if (self.bench.room / self.bench.folder / "vendor" / "modules.txt").is_file():
            variables["GOFLAGS"] = "-mod=vendor"
        return await self.bench.execute(
            (self.program, "test", "-json", *words),
            within_s=self.check.within_s,
            network=self.check.network,
            variables=variables,
        )


class GoTestFiles:
    """Finds the file of the base that contains a test. Go itself reports only the package."""

    def __init__(self, room: Path, known: Iterable[str], start: str = ".") -> None:
        self.room = room
        self.start = start  # the folder in which `go` starts
        self.files = sorted(path for path in known if path.endswith("_test.go"))
        self.modules = {
            str(PurePosixPath(path).parent): name
            for path in known
            if PurePosixPath(path).name == "go.mod" and (name := module_name(file_text(self.room, path)))
        }

    def folder(self, package: str) -> str:
        """A package's folder in the checkout; the package's name if no module of the project contains it."""
        for folder, module in sorted(self.modules.items(), key=lambda item: -len(item[1])):
            if package == module or package.startswith(f"{module}/"):
                inner = package.removeprefix(module).strip("/")
                return str(PurePosixPath(folder) / inner) if inner else folder
        return package

    def is_in_packages(self, path: str, packages: Iterable[str]) -> bool:
        """Whether this file's package is among `packages`, which are folders, import paths or patterns."""
        folder = PurePosixPath(path).parent
        if any(part[0] in "._" or part in ("testdata", "vendor") for part in folder.parts):
            return False
        if self.module_folder(folder) != self.module_folder(
            PurePosixPath(self.start)
        ):  # `go test` does not reach other modules
            return False
        return any(_covers(self.from_start(package_pattern), str(folder)) for package_pattern in packages or ["."])

    def module_folder(self, folder: PurePosixPath) -> str:
        """The folder of the module to which a folder belongs."""
        return next((str(above) for above in (folder, *folder.parents) if str(above) in self.modules), ".")

    def from_start(self, package: str) -> str:
        """The folder or pattern that this argument of `go test` stands for, as a path of the checkout."""
        folder = self.folder(package)
        return folder if folder != package else posixpath.normpath(posixpath.join(self.start, package))

    def count_definitions(self, path: str, test: str) -> int:
        """How many files of the package define a test of this name. There may be several, chosen by build tags."""
        files = [file for file in self.files if PurePosixPath(file).parent == PurePosixPath(path).parent]
        return sum(test in _TEST.findall(file_text(self.room, file)) for file in files)

    def file(self, package: str, test: str) -> str:
        """The file that contains this test of this package; the package's folder if none does."""
        folder = self.folder(package.removesuffix("_test"))
        name = test.split("/")[0]
        for path in self.files:
            if str(PurePosixPath(path).parent) == folder and name in _TEST.findall(file_text(self.room, path)):
                return path
        return folder


def _covers(pattern: str, folder: str) -> bool:
    """Whether the pattern covers the folder: `./...` covers all, `./a/...` covers `a` and all below it."""
    plain = pattern.removeprefix("./").rstrip("/") or "."
    if not plain.endswith("..."):
        return str(PurePosixPath(plain)) == folder
    start = plain.removesuffix("...").rstrip("/")
    return not start or start == "." or is_below(folder, start)


# -- tests that must fail ----------------------------------------------------------------------------------------------


def _chosen(
    check: TestsCheck, selection: CaseSelection, test_files: GoTestFiles, arguments: _GoTestArguments
) -> list[_Model]:
    """The test files with which the engine finds out whether the runner reports failures.

    The package of each chosen file gets canaries (tests that must fail). The file's own tests are run again as copies
    that must fail. All files with tests that failed on the base are chosen, at most as many as `files_to_copy` allows,
    and one other file. If no test is known to have failed on the base, only one file is chosen, preferably one that the
    check names.
    """
    ids = {test_id.split("::")[0] for test_id in selection.ids or ()}
    files = [
        path
        for path in test_files.files
        if (path in ids if ids else test_files.is_in_packages(path, arguments.packages))
    ]
    if not selection.red:
        files = [path for path in files if any(is_below(path, named_file) for named_file in check.files)] or files
    contents = {
        path: file_text(test_files.room, path) for path in files if failing_go(file_text(test_files.room, path)).titles
    }
    chosen = files_to_copy(contents, (test_id.split("::")[0] for test_id in selection.red))
    packages = {path: _PACKAGE.search(contents[path]) for path in chosen}
    return [_Model(path, match.group(1), contents[path]) for path, match in packages.items() if match]


@contextmanager
def _canaries(bench: Bench, chosen: list[_Model]) -> Iterator[dict[str, str]]:
    """Add tests that must fail to the package of each chosen file. Yields: random part of the added tests' names → the
    package's folder."""
    folders = {str(PurePosixPath(model.file).parent): model.package for model in chosen}
    with ExitStack() as stack:
        canaries = {}
        for folder, package in folders.items():
            name = f"X{nonce()[:14]}"
            text = _CANARY.format(package=package, name=name, number=random.SystemRandom().random())
            stack.enter_context(plant_file(bench.room, f"{folder}/{name.lower()}_test.go", text))
            canaries[name] = folder
        yield canaries


async def _copies(
    call: _GoTestCall, test_files: GoTestFiles, chosen: list[_Model], counted: CountedRun
) -> dict[str, str]:
    """Run the passed tests of these files again, changed so that they must fail. Returns test id → outcome."""
    failing_files = {model.file: failing_go(model.content) for model in chosen}
    passed = [name.partition("::") for name, test in counted.outcomes.items() if test.outcome == "passed"]
    changed_tests = [
        (file, test) for file, _, test in passed if file in failing_files and test in failing_files[file].titles
    ]
    copied = {f"{file}::{test}": test for file, test in changed_tests if test_files.count_definitions(file, test) == 1}
    files = sorted({test_id.split("::")[0] for test_id in copied})
    if not files:
        return {}
    folders = sorted({f"./{call.bench.from_folder(str(PurePosixPath(file).parent))}" for file in files})
    arguments = _parse_arguments(call.runner_call.arguments)
    flags = [word for name, words in arguments.flags if name not in _CHOOSING for word in words]
    names = f"^({'|'.join(sorted({*copied.values()}))})$"
    with replace_files(call.bench.room, {file: failing_files[file].content for file in files}):
        result = await call.run(["-count=1", *flags, "-run", names, *folders, *arguments.rest])
    again = _counted(result, test_files, CaseSelection(), {})
    return {name: again.how(name) for name in copied}


# -- results -----------------------------------------------------------------------------------------------------------


def _counted(
    result: CommandResult, test_files: GoTestFiles, selection: CaseSelection, canaries: Mapping[str, str]
) -> CountedRun:
    events = list(_ended(result.stdout))
    canary_outcomes = {
        event.test: event.outcome for event in events if any(f"Test{name}" in event.test for name in canaries)
    }
    tests = [event for event in events if event.test and event.test not in canary_outcomes]
    outcomes = worst_outcomes(
        (f"{test_files.file(event.package, event.test)}::{event.test}", event.seen) for event in tests
    )
    failing = {event.package for event in events if event.outcome == "failed" and event.test}
    failed_packages = {
        event.package: event.text for event in events if event.outcome == "failed" and event.package not in failing
    }
    errors = result.stderr.decode("utf-8", "replace")[-MOST_TEXT:]
    # If a package cannot be built, older versions of Go report it only in this way.
    failed_packages |= {package.decode("utf-8", "replace"): "" for package in _UNBUILT.findall(result.stdout)}
    # The base has no reason to forge results. So if a package crashes there, its canaries need not have run.
    cut = [event for event in events if event.outcome == "failed" and _BROKE_OFF.search(event.text)]
    crashed_folders = {test_files.folder(event.package) for event in cut} if selection.on_base else set()
    failed_files = {
        path: ("failed", text or errors)
        for package, text in failed_packages.items()
        for path in _test_files(test_files, package)
    }
    kept_outcomes = {name: test for name, test in outcomes.items() if _is_wanted(selection, name)}
    return CountedRun(
        outcomes=kept_outcomes,
        collected={path: failure for path, failure in failed_files.items() if _is_wanted(selection, path)},
        canaries={
            name: _canary_outcome(name, folder, canary_outcomes, {*crashed_folders, *_folders(failed_files)})
            for name, folder in canaries.items()
        },
        ended=result.exit_code,
        left_out=tuple(name for name in outcomes if name not in kept_outcomes),
    )


def _folders(files: Iterable[str]) -> set[str]:
    return {str(PurePosixPath(path).parent) for path in files}


def _canary_outcome(name: str, folder: str, canary_outcomes: Mapping[str, str], broken: set[str]) -> str:
    """Returns "failed" if all canaries of the package failed, otherwise "".

    A package in `broken` failed as a whole, so some of its canaries may not have run. Then the result is "failed"
    unless a canary ended in another way.
    """
    outcomes = [outcome for test, outcome in canary_outcomes.items() if name in test]
    if folder in broken and set(outcomes) <= {"failed"}:
        return "failed"
    return "failed" if len(outcomes) == CANARIES and set(outcomes) == {"failed"} else ""


def _is_wanted(selection: CaseSelection, name: str) -> bool:
    """Whether the test or file `name` is selected. A selected file includes its tests, and a selected test its file."""
    ids = selection.ids
    if ids is None or name in ids or name.split("::")[0] in ids:
        return True
    return "::" not in name and any(test_id.startswith(f"{name}::") for test_id in ids)


def _test_files(test_files: GoTestFiles, package: str) -> list[str]:
    """All test files of the package. If the package does not compile, each of them fails."""
    folder = test_files.folder(package.split(" ")[0].removesuffix("_test").removesuffix(".test"))
    return [path for path in test_files.files if str(PurePosixPath(path).parent) == folder]


@dataclass(frozen=True, slots=True)
class _Ended:
    package: str
    test: str  # "" for the package itself
    outcome: str
    text: str
    seconds: float

    @property
    def seen(self) -> CountedTest:
        return CountedTest(self.outcome, "call", self.text, self.seconds)


def _ended(data: bytes) -> Iterator[_Ended]:
    """The ended tests and packages in the output of `go test -json`, each with its output."""
    output: dict[tuple[str, str], str] = {}
    for event in _events(data):
        key = str(event.get("Package", "")), str(event.get("Test", ""))
        action, seconds = str(event.get("Action", "")), event.get("Elapsed", 0.0)
        if action == "output":
            output[key] = (output.get(key, "") + keepable_text(str(event.get("Output", ""))))[-MOST_TEXT:]
        elif action in _ENDS:
            spent = float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < MOST_S else 0.0
            yield _Ended(*key, _ENDS[action], output.get(key, ""), spent)


def _events(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        if line.startswith(b"{") and isinstance(event := parse_json(line), dict):
            yield event
