"""The public fake agent: a few lines of Python, in this process or in a separate process."""

import inspect
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from trued.agents.driver.agent import Agent
from trued.agents.driver.inside import stage
from trued.agents.driver.program import (
    Program,
    ProgramExit,
    ProgramLauncher,
    done_report,
    estimate_usage,
    failed_report,
    report_if_failed,
)
from trued.agents.driver.reply_format import BrokenReply, ask_with_retry, parse_reply
from trued.wire import Capabilities, EmitAgentEvent, Order, Report, Usage

CAPABILITIES = Capabilities(resume=True, chosen_session=True, reports_usage=True)
# Fields of the order that a script sees; `inside/stage.py` adds `turn`, `resumed` and `usage`.
SHOWN = ("role", "brief", "schema", "session", "attempt", "run", "key", "resume", "tools", "model")

ScriptReply: TypeAlias = dict[str, Any] | tuple[dict[str, Any], Usage]
Script: TypeAlias = Callable[[Order], ScriptReply | Awaitable[ScriptReply]]


class ScriptFailed(Exception):
    """A script raises this to simulate an agent's failure."""


class ScriptedRuntime:
    """A function in this process plays every agent, without supervisor or sandbox. `orders` lists all orders so far."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._sessions: set[str] = set()
        self.orders: list[Order] = []

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        """Call the script. If its reply breaks the contract, call the script once more."""
        began, start = time.time(), time.monotonic()
        report = await ask_with_retry(order, self._play, emit, remembers=True)
        return replace(report, began=began, ended=began + max(0.0, time.monotonic() - start))

    async def _play(self, order: Order) -> Report:
        self.orders.append(order)
        resumed = order.resume and order.session in self._sessions
        self._sessions.add(order.session)
        try:
            played = self._script(order)
            if inspect.isawaitable(played):
                played = await played
        except ScriptFailed as error:
            return failed_report(order, "crashed", str(error))
        reply, usage = played if isinstance(played, tuple) else (played, estimate_usage(order, len(json.dumps(played))))
        return done_report(order, reply, resumed=resumed, usage=usage)


class ScriptedProcess:
    """The runtime of `scripted:FILE.py[#NAME]`. In a confined process, it calls the file's function NAME. Without NAME,
    it calls the function named like the role, with "_" instead of "-"."""

    def __init__(self, launch: ProgramLauncher) -> None:
        self._launch = launch

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        """Run the script's function in a confined process."""
        where, _, name = order.agent.partition(":")[2].partition("#")
        script = Path(where).expanduser().resolve()
        if not script.is_file():
            return failed_report(
                order, "missing", f"there is no script {where}; use scripted:PATH.py with an absolute path"
            )
        program = _program(order, script, name or order.role.replace("-", "_"))
        ended = await self._launch(order, program, lambda line: emit("log", text=line))
        return report_if_failed(order, ended) or _report(order, ended, emit)


def _program(order: Order, script: Path, name: str) -> Program:
    stdin = json.dumps({name: getattr(order, name) for name in SHOWN}, ensure_ascii=False).encode()
    player = str(Path(stage.__file__).resolve())
    return Program(
        # Started by path, with -P and -s, so that no file in the clone can replace a module.
        (sys.executable, "-P", "-s", "-B", player, str(script), name),
        stdin,
        (sys.prefix, sys.base_prefix, player, str(script)),
    )


def _report(order: Order, ended: ProgramExit, emit: EmitAgentEvent) -> Report:
    try:
        printed = parse_reply(ended.stdout)
        reply = printed["reply"]
    except (BrokenReply, KeyError) as error:
        return failed_report(order, "contract", f"the script's reply cannot be read: {error}", reaped=ended.reaped)
    usage = estimate_usage(order, len(json.dumps(reply)))
    if not isinstance(reply, dict):
        why = f"the script returned {type(reply).__name__}, but one JSON object is needed"
        return failed_report(order, "contract", why, reaped=ended.reaped, usage=usage)
    if simulated := printed.get("usage"):
        usage = Usage(**simulated)
        emit("usage", simulated=True, **simulated)
    return done_report(order, reply, resumed=bool(printed.get("resumed")), reaped=ended.reaped, usage=usage)


AGENT = Agent(
    title="a script of replies, for tests and demonstrations, without a model",
    capabilities=CAPABILITIES,
    argument=":FILE",
    runtime=ScriptedProcess,
)
