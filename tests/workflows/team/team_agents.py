"""A team on real git with scripted agents inside this process: functions such as `double`, and members of all kinds."""

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

from tests.workflows.conftest import Ground, events, example
from trued.agents.adapters.scripted import ScriptedRuntime
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.model import RunRecord
from trued.wire import Order
from trued.workflows.team.backlog.items import Backlog
from trued.workflows.team.backlog.reading import parse_backlog

TIMES = {"double": (2, "twice"), "triple": (3, "three times"), "fourfold": (4, "four times")}
GOAL = "double(x) returns twice its argument. triple(x) returns three times its argument."
Act: TypeAlias = Callable[[Order], dict[str, Any]]
FOLDER = ".trued/team"


def planned(name: str, *tasks: str, **more: Any) -> dict[str, Any]:
    """One feature in the PM's reply. Each task has the name of the function that it builds."""
    listed = [{"title": f"write {one}", "name": one} for one in tasks or (name,)]
    criteria = [f"{name}(x) returns {TIMES[name][1]} its argument"]
    return {"name": name, "criteria": criteria, "stories": [{"name": f"{name} numbers", "tasks": listed}], **more}


def required(names: Iterable[str], goal: str = "goal") -> list[dict[str, Any]]:
    """The user's own held-out cases, as one requirement for each function."""
    found = []
    for name in names:
        cases = [example(name, one, TIMES[name][0] * one) for one in (7, 5)]
        checks = [{"kind": "examples", "cases": cases}]
        found.append({"id": f"is-{name}", "text": f"{name} multiplies", "covers": [goal], "checks": checks})
    return found


def wrote(folder: str, name: str, factor: int | None = None) -> None:
    code = Path(folder) / "tiny.py"
    text = code.read_text() if code.exists() else ""
    parts = [one for one in text.split("def ") if one.strip() and not one.startswith(f"{name}(")]
    parts.append(f"{name}(x):\n    return {factor if factor is not None else TIMES[name][0]} * x\n\n")
    code.write_text("".join(f"def {one}" for one in parts))


KNOWN: dict[tuple[str, str], str] = {}  # run and scope → the function to build: later briefs do not name it


def task_of(order: Order) -> str:
    """The function that a task asks for: `double` for "write double"."""
    words, place = order.brief.partition("# Feature")[0], (order.run, order.key.rpartition("/")[0])
    name = next((one for one in TIMES if f"write {one}" in words), "")
    return KNOWN.setdefault(place, name) if name else KNOWN.get(place, "")


class Members(ScriptedRuntime):
    """An honest crew. `play(role, act, …)` makes a role do these acts in order; the last one is repeated."""

    def __init__(self, *features: dict[str, Any]) -> None:
        super().__init__(self._played)
        self.features = list(features) or [planned("double"), planned("triple")]
        self.acts: dict[str, list[Act]] = {}

    def play(self, role: str, *acts: Act) -> "Members":
        self.acts[role] = list(acts)
        return self

    def _played(self, order: Order) -> dict[str, Any]:
        acts = self.acts.get(order.role, [])
        task_of(order)
        if acts:
            return (acts.pop(0) if len(acts) > 1 else acts[0])(order)
        return dict(getattr(self, order.role)(order))

    def pm(self, order: Order) -> dict[str, Any]:
        wanted = order.schema["title"]
        if wanted == "Breakdown":
            return {"features": self.features, "decisions": ["one function a feature"]}
        if wanted == "Fixes":
            return {"tasks": [{"title": "write double again, and well"}]}
        return {"answer": "as the goal says", "decisions": ["the goal's words stand"]}

    def techlead(self, order: Order) -> dict[str, Any]:
        if order.schema["title"] == "Clarified":
            return {"answer": "in tiny.py", "decisions": ["all in one module"]}
        return {"spec": "A function in tiny.py.", "decisions": ["plain functions: nothing else is needed"]}

    def dev(self, order: Order) -> dict[str, Any]:
        name = task_of(order)
        if name:
            wrote(order.folder, name)
        return {"summary": f"wrote {name}", "implemented": [name], "files": ["tiny.py"]}

    def qa(self, _: Order) -> dict[str, Any]:
        return {"result": "PASS", "tried": ["python -c 'import tiny'"]}

    def uat(self, _: Order) -> dict[str, Any]:
        return {"decision": "passed", "tried": ["called it as a user would"]}

    def examiner(self, _: Order) -> dict[str, Any]:
        return {"cases": []}

    @property
    def asked(self) -> list[str]:
        return [one.key for one in self.orders]


class Teams(Ground):
    """A repository with an empty module, a goal in words, and a requirements file of the user."""

    def __init__(self, folder: Path, stack: ExitStack, names: Iterable[str] = ("double", "triple")) -> None:
        super().__init__(folder, stack)
        self.require(required(names))

    def played(self, members: ScriptedRuntime, **more: Any) -> Engine:
        engine, _ = self.engine(**more)
        engine.runtime = members
        return engine

    async def teamed(
        self,
        engine: Engine,
        goal: str = GOAL,
        *,
        required: bool = True,
        team: dict[str, Any] | None = None,
        **flags: Any,
    ) -> RunRecord:
        more = {"team": team} if team else {}
        return await engine.start(
            Request(
                goal=goal,
                repository=self.repository,
                requirements=self.requirements if required else None,
                workflow="team",
                flags={"yes": True, "agents": {"*": "scripted:inside"}, **more, **flags},
            )
        )

    def page(self, at: RunRecord | str, name: str) -> str:
        return self.git("show", f"{at if isinstance(at, str) else at.branch}:{FOLDER}/{name}")

    def backlog(self, at: RunRecord | str) -> Backlog:
        return parse_backlog(self.page(at, "backlog.md"))

    def states(self, at: RunRecord | str) -> dict[str, str]:
        return {one.id: f"{one.state} {one.attempts}/{one.limit}" for one in self.backlog(at).tasks}


def ends(engine: Engine, record: RunRecord) -> list[dict[str, Any]]:
    """The team's final reports."""
    return [dict(one.data) for one in events(engine, record, "team") if one.data["kind"] == "finished"]


def told(engine: Engine, record: RunRecord, kind: str) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(one.data)) for one in events(engine, record, "team") if one.data["kind"] == kind]
