"""Crew: the state of a team, with its goal, backlog, specifications, and what was accepted so far."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trued.inputs.goals import parse_goal
from trued.inputs.project.kind import ProjectKind
from trued.model import Criterion, Finding, Goal, Judged, Plan, Requirement, Source, Task, TeamSettings, Value
from trued.model.titles import cut_title
from trued.proof.verdict.for_agents import reason_for_agents
from trued.workflows.team.backlog import render
from trued.workflows.team.backlog.items import Backlog, BacklogFeature, BacklogTask
from trued.workflows.team.backlog.reading import NAME
from trued.workflows.team.files import FOLDER, Records
from trued.workflows.team.reply_parts import FixTask, NamedTests, Needs, PlannedFeature, PlannedTask

RANK = {"high": 0, "medium": 1, "low": 2}
RESULTS = f"{FOLDER}qa/results.md"
STUCK, SEE_RESULTS = f"no progress; see {RESULTS}", f"see {RESULTS}"  # notes on a failed task
SHOWN_BEFORE = "nothing was changed for it: evidence shows every criterion of its feature"
BACKLOG = f"{FOLDER}{NAME}"


class Crew(Value):
    """The state of a team. Every replay rebuilds it from the journal; the files in `.trued/team/` show it to people."""

    goal: Goal
    backlog: Backlog = Backlog()
    settings: TeamSettings = TeamSettings()
    kind: ProjectKind = ProjectKind()
    specs: dict[str, str] = {}  # noqa: RUF012  feature → how it is built
    tests: dict[str, tuple[NamedTests, ...]] = {}  # noqa: RUF012  feature → tests that the tech lead names
    sealed: tuple[str, ...] = ()  # criteria in the contract
    held: tuple[str, ...] = ()  # requirements that held on the last accepted commit
    proven: tuple[str, ...] = ()  # features whose criteria were due and held; "plan": the whole goal
    recoveries: int = 0  # how many tasks passed after a failure
    integration: str = "pending"  # pending | passed | failed
    unmet: tuple[str, ...] = ()  # what the last integration UAT found
    doubts: dict[str, tuple[str, str]] = {}  # noqa: RUF012  subject of a doubt → part of the backlog, and the reason
    records: Records = Records()  # what happened, as the files show it
    planned_before: bool = False  # the goal itself is a list of tasks, so that no PM has to plan
    kept: dict[str, str] = {}  # noqa: RUF012  path → text of files from before the run, which are kept
    criteria: tuple[Criterion, ...] = ()  # from an older list of tasks
    written: dict[str, str] = {}  # noqa: RUF012  the files as they are on the branch
    planned: tuple[str, ...] = ()  # features that existed when the contract was sealed
    idle: tuple[str, ...] = ()  # tasks for which nothing was changed: they wait for evidence on their feature
    sent_back: tuple[str, ...] = ()  # tasks in which QA or the engine found a gap
    given_up: tuple[str, ...] = ()  # tasks whose work was set aside; a task is listed once for each time
    earlier: tuple[str, ...] = ()  # features of earlier goals: they stay in the backlog, but are not work of this run

    def with_old_plan(
        self, backlog: Backlog, original: Mapping[str, str], criteria: Sequence[Criterion] = ()
    ) -> "Crew":
        """A copy with a backlog that was made from a flat list of tasks. Failed tasks are open again."""
        for task in backlog.tasks:
            if task.state == "failed":
                backlog = backlog.with_task(task.id, state="open", note=task.note or "it had failed before")
        update = {"backlog": backlog, "kept": {**self.kept, **original}, "criteria": tuple(criteria)}
        return self.model_copy(update=update)

    # -- earlier goals -------------------------------------------------------------------------------------------------

    @property
    def features(self) -> tuple[BacklogFeature, ...]:
        """The features of this run's goal."""
        return tuple(feature for feature in self.backlog.features if feature.id not in self.earlier)

    @property
    def task_counts(self) -> tuple[int, int]:
        """The numbers of done tasks and of all tasks of this run's goal."""
        counts = [feature.counts for feature in self.features]
        return sum(done for done, _, _ in counts), sum(every for _, _, every in counts)

    def with_earlier_goals(self, backlog: Backlog) -> "Crew":
        """A copy with the backlog that earlier goals left. The team works on a feature of an earlier goal only if
        somebody reopens that feature."""
        names = tuple(feature.id for feature in backlog.features)
        return self.model_copy(update={"backlog": backlog, "earlier": names})

    # -- the plan ------------------------------------------------------------------------------------------------------

    def with_features(self, features: Sequence[PlannedFeature]) -> "Crew":
        """A copy with the PM's features under ids of their own; dependencies on names become dependencies on ids."""
        backlog, names = self.backlog, dict[str, str]()
        for planned in features:
            backlog, new_id = backlog.with_new_feature(planned.name, planned.criteria, priority=planned.priority)
            names.setdefault(planned.name, new_id)
        own_ids = [feature.id for feature in backlog.features[-len(features) :]]
        for planned, new_id in zip(features, own_ids, strict=True):
            needs = tuple(
                dict.fromkeys(names[name] for name in planned.depends_on if names.get(name, new_id) != new_id)
            )
            backlog = backlog.with_feature(new_id, depends_on=_without_cycles(backlog, new_id, needs))
            backlog = self._with_stories(backlog, new_id, planned)
        return self.model_copy(update={"backlog": backlog})

    def _with_stories(self, backlog: Backlog, feature_id: str, feature: PlannedFeature) -> Backlog:
        planned = list[tuple[str, PlannedTask]]()
        for story in feature.stories:
            backlog, name = backlog.with_new_story(feature_id, story.name)
            for task in story.tasks:
                backlog, number = backlog.with_new_task(name, task.title, files=task.files, limit=self.attempts)
                planned.append((number, task))
        return self._with_named_dependencies(backlog, planned)

    def _with_named_dependencies(self, backlog: Backlog, planned: Sequence[tuple[str, PlannedTask]]) -> Backlog:
        """The backlog with the dependencies among the planned tasks. `planned`: pairs of id and task. A dependency is
        the name or the title of another planned task, which may come later in the list."""
        made = dict[str, str]()
        for number, task in planned:
            for known in filter(None, (task.name, task.title)):
                made.setdefault(known, number)
        for number, task in planned:
            backlog = self._with_dependencies(
                backlog, number, [made[dependency] for dependency in task.depends_on if dependency in made]
            )
        return backlog

    def _with_dependencies(self, backlog: Backlog, task: str, names: Iterable[str]) -> Backlog:
        """The backlog with further dependencies of a task. A dependency that would close a cycle is left out."""
        before = {other.id: {*other.depends_on} for other in backlog.tasks}
        allowed = [
            name for name in names if name in before and name != task and task not in _all_dependencies(before, name)
        ]
        both = tuple(dict.fromkeys((*backlog.task(task).depends_on, *allowed)))
        return backlog.with_task(task, depends_on=both) if allowed else backlog

    def with_spec(self, name: str, spec: str, tests: Sequence[NamedTests], needs: Sequence[Needs]) -> "Crew":
        """A copy with the tech lead's specification of a feature. It can add dependencies and tests, and remove
        nothing."""
        backlog, own_tasks = self.backlog, {task.id for task in self.backlog.feature(name).tasks}
        for need in needs:
            if need.task in own_tasks:
                backlog = self._with_dependencies(backlog, need.task, need.depends_on)
        named = tuple(test if test.task in own_tasks else test.model_copy(update={"task": ""}) for test in tests)
        update = {"specs": {**self.specs, name: spec}, "tests": {**self.tests, name: named}, "backlog": backlog}
        return self.model_copy(update=update)

    def with_fixes(self, name: str, tasks: Sequence[FixTask], issues: Sequence[Finding]) -> "Crew":
        """A copy with fix tasks after a failed validation. If the PM names no task, the first issue becomes a task.
        `name`: the feature that was validated; "" for all features together."""
        backlog, planned = self.backlog, list[tuple[str, FixTask]]()
        wanted = tasks or (FixTask(title=f"Fix: {issues[0].what}" if issues else "Fix what was found"),)
        for task in wanted:
            home = name or (task.feature if backlog.holds(task.feature) else self._feature_concerned(issues))
            home = backlog.feature(home).id
            backlog, story = self._fix_story(backlog, home)
            backlog, number = backlog.with_new_task(story, task.title, files=task.files, limit=self.attempts)
            planned.append((number, task))
            backlog = backlog.with_feature(home, status="in_progress", uat="pending")
        backlog = self._with_named_dependencies(backlog, planned)
        proven = tuple(name for name in self.proven if name != "plan" and name not in self._reopened(backlog))
        return self.model_copy(update={"backlog": backlog, "integration": "pending", "proven": proven})

    def _reopened(self, backlog: Backlog) -> set[str]:
        return {feature.id for feature in backlog.features if feature.status == "in_progress"}

    def _fix_story(self, backlog: Backlog, home: str) -> tuple[Backlog, str]:
        stories = [story.id for story in backlog.feature(home).stories if story.name == "Fixes"]
        return (backlog, stories[-1]) if stories else backlog.with_new_story(home, "Fixes")

    def _feature_concerned(self, issues: Sequence[Finding]) -> str:
        """The feature whose criterion an issue names; else the first feature."""
        named = [issue.requirement.partition("-")[0] for issue in issues if issue.requirement]
        ids = [feature.id for feature in self.features]
        return next((name for name in named if name in ids), ids[0])

    # -- who plays -----------------------------------------------------------------------------------------------------

    def plays(self, role: str) -> bool:
        return role not in self.settings.off

    def answering(self, role: str) -> str:
        """Who answers questions to this role: the role itself or, if it is off, the PM."""
        return role if self.plays(role) else "pm"

    @property
    def attempts(self) -> int:
        return self.settings.attempts if self.settings.heal else 1

    def validates(self, subject: Task | Plan) -> bool:
        """Whether UAT validates this feature or, if the subject is the plan, all features together."""
        wanted = self.settings.uat_after_feature if isinstance(subject, Task) else self.settings.uat_after_all
        return wanted and self.plays("uat")

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Sentences on what no role will check, because of the settings. Every verdict lists them."""
        warnings = [] if self.plays("qa") else ["qa is off: only the engine's own checks test a task"]
        unnamed = "techlead is off: nobody names the tests that show that a task is done"
        warnings += [] if self.plays("techlead") else [unnamed]
        uat, looks = self.plays("uat"), self.settings
        alone, together = uat and looks.uat_after_feature, uat and looks.uat_after_all
        warnings += [] if alone else ["no UAT after a feature: nobody looks at it as its user would"]
        warnings += [] if together else ["no integration UAT: nobody looks at all features together"]
        return tuple(warnings)

    # -- what is next --------------------------------------------------------------------------------------------------

    @property
    def next_feature(self) -> str:
        """The id of the feature to work on: started features come first, then the priority decides, then the order of
        the backlog. "" if no feature is left whose dependencies are completed."""
        features = {feature.id: feature for feature in self.backlog.features}
        ready = [
            feature
            for feature in self.features
            if feature.status in ("pending", "in_progress")
            and all(features[name].status == "completed" for name in feature.depends_on if name in features)
        ]
        best = min(ready, key=lambda feature: (feature.status != "in_progress", RANK[feature.priority]), default=None)
        return best.id if best else ""

    def next_wave(self, name: str, most: int) -> tuple[str, ...]:
        """Open tasks of a feature, with all dependencies met: at most `most`, to be worked on at the same time."""
        if not self.backlog.holds(name):  # a person removed it
            return ()
        states = {task.id: task.state for task in self.backlog.tasks}
        every = [task for task in self.backlog.feature(name).tasks if task.is_open]
        # Idle tasks are tried again when no other task is open.
        opened = [task for task in every if task.id not in self.idle] or every
        free = [task.id for task in opened if all(states.get(name, "done") == "done" for name in task.depends_on)]
        return tuple(free[:most])

    def is_open(self, task: str) -> bool:
        """Whether the task is still open and not idle."""
        return self.backlog.task(task).is_open and task not in self.idle

    def is_last(self, task: str) -> bool:
        """Whether all other tasks of the task's feature are done, so that the feature's criteria are due. Idle tasks
        count as done here: they wait for evidence on these criteria."""
        others = [other for other in self.backlog.feature(task).tasks if other.id != task]
        return all(other.state == "done" or other.id in self.idle for other in others)

    def idle_tasks(self, task: str) -> tuple[str, ...]:
        """Other tasks of the same feature for which nothing was changed."""
        return tuple(
            other.id for other in self.backlog.feature(task).tasks if other.id in self.idle and other.id != task
        )

    def has_other_work(self, task: str) -> bool:
        """Whether other tasks of the task's feature are still to be worked on."""
        others = [other for other in self.backlog.feature(task).tasks if other.id != task]
        return any(other.is_open and other.id not in self.idle for other in others)

    def due_after(self, task: str) -> tuple[str, ...]:
        """What else must hold once this task is done: nothing, unless it is the last task of its feature. Then the
        feature must hold and, if all other features are completed, the plan."""
        if not self.is_last(task):
            return ()
        name = self.backlog.feature(task).id
        others = [feature for feature in self.features if feature.id != name]
        return (name, "plan") if all(feature.status == "completed" for feature in others) else (name,)

    def has_all_tasks_done(self, name: str) -> bool:
        """Whether every task of the feature is done."""
        return self.backlog.holds(name) and all(task.state == "done" for task in self.backlog.feature(name).tasks)

    @property
    def is_completed(self) -> bool:
        return bool(self.features) and all(feature.status == "completed" for feature in self.features)

    def with_doubt(self, about: str, part: str, reason: str) -> "Crew":
        """A copy with a planner's doubt about `part` of the backlog. It replaces an earlier doubt with the same key
        `about`. If `reason` is empty, the earlier doubt is only removed."""
        doubts = {name: parts for name, parts in self.doubts.items() if name != about}
        return self.model_copy(update={"doubts": {**doubts, **({about: (part, reason)} if reason else {})}})

    def gaps_in_plan(self) -> Iterator[tuple[str, str]]:
        """Yield (feature id, reason) for everything that is unfinished; feature id "" means the whole plan."""
        for part, reason in self.doubts.values():
            yield self.backlog.feature(part).id if self.backlog.holds(part) else "", reason
        for feature in self.features:
            tasks = tuple(feature.tasks)
            for task in tasks:
                if task.state == "failed":
                    yield feature.id, f"task {task.id} failed, {task.attempts}/{task.limit} attempts: see {RESULTS}"
                elif task.is_open:
                    yield feature.id, f"task {task.id} is not done{self._why_open(task)}"
            if feature.status != "completed" and all(task.state == "done" for task in tasks):
                yield feature.id, f"feature {feature.id} is not completed: UAT {feature.uat}"
        if self.integration == "failed":
            yield from (("", f"integration UAT failed: {reason}") for reason in self.unmet or ("no reason was given",))

    def _why_open(self, task: BacklogTask) -> str:
        feature = self.backlog.feature(task.id)
        lacking = [name for name in task.depends_on if self.backlog.holds(name) and not self._is_done(name)]
        lacking += [name for name in feature.depends_on if self.backlog.feature(name).status != "completed"]
        return f": it needs {', '.join(lacking)}" if lacking else ""

    def _is_done(self, task: str) -> bool:
        return self.backlog.task(task).state == "done"

    # -- what happened -------------------------------------------------------------------------------------------------

    def with_new_attempts(self, tasks: Sequence[str]) -> "Crew":
        """A copy with one more attempt for each task. The tasks are no longer idle."""
        backlog = self.backlog
        for name in tasks:
            backlog = backlog.with_task(name, attempts=backlog.task(name).attempts + 1)
        return self.without_idle(tasks).model_copy(update={"backlog": backlog})

    def without_idle(self, tasks: Sequence[str]) -> "Crew":
        """A copy in which these tasks are no longer idle: they are tried again."""
        return self.model_copy(update={"idle": tuple(name for name in self.idle if name not in tasks)})

    def with_idle(self, name: str) -> "Crew":
        """A copy in which the task is idle: nothing was changed for it, so it waits for its feature's other tasks."""
        return self.model_copy(update={"idle": (*self.idle, name)})

    def with_idle_done(self, task: str) -> "Crew":
        """A copy in which the other idle tasks of the task's feature are done, because evidence shows every criterion
        of the feature."""
        backlog, names = self.backlog, self.idle_tasks(task)
        for name in names:
            backlog = backlog.with_task(name, state="done", note=SHOWN_BEFORE)
        idle = tuple(name for name in self.idle if name not in names)
        return self.model_copy(update={"backlog": backlog, "idle": idle})

    def with_result(self, name: str, gaps: Sequence[Finding], *, stuck: bool) -> "Crew":
        """A copy with the task's state after an attempt: done if there is no gap; failed if the task is stuck or this
        was its last attempt; else open."""
        task = self.backlog.task(name)
        over = stuck or task.attempts >= task.limit
        state = "done" if not gaps else "failed" if over else "open"
        note = (STUCK if stuck else SEE_RESULTS) if state == "failed" else ""
        earlier_note = "" if task.note in (STUCK, SEE_RESULTS) else task.note
        update: dict[str, object] = {"backlog": self.backlog.with_task(name, state=state, note=note or earlier_note)}
        if state == "done" and task.attempts > 1 and name in self.sent_back:
            update["recoveries"] = self.recoveries + 1
        return self.model_copy(update=update)

    def with_sent_back(self, name: str) -> "Crew":
        """A copy that lists this task as sent back, because QA or the engine found a gap in its work. A conflict with
        other work is not such a gap."""
        return self.model_copy(update={"sent_back": tuple(dict.fromkeys((*self.sent_back, name)))})

    def with_held(self, judged: Iterable[Judged]) -> "Crew":
        """A copy with the requirements that hold on the newest accepted commit."""
        holds_now = {judgement.id: judgement.holds for judgement in judged}
        held = {name for name in self.held if name not in holds_now} | {
            name for name, holds in holds_now.items() if holds
        }
        # On a new commit, the whole goal has to be proven again.
        proven = tuple(name for name in self.proven if name != "plan")
        return self.model_copy(update={"held": tuple(sorted(held)), "proven": proven})

    def regressions(self, judged: Iterable[Judged]) -> tuple[Finding, ...]:
        """A gap for each requirement that held before this work and no longer does."""
        lost = [judgement for judgement in judged if not judgement.holds and judgement.id in self.held]
        with_gaps = [(judgement, judgement.gaps or (Finding(what=reason_for_agents(judgement)),)) for judgement in lost]
        return tuple(
            Finding(what=f"{judgement.id} held before this work: {gap.what}", where=gap.where, requirement=judgement.id)
            for judgement, gaps in with_gaps
            for gap in gaps
        )

    def with_edits(self, backlog: Backlog) -> "Crew":
        """A copy with the backlog as a person edited it; a feature with a new or reopened task is in progress again."""
        states = {task.id: task.state for task in self.backlog.tasks}
        for feature in backlog.features:
            opened = any(task.is_open and states.get(task.id) != "open" for task in feature.tasks)
            if opened and feature.status in ("completed", "failed"):
                backlog = backlog.with_feature(feature.id, status="in_progress", uat="pending")
        again = {other.id for other in backlog.features if other.status in ("pending", "in_progress")}
        before = {other.id for other in self.backlog.features if other.status in ("pending", "in_progress")}
        # Reopened features are work of this run, no longer of an earlier goal.
        earlier = tuple(name for name in self.earlier if name not in again - before)
        update: dict[str, object] = {"backlog": backlog, "earlier": earlier}
        if again - before:  # the reopened features and the whole goal have to be proven again
            update["proven"] = tuple(name for name in self.proven if name != "plan" and name not in again)
        return self.model_copy(update=update)

    def with_feature(self, name: str, **fields: object) -> "Crew":
        return self.model_copy(update={"backlog": self.backlog.with_feature(name, **fields)})

    def with_feature_closed(self, name: str) -> "Crew":
        """A copy in which the feature is closed: completed if its tasks are done, its criteria held, and UAT passed or
        is off; else failed."""
        if not self.backlog.holds(name):
            return self
        accepted = self.backlog.feature(name).uat == "passed" or not self.validates(self.feature_task(name))
        good = self.has_all_tasks_done(name) and accepted and name in self.proven
        return self.with_feature(name, status="completed" if good else "failed")

    def with_proven(self, *names: str) -> "Crew":
        """A copy that lists these features (or "plan") as proven: all their criteria held."""
        return self.model_copy(update={"proven": tuple(sorted({*self.proven, *names}))})

    # -- the files -----------------------------------------------------------------------------------------------------

    @property
    def files(self) -> dict[str, str]:
        return {**self.records.files(self.goal.text, self.backlog, self.settings), **self.kept}

    def with_records(self, records: Records) -> "Crew":
        return self.model_copy(update={"records": records})

    # -- subjects ------------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """The plan to seal: every sentence of the goal, and every criterion of a feature."""
        parts = parse_goal(self.goal)
        features = self.features
        tasks = [self.feature_task(other.id) for other in features]
        tasks += [self.task(task.id) for feature in features for task in feature.tasks]
        return Plan(
            title=cut_title(self.goal.heading),
            tasks=tuple(tasks),
            criteria=(*parts.criteria, *parts.constraints, *self.criteria),
            unread=parts.sentences,
            source=self.goal.source,
            requirements=tuple(_requirements(self.backlog, features)),
            author="pm",
            text=self.goal.text,
            undecided=self.unchecked,
        )

    def feature_task(self, name: str) -> Task:
        feature = self.backlog.feature(name)
        lines = [feature.name, *(f"- {criterion.id}: {criterion.text}" for criterion in feature.criteria)]
        return Task(id=name, title=cut_title(feature.name), scope=feature.name, brief="\n".join(lines))

    def task(self, name: str) -> Task:
        feature, backlog_task = self.backlog.feature(name), self.backlog.task(name)
        lines = [backlog_task.description, f"It is a task of the feature {feature.id}: {feature.name}"]
        lines += [
            f"Tests that will show it: {tests.command}"
            for tests in self.tests.get(feature.id, ())
            if tests.task == name
        ]
        return Task(
            id=name,
            title=cut_title(backlog_task.description),
            scope=backlog_task.description,
            brief="\n".join(lines),
            files=backlog_task.files,
        )

    def named_tests(self, task: str) -> tuple[str, ...]:
        """Test commands that must pass after this task; after a feature's last task, all commands of the feature."""
        feature = self.backlog.feature(task)
        done = {other.id for other in feature.tasks if other.state == "done"} | {task}
        due = [
            test
            for test in self.tests.get(feature.id, ())
            if test.task in done or (not test.task and self.is_last(task))
        ]
        return tuple(dict.fromkeys(tests.command.strip() for tests in due))


def criterion_lines(backlog: Backlog) -> dict[str, int]:
    """Criterion → its line in the backlog."""
    rows = enumerate(render(backlog).splitlines(), 1)
    return {match[1]: number for number, text in rows if (match := re.match(r"- \*\*(F\d+-C\d+)\*\*", text))}


def _requirements(backlog: Backlog, features: Sequence[BacklogFeature]) -> Iterator[Requirement]:
    """Each criterion of these features as a requirement, with its line in the backlog."""
    lines = criterion_lines(backlog)
    for feature in features:
        for criterion in feature.criteria:
            source = Source(file=BACKLOG, line=lines.get(criterion.id, 1))
            yield Requirement(id=criterion.id, text=criterion.text, source=source, covers=(feature.id,))


def _without_cycles(backlog: Backlog, feature: str, names: Iterable[str]) -> tuple[str, ...]:
    before = {feature.id: {*feature.depends_on} for feature in backlog.features}
    return tuple(name for name in names if feature not in _all_dependencies(before, name))


def _all_dependencies(needs: Mapping[str, set[str]], start: str) -> set[str]:
    """Everything that `start` depends on, and `start` itself."""
    reached, pending = set[str](), [start]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += needs.get(name, set())
    return reached
