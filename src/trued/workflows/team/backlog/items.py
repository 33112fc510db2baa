"""The parts of a backlog (features, stories, tasks, criteria), and the text that the file has for each. No id is used
twice."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field

from trued.model import Value
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain_line

WorkStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
Priority: TypeAlias = Literal["high", "medium", "low"]
Accepted: TypeAlias = Literal["pending", "passed", "failed"]  # result of the user acceptance test (UAT)
TaskStatus: TypeAlias = Literal["open", "done", "failed"]

ATTEMPTS = 10
TEXT_LIMIT = 2000  # characters in one entry: people do not read a longer line
NEW = "new-"  # prefix of the temporary id of something that a person added
NO_NAME = "(no name)"
TITLE = """\
# Backlog

What this team has to do. You may edit this file between two steps: rename, reorder, add or remove what you like; a
new line needs no id. `[ ]` is open, `[x]` is done, `[!]` has failed; a tick of yours means "do not work on it", and
proves nothing.
"""
MARKS = {"open": "[ ]", "done": "[x]", "failed": "[!]"}
BULLET = "- "
ADDED = "(not in the contract)"
CODE = lazy_regex(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)")
_SPECIAL = lazy_regex(r"[\\<&\[]|\((?=attempts\b|not in the contract\))|(?<= )#(?=#*$)|^#")
_ESCAPED = lazy_regex(r"\\([!-/:-@\[-`{-~])")
# Lines that a person may remove → the value that counts if the line is missing.
_OPTIONAL = {"status": "pending", "priority": "medium", "uat": "pending"}
_NEVER_BACK = ("title", "feature", "tasks")  # lines that the engine does not restore once a person removed them


def limited_line(text: str) -> str:
    """The text on one line, without control characters, cut to a length."""
    plain = plain_line(text)
    return plain if len(plain) <= TEXT_LIMIT else f"{plain[: TEXT_LIMIT - 4].rstrip()} […]"


def _name_or_placeholder(text: str) -> str:
    return text or NO_NAME


def _paths(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path.replace("`", "'") for path in paths if path))


Line: TypeAlias = Annotated[str, AfterValidator(limited_line)]
Name: TypeAlias = Annotated[Line, AfterValidator(_name_or_placeholder)]
Paths: TypeAlias = Annotated[tuple[Line, ...], AfterValidator(_paths)]
Ids: TypeAlias = tuple[str, ...]


class Piece(Value):
    """One line of a part of the backlog, as a person wrote it, with the text below it."""

    name: str  # what the line says, such as "status"; "+F1-T2" stands for the part F1-T2, which has pieces of its own
    lead: str = ""  # indentation and bullet of the line, if the engine would write others
    head: str = ""  # the whole line, byte for byte; "": the engine writes the line
    tail: str = ""  # the text below it that the engine does not parse


class Part(Value):
    """A part of the backlog that has lines of its own in the file. `kept`: its lines as a person wrote them; empty if
    they look as the engine writes them."""

    kept: tuple[Piece, ...] = ()

    def changed(self, **fields: Any) -> Self:
        """A copy with these fields. The engine rewrites the lines whose value changed; the text below them
        stays."""
        now = {name: getattr(self, name) for name in type(self).model_fields}
        stale = {self._line_of(name) for name, value in fields.items() if now[name] != value}
        kept = tuple(
            _engine_written(piece) if piece.name in stale else piece for piece in fields.get("kept", self.kept)
        )
        return type(self)(**{**now, **fields, "kept": kept})

    @staticmethod
    def _line_of(field: str) -> str:
        """The name of the line of the file that shows this field; "" if no single line shows it."""
        return "" if field in ("kept", "criteria", "stories", "tasks", "features") else field


def _engine_written(piece: Piece) -> Piece:
    return piece.model_copy(update={"head": ""})


class AcceptanceItem(Part):
    """An acceptance criterion of a feature."""

    id: str
    text: Name
    added: bool = False  # whether a person added it after the contract was sealed

    @staticmethod
    def _line_of(field: str) -> str:
        return "" if field == "kept" else "line"


class BacklogTask(Part):
    id: str
    description: Name
    state: TaskStatus = "open"
    attempts: int = Field(default=0, ge=0)
    limit: int = Field(default=ATTEMPTS, ge=0)
    depends_on: Ids = ()
    files: Paths = ()
    note: Line = ""
    by_person: bool = False  # ticked by a person: the task is not worked on, and the tick is no evidence

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @staticmethod
    def _line_of(field: str) -> str:
        return field if field in ("kept", "depends_on", "files", "note", "by_person") else "line"


class Story(Part):
    """Tasks that serve one thing that a user can do. A story without a name holds tasks that a person wrote outside all
    stories."""

    id: str
    name: Line = ""
    feature: str = ""
    status: WorkStatus = "pending"
    tasks: tuple[BacklogTask, ...] = ()

    @property
    def done(self) -> int:
        return sum(task.state == "done" for task in self.tasks)

    @property
    def derived_status(self) -> WorkStatus:
        """The story's status, derived from its tasks."""
        states = {task.state for task in self.tasks}
        if states <= {"done"}:
            return "completed" if states else "pending"
        if "open" not in states:
            return "failed"
        return "in_progress" if len(states) > 1 or any(task.attempts for task in self.tasks) else "pending"

    def settled(self) -> "Story":
        return self if self.status == self.derived_status else self.changed(status=self.derived_status)

    @staticmethod
    def _line_of(field: str) -> str:
        return "heading" if field in ("id", "name") else Part._line_of(field)


