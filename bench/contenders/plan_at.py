"""A plan of N chunks through purple in a state folder that others look at: `plan_at N FOLDER`; its CPU and wall."""

import asyncio
import json
import sys
import time
from pathlib import Path

from bench.contenders.long_plan import InProcess, cpu
from bench.stage import plan, repository
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore


async def main() -> None:
    chunks, folder = int(sys.argv[1]), Path(sys.argv[2])
    place = folder / f"plan-{time.time_ns()}"
    root = repository(place, plan(f"c{number:04}" for number in range(1, chunks + 1)))
    engine = InProcess(RunStore(folder / "state", {"HOME": str(place), "PATH": "/usr/bin:/bin"}))
    flags = {"agents": {"*": "scripted:in-process"}, "rounds": 1, "yes": True, "without_cases": True}
    used, began = cpu(), time.perf_counter()
    record = await engine.start(Request(goal=str(root / "PLAN.md"), repository=root, flags=flags))
    taken = {"cpu_s": cpu() - used, "wall_s": time.perf_counter() - began}
    engine.close()
    if record.state not in ("waiting", "not proven"):
        raise SystemExit(f"the run ended as {record.state}: {record.why}")
    sys.stdout.write(json.dumps(taken) + "\n")


asyncio.run(main())
