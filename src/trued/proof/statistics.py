"""Figures about a check, for people: how many tests pass, and how much of the code they reach. Never evidence."""

import base64
import importlib.util
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trued.errors import CannotJudge
from trued.model import Check, Contract, Evidence, Figures, Outcomes, TestsCheck, Tried
from trued.proof.checks.tests import runner_of
from trued.proof.hashes import check_hash
from trued.proof.room import node
from trued.proof.room.bench import WHOLE_CHECK, Bench, CaseSelection, Fact
from trued.proof.room.clean_room import clean_room
from trued.proof.room.coverage import CoverageOrder
from trued.proof.room.environment import interpreter_of
from trued.proof.room.files_in_room import scratch_folder
from trued.proof.room.frozen_files import is_below, is_configuration, is_test
from trued.proof.room.interpreter import Interpreter
from trued.proof.run_check import run_check
from trued.proof.scanner import Scanner, discard_event
from trued.proof.text.command_parser import RunnerCall, node_options
from trued.protocols import Emit, Workspace
from trued.support.lazy_regex import lazy_regex

WITHIN_S = 300.0  # the longest that measuring may take
MOST_FILES, MOST_BYTES = 2000, 4 * 2**20
MOST_CHARACTERS, MOST_FAILED = 4000, 8  # at most this many characters of failure output, and failed tests, are reported
MOST_OUTPUT = 16 * 2**20
OLDEST = (3, 10)  # the oldest Python that the engine's own coverage.py supports
NOT_PRODUCT = ("setup.py", "noxfile.py", "tasks.py")  # Python files that are not part of the product
NO_COVERAGE = "coverage is not installed: pip install 'trued[coverage]'"
_LINES = lazy_regex(rb"^(?P<name>SF|LF|LH):(?P<value>(?<=SF:).*|\d{1,9})\r?$", re.MULTILINE)


async def measure_tests(
    workspace: Workspace,
    contract: Contract,
    check: Check | str,
    commit: str,
    evidence: Iterable[Evidence] = (),
    *,
    of: Sequence[str] = (),
    tell: Emit = discard_event,
) -> Figures:
    """The figures of a check, or of a test command, on this commit.

    The tests run once more, so that coverage can be measured; browser tests run only if `evidence` has no results. The
    counts are taken from `evidence`, or else from this run.

    `of`: the files whose coverage is measured; by default, all files of the product. The run uses the head's own tests,
    so the head can influence the figures. Therefore no grade depends on them.
    """
    tests_check = TestsCheck(command=check) if isinstance(check, str) else check
    if not isinstance(tests_check, TestsCheck):
        return Figures(why=f"a {tests_check.kind} check has no tests to count")
    results = results_in_evidence(evidence, tests_check, commit)
    bounded = tests_check.model_copy(update={"within_s": min(tests_check.within_s, WITHIN_S)})
    try:
        measure = not tests_check.e2e or not results
        fact, share, why = await _measure(workspace, contract, bounded, commit, of=of, measure=measure)
    except CannotJudge as error:
        fact, share, why = None, None, str(error)
    if not results and fact and not fact.void:
        results = {result.id: result for result in fact.tried if _is_own_test(tests_check, result.id)}
    passing = sum(result.outcome is Outcomes.PASSED for result in results.values())
    output = _output_of_failed_tests(results.values()) or (fact.void if fact and not results else "")
    skipped = tuple(result.id for result in results.values() if result.outcome is Outcomes.SKIPPED)[:MOST_FILES]
    figures = Figures(
        passing=passing,
        total=len(results),
        coverage=share,
        why=why if share is None else "",
        said=output,
        skipped=skipped,
    )
    return await _without_quotes(figures, Scanner(workspace, contract, commit, tell), tests_check.command)


