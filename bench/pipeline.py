"""The pipeline with agents of random duration, against the schedule that their own times allow.

The bound is computed from the document's flow and the drawn times alone: step after step, and within a step whoever
comes next takes the first of four places that is free. What the engine does itself (sealing, builds, proof) is shown
apart; everything else that it does (clones, commits, memories, merges, the journal, supervisors) counts against it.
"""

import asyncio
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from subprocess import run as start
from typing import Any

from bench.show import ROOT, Target, show
from bench.stage import repository
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.model import Event
from trued.run.context import RunContext

SCHEDULES, CAP, SLACK = 20, 4, 1.10
SHORTEST, LONGEST = 10.0, 30.0  # seconds of an agent: real ones take minutes, and make the engine's share smaller
APART_S = 2.0  # all schedules go on at the same time, begun one by one: agents that sleep leave the cores alone
OWN = ("seal", "sealed anew", "weighed", "build", "figures", "prove", "finish")  # steps in which the engine judges

TASKS = {"T1": (), "T2": (), "T3": (), "T4": (), "T5": (), "T6": ("T1", "T2"), "T7": ("T6",)}  # and what they need
FLOW = (  # the document's, without aggregators: a line waits for the line above it
    ("researcher-architecture", "researcher-impact", "researcher-dependencies", "researcher-patterns"),
    ("spec",),
    ("designer",),
    ("ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"),
    ("planner",),
    ("implementer-T1", "implementer-T2", "implementer-T3", "implementer-T4", "implementer-T5"),
    ("implementer-T6",),
    ("documentation-writer-T7",),
    ("v-build",),
    ("v-tests", "v-tasks", "v-feature"),
    ("r-quality", "r-security", "r-testing", "r-knowledge"),
)
REQUEST = "`double(x)` in `tiny.py` returns twice its argument."
CASES = [{"call": "tiny:double", "args": [number], "returns": 2 * number} for number in (21, 5)]

AGENTS = """
import time
from pathlib import Path

SECONDS = {seconds}
TASKS = {tasks}
FOLDERS = {{"ct": "ct-review", "v": "verification", "r": "review"}}

def artifact(name):
    kind, _, focus = name.partition("-")
    if kind == "researcher":
        return f"research/{{focus}}.md"
    if kind in FOLDERS:
        return f"{{FOLDERS[kind]}}/{{name}}.md"
    return {{"spec": "feature.md", "designer": "design.md"}}.get(name, "")

def anybody(order, folder: Path):
    name = order["key"].rpartition("/")[2].partition("#")[0]
    time.sleep(SECONDS[name])
    if path := artifact(name):
        file = next((folder / "docs/feature").iterdir()) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {{name}}\\n\\nNothing stands in the way.\\n")
    said = {{"summary": name, "key_findings": [f"{{name}} looked"]}}
    if name == "spec":
        return {{**said, "criteria": [{{"id": "AC-1", "text": "{request}"}}]}}
    if name == "planner":
        return {{**said, "tasks": [task(*one) for one in TASKS.items()]}}
    if name == "implementer-T1":
        (folder / "tiny.py").write_text("def double(x):\\n    return 2 * x\\n")
    elif name.startswith(("implementer-", "documentation-writer-")):
        (folder / f"{{name}}.txt").write_text(f"{{name}} was here\\n")
    return said

def task(name, needs):
    kind = "documentation" if name == "T7" else "implementation"
    return {{"id": name, "title": f"part {{name}}", "kind": kind, "depends_on": list(needs), "criteria": ["AC-1"]}}
"""


# -- what the agents' own times allow ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """One agent at work."""

    name: str
    began: float
    ended: float


def schedule(seconds: Mapping[str, float]) -> list[Span]:
    """Whoever is next in line takes the place that is free first; a line begins when the one above it has ended."""
    spans, now = list[Span](), 0.0
    for line in FLOW:
        free = [now] * CAP
        for name in line:
            free.sort()
            spans.append(Span(name, free[0], free[0] + seconds[name]))
            free[0] += seconds[name]
        now = max(span.ended for span in spans)
    return spans


def depth(spans: Iterable[Span]) -> int:
    """The longest chain of agents of which each began after the one before it had ended."""
    chain, last = 0, float("-inf")
    for span in sorted(spans, key=lambda span: span.ended):
        if span.began >= last:
            chain, last = chain + 1, span.ended
    return chain


def drawn(seed: int) -> dict[str, float]:
    dice = random.Random(seed)
    return {name: round(dice.uniform(SHORTEST, LONGEST), 2) for line in FLOW for name in line}


# -- one run -----------------------------------------------------------------------------------------------------------


class Timed:
    """A journal that also looks at the clock."""

    def __init__(self, journal: Any, spans: list[Span]) -> None:
        self._journal, self._spans = journal, spans

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def once(self, key: str, inputs: str, step: Any, formerly: Sequence[str] = ()) -> str:
        began = time.time()
        try:
            return str(await self._journal.once(key, inputs, step, formerly))
        finally:
            self._spans.append(Span(key.rpartition("/")[2].partition("#")[0], began, time.time()))


