"""A small world to die in: a repository, a plan with one chunk, a held-out example, and agents that keep a bill."""

import contextlib
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, ClassVar

from tests.postgres import PostgresServer
from tests.processes_left import marked
from trued.protocols import Runtime

PLAN = """# Plan: double

## Goals

- numbers can be doubled

## Phase 1

| Chunk | Scope | Files |
| --- | --- | --- |
| 1A | `double(x)` returns twice its argument | tiny.py |
"""

REQUIREMENTS = {
    "requirements": [
        {
            "id": "double",
            "text": "double(x) returns twice its argument",
            "covers": ["1A", "goal: numbers can be doubled"],
            "checks": [
                {
                    "kind": "examples",
                    "cases": [{"call": "tiny:double", "args": ["ab"], "returns": "abab"}],
                }
            ],
        }
    ]
}

WAITS = """
import sys, time

SLOW_S = {slow_s}

def told_to_go_on(folder):  # where SLOW_S is below 0: so that whoever is met at work is surely met there
    for _ in range(30_000 if SLOW_S < 0 else 0):
        if (folder / "go").exists():
            (folder / "go").unlink()
            return
        time.sleep(0.02)

"""
SCRIPT = """
def purple_team_a(order, folder):
    print("paid", file=sys.stderr, flush=True)
    time.sleep(max(SLOW_S, 0))
    told_to_go_on(folder)
    (folder / "tiny.py").write_text("def double(x):\\n    return x + x\\n")
    return {"implemented": ["double"], "files": [{"path": "tiny.py", "what": "new function"}], "notes": []}

def purple_team_b(order, folder):
    print("paid", file=sys.stderr, flush=True)
    time.sleep(max(min(SLOW_S, 0.15), 0))  # the first call is the one that is met at work
    (folder / "NOTES.md").write_text("doubling, for strings too\\n")
    return {"result": "PASS", "steel_man": ["tiny.py:1 is right"], "gaps": [], "fixed": ["NOTES.md"]}
"""

LOG = "MEMORY.md"
COMMIT = re.compile(r"\b[0-9a-f]{12}\b")


class World:
    """One repository and one TRUED_HOME below a folder."""

    workflow = "purple"
    first_waits = True  # the agent that is called first can be made to wait until it is told to go on
    server: ClassVar[PostgresServer | None] = None  # where the journals of all worlds are, if not in their homes

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository, self.home = folder / "repo", folder / "home"
        self.plan, self.requirements = self.repository / "PLAN.md", folder / "requirements.json"
        self.script = folder / "agents.py"
        self.goal = str(self.plan)
        self.flags: dict[str, Any] = {}
        self.variables: dict[str, str] = {}  # for the engine
        self.runtime: Runtime | None = None  # plays the agents inside the engine's process: they die with it

    def make(self, slow_s: float = 0.15) -> "World":
        if self.server is not None:
            self.variables["TRUED_HUB"] = self.server.new_database()
        self.repository.mkdir(parents=True)
        self.plan.write_text(PLAN)
        (self.repository / "tiny.py").write_text("")
        self.requirements.write_text(json.dumps(REQUIREMENTS))
        self.make_slow(slow_s)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-qm", "base")
        self.git("branch", "other")
        (self.repository / "scratch.txt").write_text("the user's own, not committed\n")
        return self

    def make_slow(self, seconds: float) -> None:
        """How long the first agent works; below 0: until it is told to go on."""
        self.script.write_text(WAITS.replace("{slow_s}", str(seconds)) + SCRIPT)

    def go_on(self, which: str = "*") -> None:
        """Tell those at work, whose calls have such names."""
        for order in self.run_folder().glob(f"spool/{which}/order.json"):
            with contextlib.suppress(FileNotFoundError):  # its clone is gone: it has ended
                (Path(json.loads(order.read_bytes())["folder"]) / "go").touch()

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=user", "-c", "user.email=user@example.invalid", "-c", "commit.gpgsign=false")
        then = {
            f"GIT_{whose}_DATE": "2026-01-01T00:00:00Z" for whose in ("AUTHOR", "COMMITTER")
        }  # the same base for all
        run = subprocess.run(
            ["git", *who, *arguments],
            cwd=self.repository,
            env={**os.environ, **then},
            check=True,
            capture_output=True,
            text=True,
        )
        return run.stdout.strip()

    def untouched(self) -> dict[str, str]:
        """Everything in the user's repository that is not the run's branch, by content."""
        state = {
            "refs": "\n".join(line for line in self.git("show-ref").splitlines() if "refs/heads/trued/" not in line)
        }
        for path in sorted(self.repository.rglob("*")):
            inside = path.relative_to(self.repository).as_posix()
            ours = inside.startswith((".git/objects", ".git/refs/heads/trued", ".git/logs/refs/heads/trued"))
            if path.is_file() and not ours:
                state[inside] = hashlib.sha256(path.read_bytes()).hexdigest()
        return state

    # -- what is left of a run -----------------------------------------------------------------------------------------

    def run_folder(self) -> Path:
        (folder,) = (self.home / "runs").iterdir()
        return folder

    def tree(self) -> str:
        """The branch's files, and the log without what differs from run to run: names of runs and commits."""
        run = self.run_folder().name
        files = self.git("ls-tree", "-r", f"trued/{run}").splitlines()
        others = [one for one in files if not one.endswith(f"\t{LOG}")]
        if others == files:  # a workflow that keeps no log
            return "\n".join(files)
        log = COMMIT.sub("(commit)", self.git("show", f"trued/{run}:{LOG}").replace(run, "(run)"))
        return "\n".join((*others, log))

    def bill(self) -> dict[str, int]:
        """How often each call's agent began its work, by the lines that it printed as it did."""
        bill: dict[str, int] = {}
        for events in self.run_folder().glob("spool/*/events.jsonl"):
            if not (events.parent / "order.json").exists():
                continue
            key = json.loads((events.parent / "order.json").read_bytes())["key"]
            bill[key] = bill.get(key, 0) + events.read_text().count('"paid"')
        return bill

    def finished_twice(self) -> list[str]:
        """Calls with more than one report: paid for after they were finished."""
        keys = [
            json.loads((one.parent / "order.json").read_bytes())["key"]
            for one in self.run_folder().glob("spool/*/report.json")
        ]
        return sorted({key for key in keys if keys.count(key) > 1})

    def left_over(self) -> list[str]:
        """Processes, clones and clean rooms that nobody needs any more."""
        folder = self.run_folder()
        places = [*folder.glob("clones/*"), *folder.glob("rooms/*")]
        return [*map(str, places), *(f"process {pid}" for pid in marked(folder.name) if pid != os.getpid())]
