"""A pipeline as people see it: its steps and who works in them, waves, merges, decisions and their reasons."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from trued.model import Event

if TYPE_CHECKING:
    from trued.reporting.views.progress import Progress
    from trued.reporting.views.rows import Call

WORKFLOW = "pipeline"
STEPS = {  # in the order of work, each with its number
    "set-up": "0",
    "research": "1",
    "spec": "2",
    "design": "3",
    "critique": "3b",
    "plan": "4",
    "implementation": "5",
    "verification": "6",
    "review": "7",
}
ROLES = {  # who works in which step: what is told late is known from whoever is asked
    "researcher": "research",
    "spec": "spec",
    "designer": "design",
    "planner": "plan",
    "implementer": "implementation",
    "documentation-writer": "implementation",
}
CLUSTERS = {"ct-": "critique", "v-": "verification", "r-": "review"}
DONE = "DONE"
APART = ("seal", "finish", "")  # what is of no step
ORDINALS = {2: "second", 3: "third", 4: "fourth"}
NAMED = 6  # tasks of a wave, files of a conflict: more are counted
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of eight, however often the run came back to it."""

    name: str
    number: str = ""
    state: str = ""  # "" not yet | running | ended
    result: str = ""  # DONE | NEEDS_REVISION | ERROR
    why: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    times: int = 0  # begun


@dataclass(slots=True)
class Stages:
    """All steps, and what the waves of implementers came to."""

    all: dict[str, Stage] = field(default_factory=lambda: {name: Stage(name, number) for name, number in STEPS.items()})
    current: str = ""
    wave: int = 0
    tasks: dict[str, str] = field(default_factory=dict)  # task → open | merged
    conflicts: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # part, files
    decisions: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)  # cluster, result, why

    @property
    def seen(self) -> bool:
        return any(one.times or one.result for one in list(self.all.values()))

    @property
    def rounds(self) -> int:
        """Of verification."""
        return sum(cluster == "verification" for cluster, *_ in list(self.decisions))

    @property
    def revisions(self) -> int:
        revised = [cluster for cluster, result, _ in list(self.decisions) if result == "NEEDS_REVISION"]
        return sum(cluster in ("critique", "review") for cluster in revised)

    @property
    def merged(self) -> int:
        return sum(state == "merged" for state in list(self.tasks.values()))

    def place(self, key: str) -> str:
        """The part of the tree for what has no other: the step that is at work, and which time it is."""
        if not self.current or key.partition("#")[0] in APART:
            return ""
        times = self.all[self.current].times
        return self.current if times < 2 else f"{self.current}, {ORDINALS.get(times, f'{times}th')} time"

    def begin(self, name: str) -> None:
        """Whatever was at work before has ended: steps follow each other."""
        stage = self.all.get(name, Stage(name))
        if name == self.current and stage.state == "running":
            return
        self.end()
        self.all[name] = replace(stage, state="running", result="", why=(), times=stage.times + 1)
        self.current = name

    def end(self, name: str = "", result: str = "", why: tuple[str, ...] = ()) -> None:
        stage = self.all.get(name or self.current)
        if stage and (stage.state == "running" or result):
            said = result or stage.result or DONE
            self.all[stage.name] = replace(
                stage, state="ended", result=said, why=why or stage.why, times=max(1, stage.times)
            )


def stages_of(stages: Stages, calls: Iterable["Call"]) -> dict[str, Any]:
    """`show --json`."""
    calls = list(calls)
    return {
        "steps": [
            {
                "step": one.name,
                "number": one.number,
                "state": one.state or "open",
                "result": one.result,
                "why": list(one.why),
                "times": one.times,
                "agents": agents(one, calls),
            }
            for one in stages.all.values()
        ],
        "waves": stages.wave,
        "tasks": len(stages.tasks),
        "merged": stages.merged,
        "conflicts": [{"part": part, "files": list(files)} for part, files in stages.conflicts],
        "decisions": [
            {"cluster": cluster, "result": result, "why": list(why)} for cluster, result, why in stages.decisions
        ],
        "rounds": stages.rounds,
        "revisions": stages.revisions,
    }


def agents(stage: Stage, calls: Iterable["Call"]) -> list[dict[str, Any]]:
    """Who worked in a step: how their last call stands, what they said, and how often they were asked."""
    own: dict[str, list[Call]] = {name: [] for name in stage.agents}
    for call in calls:
        name = instance(call.key)
        if name in own or step_of(call.role) == stage.name:
            own.setdefault(name, []).append(call)
    return [
        {
            "name": name,
            "state": theirs[-1].state if theirs else "missing" if stage.state == "ended" else "open",
            "claim": theirs[-1].claim if theirs else "",
            "calls": len(theirs),
        }
        for name, theirs in own.items()
    ]


def instance(key: str) -> str:
    """`researcher-impact` of `research/researcher-impact#2`."""
    return key.rpartition("/")[2].partition("#")[0]


def step_of(role: str) -> str:
    return ROLES.get(role) or next((step for start, step in CLUSTERS.items() if role.startswith(start)), "")


