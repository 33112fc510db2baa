"""One agent's behaviour, played by each runtime."""

import json
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from tests.agents.supervisor.world import World
from trued.agents.adapters.scripted import ScriptedRuntime, ScriptFailed
from trued.protocols import Runtime
from trued.wire import Order, Report

PROGRAM = """
import json, sys
from pathlib import Path
order = json.load(sys.stdin)
parts = {{}}
exec(Path({source!r}).read_text(), parts)
print(json.dumps(parts["builder"](order, Path.cwd())))
"""


@dataclass
class Play:
    """One behaviour, `def builder(order, folder)`, and the runtime that plays it."""

    world: World
    kind: str
    runtime: Runtime
    agent: str

    async def work(self, call: str = "one", **changes: object) -> Report:
        order = replace(self.world.order(self.agent, call), **changes)  # type: ignore[arg-type]
        return await self.runtime.work(order, self.world.tell)


def in_process(source: Path) -> ScriptedRuntime:
    def script(order: Order) -> dict[str, object]:
        module = types.ModuleType("script")
        exec(source.read_text(), module.__dict__)
        try:
            reply: dict[str, object] = module.builder(asdict(order), Path(order.folder))
        except RuntimeError as error:
            raise ScriptFailed(str(error)) from error
        return reply

    return ScriptedRuntime(script)


@pytest.fixture(params=["in process", "scripted", "command"])
def play(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Play]]:
    world = World(tmp_path / "world")
    made = 0

    def make(body: str) -> Play:
        nonlocal made
        made += 1
        source = tmp_path / f"agent{made}.py"
        source.write_text(body)
        if request.param == "in process":
            return Play(world, request.param, in_process(source), "scripted:in process")
        if request.param == "scripted":
            return Play(world, request.param, world.runtime(), f"scripted:{source}")
        program = tmp_path / f"program{made}.py"
        program.write_text(PROGRAM.format(source=str(source)))
        return Play(
            world, request.param, world.runtime(), f"command:{sys.executable} {json.dumps(str(program))} {source}"
        )

    yield make
    assert not world.left()
