"""What changes in a packaged role where no engine reads its reply: `outside/answer.md` for all, `outside/ROLE.md` for
one.

A role's own file names other `tools`, prohibitions that hold `instead` of those that rest on the engine (by their first
words), and below its front matter what the role has to do itself.
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
PACKAGED = "packaged"  # the origin of roles that come with trued: only they rest on the engine


class OutsideChanges(NamedTuple):
    """What differs for one role."""

    tools: tuple[str, ...] = ()  # (): as they are
    instead: Mapping[str, str] = {}  # first words of a list item → the item that takes its place
    more: str = ""


def adapt_role(role: Role) -> Role:
    """The role for use without the engine. A role that is not one of trued's own stays as it is."""
    changes = outside_changes(role.name)
    if role.origin != PACKAGED or changes == OutsideChanges():
        return role
    prompt = role.prompt
    for first, item in changes.instead.items():
        if found := re.search(rf"^- {re.escape(first)}.*(?:\n  .*)*", prompt, re.M):
            prompt = f"{prompt[: found.start()]}- {item}{prompt[found.end() :]}"
    return role.model_copy(update={"prompt": prompt, "tools": changes.tools or role.tools})


def answer_instructions(name: str = "") -> str:
    """How a role answers without the engine: the end of its exported file, not part of the role."""
    more = outside_changes(name).more if name else ""
    return f"{_answer()}\n\n{more}" if more else _answer()


def without_instructions(prompt: str, name: str) -> str:
    """The prompt of an exported file without the instructions at its end."""
    return prompt.strip().removesuffix(answer_instructions(name)).removesuffix(answer_instructions()).strip()


@cache
def outside_changes(name: str) -> OutsideChanges:
    """What differs for the role of this name."""
    path = OUTSIDE / f"{name}.md"
    if name == ANSWER or not re.fullmatch(r"[\w-]+", name) or not path.is_file():
        return OutsideChanges()
    matter = read_strict(path.read_text(), str(path))
    fields = matter.fields.value
    return OutsideChanges(tuple(fields.get("tools", ())), dict(fields.get("instead", {})), matter.body.strip())


@cache
def _answer() -> str:
    return (OUTSIDE / f"{ANSWER}.md").read_text().strip()
