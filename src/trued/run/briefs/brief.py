"""Briefs, the prompts for agents: the role, the subject in the user's words, what is known, and how to answer."""

import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from pydantic import BaseModel

from trued.model import Comment, Goal, Plan, Role, Task
from trued.support.plain_text import plain_line

SUBJECT_LIMIT = 60_000  # characters of a brief's subject; the rest is cut
CONTEXT_LIMIT = 20_000  # characters of every other quoted text
FIRST_TURN_ONLY = ("plan", "interface", "requirements", "memory")  # these never change, so later turns omit them
FENCE = "`"
CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
TITLES = {
    "gaps": "Gaps that are left",
    "built": "What Team A says it did",
    "plan": "The plan around it",
    "memory": "MEMORY.md: what people wrote there, and what happened before",
    "interface": "The interface: names and shapes that are fixed, and that everybody relies on",
    "requirements": "The requirements in these words, by id",
    "inputs": "Inputs to answer, by number",
    "evidence": "What the checks showed",
}


def brief(
    role: Role,
    subject: Goal | Plan | Task,
    context: Mapping[str, object],
    *,
    instructions: str,
    resumed: bool,
    schema: Mapping[str, Any],
    comments: Sequence[Comment] = (),
) -> str:
    """The whole text for one ask. The same arguments give the same text: a replay compares its hash.

    `resumed`: this is a further turn of a conversation, so the brief has only what is new. `comments`: what
    people say to this agent.
    """
    known = [
        (title_of(name), quoted(readable(value), CONTEXT_LIMIT))
        for name, value in context.items()
        if not _is_empty(value) and not (resumed and name in FIRST_TURN_ONLY)
    ]
    template = _templates().get_template("resumed.j2" if resumed else "fresh.j2")
    return template.render(
        role=role.prompt.strip(),
        kind=type(subject).__name__.lower(),
        id=subject.id if isinstance(subject, Task) else "",
        title=plain_line(subject.title) if isinstance(subject, Plan | Task) else "",
        source=str(subject.source),
        files=[plain_line(name) for name in subject.files] if isinstance(subject, Task) else [],
        verbatim=not isinstance(subject, Task) or bool(str(subject.source)),
        words=quoted(_subject_text(subject), SUBJECT_LIMIT),
        known=known,
        instructions=quoted(instructions, CONTEXT_LIMIT) if instructions.strip() else "",
        schema=json.dumps(schema, indent=1, ensure_ascii=False),
        comments=_quoted_comments(comments),
    )


def brief_after_stop(comments: Sequence[Comment]) -> str:
    """The brief after a person stopped the agent during a call: the comments, and a request to continue."""
    return _templates().get_template("stopped.j2").render(comments=_quoted_comments(comments))


def _quoted_comments(comments: Sequence[Comment]) -> list[dict[str, str]]:
    return [
        {"who": plain_line(comment.who) or "A person", "words": quoted(comment.text, CONTEXT_LIMIT)}
        for comment in comments
    ]


def title_of(name: str) -> str:
    return TITLES.get(name, name.replace("_", " ").capitalize())


def quoted(text: str, limit: int) -> str:
    """The text as a quotation, cut to `limit` and without control characters. Its fences are longer than any fence in
    the text, so that the text cannot end the quotation."""
    text = text.translate(CONTROLS).strip("\n")
    if len(text) > limit:
        text = f"{text[:limit]}\n[… {len(text) - limit} characters more were cut]"
    fence = FENCE * max(3, *(len(run) + 1 for run in re.findall(f"{FENCE}+", text)), 3)
    return f"{fence}text\n{text}\n{fence}"


def readable(value: object) -> str:
    """A value as a person would write it: its fields by name, without empty ones, and items as a list."""
    return "\n".join(_value_lines(value))


def _subject_text(subject: Goal | Plan | Task) -> str:
    if not isinstance(subject, Task):
        return subject.text
    return subject.brief or subject.scope or subject.title


def _value_lines(value: object) -> list[str]:
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return [line for name, part in value.items() if not _is_empty(part) for line in _field(str(name), part)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [line for part in value for line in _indented("- ", _value_lines(part))]
    if isinstance(value, Enum):
        return [value.name if isinstance(value, int) else str(value.value)]
    return str(value).splitlines() or [""]


def _field(name: str, part: object) -> list[str]:
    lines = _value_lines(part)
    if len(lines) == 1 and not lines[0].startswith("- "):
        return [f"{name}: {lines[0]}"]
    return [f"{name}:", *(f"  {line}" for line in lines)]


def _indented(mark: str, lines: list[str]) -> list[str]:
    return [f"{mark if number == 0 else ' ' * len(mark)}{line}" for number, line in enumerate(lines or [""])]


def _is_empty(part: object) -> bool:
    return part is None or (isinstance(part, str | Sequence | Mapping) and not part)


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=select_autoescape(enabled_extensions=("html",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
