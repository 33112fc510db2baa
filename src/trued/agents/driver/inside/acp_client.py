"""The client beside an agent that speaks ACP: one turn of one session, told as one JSON object a line.

It is started by its path inside the agent's sandbox, so it may import nothing of this package.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import sys
import time
import types
from pathlib import Path
from typing import Any

ANSWER_S = 120.0  # for every request but the prompt: an agent may read its whole history on the way
GRACE_S = 2.0  # for the agent to close its books
LINE = 64 * 1024 * 1024
BEAT_S = 1.0  # thinking is told so often at most: it is no text, but a sign of life
CUT = 4000  # characters of anything but the agent's words
BULKY = ("content", "rawOutput", "availableCommands", "configOptions")  # nobody reads these
LOST = "this session cannot be gone on with"
LOOK_S = 0.5  # how often is read what a plugin of ours in the agent tells
PATIENCE_S = 5.0  # that an agent may wait for its provider: longer waits are the engine's, which frees the slot


class AgentRefused(Exception):
    """What the agent or its provider said instead of an answer."""

    def __init__(self, why: str, **told: Any) -> None:
        super().__init__(why)
        self.told = told


class AgentGone(Exception):
    """The agent has ended in mid-turn: what it said on stderr is all that there is."""


def emit(event: str, **data: Any) -> None:
    print(json.dumps({"event": event, **data}, ensure_ascii=False), flush=True)


class Client:
    """What the agent may ask of us: permissions, and nothing else. No file, no terminal is offered."""

    def __init__(self, kinds: list[str], told: "PluginEvents") -> None:
        self._kinds, self._told = set(kinds), told
        self._tools: dict[str, dict[str, Any]] = {}  # what was told of each, piece by piece
        self._beat = 0.0
        self.replaying = False  # a session that is loaded is told again, from its beginning

    async def __call__(self, method: str, params: Any, notification: bool) -> Any:
        given = params if isinstance(params, dict) else {}
        if method == "session/update":
            self._updated(given.get("update") or {})
        elif method == "session/request_permission":
            return {"outcome": self._permitted(given)}
        elif not notification:
            from acp.exceptions import RequestError

            raise RequestError.method_not_found(method)
        return None

    def _updated(self, update: dict[str, Any]) -> None:
        kind = update.get("sessionUpdate")
        if self.replaying or kind == "user_message_chunk" or (kind == "usage_update" and self._told.usage):
            return
        if kind == "agent_thought_chunk":
            self._beats()
            return
        if kind in ("tool_call", "tool_call_update"):
            self._known(update)
        kept = {name: _cut(value) for name, value in update.items() if name not in BULKY}
        if kind == "agent_message_chunk":
            kept["content"] = update.get("content")
        emit("update", update=kept)

    def _beats(self) -> None:
        if (now := time.monotonic()) - self._beat > BEAT_S:
            self._beat = now
            emit("thinks")

    def _known(self, tool: dict[str, Any]) -> dict[str, Any]:
        """All that was told of this tool so far."""
        known = self._tools.setdefault(str(tool.get("toolCallId")), {})
        known.update({name: _cut(tool[name]) for name in ("kind", "title", "rawInput") if tool.get(name)})
        return known

    def _permitted(self, given: dict[str, Any]) -> dict[str, Any]:
        tool = self._known(given.get("toolCall") or {})
        allowed = tool.get("kind") in self._kinds
        emit("permission", allowed=allowed, tool=tool)
        order = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        options = {option.get("kind"): option.get("optionId") for option in reversed(given.get("options") or [])}
        for kind in order:
            if kind in options:
                return {"outcome": "selected", "optionId": options[kind]}
        return {"outcome": "cancelled"}


class PluginEvents:
    """What a plugin of ours in the agent tells, line by line, where the protocol has no word for it."""

    def __init__(self, file: str) -> None:
        self._file = Path(file) if file else None
        self._read = 0
        self._trouble: dict[str, Any] = {}
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    @property
    def usage(self) -> bool:
        """Each request is told of here, so that nothing else that is told of usage is needed."""
        return self._file is not None

    async def follow(self) -> None:
        """For ever, unless the agent is about to wait for long: that is raised."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.read()

    def read(self) -> None:
        if self._file is None or not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._read)
            whole = file.read(LINE).rpartition(b"\n")[0]
        self._read += len(whole) + 1 if whole else 0
        for line in whole.splitlines():
            with contextlib.suppress(
                ValueError, KeyError, TypeError
            ):  # its HOME is the agent's: anything may stand there
                self._hear(json.loads(line))

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "trouble":
            self._trouble = {"status": event["status"], "headers": event["headers"]}
        elif event["event"] == "waits" and (wait := event["until"] - time.time()) > PATIENCE_S:
            raise AgentRefused(event["why"], headers={"retry-after": f"{wait:.0f}"}, waits=True)
        elif event["event"] in ("request", "compacted"):
            emit(**event)

    async def caught_up(self) -> None:
        """The plugin may be a moment behind."""
        if self._file is not None:
            await asyncio.sleep(LOOK_S)
            self.read()

    async def explained(self, said: AgentRefused) -> AgentRefused:
        """With the provider's own status, if it was told."""
        if not said.told.get("waits"):
            await self.caught_up()
        said.told |= self._trouble
        return said


async def main() -> int:
    order: dict[str, Any] = json.load(sys.stdin)
    if not _load_library():
        emit("refused", kind="missing", why="agents that speak ACP need one more package: pip install 'trued[acp]'")
        return 1
    if order["resume"] and not order["session"]:
        emit("refused", why=f"{LOST}: it never had a name")
        return 1
    try:
        agent = await _start_agent(order["argv"], order["folder"])
    except OSError as error:
        emit("refused", kind="missing", why=f"{order['argv'][0]} cannot be started: {error.strerror}")
        return 1
    try:
        return await _work(order, agent)
    finally:
        await _end_agent(agent)


