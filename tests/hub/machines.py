"""Machines that share a hub and a store and nothing else: each has a HOME and a state folder of its own."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.crash.world import World
from tests.postgres import PASSWORD

LEASE_S = 60.0  # of workers that nobody kills
MAY = ("--agents", "scripted", "--allow-programs", "--runs", "1", "--lease", str(LEASE_S))


def wait_for(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


class Machine:
    """One machine: what it knows is its settings."""

    def __init__(self, folder: Path, hub: str, store: str) -> None:
        self.folder, self.home, self.here = folder, folder / "state", folder / "somewhere"
        self.hub, self.store = hub, store
        self.variables: dict[str, str] = {}
        self.begun: list[subprocess.Popen[bytes]] = []
        self.here.mkdir(parents=True)

    def environment(self) -> dict[str, str]:
        places = {"HOME": str(self.folder), "TRUED_HOME": str(self.home)}
        shared = {"TRUED_HUB": self.hub, "TRUED_HUB_STORE": self.store}
        return {"PATH": os.environ["PATH"], **places, **shared, **self.variables}

    def command(self, *words: str, here: Path | None = None) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "trued", *words]
        return subprocess.run(
            line, cwd=here or self.here, env=self.environment(), capture_output=True, text=True, check=False
        )

    def start(self, *words: str, here: Path | None = None) -> subprocess.Popen[bytes]:
        """The same, without waiting for its end; what it says is in the file `said`."""
        line = [sys.executable, "-m", "trued", *words]
        with (self.folder / "said").open("ab") as said:
            process = subprocess.Popen(
                line, cwd=here or self.here, env=self.environment(), stdout=subprocess.DEVNULL, stderr=said
            )
        self.begun.append(process)
        return process

    def data(self, *words: str) -> Any:
        done = self.command(*words, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def kill(self) -> None:
        """The machine dies: everything that was started on it ends at once."""
        while alive := self._processes():
            for pid in alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for process in self.begun:
            process.wait()
        with psycopg.connect(self.hub) as db:  # as after so much time without a renewal
            for table in ("run", "attempt"):
                db.execute(f"update trued.{table} set until = clock_timestamp() - interval '1 second'")

    def _processes(self) -> list[int]:
        """Processes whose environment or command line names this machine's state folder."""
        found, word = [], os.fsencode(self.home)
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                known = entry.name.isdigit() and entry.name != str(os.getpid())
                text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes() if known else b""
                if word in text and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.append(int(entry.name))
        return found

    def git(self, *words: str) -> str:
        """git on this machine's own copy of the run's work."""
        (own,) = (self.home / "stores").glob("*.git")
        done = subprocess.run(["git", f"--git-dir={own}", *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()


class Beginning(Machine):
    """The user's machine: it has the repository, and begins the run."""

    def __init__(self, world: World, hub: str, store: str) -> None:
        super().__init__(world.folder / "machine", hub, store)
        self.world = world
        self.home = world.home

    def begin(self, *more: str) -> subprocess.Popen[bytes]:
        given = ("--requirements", str(self.world.requirements), "--agent", f"scripted:{self.world.script}")
        # a goal that begins with a dash would be read as an option
        return self.start("run", "--yes", *given, *more, "--", self.world.goal, here=self.world.repository)

    def kill(self) -> None:
        """It dies, and nobody can reach its disk."""
        super().kill()
        self.world.repository.rename(self.world.folder / "repo.off")
        self.home.rename(self.world.folder / "home.off")

    def wake(self) -> None:
        """It is back, as it died."""
        (self.world.folder / "repo.off").rename(self.world.repository)
        (self.world.folder / "home.off").rename(self.home)


@dataclass
class SharedHub:
    """A hub with a store, and three workers, each on a machine of its own with a login of its own."""

    url: str
    store: str
    workers: dict[str, Machine] = field(default_factory=dict)
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    askers: list[Machine] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)

    def login(self) -> str:
        """The address, with a new worker's login."""
        name = f"worker_{uuid.uuid4().hex}"
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(f"create role {name} login password '{PASSWORD}' in role trued_worker")
        self.logins.append(name)
        return self.url.replace("//trued:", f"//{name}:")

    def start(self, folder: Path, variables: Mapping[str, str] | None = None, options: Sequence[str] = MAY) -> None:
        self.workers[folder.name] = machine = Machine(folder, self.login(), self.store)
        machine.variables.update(variables or {})
        self.processes[folder.name] = machine.start("worker", "--name", folder.name, *options)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("set search_path = trued")
            return db.execute(statement).fetchall()

    def driver(self) -> str:
        found = self.rows("select driver from run where until > clock_timestamp() and driver like '%#%'")
        return "".join(str(one).partition("#")[0] for (one,) in found)

    def said(self) -> str:
        return "\n".join((one.folder / "said").read_text() for one in self.workers.values())

    def close(self) -> None:
        for one in (*self.workers.values(), *self.askers):
            Machine.kill(one)
        with psycopg.connect(self.url, autocommit=True) as db:
            for name in self.logins:
                db.execute(f"drop role {name}")
