"""agent_state.json: how far a run was when it wrote the file, and how the project is set up. A hint, never trusted."""

import json
import math
from typing import Any

from pydantic import Field

from trued.model import Value
from trued.support.plain_text import plain

NAME = "agent_state.json"
VERSION = 1
TEXT_LIMIT = 500
COMMAND_LIMIT = 8000  # characters; a longer command line is dropped
COUNT_LIMIT = 10**9
COMMANDS = ("start", "test")
TEXTS = ("run", "feature", "last_agent", "specification", "digest", "base")
KEYS = {"run": "run_id", "feature": "current_feature", "specification": "specification_file", "base": "base_commit"}
KEYS |= {"digest": "specification_sha256", "start": "start_command", "test": "test_command"}
KEYS |= {"set_up": "set_up_commands"}


class AgentState(Value):
    """The content of agent_state.json: which run wrote it, how far that run was, and what it started from."""

    run: str = ""
    iteration: int = 0
    feature: str = ""  # the current feature
    last_agent: str = ""
    specification: str = ""  # the file that the run was started with
    digest: str = ""  # sha256 of that file's text
    base: str = ""  # the user's commit that the work starts from
    start: str = ""  # the command that starts the app, as the initializer reported it
    test: str = ""  # the command that runs all tests
    set_up: tuple[str, ...] = ()  # commands that init.sh runs after it has installed what the manifests name
    version: int = VERSION  # of this format
    # Fields of the file that trued does not know; they are written back.
    more: dict[str, Any] = Field(default_factory=dict)


def parse_agent_state(text: str) -> AgentState:
    """Parse the usable parts of the file; an unreadable file gives an empty state."""
    try:
        value = json.loads(text.removeprefix("\ufeff"), parse_constant=_finite_number, parse_float=_finite_number)
    except (ValueError, RecursionError):
        return AgentState()
    if not isinstance(value, dict):
        return AgentState()
    names = {name: KEYS.get(name, name) for name in AgentState.model_fields if name != "more"}
    fields: dict[str, Any] = {name: _clean_text(value.get(names[name])) for name in TEXTS}
    fields |= {name: _command(value.get(names[name])) for name in COMMANDS}
    set_up = value.get(names["set_up"])
    fields["set_up"] = tuple(filter(None, map(_command, set_up))) if isinstance(set_up, list) else ()
    fields["iteration"] = _count(value.get("iteration"), 0)
    fields["version"] = _count(value.get("version"), VERSION)
    more = {key: part for key, part in value.items() if key not in names.values()}
    return AgentState(**fields, more=more)


def render(state: AgentState) -> str:
    """The file's text. The same state always gives the same bytes."""
    names = [name for name in AgentState.model_fields if name != "more"]
    known = {KEYS.get(name, name): getattr(state, name) for name in ("version", *names)}
    others = {key: part for key, part in state.more.items() if key not in known}
    text = json.dumps({**known, **others}, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "replace").decode() + "\n"


def _finite_number(digits: str) -> float | None:
    return value if math.isfinite(value := float(digits)) else None


def _clean_text(value: Any) -> str:
    return plain(value[:TEXT_LIMIT]).replace("\n", " ").strip() if isinstance(value, str) else ""


def _command(value: Any) -> str:
    """The value as a command line; "" if it is no text, contains a NUL, or is longer than COMMAND_LIMIT."""
    fits = isinstance(value, str) and len(value) <= COMMAND_LIMIT and "\0" not in value
    return value.encode("utf-8", "replace").decode().strip() if fits else ""


def _count(value: Any, otherwise: int) -> int:
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_LIMIT
    return int(value) if counts else otherwise
