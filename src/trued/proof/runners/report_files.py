"""Runners that write a report: vitest, jest, mocha, and any command that writes JUnit XML."""

import json
import os
import posixpath
import random
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from trued.model import Outcomes, TestsCheck
from trued.proof.room import node
from trued.proof.room.bench import WHOLE_CHECK, Bench, CaseSelection, Fact, cap_output, nonce, void_fact
from trued.proof.room.clean_room import plant_file, replace_files, scratch_folder
from trued.proof.room.frozen_files import is_below, is_named_like_a_script_test
from trued.proof.runners.counting import (
    CountedRun,
    CountedTest,
    RunnerFacts,
    counted_fact,
    file_text,
    nothing_collected,
    worst_outcomes,
)
from trued.proof.runners.junit_xml import MOST_BYTES, BadReport, ReportedTest, as_seconds, id_in_file, read_report
from trued.proof.runners.made_to_fail import failing_javascript, is_es_module
from trued.proof.runners.sample_files import files_to_copy
from trued.proof.runners.script_runner_options import NEWEST, REPORT_VARIABLE, runner_arguments
from trued.proof.text.command_parser import RunnerCall
from trued.proof.text.languages import is_script
from trued.protocols import CommandResult

NOT_FOUND = 127
MOST_ALONE = 40  # at most this many test files are run one by one
# Vite writes a copy of its configuration here before it loads it. That fails, because packages are read-only, so the
# tests are then run with another loader.
_UNWRITABLE = b"node_modules/.vite-temp"
_UNRESOLVED = re.compile(r"(?:Failed to resolve import|Failed to load url) \"?([^\"'./ ][^\"' ]*)")
_ONLY = re.compile(r"\b(test|it|specify|describe|suite|context)\.only\b")
_NAMED = re.compile(r"((?:test|spec)s?[-_])?.*?([-_](?:test|spec)s?)?")
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
_SPACE = re.compile(r"[\t\r\n]")  # a title of several lines is one line in an id
_MOCHA_OUTCOMES = {one: one for one in ("passed", "failed", "skipped")}
CANARIES = 1 + len(_EXPECTED) + len(_ASSERTED)
TYPED = (".ts", ".tsx", ".mts", ".cts")


@dataclass(frozen=True, slots=True)
class _Room:
    """The check, runner and room of one execution."""

    check: TestsCheck
    asked: RunnerCall | None
    bench: Bench
    wanted: CaseSelection
    known: frozenset[str]  # files of base and contract

    @property
    def runner(self) -> str:
        return self.asked.runner if self.asked else self.check.command.split()[0]


async def run_with_report(check: TestsCheck, asked: RunnerCall | None, bench: Bench, wanted: CaseSelection) -> Fact:
    """Run the check once in this room and return what every test id showed.

    `asked`: the command as a call of vitest, jest or mocha. None for any other command: then `check.report` names the
    file that it writes.
    """
    room = _Room(check, asked, bench, wanted, frozenset({*await bench.workspace.blobs(bench.base), *bench.carried}))
    chosen = _models(room)
    # With a known runner, the tests that must fail run separately, so that they do not disturb other tests.
    with _canaries(room, [] if asked else chosen) as canaries, scratch_folder(bench.room) as folder:
        report = bench.room / check.report if asked is None else folder / "report"
        if why := _clear(bench.room, report):
            return void_fact(why, Outcomes.BROKEN, "report", check.command)
        ran = await _execute(room, report)
        if _exists(report):
            counted = _counted(room, report, canaries)
        elif room.runner == "mocha" and wanted.on_base and _has_started(room, ran):
            counted = await _file_by_file(room, folder)
            chosen = [one for one in chosen if isinstance(counted, CountedRun) and one not in counted.collected]
        else:
            return _without_report(room, ran)
    if isinstance(counted, str):
        return void_fact(f"the report cannot be read: {counted}", Outcomes.FAILED, "report", check.command)
    stray = _stray(room, ran, counted, planted_one=bool(canaries))
    counted = replace(counted, ended=ran.exit_code)
    if asked and chosen:
        counted, stray = await _run_made_to_fail(room, chosen, counted, stray)
    words = RunnerFacts(
        room.runner, check.command, missing_for_scripts, canaries=len(chosen), nothing=nothing_collected(wanted)
    )
    return counted_fact(bench, ran, counted, words, stray=stray)


def _stray(room: _Room, ran: CommandResult, counted: CountedRun, *, planted_one: bool) -> str:
    failed = any(one.outcome in ("failed", "error") for one in counted.outcomes.values()) or counted.collected
    if ran.exit_code == 0 and (planted_one or failed):
        return "tests failed, but the command ended with 0: the results of this run cannot be trusted"
    if room.asked is None and ran.exit_code not in (0, None) and not planted_one and not failed:
        return f"every test is reported as passed, but the command ended with {ran.exit_code}"
    return ""