async def _without_quotes(figures: Figures, scan: Scanner, command: str) -> Figures:
    """The figures without texts that quote held-out data. Code of the head may have written such texts, and agents read
    the figures."""
    names = "\n".join(figures.skipped)
    return figures.model_copy(
        update={
            "why": await scan(figures.why, f"why nothing was measured by {command}"),
            "said": await scan(figures.said, f"the output of the tests of {command}"),
            "skipped": figures.skipped if await scan(names, f"what {command} skipped") == names else (),
        }
    )


def _output_of_failed_tests(results: Iterable[Tried]) -> str:
    """Id, outcome and output of each test that did not pass (also of skipped tests), shortened: at most `MOST_FAILED`
    tests, and `MOST_CHARACTERS` of output in all. The runner's output as a whole is not used, because it contains that
    of canaries: tests that the engine adds and that must fail."""
    failed = [result for result in results if result.outcome is not Outcomes.PASSED]
    length = MOST_CHARACTERS // max(1, min(len(failed), MOST_FAILED))
    return "\n".join(
        f"{result.id} {result.outcome}: {result.detail[-length:]}".rstrip(": ") for result in failed[:MOST_FAILED]
    )


def results_in_evidence(evidence: Iterable[Evidence], check: TestsCheck, commit: str) -> dict[str, Tried]:
    """Each test of the check on this commit, with its worst result. A pass in a void run does not count, because
    results of a void run cannot be trusted.

    Agents see these results. So evidence is left out if its check is held out, or if something held out had run in the
    same room before.
    """
    worst: dict[str, Tried] = {}
    name = check_hash(check)
    visible = [fact for fact in evidence if not fact.may_quote_held_out]
    for fact in [fact for fact in visible if fact.check == name and fact.commit == commit]:
        for result in fact.tried:
            passed = result.outcome is Outcomes.PASSED
            if not _is_own_test(check, result.id) or (passed and fact.why_void):
                continue
            if result.id not in worst or not passed:
                worst[result.id] = result
    return worst


def _is_own_test(check: TestsCheck, case: str) -> bool:
    """Whether the test is in a file that the check names, or the check names no file. Tests in other files are guards,
    although the check's command runs them."""
    if case == WHOLE_CHECK:
        return False
    return not check.files or any(is_below(case.split("::")[0], named) for named in check.files)


async def _measure(
    workspace: Workspace, contract: Contract, check: TestsCheck, commit: str, *, of: Sequence[str], measure: bool
) -> tuple[Fact | None, float | None, str]:
    if not measure:
        return None, None, "coverage is not measured for browser tests, because the page runs in a process of its own"
    blobs = await workspace.blobs(commit)
    interpreter = await interpreter_of(workspace, contract)
    unfrozen, changed = (
        contract.model_copy(update={"frozen": {}}),
        await _changed_tests(workspace, contract, check, commit),
    )
    async with clean_room(workspace, unfrozen, commit, interpreter, over=changed) as (bench, _):
        if bench.broken:
            return None, None, bench.broken
        call = await runner_of(check.command, bench)
        product = [path for path in blobs if not is_test(path) and not is_configuration(path)][:MOST_FILES]
        product = [path for path in product if path in of] if of else product
        if call and call.runner in ("pytest", "unittest") and not check.e2e:
            return await _measure_python(check, bench, product)
        fact = await run_check(check, bench, CaseSelection())
        if call and call.runner == "node" and not check.e2e:
            return fact, *await _measure_node(call, check, bench.started_in(call.folder), of)
        return fact, None, _why_not_measured(call, check)


def _why_not_measured(call: RunnerCall | None, check: TestsCheck) -> str:
    if check.e2e:
        return "coverage is not measured for browser tests, because the page runs in a process of its own"
    return f"coverage is not measured for {call.runner if call else check.command}"


async def _changed_tests(workspace: Workspace, contract: Contract, check: TestsCheck, commit: str) -> dict[str, str]:
    """Path → content (base64) of the test files that the head added or changed. Carried files are left out. At most
    `MOST_FILES` files with `MOST_BYTES` in total are returned."""
    before, here = await workspace.blobs(contract.base), await workspace.blobs(commit)
    paths = [path for path, blob in here.items() if before.get(path) != blob and path not in contract.carried]
    paths = [path for path in paths if is_test(path) or any(is_below(path, named) for named in check.files)]
    contents: dict[str, str] = {}
    left = MOST_BYTES
    for path in paths[:MOST_FILES]:
        content = await workspace.read(commit, path) or b""
        left -= len(content)
        if left < 0:
            break
        contents[path] = base64.b64encode(content).decode()
    return contents


