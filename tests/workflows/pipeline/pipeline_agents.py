"""A whole crew for a pipeline on a tiny project. All agents are honest, except those that a test replaces."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.workflows.conftest import Ground, events, example
from trued.agents.adapters.scripted import ScriptedRuntime, ScriptFailed
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.errors import Interrupted
from trued.model import RunRecord
from trued.wire import Order
from trued.workflows.pipeline.feature_folder import artifact_of

SENTENCES = ("double(x) returns twice its argument", "triple(x) returns three times its argument")
GOAL = "".join(f"- {one}\n" for one in SENTENCES)
FACTORS = {"double": 2, "triple": 3}
CRITERIA = [
    {"id": f"AC-{name}", "text": f"{name}(x) multiplies its argument by {factor}"} for name, factor in FACTORS.items()
]
SLUG = "double-x-returns-twice-its-argument"
ROOT = f"docs/feature/{SLUG}/"

Act = Callable[[Order], dict[str, Any]]


def required() -> list[dict[str, Any]]:
    """The user's own held-out cases for both sentences, in one check."""
    cases = [example(name, one, factor * one) for name, factor in FACTORS.items() for one in (7, 5)]
    return [{"id": "both", "text": GOAL, "covers": ["goal"], "checks": [{"kind": "examples", "cases": cases}]}]


def agent_of(order: Order) -> str:
    """The agent that gets an order: `implementer-T01` for the key `wave 1 T01/implementer-T01#2`."""
    return order.key.rpartition("/")[2].partition("#")[0]


def folder_of(order: Order) -> Path:
    """The feature's folder in the agent's clone."""
    folders = (Path(order.folder) / "docs" / "feature").iterdir()
    return next(one for one in folders if (one / "initial-request.md").exists())


def leaves(order: Order, text: str = "") -> None:
    """Write the agent's own document."""
    path = folder_of(order) / artifact_of(agent_of(order))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f"# {agent_of(order)}\n\nAll that there is to say.\n")


def task(name: str, function: str, **more: Any) -> dict[str, Any]:
    brief = {
        "title": f"write {function}",
        "brief": f"{function} goes into {function}s.py",
        "files": [f"{function}s.py"],
    }
    return {"id": name, **brief, "criteria": [f"AC-{function}"], **more}


TASKS = [task("T01", "double"), task("T02", "triple", depends_on=["T01"])]
FUNCTIONS = {"T01": "double", "T02": "triple"}


def builds(order: Order, factor: int | None = None) -> dict[str, Any]:
    """Write the function of the agent's task, where the cases look for it."""
    function = FUNCTIONS[agent_of(order).rpartition("-")[2]]
    code = Path(order.folder) / "tiny.py"
    code.write_text(f"from {function}s import {function}\n{code.read_text()}".replace("\n\n", "\n"))
    body = f"def {function}(x):\n    return {FACTORS[function] if factor is None else factor} * x\n"
    (Path(order.folder) / f"{function}s.py").write_text(body)
    return {"key_findings": [f"{function} is there"], "files": ["tiny.py", f"{function}s.py"]}


def crashes(_: Order) -> dict[str, Any]:
    raise ScriptFailed("it fell over")


class Crew(ScriptedRuntime):
    """Scripted agents, by instance or role. A list of acts is played turn by turn; after it, the agent is honest."""

    def __init__(self, **acts: Any) -> None:
        super().__init__(self._played)
        self.acts: dict[str, Any] = {name.replace("_", "-"): act for name, act in acts.items()}

    def _played(self, order: Order) -> Any:
        for name in (agent_of(order), order.role):
            act = self.acts.get(name)
            if isinstance(act, list):
                act = act.pop(0) if act else None
            if act is not None:
                return act if isinstance(act, dict) else act(order)
        return honest(order)

    @property
    def asked(self) -> list[str]:
        return [agent_of(one) for one in self.orders]

    def briefs(self, agent: str) -> list[str]:
        return [one.brief for one in self.orders if agent_of(one) == agent]


