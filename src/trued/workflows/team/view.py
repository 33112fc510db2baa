"""A team as people see it: its project, features and tasks, attempts, QA and UAT; built up from small events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from trued.model import Event
from trued.model.events import JournalEvent, of_kind
from trued.model.step_keys import inner_scope, scope_of
from trued.model.titles import cut_title
from trued.support.plurals import counted, few
from trued.workflows.team.events import (
    EVENTS,
    FileNotTakenOver,
    FileTakenOver,
    FixTasksMade,
    RoleAnswers,
    RoleAsks,
    TeamReported,
)
from trued.workflows.view import HeadFigure, ReportSection, StyledLine, WorkflowView
from trued.workflows.view_protocols import CallRow, RunTree

RESULTS = ".trued/team/qa/results.md"  # what QA found last, on the run's branch
BESIDE = 4  # tasks named if several are tried at once
FEATURES = 12  # features named with `--plan-only`; the rest is counted
FAILED = 8  # failed tasks named at the end; the rest is counted
SHOWN = 12  # features named at the start; the rest is counted
LENGTH = 300  # characters of a question or an answer
WHY = 160  # characters of a finding; QA's file has all of it
FEATURE = {"completed": "completed", "failed": "failed", "in_progress": "at work"}  # status in the backlog → as shown


@dataclass(frozen=True, slots=True)
class TaskSeen:
    id: str
    name: str = ""
    feature: str = ""
    attempt: int = 0
    attempts: int = 0
    qa: str = ""
    state: str = ""  # "" at work | done | failed

    @property
    def is_stuck(self) -> bool:
        """Whether the task ended early, because nothing changed between attempts."""
        return self.state == "failed" and 0 < self.attempt < self.attempts


@dataclass(frozen=True, slots=True)
class FeatureSeen:
    id: str
    name: str = ""
    uat: str = ""
    state: str = ""  # "" not begun | at work | completed | failed
    cycles: int = 0  # how often UAT took place


@dataclass(slots=True)
class Team:
    kind: str = ""
    commands: dict[str, str] = field(default_factory=dict)
    features: dict[str, FeatureSeen] = field(default_factory=dict)
    tasks: dict[str, TaskSeen] = field(default_factory=dict)
    feature: str = ""  # the feature that the team works on
    task: str = ""
    at_work: dict[str, None] = field(default_factory=dict)  # tasks that are tried now; more than one with --parallel
    integration: str = ""  # UAT of all features together
    features_done: int = 0
    features_all: int = 0
    tasks_done: int = 0
    tasks_all: int = 0
    recoveries: int = 0  # how many tasks passed after QA or the engine had found a gap
    last: TeamReported | None = None  # the newest report, if nothing else happened in the team since

    @property
    def has_content(self) -> bool:
        return bool(self.kind or self.features_all or self.features)

    @property
    def failed(self) -> list[TaskSeen]:
        return [task for task in list(self.tasks.values()) if task.state == "failed"]


def team_of(team: Team) -> dict[str, Any]:
    """The team for `show --json`: counts, and what was worked on; tasks that have not begun are only in
    backlog.md."""
    rows = {name: _row(seen, team) for name, seen in team.features.items()}
    return {
        "kind": team.kind,
        "commands": dict(team.commands),
        "features": list(rows.values()),
        "feature": team.feature,
        "task": team.task,
        "features_done": team.features_done,
        "features_all": team.features_all,
        "tasks_done": team.tasks_done,
        "tasks_all": team.tasks_all,
        "recoveries": team.recoveries,
        "integration_uat": team.integration,
        "failed": [_task(task) for task in team.failed],
    }


def _row(feature: FeatureSeen, team: Team) -> dict[str, Any]:
    tasks = [task for task in team.tasks.values() if task.feature == feature.id]
    return {
        "id": feature.id,
        "name": feature.name,
        "state": feature.state or "pending",
        "uat": feature.uat or "pending",
        "uat_cycles": feature.cycles,
        "tasks": len(tasks),
        "tasks_done": sum(task.state == "done" for task in tasks),
        "attempts": sum(task.attempt for task in tasks),
        "failed": [_task(task) for task in tasks if task.state == "failed"],
    }


def _task(task: TaskSeen) -> dict[str, Any]:
    return {"id": task.id, "name": task.name, "attempt": task.attempt, "attempts": task.attempts, "results": RESULTS}


def now(team: Team) -> str:
    """What the team works on: `feature 2/5 F2: Search · task F2-T7: Index the titles, attempt 3/10 · QA failed`."""
    feature, task = team.features.get(team.feature), team.tasks.get(team.task)
    parts = []
    if feature:
        position = list(team.features).index(feature.id) + 1
        whole = max(team.features_all, len(team.features))
        parts.append(f"feature {position}/{whole} {_titled(feature.id, feature.name)}")
    beside = [task for name in list(team.at_work) if (task := team.tasks.get(name))]
    if len(beside) > 1:
        names = few([f"{task.id} {task.attempt}/{task.attempts}" for task in beside], BESIDE)
        parts.append(f"tasks {names} side by side")
    elif task and (not feature or task.feature == feature.id):
        attempt = f", attempt {task.attempt}/{task.attempts}" if task.attempt and task.attempts else ""
        parts.append(f"task {_titled(task.id, task.name)}{attempt}")
        parts += [f"QA {task.qa}"] if task.qa else []
    parts += [f"UAT {feature.uat}"] if feature and feature.uat and feature.uat != "pending" else []
    parts += [f"integration UAT {team.integration}"] if team.integration else []
    return " · ".join(parts)


def counts(team: Team) -> str:
    """The counts in one line: `1/5 features · 12/31 tasks · 2 recoveries`."""
    if not team.has_content:
        return ""
    failed = len(team.failed)
    parts = [
        f"{team.features_done}/{max(team.features_all, len(team.features))} features",
        f"{team.tasks_done}/{max(team.tasks_all, len(team.tasks))} tasks",
        f"{failed} failed" if failed else "",
        f"{team.recoveries} recover{'y' if team.recoveries == 1 else 'ies'}" if team.recoveries else "",
    ]
    return " · ".join(part for part in parts if part)


def describe(event: TeamReported) -> str:
    """A progress event in one line: what is being worked on, how it went, and the counts."""
    parts = [
        event.project,
        ", ".join(event.found),
        f"feature {_titled(event.feature, event.feature_name)}" if event.feature else "",
        f"task {_titled(event.task, event.task_name)}" if event.task else "",
        f"attempt {event.attempt}/{event.attempts}" if event.attempt and event.attempts else "",
        f"QA {event.qa}" if event.qa else "",
        f"UAT {event.uat}" if event.uat else "",
        f"{event.features_done}/{event.features} features" if event.features else "",
        f"{event.tasks_done}/{event.tasks} tasks" if event.tasks else "",
        "; ".join(event.why),
    ]
    return " · ".join(part for part in parts if part)


def _titled(name: str, title: str) -> str:
    return f"{name}: {title}" if title and title != name else name


# -- reports ----------------------------------------------------------------------------------------------------------


def _add_report(team: Team, tree: RunTree, key: str, event: TeamReported) -> None:
    if event == team.last:  # a crash between an event and the end of its step makes the step emit it twice
        return
    team.last = event
    key = _beside_task(key, event.task)
    tree.name_scope(key, "feature", event.feature, event.feature_name)
    tree.name_scope(key, "task", event.task, event.task_name)
    lines = (*_begun(team, event), *_feature(team, event), *_worked(team, event), *_accepted(team, event))
    for text, warning in lines:
        tree.remark(key, text, warning=warning)
    if event.features:
        team.features_done, team.features_all = event.features_done, event.features
    if event.tasks:
        team.tasks_done, team.tasks_all, team.recoveries = event.tasks_done, event.tasks, event.recoveries


def _beside_task(key: str, task: str) -> str:
    """The step key under which to show an event about a task, so that it is shown with the task's calls."""
    if not task or inner_scope(key) == f"task {task}":
        return key
    return f"{scope_of(key)}/task {task}/team".removeprefix("/")


