"""Replays a recorded agent: what its program printed once is printed again."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agents.supervisor.world import World
from trued.agents.adapters import load_agent
from trued.agents.driver.program import LogLine, Program, ProgramExit
from trued.agents.driver.streaming_runtime import StreamingRuntime
from trued.wire import Order, Report

STREAMS = Path(__file__).parent / "streams"


@dataclass
class Replay:
    """A launcher that starts nothing: every recorded line reaches the listener as if the program had printed it."""

    lines: list[str]
    code: int = 0
    stderr: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    between: Callable[[int], None] = lambda number: None  # called with the number of each line before it is replayed
    programs: list[Program] = field(default_factory=list)

    async def __call__(self, order: Order, program: Program, log: LogLine) -> ProgramExit:
        known = program.adapt(self.variables) if program.adapt else program
        self.programs.append(known)
        assert program.listener is not None
        for line in self.stderr:
            log(line)
        for number, line in enumerate(self.lines):
            self.between(number)
            stop = program.listener.handle_line(line) or program.listener.stop
            if stop:
                return ProgramExit(None, kind=stop.kind, why=stop.why)
        if stop := program.listener.stop:
            return ProgramExit(None, kind=stop.kind, why=stop.why)
        return ProgramExit(self.code, stderr="\n".join(self.stderr))


def recorded(name: str) -> list[str]:
    return (STREAMS / f"{name}.jsonl").read_text().splitlines()


def replayed(world: World, agent: str, replay: Replay, **changes: Any) -> Report:
    """The report of an order when the agent prints the recorded lines."""
    runtime = StreamingRuntime(load_agent(agent.partition(":")[0]), replay)
    given = {"tools": ("read", "edit", "search", "execute"), "schema": {}} | changes
    return asyncio.run(runtime.work(world.order(agent, **given), world.tell))


def soon(moment: float) -> bool:
    return time.time() < moment < time.time() + 3600
