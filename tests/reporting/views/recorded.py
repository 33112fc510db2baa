"""Events of a pipeline and of a team as their workflows emit them, for tests of the terminal and the page."""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

from trued.model import Event

AGENT = "claude"
RESEARCH = ("architecture", "impact", "dependencies", "patterns")
STATES = {"passed": "done", "failed": "open"}  # QA's result → the task's state
CRITICS = ("security", "scalability", "maintainability", "strategy")


class Recorder:
    """Makes events with a clock that the test sets."""

    def __init__(self) -> None:
        self.at, self._ids, self._asks = 1_000.0, count(1), Counter[str]()

    def event(self, kind: str, key: str = "", after: float = 0.5, /, **data: Any) -> Event:
        self.at += after
        return Event(id=next(self._ids), at=self.at, key=key, kind=kind, data=data)

    def asked(self, key: str, role: str) -> Event:
        return self.event("asked", key, 0.2, role=role, agent=AGENT, chars=900)

    def answered(self, key: str, role: str, reply: dict[str, Any] | None = None, **more: Any) -> Event:
        used = {"in": 12_000, "out": 900, "cached": 0, "peak": 12_900, "estimated": False}
        data = {
            "role": role,
            "agent": AGENT,
            "state": "done",
            "reply": {"status": "DONE"} if reply is None else reply,
            "tokens": used,
        }
        told = {**data, "cost_usd": 0.04, "cost": "reported", "began": self.at - 3, "ended": self.at + 1.0, **more}
        return self.event("answered", key, 1.0, **told)

    def side_by_side(self, scope: str, *agents: tuple[str, str, str]) -> Iterator[Event]:
        """Events of agents that work at the same time. `agents`: name, role and result of each."""
        self._asks.update(f"{scope}/{name}" for name, *_ in agents)
        keys = {name: f"{scope}/{name}#{self._asks[f'{scope}/{name}']}" for name, *_ in agents}
        for name, role, _ in agents:
            yield self.asked(keys[name], role)
        for name, role, said in reversed(agents):
            if said:
                yield self.answered(keys[name], role, {"status": said})
            else:
                yield self.answered(keys[name], role, state="failed", reply={}, why="it gave no answer")


def pipeline() -> Iterator[Event]:
    """A pipeline: research without one reply, a revised design, two waves with a conflict, two rounds, an objection."""
    tape = Recorder()
    began = {"title": "Search by name", "workflow": "pipeline", "branch": "trued/r-pipes", "level": "landlock"}
    yield tape.event("run began", **began)
    yield tape.event("step", "set-up/step", step="set-up", agents=[], result="DONE", why=[])
    yield from _cluster(tape, "research", [(f"researcher-{one}", "researcher", "DONE") for one in RESEARCH[:3]])
    yield from _one(tape, "spec", "spec")
    yield from _one(tape, "design", "designer")
    said = ["NEEDS_REVISION", "DONE", "DONE", ""]
    critics = [(f"ct-{one}", f"ct-{one}", word) for one, word in zip(CRITICS, said, strict=True)]
    high = ["ct-security: NEEDS_REVISION, High"]
    yield from _cluster(tape, "critique", critics, "NEEDS_REVISION", high)
    yield from _one(tape, "design", "designer", 2)
    yield from _cluster(tape, "critique", [(f"ct-{one}", f"ct-{one}", "DONE") for one in CRITICS])
    yield from _one(tape, "plan", "planner")
    yield tape.event("contract sealed", "seal", requirements=5, held_out=True, why="")
    yield tape.event("step", "implementation/step", step="implementation", agents=[], result="")
    yield tape.event("wave", "implementation/wave", number=1, tasks=["T01", "T02"])
    for task in ("T01", "T02"):
        yield from tape.side_by_side(f"implementation/{task}", (f"implementer-{task}", "implementer", "DONE"))
    yield tape.event("merged", "implementation/join", part="implementation/T01", commit="a" * 40)
    yield tape.event("conflict", "implementation/join", part="implementation/T02", files=["shop/search.py"])
    yield from tape.side_by_side("implementation/T02", ("implementer-T02", "implementer", "DONE"))
    yield tape.event("merged", "implementation/join", part="implementation/T02", commit="b" * 40)
    yield tape.event("wave", "implementation/wave", number=2, tasks=["T03"])
    yield from tape.side_by_side("implementation/T03", ("implementer-T03", "implementer", "DONE"))
    yield tape.event("merged", "implementation/join", part="implementation/T03", commit="c" * 40)
    yield tape.event("step", "implementation/step", step="implementation", agents=[], result="DONE")
    failing = ["v-tests: NEEDS_REVISION, fail"]
    yield from _cluster(tape, "verification", _verifiers("NEEDS_REVISION"), "NEEDS_REVISION", failing)
    yield from _cluster(tape, "verification", _verifiers("DONE"))
    reviewers = [(f"r-{one}", f"r-{one}", "DONE") for one in ("quality", "security", "testing", "knowledge")]
    yield from _cluster(tape, "review", reviewers)
    yield tape.event("proven", "finish", grade="proven", holds=True, requirements=[{"id": "a", "grade": "proven"}])
    yield tape.event("ended", state="done", grade="proven", code=0)