def missing_for_scripts(text: str) -> str:
    """The package that is missing according to this output, or ""."""
    found = _UNRESOLVED.findall(text)
    return node.missing_package(text) or (found[-1] if found else "")


# -- running -----------------------------------------------------------------------------------------------------------


async def _execute(room: _Room, report: Path, only: Sequence[str] = ()) -> CommandResult:
    bench, asked = room.bench, room.asked
    given = asked.variables if asked else {}
    variables = {**bench.plain, **given, "NODE_OPTIONS": ""}
    variables |= {REPORT_VARIABLE: str(report)} if room.runner == "mocha" else {}
    argv = ["sh", "-c", room.check.command]
    if asked:
        program = str(_packages(room) / ".bin" / asked.runner)
        only = [bench.from_folder(path) for path in only]
        second, major = room.wanted.second, _major_version(room)
        argv = [
            program,
            *runner_arguments(asked.runner, asked.arguments, str(report), only, second=second, major=major),
        ]

    async def run(*more: str) -> CommandResult:
        within_s, network = room.check.within_s, room.check.network
        return await bench.execute([*argv, *more], within_s=within_s, network=network, variables=variables)

    ran = await run()
    if room.runner == "vitest" and _UNWRITABLE in ran.stdout + ran.stderr and not _exists(report):
        return await run("--configLoader=runner")
    return ran


def _packages(room: _Room) -> Path:
    """The `node_modules` that has the runner: that of the folder in which it starts, or that of the whole project."""
    own = room.bench.room / room.bench.folder / "node_modules"
    return own if (own / ".bin" / room.runner).exists() else room.bench.room / "node_modules"


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


def _has_started(room: _Room, ran: CommandResult) -> bool:
    installed = (_packages(room) / ".bin" / room.runner).exists()
    return installed and not (ran.timed_out or ran.flooded or ran.exit_code == NOT_FOUND)


async def _file_by_file(room: _Room, folder: Path) -> CountedRun | str:
    """Run each test file alone, because mocha runs nothing if one file cannot be loaded.

    This is done only on the base, where a test may need code that does not exist yet. A head that breaks its own runner
    has failed.
    """
    outcomes: dict[str, CountedTest] = {}
    collected: dict[str, tuple[str, str]] = {}
    for number, path in enumerate(_test_files(room)[:MOST_ALONE]):
        report = folder / f"report{number}"
        ran = await _execute(room, report, [path])
        found = _counted(room, report, {}) if _exists(report) else "no report"
        if isinstance(found, str):
            collected[path] = ("failed", cap_output(ran.stdout, ran.stderr)[-4000:])
        else:
            outcomes |= found.outcomes
            collected |= found.collected
    return CountedRun(outcomes, collected=collected)


def _test_files(room: _Room) -> list[str]:
    """The files that contain the wanted tests. If none is known, the files that the check names; if it names none, all
    files that are named like tests."""
    below = [path for path in room.known if is_below(path, room.bench.folder)]
    scripts = [path for path in below if is_script(path) and (room.bench.room / path).is_file()]
    held = {one.split("::")[0] for one in room.wanted.ids or ()}
    asked = [path for path in scripts if any(is_below(path, one) for one in room.check.files)]
    tests = [path for path in scripts if is_named_like_a_script_test(path)]
    return sorted([path for path in scripts if path in held] or asked or tests)


def _without_report(room: _Room, ran: CommandResult) -> Fact:
    """The `Fact` of a run that left no report. No test is counted, whatever the run printed."""
    counted = CountedRun({}, ended=None)
    made = counted_fact(room.bench, ran, counted, RunnerFacts(room.runner, room.check.command, missing_for_scripts))
    missing = room.asked and not (_packages(room) / ".bin" / room.asked.runner).exists()
    if ran.exit_code == NOT_FOUND or missing:
        why = f"{room.runner} is not installed"
        return replace(
            void_fact(why, Outcomes.UNJUDGED, f"module {room.runner}", room.check.command), output=made.output
        )
    if ran.timed_out or ran.flooded:
        return made
    why = f"the command ended with {ran.exit_code} and wrote no report"
    return replace(void_fact(why, Outcomes.FAILED, "report", room.check.command), output=made.output)


# -- tests that must fail ----------------------------------------------------------------------------------------------


