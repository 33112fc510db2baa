"""A team as people see it: its project, features and tasks, attempts, QA and UAT; folded from small events."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from trued.model import Event

if TYPE_CHECKING:
    from trued.reporting.views.progress import Progress

RESULTS = ".trued/team/qa/results.md"  # what QA found last, on the run's branch
BESIDE = 4  # tasks that are named where several are tried at once
SHOWN = 12  # names of features at the start: more are counted
WHY = 160  # characters of a finding; all of it is in QA's file
FEATURE = {"completed": "completed", "failed": "failed", "in_progress": "at work"}  # by what the backlog says


@dataclass(frozen=True, slots=True)
class TaskSeen:
    id: str
    name: str = ""
    feature: str = ""
    attempt: int = 0
    attempts: int = 0
    qa: str = ""
    state: str = ""  # "" at work | done | failed


@dataclass(frozen=True, slots=True)
class FeatureSeen:
    id: str
    name: str = ""
    uat: str = ""
    state: str = ""  # "" not begun | at work | completed | failed
    cycles: int = 0  # UAT took place


@dataclass(slots=True)
class Team:
    kind: str = ""
    commands: dict[str, str] = field(default_factory=dict)
    features: dict[str, FeatureSeen] = field(default_factory=dict)
    tasks: dict[str, TaskSeen] = field(default_factory=dict)
    feature: str = ""  # at work
    task: str = ""
    at_work: dict[str, None] = field(default_factory=dict)  # tasks that are tried now; more than one with --parallel
    integration: str = ""  # UAT of all features together
    features_done: int = 0
    features_all: int = 0
    tasks_done: int = 0
    tasks_all: int = 0
    recoveries: int = 0  # tasks that passed after QA had sent them back

    @property
    def seen(self) -> bool:
        return bool(self.kind or self.features_all or self.features)

    @property
    def failed(self) -> list[TaskSeen]:
        return [one for one in list(self.tasks.values()) if one.state == "failed"]


def team_of(team: Team) -> dict[str, Any]:
    """`show --json`: counts, and what was worked on; a task that nobody has begun is in backlog.md."""
    rows = {name: _row(one, team) for name, one in team.features.items()}
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
        "failed": [_task(one) for one in team.failed],
    }


def _row(one: FeatureSeen, team: Team) -> dict[str, Any]:
    own = [task for task in team.tasks.values() if task.feature == one.id]
    return {
        "id": one.id,
        "name": one.name,
        "state": one.state or "pending",
        "uat": one.uat or "pending",
        "uat_cycles": one.cycles,
        "tasks": len(own),
        "tasks_done": sum(task.state == "done" for task in own),
        "attempts": sum(task.attempt for task in own),
        "failed": [_task(task) for task in own if task.state == "failed"],
    }


def _task(one: TaskSeen) -> dict[str, Any]:
    return {"id": one.id, "name": one.name, "attempt": one.attempt, "attempts": one.attempts, "results": RESULTS}


def now(team: Team) -> str:
    """What is at work: `feature 2/5 search: Find by name · T7 Index the titles, attempt 3/10 · QA failed`."""
    feature, task = team.features.get(team.feature), team.tasks.get(team.task)
    parts = []
    if feature:
        place = list(team.features).index(feature.id) + 1
        whole = max(team.features_all, len(team.features))
        parts.append(f"feature {place}/{whole} {_called(feature.id, feature.name)}")
    beside = [one for name in list(team.at_work) if (one := team.tasks.get(name))]
    if len(beside) > 1:
        more = f" and {len(beside) - BESIDE} more" if len(beside) > BESIDE else ""
        names = ", ".join(f"{one.id} {one.attempt}/{one.attempts}" for one in beside[:BESIDE])
        parts.append(f"tasks {names}{more} side by side")
    elif task and (not feature or task.feature == feature.id):
        attempt = f", attempt {task.attempt}/{task.attempts}" if task.attempt and task.attempts else ""
        parts.append(f"task {_called(task.id, task.name)}{attempt}")
        parts += [f"QA {task.qa}"] if task.qa else []
    parts += [f"UAT {feature.uat}"] if feature and feature.uat and feature.uat != "pending" else []
    parts += [f"integration UAT {team.integration}"] if team.integration else []
    return " · ".join(parts)


def counts(team: Team) -> str:
    """`1/5 features · 12/31 tasks · 2 recoveries`."""
    if not team.seen:
        return ""
    failed = len(team.failed)
    parts = [
        f"{team.features_done}/{max(team.features_all, len(team.features))} features",
        f"{team.tasks_done}/{max(team.tasks_all, len(team.tasks))} tasks",
        f"{failed} failed" if failed else "",
        f"{team.recoveries} recover{'y' if team.recoveries == 1 else 'ies'}" if team.recoveries else "",
    ]
    return " · ".join(part for part in parts if part)


def told_team(data: Mapping[str, Any]) -> str:
    """One event as words: what is at work, how it went, and the counts."""
    attempt, most = data.get("attempt") or 0, data.get("attempts") or 0
    task = str(data.get("task") or "")
    parts = [
        str(data.get("project") or ""),
        ", ".join(f"{one.id}: {one.name}" if one.name else one.id for one in map(_found, data.get("found") or ())),
        f"feature {_called(str(data['feature']), str(data.get('feature_name') or ''))}" if data.get("feature") else "",
        f"task {_called(task, str(data.get('task_name') or ''))}" if task else "",
        f"attempt {attempt}/{most}" if attempt and most else "",
        f"QA {_result(data.get('qa'))}" if data.get("qa") else "",
        f"UAT {_result(data.get('uat'))}" if data.get("uat") else "",
        f"{data.get('features_done') or 0}/{data['features']} features" if data.get("features") else "",
        f"{data.get('tasks_done') or 0}/{data['tasks']} tasks" if data.get("tasks") else "",
        "; ".join(map(str, data.get("why") or ())),
    ]
    return " · ".join(part for part in parts if part)


def _called(name: str, words: str) -> str:
    return f"{name}: {words}" if words and words != name else name


# -- events -----------------------------------------------------------------------------------------------------------


def _told(seen: "Progress", event: Event) -> None:
    data, team = event.data, seen.team
    event = _beside(event)
    for name, words in (("feature", "feature_name"), ("task", "task_name")):
        seen.name(event.key, name, str(data.get(name) or ""), str(data.get(words) or ""))
    for text, warning in (*_begun(team, data), *_feature(team, data), *_worked(team, data), *_accepted(team, data)):
        seen.remark(event, text, warning=warning)
    for name, given in (
        ("features_done", "features_done"),
        ("features_all", "features"),
        ("tasks_done", "tasks_done"),
        ("tasks_all", "tasks"),
        ("recoveries", "recoveries"),
    ):
        if isinstance(number := data.get(given), int) and not isinstance(number, bool):
            setattr(team, name, number)


def _beside(event: Event) -> Event:
    """What is told of a task stands with the calls that were made for it."""
    scope, task = event.key.rpartition("/")[0], event.data.get("task")
    if not task or scope.rpartition("/")[2] == f"task {task}":
        return event
    return event.model_copy(update={"key": f"{scope}/task {task}/team".removeprefix("/")})


_Lines = Iterator[tuple[str, bool]]


def _begun(team: Team, data: Mapping[str, Any]) -> _Lines:
    """Kind and features, as soon as they are known."""
    if (kind := str(data.get("project") or "")) and kind != team.kind:
        team.kind = kind
        team.commands = {str(name): str(one) for name, one in (data.get("commands") or {}).items() if one}
        commands = "".join(f"; {name}: {one}" for name, one in team.commands.items())
        yield f"project: {kind}{commands}", False
    found = [one for one in data.get("found") or () if one]
    fresh = [one for one in map(_found, found) if one.id not in team.features]
    for one in fresh:
        team.features[one.id] = one
    if fresh:
        team.features_all = max(team.features_all, len(team.features))
        names = ", ".join(_called(one.id, one.name) for one in fresh[:SHOWN])
        more = f" and {len(fresh) - SHOWN} more" if len(fresh) > SHOWN else ""
        yield f"{len(fresh)} feature{'' if len(fresh) == 1 else 's'} found: {names}{more}", False


def _found(one: object) -> FeatureSeen:
    if isinstance(one, Mapping):
        return FeatureSeen(str(one.get("id") or ""), str(one.get("name") or one.get("title") or ""))
    name, _, words = str(one).partition(": ")
    return FeatureSeen(name, words)


def _feature(team: Team, data: Mapping[str, Any]) -> _Lines:
    name = str(data.get("feature") or "")
    if not name:
        return
    one = team.features.get(name, FeatureSeen(name))
    words = str(data.get("feature_name") or one.name)
    state = "" if data.get("task") else str(data.get("state") or "")
    team.features[name] = replace(one, name=words, state=FEATURE.get(state) or one.state or "at work")
    if state == "failed" and one.state != "failed":
        yield f"feature {_called(name, words)} failed", True
    if name != team.feature:
        team.feature, team.task = name, ""
        team.at_work.clear()


def _worked(team: Team, data: Mapping[str, Any]) -> _Lines:
    """A task: who begins it, and each time that QA says something of it."""
    name = str(data.get("task") or "")
    if not name:
        return
    before = team.tasks.get(name, TaskSeen(name))
    qa, attempt = _result(data.get("qa")), int(data.get("attempt") or before.attempt)
    words, most = str(data.get("task_name") or before.name), int(data.get("attempts") or before.attempts)
    feature = str(data.get("feature") or before.feature or team.feature)
    task = TaskSeen(name, words, feature, attempt, most, qa)
    task = replace(task, state=_over(task, str(data.get("state") or "")))
    team.tasks[name], team.task = task, name
    team.at_work.pop(name, None)
    if not qa:
        team.at_work[name] = None
    if qa and (qa, attempt) != (before.qa, before.attempt):
        tried = f", attempt {attempt}/{most}" if attempt and most else ""
        yield f"QA {qa}{tried}{_why(data)}", qa == "failed" or bool(data.get("why"))
    if task.state == "failed" and before.state != "failed":
        yield f"task {_called(name, words)} failed at attempt {attempt}/{most}; what QA found: {RESULTS}", True


def _over(task: TaskSeen, state: str) -> str:
    """Done or failed for good, as the backlog says; where that is not told, by what QA said and the attempts left."""
    if state:
        return {"done": "done", "failed": "failed"}.get(state, "")
    spent = task.attempts and task.attempt >= task.attempts
    return "done" if task.qa == "passed" else "failed" if task.qa == "failed" and spent else ""


def _accepted(team: Team, data: Mapping[str, Any]) -> _Lines:
    """UAT: of a feature, or of all of them together."""
    uat = _result(data.get("uat"))
    name = str(data.get("feature") or "")
    if not uat or uat == "pending":
        return
    if not name or data.get("integration"):
        if uat != team.integration:
            team.integration = uat
            yield f"integration UAT {uat}{_why(data)}", uat == "failed"
        return
    one = team.features[name]
    cycles = int(data.get("cycle") or one.cycles + (uat != one.uat))
    if (uat, cycles) != (one.uat, one.cycles):
        state = "completed" if uat == "passed" else one.state
        team.features[name] = replace(one, uat=uat, cycles=cycles, state=state)
        yield f"UAT {uat}{_why(data)}", uat == "failed"


def _why(data: Mapping[str, Any]) -> str:
    """The first thing that was found, and how many more."""
    found = [one for one in map(str, data.get("why") or ()) if one]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f": {_cut(found[0])}{more}" if found else ""


def _cut(words: str) -> str:
    """Whole words, and a sign that there are more."""
    return words if len(words) <= WHY else f"{words[:WHY].rpartition(' ')[0] or words[:WHY]} …"


def _result(said: object) -> str:
    plain = str(said or "").strip().lower() if not isinstance(said, bool) else ("passed" if said else "failed")
    return {"true": "passed", "approved": "passed", "false": "failed", "rejected": "failed"}.get(plain, plain)


FOLDS: dict[str, Callable[["Progress", Event], None]] = {"team": _told}
