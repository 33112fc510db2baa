"""Work travels by git: a run that was begun on one machine is continued on another that has nothing of it."""

import asyncio
import json
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.crash.world import WAITS, World
from tests.hub.machines import Beginning, Machine, wait_for
from tests.postgres import PostgresServer
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.errors import BadInput

SCRIPT = """
def purple_team_a(order, folder):
    print("paid", file=sys.stderr, flush=True)
    (folder / "tiny.py").write_text("def double(x):\\n    return x + x\\n")
    return {"implemented": ["double"], "files": [{"path": "tiny.py", "what": "new function"}], "notes": []}

def purple_team_b(order, folder):
    print("paid", file=sys.stderr, flush=True)
    told_to_go_on(folder)
    (folder / "NOTES.md").write_text("doubling, for strings too\\n")
    return {"result": "PASS", "steel_man": ["tiny.py:1 is right"], "gaps": [], "fixed": ["NOTES.md"]}
"""


class Checked(World):
    """A purple run whose first pair has built, and whose second is at work."""

    def make_slow(self, seconds: float) -> None:
        self.script.write_text(WAITS.replace("{slow_s}", str(seconds)) + SCRIPT)


@pytest.fixture
def hub(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    made = tmp_path / "store.git"
    subprocess.run(["git", "init", "-q", "--bare", str(made)], check=True)
    return made


@pytest.fixture
def one(tmp_path: Path, hub: str, store: Path) -> Beginning:
    return Beginning(Checked(tmp_path / "one").make(-1), hub, str(store))


@pytest.fixture
def two(tmp_path: Path, hub: str, store: Path) -> Machine:
    return Machine(tmp_path / "two", hub, str(store))


def killed_at(machine: Beginning, role: str) -> str:
    """Begin a run, kill the machine when this role is at work, and return the run's id."""
    machine.begin()
    wait_for(lambda: any(machine.home.glob("runs/*")))
    wait_for(lambda: any(role in key and count for key, count in machine.world.bill().items()))
    name = machine.world.run_folder().name
    machine.kill()
    return name


def in_store(store: Path, commit: str) -> bool:
    words = ["git", f"--git-dir={store}", "rev-list", "--objects", "--quiet", commit]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.spec("HUB-4", "HUB-6")
def test_a_run_is_continued_on_a_machine_that_has_nothing_of_it(one: Beginning, two: Machine, store: Path) -> None:
    run = killed_at(one, "purple-team-b")
    one.world.make_slow(0)
    resumed = two.command("resume", run)
    assert resumed.returncode == 0, resumed.stderr
    assert "continues the run (sandbox: " in resumed.stderr
    shown = two.data("show", run)
    assert (shown["state"], shown["grade"]) == ("done", "proven")
    assert [call["attempts"] for call in shown["calls"]] == [1, 2]  # what the first had finished is not paid again
    assert in_store(store, shown["head"])
    with psycopg.connect(one.hub) as db:
        sent = [json.loads(value) for (value,) in db.execute("select value from trued.step where key like 'sent#%'")]
        answers = [json.loads(value) for (value,) in db.execute("select value from trued.step where key like '%team%'")]
    commits = {commit for row in sent for commit in row["commits"]}
    assert {row["head"] for row in answers} <= commits
    assert all(in_store(store, commit) for commit in commits)
    whole = ["git", f"--git-dir={store}", "cat-file", "--batch-all-objects", "--batch"]
    assert b"abab" not in subprocess.run(whole, capture_output=True, check=True).stdout  # what is held out
    refused = two.command("land", run)
    assert (refused.returncode, "is not on this machine" in refused.stderr) == (2, True), refused.stderr
    one.wake()
    # the user's machine had only the beginning: landing fetches the rest, by hash
    assert one.world.git("rev-parse", f"trued/{run}") != shown["head"]
    landed = one.command("land", run, here=one.world.repository)
    assert landed.returncode == 0, landed.stderr
    assert one.world.git("rev-parse", "main") == one.world.git("rev-parse", f"trued/{run}") == shown["head"]
    assert (one.world.repository / "NOTES.md").exists()


@pytest.mark.spec("HUB-6")
async def test_the_base_of_a_run_that_nobody_drives_yet_is_sent_once(one: Beginning, store: Path) -> None:
    given = {"yes": True, "agents": {"*": f"scripted:{one.world.script}"}}
    request = Request(goal=one.world.goal, repository=one.world.repository, flags=given)
    with closing(Engine(RunStore(one.home, one.environment()))) as engine:
        record, _ = engine.begin(*await engine.ready(request))
        travel = engine.store.travel(record)
        assert travel
        for _ in range(2):
            async with asyncio.timeout(120):  # else it waits for itself for ever
                await engine.send(record)
            assert [work.commits for work in travel.sent()] == [(record.base,)]
    assert in_store(store, record.base)


@pytest.mark.spec("HUB-6")
async def test_what_cannot_travel_is_refused_before_anything_is_written(one: Beginning, store: Path) -> None:
    def request(**flags: object) -> Request:
        given = {"yes": True, "agents": {"*": f"scripted:{one.world.script}"}, **flags}
        return Request(goal=one.world.goal, repository=one.world.repository, flags=given)

    with closing(Engine(RunStore(one.home, one.environment()))) as engine:
        with pytest.raises(BadInput, match="another machine could not continue the run"):
            await engine.start(request(readable=[str(one.folder)]))
        with pytest.raises(
            BadInput, match="agents would see TRUED_HUB_STORE, which gives access to the work of all runs"
        ):
            await engine.start(request(variables=["TRUED_HUB_STORE"]))
        head = one.world.git("rev-parse", "HEAD")
        one.world.git("update-index", "--add", "--cacheinfo", f"160000,{head},vendored")
        one.world.git("commit", "-qm", "a submodule")
        with pytest.raises(BadInput, match="the submodule vendored is in another repository"):
            await engine.start(request())
        assert engine.store.journal.runs() == []
    assert not [path for path in (store / "refs").rglob("*") if path.is_file()]
