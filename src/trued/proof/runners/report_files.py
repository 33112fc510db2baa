"""Runners that write a report: vitest, jest, mocha, and any command that writes JUnit XML."""

import json
import os
import posixpath
import random
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from trued.model import Outcomes, TestsCheck, Tried
from trued.proof.room import node
from trued.proof.room.bench import WHOLE_CHECK, Bench, CaseSelection, Fact, cap_output, nonce, void_fact
from trued.proof.room.files_in_room import plant_file, replace_files, scratch_folder
from trued.proof.room.frozen_files import is_below, is_named_like_a_script_test
from trued.proof.runners.counting import (
    CountedRun,
    CountedTest,
    RunnerFacts,
    counted_fact,
    file_text,
    nothing_collected,
    plausible_s,
    worst_outcomes,
)
from trued.proof.runners.junit_xml import MOST_BYTES, BadReport, ReportedTest, as_seconds, id_in_file, read_report
from trued.proof.runners.made_to_fail import failing_javascript, is_es_module
from trued.proof.runners.sample_files import files_to_copy
from trued.proof.runners.script_runner_options import (
    JEST_START,
    JEST_VARIABLE,
    NEWEST,
    REPORT_VARIABLE,
    runner_arguments,
)
from trued.proof.text.command_parser import RunnerCall
from trued.proof.text.languages import is_script
from trued.protocols import CommandResult
from trued.support.lazy_regex import lazy_regex

NOT_FOUND = 127
MOST_ALONE = 40  # at most this many test files are run, each alone
# Vite writes a copy of its configuration here before it loads it. That fails, because packages are read-only, so the
# tests are then run with another loader.
_UNWRITABLE = b"node_modules/.vite-temp"
_UNRESOLVED = lazy_regex(r"(?:Failed to resolve import|Failed to load url) \"?([^\"'./ ][^\"' ]*)")
_ONLY = lazy_regex(r"\b(test|it|specify|describe|suite|context)\.only\b")
_NAMED = lazy_regex(r"((?:test|spec)s?[-_])?.*?([-_](?:test|spec)s?)?")
# A head can tamper with each assertion separately, so each has its own canary.
_EXPECTED = {
    "toBe": "e(n).toBe(2)",
    "not": "e(n).not.toBe(n)",
    "toEqual": "e({ x: n }).toEqual({ x: 2 })",
    "toStrictEqual": "e({ x: n }).toStrictEqual({ x: 2 })",
    "toMatchObject": "e({ x: n }).toMatchObject({ x: 2 })",
    "toBeTruthy": "e(n === 2).toBeTruthy()",
    "toBeDefined": "e([n][1]).toBeDefined()",
    "toBeNull": "e(n).toBeNull()",
    "toBeCloseTo": "e(n).toBeCloseTo(2)",
    "toBeGreaterThan": "e(n).toBeGreaterThan(2)",
    "toContain": "e([n]).toContain(2)",
    "toHaveLength": "e([n]).toHaveLength(2)",
    "toMatch": "e(String(n)).toMatch(/none/)",
    "toThrow": "e(() => {}).toThrow()",
}
_ASSERTED = {
    "ok": "a.ok(n === 2)",
    "equal": "a.equal(n, 2)",
    "strictEqual": "a.strictEqual(n, 2)",
    "deepEqual": "a.deepEqual({ x: n }, { x: 2 })",
    "deepStrictEqual": "a.deepStrictEqual({ x: n }, { x: 2 })",
    "throws": "a.throws(() => {})",
}
_IMPORTED = "\nimport {{ test as {n}t, expect as {n}e }} from 'vitest';\n"
_CANARY = """
;(() => {{
  const g{any} = globalThis, n{number} = {value};
  const t{any} = {test}, e{any} = {expect};
  const a{any} = g.process?.getBuiltinModule?.('node:assert');
  const knows = (() => {{ try {{ return typeof e(n).toBe === 'function'; }} catch {{ return false; }} }})();
  const fails = (able{any}, body{any}) => () => {{ if (able) body(); else throw new Error(String(n)); }};
  t('{name} thrown', () => {{ throw new Error(String(n)); }});
{tests}
}})();
"""
_SPACE = lazy_regex(r"[\t\r\n]")  # a title of several lines is one line in an id
_MOCHA_OUTCOMES = {outcome: outcome for outcome in ("passed", "failed", "skipped")}
CANARIES = 1 + len(_EXPECTED) + len(_ASSERTED)
TYPED = (".ts", ".tsx", ".mts", ".cts")


