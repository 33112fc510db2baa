"""What a team has to do: features, their stories, tasks and acceptance criteria, with ids that are never used twice."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field

from trued.model import Value
from trued.support.redaction import plain
from trued.workflows.team.backlog import writing as lines

Progress: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
Priority: TypeAlias = Literal["high", "medium", "low"]
Accepted: TypeAlias = Literal["pending", "passed", "failed"]  # by the user acceptance test
State: TypeAlias = Literal["open", "done", "failed"]

ATTEMPTS = 10
TEXT_LIMIT = 2000  # characters of one entry: a longer one is no line that anybody reads
NEW = "new-"  # before the number of what a person added and nobody has given an id yet
NO_NAME = "(no name)"


def one_line(text: str) -> str:
    """Whatever it says: on one line, without controls, not endless."""
    words = " ".join(plain(text).split())
    return words if len(words) <= TEXT_LIMIT else f"{words[: TEXT_LIMIT - 4].rstrip()} […]"


def _named(text: str) -> str:
    return text or NO_NAME


def _paths(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path.replace("`", "'") for path in paths if path))


Line: TypeAlias = Annotated[str, AfterValidator(one_line)]
Name: TypeAlias = Annotated[Line, AfterValidator(_named)]
Paths: TypeAlias = Annotated[tuple[Line, ...], AfterValidator(_paths)]
Ids: TypeAlias = tuple[str, ...]


class Piece(Value):
    """A line of the file that a person wrote in their own way, and what they wrote below it."""

    name: str  # what the line says: "status"; "+F1-T2" stands for a part with pieces of its own
    lead: str = ""  # what the line begins with, where that is not what the engine writes
    head: str = ""  # byte for byte; empty: as the engine writes it
    tail: str = ""  # what stands below it, and says nothing that the engine reads


class Part(Value):
    """What has a place in the file. Where a person wrote it in their own way, `kept` says how."""

    kept: tuple[Piece, ...] = ()

    def changed(self, **fields: Any) -> Self:
        """With these fields; a line that says something else now is the engine's again, what stands below it stays."""
        now = {name: getattr(self, name) for name in type(self).model_fields}
        stale = {self._line_of(name) for name, value in fields.items() if now[name] != value}
        kept = tuple(_own(piece) if piece.name in stale else piece for piece in fields.get("kept", self.kept))
        return type(self)(**{**now, **fields, "kept": kept})

    @staticmethod
    def _line_of(field: str) -> str:
        """The line of the file that says this."""
        return "" if field in ("kept", "criteria", "stories", "tasks", "features") else field


def _own(piece: Piece) -> Piece:
    return piece.model_copy(update={"head": ""})


class Acceptance(Part):
    """An acceptance criterion of a feature."""

    id: str
    text: Name
    added: bool = False  # by a person, after the contract was sealed

    @staticmethod
    def _line_of(field: str) -> str:
        return "" if field == "kept" else "line"


class BacklogTask(Part):
    id: str
    description: Name
    state: State = "open"
    attempts: int = Field(default=0, ge=0)
    limit: int = Field(default=ATTEMPTS, ge=0)
    depends_on: Ids = ()
    files: Paths = ()
    note: Line = ""
    by_person: bool = False  # ticked by a person: not to be worked on, and no evidence of anything

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @staticmethod
    def _line_of(field: str) -> str:
        return field if field in ("kept", "depends_on", "files", "note", "by_person") else "line"


class Story(Part):
    """Tasks that serve one thing which a user can do. One without a name holds tasks that stand in no story."""

    id: str
    name: Line = ""
    feature: str = ""
    status: Progress = "pending"
    tasks: tuple[BacklogTask, ...] = ()

    @property
    def done(self) -> int:
        return sum(task.state == "done" for task in self.tasks)

    @property
    def standing(self) -> Progress:
        """What its tasks make of it."""
        states = {task.state for task in self.tasks}
        if states <= {"done"}:
            return "completed" if states else "pending"
        if "open" not in states:
            return "failed"
        return "in_progress" if len(states) > 1 or any(task.attempts for task in self.tasks) else "pending"

    def settled(self) -> "Story":
        return self if self.status == self.standing else self.changed(status=self.standing)

    @staticmethod
    def _line_of(field: str) -> str:
        return "heading" if field in ("id", "name") else Part._line_of(field)