def _verifiers(tests: str) -> list[tuple[str, str, str]]:
    rest = [(name, name, "DONE") for name in ("v-tasks", "v-feature")]
    return [("v-build", "v-build", "DONE"), ("v-tests", "v-tests", tests), *rest]


def _one(tape: Recorder, step: str, role: str, number: int = 1) -> Iterator[Event]:
    yield tape.event("step", f"{step}/step", step=step, agents=[role], result="")
    yield tape.asked(f"{step}/{role}#{number}", role)
    yield tape.answered(f"{step}/{role}#{number}", role)
    yield tape.event("step", f"{step}/step", step=step, agents=[role], result="DONE")


def _cluster(
    tape: Recorder, step: str, agents: list[tuple[str, str, str]], result: str = "DONE", why: list[str] | None = None
) -> Iterator[Event]:
    yield tape.event("step", f"{step}/step", step=step, agents=[name for name, *_ in agents], result="")
    yield from tape.side_by_side(step, *agents)
    yield tape.event("decided", f"{step}/decided", cluster=step, result=result, why=why or [])
    yield tape.event("step", f"{step}/step", step=step, agents=[name for name, *_ in agents], result=result, why=why)


def team(features: int = 2, tasks: int = 2) -> Iterator[Event]:
    """A team: QA rejects the second task of each feature once; the last feature's UAT fails once."""
    tape = Recorder()
    began = {"title": "A shop with search", "workflow": "team", "branch": "trued/r-team", "level": "landlock"}
    yield tape.event("run began", **began)
    yield from tape.side_by_side("plan", ("pm", "pm", "DONE"))
    names = [f"F{number}: Feature {number}" for number in range(1, features + 1)]
    counts = {"features": features, "features_done": 0, "tasks": features * tasks, "tasks_done": 0, "recoveries": 0}
    kind = {"project": "Python", "commands": {"build": "", "test": "uv run pytest", "start": ""}}
    yield tape.event("team", "team", kind="begun", found=names, **kind, **counts)
    for number in range(1, features + 1):
        feature = {"feature": f"F{number}", "feature_name": f"Feature {number}"}
        yield tape.event("team", f"feature F{number}/team", kind="feature", state="in_progress", **feature, **counts)
        yield from tape.side_by_side(f"feature F{number}", ("techlead", "techlead", "DONE"))
        for task in range(1, tasks + 1):
            again = task == 2
            yield from _task(tape, feature, f"F{number}-T{task}", counts, again=again)
            counts["tasks_done"] += 1
            counts["recoveries"] += again
        results = ["failed", "passed"] if number == features else ["passed"]
        for result in results:
            yield from tape.side_by_side(f"feature F{number}", ("uat", "uat", "DONE"))
            counts["features_done"] += result == "passed"
            yield tape.event("team", f"feature F{number}/team", kind="uat", uat=result, **feature, **counts)
        yield tape.event("team", f"feature F{number}/team", kind="feature", state="completed", **feature, **counts)
    yield tape.event("team", "team", kind="uat", uat="passed", **counts)
    yield tape.event("ended", state="not proven", grade="tested", code=1, why="nobody stands behind it")


def _task(
    tape: Recorder, feature: dict[str, str], task: str, counts: dict[str, int], *, again: bool
) -> Iterator[Event]:
    scope, named = f"feature {feature['feature']}/task {task}", {"task": task, "task_name": f"Do {task}"}
    for attempt, qa in enumerate(["failed", "passed"] if again else ["passed"], 1):
        now = {**feature, **named, "attempt": attempt, "attempts": 10}
        yield tape.event("team", f"{scope}/team", kind="attempt", **now, **counts)
        for role in ("dev", "qa"):
            yield tape.asked(f"{scope}/{role}#{attempt}", role)
            yield tape.answered(f"{scope}/{role}#{attempt}", role)
        yield tape.event("team", f"{scope}/team", kind="task", qa=qa, state=STATES[qa], **now, **counts)
