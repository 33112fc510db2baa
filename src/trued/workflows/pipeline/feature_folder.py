"""FeatureFolder: `docs/feature/<slug>/`, the names of its files, and the files that the engine writes."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from trued.model import Goal, Value
from trued.support.markdown_escape import code_block
from trued.support.plain_text import plain_line
from trued.workflows.pipeline.task_plan import Work, waves

PLACE = "docs/feature/"
SLUG_LIMIT = 40
LONGEST = 300  # characters in a line of text
STOP_WORDS = ("a", "an", "and", "for", "in", "is", "it", "of", "on", "or", "please", "should", "that", "the", "to")

REQUEST, FEATURE, DESIGN, PLAN = "initial-request.md", "feature.md", "design.md", "plan.md"
FOCUSES = ("architecture", "impact", "dependencies", "patterns")


class Acceptance(Value):
    """An acceptance criterion of `feature.md`."""

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$", description="short, like AC-1")
    text: str = Field(min_length=1, description="what must hold, worded so that somebody else can see whether it does")


def with_distinct_ids(criteria: Iterable[Acceptance]) -> tuple[Acceptance, ...]:
    """The criteria with distinct ids. A number is appended to an id that was used before: AC-1, AC-1-2."""
    by_id: dict[str, Acceptance] = {}
    for criterion in criteria:
        name, number = criterion.id, 2
        while name in by_id:
            name, number = f"{criterion.id}-{number}", number + 1
        by_id[name] = criterion.model_copy(update={"id": name})
    return tuple(by_id.values())


class FeatureFolder(Value):
    """The folder of one feature. Each agent writes only its own document there."""

    slug: str

    @property
    def root(self) -> str:
        return f"{PLACE}{self.slug}/"

    def path(self, name: str) -> str:
        return f"{self.root}{name}"

    def artifact(self, agent: str) -> str:
        """The path of an agent's document; "" if the agent has none, or if the engine writes the document."""
        return self.path(name) if (name := artifact_of(agent)) else ""

    def own(self, agent: str) -> tuple[str, ...]:
        """The paths in this folder that an agent may write."""
        if agent == "planner":
            return self.path(PLAN), self.path("tasks/")
        return (self.artifact(agent),) if self.artifact(agent) else ()

    def task(self, name: str) -> str:
        return self.path(f"tasks/{name}.md")


def artifact_of(agent: str) -> str:
    """The path of an agent's document, derived from the agent's name: `v-tests` writes `verification/v-tests.md`. "" if
    the agent writes no such document."""
    kind, _, focus = agent.partition("-")
    folders = {"ct": "ct-review", "v": "verification", "r": "review"}
    if kind == "researcher":
        return f"research/{focus}.md"
    if kind in folders:
        return f"{folders[kind]}/{agent}.md"
    return {"spec": FEATURE, "designer": DESIGN}.get(agent, "")


def slug_of(text: str) -> str:
    """A folder name made of the first words of the request."""
    first = next((line for line in text.splitlines() if line.strip(" #*->`\t")), "")
    plain = unicodedata.normalize("NFKD", first).encode("ascii", "ignore").decode().lower()
    words = [word for word in re.findall(r"[a-z0-9]+", plain) if word not in STOP_WORDS]
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word[:SLUG_LIMIT]
        if len(longer) > SLUG_LIMIT:
            break
        slug = longer
    return slug or "feature"


def folder_for(goal: Goal, paths: Iterable[str]) -> FeatureFolder:
    """A new folder for this goal, named after its first words. If one of `paths` is already in a folder of that name, a
    number is appended, so that no file of the user is overwritten."""
    existing = {path.casefold() for path in paths}
    taken = {path.removeprefix(PLACE).partition("/")[0] for path in existing if path.startswith(PLACE)}
    slug, number = slug_of(goal.text), 2
    name = slug
    while name in taken:
        name, number = f"{slug}-{number}", number + 1
    return FeatureFolder(slug=name)


# -- what the engine writes --------------------------------------------------------------------------------------------


def initial_request(goal: Goal, base: str) -> str:
    """The user's words, verbatim, below a line that introduces them."""
    where = f"from `{goal.source.file}`, " if goal.source.file else ""
    return f"# Initial request\n\nThe user's words, verbatim; {where}at commit {base[:10]}.\n\n---\n\n{goal.text}\n"


def plan_page(
    title: str, works: Sequence[Work], criteria: Iterable[Acceptance], notes: Mapping[str, Sequence[str]]
) -> str:
    """The text of `plan.md`: the planner's tasks, with their waves."""
    wave_of = {work.id: number for number, wave in enumerate(waves(works), 1) for work in wave}
    rows = [
        f"| {work.id} | {wave_of.get(work.id, '')} | {_cell_text(work.title)} | {work.kind} "
        f"| {_names(work.depends_on)} | {_names(work.criteria)} |"
        for work in works
    ]
    parts = [
        f"# Plan: {_cell_text(title)}",
        "One file for each task: `tasks/`. The engine wrote this from the planner's answer.",
        "\n".join(["| task | wave | title | kind | after | serves |", "| --- | --- | --- | --- | --- | --- |", *rows]),
    ]
    notes_by_title = {"Acceptance criteria": [f"{criterion.id}: {criterion.text}" for criterion in criteria], **notes}
    for heading, points in notes_by_title.items():
        parts += [f"## {heading}", "\n".join(f"- {_cell_text(point)}" for point in points)] if points else []
    return "\n\n".join(parts) + "\n"


def task_page(work: Work, wave: int, criteria: Iterable[Acceptance]) -> str:
    """The text of `tasks/<id>.md`."""
    lines = [
        f"- Kind: {work.kind}",
        f"- Wave: {wave}",
        f"- After: {_names(work.depends_on) or 'nothing'}",
        f"- Files: {_names(work.files) or 'not named'}",
        *(
            f"- Serves {criterion.id}: {_cell_text(criterion.text)}"
            for criterion in criteria
            if criterion.id in work.criteria
        ),
    ]
    shown = ["## Shown by", code_block(work.tests)] if work.tests else []
    parts = [
        f"# {work.id}: {_cell_text(work.title)}",
        "\n".join(lines),
        "## To do",
        code_block(work.brief or work.title, "text"),
        *shown,
    ]
    return "\n\n".join(parts) + "\n"


def plan_files(
    folder: FeatureFolder,
    title: str,
    works: Sequence[Work],
    criteria: Sequence[Acceptance],
    notes: Mapping[str, Sequence[str]],
) -> dict[str, str]:
    """Path → text of `plan.md` and every `tasks/*.md`."""
    wave_of = {work.id: number for number, wave in enumerate(waves(works), 1) for work in wave}
    pages = {folder.task(work.id): task_page(work, wave_of.get(work.id, 0), criteria) for work in works}
    return {folder.path(PLAN): plan_page(title, works, criteria, notes), **pages}


def _names(names: Iterable[str]) -> str:
    return ", ".join(_cell_text(name) for name in names)


def _cell_text(text: str) -> str:
    """A text on one line, escaped so that it cannot make a table cell, link or tag."""
    return re.sub(r"([\\|<>\[\]`])", r"\\\1", plain_line(text, LONGEST) or "…")
