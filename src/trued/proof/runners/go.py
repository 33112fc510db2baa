"""Go tests, counted from the events of `go test -json`, each with the file that contains it."""

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
from trued.proof.room.clean_room import plant_file, replace_files
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

MOST_TEXT = 4000
MOST_S = 1e6
_PACKAGE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
_TEST = re.compile(r"^func\s+(Test\w*|Example\w*|Fuzz\w*)\s*\(", re.MULTILINE)
_UNBUILT = re.compile(rb"^FAIL\s+(\S+)\s+\[(?:build|setup) failed\]", re.MULTILINE)
_BROKE_OFF = re.compile(r"panic: |fatal error: |goroutine \d+ \[")
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


async def run_go_tests(check: TestsCheck, asked: RunnerCall, bench: Bench, wanted: CaseSelection) -> Fact:
    """Run the check once in this room and return what every test id showed."""
    program = shutil.which("go", path=bench.plain.get("PATH", SYSTEM_PATH))
    if program is None:
        return void_fact("there is no go on the path", Outcomes.UNJUDGED, "program go", check.command)
    known = {*await bench.workspace.blobs(bench.base), *bench.carried}
    held = GoTestFiles(bench.room, known, bench.folder or ".")
    given = _parse_arguments(asked.arguments)
    chosen = _chosen(check, wanted, held, given)
    call = _GoTestCall(check, asked, bench, program)
    with _canaries(bench, chosen) as canaries:
        extra = ["-shuffle=on"] if wanted.second else []
        ran = await call.run(["-count=1", *extra, *_flags(given, canaries), *(given.packages or ["."]), *given.rest])
    counted = _counted(ran, held, wanted, canaries)
    counted = replace(counted, copies=await _copies(call, held, chosen, counted))
    words = RunnerFacts(
        runner="go test",
        command=f"{program} test -json ← {check.command}",
        lacks=lambda text: missing_go_package(text, held.modules.values()),
        canaries=len(canaries),
        nothing=nothing_collected(wanted),
    )
    stray = ""
    if ran.exit_code == 0 and canaries:
        stray = "tests failed, but the command ended with 0: the results of this run cannot be trusted"
    return counted_fact(bench, ran, counted, words, stray=stray)


@dataclass(frozen=True, slots=True)
class _GoTestArguments:
    """The parsed arguments of a `go test` command."""

    flags: list[tuple[str, list[str]]]  # name and words of each flag
    packages: list[str]
    rest: list[str]  # `-args` and all words after it: arguments of the tests themselves


def _parse_arguments(arguments: Iterable[str]) -> _GoTestArguments:
    found = _GoTestArguments([], [], [])
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, equals, _ = word.lstrip("-").removeprefix("test.").partition("=")
        if name == "args" and word != name:
            found.rest.extend((word, *words))
            break
        if not word.startswith("-"):
            found.packages.append(word)
        elif name not in _DROPPED:
            found.flags.append((name, [word, words.pop(0)] if name in _VALUED and not equals and words else [word]))
    return found


def _flags(given: _GoTestArguments, canaries: Iterable[str]) -> list[str]:
    """The command's flags; if they choose tests by name, the canaries are added to the choice."""
    ours = f"^(Test{'|Test'.join(canaries)})"
    words: list[str] = []
    for name, one in given.flags:
        chooses = name == "run" and canaries
        words += [f"-run={ours}|{one[1] if len(one) > 1 else one[0].partition('=')[2]}"] if chooses else one
    return words