@dataclass(frozen=True, slots=True)
class _Room:
    """The check, runner and room of one execution."""

    check: TestsCheck
    call: RunnerCall | None
    bench: Bench
    selection: CaseSelection
    known: frozenset[str]  # files of base and contract

    @property
    def runner(self) -> str:
        return self.call.runner if self.call else self.check.command.split()[0]


async def run_with_report(check: TestsCheck, call: RunnerCall | None, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the check once in this room and return what every test id showed.

    `call`: the command as a call of vitest, jest or mocha. For any other command, `call` is None, and `check.report`
    names the report that the command writes.
    """
    room = _Room(check, call, bench, selection, frozenset({*await bench.workspace.blobs(bench.base), *bench.carried}))
    chosen = _models(room)
    # With a known runner, the tests that must fail run separately, so that they do not disturb other tests.
    with _canaries(room, [] if call else chosen) as canaries, scratch_folder(bench.room) as folder:
        report = bench.room / check.report if call is None else folder / "report"
        if why := _clear(bench.room, report):
            return void_fact(why, Outcomes.BROKEN, "report", check.command)
        result = await _execute(room, report)
        if _exists(report):
            counted = _counted(room, report, canaries)
        elif room.runner == "mocha" and selection.on_base and _has_started(room, result):
            counted = await _file_by_file(room, folder)
            chosen = [path for path in chosen if isinstance(counted, CountedRun) and path not in counted.collected]
        else:
            return _without_report(room, result)
    if isinstance(counted, str):
        return void_fact(f"the report cannot be read: {counted}", Outcomes.FAILED, "report", check.command)
    stray = _stray(room, result, counted, planted_one=bool(canaries))
    counted = replace(counted, ended=result.exit_code)
    if call and chosen:
        counted, stray = await _run_made_to_fail(room, chosen, counted, stray)
    words = RunnerFacts(
        room.runner, check.command, missing_for_scripts, canaries=len(chosen), nothing=nothing_collected(selection)
    )
    return counted_fact(bench, result, counted, words, stray=stray)


def _stray(room: _Room, result: CommandResult, counted: CountedRun, *, planted_one: bool) -> str:
    failed = any(test.outcome in ("failed", "error") for test in counted.outcomes.values()) or counted.collected
    if result.exit_code == 0 and (planted_one or failed):
        return "tests failed, but the command ended with 0: the results of this run cannot be trusted"
    if room.call is None and result.exit_code not in (0, None) and not planted_one and not failed:
        return f"every test is reported as passed, but the command ended with {result.exit_code}"
    return ""


def missing_for_scripts(text: str) -> str:
    """The package that is missing according to this output, or ""."""
    unresolved = _UNRESOLVED.findall(text)
    return node.missing_package(text) or (unresolved[-1] if unresolved else "")


# -- running -----------------------------------------------------------------------------------------------------------


async def _execute(room: _Room, report: Path, paths: Sequence[str] = ()) -> CommandResult:
    bench, call = room.bench, room.call
    variables_of_call = call.variables if call else {}
    variables = {**bench.plain, **variables_of_call, "NODE_OPTIONS": ""}
    variables |= {REPORT_VARIABLE: str(report)} if room.runner == "mocha" else {}
    argv = ["sh", "-c", room.check.command]
    if call:
        program = str(_packages(room) / ".bin" / call.runner)
        paths = [bench.from_folder(path) for path in paths]
        second, major = room.selection.second, _major_version(room)
        options = runner_arguments(call.runner, call.arguments, str(report), paths, second=second, major=major)
        argv = [program, *options]
        if call.runner == "jest" and _is_script_of_package(program):
            argv = ["node", str(JEST_START)]
            start = {"program": program, "own": list(call.arguments), "options": options}
            variables |= {JEST_VARIABLE: json.dumps(start)}

    async def run(*more: str) -> CommandResult:
        within_s, network = room.check.within_s, room.check.network
        return await bench.execute([*argv, *more], within_s=within_s, network=network, variables=variables)

    ran = await run()
    if room.runner == "vitest" and _UNWRITABLE in ran.stdout + ran.stderr and not _exists(report):
        return await run("--configLoader=runner")
    return ran


def _is_script_of_package(program: str) -> bool:
    """Whether the program is a link to `bin/NAME.js` in a package, as npm makes it, and not a script for a shell."""
    script = Path(os.path.realpath(program))
    return script.suffix == ".js" and (script.parents[1] / "package.json").is_file()


def _packages(room: _Room) -> Path:
    """The `node_modules` that has the runner: in the folder where the command starts, or else at the project's top."""
    folder_packages = room.bench.room / room.bench.folder / "node_modules"
    return folder_packages if (folder_packages / ".bin" / room.runner).exists() else room.bench.room / "node_modules"


def _major_version(room: _Room) -> int:
    """The first number of the installed runner's version; `NEWEST` if it cannot be read."""
    try:
        manifest = (_packages(room) / room.runner / "package.json").read_bytes()[:MOST_BYTES]
        return int(json.loads(manifest)["version"].split(".")[0])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return NEWEST


def _clear(room: Path, report: Path) -> str:
    """Remove an old report. Returns why that is not possible, or ""."""
    try:
        if not report.parent.resolve().is_relative_to(room.resolve()) or report == room:
            return f"{report.relative_to(room)} leads out of the checkout"
        if report.is_dir() and not report.is_symlink():
            shutil.rmtree(report)
        else:
            report.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        return f"the report cannot be written: {error}"
    return ""


def _exists(report: Path) -> bool:
    try:
        return stat.S_ISREG(report.lstat().st_mode)
    except OSError:
        return False


def _has_started(room: _Room, result: CommandResult) -> bool:
    installed = (_packages(room) / ".bin" / room.runner).exists()
    return installed and not (result.timed_out or result.flooded or result.exit_code == NOT_FOUND)


async def _file_by_file(room: _Room, folder: Path) -> CountedRun | str:
    """Run test files, at most `MOST_ALONE`, each alone, because mocha runs nothing if one file cannot be loaded.

    Only on the base are files run alone, because a test may need code that does not exist there yet. If mocha runs
    nothing on the head, the head has failed.
    """
    outcomes: dict[str, CountedTest] = {}
    collected: dict[str, tuple[str, str]] = {}
    for number, path in enumerate(_test_files(room)[:MOST_ALONE]):
        report = folder / f"report{number}"
        result = await _execute(room, report, [path])
        counted = _counted(room, report, {}) if _exists(report) else "no report"
        if isinstance(counted, str):
            collected[path] = ("failed", cap_output(result.stdout, result.stderr)[-4000:])
        else:
            outcomes |= counted.outcomes
            collected |= counted.collected
    return CountedRun(outcomes, collected=collected)


def _test_files(room: _Room) -> list[str]:
    """The files that contain the selected tests. If there is no such file, the files that the check names. If the check
    names no file, all files that are named like tests."""
    below = [path for path in room.known if is_below(path, room.bench.folder)]
    scripts = [path for path in below if is_script(path) and (room.bench.room / path).is_file()]
    files_with_wanted_tests = {test_id.split("::")[0] for test_id in room.selection.ids or ()}
    named_by_check = [path for path in scripts if any(is_below(path, file) for file in room.check.files)]
    tests = [path for path in scripts if is_named_like_a_script_test(path)]
    return sorted([path for path in scripts if path in files_with_wanted_tests] or named_by_check or tests)


def _without_report(room: _Room, result: CommandResult) -> Fact:
    """The `Fact` of a run that left no report. No test is counted, whatever the run printed."""
    counted = CountedRun({}, ended=None)
    fact = counted_fact(room.bench, result, counted, RunnerFacts(room.runner, room.check.command, missing_for_scripts))
    missing = room.call and not (_packages(room) / ".bin" / room.call.runner).exists()
    if result.exit_code == NOT_FOUND or missing:
        why = f"{room.runner} is not installed"
        return replace(
            void_fact(why, Outcomes.UNJUDGED, f"module {room.runner}", room.check.command), output=fact.output
        )
    if result.timed_out or result.flooded:
        return fact
    why = f"the command ended with exit code {result.exit_code} and wrote no report"
    detail = f"{why}: {fact.output[-600:]}" if fact.output else why
    tried = (Tried(id=WHOLE_CHECK, outcome=Outcomes.FAILED, kind="report", detail=detail),)
    return replace(void_fact(why, Outcomes.FAILED, "report", room.check.command), tried=tried, output=fact.output)


# -- tests that must fail ----------------------------------------------------------------------------------------------


def _models(room: _Room) -> list[str]:
    """The test files with which the engine finds out whether the runner reports failures.

    Each chosen file gets a copy with canaries: additional tests that must fail. If one passes, the results cannot be
    trusted. Under a known runner, the file's own tests are also run again, changed so that they must fail.

    All files with tests that failed on the base are chosen, at most as many as `files_to_copy` allows, and one other
    file. If no test is known to have failed on the base, only one file is chosen, preferably one that the check names
    and whose tests can be changed.
    """
    ids = room.selection.ids
    files_with_wanted_tests = {test_id.split("::")[0] for test_id in ids or ()} & room.known
    below = [path for path in room.known if is_below(path, room.bench.folder)]
    files = files_with_wanted_tests or {path for path in below if is_named_like_a_script_test(path)}
    scripts = sorted(path for path in files if is_script(path) and (room.bench.room / path).is_file())
    if room.selection.red:
        return files_to_copy(scripts, (test_id.split("::")[0] for test_id in room.selection.red))
    named_by_check = [path for path in scripts if any(is_below(path, file) for file in room.check.files)]
    copyable = [
        path for path in named_by_check or scripts if failing_javascript(file_text(room.bench.room, path)).titles
    ]
    return files_to_copy(copyable or named_by_check or scripts, ())


def _every(room: _Room, path: str) -> str:
    """A test file's text without `.only`, which would keep other tests, such as the canaries, from running."""
    return _ONLY.sub(r"\1", file_text(room.bench.room, path))


@contextmanager
def _canaries(room: _Room, chosen: list[str]) -> Iterator[dict[str, str]]:
    """Add a copy of each file, with additional tests that must fail, under a random name. Yields: path of the copy →
    random name."""
    with ExitStack() as stack:
        names = {}
        for path in chosen:
            name = f"t{nonce()[:14]}"
            file = canary_path(path, name)
            stack.enter_context(
                plant_file(room.bench.room, file, with_runner_canary(_every(room, path), room.runner, name, path))
            )
            names[file] = name
        yield names


def canary_path(path: str, name: str) -> str:
    """A path beside `path`, with this random name but the same pattern: `test-*.js`, `*_test.js`, `*.spec.tsx`."""
    pure = PurePosixPath(path)
    stem, dot, ending = pure.name.partition(".")
    first, last = match.groups("") if (match := _NAMED.fullmatch(stem)) else ("", "")
    return str(pure.with_name(f"{first}{name}{last}{dot}{ending}"))


def with_runner_canary(content: str, runner: str, name: str, path: str) -> str:
    """The text of a test file with additional tests that must fail, written for this runner."""
    vitest = runner == "vitest" or "'vitest'" in content or '"vitest"' in content
    imported = {"test": f"{name}t", "expect": f"{name}e"} if vitest else {}
    fields = {"test": "(g.test ?? g.it)", "expect": "g.expect", **imported}
    typed = path.endswith(TYPED)
    fields |= {"any": ": any", "number": ": number"} if typed else {"any": "", "number": ""}
    ways = [("knows", way, body) for way, body in _EXPECTED.items()]
    ways += [("a", f"assert {way}", body) for way, body in _ASSERTED.items()]
    tests = "\n".join(f"  t('{name} {way}', fails({check}, () => {{ {body}; }}));" for check, way, body in ways)
    body = _CANARY.format(**fields, name=name, value=random.SystemRandom().random(), tests=tests)
    # A type checker treats a file without imports and exports as a global script, so names of copy and original would
    # clash.
    apart = "\nexport {};\n" if typed and not vitest and not is_es_module(path, content, "") else ""
    return f"{content}{_IMPORTED.format(n=name) if vitest else apart}{body}"


async def _run_made_to_fail(room: _Room, chosen: list[str], counted: CountedRun, stray: str) -> tuple[CountedRun, str]:
    """Run tests that must fail: canaries, and the tests of the chosen files, changed so that they fail. Returns
    `counted` with the outcomes of all these tests, and the reason why no result can be trusted, or ""."""
    copies = {path: failing_javascript(_every(room, path)) for path in chosen}
    passed = [name for name, test in counted.outcomes.items() if test.outcome == "passed"]
    copied_tests = [
        name for name in passed if (copy := copies.get(name.split("::")[0])) and _title(name) in copy.titles
    ]
    with _canaries(room, chosen) as canaries, scratch_folder(room.bench.room) as folder:
        with replace_files(room.bench.room, {path: copy.content for path, copy in copies.items()}):
            result = await _execute(room, folder / "report", [*chosen, *canaries])
        again = _counted(room, folder / "report", canaries) if _exists(folder / "report") else "none"
    if isinstance(again, str):
        return replace(counted, canaries=dict.fromkeys(chosen, ""), copies=dict.fromkeys(copied_tests, "")), stray
    outcomes_of_copies = {name: again.how(name) for name in copied_tests}
    stray = stray or _stray(room, result, again, planted_one=True)
    return replace(counted, canaries=again.canaries, copies=outcomes_of_copies), stray


def _title(name: str) -> str:
    return name.partition("::")[2].rpartition(" > ")[2]


# -- results -----------------------------------------------------------------------------------------------------------


def _counted(room: _Room, report: Path, canaries: Mapping[str, str]) -> CountedRun | str:
    """The counted results of the report, or why it cannot be read."""
    try:
        with os.fdopen(os.open(report, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(MOST_BYTES + 1)
        readers = {"jest": _jest, "mocha": _mocha}
        tests = readers.get(room.call.runner, read_report)(data) if room.call else read_report(data)
    except (OSError, BadReport) as error:
        return str(error)
    tests_with_files = [(_file(room, test), test) for test in tests]
    product_tests = [
        (file, test)
        for file, test in tests_with_files
        if not any(_is_canary(name, file, test) for name in canaries.values())
    ]
    failed_files = {
        file: ("failed", test.text) for file, test in product_tests if file and _is_whole_file(room, file, test)
    }
    outcomes = worst_outcomes(
        (_id(room, file, test), CountedTest(test.outcome, text=test.text, seconds=test.seconds))
        for file, test in product_tests
    )
    ids = (
        None if room.selection.ids is None else frozenset(room.selection.ids)
    )  # a suite may have many thousands of tests
    counted_outcomes = {
        name: test for name, test in outcomes.items() if name not in failed_files and _is_wanted(ids, name)
    }
    return CountedRun(
        outcomes=counted_outcomes,
        collected=failed_files,
        canaries={file: _canary_outcome(tests_with_files, name) for file, name in canaries.items()},
        left_out=tuple(name for name in outcomes if name not in counted_outcomes and name not in failed_files),
    )


def _is_wanted(ids: frozenset[str] | None, name: str) -> bool:
    return ids is None or name in ids or name.split("::")[0] in ids or WHOLE_CHECK in ids


def _file(room: _Room, test: ReportedTest) -> str:
    """The file that contains the test; "" if the report does not name it."""
    for word in (test.file, test.group, *reversed(test.suites), test.name):
        path = next(iter(room.bench.inside([word])), posixpath.join(room.bench.folder, word.removeprefix("./")))
        if path in room.known or (path and is_script(path) and (room.bench.room / path).is_file()):
            return path
    return ""


def _id(room: _Room, file: str, test: ReportedTest) -> str:
    if file:
        inner = _id_in_file(room, file, test)
        return f"{file}::{inner}" if inner else file
    return f"{test.group}::{test.name}" if test.group else test.name


def _id_in_file(room: _Room, file: str, test: ReportedTest) -> str:
    """The test's id inside its file. `file` is a path from the project's top; the report names files from the folder in
    which the command started."""
    return id_in_file(test, room.bench.from_folder(file))


def _is_whole_file(room: _Room, file: str, test: ReportedTest) -> bool:
    return test.outcome in ("failed", "error") and not _id_in_file(room, file, test)


def _is_canary(canary: str, file: str, test: ReportedTest) -> bool:
    return canary in file or canary in test.name or canary in test.group or any(canary in name for name in test.suites)


def _canary_outcome(tests_with_files: list[tuple[str, ReportedTest]], canary: str) -> str:
    """Returns "failed" if all canaries with this name failed, otherwise "".

    If the report has the canaries' file but none of the canaries, the file could not be loaded. This counts as
    "failed", too, unless something in the file passed."""
    canary_tests = [(file, test) for file, test in tests_with_files if _is_canary(canary, file, test)]
    outcomes = {id_in_file(test, file): test.outcome for file, test in canary_tests if f"{canary} " in test.name}
    if not outcomes:
        return "failed" if canary_tests and all(test.outcome != "passed" for _, test in canary_tests) else ""
    all_failed = all(outcome in ("failed", "error") for outcome in outcomes.values())
    return "failed" if len(outcomes) == CANARIES and all_failed else ""


def _jest(data: bytes) -> list[ReportedTest]:
    """The tests of jest's JSON report. Raises BadReport if it is malformed."""
    try:
        report = json.loads(data)
        return [test for file_report in report["testResults"] for test in _jest_file(file_report)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadReport(f"it is not a report of jest: {error}") from error


def _jest_file(file_report: dict[str, Any]) -> Iterator[ReportedTest]:
    file = str(file_report["name"])
    if not file_report["assertionResults"] and file_report.get("status") == "failed":
        yield ReportedTest(name="", file=file, outcome="failed", text=str(file_report.get("message", ""))[-4000:])
    for test in file_report["assertionResults"]:
        status = str(test["status"])
        outcome = {"passed": "passed", "failed": "failed"}.get(status, "skipped")
        text = "\n".join(map(str, test.get("failureMessages") or ()))[:4000]
        seconds = test.get("duration") or 0
        title = " > ".join(map(str, [*test.get("ancestorTitles", ()), test["title"]]))
        yield ReportedTest(name=title, file=file, outcome=outcome, text=text, seconds=plausible_s(seconds) / 1000)


def _mocha(data: bytes) -> list[ReportedTest]:
    """The tests of the report by `probes/mocha_reporter.cjs`. Raises BadReport if it is malformed."""
    try:
        return [
            ReportedTest(
                name=_SPACE.sub(" ", test["name"]),
                group=_SPACE.sub(" ", test["group"]),
                file=str(test["file"]),
                outcome=_MOCHA_OUTCOMES[test["outcome"]],
                text=str(test["text"])[:4000],
                seconds=as_seconds(str(test["seconds"])),
            )
            for test in json.loads(data)
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadReport(f"it is not a report of mocha: {error}") from error