_Lines: TypeAlias = Iterator[tuple[str, bool]]  # text, and whether it is a warning


def _begun(team: Team, event: TeamReported) -> _Lines:
    """Lines about the project's kind and about new features."""
    if event.project and event.project != team.kind:
        team.kind = event.project
        team.commands = {name: command for name, command in event.commands.items() if command}
        commands = "".join(f"; {name}: {command}" for name, command in team.commands.items())
        yield f"project: {team.kind}{commands}", False
    fresh = [feature for feature in map(_feature_of, filter(None, event.found)) if feature.id not in team.features]
    team.features.update({feature.id: feature for feature in fresh})
    if fresh:
        team.features_all = max(team.features_all, len(team.features))
        names = few([_titled(feature.id, feature.name) for feature in fresh], SHOWN)
        yield f"{counted(len(fresh), 'feature')} found: {names}", False


def _feature_of(text: str) -> FeatureSeen:
    name, _, title = text.partition(": ")
    return FeatureSeen(name, title)


def _feature(team: Team, event: TeamReported) -> _Lines:
    name = event.feature
    if not name:
        return
    feature = team.features.get(name, FeatureSeen(name))
    title = event.feature_name or feature.name
    state = "" if event.task else event.state
    team.features[name] = replace(feature, name=title, state=FEATURE.get(state) or feature.state or "at work")
    if state == "failed" and feature.state != "failed":
        yield f"feature {_titled(name, title)} failed", True
    if name != team.feature:
        team.feature, team.task = name, ""
        team.at_work.clear()


