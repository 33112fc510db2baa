"""A raw model as a coding agent: runs one turn of one session and prints one JSON object for each event.

It is started by path inside the agent's sandbox, so it imports nothing from this package.
"""

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterable
from itertools import chain
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from pydantic_ai import Agent, ModelRetry, RunContext, StructuredDict, TextOutput, ToolOutput, UsageLimits
from pydantic_ai.capabilities import LocalWorkspace
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelServerError,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, repair_messages
from pydantic_ai.usage import RequestUsage
from pydantic_ai_harness.compaction import ClearToolResults
from pydantic_ai_harness.filesystem import FileSystem
from pydantic_ai_harness.repair_tool_arguments import RepairToolArguments
from pydantic_ai_harness.shell import Shell

TOOLS = {
    "read": ("read_file", "list_files"),
    "search": ("grep",),
    "edit": ("write_file", "edit_file"),
    "execute": ("run_command",),
}
COMMAND_S = 120.0
# How often in a row a model can fail at a tool or at its reply; after more failures it will not recover.
RETRIES = {"tools": 8, "output": 2}
PAUSES = (1.0, 4.0)  # seconds before a failed request is sent again; longer waits are left to the engine
BEAT_S = 2.0  # between heartbeats while an answer streams in
SILENCE_S = 24 * 3600.0  # as good as no timeout: the supervisor watches for hangs
FULL = 0.7  # share of the model's context at which old tool results are dropped
SHOWN = 4000
LOST, TAKEN = "there is no session", "there is already a session"
VARIABLE = "environment variable"  # appears in a provider's message about a missing key
DUMPABLE, DEATH_SIGNAL = 4, 1  # options of prctl(2)


def main() -> int:
    """Read an order from stdin and carry it out as one turn of the agent; return the exit code."""
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries goes to the log
    return asyncio.run(CoderTurn(read_order_secretly(), events).run())