class BacklogFeature(Part):
    id: str
    name: Name
    status: WorkStatus = "pending"
    priority: Priority = "medium"
    uat: Accepted = "pending"
    depends_on: Ids = ()  # ids of features
    criteria: tuple[AcceptanceItem, ...] = ()
    stories: tuple[Story, ...] = ()
    # The highest numbers of removed criteria, stories and tasks: no id is used twice.
    given: tuple[int, int, int] = (0, 0, 0)

    @property
    def tasks(self) -> Iterator[BacklogTask]:
        return (task for story in self.stories for task in story.tasks)

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """How many tasks are done, how many have failed, and how many there are."""
        states = [task.state for task in self.tasks]
        return states.count("done"), states.count("failed"), len(states)

    @cached_property
    def text(self) -> str:
        """The feature's part of the file; cached, so that writing a long backlog only joins these texts."""
        return written(self)

    @cached_property
    def row(self) -> tuple[str, str]:
        """The feature's status, and its line in the list of all features."""
        return self.status, f"- **{self.id}**: {escaped(self.name)} (UAT: {self.uat})"

    @cached_property
    def tally(self) -> tuple[int, int, int, int]:
        """How many of the feature's tasks are done, have failed, and exist; then 1 if the feature is completed, else 0.
        Cached, so that a long backlog is counted quickly."""
        return (*self.counts, int(self.status == "completed"))

    @property
    def stories_done(self) -> int:
        return sum(story.derived_status == "completed" for story in self.stories)

    def story(self, name: str) -> Story:
        return next(story for story in self.stories if story.id == name)

    def last(self, kind: str) -> int:
        """The highest number ever given to a criterion (C), story (S) or task (T) of the feature."""
        held: Sequence[Part] = {"C": self.criteria, "S": self.stories, "T": tuple(self.tasks)}[kind]
        numbers = [_number_in_series(str(getattr(part, "id", "")), f"{self.id}-{kind}") for part in held]
        return max([self.given["CST".index(kind)], *numbers])

    def with_story(self, story: Story) -> "BacklogFeature":
        stories = tuple(story if other.id == story.id else other for other in self.stories)
        return self.changed(stories=stories if story in stories else (*stories, story))

    @staticmethod
    def _line_of(field: str) -> str:
        return "heading" if field in ("id", "name") else Part._line_of(field)


def _number_in_series(name: str, series: str) -> int:
    rest = name.removeprefix(series)
    return int(rest) if rest != name and rest.isdigit() else 0


