"""The project's build, run in a clean room as checks are: never evidence, and never somebody's word."""

import re

from trued.errors import CannotJudge
from trued.protocols import Workspace
from trued.types import CommandCheck, Contract, Outcomes, Tried

from .prove import same_interpreter
from .room.bench import Wanted
from .room.cleanroom import clean_room
from .taking import take

WITHIN_S = 900.0
LINES = 6  # of what a build says at last: its reason is among them
ON_BASE = "it fails on the base in the same way:"


async def built(workspace: Workspace, contract: Contract, command: str, commit: str) -> Tried:
    """How the command ended on this commit. What fails in the very same way on the base fails because of this room:
    packages that would be fetched, a tool that is set up elsewhere. Nobody's work is judged by that."""
    head = await _ended(workspace, contract, command, commit)
    if head.outcome in (Outcomes.PASSED, Outcomes.UNJUDGED):
        return head
    base = await _ended(workspace, contract, command, contract.base)
    if base.outcome is not head.outcome or not alike(head.detail, base.detail):
        return head
    return head.model_copy(update={"outcome": Outcomes.UNJUDGED, "detail": f"{ON_BASE}\n{head.detail}"})


def alike(one: str, other: str) -> bool:
    """Do they end with the same words? Numbers aside: of ports, lines and seconds."""
    return bool(one.strip()) and _last(one) == _last(other)


def _last(said: str) -> list[str]:
    lines = [re.sub(r"\d+", "#", line.strip()) for line in said.splitlines()]
    return [line for line in lines if line][-LINES:]


async def _ended(workspace: Workspace, contract: Contract, command: str, commit: str) -> Tried:
    try:
        interpreter = await same_interpreter(workspace, contract)
        async with clean_room(workspace, contract, commit, interpreter) as (bench, _):
            if bench.broken:
                return Tried(id=command, outcome=Outcomes.UNJUDGED, detail=bench.broken)
            fact = await take(CommandCheck(command=command, within_s=WITHIN_S), bench, Wanted())
    except CannotJudge as error:
        return Tried(id=command, outcome=Outcomes.UNJUDGED, detail=str(error))
    return fact.tried[0]
