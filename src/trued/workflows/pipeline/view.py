"""A pipeline as people see it: its steps and who works in them, waves, merges, decisions and their reasons."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trued.model import Event, Status
from trued.model.events import JournalEvent, call, of_kind, run
from trued.model.step_keys import call_name, label_of, step_name
from trued.support.plurals import counted, few
from trued.workflows.pipeline.events import (
    EVENTS,
    ArtifactMissing,
    ClusterDecided,
    CritiqueClosed,
    MemoryMissing,
    MemoryUndone,
    PlanRefused,
    StepReported,
    StrayFilesUndone,
    WaveStarted,
)
from trued.workflows.view import HeadFigure, ReportSection, StyledLine, WorkflowView
from trued.workflows.view_protocols import CallRow, RunTree

STEPS = {  # step → its number, in the order of work
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
ROLES = {  # role → its step: a call of the role shows that the step has begun, even before the step's own event
    "researcher": "research",
    "spec": "spec",
    "designer": "design",
    "planner": "plan",
    "implementer": "implementation",
    "documentation-writer": "implementation",
}
CLUSTERS = {"ct-": "critique", "v-": "verification", "r-": "review"}
DONE = "DONE"
APART = ("seal", "finish", "")  # scopes outside the steps
ORDINALS = {2: "second", 3: "third", 4: "fourth"}
NAMED = 6  # tasks of a wave, or files of a conflict, named; the rest is counted
ROUNDS = 3
MARKS = {  # result of a step, or its state while it has no result → mark and style
    "running": ("●", "bold cyan"),
    "unfinished": ("…", "yellow"),
    "DONE": ("✓", "green"),
    "NEEDS_REVISION": ("↻", "yellow"),
    "ERROR": ("✗", "bold red"),
}
SHORT = {"implementation": "implement", "verification": "verify"}


@dataclass(frozen=True, slots=True)
class PipelineStage:
    """One step of the pipeline, including its repetitions."""

    name: str
    number: str = ""
    state: str = ""  # "" not yet | running | ended
    result: str = ""  # DONE | NEEDS_REVISION | ERROR
    why: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    times: int = 0  # how often the step was begun


@dataclass(slots=True)
class Stages:
    """All steps, and the results of the waves of implementers."""

    all: dict[str, PipelineStage] = field(
        default_factory=lambda: {name: PipelineStage(name, number) for name, number in STEPS.items()}
    )
    current: str = ""
    wave: int = 0
    tasks: dict[str, str] = field(default_factory=dict)  # task → open | merged
    conflicts: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # part, files
    decisions: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)  # cluster, result, why

    @property
    def has_begun(self) -> bool:
        return any(stage.times or stage.result for stage in list(self.all.values()))

    @property
    def rounds(self) -> int:
        """The number of rounds of verification."""
        return sum(cluster == "verification" for cluster, *_ in list(self.decisions))

    @property
    def revisions(self) -> int:
        revised = [cluster for cluster, result, _ in list(self.decisions) if result == "NEEDS_REVISION"]
        return sum(cluster in ("critique", "review") for cluster in revised)

    @property
    def merged(self) -> int:
        return sum(state == "merged" for state in list(self.tasks.values()))

    def place(self, key: str) -> str:
        """The step at which an event without a scope of its own is shown: the step that began last, such as "critique"
        or "critique, second time". "" if no step has begun, or if the event belongs to sealing or to the run's end."""
        if not self.current or call_name(key) in APART:
            return ""
        times = self.all[self.current].times
        return self.current if times < 2 else f"{self.current}, {ORDINALS.get(times, f'{times}th')} time"

    def begin(self, name: str) -> None:
        """Begin a step, and end the step before it, because steps follow each other."""
        stage = self.all.get(name, PipelineStage(name))
        if name == self.current and stage.state == "running":
            return
        self.end()
        self.all[name] = replace(stage, state="running", result="", why=(), times=stage.times + 1)
        self.current = name

    def add_agents(self, name: str, agents: Iterable[str]) -> None:
        stage = self.all[name]
        self.all[name] = replace(stage, agents=tuple(dict.fromkeys((*stage.agents, *agents))))

    def end(self, name: str = "", result: str = "", why: tuple[str, ...] = ()) -> None:
        stage = self.all.get(name or self.current)
        if stage and (stage.state == "running" or result):
            final = result or stage.result or DONE
            self.all[stage.name] = replace(
                stage, state="ended", result=final, why=why or stage.why, times=max(1, stage.times)
            )


