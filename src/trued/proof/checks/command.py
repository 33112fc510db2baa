"""Runs command checks: the user's command, in the sandbox and with the check's files frozen. The exit code decides."""

import shlex
import shutil
from dataclasses import replace

from trued.model import CommandCheck, FactNote, Outcomes, Tried
from trued.proof.room.bench import Bench, CaseSelection, Fact, cap_output
from trued.proof.room.changed_drivers import as_on_base, changed_drivers, drivers_of_change
from trued.proof.room.files_of_checks import (
    changed_frozen_files,
    restore_frozen_files,
    write_superseded_files,
)
from trued.proof.room.frozen_files import own_drivers
from trued.proof.room.virtualenv import SYSTEM_PATH
from trued.protocols import CommandResult

ID = "command"
# A changed file that may be a setting of the command may also be a part of the product. For at most this many such
# files, the command is also run with the head's version of that one file and the base's version of all other drivers.
MOST_SETTINGS = 4
BY_OWN_DRIVERS = "own drivers"  # kind of a pass that depends on drivers that the change wrote (see `command_drivers`)
BY_SUPERSEDED = "superseded tests"  # kind of a pass that depends on the change's version of superseded tests
NOT_FOUND = 127  # a shell's exit code if there is no such program


async def run_command(check: CommandCheck, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the command once, with the head's files.

    A command that passed on the base must also pass with the base's drivers (build files, scripts, settings); otherwise
    the result is a failure. A command that failed on the base may need drivers that the change wrote. If it passes only
    with them, the pass is marked as `BY_OWN_DRIVERS`, and counts only as much as the implementer's own tests.

    A command has no ids that could be left out. So a command that passed on the base and fails with the base's version
    of superseded tests runs again with the change's version of their files. If it passes then, the pass is marked as
    `BY_SUPERSEDED`: the change's version of a test could keep the command from checking anything.
    """
    fact = await _run(check, bench, selection)
    if not bench.superseded or fact.tried[0].outcome is not Outcomes.FAILED or selection.red:
        return fact
    await restore_frozen_files(bench)
    with write_superseded_files(bench) as with_own_tests:
        again = await _run(check, with_own_tests, selection, base_tests=bench)
    if again.tried[0].outcome is not Outcomes.PASSED:
        return again
    return replace(again, tried=(again.tried[0].model_copy(update={"kind": BY_SUPERSEDED}),))


async def _run(check: CommandCheck, bench: Bench, selection: CaseSelection, *, base_tests: Bench | None = None) -> Fact:
    """Run the command with the head's drivers and with the base's.

    `base_tests`: the same room as it is with the base's version of superseded tests, if `bench` has the change's. With
    the base's drivers, either version may pass: if a driver is the product, the changed tests need the changed product.
    """
    fact = await _once(check, bench)
    if fact.tried[0].outcome is not Outcomes.PASSED or bench.commit == bench.base:
        return fact
    if selection.red:
        return await _by_own_drivers(check, bench, fact)
    changed = await changed_drivers(bench, check.command)
    drives, settings = changed.paths, sorted(changed.settings)[:MOST_SETTINGS]
    restorations = [drives, *(drives - {setting} for setting in settings), drives - changed.by_name]
    for restored in filter(None, dict.fromkeys(restorations)):
        async with as_on_base(bench, restored):
            again = await _once(check, bench)
        if base_tests and again.tried[0].outcome is not Outcomes.PASSED:
            async with as_on_base(bench, restored.union(bench.superseded)):
                again = await _once(check, base_tests)
        if (tried := again.tried[0]).outcome is not Outcomes.PASSED:
            why = f"it passes only with the change's own {', '.join(sorted(restored)[:5])}, and fails with the base's"
            failed = tried.model_copy(update={"detail": f"{why}\n{tried.detail}"})
            return replace(again, tried=(failed,), notes=fact.notes)
    sentence = f"`{check.command}` also passes with the base's own {', '.join(sorted(drives)[:5])}"
    noted = replace(fact, notes=(*fact.notes, FactNote(sentence))) if drives else fact
    return await _by_own_drivers(check, bench, noted, drives)


async def _by_own_drivers(check: CommandCheck, bench: Bench, fact: Fact, tried: frozenset[str] = frozenset()) -> Fact:
    """The fact about a command that passed. It is marked if the command passes only with drivers that the change wrote.

    `tried`: drivers that are not tried again, because the command has already passed with the base's version of them.
    """
    drivers = await drivers_of_change(bench, check.command)
    if drivers <= tried:
        return fact
    async with as_on_base(bench, drivers):
        with_base_drivers = await _once(check, bench)
    if with_base_drivers.tried[0].outcome is Outcomes.PASSED:
        return fact
    return replace(fact, tried=(fact.tried[0].model_copy(update={"kind": BY_OWN_DRIVERS}),))


async def _once(check: CommandCheck, bench: Bench) -> Fact:
    ran = await bench.execute(
        ("sh", "-c", check.command), within_s=check.within_s, variables=bench.plain, network=check.network
    )
    output = cap_output(ran.stdout, ran.stderr)
    outcome, kind, detail = _outcome(check, bench, ran, output)
    return Fact(
        tried=(Tried(id=ID, outcome=outcome, kind=kind, detail=detail, seconds=ran.seconds),),
        command=check.command,
        exit_code=ran.exit_code,
        output=output,
        seconds=ran.seconds,
        isolation=ran.isolation,
        notes=tuple(
            f"`{check.command}` runs {name}, which is taken from the change and could print anything"
            for name in own_drivers(check.command, bench.room, [*bench.frozen, *check.files])
        ),
    )


def _outcome(check: CommandCheck, bench: Bench, ran: CommandResult, output: str) -> tuple[Outcomes, str, str]:
    if ran.timed_out:
        return Outcomes.FAILED, "time", f"did not end within {check.within_s:g} s"
    if ran.flooded:
        return Outcomes.FAILED, "flood", "wrote more output than is allowed"
    if changed := changed_frozen_files(bench):
        return Outcomes.FAILED, "meddled", f"changed frozen code: {', '.join(changed[:5])}"
    if ran.exit_code == 0:
        return Outcomes.PASSED, "", ""
    program, path = _program(check.command), bench.variables.get("PATH", SYSTEM_PATH)
    if ran.exit_code == NOT_FOUND and "/" not in program and not shutil.which(program, path=path):
        return Outcomes.UNJUDGED, f"program {program}", output[-600:]
    if foreign := bench.foreign(output):
        return Outcomes.UNJUDGED, f"module {foreign}", output[-600:]
    if off_path := bench.off_path(output):
        return Outcomes.UNJUDGED, f"path {off_path}", output[-600:]
    return Outcomes.FAILED, f"exit {ran.exit_code}", output[-2000:]


def _program(command: str) -> str:
    try:
        return next(iter(shlex.split(command)), "")
    except ValueError:
        return ""
