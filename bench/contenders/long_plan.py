"""A plan of N chunks through purple, scripted in this process, no checks: `long_plan N`; then ls, show and report."""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.stage import plan, repository
from trued.agents.adapters.scripted import ScriptedRuntime
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.run.context import RunContext
from trued.wire import Order


def play(order: Order) -> dict[str, Any]:
    if order.role == "purple-team-a":
        name = order.key.split("/")[0].removeprefix("chunk ")
        path = f"part-{name[-1]}.txt"  # ten files in turn: the plan is long, the repository does not grow with it
        (Path(order.folder) / path).write_text(f"{name}\n")
        return {"implemented": [name], "files": [{"path": path, "what": "changed"}], "notes": []}
    return {"result": "PASS", "steel_man": ["it is there"], "gaps": []}


class InProcess(Engine):
    """The engine as it is, without supervisors."""

    def _context(self, *given: Any) -> RunContext:
        scripted = ScriptedRuntime(play)
        return replace(super()._context(*given), runtime=scripted, capabilities=lambda _: scripted.capabilities)


def cpu() -> float:
    """Of this process and of every git that it started."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def seconds(home: Path, *arguments: str) -> float:
    trued = Path(sys.executable).with_name("trued")
    began = time.perf_counter()
    environment = {**os.environ, "TRUED_HOME": str(home)}
    subprocess.run([str(trued), *arguments], env=environment, capture_output=True, timeout=120, check=True)
    return time.perf_counter() - began


async def measured(folder: Path, chunks: int) -> dict[str, float]:
    root = repository(folder, plan(f"c{number:04}" for number in range(1, chunks + 1)))
    home = folder / "home"
    engine = InProcess(RunStore(home, {"HOME": str(folder), "PATH": "/usr/bin:/bin"}))
    flags = {"agents": {"*": "scripted:in-process"}, "rounds": 1, "yes": True, "without_cases": True}
    used = cpu()
    began = time.perf_counter()
    record = await engine.start(Request(goal=str(root / "PLAN.md"), repository=root, flags=flags))
    wall = time.perf_counter() - began
    burnt = cpu() - used
    engine.close()  # the write-ahead log goes into the file
    if record.state not in ("waiting", "not proven"):
        raise SystemExit(f"the run ended as {record.state}: {record.why}")
    return {
        "wall_s": wall,
        "cpu_s": burnt,
        "journal_bytes": sum(path.stat().st_size for path in home.glob("journal.db*")),
        "ls_s": seconds(home, "ls"),
        "show_s": seconds(home, "show", record.id),
        "report_s": seconds(home, "report", record.id, "--output", str(folder / "report.html")),
        "report_bytes": (folder / "report.html").stat().st_size,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(json.dumps(asyncio.run(measured(Path(folder), int(sys.argv[1])))) + "\n")


if __name__ == "__main__":
    main()
