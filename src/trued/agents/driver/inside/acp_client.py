"""The client of an agent that speaks ACP: runs one turn of one session and prints one JSON object for each event.

It is started by path inside the agent's sandbox, so it imports nothing from this package.
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

ANSWER_S = 120.0  # timeout of every request except the prompt: an agent might first read its whole history
GRACE_S = 2.0  # how long to wait at each step of ending the agent, so that it can save its session
LINE = 64 * 1024 * 1024
BEAT_S = 1.0  # interval of heartbeats while the agent thinks; its thoughts are not shown
CUT = 4000  # characters of a tool's text that are kept; the agent's messages are kept whole
BULKY = ("content", "rawOutput", "availableCommands", "configOptions")  # large, unused fields, which are left out
LOST = "this session cannot be resumed"
LOOK_S = 0.5  # between two reads of the file that our plugin in the agent writes
LONGEST_OWN_WAIT_S = 5.0  # an agent that would wait longer for its provider is ended, so that the engine frees the slot


class AgentRefused(Exception):
    """The agent or its provider refused. `details`: the fields of the event that reports the refusal."""

    def __init__(self, why: str, **details: Any) -> None:
        super().__init__(why)
        self.details = details


class AgentGone(Exception):
    """The agent ended in mid-turn; only its stderr can show why."""


def emit(event: str, **data: Any) -> None:
    """Print one event."""
    print(json.dumps({"event": event, **data}, ensure_ascii=False), flush=True)


class Client:
    """Emits the agent's updates and answers its requests for permission. It refuses every other request, because it
    offers neither files nor a terminal."""

    def __init__(self, kinds: list[str], events: "PluginEvents") -> None:
        self._kinds, self._events = set(kinds), events
        self._tools: dict[str, dict[str, Any]] = {}  # what is known about each tool, collected from its updates
        self._beat = 0.0
        self.replaying = False  # true while a loaded session repeats its past events

    async def __call__(self, method: str, params: Any, notification: bool) -> Any:
        fields = params if isinstance(params, dict) else {}
        if method == "session/update":
            self._on_update(fields.get("update") or {})
        elif method == "session/request_permission":
            return {"outcome": self._answer_permission(fields)}
        elif not notification:
            from acp.exceptions import RequestError

            raise RequestError.method_not_found(method)
        return None

    def _on_update(self, update: dict[str, Any]) -> None:
        kind = update.get("sessionUpdate")
        if self.replaying or kind == "user_message_chunk" or (kind == "usage_update" and self._events.usage):
            return
        if kind == "agent_thought_chunk":
            self._beats()
            return
        if kind in ("tool_call", "tool_call_update"):
            self._update_tool(update)
        shown = {name: _shorten(value) for name, value in update.items() if name not in BULKY}
        if kind == "agent_message_chunk":
            shown["content"] = update.get("content")
        emit("update", update=shown)

    def _beats(self) -> None:
        if (now := time.monotonic()) - self._beat > BEAT_S:
            self._beat = now
            emit("thinks")

    def _update_tool(self, tool: dict[str, Any]) -> dict[str, Any]:
        """Add this update to what is known about the tool call, and return everything that is known."""
        known = self._tools.setdefault(str(tool.get("toolCallId")), {})
        known.update({name: _shorten(tool[name]) for name in ("kind", "title", "rawInput") if tool.get(name)})
        return known

    def _answer_permission(self, request: dict[str, Any]) -> dict[str, Any]:
        tool = self._update_tool(request.get("toolCall") or {})
        allowed = tool.get("kind") in self._kinds
        emit("permission", allowed=allowed, tool=tool)
        order = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        options = {option.get("kind"): option.get("optionId") for option in reversed(request.get("options") or [])}
        for kind in order:
            if kind in options:
                return {"outcome": "selected", "optionId": options[kind]}
        return {"outcome": "cancelled"}


class PluginEvents:
    """Events that the protocol lacks. Our plugin in the agent writes them to a file."""

    def __init__(self, file: str) -> None:
        self._file = Path(file) if file else None
        self._read = 0
        self._trouble: dict[str, Any] = {}
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    @property
    def usage(self) -> bool:
        """Whether the plugin reports the usage of each request. If so, the protocol's own figures are not needed."""
        return self._file is not None

    async def follow(self) -> None:
        """Read new events for ever; raises AgentRefused if the agent is about to wait for long."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.read()

    def read(self) -> None:
        """Read and handle the new lines. Raises AgentRefused if the agent is about to wait for long."""
        if self._file is None or not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._read)
            whole = file.read(LINE).rpartition(b"\n")[0]
        self._read += len(whole) + 1 if whole else 0
        for line in whole.splitlines():
            # the file is in the agent's HOME, so it can contain anything
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self._handle_event(json.loads(line))

    def _handle_event(self, event: dict[str, Any]) -> None:
        if event["event"] == "trouble":
            self._trouble = {"status": event["status"], "headers": event["headers"]}
        elif event["event"] == "waits" and (wait := event["until"] - time.time()) > LONGEST_OWN_WAIT_S:
            raise AgentRefused(event["why"], headers={"retry-after": f"{wait:.0f}"}, waits=True)
        elif event["event"] in ("request", "compacted"):
            emit(**event)

    async def catch_up(self) -> None:
        """Wait a little, because the plugin can be late, then `read` its last lines."""
        if self._file is not None:
            await asyncio.sleep(LOOK_S)
            self.read()

    async def with_status(self, refusal: AgentRefused) -> AgentRefused:
        """Add the provider's status and headers to the refusal, if the plugin reported them."""
        if not refusal.details.get("waits"):
            await self.catch_up()
        refusal.details |= self._trouble
        return refusal


