"""Crew: the state of a team, with its goal, backlog, specifications, and what was accepted so far."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trued.inputs.goals import parse_goal
from trued.inputs.project.kind import ProjectKind
from trued.model import Criterion, Finding, Goal, Judged, Plan, Requirement, Source, Task, TeamSettings, Value
from trued.model.titles import cut_title
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
    doubts: dict[str, tuple[str, str]] = {}  # noqa: RUF012  what a planner could not do → feature, and the reason
    records: Records = Records()  # what happened, as the files show it
    planned_before: bool = False  # the goal was a list of tasks already
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
        """A copy with an older list of tasks. Failed tasks are tried again; ticks in it are only claims."""
        for one in backlog.tasks:
            if one.state == "failed":
                backlog = backlog.with_task(one.id, state="open", note=one.note or "it had failed before")
        update = {"backlog": backlog, "kept": {**self.kept, **original}, "criteria": tuple(criteria)}
        return self.model_copy(update=update)

    # -- earlier goals -------------------------------------------------------------------------------------------------

    @property
    def features(self) -> tuple[BacklogFeature, ...]:
        """The features of this run's goal."""
        return tuple(one for one in self.backlog.features if one.id not in self.earlier)

    @property
    def task_counts(self) -> tuple[int, int]:
        """The numbers of done tasks and of all tasks of this run's goal."""
        counts = [one.counts for one in self.features]
        return sum(done for done, _, _ in counts), sum(every for _, _, every in counts)

    def with_earlier_goals(self, backlog: Backlog) -> "Crew":
        """A copy with the backlog that earlier goals left. The team works on a feature of an earlier goal only if
        somebody reopens that feature."""
        names = tuple(one.id for one in backlog.features)
        return self.model_copy(update={"backlog": backlog, "earlier": names})

    # -- the plan ------------------------------------------------------------------------------------------------------

    def with_features(self, features: Sequence[PlannedFeature]) -> "Crew":
        """A copy with the PM's features under ids of their own; dependencies on names become dependencies on ids."""
        backlog, names = self.backlog, dict[str, str]()
        for one in features:
            backlog, own = backlog.with_new_feature(one.name, one.criteria, priority=one.priority)
            names.setdefault(one.name, own)
        own_ids = [feature.id for feature in backlog.features[-len(features) :]]
        for one, own in zip(features, own_ids, strict=True):
            needs = tuple(dict.fromkeys(names[name] for name in one.depends_on if names.get(name, own) != own))
            backlog = backlog.with_feature(own, depends_on=_without_cycles(backlog, own, needs))
            backlog = self._with_stories(backlog, own, one)
        return self.model_copy(update={"backlog": backlog})

    def _with_stories(self, backlog: Backlog, own: str, feature: PlannedFeature) -> Backlog:
        made, planned = dict[str, str](), list[tuple[str, PlannedTask]]()
        for story in feature.stories:
            backlog, name = backlog.with_new_story(own, story.name)
            for task in story.tasks:
                backlog, number = backlog.with_new_task(name, task.title, files=task.files, limit=self.attempts)
                planned.append((number, task))
                for known in filter(None, (task.name, task.title)):
                    made.setdefault(known, number)
        for number, task in planned:
            backlog = self._with_dependencies(backlog, number, [made[one] for one in task.depends_on if one in made])
        return backlog

    def _with_dependencies(self, backlog: Backlog, task: str, names: Iterable[str]) -> Backlog:
        """The backlog with further dependencies of a task. A dependency that would close a cycle is left out."""
        before = {one.id: {*one.depends_on} for one in backlog.tasks}
        kept = [one for one in names if one in before and one != task and task not in _all_dependencies(before, one)]
        both = tuple(dict.fromkeys((*backlog.task(task).depends_on, *kept)))
        return backlog.with_task(task, depends_on=both) if kept else backlog

    def with_spec(self, name: str, spec: str, tests: Sequence[NamedTests], needs: Sequence[Needs]) -> "Crew":
        """A copy with the tech lead's specification of a feature. It can add dependencies and tests, and remove
        nothing."""
        backlog, own = self.backlog, {one.id for one in self.backlog.feature(name).tasks}
        for one in needs:
            if one.task in own:
                backlog = self._with_dependencies(backlog, one.task, one.depends_on)
        kept = tuple(one if one.task in own else one.model_copy(update={"task": ""}) for one in tests)
        update = {"specs": {**self.specs, name: spec}, "tests": {**self.tests, name: kept}, "backlog": backlog}
        return self.model_copy(update=update)

    def with_fixes(self, name: str, tasks: Sequence[FixTask], issues: Sequence[Finding]) -> "Crew":
        """A copy with fix tasks after a failed validation. If the PM names none, the first issue becomes a task.
        `name`: the feature that was validated; "" for all features together."""
        backlog, made = self.backlog, dict[str, str]()
        wanted = tasks or (FixTask(title=f"Fix: {issues[0].what}" if issues else "Fix what was found"),)
        for task in wanted:
            home = name or (task.feature if backlog.holds(task.feature) else self._feature_concerned(issues))
            home = backlog.feature(home).id
            backlog, story = self._fix_story(backlog, home)
            backlog, number = backlog.with_new_task(story, task.title, files=task.files, limit=self.attempts)
            backlog = self._with_dependencies(backlog, number, [made[one] for one in task.depends_on if one in made])
            backlog = backlog.with_feature(home, status="in_progress", uat="pending")
            made.setdefault(task.name or task.title, number)
        left = tuple(one for one in self.proven if one != "plan" and one not in self._reopened(backlog))
        return self.model_copy(update={"backlog": backlog, "integration": "pending", "proven": left})

    def _reopened(self, backlog: Backlog) -> set[str]:
        return {one.id for one in backlog.features if one.status == "in_progress"}

    def _fix_story(self, backlog: Backlog, home: str) -> tuple[Backlog, str]:
        there = [story.id for story in backlog.feature(home).stories if story.name == "Fixes"]
        return (backlog, there[-1]) if there else backlog.with_new_story(home, "Fixes")

    def _feature_concerned(self, issues: Sequence[Finding]) -> str:
        """The feature whose criterion an issue names; else the first feature."""
        named = [one.requirement.partition("-")[0] for one in issues if one.requirement]
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
        """What no role will check, because of the settings. Every verdict lists it."""
        said = [] if self.plays("qa") else ["qa is off: only the engine's own checks test a task"]
        said += [] if self.plays("techlead") else ["techlead is off: nobody says which tests show a task"]
        uat, looks = self.plays("uat"), self.settings
        alone, together = uat and looks.uat_after_feature, uat and looks.uat_after_all
        said += [] if alone else ["no UAT after a feature: nobody looks at it as its user would"]
        said += [] if together else ["no integration UAT: nobody looks at all features together"]
        return tuple(said)

    # -- what is next --------------------------------------------------------------------------------------------------

    @property
    def next_feature(self) -> str:
        """The feature to work on: started ones first, then by priority, then in the order of the backlog."""
        features = {one.id: one for one in self.backlog.features}
        ready = [
            one
            for one in self.features
            if one.status in ("pending", "in_progress")
            and all(features[name].status == "completed" for name in one.depends_on if name in features)
        ]
        best = min(ready, key=lambda one: (one.status != "in_progress", RANK[one.priority]), default=None)
        return best.id if best else ""

    def next_wave(self, name: str, most: int) -> tuple[str, ...]:
        """Open tasks of a feature, with all dependencies met: at most `most`, to be worked on at the same time."""
        if not self.backlog.holds(name):  # a person removed it
            return ()
        states = {one.id: one.state for one in self.backlog.tasks}
        every = [one for one in self.backlog.feature(name).tasks if one.is_open]
        # Idle tasks are tried again when no other task is open.
        opened = [one for one in every if one.id not in self.idle] or every
        free = [one.id for one in opened if all(states.get(each, "done") == "done" for each in one.depends_on)]
        return tuple(free[:most])

    def is_open(self, task: str) -> bool:
        """Whether the task is to be worked on now."""
        return self.backlog.task(task).is_open and task not in self.idle

    def is_last(self, task: str) -> bool:
        """Whether all other tasks of the task's feature are done, so that the feature's criteria are due. Idle tasks
        count as done here: they wait for evidence on these criteria."""
        others = [one for one in self.backlog.feature(task).tasks if one.id != task]
        return all(one.state == "done" or one.id in self.idle for one in others)

    def idle_tasks(self, task: str) -> tuple[str, ...]:
        """Other tasks of the same feature for which nothing was changed."""
        return tuple(one.id for one in self.backlog.feature(task).tasks if one.id in self.idle and one.id != task)

    def has_other_work(self, task: str) -> bool:
        """Whether other tasks of its feature are still to be worked on."""
        others = [one for one in self.backlog.feature(task).tasks if one.id != task]
        return any(one.is_open and one.id not in self.idle for one in others)

    def due_after(self, task: str) -> tuple[str, ...]:
        """What must hold besides this task once it is done: its feature, if this is the feature's last task; then also
        the plan, if all other features are completed."""
        if not self.is_last(task):
            return ()
        name = self.backlog.feature(task).id
        others = [one for one in self.features if one.id != name]
        return (name, "plan") if all(one.status == "completed" for one in others) else (name,)

    def has_all_tasks_done(self, name: str) -> bool:
        """Whether every task of the feature is done."""
        return self.backlog.holds(name) and all(one.state == "done" for one in self.backlog.feature(name).tasks)

    @property
    def is_completed(self) -> bool:
        return bool(self.features) and all(one.status == "completed" for one in self.features)

    def with_doubt(self, about: str, part: str, words: str) -> "Crew":
        """A copy with a planner's doubt about `part` of the backlog, stored under the name `about`. It replaces an
        earlier doubt of that name; empty `words` only withdraw the earlier one."""
        left = {name: one for name, one in self.doubts.items() if name != about}
        return self.model_copy(update={"doubts": {**left, **({about: (part, words)} if words else {})}})

    def gaps_in_plan(self) -> Iterator[tuple[str, str]]:
        """Yield (feature id, reason) for everything that is unfinished; feature id "" means the whole plan."""
        for part, words in self.doubts.values():
            yield self.backlog.feature(part).id if self.backlog.holds(part) else "", words
        for feature in self.features:
            tasks = tuple(feature.tasks)
            for one in tasks:
                if one.state == "failed":
                    yield feature.id, f"task {one.id} failed, {one.attempts}/{one.limit} attempts: see {RESULTS}"
                elif one.is_open:
                    yield feature.id, f"task {one.id} is not done{self._why_open(one)}"
            if feature.status != "completed" and all(one.state == "done" for one in tasks):
                yield feature.id, f"feature {feature.id} is not completed: UAT {feature.uat}"
        if self.integration == "failed":
            yield from (("", f"integration UAT failed: {one}") for one in self.unmet or ("no reason was given",))

    def _why_open(self, task: BacklogTask) -> str:
        feature = self.backlog.feature(task.id)
        lacking = [name for name in task.depends_on if self.backlog.holds(name) and not self._is_done(name)]
        lacking += [name for name in feature.depends_on if self.backlog.feature(name).status != "completed"]
        return f": it needs {', '.join(lacking)}" if lacking else ""

    def _is_done(self, task: str) -> bool:
        return self.backlog.task(task).state == "done"

    # -- what happened -------------------------------------------------------------------------------------------------

    def with_new_attempts(self, tasks: Sequence[str]) -> "Crew":
        """A copy with one more attempt for each task; none of them is idle any more."""
        backlog = self.backlog
        for name in tasks:
            backlog = backlog.with_task(name, attempts=backlog.task(name).attempts + 1)
        idle = tuple(one for one in self.idle if one not in {*tasks})
        return self.model_copy(update={"backlog": backlog, "idle": idle})

    def with_idle(self, name: str) -> "Crew":
        """A copy in which the task is idle: nothing was changed for it, so it waits for the others of its feature."""
        return self.model_copy(update={"idle": (*self.idle, name)})

    def with_idle_done(self, task: str) -> "Crew":
        """A copy in which the other idle tasks of the task's feature are done, because evidence shows every criterion
        of the feature."""
        backlog, names = self.backlog, self.idle_tasks(task)
        for name in names:
            backlog = backlog.with_task(name, state="done", note=SHOWN_BEFORE)
        left = tuple(one for one in self.idle if one not in names)
        return self.model_copy(update={"backlog": backlog, "idle": left})

    def with_result(self, name: str, gaps: Sequence[Finding], *, stuck: bool) -> "Crew":
        """A copy with the task's state after an attempt: done if there is no gap; failed if it is stuck or this was the
        last attempt; else open."""
        task = self.backlog.task(name)
        over = stuck or task.attempts >= task.limit
        state = "done" if not gaps else "failed" if over else "open"
        note = (STUCK if stuck else SEE_RESULTS) if state == "failed" else ""
        kept = "" if task.note in (STUCK, SEE_RESULTS) else task.note
        update: dict[str, object] = {"backlog": self.backlog.with_task(name, state=state, note=note or kept)}
        if state == "done" and task.attempts > 1 and name in self.sent_back:
            update["recoveries"] = self.recoveries + 1
        return self.model_copy(update=update)

    def with_sent_back(self, name: str) -> "Crew":
        """A copy that lists this task as sent back, because QA or the engine found a gap in its work. A conflict with
        other work is not such a gap."""
        return self.model_copy(update={"sent_back": tuple(dict.fromkeys((*self.sent_back, name)))})

    def with_held(self, judged: Iterable[Judged]) -> "Crew":
        """A copy with the requirements that hold on the newest accepted commit."""
        found = {one.id: one.holds for one in judged}
        held = {name for name in self.held if name not in found} | {name for name, holds in found.items() if holds}
        # On a new commit, the whole goal has to be proven again.
        left = tuple(one for one in self.proven if one != "plan")
        return self.model_copy(update={"held": tuple(sorted(held)), "proven": left})

    def regressions(self, judged: Iterable[Judged]) -> tuple[Finding, ...]:
        """A gap for each requirement that held before this work and does not any more."""
        lost = [one for one in judged if not one.holds and one.id in self.held]
        with_gaps = [(one, one.gaps or (Finding(what=one.reason),)) for one in lost]
        return tuple(
            Finding(what=f"{one.id} held before this work: {gap.what}", where=gap.where, requirement=one.id)
            for one, gaps in with_gaps
            for gap in gaps
        )

    def with_edits(self, backlog: Backlog) -> "Crew":
        """A copy with the backlog as a person edited it; a feature with a new or reopened task is in progress again."""
        states = {one.id: one.state for one in self.backlog.tasks}
        for feature in backlog.features:
            opened = any(one.is_open and states.get(one.id) != "open" for one in feature.tasks)
            if opened and feature.status in ("completed", "failed"):
                backlog = backlog.with_feature(feature.id, status="in_progress", uat="pending")
        again = {one.id for one in backlog.features if one.status in ("pending", "in_progress")}
        before = {one.id for one in self.backlog.features if one.status in ("pending", "in_progress")}
        # Reopened features are work of this run, no longer of an earlier goal.
        earlier = tuple(one for one in self.earlier if one not in again - before)
        update: dict[str, object] = {"backlog": backlog, "earlier": earlier}
        if again - before:  # the reopened features and the whole goal have to be proven again
            update["proven"] = tuple(one for one in self.proven if one != "plan" and one not in again)
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
        """A copy that lists these features (or "plan") as proven: their criteria were due and held."""
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
        tasks = [self.feature_task(one.id) for one in features]
        tasks += [self.task(one.id) for feature in features for one in feature.tasks]
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
        lines = [feature.name, *(f"- {one.id}: {one.text}" for one in feature.criteria)]
        return Task(id=name, title=cut_title(feature.name), scope=feature.name, brief="\n".join(lines))

    def task(self, name: str) -> Task:
        feature, one = self.backlog.feature(name), self.backlog.task(name)
        lines = [one.description, f"It is a task of the feature {feature.id}: {feature.name}"]
        lines += [
            f"Tests that will show it: {tests.command}"
            for tests in self.tests.get(feature.id, ())
            if tests.task == name
        ]
        return Task(
            id=name,
            title=cut_title(one.description),
            scope=one.description,
            brief="\n".join(lines),
            files=one.files,
        )

    def named_tests(self, task: str) -> tuple[str, ...]:
        """Test commands that must pass after this task; after a feature's last task, all commands of the feature."""
        feature = self.backlog.feature(task)
        done = {one.id for one in feature.tasks if one.state == "done"} | {task}
        due = [
            one for one in self.tests.get(feature.id, ()) if one.task in done or (not one.task and self.is_last(task))
        ]
        return tuple(dict.fromkeys(one.command.strip() for one in due))


def criterion_lines(backlog: Backlog) -> dict[str, int]:
    """Criterion → its line in the backlog."""
    rows = enumerate(render(backlog).splitlines(), 1)
    return {found[1]: number for number, text in rows if (found := re.match(r"- \*\*(F\d+-C\d+)\*\*", text))}


def _requirements(backlog: Backlog, features: Sequence[BacklogFeature]) -> Iterator[Requirement]:
    """Each criterion of these features as a requirement, with its line in the backlog."""
    lines = criterion_lines(backlog)
    for feature in features:
        for one in feature.criteria:
            source = Source(file=BACKLOG, line=lines.get(one.id, 1))
            yield Requirement(id=one.id, text=one.text, source=source, covers=(feature.id,))


def _without_cycles(backlog: Backlog, own: str, names: Iterable[str]) -> tuple[str, ...]:
    before = {one.id: {*one.depends_on} for one in backlog.features}
    return tuple(name for name in names if own not in _all_dependencies(before, name))


def _all_dependencies(needs: Mapping[str, set[str]], start: str) -> set[str]:
    """Everything that `start` depends on, and `start` itself."""
    found, left = set[str](), [start]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += needs.get(one, set())
    return found
