"""A request to the model, as far as a script needs to know it; and what the model does then."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

FREEFORM = "freeform"  # in a tool's schema: it takes a text, and no arguments with names
_ASIDE = ("<system-reminder>", "<session_context>", "<environment", "<turn_aborted", "<user_instructions>")
_FROM_A_HOOK = ("Stop hook feedback", "SubagentStop hook feedback", "Stop hook blocking error")

USER, RESULT, ERROR = "user", "result", "error"
Said: TypeAlias = tuple[str, str]  # USER, RESULT or ERROR, and the text


@dataclass(frozen=True)
class Turn:
    number: int  # of answers that the model got since it was last asked: results of tools, and what hooks said
    tools: dict[str, dict[str, Any]]  # name → schema of its arguments
    streams: bool
    model: str
    texts: tuple[str, ...] = ()  # all that users, hooks and tools said, in order
    users: tuple[str, ...] = ()  # what people said, without what their programs put in beside
    system: str = ""
    refused: bool = False  # the last tool that it called failed
    schema: dict[str, Any] | None = field(default=None)  # of the answer that is wanted as text

    @property
    def asked(self) -> str:
        """What a person said last."""
        return self.users[-1] if self.users else ""

    @cached_property
    def everything(self) -> str:
        return "\n".join((self.system, *self.texts))


@dataclass(frozen=True)
class Spoken:
    text: str


@dataclass(frozen=True)
class Called:
    name: str
    arguments: dict[str, Any] | str

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


Act: TypeAlias = Spoken | Called


@dataclass(frozen=True)
class Usage:
    """Tokens, where four characters are one."""

    sent: int
    said: int

    @property
    def both(self) -> int:
        return self.sent + self.said


NOTHING = Usage(0, 0)


@dataclass(frozen=True)
class Reply:
    """Its content type, and the pieces in which it is sent."""

    kind: str
    pieces: list[bytes]


def turn_of(
    said: Iterable[Said],
    *,
    tools: dict[str, dict[str, Any]],
    streams: bool,
    model: str,
    system: str,
    schema: dict[str, Any] | None = None,
) -> Turn:
    number, refused, texts, users = 0, False, list[str](), list[str]()
    for kind, text in said:
        texts.append(text)
        if kind != USER or text.startswith(_FROM_A_HOOK):
            number, refused = number + 1, kind == ERROR
        elif not text.lstrip().startswith(_ASIDE):
            number, refused = 0, False
            users.append(text)
    return Turn(number, tools, streams, model, tuple(texts), tuple(users), system, refused, schema)


def plain(content: Any) -> str:
    """The text in content that is a string, or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content)
    return "\n".join(one if isinstance(one, str) else one.get("text", "") for one in content)


def in_json(value: object) -> Reply:
    return Reply("application/json", [json.dumps(value).encode()])


def in_events(events: Iterable[dict[str, Any]], *, named: bool, last: bytes = b"") -> Reply:
    """Server-sent events: `named` by their type, as some clients need it."""
    pieces = [
        (f"event: {one['type']}\n" if named else "").encode() + b"data: " + json.dumps(one).encode() + b"\n\n"
        for one in events
    ]
    return Reply("text/event-stream", [*pieces, last] if last else pieces)


def bits(text: str) -> list[str]:
    """A text as it comes from a model: in a few bits, so that there is a middle."""
    size = max(1, -(-len(text) // 4))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]
