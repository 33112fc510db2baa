"""Converts a flat list of tasks, as an older tool wrote it, into a backlog. Every line is accounted for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from trued.errors import BadInput
from trued.inputs.plans.outline import Outline
from trued.inputs.vocabulary import bare_title, is_work, section_kind
from trued.model import Criterion, Source, Value
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import Block, Heading, Item, List, parse, split_lines
from trued.support.plurals import counted
from trued.workflows.team.backlog.items import ATTEMPTS, Backlog, TaskStatus, limited_line

NAME = "plan.md"
ORIGINAL = "plan.md.original"  # a copy of the original list, beside the team's files
UNNAMED = "Tasks"
# A checkbox holds a space, an x or a sign. A letter or digit in brackets is a reference, such as a footnote.
_BOX = lazy_regex(r"\[([xX]|[^\w\]])\]\s+(.*)", re.DOTALL)
_STRUCK = lazy_regex(r"~~(.+?)~~(.*)", re.DOTALL)
_TICKED = lazy_regex(r"(?:✅|✔️?|☑️?)\s*(.*)", re.DOTALL)
_MARKS: dict[str, TaskStatus] = {" ": "open", "x": "done", "X": "done", "!": "failed"}


class Migration(Value):
    """The backlog that was made from a list of tasks. `lines`: number of each line that is not empty → what became of
    it."""

    backlog: Backlog
    criteria: tuple[Criterion, ...] = ()  # items under headings such as "Success criteria"
    context: str = ""  # what is neither task nor criterion, verbatim: it goes into context.md
    lines: dict[int, str] = {}  # noqa: RUF012
    said: tuple[str, ...] = ()


def is_flat_plan(text: str) -> bool:
    """Whether a text is a list of tasks to tick: at least two list items, and at least half of them, have a checkbox or
    a tick. A backlog as the engine writes it does not count."""
    items = [item for block in parse(text) if isinstance(block, List) for item in block.walk()]
    boxes = [item for item in items if _state(item)[0] is not None]
    named = any(re.match(r"\*\*F\d+-T\d+\*\*", item.words.raw) for item in items)
    return len(boxes) >= 2 and len(boxes) * 2 >= len(items) and not named


def is_list_of_tasks(text: str) -> bool:
    """Whether a goal is a list of tasks to tick, so that no agent has to break it down. At least one checkbox must be a
    task and not a criterion. If the text names chunks, each must be a checkbox, not a table row or a heading."""
    if not is_flat_plan(text):
        return False
    blocks, outline = parse(text), Outline(NAME)
    try:
        outline.read(blocks, len(split_lines(text)))
    except BadInput:  # a table of chunks with a mistake
        return False
    boxes = {item.line for block in blocks if isinstance(block, List) for item in block.walk() if _boxed_item(item)}
    named = [entry for entry in (*outline.drafts, *outline.details) if entry.id]
    return bool(migrate(text).backlog.features) and all(entry.line in boxes for entry in named)


def migrate(text: str, file: str = NAME, limit: int = ATTEMPTS) -> Migration:
    """Convert a list of tasks into a backlog. `limit`: how many attempts each task may have."""
    reading = _FlatPlanReading(text, file, limit)
    reading.read()
    return Migration(
        backlog=reading.settled(),
        criteria=tuple(reading.criteria),
        context="".join(reading.context).strip("\r\n"),
        lines=dict(sorted(reading.places.items())),
        said=tuple(reading.summary()),
    )


@dataclass(slots=True)
class _FlatPlanReading:
    text: str
    file: str
    limit: int
    backlog: Backlog = field(default_factory=Backlog)
    headings: list[Heading] = field(default_factory=list)  # headings above the current block
    features: dict[int, str] = field(default_factory=dict)  # line of a heading → its feature
    stories: dict[tuple[str, int], str] = field(default_factory=dict)
    criteria: list[Criterion] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    places: dict[int, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    title: Heading | None = None
    shown: set[int] = field(default_factory=set)  # line numbers of headings whose words are in the result
    boxes: bool = False

    def read(self) -> None:
        self.lines, blocks = split_lines(self.text), parse(self.text)
        tops = [heading for heading in blocks if isinstance(heading, Heading) and heading.level == 1]
        self.title = tops[0] if len(tops) == 1 and blocks[0] is tops[0] else None
        self.boxes = any(_boxed(entry) for entry in blocks if isinstance(entry, List))
        for block in blocks:
            if isinstance(block, Heading):
                self._keep_unused_heading()
                self.headings = [heading for heading in self.headings if heading.level < block.level] + [block]
                self._mark_lines(block, "title" if block is self.title else "heading")
            elif isinstance(block, List) and self._lists_criteria(block):
                self._criteria(block)
            elif isinstance(block, List) and (_boxed(block) or self._lists_work()):
                for item in block.items:
                    self._item(item, None)
            else:
                self._add_context(block)
        self._keep_unused_heading()
        for number, line in enumerate(self.lines, 1):
            # No block contains it: a comment, a link definition, front matter.
            if line.strip() and number not in self.places:
                self.places[number] = "context"
                self.context.append(line)

    def _mark_lines(self, block: Heading | Item | Block, what: str) -> None:
        for number in range(block.line, block.end + 1):
            if number <= len(self.lines) and self.lines[number - 1].strip():
                self.places.setdefault(number, what)

    def _keep_unused_heading(self) -> None:
        """Keep the current heading as context, unless it became a feature or a story, or its list became criteria."""
        if self.headings and self.headings[-1].line not in self.shown:
            self._add_context(self.headings[-1])

    def _add_context(self, block: Block) -> None:
        if not isinstance(block, Heading):
            self._keep_unused_heading()
            self._mark_lines(block, "context")
        else:
            self.shown.add(block.line)
        text = "".join(self.lines[block.line - 1 : block.end])
        self.context.append(f"{text}\n" if text.endswith("\n") else f"{text}\n\n")

    def _current_kind(self) -> str:
        return next(
            (kind for heading in reversed(self.headings) if (kind := section_kind(bare_title(heading.words.plain)))), ""
        )

    def _lists_criteria(self, block: List) -> bool:
        return self._current_kind() in ("ship", "constraint") and not (
            self._current_kind() == "constraint" and _boxed(block)
        )

    def _lists_work(self) -> bool:
        """Whether a list without checkboxes, below the current heading, is a list of tasks. Below a heading for
        problems or non-goals it never is. Elsewhere it is if the heading announces tasks, or if the whole text has no
        checkboxes."""
        if self._current_kind() in ("nongoal", "problem", "aside"):
            return False
        return not self.boxes or bool(self.headings and is_work(self.headings[-1].words.plain))

    def _criteria(self, block: List) -> None:
        self.shown |= {heading.line for heading in self.headings[-1:]}
        for item in block.walk():
            source = Source(file=self.file, line=item.line)
            self.criteria.append(Criterion(text=item.text, kind=self._current_kind(), source=source))
        self._mark_lines(block, "criterion")

    # -- tasks ---------------------------------------------------------------------------------------------------------

    def _item(self, item: Item, group: Item | None) -> list[str]:
        """Add an item as a task that depends on the tasks nested below it, or as a story if it only groups other items.
        Returns the id of the task, or the ids of the story's outermost tasks."""
        state, text = _state(item)
        inner = [child for child in item.items if _boxed_item(child) or (state is None and not self.boxes)]
        if state is None and inner and group is None:
            self._own(item, "story")
            return [task for child in item.items for task in self._item(child, item)]
        made = [task for child in inner for task in self._item(child, group)]
        details = [line for child in item.items if child not in inner for line in _details(child)]
        note = limited_line("; ".join((*item.more, *details)))
        story = self._story(group)
        self.backlog, task = self.backlog.with_new_task(
            story, text, depends_on=tuple(made), limit=self.limit, note=note
        )
        self.backlog = self.backlog.with_task(task, state=state or "open")
        self._mark_lines(item, "task")
        return [task]

    def _own(self, item: Item, what: str) -> None:
        for number in range(item.line, item.own_end + 1):
            if self.lines[number - 1].strip():
                self.places[number] = what

    def _story(self, group: Item | None) -> str:
        """The id of the story for a task below the current headings and the item `group`. The top heading names the
        feature; deeper headings and `group` name the story. A feature or story that does not exist yet is created."""
        above = [heading for heading in self.headings if heading is not self.title]
        top = above[0] if above else None
        name = bare_title(top.words.plain) if top else bare_title(self.title.words.plain) if self.title else UNNAMED
        key = top.line if top else 0
        self.shown |= {heading.line for heading in above} or {heading.line for heading in self.headings[:1]}
        if key not in self.features:
            self.backlog, self.features[key] = self.backlog.with_new_feature(name)
        feature, deeper = self.features[key], [bare_title(heading.words.plain) for heading in above[1:]]
        deeper += [_state(group)[1]] if group else []
        story_key = (feature, group.line if group else above[-1].line if deeper else 0)
        if story_key not in self.stories:
            self.backlog, self.stories[story_key] = self.backlog.with_new_story(feature, ": ".join(deeper) or UNNAMED)
        return self.stories[story_key]

    def settled(self) -> Backlog:
        """The backlog; a feature with some of its tasks done is in progress. No feature is completed, because no UAT
        has validated it."""
        backlog = self.backlog
        for feature in backlog.features:
            done, _, every = feature.counts
            backlog = backlog.with_feature(feature.id, status="in_progress") if 0 < done < every else backlog
        return backlog

    def summary(self) -> Iterator[str]:
        done, failed, every = self.backlog.counts
        features = len(self.backlog.features)
        were = "was" if every == 1 else "were"
        sentence = f"{counted(every, 'task')} in {counted(features, 'feature')} {were} read from {self.file}"
        sentence += f", {done} of them done"
        yield sentence + (f", {failed} failed" if failed else "")
        if self.criteria:
            yield f"{counted(len(self.criteria), 'line of the list is a criterion', 'lines of the list are criteria')}"
        if others := sum(what == "context" for what in self.places.values()):
            yield f"{counted(others, 'other line is in context.md', 'other lines are in context.md')}"


def _boxed(block: List) -> bool:
    return any(_boxed_item(item) for item in block.items)


def _boxed_item(item: Item) -> bool:
    return _state(item)[0] is not None or any(map(_boxed_item, item.items))


def _state(item: Item) -> tuple[TaskStatus | None, str]:
    """An item's state by its checkbox or mark (None if it has neither), and its text."""
    raw = item.words.raw
    if item.checked is not None:
        return "done" if item.checked else "open", raw
    if box := _BOX.fullmatch(raw):
        return _MARKS.get(box[1], "open"), box[2] if box[1] in _MARKS else raw
    if (struck := _STRUCK.fullmatch(raw)) or (struck := _TICKED.fullmatch(raw)):
        return "done", "".join(struck.groups())
    return None, raw


def _details(item: Item) -> Iterator[str]:
    yield from (line for part in item.walk() for line in (part.words.raw, *part.more) if line)
