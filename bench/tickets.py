"""Five tickets at once with four places for agents, against the schedule that one ticket's own times allow.

One ticket is run alone first: how long its agents work, and how long the engine (sealing, previews, browsers, proofs)
between them. The bound is what five such tickets take when agents share the cap and the engine's work the cores.
"""

import asyncio
import heapq
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.show import ROOT, Target, show
from trued.engine.concurrent_runs import start_runs
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.model import Event, RunRecord

TICKETS, CAP = 5, 4
SLACK = 1.25
SHOP = ROOT / "examples" / "shop"
AGENTS = """
import time
from pathlib import Path
from agents_of_the_shop import fix_agent as fixed, impl_agent as implemented, pr_agent as written

def impl_agent(order, folder: Path):
    time.sleep(40)
    return implemented(order, folder)

def verify_agent(order, folder: Path):
    time.sleep(20)
    works = "MutationObserver" in (folder / "assets/loyalty.js").read_text()
    issue = {"severity": "critical", "description": "later cards are wrong", "location": "assets/loyalty.js"}
    return {"passed": works, "issues": [] if works else [issue]}

def fix_agent(order, folder: Path):
    time.sleep(20)
    return fixed(order, folder)

def pr_agent(order, folder: Path):
    time.sleep(5)
    return written(order, folder)
"""


def main() -> bool:
    with tempfile.TemporaryDirectory(prefix="trued-bench-") as folder:
        alone_s, phases = _measured(Path(folder) / "alone", 1)
        wall_s, _ = _measured(Path(folder) / "five", TICKETS)
    cores = os.cpu_count() or 1
    bound_s = bound([phases[0]] * TICKETS, CAP, cores)
    agents_s, engine_s = sum(phases[0][1::2]), sum(phases[0][::2])
    rows = [
        ["one alone", f"{alone_s:.1f}", f"{agents_s:.1f}", f"{engine_s:.1f}", "", ""],
        [f"{TICKETS} one after another", f"{alone_s * TICKETS:.1f}", "", "", "", f"{alone_s * TICKETS / wall_s:.2f}"],
        [f"{TICKETS} at once, cap {CAP}", f"{wall_s:.1f}", "", "", f"{bound_s:.1f}", f"{wall_s / bound_s:.2f}"],
    ]
    target = Target(f"wall time of {TICKETS} tickets, to the schedule's bound", wall_s / bound_s, SLACK)
    figures = {"alone_s": alone_s, "wall_s": wall_s, "bound_s": bound_s, "cores": cores, "phases": phases[0]}
    header = ["loyalty ticket, scripted", "wall s", "agents s", "engine s", "bound s", "ratio"]
    return show("tickets", header, rows, [target], figures)


def bound(tickets: Sequence[Sequence[float]], cap: int, cores: int) -> float:
    """The length of a greedy schedule: phases in turn, the engine's on the cores, those of agents under the cap."""
    free = {0: [0.0] * cores, 1: [0.0] * cap}  # when each place of either kind is free again
    ready = [(0.0, number, 0) for number in range(len(tickets))]
    heapq.heapify(ready)
    end = 0.0
    while ready:
        at, number, phase = heapq.heappop(ready)
        places = free[phase % 2]
        begins = max(at, heapq.heappop(places))
        done = begins + tickets[number][phase]
        heapq.heappush(places, done)
        end = max(end, done)
        if phase + 1 < len(tickets[number]):
            heapq.heappush(ready, (done, number, phase + 1))
    return end


def _measured(folder: Path, number: int) -> tuple[float, list[list[float]]]:
    """Seconds that all took, and each one's phases: engine, agent, engine, agent …, engine."""
    subprocess.run(["bash", str(SHOP / "start.sh"), str(folder)], check=True, capture_output=True)
    (folder / "agents.py").rename(folder / "agents_of_the_shop.py")
    place = f"import sys\nsys.path.insert(0, {str(folder)!r})\n"
    (folder / "agents.py").write_text(place + AGENTS)
    ticket = (folder / "ticket.md").read_text()
    requests = []
    for one in range(number):
        file = folder / f"ticket-{one}.md"
        file.write_text(ticket.replace("SHOP-1883", f"SHOP-{one + 1}"))
        flags = {
            "yes": True,
            "cap": CAP,
            "agents": {"*": f"scripted:{folder}/agents.py"},
            "readable": [str(folder / "agents_of_the_shop.py")],
        }
        requests.append(
            Request(goal=str(file), repository=folder / "shop", requirements=folder / "requirements.yaml", flags=flags)
        )
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    engine = Engine(RunStore(folder / "home", environ))
    began = time.time()
    try:
        ended = asyncio.run(start_runs(engine, requests))
        wall_s = time.time() - began
        records = [one for one in ended if isinstance(one, RunRecord)]
        assert [one.state for one in records] == ["done"] * number, [getattr(one, "why", one) for one in ended]
        return wall_s, [_phases(engine.store.journal.events(one.id)) for one in records]
    finally:
        engine.close()


def _phases(events: list[Event]) -> list[float]:
    last, found = events[0].at, list[float]()
    for one in (event.data for event in events if event.kind == "answered"):
        began, ended = float(one["began"]), float(one["ended"])
        found += [max(0.0, began - last), ended - began]
        last = ended
    return [*found, max(0.0, events[-1].at - last)]