def _load_library() -> bool:
    """The protocol's own library without its schemas: these take a second to load, and nothing here needs them."""
    found = importlib.util.find_spec("acp")
    if found is None or found.submodule_search_locations is None:
        return False
    package = types.ModuleType("acp")
    package.__path__ = list(found.submodule_search_locations)
    sys.modules["acp"] = package
    return True


async def _start_agent(argv: list[str], folder: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*argv, cwd=folder, stdin=pipe, stdout=pipe, limit=LINE, process_group=0)


async def _work(order: dict[str, Any], agent: asyncio.subprocess.Process) -> int:
    from acp.connection import Connection

    told = PluginEvents(order["told"])
    client = Client(order["kinds"], told)
    assert agent.stdin is not None  # noqa: S101 (both are pipes)
    link = Connection(client, agent.stdin, agent.stdout)
    try:
        session = await _open_session(order, client, link)
        answer = await _prompt(order["prompt"], session, link, told)
        emit("answered", response=answer)
        code = 0
    except AgentRefused as said:
        emit("refused", why=str(said), **said.told)
        code = 1
    except AgentGone as gone:
        print(gone, file=sys.stderr)
        code = await _exit_code(agent)
    finally:
        with contextlib.suppress(ConnectionError):
            await link.close()
    return code


async def _prompt(text: str, session: str, link: Any, told: PluginEvents) -> dict[str, Any]:
    given = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    asked = asyncio.create_task(_request(link, "session/prompt", given, None))
    following = asyncio.create_task(told.follow())
    try:
        await asyncio.wait({asked, following}, return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()  # it says that the agent waits for too long
        answer = await asked
        await told.caught_up()
        return answer
    except AgentRefused as said:
        raise await told.explained(said) from said
    finally:
        asked.cancel()
        following.cancel()


async def _open_session(order: dict[str, Any], client: Client, link: Any) -> str:
    """The session's name, told before anything in it is paid for."""
    offered = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    hello = {"protocolVersion": 1, "clientCapabilities": offered, "clientInfo": {"name": "trued", "version": "1"}}
    can = (await _request(link, "initialize", hello)).get("agentCapabilities") or {}
    place = {"cwd": order["folder"], "mcpServers": []}
    if order["resume"]:
        name = str(order["session"])
        about = await _resume_session(name, can, client, link, place)
    else:
        about = await _request(link, "session/new", place)
        name = str(about.get("sessionId") or "")
    emit("session", id=name)
    for option in ("mode", "model"):
        if order[option]:
            await _choose_option(link, name, about, option, order[option])
    return name


async def _resume_session(
    name: str, can: dict[str, Any], client: Client, link: Any, place: dict[str, Any]
) -> dict[str, Any]:
    """Resumed where the agent can, else loaded; what it tells of the past is heard by nobody."""
    resumes = "resume" in (can.get("sessionCapabilities") or {})
    if not resumes and not can.get("loadSession"):
        raise AgentRefused(f"{LOST}: the agent can neither resume nor load one")
    client.replaying = True
    try:
        return await _request(link, "session/resume" if resumes else "session/load", {**place, "sessionId": name})
    except AgentRefused as said:
        raise AgentRefused(f"{LOST}: {said}", **said.told) from said
    finally:
        client.replaying = False


async def _choose_option(link: Any, session: str, about: dict[str, Any], what: str, value: str) -> None:
    """A mode or a model, by the newer way of telling or the older."""
    options = [one for one in about.get("configOptions") or [] if what in (one.get("category"), one.get("id"))]
    if options:
        given = {"sessionId": session, "configId": options[0]["id"], "value": value}
        await _request(link, "session/set_config_option", given)
    elif f"{what}s" in about:
        await _request(link, f"session/set_{what}", {"sessionId": session, f"{what}Id": value})
    else:
        raise AgentRefused(f"the agent lets nobody choose its {what}: {value} was asked for")


async def _request(link: Any, method: str, params: dict[str, Any], within: float | None = ANSWER_S) -> dict[str, Any]:
    from acp.exceptions import RequestError

    try:
        answer = await asyncio.wait_for(link.send_request(method, params), within)
    except RequestError as error:
        raise AgentRefused(str(error), code=error.code, data=error.data) from error
    except ConnectionError as error:
        raise AgentGone(f"the agent ended without an answer to {method}") from error
    except TimeoutError as error:
        raise AgentRefused(f"the agent did not answer {method} within {ANSWER_S:g} s") from error
    return answer if isinstance(answer, dict) else {}


async def _exit_code(agent: asyncio.subprocess.Process) -> int:
    """As the agent ended, so do we: whoever killed it is not the same as a fault of its own."""
    with contextlib.suppress(TimeoutError):
        code = await asyncio.wait_for(agent.wait(), GRACE_S)
        return 128 - code if code < 0 else code or 1
    return 1


async def _end_agent(agent: asyncio.subprocess.Process) -> None:
    """Its input is closed, then it is asked, then it is made to end: with all of its group."""
    if agent.stdin is not None:
        agent.stdin.close()
    for sent in (None, signal.SIGTERM, signal.SIGKILL):
        if sent is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(agent.pid, sent)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(agent.wait(), GRACE_S)
            break
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(agent.pid, signal.SIGKILL)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:CUT]
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    return [_cut(one) for one in value[:20]] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
