"""Shared by the tests of calls: a run's folders, agents of a few lines, and checks for processes that are left."""

import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from trued.agents.spool.call_folder import read_events
from trued.agents.spool.spool import Spool
from trued.support import processes
from trued.wire import Confinement, Order, ProcessLimits
from trued.workspace.sandbox.levels import level_state

SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
READ = "import json, os, sys, time\nfrom pathlib import Path\norder = json.load(sys.stdin)\n"
DONE = 'print(json.dumps({"summary": "done"}))\n'
# Waits for the test and not for a fixed time: on a busy machine, no time is long enough to find the agent at work.
GO = 'for _ in range(15_000):\n    if (folder / "go").exists():\n        break\n    time.sleep(0.02)\n'
LEVELS = ("bubblewrap", "none")  # landlock starts programs as none does


@dataclass
class World:
    """One run in a temporary folder."""

    top: Path
    level: str = "none"
    told: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    _agents: int = 0

    def __post_init__(self) -> None:
        if not level_state(self.level).works:  # not at collection: every worker must collect the same tests
            pytest.skip(level_state(self.level).why)
        for name in ("clone", "home"):
            (self.top / name).mkdir(parents=True)

    @property
    def spool(self) -> Path:
        return self.top / "runs" / "r1" / "spool"

    @property
    def clone(self) -> Path:
        return self.top / "clone"

    def program(self, body: str) -> str:
        """A `command:` agent with these lines of Python, which have read the order as `order`."""
        return f"command:{sys.executable} {self._file(READ + textwrap.dedent(body))}"

    def script(self, body: str) -> str:
        """A `scripted:` agent with these lines as the body of the role's function."""
        lines = textwrap.indent(textwrap.dedent(body), "    ")
        return f"scripted:{self._file(f'import os, sys, time{chr(10)}def builder(order, folder):{chr(10)}{lines}')}"

    def _file(self, text: str) -> Path:
        self._agents += 1
        file = self.top / f"agent{self._agents}.py"
        file.write_text(text)
        return file

    def order(self, agent: str, call: str = "one", **changes: Any) -> Order:
        given: dict[str, Any] = {
            "run": "r1",
            "key": f"chunk 1A/builder {call}",
            "call": call,
            "attempt": 1,
            "role": "builder",
            "agent": agent,
            "brief": "Build it.",
            "schema": SCHEMA,
            "session": f"session-{call}",
            "resume": False,
            "folder": str(self.clone),
            "home": str(self.top / "home"),
            "limits": ProcessLimits(idle_s=300, wall_s=300),
            "confinement": Confinement(level=self.level),
        }
        return Order(**(given | changes))

    def go(self) -> None:
        """Let the agents that wait for the test continue."""
        (self.clone / "go").touch()

    def runtime(self, **options: Any) -> Spool:
        return Spool(self.spool, **options)

    def tell(self, kind: str, **data: object) -> None:
        self.told.append((kind, data))

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.told]

    def folder(self, call: str = "one", attempt: int = 1) -> Path:
        return self.spool / f"{call}.{attempt}"

    def events(self, call: str = "one") -> list[dict[str, Any]]:
        return list(read_events(self.folder(call)))

    def supervisor(self, call: str = "one") -> int:
        return processes.pid_of((self.folder(call) / "lock").read_text())

    def left(self) -> set[int]:
        """The processes that still carry a marker of this run."""
        folders = self.spool.iterdir() if self.spool.is_dir() else ()
        return {pid for folder in folders for pid in processes.carriers(processes.marker(folder))}

    def files(self) -> str:
        """The content of all files in the spool."""
        return "\n".join(
            file.read_bytes().decode("utf-8", "replace") for file in self.spool.rglob("*") if file.is_file()
        )

    def engine(self, *orders: Order, **options: Any) -> "subprocess.Popen[str]":
        """An engine in a separate process: it works on these orders and prints each event as a line."""
        given = json.dumps(
            {"orders": [asdict(order) for order in orders], "spool": str(self.spool), "options": options}
        )
        program = str(Path(__file__).with_name("engine_process.py"))
        return subprocess.Popen([sys.executable, program, given], stdout=subprocess.PIPE, text=True)


def wait_for(found: Callable[[], object], what: str, within_s: float = 120.0) -> None:
    deadline = time.monotonic() + within_s
    while not found():
        assert time.monotonic() < deadline, f"{what} did not happen within {within_s} s"
        time.sleep(0.02)


def running(token: str) -> list[int]:
    """The processes with this token in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        if any(token in word for word in processes.command_line(pid)) and processes.identity(pid):
            found.append(pid)
    return found
