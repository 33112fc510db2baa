"""Merges a person's edit of `backlog.md` with what the team changed meanwhile, and reports what was applied."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from trued.support.plain_text import plain_line
from trued.workflows.team.backlog.items import (
    ATTEMPTS,
    AcceptanceItem,
    Backlog,
    BacklogFeature,
    BacklogTask,
    Part,
    Story,
    is_new,
)

P = TypeVar("P", AcceptanceItem, BacklogTask, Story, BacklogFeature)
Q = TypeVar("Q", Story, BacklogFeature)
SHOWN = 60  # characters of a name in a sentence
AMEND = "only `trued amend` changes that"
ADDED = "added by hand"


def merge_edit(
    before: Backlog, after: Backlog, now: Backlog, sealed: Collection[str] | None = None
) -> tuple[Backlog, tuple[str, ...]]:
    """Apply a person's edits (`before` → `after`) to `now`; also return sentences on what was applied and what was not.
    `sealed`: ids of the contract's criteria; None means all except those that a person added."""
    if after == before:
        return now, ()
    if not after.features and now.features:
        return now, ("no feature is left in the file: this is treated as a mistake, and nothing was changed",)
    merge = _Merge(before, _without_known_lines(before, after), now, sealed)
    return merge.backlog(), tuple(merge.said)


def _without_known_lines(before: Backlog, after: Backlog) -> Backlog:
    """Remove the new lines (lines without an id) from `after` that are already in `before`. Each of them became a part
    of the backlog when `before` was merged."""
    known = {(feature.id, line) for feature in before.features for line in _new_lines(feature)}
    return after.changed(
        features=tuple(
            _without(feature, {line for of, line in known if of == feature.id}) for feature in after.features
        )
    )


def _new_lines(feature: BacklogFeature) -> Iterable[str]:
    yield from (f"task {task.description}" for task in feature.tasks if is_new(task.id))
    yield from (f"criterion {criterion.text}" for criterion in feature.criteria if is_new(criterion.id))


def _without(feature: BacklogFeature, known: Collection[str]) -> BacklogFeature:
    if not known:
        return feature

    def stays(name: str, line: str) -> bool:
        return not (is_new(name) and line in known)

    stories = tuple(
        story.changed(tasks=tuple(task for task in story.tasks if stays(task.id, f"task {task.description}")))
        for story in feature.stories
    )
    criteria = tuple(criterion for criterion in feature.criteria if stays(criterion.id, f"criterion {criterion.text}"))
    return feature.changed(stories=stories, criteria=criteria)


