"""A team with a backlog of N tasks, scripted in this process (`long_backlog N [TASKS]`): what a task costs it."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contenders.long_plan import cpu
from bench.stage import repository
from trued.agents.adapters.scripted import ScriptedRuntime, ScriptFailed
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.wire import Order

EACH, STORIES = 10, 2  # tasks of a feature, and its stories
WARM = 10  # tasks before the clock starts: one feature
GOAL = "double(x) returns twice its argument."
CASES = [{"call": "tiny:double", "args": [number], "returns": 2 * number} for number in (7, 5)]
CHECKS = [{"kind": "examples", "cases": CASES}]
REQUIRED = [{"id": "is-double", "text": "double doubles", "covers": ["goal"], "checks": CHECKS}]


def features(tasks: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"Part {number} of the catalogue, with search and prices",
            "criteria": [f"a visitor finds part {number}", f"an unknown part {number} is refused with a message"],
            "stories": [
                {
                    "name": f"Story {story} of part {number}",
                    "tasks": [
                        {"title": f"Write step {step} of story {story} with its tests", "files": [f"part-{step}.txt"]}
                        for step in range(EACH // STORIES)
                    ],
                }
                for story in range(STORIES)
            ],
        }
        for number in range(tasks // EACH)
    ]


@dataclass
class Team:
    """Honest members; they stop after so many tasks. At each task it is noted what was used until then."""

    tasks: int
    last: int
    used: list[tuple[float, float]] = field(default_factory=list)
    briefs: dict[str, list[int]] = field(default_factory=dict)

    def play(self, order: Order) -> dict[str, Any]:
        if order.role == "dev":
            self.used.append((cpu(), time.perf_counter()))
            if len(self.used) > self.last:
                raise ScriptFailed("enough was measured")
            path = Path(order.folder) / f"part-{len(self.used) % EACH}.txt"  # the repository does not grow
            path.write_text(f"{order.key}\n")
        if len(self.used) > WARM:
            self.briefs.setdefault(order.role, []).append(len(order.brief))
        return dict(getattr(self, order.role)(order))

    def pm(self, _: Order) -> dict[str, Any]:
        return {"features": features(self.tasks)}

    def techlead(self, _: Order) -> dict[str, Any]:
        return {"spec": "A line in a file.", "decisions": ["plain text"]}

    def dev(self, _: Order) -> dict[str, Any]:
        return {"summary": "wrote it", "implemented": ["a line"], "files": ["part.txt"]}

    def qa(self, _: Order) -> dict[str, Any]:
        return {"result": "PASS", "tried": ["looked at it"]}

    def uat(self, _: Order) -> dict[str, Any]:
        return {"decision": "passed", "tried": ["used it"]}

    def examiner(self, _: Order) -> dict[str, Any]:
        return {"cases": []}


def ground(folder: Path) -> Path:
    root = repository(folder, "# Bench\n")
    (root / "tiny.py").write_text("")
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"]
    for command in (["add", "."], ["commit", "-q", "-m", "base"]):
        subprocess.run(["git", *identity, *command], cwd=root, check=True, timeout=60)
    return root


async def measured(folder: Path, tasks: int, last: int) -> dict[str, Any]:
    root = ground(folder)
    required = folder / "requirements.json"
    required.write_text(json.dumps({"requirements": REQUIRED}))
    team = Team(tasks, last)
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    with closing(Engine(RunStore(folder / "home", environment), runtime=ScriptedRuntime(team.play))) as engine:
        flags = {"agents": {"*": "scripted:in-process"}, "yes": True}
        record = await engine.start(
            Request(goal=GOAL, repository=root, requirements=required, workflow="team", flags=flags)
        )
        files = {path.name: path.stat().st_size for path in (folder / "home").rglob("*.md") if path.is_file()}
    counted = len(team.used) - 1 - WARM
    if counted < 1:
        raise SystemExit(f"the run ended as {record.state} after {len(team.used)} tasks: {record.why}")
    (cpu_0, wall_0), (cpu_1, wall_1) = team.used[WARM], team.used[-1]
    return {
        "tasks": tasks,
        "counted": counted,
        "cpu_s": (cpu_1 - cpu_0) / counted,
        "wall_s": (wall_1 - wall_0) / counted,
        "briefs": {role: max(sizes) for role, sizes in sorted(team.briefs.items())},
        "backlog_bytes": files.get("backlog.md", 0),
        "state": record.state,
        "why": record.why,
    }


def main() -> None:
    tasks = int(sys.argv[1])
    last = int(sys.argv[2]) if len(sys.argv) > 2 else tasks
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(json.dumps(asyncio.run(measured(Path(folder), tasks, last))) + "\n")


if __name__ == "__main__":
    main()