async def main() -> int:
    """Start the agent, run one turn, end the agent; return the exit code."""
    order: dict[str, Any] = json.load(sys.stdin)
    if not _load_library():
        emit("refused", kind="missing", why="agents that speak ACP need one more package: pip install 'trued[acp]'")
        return 1
    if order["resume"] and not order["session"]:
        emit("refused", why=f"{LOST}: it never had an id")
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
    """Import the protocol's library without its schemas, which take a second to load and are not needed. Return False
    if it is not installed."""
    spec = importlib.util.find_spec("acp")
    if spec is None or spec.submodule_search_locations is None:
        return False
    package = types.ModuleType("acp")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["acp"] = package
    return True


async def _start_agent(argv: list[str], folder: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*argv, cwd=folder, stdin=pipe, stdout=pipe, limit=LINE, process_group=0)


async def _work(order: dict[str, Any], agent: asyncio.subprocess.Process) -> int:
    from acp.connection import Connection

    events = PluginEvents(order["told"])
    client = Client(order["kinds"], events)
    assert agent.stdin is not None  # noqa: S101 (both are pipes)
    link = Connection(client, agent.stdin, agent.stdout)
    try:
        session = await _open_session(order, client, link)
        answer = await _prompt(order["prompt"], session, link, events)
        emit("answered", response=answer)
        code = 0
    except AgentRefused as refusal:
        emit("refused", why=str(refusal), **refusal.details)
        code = 1
    except AgentGone as error:
        print(error, file=sys.stderr)
        code = await _exit_code(agent)
    finally:
        with contextlib.suppress(ConnectionError):
            await link.close()
    return code


async def _prompt(text: str, session: str, link: Any, events: PluginEvents) -> dict[str, Any]:
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    prompting = asyncio.create_task(_request(link, "session/prompt", params, None))
    following = asyncio.create_task(events.follow())
    try:
        await asyncio.wait({prompting, following}, return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()  # raises if the agent would wait for too long
        answer = await prompting
        await events.catch_up()
        return answer
    except AgentRefused as refusal:
        raise await events.with_status(refusal) from refusal
    finally:
        prompting.cancel()
        following.cancel()


async def _open_session(order: dict[str, Any], client: Client, link: Any) -> str:
    """Open or resume the session, and emit its id before the first paid request."""
    offered = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    hello = {"protocolVersion": 1, "clientCapabilities": offered, "clientInfo": {"name": "trued", "version": "1"}}
    can = (await _request(link, "initialize", hello)).get("agentCapabilities") or {}
    location = {"cwd": order["folder"], "mcpServers": []}
    if order["resume"]:
        name = str(order["session"])
        about = await _resume_session(name, can, client, link, location)
    else:
        about = await _request(link, "session/new", location)
        name = str(about.get("sessionId") or "")
    emit("session", id=name)
    for option in ("mode", "model"):
        if order[option]:
            await _choose_option(link, name, about, option, order[option])
    return name


async def _resume_session(
    name: str, can: dict[str, Any], client: Client, link: Any, location: dict[str, Any]
) -> dict[str, Any]:
    """Resume the session, or load it if the agent cannot resume. Ignore the past events that the agent repeats. Raises
    AgentRefused if the agent can neither resume nor load, or refuses to; the message begins with LOST."""
    resumes = "resume" in (can.get("sessionCapabilities") or {})
    if not resumes and not can.get("loadSession"):
        raise AgentRefused(f"{LOST}: the agent supports neither resuming nor loading a session")
    client.replaying = True
    try:
        return await _request(link, "session/resume" if resumes else "session/load", {**location, "sessionId": name})
    except AgentRefused as refusal:
        raise AgentRefused(f"{LOST}: {refusal}", **refusal.details) from refusal
    finally:
        client.replaying = False


async def _choose_option(link: Any, session: str, about: dict[str, Any], what: str, value: str) -> None:
    """Set the session's option `what` ("mode" or "model") to `value`. The newer request of the protocol is used if the
    agent offers it in `about`, otherwise the older one. Raises AgentRefused if the agent offers neither request."""
    options = [
        option for option in about.get("configOptions") or [] if what in (option.get("category"), option.get("id"))
    ]
    if options:
        params = {"sessionId": session, "configId": options[0]["id"], "value": value}
        await _request(link, "session/set_config_option", params)
    elif f"{what}s" in about:
        await _request(link, f"session/set_{what}", {"sessionId": session, f"{what}Id": value})
    else:
        raise AgentRefused(f"the agent does not allow choosing its {what}: {value} was asked for")


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
    """The agent's exit code as a shell reports it (128 + N after signal N), so that the engine can tell a kill from a
    failure. 1 if the agent ended with 0 or does not end."""
    with contextlib.suppress(TimeoutError):
        code = await asyncio.wait_for(agent.wait(), GRACE_S)
        return 128 - code if code < 0 else code or 1
    return 1


async def _end_agent(agent: asyncio.subprocess.Process) -> None:
    """Close the agent's input, then ask it to end, then kill its whole process group."""
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


def _shorten(value: Any) -> Any:
    if isinstance(value, str):
        return value[:CUT]
    if isinstance(value, dict):
        return {name: _shorten(item) for name, item in value.items()}
    return [_shorten(item) for item in value[:20]] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
