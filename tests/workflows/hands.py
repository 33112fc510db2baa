"""A handoff on real git with scripted agents inside this process: features such as `double`, and coders of all
kinds."""

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.workflows.conftest import Ground, events, example
from trued.agents.adapters.scripted import ScriptedRuntime
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.model import Grade, RunRecord
from trued.wire import EmitAgentEvent, Order, Report
from trued.workflows.handoff.feature_list import FeatureList, parse_feature_list

TIMES = {"double": (2, "twice"), "triple": (3, "three times"), "fourfold": (4, "four times")}
Act = Callable[[Path], dict[str, Any] | None]


def feature(name: str, **more: Any) -> dict[str, Any]:
    factor, words = TIMES[name]
    steps = [f"{name}(2) is {2 * factor}"]
    return {"id": name, "description": f"{name}(x) returns {words} its argument", "steps": steps, **more}


def shown_by_tests(name: str, **more: Any) -> dict[str, Any]:
    return feature(name, test_command=f"python -m pytest -q tests/test_{name}.py", **more)


def required(names: Iterable[str]) -> list[dict[str, Any]]:
    """The user's own held-out cases, as one requirement for each feature."""
    found = []
    for name in names:
        cases = [example(name, one, TIMES[name][0] * one) for one in (7, 5)]
        checks = [{"kind": "examples", "cases": cases}]
        found.append({"id": f"is-{name}", "text": f"{name} multiplies", "covers": [name], "checks": checks})
    return found


def built(folder: Path, *names: str) -> None:
    """Write the code of these features, and a test for each."""
    code = folder / "tiny.py"
    text = code.read_text() if code.exists() else ""
    (folder / "tests").mkdir(exist_ok=True)
    for name in names:
        factor = TIMES[name][0]
        if f"def {name}(" not in text:
            text += f"def {name}(x):\n    return {factor} * x\n\n"
        test = f"from tiny import {name}\n\n\ndef test_it():\n    assert {name}(2) == {2 * factor}\n"
        (folder / "tests" / f"test_{name}.py").write_text(test)
    code.write_text(text)


def coded(name: str, **more: Any) -> dict[str, Any]:
    said = {"passes": True, "implemented": [name], "files": ["tiny.py"], "tests": [f"tests/test_{name}.py"]}
    return {**said, "tests_passing": 1, "tests_total": 1, **more}


def feature_of(order: Order) -> str:
    return order.key.partition("/")[0].removeprefix("feature ")


class Coders(ScriptedRuntime):
    """Honest coders, except that the first coders of a feature run its `acts`, one each.

    An act gets the clone. Its result is the reply. If it is None, the coder then builds the feature honestly.
    """

    def __init__(self, **acts: list[Act]) -> None:
        super().__init__(self._played)
        self.acts = acts
        self.commands: dict[str, tuple[str, ...]] = {}  # key → commands that the agent reports
        self.roles: dict[str, Callable[[Order], dict[str, Any]]] = {}

    def _played(self, order: Order) -> dict[str, Any]:
        if order.role in self.roles:
            return self.roles[order.role](order)
        name, folder = feature_of(order), Path(order.folder)
        acts = self.acts.get(name, [])
        if acts:  # each attempt changes something, so that the run does not stall
            (folder / "tried.txt").write_text(order.key)
        said = acts.pop(0)(folder) if acts else None
        if said is None:
            built(folder, name)
        return coded(name) if said is None else {**coded(name), **said}

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        report = await super().work(order, emit)
        return replace(report, commands=self.commands.get(order.key, ()))

    @property
    def asked(self) -> list[str]:
        return [one.key for one in self.orders]


class Hands(Ground):
    """A repository with a feature list, and a requirements file of the user."""

    def __init__(self, folder: Path, stack: ExitStack, features: list[dict[str, Any]]) -> None:
        super().__init__(folder, stack)
        self.listed(features)
        self.require(required(one["id"] for one in features if one["id"] in TIMES))

    def listed(self, features: list[dict[str, Any]]) -> None:
        (self.folder / "features.json").write_text(json.dumps({"features": features}, indent=1))

    def played(self, coders: ScriptedRuntime, **more: Any) -> Engine:
        engine, _ = self.engine(**more)
        engine.runtime = coders
        return engine

    async def handed(
        self, engine: Engine, goal: str = "../features.json", *, branch: str = "", required: bool = True, **flags: Any
    ) -> RunRecord:
        return await engine.start(
            Request(
                goal=str(self.repository / goal),
                repository=self.repository,
                requirements=self.requirements if required else None,
                workflow="handoff",
                flags={"yes": True, "agents": {"*": "scripted:inside"}, **flags},
                branch=branch,
            )
        )

    def features(self, at: str) -> FeatureList:
        return parse_feature_list(self.git("show", f"{at}:feature_list.json"))

    def passing(self, at: str) -> list[str]:
        return [one.id for one in self.features(at).features if one.passes]

    def untrue(self, engine: Engine, record: RunRecord) -> list[str]:
        """Commits of the branch with a feature list that marks more as passed than verdicts on earlier commits show."""
        wrong, shown = list[str](), list[tuple[str, set[str]]]()
        verdicts = [*engine.store.task_verdicts(record.id), *filter(None, [engine.store.verdict(record.id)])]
        for verdict in verdicts:
            judged = [one for one in (*verdict.requirements, *verdict.beside) if one.grade.rank >= Grade.ATTESTED.rank]
            shown.append((verdict.commit, {one.id.removeprefix("is-") for one in judged}))
        commits = self.git("rev-list", "--reverse", "--first-parent", f"{record.base}..{record.branch}").split()
        proven, at = set[str](), {commit: names for commit, names in shown}
        for commit in commits:
            wrong += [f"{commit} {name}" for name in self.passing(commit) if name not in proven]
            proven |= at.get(commit, set())
        return wrong


def named(engine: Engine, record: RunRecord, kind: str) -> list[str]:
    """The evidence in all recorded events of this failure mode."""
    return [str(one.data["evidence"]) for one in events(engine, record, kind)]