def read_order_secretly() -> dict[str, Any]:
    """Read the order, which contains the key. Processes that we start later cannot find the key: it is in no
    environment, they cannot read our memory, and we empty the file that is our stdin. Closing stdin would not be
    enough, because the processes that started us have the file open, too."""
    kernel = ctypes.CDLL(None)
    kernel.prctl(DUMPABLE, 0, 0, 0, 0)
    # The prctl above also hides our environment, so the supervisor cannot find us by the marker that it put there. The
    # kernel is told to end us together with our parent instead.
    kernel.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    order: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    with contextlib.suppress(OSError):
        os.ftruncate(0, 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return order


class CoderTurn:
    """One turn of the agent: one brief in one session. The conversation is saved after every step, so that a crash
    costs one request at most."""

    def __init__(self, order: dict[str, Any], events: Any) -> None:
        self._order, self._events = order, events
        self._file = Path.home() / ".trued-coder" / f"{order['session']}.json"
        self._beat, self._tokens = 0.0, 0
        self._agent: Agent[Any, Any]

    def emit(self, what: str, /, **data: Any) -> None:
        """Print one event."""
        self._events.write(json.dumps({"type": what, **data}, ensure_ascii=False) + "\n")
        self._events.flush()

    async def run(self) -> int:
        """Run the turn; return the exit code. It is 3 if the session to resume is missing, or if the session to begin
        already exists. It is 0 otherwise: a refusal of the provider is only an event."""
        if self._order["resume"] != self._is_known():
            message = LOST if self._order["resume"] else TAKEN
            print(f"{message} {self._order['session']}", file=sys.stderr)
            return 3
        self.emit("session", native=self._order["session"])
        try:
            self._agent = agent_for(self._order, self)
            await self._run_with_retries()
        except UserError as error:  # an unknown model or provider, a missing key
            self.emit("refused", text=str(error)[:SHOWN], kind="auth" if VARIABLE in str(error) else "other")
        except UsageLimitExceeded as error:
            self.emit("refused", text=str(error)[:SHOWN], kind="budget")
        except ModelAPIError as error:
            self.emit("refused", **refusal_data(error))
        except AgentRunError as error:
            self.emit("refused", text=f"{type(error).__name__}: {error}"[:SHOWN], kind="other")
        return 0

    async def _run_with_retries(self) -> None:
        """Run until the turn is over; send a failed request again from the same point."""
        self._save([*self._history(), *user_message(self._order["brief"])])
        pauses = iter(PAUSES)
        while True:
            try:
                return await self._run_agent()
            except (ModelConnectionError, ModelServerError) as error:
                if (pause := next(pauses, None)) is None or error.retry_after:
                    raise
                self.emit("refused", final=False, **refusal_data(error))
                await asyncio.sleep(pause)

    async def _run_agent(self) -> None:
        unlimited = UsageLimits(request_limit=None)
        async with self._agent.iter(message_history=self._history(), usage_limits=unlimited) as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    self._save([*run.all_messages(), node.request])
                    async with node.stream(run.ctx) as answer:
                        await self._stream_answer(answer)
                        self._count_usage(answer.response.usage)
                elif Agent.is_call_tools_node(node):
                    self._save(run.all_messages())
                    self._emit_text(node.model_response)
                    async with node.stream(run.ctx) as events:
                        await self._emit_tools(events)
            self._save(run.all_messages())
        output = run.result.output if run.result else ""
        self.emit("finished", **({"text": output} if isinstance(output, str) else {"reply": dict(output)}))

    async def _stream_answer(self, answer: AsyncIterable[Any]) -> None:
        async for _ in answer:
            if time.monotonic() - self._beat > BEAT_S:
                self._beat = time.monotonic()
                self.emit("alive")

    def _emit_text(self, response: ModelResponse) -> None:
        for part in response.parts:
            if isinstance(part, TextPart):
                self.emit("says", text=part.content[:SHOWN])

    def _count_usage(self, usage: RequestUsage) -> None:
        """Report the usage of a request before its answer is used: even a useless answer is paid for. Raises
        UsageLimitExceeded if the turn has used more tokens than were reserved."""
        self.emit("usage", sent=usage.input_tokens, said=usage.output_tokens, cached=usage.cache_read_tokens)
        self._tokens += usage.input_tokens + usage.output_tokens
        if 0 < self._order["tokens"] < self._tokens:
            raise UsageLimitExceeded(f"it has used {self._tokens} tokens; {self._order['tokens']} were reserved")

    async def _emit_tools(self, events: AsyncIterable[Any]) -> None:
        async for event in events:
            if event.event_kind == "function_tool_call":
                name, what = event.part.tool_name, event.part.args_as_json_str()[:SHOWN]
                self.emit("tool", name=name, id=event.part.tool_call_id, what=what)
                if name in {*chain(*TOOLS.values())} - {*tools_of(self._order)}:
                    self.emit("denied", tool=name, what=what)
            elif event.event_kind == "function_tool_result":
                self.emit("tool ended", id=event.tool_call_id, failed=event.part.outcome != "success")

    def _is_known(self) -> bool:
        """Whether the session exists. If the session's file is unreadable, because a command of the model may have
        overwritten it, set the file aside and return False."""
        try:
            return bool(self._history())
        except (OSError, ValueError):
            self._file.replace(self._file.with_suffix(".broken"))
            return False

    def _history(self) -> list[ModelMessage]:
        """The conversation so far; an interrupted tool call gets a result that says so. [] if there is none."""
        if not self._file.exists():
            return []
        return repair_messages(ModelMessagesTypeAdapter.validate_json(self._file.read_bytes()))

    def _save(self, messages: list[ModelMessage]) -> None:
        self._file.parent.mkdir(mode=0o700, exist_ok=True)
        aside = self._file.with_suffix(".new")
        with aside.open("wb") as file:
            file.write(ModelMessagesTypeAdapter.dump_json(messages))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._file)


def user_message(brief: str) -> list[ModelMessage]:
    """The brief as a message of the user."""
    return ModelMessagesTypeAdapter.validate_python(
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": brief}]}]
    )


def tools_of(order: dict[str, Any]) -> list[str]:
    """Names of the tools that the role may use."""
    return [name for tool in order["tools"] for name in TOOLS.get(tool, ())]