class _Merge:
    def __init__(self, before: Backlog, after: Backlog, now: Backlog, sealed: Collection[str] | None) -> None:
        self.before, self.after, self.now = _Index(before), _Index(after), _Index(now)
        self.limit = next((task.limit for task in now.tasks), ATTEMPTS)
        self.sealed = (
            [name for name, criterion in self.now.criteria.items() if not criterion.added] if sealed is None else sealed
        )
        self.said: list[str] = []
        self.made: dict[str, int] = {}  # series, such as "F1-T" → the last number given in it
        self.named: dict[str, str] = {}  # temporary name of a new part → its final name
        self.numbers(now)

    def numbers(self, now: Backlog) -> None:
        for name in (*self.now.all, *self.before.all):
            self._remember_number(name)
        self.made["F"] = max(self.made.get("F", 0), now.given)
        for feature in now.features:
            for kind, last in zip("CST", feature.given, strict=True):
                series = f"{feature.id}-{kind}"
                self.made[series] = max(self.made.get(series, 0), last)

    def _remember_number(self, name: str) -> None:
        series = name.rstrip("0123456789")
        if number := name[len(series) :]:
            self.made[series] = max(self.made.get(series, 0), int(number))

    def _next(self, series: str, part: Part | None = None) -> str:
        self.made[series] = self.made.get(series, 0) + 1
        name = f"{series}{self.made[series]}"
        if part is not None:
            self.named[f"+{getattr(part, 'id', '')}"] = f"+{name}"
        return name

    def _with_final_names(self, part: Q) -> Q:
        """A copy whose pieces name new parts by their final ids, so that the new parts stay where the person put
        them."""
        pieces = tuple(piece.model_copy(update={"name": self.named.get(piece.name, piece.name)}) for piece in part.kept)
        return part.changed(kept=pieces) if pieces != part.kept else part

    # -- the whole -----------------------------------------------------------------------------------------------------

    def backlog(self) -> Backlog:
        known = self._in_place("features", self.now.backlog.features, self.after.backlog.features, self.before.features)
        features = self._without_cycles([self._with_last_numbers(self._feature(feature)) for feature in known])
        self._order()
        last = max((int(feature.id[1:]) for feature in features), default=0)
        highest = self.made["F"] if self.made.get("F", 0) > last else self.now.backlog.given
        return Backlog(features=tuple(features), given=highest, kept=self.after.backlog.kept)

    def _in_place(self, what: str, now: Sequence[P], after: Sequence[P], before: Mapping[str, Any]) -> list[P]:
        """The parts in the person's order. A part that the team added meanwhile is inserted after the part that
        precedes it in `now`. Parts that the person removed are left out, and reported."""
        parts = list(after)
        in_edit = getattr(self.after, what)
        previous = ""
        for known in now:
            if known.id in in_edit or known.id in before:
                previous = known.id if any(part.id == known.id for part in parts) else previous
                continue
            position = next((number for number, part in enumerate(parts) if part.id == previous), len(parts) - 1)
            parts.insert(position + 1, known)
            previous = known.id
        for known in now:
            if known.id not in in_edit and known.id in before:
                self._removed(what, known)
        return parts

    def _removed(self, what: str, part: Part) -> None:
        name = getattr(part, "id", "")
        if what == "features" and (
            held := [criterion.id for criterion in getattr(part, "criteria", ()) if criterion.id in self.sealed]
        ):
            self.said.append(
                f"{name} is no longer worked on, because you removed it; {_list(held)} stay in the contract: {AMEND}"
            )
        elif what != "criteria":
            self.said.append(f"{name} is no longer worked on, because you removed it")

    def _order(self) -> None:
        for what, title in (("features", "features"), ("tasks", "tasks")):
            old, new = getattr(self.before, what), getattr(self.after, what)
            if [name for name in old if name in new] != [name for name in new if name in old]:
                self.said.append(f"the {title} are in your order now")

    def _with_last_numbers(self, feature: BacklogFeature) -> BacklogFeature:
        """The feature with `given` updated: the highest numbers of parts that were removed. So no id is used twice."""
        was = self.now.features.get(feature.id)
        last = [self.made.get(f"{feature.id}-{kind}", 0) for kind in "CST"]
        highest = tuple(
            number if number > feature.changed(given=(0, 0, 0)).last(kind) else (was.given[position] if was else 0)
            for position, (kind, number) in enumerate(zip("CST", last, strict=True))
        )
        return feature.changed(given=highest)

    # -- a feature -----------------------------------------------------------------------------------------------------

    def _feature(self, after: BacklogFeature) -> BacklogFeature:
        before, now = self.before.features.get(after.id), self.now.features.get(after.id)
        if before is None and now is not None and now is after:
            return now  # it was added meanwhile
        if before is None or now is None:
            return self._new_feature(after)
        fields: dict[str, Any] = self._theirs(before, after, now, ("name", "priority", "depends_on"))
        fields |= {"status": now.status, "uat": now.uat}
        fields["criteria"] = self._criteria(after, now)
        fields["stories"] = self._stories(after, now)
        return self._with_status(before, after, self._with_final_names(after.changed(**fields)))

    def _new_feature(self, after: BacklogFeature) -> BacklogFeature:
        name = self._next("F")
        self.said.append(f'{name} is new: "{plain_line(after.name, SHOWN)}"')
        feature = after.changed(id=name, status="pending", uat="pending", given=(0, 0, 0))
        bare = BacklogFeature(id=name, name=after.name)
        return self._with_final_names(
            feature.changed(criteria=self._criteria(feature, bare), stories=self._stories(feature, bare))
        )

    def _with_status(self, before: BacklogFeature, after: BacklogFeature, feature: BacklogFeature) -> BacklogFeature:
        """The feature after the person's changes to its status and its UAT result. A person may reopen or close a
        feature, but cannot mark its UAT as passed."""
        if after.status != before.status and after.status != feature.status:
            if after.status in ("completed", "failed"):
                feature = self._closed(feature, after.status)
            else:
                self.said.append(f"{feature.id} is open again, as you wrote {after.status}")
                feature = feature.changed(status="pending", uat="pending")
        if after.uat != before.uat and after.uat != feature.uat:
            if after.uat == "passed":
                self.said.append(f"the UAT of {feature.id} stays {feature.uat}: an edit cannot mark it as passed")
            else:
                self.said.append(f"the UAT of {feature.id} is {after.uat}, as you wrote")
                feature = feature.changed(uat=after.uat)
        return feature

    def _closed(self, feature: BacklogFeature, status: str) -> BacklogFeature:
        state = "done" if status == "completed" else "failed"
        shut = {"state": state, "by_person": True}
        stories = tuple(
            story.changed(tasks=tuple(task.changed(**shut) if task.is_open else task for task in story.tasks)).settled()
            for story in feature.stories
        )
        ends = "UAT and evidence still decide" if state == "done" else "it counts as failed"
        self.said.append(f"open tasks of {feature.id} are not worked on, as you wrote {status}; {ends}")
        return feature.changed(stories=stories, **({} if state == "done" else {"status": "failed"}))

    # -- criteria ------------------------------------------------------------------------------------------------------

    def _criteria(self, after: BacklogFeature, now: BacklogFeature) -> tuple[AcceptanceItem, ...]:
        parts = self._in_place("criteria", now.criteria, after.criteria, self.before.criteria)
        criteria = [self._criterion(criterion, now) for criterion in parts]
        for number, criterion in enumerate(now.criteria):
            if criterion.id not in self.sealed or criterion.id in self.after.criteria or criterion in criteria:
                continue
            positions = {part.id: position for position, part in enumerate(criteria)}
            above = [positions[other.id] for other in now.criteria[:number] if other.id in positions]
            criteria.insert(max(above, default=-1) + 1, criterion)
            self.said.append(f"{criterion.id} was restored, because the sealed contract contains it: {AMEND}")
        return tuple(criteria)

    def _criterion(self, after: AcceptanceItem, now: BacklogFeature) -> AcceptanceItem:
        before, current = self.before.criteria.get(after.id), self.now.criteria.get(after.id)
        if current is after:
            return after
        if before is None or current is None:
            name = self._next(f"{now.id}-C", after)
            self.said.append(
                f"the team sees {name}, but no check covers it, because it is not in the sealed contract: {AMEND}"
            )
            return after.changed(id=name, added=True)
        after = after.changed(added=current.added)
        if after.text == before.text:
            return after.changed(text=current.text)
        notice = f", but the sealed contract keeps its words: {AMEND}" if after.id in self.sealed else ""
        self.said.append(f"{after.id} is given to the team in your words{notice}")
        return after

    # -- stories and tasks ---------------------------------------------------------------------------------------------

    def _stories(self, after: BacklogFeature, now: BacklogFeature) -> tuple[Story, ...]:
        parts = self._in_place("stories", now.stories, after.stories, self.before.stories)
        stories: list[Story] = []
        loose: list[BacklogTask] = []
        for part in parts:
            story = self._story(part, now.id)
            if story.name or not is_new(story.id):
                stories.append(story)
            else:
                loose += [task.changed(kept=()) for task in story.tasks]
        if loose and not stories:
            stories.append(Story(id=self._next(f"{now.id}-S"), name=ADDED, feature=now.id))
        if loose:
            stories[-1] = stories[-1].changed(tasks=(*stories[-1].tasks, *loose)).settled()
        return tuple(stories)

    def _story(self, after: Story, feature: str) -> Story:
        before, now = self.before.stories.get(after.id), self.now.stories.get(after.id)
        if now is after:
            return now
        fields: dict[str, Any] = {}
        if before is not None and now is not None:
            fields = self._theirs(before, after, now, ("name",))
            if after.status not in (before.status, now.status):
                self.said.append(f"your status for {after.id} was ignored: it is computed from its tasks")
        elif after.name:
            fields = {"id": self._next(f"{feature}-S", after)}
            self.said.append(f'{fields["id"]} is new: "{plain_line(after.name, SHOWN)}"')
        parts = self._in_place("tasks", now.tasks if now else (), after.tasks, self.before.tasks)
        tasks = tuple(self._task(part, feature) for part in parts)
        fields |= {"feature": feature, "tasks": tasks, "status": now.status if now else "pending"}
        return self._with_final_names(after.changed(**fields).settled())

    def _task(self, after: BacklogTask, feature: str) -> BacklogTask:
        before, now = self.before.tasks.get(after.id), self.now.tasks.get(after.id)
        if now is after:
            return now
        if before is None or now is None:
            name = self._next(f"{feature}-T", after)
            ticked = "" if after.is_open else ", and not worked on, as you marked it"
            self.said.append(f'{name} is new: "{plain_line(after.description, SHOWN)}"{ticked}')
            limit = after.limit if after.limit != ATTEMPTS else self.limit
            return after.changed(id=name, limit=limit, by_person=not after.is_open)
        fields = self._theirs(before, after, now, ("description", "depends_on", "files", "note", "limit"))
        fields |= {"state": now.state, "attempts": now.attempts, "by_person": now.by_person}
        if after.state not in (before.state, now.state):
            fields |= self._marked(after)
        if after.attempts != before.attempts:
            self.said.append(f"{after.id} has used {after.attempts} attempts, as you wrote")
            fields["attempts"] = after.attempts
        return after.changed(**fields)

    def _marked(self, task: BacklogTask) -> dict[str, Any]:
        if task.is_open:
            self.said.append(f"{task.id} is open again, with all its attempts")
            return {"state": "open", "attempts": 0, "by_person": False}
        proves = "your tick proves nothing" if task.state == "done" else "it counts as failed"
        self.said.append(f"{task.id} is not worked on, as you marked it; {proves}")
        return {"state": task.state, "by_person": True}

    def _theirs(self, before: P, after: P, now: P, fields: Iterable[str]) -> dict[str, Any]:
        """Each field with the person's value, if the person changed the field; else with its value in `now`."""
        found = {}
        for name in fields:
            theirs = getattr(after, name)
            found[name] = theirs if theirs != getattr(before, name) else getattr(now, name)
            if theirs not in (getattr(before, name), getattr(now, name)):
                self.said.append(f"{after.id} has your {_WORDS.get(name, name)} now")
        return found

    # -- what depends on what ------------------------------------------------------------------------------------------

    def _without_cycles(self, features: list[BacklogFeature]) -> list[BacklogFeature]:
        """The features without the dependencies that cannot be met: those on missing parts, or in a cycle."""
        tasks = _Needs({task.id: task.depends_on for feature in features for task in feature.tasks})
        whole = _Needs({feature.id: feature.depends_on for feature in features})
        result = []
        for feature in features:
            stories = tuple(
                story.changed(tasks=tuple(self._with_possible_needs(task, tasks) for task in story.tasks))
                for story in feature.stories
            )
            result.append(self._with_possible_needs(feature.changed(stories=stories), whole))
        return result

    def _with_possible_needs(self, part: P, needs: "_Needs") -> P:
        wanted: tuple[str, ...] = getattr(part, "depends_on", ())
        gone = [name for name in wanted if not needs.meets(part.id, name)]
        if not gone:
            return part
        if missing := [name for name in gone if name not in needs.of]:
            self.said.append(f"{part.id} cannot depend on {_list(missing)}: not in the backlog")
        if circular := [name for name in gone if name in needs.of]:
            self.said.append(f"{part.id} cannot depend on {_list(circular)}: they would depend on each other")
        needs.of[part.id] = tuple(name for name in wanted if name not in gone)
        return part.changed(depends_on=needs.of[part.id])


class _Needs:
    """A graph of dependencies."""

    def __init__(self, of: dict[str, tuple[str, ...]]) -> None:
        self.of = of

    def meets(self, task: str, other: str) -> bool:
        """Whether `task` can depend on `other`: `other` exists, and does not depend on `task`."""
        ways, seen = [other], {other}
        while ways:
            way = ways.pop()
            if way == task:
                return False
            ways += [name for name in self.of.get(way, ()) if name not in seen]
            seen.update(self.of.get(way, ()))
        return other in self.of


class _Index:
    """All parts of a backlog by id, in the order of the file."""

    def __init__(self, backlog: Backlog) -> None:
        self.backlog = backlog
        self.features = {feature.id: feature for feature in backlog.features}
        self.criteria = {criterion.id: criterion for feature in backlog.features for criterion in feature.criteria}
        self.stories = {story.id: story for feature in backlog.features for story in feature.stories}
        self.tasks = {task.id: task for task in backlog.tasks}
        self.all = [*self.features, *self.criteria, *self.stories, *self.tasks]


_WORDS = {"depends_on": "needs", "limit": "limit of attempts"}


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
