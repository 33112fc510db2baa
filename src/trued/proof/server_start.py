"""Tries a start command on the base: does the project answer on the port that it is given?"""

from trued.errors import CannotJudge
from trued.model import Contract, Environment, Outcomes, Serve
from trued.proof.checks.http import start_server, wait_until_up, why_not_up
from trued.proof.room.clean_room import clean_room
from trued.proof.room.environment import choose_environment
from trued.protocols import Workspace

SLACK_S = 30.0  # extra seconds for the sandbox itself on a busy machine


async def try_on_base(workspace: Workspace, serve: Serve, environment: Environment) -> str:
    """Start the server in a clean room of the base and stop it again. Returns "" if it answered, else why not."""
    contract = Contract(base=workspace.base, requirements=(), environment=environment, serve=serve)
    try:
        chosen = await choose_environment(workspace, workspace.base, environment.packages)
        async with clean_room(workspace, contract, workspace.base, chosen.interpreter) as (bench, _):
            if bench.broken:
                return f"its preparation fails: {bench.broken}"
            async with start_server(bench, serve.ready.within_s + SLACK_S) as serving:
                why = await wait_until_up(serving, serve.ready)
                ended = await serving.end()
            if not why:
                return ""
            outcome, _, detail = why_not_up(why, bench, ended)
            return f"{detail} (nothing is wrong with the project)" if outcome is Outcomes.UNJUDGED else detail
    except CannotJudge as error:
        return str(error)
