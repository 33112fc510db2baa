"""Runs the project's build in a clean room. Its result is for people and agents; it is never evidence."""

import re
from dataclasses import dataclass

from trued.errors import CannotJudge
from trued.model import CommandCheck, Contract, Outcomes, Tried
from trued.proof.checks.command import ID
from trued.proof.checks.tests import package_scripts
from trued.proof.reach.replaced_product import new_product
from trued.proof.room.bench import Bench, CaseSelection
from trued.proof.room.clean_room import clean_room
from trued.proof.room.environment import interpreter_of
from trued.proof.room.frozen_files import own_drivers
from trued.proof.room.package_json import is_package_json
from trued.proof.run_check import run_check
from trued.proof.scanner import Scanner, discard_event
from trued.proof.text.program_names import MANAGERS
from trued.protocols import Emit, Workspace
from trued.support.lazy_regex import lazy_regex

_SCRIPTS = lazy_regex(rf"\b(?:{'|'.join(MANAGERS)})\b")
WITHIN_S = 900.0
LINES = 6  # this many lines at the end of two outputs are compared; a failure's reason is usually among them
ON_BASE = "it fails on the base in the same way:"
NOT_ON_BASE = "it passes on the base, but not here:"
AROUND = ("environment", "prepare")  # kinds of failure outside the build itself


@dataclass(frozen=True, slots=True)
class BuildResult:
    """How a build ended. `drivers`: the files that control the build and differ from the base's."""

    tried: Tried
    drivers: tuple[str, ...] = ()


async def run_build(
    workspace: Workspace, contract: Contract, command: str, commit: str, *, tell: Emit = discard_event
) -> BuildResult:
    """Run the build command on this commit.

    If the build does not pass, the engine also builds the base, in the same kind of room. If both builds fail in the
    same way, the result is UNJUDGED, because the room may be at fault. The output is scanned for held-out data, because
    agents read it.
    """
    result = await _run(workspace, contract, command, commit)
    if result.tried.outcome is not Outcomes.PASSED and commit != contract.base:
        base = await _run(workspace, contract, command, contract.base)
        result = BuildResult(correct_by_base(result.tried, base.tried), result.drivers)
    scan = Scanner(workspace, contract, commit, tell)
    detail = await scan(result.tried.detail, f"the output of the build {command}")
    return BuildResult(result.tried.model_copy(update={"detail": detail}), result.drivers)


def correct_by_base(head: Tried, base: Tried) -> Tried:
    """The result of a build on the head that did not pass, corrected by the base's result in the same kind of room.

    If the build passes on the base, the head has failed, whatever its build prints. Only a build that could not even
    start (`AROUND`) stays UNJUDGED. If both builds fail in the same way, the room is the cause (packages that cannot be
    fetched, a tool that is not set up here), and the result is UNJUDGED.
    """
    if head.outcome is Outcomes.UNJUDGED and base.outcome is Outcomes.PASSED and head.kind not in AROUND:
        return head.model_copy(update={"outcome": Outcomes.FAILED, "detail": f"{NOT_ON_BASE}\n{head.detail}"})
    if head.outcome is Outcomes.UNJUDGED:
        return head
    if (head.outcome, head.kind) != (base.outcome, base.kind) or not ends_alike(head.detail, base.detail):
        return head
    return head.model_copy(update={"outcome": Outcomes.UNJUDGED, "detail": f"{ON_BASE}\n{head.detail}"})


def ends_alike(output: str, other: str) -> bool:
    """Whether two outputs end with the same lines, apart from numbers such as ports, line numbers and seconds. False if
    there is no output."""
    return bool(output.strip()) and _last_lines(output) == _last_lines(other)


def _last_lines(output: str) -> list[str]:
    lines = [re.sub(r"\d+", "#", line.strip()) for line in output.splitlines()]
    return [line for line in lines if line][-LINES:]


async def _run(workspace: Workspace, contract: Contract, command: str, commit: str) -> BuildResult:
    before, here = await workspace.blobs(contract.base), await workspace.blobs(commit)
    try:
        interpreter = await interpreter_of(workspace, contract)
        kept = await new_product(workspace, contract, commit)
        async with clean_room(workspace, contract, commit, interpreter, kept=kept) as (bench, _):
            if bench.broken:
                return BuildResult(Tried(id=command, outcome=Outcomes.UNJUDGED, kind=AROUND[1], detail=bench.broken))
            drivers = [
                path
                for path in own_drivers(command, bench.room, list(bench.frozen))
                if here.get(path) != before.get(path)
            ]
            drivers += await _changed_scripts(workspace, contract, command, bench) if here != before else []
            # The change may alter files that control the build. `drivers` only lists them: unlike a command that must
            # keep passing, a build need not pass with the base's version of these files.
            fact = await run_check(CommandCheck(command=command, within_s=WITHIN_S), bench, CaseSelection(red=(ID,)))
    except CannotJudge as error:
        return BuildResult(Tried(id=command, outcome=Outcomes.UNJUDGED, kind=AROUND[0], detail=str(error)))
    return BuildResult(fact.tried[0], tuple(drivers))


async def _changed_scripts(workspace: Workspace, contract: Contract, command: str, bench: Bench) -> list[str]:
    """Each package.json in which a script of the base was changed; none if the command runs no script."""
    changed = list[str]()
    for path in await workspace.blobs(contract.base) if _SCRIPTS.search(command) else ():
        place = bench.room / path
        if is_package_json(path) and place.is_file() and not place.is_symlink():
            base, now = package_scripts(await workspace.read(contract.base, path)), package_scripts(place.read_bytes())
            changed += [path] if any(now.get(name) != script for name, script in base.items()) else []
    return changed