def waved(stages: Stages) -> str:
    """Waves, merges, rounds and revisions in a few words; "" before the first."""
    tasks = len(stages.tasks)
    conflicts, turn = len(stages.conflicts), stages.all["verification"].times
    parts = [
        f"wave {stages.wave}, {stages.merged}/{tasks} tasks merged" if stages.wave else "",
        f"{conflicts} conflict{'' if conflicts == 1 else 's'}" if conflicts else "",
        f"verification round {turn}{f'/{ROUNDS}' if turn <= ROUNDS else ''}" if turn else "",
        f"{stages.revisions} revision{'' if stages.revisions == 1 else 's'}" if stages.revisions else "",
    ]
    return " · ".join(part for part in parts if part)


def told_stage(data: Mapping[str, Any]) -> str:
    """One event of a step as words."""
    names, result = _names(data.get("agents")), str(data.get("result") or "")
    why = _words(data.get("why"))
    who = f" ({few(names)})" if names and not result else ""
    return f"{named(data.get('step'))} {result or 'begins'}{who}{f': {few(why)}' if why else ''}"


# -- events -----------------------------------------------------------------------------------------------------------


def asked(seen: "Progress", event: Event) -> None:
    """An agent of a step is asked: that step is at work, whether or not anybody has said so."""
    if seen.workflow == WORKFLOW and (step := step_of(str(event.data.get("role", "")))):
        seen.stages.begin(step)
        name, stage = instance(event.key), seen.stages.all[step]
        if name not in stage.agents:
            seen.stages.all[step] = replace(stage, agents=(*stage.agents, name))


def _step(seen: "Progress", event: Event) -> None:
    data, stages = event.data, seen.stages
    name = named(data.get("step"))
    names = tuple(dict.fromkeys(_names(data.get("agents"))))
    result = str(data.get("result") or "")
    if not name:
        return
    if result:
        stages.end(name, result, _words(data.get("why")))
    else:
        stages.begin(name)
    if name in stages.all and names:
        known = stages.all[name].agents
        stages.all[name] = replace(stages.all[name], agents=tuple(dict.fromkeys((*known, *names))))


def _wave(seen: "Progress", event: Event) -> None:
    tasks = _names(event.data.get("tasks"))
    seen.stages.begin("implementation")
    seen.stages.wave = max(seen.stages.wave, int(event.data.get("number") or seen.stages.wave + 1))
    for task in tasks:
        seen.stages.tasks[task] = "open"
    seen.remark(event, f"wave {seen.stages.wave}: {few(tasks)}")


def _merged(seen: "Progress", event: Event) -> None:
    """Plain merges are counted only; one that had to be fought for is told."""
    part = str(event.data.get("part", ""))
    task = _task(seen.stages, part)
    if task:
        seen.stages.tasks[task] = "merged"
    if any(part == other for other, _ in seen.stages.conflicts):
        lost = _names(event.data.get("given_up"))
        how = f"of {few(lost)} one side was given up" if lost else "both sides are in it, as its agent says"
        text = f"merged as {str(event.data.get('commit', ''))[:10]}: {how}"
        seen.remark(_at(part, event), text, warning=bool(lost))


def _conflict(seen: "Progress", event: Event) -> None:
    part, files = str(event.data.get("part", "")), tuple(_names(event.data.get("files")))
    seen.stages.conflicts.append((part, files))
    text = f"conflicts with what was merged before, in {few(files)}: its agent is asked to bring both together"
    seen.remark(_at(part, event), text, warning=True)


def _at(part: str, event: Event) -> Event:
    """Beside the work that it is about."""
    return event.model_copy(update={"key": f"{part}/join"})


def _decided(seen: "Progress", event: Event) -> None:
    cluster, result = named(event.data.get("cluster")), str(event.data.get("result") or "")
    why = _words(event.data.get("why"))
    seen.stages.decisions.append((cluster, result, why))
    seen.stages.end(cluster, result, why)
    seen.remark(event, decision(cluster, result, why, seen.stages), warning=result != DONE)


def decision(cluster: str, result: str, why: Sequence[str], stages: Stages) -> str:
    number = f" round {stages.rounds}" if cluster == "verification" else ""
    return f"{cluster}{number}: {result}{f' ({few(why)})' if why else ''}"


def named(step: object) -> str:
    """A step by its name, whatever way it is written."""
    plain = str(step or "").strip().lower().replace("_", "-").replace(" ", "-")
    return {"setup": "set-up", "implement": "implementation", "verify": "verification"}.get(plain, plain)


def few(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _task(stages: Stages, part: str) -> str:
    """The task that a part is for: its name, or the end of it (`implementer-T03`, `task T03`)."""
    last = part.rpartition("/")[2]
    if last in stages.tasks:
        return last
    return next((task for task in (last.rpartition(" ")[2], last.partition("-")[2]) if task in stages.tasks), "")


def _names(said: object) -> list[str]:
    """Names as they come: a list of them, of values that have one, or of none."""
    if isinstance(said, Mapping):
        return [str(one) for one in said]
    if not isinstance(said, Iterable) or isinstance(said, str):
        return []
    return [str(one.get("name") or one.get("id") or "") if isinstance(one, Mapping) else str(one) for one in said]


def _words(said: object) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) and said else tuple(_names(said))


FOLDS: dict[str, Callable[["Progress", Event], None]] = {
    "step": _step,
    "wave": _wave,
    "merged": _merged,
    "conflict": _conflict,
    "decided": _decided,
}
