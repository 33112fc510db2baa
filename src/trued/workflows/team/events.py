"""Events of the team workflow: its progress, what its roles ask each other, and what was taken over from files."""

from typing import Literal, TypeAlias

from pydantic import Field

from trued.model.events import JournalEvent

ReportKind: TypeAlias = Literal["", "begun", "attempt", "task", "feature", "uat", "finished"]


class TeamReported(JournalEvent, kind="team"):
    """The team's progress: counts, and the feature and task that it works on."""

    kind: ReportKind
    feature: str = ""
    feature_name: str = ""
    task: str = ""
    task_name: str = ""
    attempt: int = 0
    attempts: int = 0  # how many attempts the task may have
    qa: str = ""
    uat: str = ""
    features_done: int = 0
    features: int = 0
    tasks_done: int = 0
    tasks: int = 0
    recoveries: int = 0
    why: tuple[str, ...] = ()
    state: str = ""  # the state of the task in the backlog; without a task, that of the feature
    # Only at the beginning: the kind of project, its commands, and the features found.
    project: str = ""
    commands: dict[str, str] = Field(default_factory=dict)
    found: tuple[str, ...] = ()


class RoleAsks(JournalEvent, kind="team asks"):
    """A role asks another one."""

    who: str
    to: str
    text: str


class RoleAnswers(JournalEvent, kind="team answers"):
    """A role answers a question of the team."""

    role: str
    text: str


class FixTasksMade(JournalEvent, kind="fix tasks"):
    """The PM made tasks to fix what UAT or a person found."""

    about: str
    tasks: tuple[str, ...]


class FileTakenOver(JournalEvent, kind="migrated"):
    """A file of an older tool was read and taken over."""

    file: str
    said: tuple[str, ...]


class FileNotTakenOver(JournalEvent, kind="not migrated"):
    """A file of an older tool could not be taken over; it is left as it is."""

    file: str
    why: str


EVENTS = (TeamReported, RoleAsks, RoleAnswers, FixTasksMade, FileTakenOver, FileNotTakenOver)