def _worked(team: Team, event: TeamReported) -> _Lines:
    """Lines about a task: each result of its QA, and its failure."""
    name = event.task
    if not name:
        return
    before = team.tasks.get(name, TaskSeen(name))
    attempt, most = event.attempt or before.attempt, event.attempts or before.attempts
    title, feature = event.task_name or before.name, event.feature or before.feature or team.feature
    task = TaskSeen(name, title, feature, attempt, most, event.qa)
    task = replace(task, state=_final_state(task, event.state))
    team.tasks[name], team.task = task, name
    team.at_work.pop(name, None)
    if not event.qa:
        team.at_work[name] = None
    if event.qa and (event.qa, attempt) != (before.qa, before.attempt):
        tried = f", attempt {attempt}/{most}" if attempt and most else ""
        yield f"QA {event.qa}{tried}{_why(event)}", event.qa == "failed" or bool(event.why)
    if task.state == "failed" and before.state != "failed":
        yield f"task {_titled(name, title)} failed at attempt {attempt}/{most}; what QA found: {RESULTS}", True


def _final_state(task: TaskSeen, state: str) -> str:
    """`done` or `failed` if the task has ended, else "". `state`: the task's state in the backlog; if it is not known,
    QA's result and the attempts left decide."""
    if state:
        return {"done": "done", "failed": "failed"}.get(state, "")
    spent = task.attempts and task.attempt >= task.attempts
    return "done" if task.qa == "passed" else "failed" if task.qa == "failed" and spent else ""


def _accepted(team: Team, event: TeamReported) -> _Lines:
    """Lines about the UAT of a feature, or of all features together."""
    uat, name = event.uat, event.feature
    if not uat or uat == "pending":
        return
    if not name:
        team.integration = uat
        yield f"integration UAT {uat}{_why(event)}", uat == "failed"
        return
    feature = team.features[name]
    state = "completed" if uat == "passed" else feature.state
    team.features[name] = replace(feature, uat=uat, cycles=feature.cycles + 1, state=state)
    yield f"UAT {uat}{_why(event)}", uat == "failed"


def _why(event: TeamReported) -> str:
    """The first thing that was found, and how many more."""
    reasons = [reason for reason in event.why if reason]
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f": {cut_title(reasons[0], WHY)}{more}" if reasons else ""


