"""Tests checks whose command trued does not know, and which writes a report: like the command of a command check, it is
driven by the base's files."""

from collections.abc import Collection
from dataclasses import replace

from trued.model import FactNote, Outcomes, TestsCheck, Tried
from trued.proof.checks.command import BY_OWN_DRIVERS
from trued.proof.room.bench import Bench, CaseSelection, Fact
from trued.proof.room.command_drivers import as_on_base, drivers_of_change
from trued.proof.runners.report_files import run_with_report


async def run_reported_tests(check: TestsCheck, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the command and read its report, as the head has it. If the change wrote drivers of the command, it runs once
    more with the base's.

    A test that passes only with the change's own drivers counts as much as the implementer's own tests. If it passed on
    the base, and now fails with the base's own scripts, it has failed.
    """
    fact = await run_with_report(check, None, bench, selection)
    passed = [tried.id for tried in fact.tried if tried.outcome is Outcomes.PASSED]
    if bench.commit == bench.base or not passed:
        return fact
    drivers = await drivers_of_change(bench, check.command)
    failing = await _failing_with(drivers, passed, check, bench, selection)
    if not failing:
        sentence = f"`{check.command}` also passes with the base's own {', '.join(sorted(drivers)[:5])}"
        return replace(fact, notes=(*fact.notes, FactNote(sentence))) if drivers else fact
    scripts = await drivers_of_change(bench, check.command, settings=False)
    broken = failing if scripts == drivers else await _failing_with(scripts, passed, check, bench, selection)
    broken = broken & {*(selection.ids or ())} - {*selection.red}
    why = f"it passes only with the change's own {', '.join(sorted(scripts)[:5])}, and not with the base's"
    return replace(fact, tried=tuple(_seen(tried, failing, broken, why) for tried in fact.tried))


def _seen(tried: Tried, failing: Collection[str], broken: Collection[str], why: str) -> Tried:
    if tried.id in broken:
        return tried.model_copy(update={"outcome": Outcomes.FAILED, "kind": BY_OWN_DRIVERS, "detail": why})
    return tried.model_copy(update={"kind": BY_OWN_DRIVERS}) if tried.id in failing else tried


async def _failing_with(
    drivers: Collection[str], passed: Collection[str], check: TestsCheck, bench: Bench, selection: CaseSelection
) -> set[str]:
    """The tests that do not pass with the base's version of these drivers."""
    if not drivers:
        return set()
    async with as_on_base(bench, drivers):
        again = await run_with_report(check, None, bench, selection)
    return {*passed} - {tried.id for tried in again.tried if tried.outcome is Outcomes.PASSED}