class BacklogFeature(Part):
    id: str
    name: Name
    status: Progress = "pending"
    priority: Priority = "medium"
    uat: Accepted = "pending"
    depends_on: Ids = ()  # features
    criteria: tuple[Acceptance, ...] = ()
    stories: tuple[Story, ...] = ()
    archived: bool = False  # its stories stand in the archive
    given: tuple[int, int, int] = (0, 0, 0)  # criteria, stories and tasks that had an id and are gone: the last numbers

    @property
    def tasks(self) -> Iterator[BacklogTask]:
        return (task for story in self.stories for task in story.tasks)

    @property
    def is_away(self) -> bool:
        """What goes on is in the file again."""
        return self.archived and self.status == "completed"

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Tasks that are done, failed, and all."""
        states = [task.state for task in self.tasks]
        return states.count("done"), states.count("failed"), len(states)

    @cached_property
    def text(self) -> str:
        """Its part of the file, written once: a backlog of a thousand tasks is joined, not written anew."""
        return lines.written(self)

    @cached_property
    def whole_text(self) -> str:
        """With its stories, for the archive."""
        return lines.written(self.changed(archived=False, kept=()))

    @cached_property
    def away(self) -> "BacklogFeature":
        """With its stories in the archive."""
        if self.archived:
            return self
        away = self.changed(archived=True)
        if not self.kept:
            away.__dict__["whole_text"] = self.text  # the same words: they are not written twice
        return away

    @cached_property
    def row(self) -> tuple[str, str]:
        """Its status, and a line of the list of all features."""
        return self.status, f"- **{self.id}**: {lines.escaped(self.name)} (UAT: {self.uat})"

    @cached_property
    def tally(self) -> tuple[int, int, int, int]:
        """Its counts, and 1 if it is completed: a long backlog is counted by one look at each feature."""
        return (*self.counts, int(self.status == "completed"))

    @property
    def stories_done(self) -> int:
        return sum(story.standing == "completed" for story in self.stories)

    def story(self, name: str) -> Story:
        return next(story for story in self.stories if story.id == name)

    def last(self, kind: str) -> int:
        """The highest number of its criteria (C), stories (S) or tasks (T) that was ever given."""
        held: Sequence[Part] = {"C": self.criteria, "S": self.stories, "T": tuple(self.tasks)}[kind]
        own = [_number(str(getattr(part, "id", "")), f"{self.id}-{kind}") for part in held]
        return max([self.given["CST".index(kind)], *own])

    def with_story(self, story: Story) -> "BacklogFeature":
        stories = tuple(story if one.id == story.id else one for one in self.stories)
        return self.changed(stories=stories if story in stories else (*stories, story))

    @staticmethod
    def _line_of(field: str) -> str:
        return "heading" if field in ("id", "name") else Part._line_of(field)


def _number(name: str, series: str) -> int:
    rest = name.removeprefix(series)
    return int(rest) if rest != name and rest.isdigit() else 0


class Backlog(Part):
    """All features, in the order in which they are worked on where nothing else says one."""

    features: tuple[BacklogFeature, ...] = ()
    given: int = 0  # the last number of a feature that is gone

    # -- what there is -------------------------------------------------------------------------------------------------

    def feature(self, name: str) -> BacklogFeature:
        """By its id, or by the id of one of its tasks or stories."""
        home = self._home(name)
        if home is None:
            raise KeyError(name)
        return home

    def task(self, name: str) -> BacklogTask:
        return next(task for task in self.feature(name).tasks if task.id == name)

    def story_of(self, task: str) -> Story:
        return next(story for story in self.feature(task).stories if any(one.id == task for one in story.tasks))

    def holds(self, name: str) -> bool:
        return self._home(name) is not None

    @property
    def tasks(self) -> Iterator[BacklogTask]:
        return (task for feature in self.features for task in feature.tasks)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tasks that are done, failed, and all."""
        return self.tally[:3]

    @property
    def tally(self) -> tuple[int, int, int, int]:
        """The same, and how many features are completed."""
        if not self.features:
            return 0, 0, 0, 0
        done, failed, every, completed = zip(*[feature.tally for feature in self.features], strict=True)
        return sum(done), sum(failed), sum(every), sum(completed)

    def _home(self, name: str) -> BacklogFeature | None:
        """Most stand where they were made; a person may have moved one."""
        at = self.place(name.partition("-")[0])
        for feature in (*self.features[at : at + 1], *self.features):
            if name == feature.id or any(name in _ids(story) for story in feature.stories):
                return feature
        return None

    def place(self, feature: str) -> int:
        """Where it stands: most at the place that their number says."""
        at = _number(feature, "F") - 1
        if 0 <= at < len(self.features) and self.features[at].id == feature:
            return at
        return next((at for at, one in enumerate(self.features) if one.id == feature), len(self.features))

    # -- what is added -------------------------------------------------------------------------------------------------

    def with_new_feature(
        self, name: str, criteria: Sequence[str] = (), *, priority: Priority = "medium", depends_on: Ids = ()
    ) -> tuple["Backlog", str]:
        """The backlog with this feature at its end, and its id."""
        number = max([self.given, *(_number(one.id, "F") for one in self.features)]) + 1
        own = f"F{number}"
        rows = tuple(Acceptance(id=f"{own}-C{at}", text=text) for at, text in enumerate(criteria, 1))
        feature = BacklogFeature(id=own, name=name, criteria=rows, priority=priority, depends_on=depends_on)
        return self.changed(features=(*self.features, feature)), own

    def with_new_story(self, feature: str, name: str) -> tuple["Backlog", str]:
        home = self.feature(feature)
        own = f"{home.id}-S{home.last('S') + 1}"
        story = Story(id=own, name=name, feature=home.id)
        return self.with_part(home.changed(stories=(*home.stories, story))), own

    def with_new_task(
        self,
        story: str,
        description: str,
        *,
        depends_on: Ids = (),
        files: Sequence[str] = (),
        limit: int = ATTEMPTS,
        note: str = "",
    ) -> tuple["Backlog", str]:
        home = self.feature(story)
        own = f"{home.id}-T{self.last_task(home) + 1}"
        new = BacklogTask(
            id=own, description=description, depends_on=depends_on, files=tuple(files), limit=limit, note=note
        )
        there = home.story(story)
        return self.with_part(home.with_story(there.changed(tasks=(*there.tasks, new)).settled())), own

    def last_task(self, home: BacklogFeature) -> int:
        """Also of tasks that a person moved to another feature."""
        series = f"{home.id}-T"
        moved = [task.id for one in self.features if one is not home for task in one.tasks if series in task.id]
        return max([home.last("T"), *(_number(name, series) for name in moved)])

    # -- what changes --------------------------------------------------------------------------------------------------

    def with_part(self, feature: BacklogFeature) -> "Backlog":
        at = self.place(feature.id)
        features = (*self.features[:at], feature, *self.features[at + 1 :])
        return self.model_copy(update={"features": features})  # the others are what they were

    def with_feature(self, name: str, **fields: Any) -> "Backlog":
        return self.with_part(self.feature(name).changed(**fields))

    def with_task(self, name: str, **fields: Any) -> "Backlog":
        """The task with these fields, its story's status as its tasks make it."""
        home, story = self.feature(name), self.story_of(name)
        tasks = tuple(one.changed(**fields) if one.id == name else one for one in story.tasks)
        return self.with_part(home.with_story(story.changed(tasks=tasks).settled()))


def _ids(story: Story) -> Iterator[str]:
    yield story.id
    yield from (task.id for task in story.tasks)
