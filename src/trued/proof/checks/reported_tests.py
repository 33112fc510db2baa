"""Runs tests checks whose command starts no known runner, but writes a report. If the change altered drivers of the
command (build files, scripts, settings), a second run with the base's versions decides how much a pass counts."""

from collections.abc import Collection
from dataclasses import replace

from trued.model import FactNote, Outcomes, TestsCheck, Tried
from trued.proof.checks.command import BY_OWN_DRIVERS
from trued.proof.room.bench import Bench, CaseSelection, Fact
from trued.proof.room.changed_drivers import as_on_base, drivers_of_change
from trued.proof.runners.report_files import run_with_report

PASSED = Outcomes.PASSED


async def run_reported_tests(check: TestsCheck, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the command with the head's files, and read its report. If the change wrote drivers of the command, run the
    command again with the base's versions of these drivers.

    A test that passes only with the change's own drivers is marked as `BY_OWN_DRIVERS`, and counts only as much as the
    implementer's own tests. A test that passed on the base must also pass with the base's scripts, or else it fails.

    Some settings, such as a manifest, are also a part of the product, so the tests may not start with the base's
    settings. If the second report has none of the tests that passed in the first run, it shows nothing. If it has some
    of these tests, but not all of them pass again, all tests that passed in the first run are marked.
    """
    fact = await run_with_report(check, None, bench, selection)
    passed = {tried.id for tried in fact.tried if tried.outcome is PASSED}
    if bench.commit == bench.base or not passed:
        return fact
    drivers = await drivers_of_change(bench, check.command)
    scripts = await drivers_of_change(bench, check.command, settings=False)
    with_scripts = await _outcomes_with(scripts, check, bench, selection) if scripts else dict.fromkeys(passed, PASSED)
    failing = {name for name in passed if with_scripts.get(name) is not PASSED}
    broken = failing & {*(selection.ids or ())} - {*selection.red}
    if drivers != scripts:
        with_all = await _outcomes_with(drivers, check, bench, selection)
        if not passed.isdisjoint(with_all) and any(with_all.get(name) is not PASSED for name in passed):
            failing = passed
    named = ", ".join(sorted(scripts if broken else drivers)[:5])
    if drivers and not failing:
        sentence = f"`{check.command}` also passes with the base's own {named}"
        return replace(fact, notes=(*fact.notes, FactNote(sentence)))
    why = f"it passes only with the change's own {named}, and not with the base's"
    return replace(fact, tried=tuple(_seen(tried, failing, broken, why) for tried in fact.tried))


def _seen(tried: Tried, failing: Collection[str], broken: Collection[str], why: str) -> Tried:
    if tried.id in broken:
        return tried.model_copy(update={"outcome": Outcomes.FAILED, "kind": BY_OWN_DRIVERS, "detail": why})
    return tried.model_copy(update={"kind": BY_OWN_DRIVERS}) if tried.id in failing else tried


async def _outcomes_with(
    drivers: Collection[str], check: TestsCheck, bench: Bench, selection: CaseSelection
) -> dict[str, Outcomes]:
    """Test id → outcome, from a run with the base's versions of these drivers."""
    async with as_on_base(bench, drivers):
        again = await run_with_report(check, None, bench, selection)
    return {tried.id: tried.outcome for tried in again.tried}