def continuations(run: str, events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """The command that continues a team's run after its end, and what the command does. It reopens the tasks and
    features that failed, according to their newest reports; if none failed, the last feature."""
    tasks, features = dict[str, tuple[str, str]](), dict[str, str]()
    for _, event in of_kind(events, TeamReported):
        if event.kind == "task":
            tasks[event.task] = (event.state, event.feature)
        elif event.kind == "feature" and event.feature:
            features[event.feature] = event.state
    failed = [name for name, (state, _) in tasks.items() if state == "failed"]
    homes = {tasks[name][1] for name in failed}
    failed += [name for name, state in features.items() if state == "failed" and name not in homes]
    failed = failed or [*features][-1:]  # only the integration failed: after any reopened feature it is tried again
    if failed:
        flags = " ".join(f"--reopen {name}" for name in failed[:FAILED])
        again = "it" if len(failed) == 1 else "them"
        does = f"reopens {again} and continues; if the wording was the problem, fix it in the run's backlog.md first"
        yield f"trued resume {run} {flags}", does


class TeamView(WorkflowView):
    EVENTS = EVENTS
    KEY = "team"
    SECTION = ReportSection("team", "The team's work", "team.html.j2")

    def __init__(self) -> None:
        self.team = Team()

    def add(self, tree: RunTree, key: str, event: JournalEvent) -> None:
        match event:
            case TeamReported():
                _add_report(self.team, tree, key, event)
            case RoleAsks():
                tree.remark(key, f"{event.who} asks the {event.to}: {event.text[:LENGTH]}")
            case RoleAnswers():
                tree.remark(key, f"the {event.role} answers: {event.text[:LENGTH]}")
            case FixTasksMade():
                self.team.last = None
                tree.remark(key, f"the PM makes fix tasks for {event.about}: {few(event.tasks, BESIDE + 2)}")
            case FileTakenOver():
                tree.remark(key, f"{event.file} is taken over: {few(event.said, BESIDE + 2)}")
            case FileNotTakenOver():
                tree.remark(key, f"{event.file} is not taken over, and left as it is: {event.why}", warning=True)
            case _:
                pass

    def data(self, calls: Sequence[CallRow]) -> dict[str, Any] | None:
        return team_of(self.team) if self.team.has_content else None

    def status(self, calls: Sequence[CallRow], *, running: bool) -> Iterator[StyledLine]:
        if running and (at_work := now(self.team)):
            yield [(at_work, "cyan")]

    def counts(self, *, running: bool) -> str:
        return counts(self.team)

    def planned(self) -> Iterator[StyledLine]:
        """The features by name, and how many tasks they have."""
        if not self.team.has_content:
            return
        tasks = counted(max(self.team.tasks_all, len(self.team.tasks)), "task")
        yield [(f"to build: {counted(len(self.team.features), 'feature')}, {tasks}", "bold")]
        for feature in [*self.team.features.values()][:FEATURES]:
            yield [("  ", ""), (_titled(feature.id, feature.name), "")]
        if (more := len(self.team.features) - FEATURES) > 0:
            yield [(f"  and {counted(more, 'more feature')}", "")]

    def ending(self, calls: Sequence[CallRow], branch: str) -> Iterator[StyledLine]:
        """Tasks that failed, and where QA's findings are."""
        where = f"git show {branch}:{RESULTS}" if branch else RESULTS
        for task in self.team.failed[:FAILED]:
            stuck = ", the last ones without progress" if task.is_stuck else ""
            after = f" failed after {counted(task.attempt, 'attempt')}{stuck}; QA's last findings: {where}"
            yield [("task ", "red"), (_titled(task.id, task.name), "bold"), (after, "red")]
        if (more := len(self.team.failed) - FAILED) > 0:
            yield [(f"and {counted(more, 'more task')} failed", "red")]

    def totals(self) -> Iterator[str]:
        yield counts(self.team)

    def figures(self) -> Iterator[HeadFigure]:
        team = self.team
        if team.has_content:
            yield f"{team.features_done}/{team.features_all}", "features accepted", ""
            back = f"{team.recoveries} after QA had sent them back" if team.recoveries else ""
            yield f"{team.tasks_done}/{team.tasks_all}", "tasks done", back

    def describe(self, event: JournalEvent) -> str | None:
        match event:
            case TeamReported():
                return describe(event)
            case RoleAsks():
                return f"{event.who} asks the {event.to}: {event.text}"
            case RoleAnswers():
                return f"the {event.role}: {event.text}"
            case FixTasksMade():
                return f"for {event.about}: {', '.join(event.tasks)}"
            case _:
                return None

    def logged_key(self, key: str, event: JournalEvent) -> str:
        return "" if isinstance(event, TeamReported) and event.feature else key  # its text begins with the feature