class Backlog(Part):
    """All features. The team works on them in this order, unless priorities or dependencies demand another one."""

    features: tuple[BacklogFeature, ...] = ()
    given: int = 0  # the highest number of a removed feature: no id is used twice

    # -- what there is -------------------------------------------------------------------------------------------------

    def feature(self, name: str) -> BacklogFeature:
        """The feature that has this id, or that has a task or story with this id. Raises KeyError if there is none."""
        home = self._home(name)
        if home is None:
            raise KeyError(name)
        return home

    def task(self, name: str) -> BacklogTask:
        return next(task for task in self.feature(name).tasks if task.id == name)

    def story_of(self, task: str) -> Story:
        return next(story for story in self.feature(task).stories if any(other.id == task for other in story.tasks))

    def holds(self, name: str) -> bool:
        return self._home(name) is not None

    @property
    def tasks(self) -> Iterator[BacklogTask]:
        return (task for feature in self.features for task in feature.tasks)

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of done, failed and all tasks."""
        return self.tally[:3]

    @property
    def tally(self) -> tuple[int, int, int, int]:
        """The numbers of done, failed and all tasks, and of completed features."""
        if not self.features:
            return 0, 0, 0, 0
        done, failed, every, completed = zip(*[feature.tally for feature in self.features], strict=True)
        return sum(done), sum(failed), sum(every), sum(completed)

    def _home(self, name: str) -> BacklogFeature | None:
        """The feature that has this id, or that has a story or task with this id. A part's id usually begins with the
        id of its feature, but a person may have moved the part."""
        position = self.place(name.partition("-")[0])
        for feature in (*self.features[position : position + 1], *self.features):
            if name == feature.id or any(name in _ids(story) for story in feature.stories):
                return feature
        return None

    def place(self, feature: str) -> int:
        """The index of a feature in the list; the length of the list if there is no such feature. `F3` is looked for in
        the third place first, where it usually is."""
        position = _number_in_series(feature, "F") - 1
        if 0 <= position < len(self.features) and self.features[position].id == feature:
            return position
        return next(
            (position for position, other in enumerate(self.features) if other.id == feature), len(self.features)
        )

    # -- what is added -------------------------------------------------------------------------------------------------

    def with_new_feature(
        self, name: str, criteria: Sequence[str] = (), *, priority: Priority = "medium"
    ) -> tuple["Backlog", str]:
        """The backlog with a new feature at its end, and the id of that feature."""
        number = max([self.given, *(_number_in_series(feature.id, "F") for feature in self.features)]) + 1
        new_id = f"F{number}"
        rows = tuple(AcceptanceItem(id=f"{new_id}-C{number}", text=text) for number, text in enumerate(criteria, 1))
        feature = BacklogFeature(id=new_id, name=name, criteria=rows, priority=priority)
        return self.changed(features=(*self.features, feature)), new_id

    def with_new_story(self, feature: str, name: str) -> tuple["Backlog", str]:
        home = self.feature(feature)
        new_id = f"{home.id}-S{home.last('S') + 1}"
        story = Story(id=new_id, name=name, feature=home.id)
        return self.with_part(home.changed(stories=(*home.stories, story))), new_id

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
        new_id = f"{home.id}-T{self.last_task(home) + 1}"
        new = BacklogTask(
            id=new_id, description=description, depends_on=depends_on, files=tuple(files), limit=limit, note=note
        )
        target = home.story(story)
        return self.with_part(home.with_story(target.changed(tasks=(*target.tasks, new)).settled())), new_id

    def last_task(self, home: BacklogFeature) -> int:
        """The highest task number of a feature, including tasks that a person moved to another feature."""
        series = f"{home.id}-T"
        moved = [
            task.id for feature in self.features if feature is not home for task in feature.tasks if series in task.id
        ]
        return max([home.last("T"), *(_number_in_series(name, series) for name in moved)])

    # -- what changes --------------------------------------------------------------------------------------------------

    def with_part(self, feature: BacklogFeature) -> "Backlog":
        position = self.place(feature.id)
        features = (*self.features[:position], feature, *self.features[position + 1 :])
        return self.model_copy(update={"features": features})  # not validated again: the other features are unchanged

    def with_feature(self, name: str, **fields: Any) -> "Backlog":
        return self.with_part(self.feature(name).changed(**fields))

    def with_task(self, name: str, **fields: Any) -> "Backlog":
        """The backlog with these fields of a task changed, and the status of its story updated."""
        home, story = self.feature(name), self.story_of(name)
        tasks = tuple(task.changed(**fields) if task.id == name else task for task in story.tasks)
        return self.with_part(home.with_story(story.changed(tasks=tasks).settled()))


def _ids(story: Story) -> Iterator[str]:
    yield story.id
    yield from (task.id for task in story.tasks)


# -- how it is written: one fact per line, and no text that could look like another line -------------------------------

_Order: TypeAlias = list[tuple[str, Piece | None]]


def escaped(text: str) -> str:
    """The text escaped for a line: it cannot make a link, HTML or a part of the backlog. Code stays as it is."""
    if not _SPECIAL.search(text):
        return text
    return _outside_code(text, lambda part: _SPECIAL.sub(lambda match: f"\\{match[0]}", part))


def unescaped(text: str) -> str:
    return _outside_code(text, lambda part: _ESCAPED.sub(r"\1", part))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts, position = [], 0
    for code in CODE.finditer(text):
        parts += [change(text[position : code.start()]), code[0]]
        position = code.end()
    return "".join((*parts, change(text[position:])))


# -- one line ----------------------------------------------------------------------------------------------------------


def is_new(name: str) -> bool:
    """Whether this is the temporary id of something that a person added."""
    return name.startswith("new-")


def line(part: "Part", name: str, lead: str = "") -> str:
    """The line `name` of this part as the engine writes it; "" if there is nothing to write. `lead`: indentation and
    bullet to use instead of the usual ones."""
    text = _LINES[type(part).__name__](part, name)
    if not text or text.startswith(("\n", "#", "<")) or not lead:
        return text
    return lead + text.lstrip(" ").removeprefix(BULLET)


def _item_heading(level: int, kind: str, name: str, title: str) -> str:
    return f"\n{'#' * level} {kind if is_new(name) else name}: {escaped(title)}".rstrip() + "\n\n"


def _feature(feature: "BacklogFeature", name: str) -> str:
    given = " ".join(f"{kind}{last}" for kind, last in zip("CST", feature.given, strict=True) if last)
    rows = {
        "heading": _item_heading(2, "Feature", feature.id, feature.name),
        "status": f"- **Status**: {feature.status}\n",
        "priority": f"- **Priority**: {feature.priority}\n",
        "uat": f"- **UAT**: {feature.uat}\n",
        "depends_on": f"- **Needs**: {', '.join(feature.depends_on)}\n" if feature.depends_on else "",
        "given": f"<!-- ids given so far: {given} -->\n" if given else "",
        "criteria": "\n### Acceptance criteria\n\n" if feature.criteria else "",
    }
    return rows.get(name, "")


def _criterion(criterion: "AcceptanceItem", name: str) -> str:
    label = "" if is_new(criterion.id) else f"**{criterion.id}**: "
    added = f" {ADDED}" if criterion.added else ""
    return f"- {label}{escaped(criterion.text)}{added}\n" if name == "line" else ""


def _story(story: "Story", name: str) -> str:
    rows = {
        "heading": _item_heading(3, "Story", story.id, story.name) if story.name or not is_new(story.id) else "",
        "status": f"- **Status**: {story.status}\n",
        "feature": f"- **Feature**: {story.feature}\n" if story.feature else "",
        "tasks": "\n#### Tasks\n\n" if story.tasks else "",
    }
    return rows.get(name, "") if name == "heading" or rows["heading"] else ""


def _task(task: "BacklogTask", name: str) -> str:
    label = "" if is_new(task.id) else f"**{task.id}**: "
    files = ", ".join(f"`{path}`" for path in task.files)
    rows = {
        "line": f"- {MARKS[task.state]} {label}{escaped(task.description)} (attempts: {task.attempts}/{task.limit})\n",
        "depends_on": f"  - needs: {', '.join(task.depends_on)}\n" if task.depends_on else "",
        "files": f"  - files: {files}\n" if files else "",
        "note": f"  - note: {escaped(task.note)}\n" if task.note else "",
        "by_person": "  - by: a person\n" if task.by_person else "",
    }
    return rows.get(name, "")


def _backlog(backlog: "Backlog", name: str) -> str:
    given = f"\n<!-- ids given so far: F{backlog.given} -->\n" if backlog.given else ""
    return {"title": TITLE, "given": given}.get(name, "")


_LINES: dict[str, Callable[..., str]] = {
    "Backlog": _backlog,
    "BacklogFeature": _feature,
    "AcceptanceItem": _criterion,
    "Story": _story,
    "BacklogTask": _task,
}
_NAMES: dict[str, tuple[str, ...]] = {
    "Backlog": ("title", "given"),
    "BacklogFeature": ("heading", "status", "priority", "uat", "depends_on", "given", "criteria"),
    "AcceptanceItem": ("line",),
    "Story": ("heading", "status", "feature", "tasks"),
    "BacklogTask": ("line", "depends_on", "files", "note", "by_person"),
}
_CHILDREN = {"BacklogFeature": ("criteria", "stories"), "Story": ("tasks",)}


# -- a part with all its lines -----------------------------------------------------------------------------------------


def children(part: "Part") -> "dict[str, Part]":
    """The parts directly inside `part`. Each key is "+" and the id of an inner part, as in `Piece.name`."""
    held = _CHILDREN.get(type(part).__name__, ())
    return {f"+{child.id}": child for name in held for child in getattr(part, name)}


def names(part: "Part") -> list[str]:
    """The names of the lines and parts that the engine writes for this part, in order."""
    return [*(name for name in _NAMES[type(part).__name__] if line(part, name)), *children(part)]


def written(part: "Part", indent: int = 0) -> str:
    """The part's text as the engine writes it. Lines that a person wrote in another way stay as they are."""
    inner = children(part)
    if not part.kept:
        return "".join(
            written(inner[name]) if name in inner else line(part, name, _lead(part, name, indent))
            for name in names(part)
        )
    text, put, below = "", False, ""
    order, loose, close = _order(part, inner), _has_text_between(part), type(part).__name__ == "BacklogTask"
    for position, (name, piece) in enumerate(order):
        if piece is not None or not close:  # in a task, the engine's lines come before a person's text
            text, below = _ended(text) + below, ""
        text = _ended(text)
        if piece is None:
            text += "\n" if loose and not close and not text.endswith("\n\n") else ""
            far = _next_indentation(order, position, inner)
            text += written(inner[name], far) if name in inner else line(part, name, _lead(part, name, far))
        else:
            section = written(inner[name]) if name in inner else piece.head or line(part, name, piece.lead)
            text += _gap(text, section, put) if name == "section" else ""
            text, below = text + section, piece.tail
        put = piece is None
    return _ended(text) + below if below else text