def _models(room: _Room) -> list[str]:
    """The test files that also run as copies that must fail: those with tests that failed on the base, and one other.
    If none is known to have failed, files that the check names and whose tests can be copied are preferred."""
    ids = room.wanted.ids
    held = {one.split("::")[0] for one in ids or ()} & room.known
    below = [path for path in room.known if is_below(path, room.bench.folder)]
    files = held or {path for path in below if is_named_like_a_script_test(path)}
    able = sorted(path for path in files if is_script(path) and (room.bench.room / path).is_file())
    if room.wanted.red:
        return files_to_copy(able, (one.split("::")[0] for one in room.wanted.red))
    asked = [path for path in able if any(is_below(path, one) for one in room.check.files)]
    good = [path for path in asked or able if failing_javascript(file_text(room.bench.room, path)).titles]
    return files_to_copy(good or asked or able, ())


def _every(room: _Room, path: str) -> str:
    """A test file's text without `.only`, which would keep other tests, such as the canaries, from running."""
    return _ONLY.sub(r"\1", file_text(room.bench.room, path))


@contextmanager
def _canaries(room: _Room, chosen: list[str]) -> Iterator[dict[str, str]]:
    """Add a copy of each file, with additional tests that must fail, under a random name. Yields path of the copy →
    that name."""
    with ExitStack() as stack:
        found = {}
        for path in chosen:
            name = f"t{nonce()[:14]}"
            file = canary_path(path, name)
            stack.enter_context(
                plant_file(room.bench.room, file, with_runner_canary(_every(room, path), room.runner, name, path))
            )
            found[file] = name
        yield found


def canary_path(path: str, name: str) -> str:
    """A path beside `path`, with this random name but the same pattern: `test-*.js`, `*_test.js`, `*.spec.tsx`."""
    pure = PurePosixPath(path)
    stem, dot, ending = pure.name.partition(".")
    first, last = match.groups("") if (match := _NAMED.fullmatch(stem)) else ("", "")
    return str(pure.with_name(f"{first}{name}{last}{dot}{ending}"))


def with_runner_canary(content: str, runner: str, name: str, path: str) -> str:
    """The text of a test file with additional tests that must fail, written for this runner."""
    vitest = runner == "vitest" or "'vitest'" in content or '"vitest"' in content
    known = {"test": f"{name}t", "expect": f"{name}e"} if vitest else {}
    given = {"test": "(g.test ?? g.it)", "expect": "g.expect", **known}
    typed = path.endswith(TYPED)
    given |= {"any": ": any", "number": ": number"} if typed else {"any": "", "number": ""}
    ways = [("knows", way, body) for way, body in _EXPECTED.items()]
    ways += [("a", f"assert {way}", body) for way, body in _ASSERTED.items()]
    tests = "\n".join(f"  t('{name} {way}', fails({able}, () => {{ {body}; }}));" for able, way, body in ways)
    body = _CANARY.format(**given, name=name, value=random.SystemRandom().random(), tests=tests)
    # A type checker treats a file without imports and exports as a global script, so names of copy and original would
    # clash.
    apart = "\nexport {};\n" if typed and not vitest and not is_es_module(path, content, "") else ""
    return f"{content}{_IMPORTED.format(n=name) if vitest else apart}{body}"


async def _run_made_to_fail(room: _Room, chosen: list[str], counted: CountedRun, stray: str) -> tuple[CountedRun, str]:
    """Run tests that must fail: canaries, and the tests of the chosen files, changed so that they fail. Returns
    `counted` with their outcomes, and the reason why no result can be trusted, or ""."""
    copies = {path: failing_javascript(_every(room, path)) for path in chosen}
    passed = [name for name, one in counted.outcomes.items() if one.outcome == "passed"]
    ours = [one for one in passed if (made := copies.get(one.split("::")[0])) and _title(one) in made.titles]
    with _canaries(room, chosen) as canaries, scratch_folder(room.bench.room) as folder:
        with replace_files(room.bench.room, {path: made.content for path, made in copies.items()}):
            ran = await _execute(room, folder / "report", [*chosen, *canaries])
        again = _counted(room, folder / "report", canaries) if _exists(folder / "report") else "none"
    if isinstance(again, str):
        return replace(counted, canaries=dict.fromkeys(chosen, ""), copies=dict.fromkeys(ours, "")), stray
    ended = {one: again.how(one) for one in ours}
    return replace(counted, canaries=again.canaries, copies=ended), stray or _stray(room, ran, again, planted_one=True)


def _title(name: str) -> str:
    return name.partition("::")[2].rpartition(" > ")[2]


# -- results -----------------------------------------------------------------------------------------------------------


