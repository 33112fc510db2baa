"""Five tickets in one process with at most four agents: after a kill in the middle, all five complete."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.workflows.conftest import Ground
from tests.workflows.ticket.test_ticket import REQUIRED, TICKET
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.model import Event

pytestmark = [pytest.mark.slow, pytest.mark.spec("TIC-12", "TIC-3", "RUN-2", "RUN-9")]

KEYS = [f"NUM-{number}" for number in range(1, 6)]
AGENTS = """
import time
from pathlib import Path

def impl_agent(order, folder: Path):
    time.sleep(2)
    (folder / "tiny.py").write_text("def double(x):\\n    return 2 * int(x)\\n")
    return {"success": True, "branch_name": "", "files_changed": ["tiny.py"], "summary": "half of it"}

def verify_agent(order, folder: Path):
    time.sleep(1)
    return {"passed": True, "issues": []}

def fix_agent(order, folder: Path):
    time.sleep(1)
    (folder / "tiny.py").write_text("def double(x):\\n    return x + x\\n")
    return {"success": True, "files_modified": ["tiny.py"], "changes_summary": "all of it"}

def pr_agent(order, folder: Path):
    return {"title": "it doubles", "body": "It doubles."}
"""


def trued(ground: Ground, *words: str) -> "subprocess.Popen[bytes]":
    environ = {"HOME": str(ground.folder), "PATH": os.environ["PATH"], "TRUED_HOME": str(ground.home)}
    return subprocess.Popen(
        [sys.executable, "-m", "trued", *words],
        cwd=ground.repository,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def told(ground: Ground) -> dict[str, list[Event]]:
    engine = Engine(RunStore(ground.home, {}))
    try:
        return {one.title.partition(":")[0]: engine.store.journal.events(one.id) for one in engine.store.journal.runs()}
    finally:
        engine.close()


def at_work(events: list[Event]) -> list[tuple[float, int]]:
    """(time, 1) for the beginning and (time, -1) for the end of each agent call."""
    answered = [event.data for event in events if event.kind == "answered"]
    return [pair for one in answered for pair in ((float(one["began"]), 1), (float(one["ended"]), -1))]


def test_five_tickets_are_killed_in_the_middle_and_all_complete_under_one_cap(ground: Ground) -> None:
    ground.require([REQUIRED])
    (ground.folder / "agents.py").write_text(AGENTS)
    for key in KEYS:
        (ground.folder / f"{key}.md").write_text(TICKET.replace("NUM-7", key))
    files = [str(ground.folder / f"{key}.md") for key in KEYS]
    flags = ["--agent", f"scripted:{ground.folder}/agents.py", "--cap", "4", "--requirements", str(ground.requirements)]
    before = ground.git("rev-parse", "main")
    first = trued(ground, "run", *files, *flags, "--yes")
    for _ in range(1200):
        assert first.poll() is None, first.communicate()
        known = told(ground) if (ground.home / "journal.db").exists() else {}
        if sum(event.kind == "answered" for events in known.values() for event in events) >= 7:
            break
        time.sleep(0.25)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert set(told(ground)) == set(KEYS)
    second = trued(ground, "resume", "--all", "--json")
    out, said = second.communicate(timeout=900)
    assert second.returncode == 0, said.decode()[-3000:]
    runs = json.loads(out)
    assert {(one["title"].partition(":")[0], one["state"]) for one in runs} == {(key, "done") for key in KEYS}
    lines = said.decode().splitlines()
    assert all(any(line.startswith(f"{key}  ") for line in lines) for key in KEYS), "each line says whose it is"
    known = told(ground)
    for events in known.values():
        paid = [event.key for event in events if event.kind == "answered"]
        assert len(paid) == len(set(paid)), "no finished call is paid for twice"
        assert sum(event.kind == "offered" for event in events) == 1
    moments = sorted(pair for events in known.values() for pair in at_work(events))
    number, most = 0, 0
    for _, step in sorted(moments, key=lambda pair: (pair[0], pair[1])):
        number += step
        most = max(most, number)
    assert 1 < most <= 4
    assert ground.git("rev-parse", "main") == before
    for key in KEYS:
        assert "return x + x" in ground.git("show", f"fix/{key}-numbers-are-not-doubled:tiny.py")
    assert not list(Path(ground.home, "runs").glob("*/clones/*")), "nothing is left"