def _gap(text: str, section: str, put: bool) -> str:
    """The empty line to put before a section; "" if it needs none. Without an empty line, an underlined heading would
    merge with the text above it. `put`: whether the engine inserted the piece above."""
    blank = text.endswith(("\n\n", "\n\r\n")) or section.startswith(("\n", "\r\n"))
    return "" if blank or not (put or not section.lstrip(" ").startswith("#")) else "\n"


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _lead(part: "Part", name: str, indent: int) -> str:
    """Indentation and bullet of a line that is inserted among lines that a person has indented."""
    if type(part).__name__ == "BacklogTask" and name != "line":
        indent = max(indent, len(part.kept[0].lead)) if part.kept else indent + len(BULLET)
    return " " * indent + BULLET if indent else ""


def _next_indentation(order: "_Order", position: int, inner: "dict[str, Part]") -> int:
    """The indentation of the next piece that a person wrote. What the engine inserts above that piece gets the same
    indentation. With less, the person's piece would become part of the inserted one."""
    for name, piece in order[position + 1 :]:
        lines = inner[name].kept[:1] if name in inner else (piece,)
        if piece is not None and (name not in inner or type(inner[name]).__name__ != "Story"):
            lead = lines[0].lead if lines and lines[0] else ""
            return len(lead) - len(lead.lstrip(" "))
    return 0


def _has_text_between(part: "Part") -> bool:
    """Whether a person wrote text between the part's lines: inserted lines must not become part of that text."""
    return any(piece.tail.strip() for piece in part.kept) or any(
        piece.tail.strip() for child in children(part).values() for piece in child.kept
    )


def _order(part: "Part", inner: "dict[str, Part]") -> "_Order":
    """The part's pieces in the order in which a person wrote them. A piece that is missing is inserted after the piece
    that usually precedes it. It stays missing only if a person may remove it and no value is lost."""
    order: _Order = [
        (piece.name, piece) for piece in part.kept if piece.name in inner or not piece.name.startswith("+")
    ]
    present = {name for name, _ in order}
    above: set[str] = set()
    for name in names(part):
        if name not in present:
            if name in _NEVER_BACK or (name in _OPTIONAL and getattr(part, name) == _OPTIONAL[name]):
                continue
            position = max((number for number, (other, _) in enumerate(order) if other in above), default=-1)
            order.insert(position + 1, (name, None))
        above.add(name)
    return order
