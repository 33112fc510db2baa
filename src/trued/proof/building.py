"""The project's build, run in a clean room as checks are: never evidence, and never somebody's word."""

from trued.errors import CannotJudge
from trued.protocols import Workspace
from trued.types import CommandCheck, Contract, Outcomes, Tried

from .prove import same_interpreter
from .room.bench import Wanted
from .room.cleanroom import clean_room
from .taking import take

WITHIN_S = 900.0


async def built(workspace: Workspace, contract: Contract, command: str, commit: str) -> Tried:
    """How the command ended on this commit."""
    try:
        interpreter = await same_interpreter(workspace, contract)
        async with clean_room(workspace, contract, commit, interpreter) as (bench, _):
            if bench.broken:
                return Tried(id=command, outcome=Outcomes.UNJUDGED, detail=bench.broken)
            fact = await take(CommandCheck(command=command, within_s=WITHIN_S), bench, Wanted())
    except CannotJudge as error:
        return Tried(id=command, outcome=Outcomes.UNJUDGED, detail=str(error))
    return fact.tried[0]
