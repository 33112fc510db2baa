"""A command of the user's own: its exit code, in the sandbox, with its files frozen."""

import shlex
import shutil

from trued.protocols import Ran
from trued.types import CommandCheck, Outcomes, Tried

from ..room.bench import SYSTEM_PATH, Bench, Fact, Wanted, capped
from ..room.cleanroom import meddled
from ..room.frozen import own_drivers

ID = "command"
NOT_FOUND = 127  # how a shell says that there is no such program


async def take(check: CommandCheck, bench: Bench, wanted: Wanted) -> Fact:
    ran = await bench.execute(
        ("sh", "-c", check.command), within_s=check.within_s, variables=bench.plain, network=check.network
    )
    output = capped(ran.stdout, ran.stderr)
    outcome, kind, detail = _outcome(check, bench, ran, output)
    return Fact(
        tried=(Tried(id=ID, outcome=outcome, kind=kind, detail=detail, seconds=ran.seconds),),
        command=check.command,
        exit_code=ran.exit_code,
        output=output,
        seconds=ran.seconds,
        isolation=ran.isolation,
        notes=tuple(
            f"`{check.command}` is driven by {name}, which is the head's own: it could make it say anything"
            for name in own_drivers(check.command, bench.room, [*bench.frozen, *check.files])
        ),
    )


def _outcome(check: CommandCheck, bench: Bench, ran: Ran, output: str) -> tuple[Outcomes, str, str]:
    if ran.timed_out:
        return Outcomes.FAILED, "time", f"did not end within {check.within_s:g} s"
    if ran.flooded:
        return Outcomes.FAILED, "flood", "wrote more output than is allowed"
    if changed := meddled(bench):
        return Outcomes.FAILED, "meddled", f"changed frozen code: {', '.join(changed[:5])}"
    if ran.exit_code == 0:
        return Outcomes.PASSED, "", ""
    program = _program(check.command)
    if ran.exit_code == NOT_FOUND and "/" not in program and not shutil.which(program, path=_path(bench)):
        return Outcomes.UNJUDGED, f"program {program}", output[-600:]
    if foreign := bench.foreign(output):
        return Outcomes.UNJUDGED, f"module {foreign}", output[-600:]
    return Outcomes.FAILED, f"exit {ran.exit_code}", output[-2000:]


def _path(bench: Bench) -> str:
    return bench.variables.get("PATH", SYSTEM_PATH)


def _program(command: str) -> str:
    try:
        return next(iter(shlex.split(command)), "")
    except ValueError:
        return ""