def _counted(room: _Room, report: Path, canaries: Mapping[str, str]) -> CountedRun | str:
    """The counted results of the report, or why it cannot be read."""
    try:
        with os.fdopen(os.open(report, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(MOST_BYTES + 1)
        readers = {"jest": _jest, "mocha": _mocha}
        found = readers.get(room.asked.runner, read_report)(data) if room.asked else read_report(data)
    except (OSError, BadReport) as error:
        return str(error)
    placed = [(_file(room, one), one) for one in found]
    rest = [(file, one) for file, one in placed if not any(_is_canary(name, file, one) for name in canaries.values())]
    whole = {file: ("failed", one.text) for file, one in rest if file and _is_whole_file(room, file, one)}
    outcomes = worst_outcomes(
        (_id(room, file, one), CountedTest(one.outcome, text=one.text, seconds=one.seconds)) for file, one in rest
    )
    ids = None if room.wanted.ids is None else frozenset(room.wanted.ids)  # a suite may have many thousands of tests
    kept = {name: one for name, one in outcomes.items() if name not in whole and _is_wanted(ids, name)}
    return CountedRun(
        outcomes=kept,
        collected=whole,
        canaries={file: _canary_outcome(placed, name) for file, name in canaries.items()},
        left_out=tuple(name for name in outcomes if name not in kept and name not in whole),
    )


def _is_wanted(ids: frozenset[str] | None, name: str) -> bool:
    return ids is None or name in ids or name.split("::")[0] in ids or WHOLE_CHECK in ids


def _file(room: _Room, one: ReportedTest) -> str:
    """The file that contains the test; "" if the report does not name it."""
    for word in (one.file, one.group, *reversed(one.suites), one.name):
        path = next(iter(room.bench.inside([word])), posixpath.join(room.bench.folder, word.removeprefix("./")))
        if path in room.known or (path and is_script(path) and (room.bench.room / path).is_file()):
            return path
    return ""


def _id(room: _Room, file: str, one: ReportedTest) -> str:
    if file:
        inner = _id_in_file(room, file, one)
        return f"{file}::{inner}" if inner else file
    return f"{one.group}::{one.name}" if one.group else one.name


def _id_in_file(room: _Room, file: str, one: ReportedTest) -> str:
    """The test's id inside its file, which the report names from the folder in which the command started."""
    return id_in_file(one, room.bench.from_folder(file))


def _is_whole_file(room: _Room, file: str, one: ReportedTest) -> bool:
    return one.outcome in ("failed", "error") and not _id_in_file(room, file, one)


def _is_canary(canary: str, file: str, one: ReportedTest) -> bool:
    return canary in file or canary in one.name or canary in one.group or any(canary in name for name in one.suites)


def _canary_outcome(placed: list[tuple[str, ReportedTest]], canary: str) -> str:
    """Returns "failed" if all canaries with this name failed, or if none of them was reported and nothing else in their
    file passed (it could not be loaded); else ""."""
    ours = [(file, one) for file, one in placed if _is_canary(canary, file, one)]
    ended = {id_in_file(one, file): one.outcome for file, one in ours if f"{canary} " in one.name}
    if not ended:
        return "failed" if ours and all(one.outcome != "passed" for _, one in ours) else ""
    return "failed" if len(ended) == CANARIES and all(one in ("failed", "error") for one in ended.values()) else ""


def _jest(data: bytes) -> list[ReportedTest]:
    """The tests of jest's JSON report. Raises BadReport."""
    try:
        whole = json.loads(data)
        return [one for part in whole["testResults"] for one in _jest_file(part)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadReport(f"it is not a report of jest: {error}") from error


def _jest_file(part: dict[str, Any]) -> Iterator[ReportedTest]:
    file = str(part["name"])
    if not part["assertionResults"] and part.get("status") == "failed":
        yield ReportedTest(name="", file=file, outcome="failed", text=str(part.get("message", ""))[-4000:])
    for one in part["assertionResults"]:
        status = str(one["status"])
        outcome = {"passed": "passed", "failed": "failed"}.get(status, "skipped")
        text = "\n".join(map(str, one.get("failureMessages") or ()))[:4000]
        seconds = one.get("duration") or 0
        title = " > ".join(map(str, [*one.get("ancestorTitles", ()), one["title"]]))
        yield ReportedTest(name=title, file=file, outcome=outcome, text=text, seconds=float(seconds) / 1000)


def _mocha(data: bytes) -> list[ReportedTest]:
    """The tests of the report by `probes/mocha_reporter.cjs`. Raises BadReport."""
    try:
        return [
            ReportedTest(
                name=_SPACE.sub(" ", one["name"]),
                group=_SPACE.sub(" ", one["group"]),
                file=str(one["file"]),
                outcome=_MOCHA_OUTCOMES[one["outcome"]],
                text=str(one["text"])[:4000],
                seconds=as_seconds(str(one["seconds"])),
            )
            for one in json.loads(data)
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadReport(f"it is not a report of mocha: {error}") from error