@dataclass(frozen=True, slots=True)
class _GoTestCall:
    check: TestsCheck
    asked: RunnerCall
    bench: Bench
    program: str

    async def run(self, words: list[str]) -> CommandResult:
        # Without a shared cache, Go compiles into a HOME that only this command uses, because tests can write there.
        variables = {
            **self.bench.plain,
            **self.asked.variables,
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
        """A package's folder in the checkout."""
        for folder, module in sorted(self.modules.items(), key=lambda one: -len(one[1])):
            if package == module or package.startswith(f"{module}/"):
                inner = package.removeprefix(module).strip("/")
                return str(PurePosixPath(folder) / inner) if inner else folder
        return package

    def asked_for(self, path: str, packages: Iterable[str]) -> bool:
        """Whether this file's package is among `packages`, which are folders, import paths or patterns."""
        folder = PurePosixPath(path).parent
        if any(part[0] in "._" or part in ("testdata", "vendor") for part in folder.parts):
            return False
        if self.home(folder) != self.home(PurePosixPath(self.start)):  # `go test` does not reach other modules
            return False
        return any(_covers(self.from_start(one), str(folder)) for one in packages or ["."])

    def home(self, folder: PurePosixPath) -> str:
        """The folder of the module to which a folder belongs."""
        return next((str(one) for one in (folder, *folder.parents) if str(one) in self.modules), ".")

    def from_start(self, package: str) -> str:
        """The folder or pattern that an argument of `go test` means, as a path of the checkout."""
        folder = self.folder(package)
        return folder if folder != package else posixpath.normpath(posixpath.join(self.start, package))

    def holding(self, path: str, test: str) -> int:
        """How many files of the package define a test of this name. There may be several, chosen by build tags."""
        beside = [one for one in self.files if PurePosixPath(one).parent == PurePosixPath(path).parent]
        return sum(test in _TEST.findall(file_text(self.room, one)) for one in beside)

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


def _chosen(check: TestsCheck, wanted: CaseSelection, held: GoTestFiles, given: _GoTestArguments) -> list[_Model]:
    """The test files that also run as copies that must fail: those with tests that failed on the base, and one other.
    If none is known to have failed, files that the check names are preferred."""
    ids = {one.split("::")[0] for one in wanted.ids or ()}
    files = [path for path in held.files if (path in ids if ids else held.asked_for(path, given.packages))]
    if not wanted.red:
        files = [path for path in files if any(is_below(path, one) for one in check.files)] or files
    able = {path: file_text(held.room, path) for path in files if failing_go(file_text(held.room, path)).titles}
    chosen = files_to_copy(able, (one.split("::")[0] for one in wanted.red))
    packages = {path: _PACKAGE.search(able[path]) for path in chosen}
    return [_Model(path, match.group(1), able[path]) for path, match in packages.items() if match]


@contextmanager
def _canaries(bench: Bench, chosen: list[_Model]) -> Iterator[dict[str, str]]:
    """Add tests that must fail to each of these packages. Yields the random prefix of their names → the package's
    folder."""
    folders = {str(PurePosixPath(one.file).parent): one.package for one in chosen}
    with ExitStack() as stack:
        found = {}
        for folder, package in folders.items():
            name = f"X{nonce()[:14]}"
            text = _CANARY.format(package=package, name=name, number=random.SystemRandom().random())
            stack.enter_context(plant_file(bench.room, f"{folder}/{name.lower()}_test.go", text))
            found[name] = folder
        yield found


async def _copies(call: _GoTestCall, held: GoTestFiles, chosen: list[_Model], counted: CountedRun) -> dict[str, str]:
    """Run the passed tests of these files again, changed so that they must fail. Returns test id → outcome."""
    made = {one.file: failing_go(one.content) for one in chosen}
    passed = [name.partition("::") for name, one in counted.outcomes.items() if one.outcome == "passed"]
    sure = [(file, test) for file, _, test in passed if file in made and test in made[file].titles]
    ours = {f"{file}::{test}": test for file, test in sure if held.holding(file, test) == 1}
    files = sorted({one.split("::")[0] for one in ours})
    if not files:
        return {}
    folders = sorted({f"./{call.bench.from_folder(str(PurePosixPath(file).parent))}" for file in files})
    given = _parse_arguments(call.asked.arguments)
    flags = [word for name, words in given.flags if name not in _CHOOSING for word in words]
    names = f"^({'|'.join(sorted({*ours.values()}))})$"
    with replace_files(call.bench.room, {file: made[file].content for file in files}):
        ran = await call.run(["-count=1", *flags, "-run", names, *folders, *given.rest])
    again = _counted(ran, held, CaseSelection(), {})
    return {name: again.how(name) for name in ours}


# -- results -----------------------------------------------------------------------------------------------------------


def _counted(ran: CommandResult, held: GoTestFiles, wanted: CaseSelection, canaries: Mapping[str, str]) -> CountedRun:
    ended = list(_ended(ran.stdout))
    ours = {one.test: one.outcome for one in ended if any(f"Test{name}" in one.test for name in canaries)}
    tests = [one for one in ended if one.test and one.test not in ours]
    outcomes = worst_outcomes((f"{held.file(one.package, one.test)}::{one.test}", one.seen) for one in tests)
    failing = {one.package for one in ended if one.outcome == "failed" and one.test}
    broken = {one.package: one.text for one in ended if one.outcome == "failed" and one.package not in failing}
    errors = ran.stderr.decode("utf-8", "replace")[-MOST_TEXT:]
    # If a package cannot be built, older versions of Go report it only in this way.
    broken |= {one.decode("utf-8", "replace"): "" for one in _UNBUILT.findall(ran.stdout)}
    # The base has no reason to forge results. So if a package crashes there, its canaries need not have run.
    cut = [one for one in ended if one.outcome == "failed" and _BROKE_OFF.search(one.text)]
    off = {held.folder(one.package) for one in cut} if wanted.on_base else set()
    whole = {
        path: ("failed", text or errors) for package, text in broken.items() for path in _test_files(held, package)
    }
    kept = {name: one for name, one in outcomes.items() if _is_wanted(wanted, name)}
    return CountedRun(
        outcomes=kept,
        collected={path: one for path, one in whole.items() if _is_wanted(wanted, path)},
        canaries={
            name: _canary_outcome(name, folder, ours, {*off, *_folders(whole)}) for name, folder in canaries.items()
        },
        ended=ran.exit_code,
        left_out=tuple(name for name in outcomes if name not in kept),
    )


def _folders(files: Iterable[str]) -> set[str]:
    return {str(PurePosixPath(path).parent) for path in files}


def _canary_outcome(name: str, folder: str, ours: Mapping[str, str], broken: set[str]) -> str:
    """Returns "failed" if all canaries of the package failed, or if none passed and the package did not compile or
    crashed; else ""."""
    ended = [outcome for test, outcome in ours.items() if name in test]
    if folder in broken and set(ended) <= {"failed"}:
        return "failed"
    return "failed" if len(ended) == CANARIES and set(ended) == {"failed"} else ""


def _is_wanted(wanted: CaseSelection, name: str) -> bool:
    """Whether the test or file `name` is selected. A file also selects its tests, and each test selects its file."""
    ids = wanted.ids
    if ids is None or name in ids or name.split("::")[0] in ids:
        return True
    return "::" not in name and any(one.startswith(f"{name}::") for one in ids)


def _test_files(held: GoTestFiles, package: str) -> list[str]:
    """All test files of the package. If the package does not compile, each of them fails."""
    folder = held.folder(package.split(" ")[0].removesuffix("_test").removesuffix(".test"))
    return [path for path in held.files if str(PurePosixPath(path).parent) == folder]


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
