"""N agents side by side under a cap, through a real run: `calls N SECONDS CAP`; each agent is a program that sleeps."""

import asyncio
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.stage import plan, repository
from trued.engine.engine import Engine
from trued.engine.inputs import Inputs, Request
from trued.engine.run_store import RunStore
from trued.model import Goal, Reply, Role, RunRecord
from trued.run.clusters import Errand
from trued.run.context import RunContext


class Side(Engine):
    """The engine as it is, with one step in the place of a workflow: a cluster of agents that only take their time."""

    agents = 1

    def _context(self, *given: Any) -> RunContext:
        kit = super()._context(*given)
        roles = {name: Role(name=name, prompt="Wait.", tools=("read", "edit")) for name in self._names()}
        return replace(kit, roles={**kit.roles, **roles})

    def _names(self) -> list[str]:
        return [f"waiter-{number:02}" for number in range(self.agents)]

    async def drive(self, record: RunRecord, inputs: Inputs, *, again: bool = False) -> RunRecord:
        with self.store.journal.claim(record.id):
            run = self.open_run(record, inputs)
            await run.context.workspace.begin()
            errands = [Errand(name, name, Reply, Goal(text="wait")) for name in self._names()]
            returned = await run.clusters.send_all(errands)
            await run.context.workspace.clean_up()
        return record.model_copy(update={"state": f"{sum(one.good for one in returned.values())} answered"})


async def measured(folder: Path, calls: int, seconds: float, cap: int) -> float:
    root = repository(folder, plan(["1A"]))
    agent = f"""command:/bin/sh -c "sleep {seconds}; date > done.txt; echo '{{}}'" """
    Side.agents = calls
    began = time.perf_counter()
    engine = Side(RunStore(folder / "home", {"HOME": str(folder), "PATH": "/usr/bin:/bin"}))
    await engine.start(
        Request(goal=str(root / "PLAN.md"), repository=root, flags={"agents": {"*": agent}, "cap": cap, "yes": True})
    )
    return time.perf_counter() - began


def main() -> None:
    calls, seconds, cap = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        wall = asyncio.run(measured(Path(folder), calls, seconds, cap))
    sys.stdout.write(json.dumps({"wall_s": wall}) + "\n")


if __name__ == "__main__":
    main()