def agent_for(order: dict[str, Any], turn: CoderTurn) -> Agent[Any, Any]:
    """The model with exactly the tools of its role. We use single parts of `pydantic_ai_harness` and not its complete
    coder, which would start other agents and leave files of its shells in the folder."""
    tools = tools_of(order)
    around = dict(os.environ)
    for name in order["keys"]:
        around.pop(name, None)
    # The provider's library reads the keys from this process's variables. Processes that the model starts get `around`,
    # which has no keys.
    os.environ.update(order["keys"])
    files, commands = [name for name in tools if name not in TOOLS["execute"]], TOOLS["execute"][0] in tools
    parts: list[Any] = [LocalWorkspace(Path.cwd(), env=around), ContextTrimmer(turn), RepairToolArguments()]
    if files:
        parts.append(FileSystem(tools=files, content_hashes=False, read_only_patterns=[], max_retries=RETRIES["tools"]))
    if commands:
        quiet = {"denied_commands": [], "allow_interactive": True}  # the sandbox is the limit, not a list of commands
        parts.append(Shell(tools=TOOLS["execute"], default_timeout=COMMAND_S, **quiet))  # type: ignore[arg-type]
    agent: Agent[Any, Any] = Agent(
        order["model"],
        output_type=output_types(order["schema"]),
        instructions=order["instructions"],
        capabilities=parts,
        retries={"tools": RETRIES["tools"], "output": RETRIES["output"]},
        model_settings={"max_retries": 0, "timeout": SILENCE_S, "cache": True},
    )
    if order["schema"]:
        agent.output_validator(reply_validator(order["schema"]))
    return agent


def output_types(schema: dict[str, Any]) -> Any:
    """The forms in which the model may give its reply: a call of the reply tool, or JSON as its text. Without a schema,
    the reply is plain text."""
    if not schema:
        return str
    return [ToolOutput(StructuredDict(schema), name="final_result"), TextOutput(parse_text_reply)]


def parse_text_reply(text: str) -> Any:
    """The text parsed as a JSON object; the text itself if it is no JSON object."""
    bare = text.strip().removeprefix("```json").removesuffix("```")
    try:
        value = json.loads(bare)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def reply_validator(schema: dict[str, Any]) -> Any:
    """A validator that tells the model at once how its reply breaks the contract. It accepts the last try unchecked:
    the engine checks every reply anyway."""

    async def validate(ctx: RunContext[Any], output: Any) -> Any:
        if ctx.partial_output or ctx.last_attempt:
            return output
        if isinstance(output, str):
            raise ModelRetry("That was not an answer. Continue your work, or give your answer with final_result.")
        wrong = [
            f"{error.json_path}: {error.message[:300]}" for error in Draft202012Validator(schema).iter_errors(output)
        ]
        if wrong:
            raise ModelRetry("The answer does not fit its schema:\n" + "\n".join(wrong[:10]))
        return output

    return validate


class ContextTrimmer(ClearToolResults[Any]):
    """Drops old tool results when the context is nearly full, and reports that."""

    def __init__(self, turn: CoderTurn) -> None:
        super().__init__(max_fraction=FULL)
        self._turn = turn

    async def compact(self, messages: list[ModelMessage], ctx: RunContext[Any]) -> list[ModelMessage]:
        """Drop old tool results, and report it if any were dropped."""
        compacted = await super().compact(messages, ctx)
        if compacted is not messages:
            self._turn.emit("compacted")
        return compacted


def refusal_data(error: ModelAPIError) -> dict[str, Any]:
    """The fields of the event `refused`: the provider's message, its status (0 if unknown), and its headers about
    retrying and rate limits."""
    body = json.dumps(error.body, ensure_ascii=False, default=str) if error.body else ""
    known: dict[str, Any] = {"text": f"{type(error).__name__}: {error} {body}"[:SHOWN], "status": 0, "headers": {}}
    if isinstance(error, ModelHTTPError):
        wait = {name: value for name, value in (error.headers or {}).items() if "retry" in name or "ratelimit" in name}
        known |= {"status": error.status_code, "headers": wait}
    elif isinstance(error, ModelConnectionError):
        known["text"] = f"connection error: {error}"[:SHOWN]
    return known


if __name__ == "__main__":
    sys.exit(main())