def stages_of(stages: Stages, calls: Iterable[CallRow]) -> dict[str, Any]:
    """The steps for `show --json`."""
    calls = list(calls)
    return {
        "steps": [
            {
                "step": stage.name,
                "number": stage.number,
                "state": stage.state or "open",
                "result": stage.result,
                "why": list(stage.why),
                "times": stage.times,
                "agents": agents(stage, calls),
            }
            for stage in stages.all.values()
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


def agents(stage: PipelineStage, calls: Iterable[CallRow]) -> list[dict[str, Any]]:
    """The agents of a step: the state of their last call, what they said, and how often they were asked."""
    calls_of: dict[str, list[CallRow]] = {name: [] for name in stage.agents}
    for row in calls:
        name = step_name(row.key)
        if name in calls_of or step_of(row.role) == stage.name:
            calls_of.setdefault(name, []).append(row)
    return [
        {
            "name": name,
            "state": theirs[-1].state if theirs else "missing" if stage.state == "ended" else "open",
            "claim": theirs[-1].claim if theirs else "",
            "calls": len(theirs),
        }
        for name, theirs in calls_of.items()
    ]


def step_of(role: str) -> str:
    return ROLES.get(role) or next((step for start, step in CLUSTERS.items() if role.startswith(start)), "")


def wave_summary(stages: Stages) -> str:
    """The pipeline's progress in a few words: waves, conflicts, rounds of verification and revisions; "" if there are
    none yet."""
    tasks = len(stages.tasks)
    conflicts, turn = len(stages.conflicts), stages.all["verification"].times
    parts = [
        f"wave {stages.wave}, {stages.merged}/{tasks} tasks merged" if stages.wave else "",
        counted(conflicts, "conflict") if conflicts else "",
        f"verification round {turn}{f'/{ROUNDS}' if turn <= ROUNDS else ''}" if turn else "",
        counted(stages.revisions, "revision") if stages.revisions else "",
    ]
    return " · ".join(part for part in parts if part)


def describe_step(event: StepReported) -> str:
    """One event of a step as words."""
    who = f" ({few(event.agents, NAMED)})" if event.agents and not event.result else ""
    why = f": {few(event.why, NAMED)}" if event.why else ""
    return f"{normal_name(event.step)} {event.result or 'begins'}{who}{why}"


# -- events ------------------------------------------------------------------------------------------------------------


def _add_step(stages: Stages, event: StepReported) -> None:
    name = normal_name(event.step)
    if not name:
        return
    if event.result:
        stages.end(name, event.result, event.why)
    else:
        stages.begin(name)
    if name in stages.all and event.agents:
        stages.add_agents(name, event.agents)


def _add_notice(tree: RunTree, key: str, event: JournalEvent) -> None:
    match event:
        case CritiqueClosed():
            if event.stands:
                tree.remark(key, f"critiques of the design are still open: {few(event.stands, NAMED)}", warning=True)
            if event.closed:
                tree.remark(key, f"critiques of the design are closed: {few(event.closed, NAMED)}")
        case ArtifactMissing():
            tree.remark(key, f"{event.path} is missing: {event.why}", warning=True)
        case MemoryMissing():
            who = event.agent or "somebody"
            tree.remark(key, f"{who} gave no answer and counts as missing", warning=True)
        case MemoryUndone():
            who, files = event.agent or "somebody", few(event.files, NAMED)
            tree.remark(key, f"{who} changed files that it may not write; undone: {files}", warning=True)
        case StrayFilesUndone():
            who, files = event.agent or "somebody", few(event.files, NAMED)
            tree.remark(key, f"{who} wrote files other than its own document; undone: {files}", warning=True)
        case PlanRefused():
            tree.remark(key, f"the plan was refused: {few(event.why, NAMED)}", warning=True)
        case _:
            pass


def decision(cluster: str, result: str, why: Sequence[str], stages: Stages) -> str:
    number = f" round {stages.rounds}" if cluster == "verification" else ""
    return f"{cluster}{number}: {result}{f' ({few(why, NAMED)})' if why else ''}"


def normal_name(step: str) -> str:
    """A step's name in its normal form."""
    plain = step.strip().lower().replace("_", "-").replace(" ", "-")
    return {"setup": "set-up", "implement": "implementation", "verify": "verification"}.get(plain, plain)


def _task(stages: Stages, part: str) -> str:
    """The id of the task that a part of the run implements: T03 if the part is named `T03`, `implementer-T03` or `task
    T03`. "" if there is no such task."""
    last = label_of(part)
    if last in stages.tasks:
        return last
    return next((task for task in (last.rpartition(" ")[2], last.partition("-")[2]) if task in stages.tasks), "")


def continuations(run: str, events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """How to continue a pipeline that ended: agents that gave no answer are asked again; if all answered, their
    findings are fixed, and everything is checked again."""
    last = {event.cluster: event for _, event in of_kind(events, ClusterDecided)}
    checks = [last[name] for name in ("verification", "review") if name in last]
    critiques = [event.stands for _, event in of_kind(events, CritiqueClosed)]
    if silent := [name for check in checks for name in check.silent]:
        yield f"trued resume {run}", f"asks {', '.join(silent)} again (no answer so far)"
    elif any(check.result != Status.DONE for check in checks) or (critiques and critiques[-1]):
        yield f"trued resume {run}", "fixes what was found, then checks everything again"


class PipelineView(WorkflowView):
    EVENTS = EVENTS
    KEY = "pipeline"
    SECTION = ReportSection("steps", "Steps", "steps.html.j2")

    def __init__(self) -> None:
        self.stages = Stages()

    def add(self, tree: RunTree, key: str, event: JournalEvent) -> None:
        stages = self.stages
        match event:
            case call.CallAsked() if step := step_of(event.role):
                # The call's step is running, whether or not an event has reported that.
                stages.begin(step)
                stages.add_agents(step, (step_name(key),))
            case StepReported():
                _add_step(stages, event)
            case WaveStarted():
                stages.begin("implementation")
                stages.wave = max(stages.wave, event.number or stages.wave + 1)
                stages.tasks.update(dict.fromkeys(event.tasks, "open"))
                tree.remark(key, f"wave {stages.wave}: {few(event.tasks, NAMED)}")
            case run.PartMerged() if task := _task(stages, event.part):
                stages.tasks[task] = "merged"
            case run.MergeConflict():
                stages.conflicts.append((event.part, event.files))
            case ClusterDecided():
                cluster, result = normal_name(event.cluster), str(event.result)
                stages.decisions.append((cluster, result, event.why))
                stages.end(cluster, result, event.why)
                tree.remark(key, decision(cluster, result, event.why, stages), warning=result != DONE)
            case _:
                _add_notice(tree, key, event)

    def place(self, key: str) -> str:
        return self.stages.place(key)

    def data(self, calls: Sequence[CallRow]) -> dict[str, Any] | None:
        return stages_of(self.stages, calls) if self.stages.has_begun else None

    def status(self, calls: Sequence[CallRow], *, running: bool) -> Iterator[StyledLine]:
        if self.stages.has_begun:
            yield self.steps_line(calls, running=running)
        if waves := wave_summary(self.stages):
            yield [(waves, "dim")]

    def steps_line(self, calls: Sequence[CallRow], *, running: bool) -> StyledLine:
        """The steps in one line: `✓ research  ✓ spec  ● design  · critique  · plan  · implement  …`."""
        pieces: list[tuple[str, str]] = []
        for stage in list(self.stages.all.values()):  # a copy, because another thread changes the steps
            if stage.number == "0":
                continue
            state = ("running" if running else "unfinished") if stage.state == "running" else stage.result
            mark, style = MARKS.get(state, ("·", "dim"))
            name = f"{SHORT.get(stage.name, stage.name)}{self._part(stage, calls)}"
            shown = "bold" if stage.state == "running" else style if mark == "·" else ""
            pieces += [("  " if pieces else "", ""), (f"{mark} ", style), (name, shown)]
        return pieces

    def _part(self, stage: PipelineStage, calls: Sequence[CallRow]) -> str:
        """What follows the step's name. While the step runs: how many agents have ended, or, for implementation, how
        many tasks are merged. Otherwise: how often the step ran, or how many waves it took."""
        stages, building = self.stages, stage.name == "implementation"
        wave = stages.wave if building else 0
        if stage.state != "running":
            again = f" ×{stage.times}" if stage.times > 1 else ""  # for implementation, waves are counted instead
            return f", {counted(wave, 'wave')}" if wave > 1 else again if not wave else ""
        if building:
            return f" {stages.merged}/{len(stages.tasks)}" if stages.tasks else ""
        if len(stage.agents) < 2:
            return ""
        ended = {step_name(call.key): call.state != "running" for call in calls}
        return f" {sum(ended.get(name, False) for name in stage.agents)}/{len(stage.agents)}"

    def ending(self, calls: Sequence[CallRow], branch: str) -> Iterator[StyledLine]:
        """The steps, and the reasons for each result other than DONE."""
        if not self.stages.has_begun:
            return
        yield self.steps_line(calls, running=False)
        for stage in list(self.stages.all.values()):  # a copy, because another thread changes the steps
            if stage.result in ("NEEDS_REVISION", "ERROR"):
                why = f": {'; '.join(stage.why)}" if stage.why else ""
                yield [(f"{stage.name} ended as {stage.result}{why}", "yellow")]

    def totals(self) -> Iterator[str]:
        stages = self.stages
        if stages.tasks:
            yield f"{stages.merged}/{counted(len(stages.tasks), 'task')} merged in {counted(stages.wave, 'wave')}"
        if stages.conflicts:
            yield counted(len(stages.conflicts), "conflict")
        if stages.rounds:
            yield f"{counted(stages.rounds, 'round')} of verification"
        if stages.revisions:
            yield counted(stages.revisions, "revision")

    def figures(self) -> Iterator[HeadFigure]:
        stages = self.stages
        if stages.tasks:
            conflicts = f"{counted(len(stages.conflicts), 'conflict')} on the way" if stages.conflicts else ""
            yield f"{stages.merged}/{len(stages.tasks)}", "tasks merged", conflicts

    def describe(self, event: JournalEvent) -> str | None:
        match event:
            case StepReported():
                return describe_step(event)
            case WaveStarted():
                return f"{event.number}: {', '.join(event.tasks)}"
            case ClusterDecided():
                why = "; ".join(event.why)
                return f"{event.cluster} {event.result}{f': {why}' if why else ''}"
            case _:
                return None
