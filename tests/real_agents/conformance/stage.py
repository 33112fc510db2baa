"""One real agent, the scripted model, and everything between them as it is in a run: spool, supervisor, sandbox."""

import json
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.agents.supervisor.world import World, wait_for
from tests.real_agents.conformance.rows import KEY, Row
from tests.real_agents.model import Answer, Cast, Fault, ModelServer, Run, Script, Step, Write
from trued.agents.adapters import capabilities_of
from trued.agents.spool.spool import Spool
from trued.protocols import AgentCommit
from trued.wire import Capabilities, Confinement, Order, ProcessLimits, Report
from trued.workspace.git.repository import open_repository
from trued.workspace.git.workspace import GitWorkspace

SECRET = "a-secret-of-the-user-that-no-agent-needs"
DONE = Answer({"summary": "done"})
WORK = (Write("made.txt", "made by an agent\n"), Run("cat made.txt > copied.txt"), DONE)
BAD = Answer({"summary": 7})
MADE = Write("made.txt", "made\n")
LONG = Run("echo begun > begun.txt; sleep 300; echo never > never.txt")
AGAIN = "breaks the contract of your role"  # what a re-ask says
INTERRUPTED = "You were interrupted"  # what an agent is told that goes on after a death


@dataclass
class Stage:
    """A world with a row of the suite in it. Every call leaves no process, and the planted secret is nowhere."""

    row: Row
    world: World
    model: ModelServer
    sessions: dict[str, str] = field(default_factory=dict)

    @property
    def can(self) -> Capabilities:
        return capabilities_of(self.row.agent)

    def plays(self, *steps: Step, faults: tuple[Fault, ...] = (), **parts: tuple[Step, ...]) -> None:
        """What the model does; a part with a name is for whom hears that marker."""
        self.model.script = Cast(
            {marker: self._script(part) for marker, part in _markers(parts).items()}, self._script(steps, faults)
        )

    def _script(self, steps: tuple[Step, ...], faults: tuple[Fault, ...] = ()) -> Script:
        return Script(steps, self.world.clone if self.row.absolute else None, list(faults))

    def order(self, call: str = "one", **changes: Any) -> Order:
        session = self.sessions.setdefault(changes.pop("session", call), str(uuid.uuid4()))
        given: dict[str, Any] = {
            "session": session,
            "tools": ("read", "edit", "execute"),
            "limits": ProcessLimits(idle_s=60, wall_s=180),
            "confinement": Confinement(level=self.world.level, network="host"),
        }
        return self.world.order(self.row.agent, call, **(given | changes))

    def runtime(self) -> Spool:
        return self.world.runtime(secrets={"planted": SECRET}, variables=self.variables)

    def variables(self, _: str = "") -> Mapping[str, str]:
        return self.row.variables(self.model.url)

    async def works(self, call: str = "one", **changes: Any) -> Report:
        return await self.works_on(self.order(call, **changes))

    async def works_on(self, order: Order) -> Report:
        report = await self.runtime().work(order, self.world.tell)
        assert not self.world.left()
        return report

    def engine(self, order: Order) -> "subprocess.Popen[str]":
        """An engine in a process of its own, to be killed."""
        given = {"orders": [asdict(order)], "spool": str(self.world.spool), "variables": dict(self.variables())}
        program = str(Path(__file__).with_name("engine_process.py"))
        process = subprocess.Popen([sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        process.stdin.write(json.dumps(given))  # a command line could be read by everybody
        process.stdin.close()
        return process

    def asked(self, times: int = 1) -> None:
        """Until the model was asked so often."""
        wait_for(lambda: len([one for one in self.model.seen if one.turn.tools]) >= times, "a request", 240)

    def wrote(self, name: str) -> None:
        wait_for((self.world.clone / name).exists, f"{name} in the clone", 240)

    def is_done(self, report: Report) -> None:
        """After whatever happened on the way."""
        assert (report.state, report.reply) == ("done", {"summary": "done"}), report.why
        assert (self.world.clone / "made.txt").read_text() == "made\n"
        assert not (self.world.clone / "never.txt").exists()
        self.nothing_is_told()

    def nothing_is_told(self) -> None:
        """Neither the planted secret nor the key is anywhere; the key goes to its provider, in a header, alone."""
        assert SECRET not in self.model.text
        assert KEY not in json.dumps([one.body for one in self.model.seen])
        written = self.world.files()
        assert SECRET not in written
        assert KEY not in written
        for folder in (self.world.clone, self.world.top / "home"):
            for file in folder.rglob("*"):
                if file.is_file() and not file.is_symlink():
                    found = file.read_bytes()
                    assert SECRET.encode() not in found, file
                    assert KEY.encode() not in found, file


def repository(folder: Path) -> Path:
    """A user's, with one commit."""
    folder.mkdir()
    (folder / "README.md").write_text("A project.\n")
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    return folder


async def committed(stage: Stage, folder: Path) -> tuple[Report, AgentCommit]:
    """The agent works in a clone of a user's repository, and what it leaves there is taken as a commit."""
    found = open_repository(repository(folder / "repository"))
    sight = Confinement(level=stage.world.level, network="host")
    workspace = GitWorkspace(found.root, folder / "state", "r1", "trued/r1", found.head, sight)
    await workspace.begin()
    clone, home = await workspace.clone("builder", found.head, token="one")
    if stage.row.absolute:
        stage.model.script = Script(WORK, clone)
    report = await stage.works(folder=str(clone), home=str(home), confinement=workspace.confinement())
    return report, await workspace.commit_clone("builder", found.head, author="builder", message="made", when=1.0)


def _markers(parts: Mapping[str, tuple[Step, ...]]) -> dict[str, tuple[Step, ...]]:
    names = {"again": AGAIN, "interrupted": INTERRUPTED}
    return {names.get(name, name): steps for name, steps in parts.items()}
