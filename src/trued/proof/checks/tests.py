"""Counted tests: every id is known, named and reported; the exit code is believed by nobody."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from trued.model import Outcomes, TestsCheck
from trued.proof.room.bench import Bench, Fact, Wanted, capped, void
from trued.proof.room.frozen_files import below
from trued.proof.runners import browser_tests as e2e
from trued.proof.runners import go as gotests
from trued.proof.runners import node as nodes
from trued.proof.runners import pytest as pytests
from trued.proof.runners import report_files as reports
from trued.proof.runners import unittest as unittests
from trued.proof.runners.command_parser import Asked, named_in, recognised

Runner: TypeAlias = Callable[[TestsCheck, Asked, Bench, Wanted], Awaitable[Fact]]
RUNNERS: Mapping[str, Runner] = {
    "pytest": pytests.take,
    "unittest": unittests.take,
    "node": nodes.take,
    "go": gotests.take,
    **dict.fromkeys(("vitest", "jest", "mocha"), reports.take),
}
SUPPORTED = "python -m pytest, python -m unittest, node --test, go test, vitest, jest, mocha, or any with a `report`"


async def take(check: TestsCheck, bench: Bench, wanted: Wanted) -> Fact:
    """Run the check once in this room, by the runner that its command comes to."""
    asked = recognised(check.command, await scripts_of(bench))
    if asked is None and not check.report:
        why = f"`{check.command}` is not a runner whose results can be counted; supported: {SUPPORTED}"
        return void(why, Outcomes.BROKEN, "runner", check.command)
    if lost := await _not_on_base(check, asked, bench):
        why = f"{lost} is not on the base, and tests that the head adds are left out of evidence"
        return void(why, Outcomes.BROKEN, "no such file", check.command)
    if asked is None:
        return await reports.take(check, None, bench, wanted)
    if not check.e2e:
        return await _run(check, asked, bench, wanted)
    python = asked.runner == "pytest"  # whose plugin brings a page along; others drive the browser themselves
    if lack := e2e.lacking(bench, wanted, python=python):
        return lack
    async with e2e.staged(bench, python=python) as staged:
        return await _run(check.model_copy(update={"network": "loopback"}), asked, staged, wanted)


async def _run(check: TestsCheck, asked: Asked, bench: Bench, wanted: Wanted) -> Fact:
    if broken := await _before(check, asked, bench):
        return broken
    fact = await RUNNERS[asked.runner](check, asked, bench, wanted)
    return replace(fact, notes=(*asked.said, *fact.notes))


async def scripts_of(bench: Bench) -> dict[str, str]:
    """Of the base: what `npm test` means is agreed upon before the work begins."""
    return scripts_in(await bench.workspace.read(bench.base, "package.json"))


def scripts_in(text: bytes | None) -> dict[str, str]:
    try:
        scripts = json.loads(text or b"{}").get("scripts", {})
    except (ValueError, AttributeError):
        return {}
    return {str(name): str(one) for name, one in scripts.items()} if isinstance(scripts, dict) else {}


async def _not_on_base(check: TestsCheck, asked: Asked | None, bench: Bench) -> str:
    known = {*await bench.workspace.blobs(bench.base), *bench.carried}
    return next((one for one in named(check, asked) if not any(below(path, one) for path in known)), "")


def named(check: TestsCheck, asked: Asked | None) -> tuple[str, ...]:
    """The files that a check is about: those that it lists, else those that its command names."""
    return check.files or (named_in(asked) if asked else ())


async def _before(check: TestsCheck, asked: Asked, bench: Bench) -> Fact | None:
    """What must have succeeded before the tests can be run: a build. Its failure is nobody's test result."""
    for command in asked.before:
        ran = await bench.execute(
            ("sh", "-c", command),
            within_s=check.within_s,
            network=check.network,
            variables={**bench.plain, **asked.variables},
        )
        if ran.exit_code != 0:
            why = f"`{command}` failed before the tests: {capped(ran.stdout, ran.stderr)[-600:]}"
            return void(why, Outcomes.FAILED, "build", check.command)
    return None
