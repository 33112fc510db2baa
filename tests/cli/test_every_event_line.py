"""Every kind of event as people read it: no list or object looks like code, no plural is wrong, nothing is lost."""

import re
from collections.abc import Iterator
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from trued.cli.event_lines import event_line
from trued.cli.tree import row_lines
from trued.model import Event
from trued.model.events import JournalEvent
from trued.model.events.run import EditApplied
from trued.reporting.views.event_kinds import GROUPS
from trued.reporting.views.progress import Progress
from trued.workflows.registry import descriptors
from trued.workflows.view import view_of

CODE = re.compile(r"\['|\[\"|\{'|\('|\[\]|\{\}|'\]|'\}|\bTrue\b|\bFalse\b|\bNone\b|Outcomes\.|Grade\.")
ONE_OF_MANY = re.compile(r"(?<![\d.#/])1 (?!is\b|was\b|has\b|passes\b|pass\b)([a-z]+s)\b(?<!ss)")


def every_event() -> Iterator[tuple[str, type[JournalEvent]]]:
    for group in GROUPS:
        yield from (("", one) for one in group.EVENTS)
    for workflow in descriptors():
        yield from ((workflow.name, one) for one in view_of(workflow.name).EVENTS)


def sample(annotation: Any, name: str) -> Any:
    """A sample value of this type: two items for a list, 1 for a number, the field's name for a text."""
    origin, options = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return next(sample(one, name) for one in options if one is not type(None))
    if origin is Literal:
        return options[-1]
    if origin is tuple:
        return [sample(options[0], f"{name} first"), sample(options[0], f"{name} second")]
    if origin is dict:
        return {"part": sample(options[1], name)}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return list(annotation)[-1].value
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return filled(annotation)
    return {bool: True, int: 1, float: 1.0, str: f"the {name}"}.get(annotation, f"the {name}")


def filled(kind: type[BaseModel]) -> dict[str, Any]:
    return {name: sample(field.annotation, name) for name, field in kind.model_fields.items()}


@pytest.mark.spec("DAY-12", "USE-4")
@pytest.mark.parametrize(("workflow", "kind"), every_event(), ids=lambda one: getattr(one, "__name__", one))
def test_no_event_is_shown_as_code(workflow: str, kind: type[JournalEvent]) -> None:
    for data in (filled(kind), {}):
        stored = Event(id=1, at=1_794_744_000.0, key="chunk 1A/step", kind=kind.KIND, data=data)
        seen = Progress([stored], workflow)
        remarks = [text.plain for row in seen.rows.values() for text in row_lines(row, stored.at)]
        for words in (event_line(stored, view_of(workflow)), *remarks):
            assert not CODE.search(words), words
            assert not ONE_OF_MANY.search(words), words


@pytest.mark.spec("DAY-12")
def test_every_sentence_about_an_edit_is_printed_whole() -> None:
    said = [f"sentence {number} about the backlog is long enough to be cut off somewhere" for number in range(20)]
    stored = Event(id=1, at=0.0, key="edits", kind=EditApplied.KIND, data={"path": "backlog.md", "said": said})
    assert all(one in event_line(stored) for one in said)


def test_an_event_of_another_version_is_shown_by_its_parts() -> None:
    data = {"files": ["a.py", "b.py"], "found": {"size": 3, "rows": [{"name": "x", "ok": True}]}, "none": None}
    stored = Event(id=1, at=0.0, key="", kind="something new", data=data)
    assert event_line(stored).partition(": ")[2] == "files a.py; b.py, found size 3, rows name x, ok yes"
