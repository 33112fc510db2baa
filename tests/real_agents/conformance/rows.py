"""The agents that are held to the same promises, a row each: how they find the scripted model, what is odd in them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parents[3] / ".cache" / "agents" / "bin"
KEY = "sk-this-is-the-key-of-the-conformance-suite"  # none, but it must be written nowhere all the same


@dataclass(frozen=True)
class Row:
    """What differs between agents; what they have to do does not."""

    agent: str  # as a user names it
    variables: Callable[[str], Mapping[str, str]]  # of the user, for a model at this address
    program: str = ""  # in PROGRAMS; empty: it comes with trued
    absolute: bool = False  # its tools take no relative paths
    quiet_s: float = 12.0  # the longest that it says nothing while all is well, on a busy machine
    tries_s: float = 60.0  # the longest that it tries again by itself before it tells of a rate limit

    @property
    def kind(self) -> str:
        return self.agent.partition(":")[0]


ROWS = (
    Row("claude", lambda url: {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}, program="claude"),
    Row("codex:gpt-5", lambda url: {"CODEX_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1"}, program="codex"),
    Row(
        "gemini:gemini-2.5-flash",
        lambda url: {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url},
        program="gemini",
        quiet_s=20.0,
    ),
    Row(
        "opencode:anthropic/claude-sonnet-4-5",
        lambda url: {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": f"{url}/v1"},
        program="opencode",
        quiet_s=30.0,
    ),
    Row(
        "qwen:scripted",
        lambda url: {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1"},
        program="qwen",
        absolute=True,
        quiet_s=30.0,
        tries_s=180.0,  # seven times with growing pauses, in silence; nothing of that can be set
    ),
    Row(
        "coder:anthropic:claude-sonnet-4-5",
        lambda url: {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url},
        quiet_s=20.0,
    ),
)