# -- Python --------------------------------------------------------------------------------------------------------


async def _measure_python(
    check: TestsCheck, bench: Bench, product: Sequence[str]
) -> tuple[Fact | None, float | None, str]:
    supplied, why = _coverage_to_supply(bench.interpreter)
    if why:
        return await run_check(check, bench, CaseSelection()), None, why
    files = [str(bench.room / path) for path in product if path.endswith(".py") and Path(path).name not in NOT_PRODUCT]
    with scratch_folder(bench.room) as folder:
        report = folder / "coverage.json"
        fact = await run_check(
            check, replace(bench, measuring=CoverageOrder(str(report), tuple(files), supplied)), CaseSelection()
        )
        counts = _read_counts(report)
    if not counts.get("lines"):
        return fact, None, fact.void or "the product has no line of Python that could be covered"
    return fact, round(100 * counts["reached"] / counts["lines"], 1), ""


def _coverage_to_supply(interpreter: Interpreter) -> tuple[dict[str, str], str]:
    """For an interpreter without coverage.py: the engine's own copy (name → folder), or nothing and the reason why the
    copy cannot be used. For an interpreter that has coverage.py, both results are empty."""
    if "coverage" in interpreter.versions:
        return {}, ""
    spec = importlib.util.find_spec("coverage")
    if spec is None or not spec.origin:
        return {}, NO_COVERAGE
    if interpreter.version[:2] < OLDEST:
        own = "trued's own copy works only with Python 3.10 or newer"
        return {}, f"coverage is not installed in {interpreter.path}, and {own}"
    return {"coverage": str(Path(spec.origin).parent)}, ""


def _read_counts(report: Path) -> Mapping[str, int]:
    try:
        with os.fdopen(os.open(report, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            report_data = json.loads(file.read(1000))
        lines, reached = int(report_data["lines"]), int(report_data["reached"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {"lines": lines, "reached": reached} if 0 <= reached <= lines else {}


# -- Node ----------------------------------------------------------------------------------------------------------


async def _measure_node(
    call: RunnerCall, check: TestsCheck, bench: Bench, of: Sequence[str]
) -> tuple[float | None, str]:
    installed = node.find_node()
    if installed is None:
        return None, "there is no Node on the path"
    options, named = node_options(call.arguments)
    ran = await bench.execute(
        (installed.path, "--test", "--experimental-test-coverage", "--test-reporter=lcov", *options, *named),
        within_s=check.within_s,
        network=check.network,
        variables={**bench.variables, **call.variables, "NODE_OPTIONS": ""},
    )
    files = _parse_lcov(ran.stdout[:MOST_OUTPUT])
    files = [file for file in files if not is_test(file[0]) and "node_modules" not in file[0]]
    counts = [(lines, reached) for name, lines, reached in files if not of or name in of]
    lines, reached = sum(lines for lines, _ in counts), sum(reached for _, reached in counts)
    if not lines:
        return None, f"Node {installed.version} reported no coverage of the product's files"
    return round(100 * reached / lines, 1), ""


def _parse_lcov(text: bytes) -> list[tuple[str, int, int]]:
    """For each file: its path, how many lines can run, and how many lines ran."""
    files: list[tuple[str, int, int]] = []
    for record in text.split(b"end_of_record"):
        fields = {match["name"]: match["value"] for match in _LINES.finditer(record)}
        if {b"SF", b"LF", b"LH"} <= fields.keys():
            lines = int(fields[b"LF"])
            files.append((fields[b"SF"].decode("utf-8", "replace"), lines, min(int(fields[b"LH"]), lines)))
    return files
