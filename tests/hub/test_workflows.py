"""A workflow ends alike on one machine and on three that share a hub and a store and nothing else.

Its agents work on the first machine until it is told to end, then on the second, and the third finishes the run.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.crash.crews import Piped, Teamed
from tests.crash.handed import Handed
from tests.crash.world import WAITS, World
from tests.hub.machines import Beginning, SharedHub, wait_for
from tests.workflows.ticket.test_ticket import BRANCH, REQUIRED, TICKET

TICKET_SCRIPT = """
HALF, WHOLE = "def double(x):\\n    return 2 * int(x)\\n", "def double(x):\\n    return x + x\\n"
ISSUE = {"severity": "critical", "description": "Strings are not doubled", "location": "tiny.py:2"}

def impl_agent(order, folder):
    (folder / "tiny.py").write_text(HALF)
    return {"success": True, "branch_name": "", "files_changed": ["tiny.py"], "summary": "numbers are doubled"}

def verify_agent(order, folder):
    works = "x + x" in (folder / "tiny.py").read_text()
    return {"passed": works, "issues": [] if works else [ISSUE], "summary": "looked at double"}

def fix_agent(order, folder):
    (folder / "tiny.py").write_text(WHOLE)
    return {"success": True, "files_modified": ["tiny.py"], "changes_summary": "strings, too"}

def pr_agent(order, folder):
    return {"title": "fix: numbers double", "body": "- strings, too"}
"""
# Whoever is called by a key that holds one of these words works until the machine ends it.
HELD = """
HELD = {held!r}

def held(play):
    def played(order, folder):
        while any(one in order["key"] for one in HELD):
            time.sleep(1)
        return play(order, folder)
    return played

for name, play in list(globals().items()):
    if getattr(play, "__code__", None) and play.__code__.co_varnames[:2] == ("order", "folder"):
        globals()[name] = held(play)
"""


class Ticketed(World):
    """A bug ticket whose first implementation is half of it."""

    workflow = "ticket"

    def make(self, slow_s: float = 0.0) -> "Ticketed":
        super().make(slow_s)
        (self.folder / "ticket.md").write_text(TICKET)
        self.goal = str(self.folder / "ticket.md")
        self.requirements.write_text(json.dumps({"requirements": [REQUIRED]}))
        return self

    def make_slow(self, seconds: float) -> None:
        self.script.write_text(WAITS.replace("{slow_s}", str(seconds)) + TICKET_SCRIPT)

    def tree(self) -> str:
        return self.git("ls-tree", "-r", BRANCH) + self.git("log", "--format=%an: %s", f"{self.base()}..{BRANCH}")

    def base(self) -> str:
        return self.git("rev-parse", "other")


def hold(world: World, *words: str) -> None:
    world.make_slow(0)
    world.script.write_text(world.script.read_text() + HELD.replace("{held!r}", repr(words)))


def ended(machine: Beginning) -> tuple[Any, ...]:
    """How the only run ended: its state, its ledger, and the calls that were answered."""
    (run,) = machine.data("ls")
    shown, found = machine.data("show", run["id"]), machine.data("ledger", run["id"])["requirements"]
    grades = [(one["id"], one["grade"], one["why"]) for one in found]
    seen = machine.command("diff", run["id"], "--stat")
    assert "tiny.py" in seen.stdout, seen.stderr
    landed = machine.command("land", run["id"], here=machine.world.repository)
    assert landed.returncode == 0, landed.stderr
    assert machine.world.git("rev-parse", "main") == shown["head"]
    return shown["state"], shown["grade"], grades, sorted(one["key"] for one in shown["calls"]), machine.world.tree()


@pytest.mark.slow
@pytest.mark.spec("HUB-1", "HUB-4", "HUB-6", "HUB-8")
@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        pytest.param(World, "purple-team-a", "purple-team-b", id="purple"),
        pytest.param(Ticketed, "fix-agent", "pr-agent", id="ticket"),
        pytest.param(Handed, "feature double", "feature triple", id="handoff"),
        pytest.param(Piped, "spec#", "v-tests#", id="pipeline"),
        pytest.param(Teamed, "techlead#", "uat#", id="team"),
    ],
)
def test_a_run_ends_alike_on_one_machine_and_on_three(
    kind: type[World], first: str, second: str, shared: SharedHub, tmp_path: Path
) -> None:
    alone = Beginning(kind(tmp_path / "alone").make(0), "", "")
    given = ("--workflow", kind.workflow, *(("--parallel", "2") if kind is Teamed else ()))
    assert alone.begin(*given).wait(600) == 0, (alone.folder / "said").read_text()

    asking = Beginning(kind(tmp_path / "asking").make(0), shared.login(), shared.store)
    shared.askers.append(asking)
    for name in ("a", "b", "c"):
        shared.start(tmp_path / name)
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"] * 3)
    hold(asking.world, first)
    asked = asking.begin(*given, "--on", "runs")
    drivers = []
    for now, then in ((first, (second,)), (second, ())):
        at_work = f"select 1 from attempt where state = 'open' and strpos(key, '{now}') > 0"

        def is_at_work(query: str = at_work) -> bool:
            return bool(shared.rows(query)) or asked.poll() is not None

        wait_for(is_at_work)
        drivers.append(shared.driver())
        assert drivers[-1] in shared.processes, shared.said()
        shared.processes[drivers[-1]].terminate()
        assert shared.processes[drivers[-1]].wait(300) == 0, shared.said()
        hold(asking.world, *then)
    assert asked.wait(600) == 0, shared.said() + (asking.folder / "said").read_text()
    drivers += [str(one).partition("#")[0] for (one,) in shared.rows("select driver from run")]
    assert sorted(drivers) == ["a", "b", "c"]
    assert len(shared.rows("select 1 from event where kind = 'machine changed'")) >= 2
    assert ended(asking) == ended(alone)