def honest(order: Order) -> dict[str, Any]:
    agent = agent_of(order)
    if order.role in ("implementer", "documentation-writer"):
        return builds(order)
    if order.role == "examiner":
        return examined(order)
    if artifact_of(agent):
        leaves(order)
    more = {"spec": {"criteria": CRITERIA}, "planner": {"tasks": TASKS}}.get(agent, {})
    severity = {"v": "pass"}.get(agent.partition("-")[0], "")
    return {"key_findings": [f"{agent} has looked"], "severity": severity, **more}


def examined(_: Order) -> dict[str, Any]:
    """An examiner with cases for every sentence and every criterion."""
    cases = []
    for number, (name, factor) in enumerate(FACTORS.items()):
        quotes = {f"text-{number + 1}": SENTENCES[number], f"AC-{name}": CRITERIA[number]["text"]}
        for requirement, quote in quotes.items():
            for one in (7, 9):
                case = {"call": f"tiny:{name}", "args": [one], "returns": factor * one, "quotes": quote}
                cases.append({"requirement": requirement, "cases": [case]})
    return {"cases": cases, "interface": ["tiny:double(x)", "tiny:triple(x)"]}


class Line(Ground):
    """A repository with an empty module, and a requirements file of the user."""

    def __init__(self, folder: Path, stack: ExitStack, *, fresh: bool = True) -> None:
        if fresh:
            super().__init__(folder, stack)
            self.require(required())
            return
        self.folder, self.stack = folder, stack
        self.repository, self.home, self.requirements = folder / "repo", folder / "home", folder / "requirements.json"

    def played(self, crew: ScriptedRuntime, **more: Any) -> Engine:
        engine, _ = self.engine(**more)
        engine.runtime = crew
        return engine

    async def piped(self, engine: Engine, goal: str = GOAL, *, required: bool = True, **flags: Any) -> RunRecord:
        return await engine.start(
            Request(
                goal=goal,
                repository=self.repository,
                requirements=self.requirements if required else None,
                workflow="pipeline",
                flags={"yes": True, "agents": {"*": "scripted:inside"}, **flags},
            )
        )

    def files(self, record: RunRecord) -> set[str]:
        """The files in the feature's folder on the run's branch."""
        names = self.git("ls-tree", "-r", "--name-only", record.branch, ROOT).split()
        return {name.removeprefix(ROOT) for name in names}

    def document(self, record: RunRecord, name: str) -> str:
        return self.file(record, f"{ROOT}{name}")


def decided(engine: Engine, record: RunRecord) -> list[tuple[str, str]]:
    return [(str(one.data["cluster"]), str(one.data["result"])) for one in events(engine, record, "decided")]


# -- many ways to go on from one point ---------------------------------------------------------------------------------


def halts(_: Order) -> dict[str, Any]:
    raise Interrupted("it was stopped here")


class Halt:
    """A run that was interrupted while an agent worked. It is kept, so that several tests can resume it."""

    def __init__(self, folder: Path) -> None:
        self.place, self.kept, self.id = folder / "place", folder / "kept", ""

    async def reached(self, agent: str, crew: Crew, act: Any = halts) -> "Halt":
        self.place.mkdir(parents=True)
        with ExitStack() as stack:
            line = Line(self.place, stack)
            crew.acts[agent] = act
            record = await line.piped(line.played(crew))
            assert (record.state, record.code) == ("interrupted", 130), record.why
            self.id = record.id
        shutil.copytree(self.place, self.kept, symlinks=True)
        return self

    @asynccontextmanager
    async def gone_on(self, crew: Crew) -> AsyncIterator[tuple[Line, Engine, RunRecord]]:
        """Resume a copy of the kept run with this crew."""
        shutil.rmtree(self.place)
        shutil.copytree(self.kept, self.place, symlinks=True)
        with ExitStack() as stack:
            line = Line(self.place, stack, fresh=False)
            engine = line.played(crew)
            yield line, engine, await engine.resume(self.id)
