"""Adapts a packaged role for use without the engine: `outside/answer.md` is for all roles, `outside/ROLE.md` for one.

The front matter of `outside/ROLE.md` can have two fields. `tools` lists the tools to use instead of the role's own.
`instead` maps the first words of a list item that depends on the engine to the item that replaces it. The text below
the front matter says what the role has to do in the engine's place.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from trued.agents.roles.front_matter import read_strict
from trued.model import Role

OUTSIDE = Path(__file__).parent / "outside"
ANSWER = "answer"
PACKAGED = "packaged"  # the origin of roles that come with trued: only they depend on the engine


class OutsideChanges(NamedTuple):
    """What to change in one role so that it can be used without the engine."""

    tools: tuple[str, ...] = ()  # its tools instead of the usual ones; (): the usual ones
    instead: Mapping[str, str] = {}  # first words of a list item → the item that replaces it
    more: str = ""  # what the role does in the engine's place; added to its instructions for answering


def adapt_role(role: Role) -> Role:
    """The role for use without the engine. Roles that do not come with trued stay as they are."""
    changes = outside_changes(role.name)
    if role.origin != PACKAGED or changes == OutsideChanges():
        return role
    prompt = role.prompt
    for first, item in changes.instead.items():
        if match := re.search(rf"^- {re.escape(first)}.*(?:\n  .*)*", prompt, re.M):
            prompt = f"{prompt[: match.start()]}- {item}{prompt[match.end() :]}"
    return role.model_copy(update={"prompt": prompt, "tools": changes.tools or role.tools})


def answer_instructions(name: str = "") -> str:
    """How a role answers without the engine. This text is added at the end of an exported file; it is not part of the
    role."""
    more = outside_changes(name).more if name else ""
    return f"{_answer()}\n\n{more}" if more else _answer()


def without_instructions(prompt: str, name: str) -> str:
    """The prompt of an exported file without the instructions at its end."""
    return prompt.strip().removesuffix(answer_instructions(name)).removesuffix(answer_instructions()).strip()


@cache
def outside_changes(name: str) -> OutsideChanges:
    """What differs without the engine for the role of this name; empty if nothing differs."""
    path = OUTSIDE / f"{name}.md"
    if name == ANSWER or not re.fullmatch(r"[\w-]+", name) or not path.is_file():
        return OutsideChanges()
    matter = read_strict(path.read_text(), str(path))
    fields = matter.fields.value
    return OutsideChanges(tuple(fields.get("tools", ())), dict(fields.get("instead", {})), matter.body.strip())


@cache
def _answer() -> str:
    return (OUTSIDE / f"{ANSWER}.md").read_text().strip()
