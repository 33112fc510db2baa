"""Finds a start command in the base's files and tries it, if a check needs a server and nobody names one."""

from collections.abc import Awaitable, Callable, Iterable

from trued.errors import BadInput
from trued.inputs.project.start import StartCommand, start_command_sources, start_commands
from trued.model import BrowserCheck, Check, Environment, ExamplesCheck, HttpCase, Requirements, Serve, Value
from trued.model.events.proof import ServerFound
from trued.proof.server_start import try_on_base
from trued.protocols import Emit, Workspace
from trued.run.steps import Steps
from trued.support.hashing import digest

STEP = "seal/server#1"  # one step for the whole run: the commands are tried when a check first needs a server
MOST_TRIED = 4  # at most this many commands are tried, because each one without an answer costs up to TRIAL_S
TRIAL_S = 20.0
MOST_WHY = 200  # characters of the reason why a server did not start
TEXT_BYTES = 200_000
HOW_TO_WRITE = (
    'write how it is started: serve: {command: ["python", "app.py"], port_env: PORT} in a requirements file, '
    'or [serve] command = ["python", "app.py"] in trued.toml'
)


class FoundServer(Value):
    """The server that answered on the base; or why there is none, and what to write."""

    serve: Serve | None = None
    why: str = ""


def needs_server(checks: Iterable[Check]) -> bool:
    """Whether one of the checks opens a page or makes an HTTP exchange."""
    return any(
        isinstance(check, BrowserCheck)
        or (isinstance(check, ExamplesCheck) and any(isinstance(case, HttpCase) for case in check.cases))
        for check in checks
    )


async def with_server(requirements: Requirements, find: Callable[[], Awaitable[FoundServer]]) -> Requirements:
    """Add a server to requirements whose checks need one, unless the requirements name a server. Raises BadInput if no
    server is found."""
    needing = next((requirement for requirement in requirements.requirements if needs_server(requirement.checks)), None)
    if requirements.serve or needing is None:
        return requirements
    server = await find()
    if server.serve is None:
        raise BadInput(f"requirement {needing.id} needs a server, and {server.why}", str(needing.source))
    return requirements.model_copy(update={"serve": server.serve})


def server_finder(steps: Steps, environment: Environment) -> Callable[[], Awaitable[FoundServer]]:
    """A function that finds the server of a run, as a step. Only its first call searches; later calls return the same
    result."""
    context = steps.context

    async def find() -> FoundServer:
        async def step() -> FoundServer:
            configured, emit = context.settings.commands.start, steps.emitter("seal")
            async with context.turn():
                return await find_server(context.workspace, environment, configured=configured, emit=emit)

        return await steps.compute(FoundServer, STEP, digest(context.workspace.base), step)

    return find


async def find_server(
    workspace: Workspace, environment: Environment, *, configured: str = "", emit: Emit
) -> FoundServer:
    """Try the start commands that the base's files show, and return the first whose server answers on the base.
    `configured`: the user's own start command (`[commands] start`), which is tried first."""
    candidates = await _candidates(workspace, configured)
    failed: list[str] = []
    for candidate in candidates[:MOST_TRIED]:
        serve = candidate.serve.model_copy(
            update={"ready": candidate.serve.ready.model_copy(update={"within_s": TRIAL_S})}
        )
        why = await try_on_base(workspace, serve, environment)
        if not why:
            emit(ServerFound(command=candidate.command_line, where=candidate.where))
            return FoundServer(serve=serve)
        failed.append(
            f"`{candidate.command_line}` ({candidate.where}) was tried on the base: {' '.join(why.split())[:MOST_WHY]}"
        )
    if not failed:
        return FoundServer(why=f"no file of the base says how the project is started; {HOW_TO_WRITE}")
    return FoundServer(why=f"no start command answers on the base: {'; '.join(failed)}; {HOW_TO_WRITE}")


async def _candidates(workspace: Workspace, configured: str) -> tuple[StartCommand, ...]:
    blobs = await workspace.blobs(workspace.base)
    read = await workspace.read_all(workspace.base, start_command_sources(blobs))
    texts = {path: text[:TEXT_BYTES].decode("utf-8", "replace") for path, text in read.items()}
    return start_commands(blobs, texts.get, configured)