class Watched(Engine):
    """The engine as it is, with its own steps timed."""

    def _context(self, *given: Any) -> RunContext:
        self.steps = list[Span]()
        context = super()._context(*given)
        journal: Any = Timed(context.journal, self.steps)
        return replace(context, journal=journal)


def one(seed: int, folder: Path) -> dict[str, Any]:
    """One schedule through a real run: wall time, the engine's own part of it, and who worked when."""
    seconds, root = drawn(seed), repository(folder, "# Notes\n")
    agents, wanted = folder / "agents.py", folder / "requirements.json"
    agents.write_text(AGENTS.format(seconds=repr(seconds), tasks=repr(TASKS), request=REQUEST))
    checks = [{"kind": "examples", "cases": CASES}]
    covers = ["goal"]
    wanted.write_text(
        json.dumps({"requirements": [{"id": "double", "text": REQUEST, "covers": covers, "checks": checks}]})
    )
    engine = Watched(RunStore(folder / "home", {"HOME": str(folder), "PATH": os.environ["PATH"]}))
    flags = {"agents": {"*": f"scripted:{agents}#anybody"}, "cap": CAP, "yes": True}
    request = Request(goal=REQUEST, repository=root, requirements=wanted, workflow="pipeline", flags=flags)
    began = time.time()
    try:
        record = asyncio.run(engine.start(request))
        wall = time.time() - began
        spans = [_span(event) for event in engine.store.journal.events(record.id) if event.kind == "answered"]
    finally:
        engine.close()
    if record.state != "done":
        raise SystemExit(f"schedule {seed}: {record.state}: {record.why}")
    ideal = schedule(seconds)
    return {
        "seed": seed,
        "wall_s": wall,
        "path_s": max(span.ended for span in ideal),
        "own_s": _alone([span for span in engine.steps if span.name in OWN], spans),
        "calls": sorted(span.name for span in spans),
        "depth": depth(spans),
        "document_depth": depth(ideal),
        "agents": [asdict(span) for span in spans],
    }


def _span(event: Event) -> Span:
    name = event.key.rpartition("/")[2].partition("#")[0]
    return Span(name, float(event.data["began"]), float(event.data["ended"]))


def _alone(own: Sequence[Span], agents: Sequence[Span]) -> float:
    """How long the engine judged while no agent was at work."""
    edges = sorted({edge for span in (*own, *agents) for edge in (span.began, span.ended)})
    total = 0.0
    for began, ended in itertools.pairwise(edges):
        judging = any(span.began <= began and ended <= span.ended for span in own)
        working = any(span.began <= began and ended <= span.ended for span in agents)
        total += ended - began if judging and not working else 0.0
    return total


# -- all of them -------------------------------------------------------------------------------------------------------


def measured(seed: int) -> dict[str, Any]:
    """In a process of its own, as a run is."""
    time.sleep((seed - 1) * APART_S)
    command = [sys.executable, "-m", "bench.pipeline", str(seed)]
    done = start(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    found["beside_s"] = found["wall_s"] - found["own_s"] - found["path_s"]
    found["ratio"] = 1 + found["beside_s"] / found["path_s"]
    return found


def main() -> bool:
    with ThreadPoolExecutor(SCHEDULES) as lanes:
        found = list(lanes.map(measured, range(1, SCHEDULES + 1)))
    rows = [
        [
            f"schedule {each['seed']}",
            f"{each['path_s']:.1f}",
            f"{each['wall_s']:.1f}",
            f"{each['own_s']:.1f}",
            f"{each['beside_s']:.1f}",
            f"{each['ratio']:.3f}",
            f"{len(each['calls'])}",
            f"{each['depth']}",
        ]
        for each in found
    ]
    wanted = sorted(name for line in FLOW for name in line)
    targets = [
        Target("worst wall time, to the critical path", max(each["ratio"] for each in found), SLACK),
        Target(
            "schedules with other calls than the document's",
            sum(each["calls"] != wanted for each in found),
            0,
            of=len(found),
        ),
        Target(
            "schedules of another depth",
            sum(each["depth"] != each["document_depth"] for each in found),
            0,
            of=len(found),
        ),
    ]
    median = statistics.median(each["ratio"] for each in found)
    rows.append(["median", "", "", "", "", f"{median:.3f}", f"{len(wanted)}", f"{len(FLOW)} steps"])
    header = ["pipeline, cap 4", "path s", "wall s", "proof s", "beside s", "ratio", "calls", "depth"]
    return show("pipeline", header, rows, targets, {"median": median, "schedules": found})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="trued-bench-") as place:
        sys.stdout.write(json.dumps(one(int(sys.argv[1]), Path(place))) + "\n")
