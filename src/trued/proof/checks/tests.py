"""Tests checks: finds the runner that a command starts, and runs it so that every test id is counted."""

import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from trued.model import Outcomes, TestsCheck
from trued.proof.checks.reported_tests import run_reported_tests
from trued.proof.room.bench import Bench, CaseSelection, Fact, cap_output, void_fact
from trued.proof.room.frozen_files import is_below
from trued.proof.runners.browser_tests import missing_browser, with_browser
from trued.proof.runners.go import run_go_tests
from trued.proof.runners.node import run_node_tests
from trued.proof.runners.pytest import run_pytest
from trued.proof.runners.report_files import run_with_report
from trued.proof.runners.unittest import run_unittest
from trued.proof.text.command_parser import (
    RunnerCall,
    countable_instead,
    files_in_command,
    package_folder,
    recognise_runner,
    with_files_for_patterns,
)
from trued.protocols import Workspace
from trued.support.tables import json_table, table_at

Runner: TypeAlias = Callable[[TestsCheck, RunnerCall, Bench, CaseSelection], Awaitable[Fact]]
RUNNERS: Mapping[str, Runner] = {
    "pytest": run_pytest,
    "unittest": run_unittest,
    "node": run_node_tests,
    "go": run_go_tests,
    **dict.fromkeys(("vitest", "jest", "mocha"), run_with_report),
}


async def run_tests(check: TestsCheck, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the check once in this room, by the runner that its command starts.

    A command that starts no known runner and writes no report, or names a file that the base does not have, is a broken
    check.
    """
    call = await runner_of(check.command, bench)
    if call is None and not check.report:
        why = (
            f"`{check.command}` starts no test runner whose results can be counted; {countable_instead(check.command)}"
        )
        return void_fact(why, Outcomes.BROKEN, "runner", check.command)
    if lost := await _not_on_base(check, call, bench):
        why = f"the base has no {lost}, which the check names (a file that only the change adds is no evidence)"
        return void_fact(why, Outcomes.BROKEN, "no such file", check.command)
    if call is None:
        return await run_reported_tests(check, bench, selection)
    bench = bench.started_in(call.folder)
    if not check.e2e:
        return await _run(check, call, bench, selection)
    # Only pytest needs Playwright for Python, because a plugin opens pages for its tests. Tests of other runners start
    # the browser themselves.
    python = call.runner == "pytest"
    if lack := missing_browser(bench, selection, python=python):
        return lack
    async with with_browser(bench, python=python) as staged:
        return await _run(check.model_copy(update={"network": "loopback"}), call, staged, selection)


async def _run(check: TestsCheck, call: RunnerCall, bench: Bench, selection: CaseSelection) -> Fact:
    if broken := await _run_before(check, call, bench):
        return broken
    fact = await RUNNERS[call.runner](check, call, bench, selection)
    return replace(fact, notes=(*call.notes, *fact.notes))


async def runner_of(command: str, bench: Bench) -> RunnerCall | None:
    """The test runner that the command starts (see `runner_on_base`); None if it starts none."""
    return await runner_on_base(command, bench.workspace, bench.base, bench.carried)


async def runner_on_base(command: str, workspace: Workspace, base: str, carried: Iterable[str]) -> RunnerCall | None:
    """The test runner that the command starts, according to the base's package.json; None if it starts none. The head's
    package.json is not read, because the head must not change what `npm test` does.

    Patterns such as `test_*.py` are replaced by files of the base and of the contract (`carried`).
    """
    folder = package_folder(command)
    scripts = package_scripts(await workspace.read(base, posixpath.join(folder, "package.json")))
    call = recognise_runner(command, scripts, of=folder)
    return with_files_for_patterns(call, {*await workspace.blobs(base), *carried}) if call else None


def package_scripts(text: bytes | None) -> dict[str, str]:
    """The scripts of a package.json; none if it cannot be parsed."""
    return {name: str(script) for name, script in table_at(json_table(text or b""), "scripts").items()}


async def _not_on_base(check: TestsCheck, call: RunnerCall | None, bench: Bench) -> str:
    known_paths = {*await bench.workspace.blobs(bench.base), *bench.carried}
    return next(
        (file for file in files_of_check(check, call) if not any(is_below(path, file) for path in known_paths)), ""
    )


def files_of_check(check: TestsCheck, call: RunnerCall | None) -> tuple[str, ...]:
    """The files that a check lists; if it lists none, the files that its command names."""
    return check.files or (files_in_command(call) if call else ())


async def _run_before(check: TestsCheck, call: RunnerCall, bench: Bench) -> Fact | None:
    """Run the commands that must succeed before the tests, such as a build. Returns the fact of the first failure, or
    None."""
    for command in call.before:
        ran = await bench.execute(
            ("sh", "-c", command),
            within_s=check.within_s,
            network=check.network,
            variables={**bench.plain, **call.variables},
        )
        if ran.exit_code != 0:
            why = f"`{command}` failed before the tests: {cap_output(ran.stdout, ran.stderr)[-600:]}"
            return void_fact(why, Outcomes.FAILED, "build", check.command)
    return None
