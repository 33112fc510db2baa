"""What the model does, step by step, in words that fit every agent; and what goes wrong on the way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True)
class Say:
    """Ends its turn with a text."""

    text: str


@dataclass(frozen=True)
class Read:
    """Reads a file: some agents change none that they have not read."""

    path: str


@dataclass(frozen=True)
class Write:
    """Writes a file, by whatever tool the agent has for it."""

    path: str
    content: str


@dataclass(frozen=True)
class Edit:
    """Replaces a text in a file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Run:
    """Runs a command line in a shell."""

    command: str


Step: TypeAlias = Say | Read | Write | Edit | Run


@dataclass(frozen=True)
class Fault:
    """The next requests fail so often with this status."""

    status: int
    times: int = 1
    retry_after: float | None = None


@dataclass
class Script:
    """Which step comes is counted from the request alone, so that a request that is sent again gets the same answer."""

    steps: Sequence[Step]
    folder: Path  # where relative paths lie: told, not read out of a prompt
    faults: list[Fault] = field(default_factory=list)

    def step(self, number: int) -> Step:
        """The last step is said for ever."""
        return self.steps[min(number, len(self.steps) - 1)]

    def absolute(self, path: str) -> str:
        return str(self.folder / path)


@dataclass(frozen=True)
class Turn:
    """A request, as far as a script needs to know it."""

    number: int  # of answers that the model got since it was last asked: results of tools, and what hooks said
    tools: dict[str, dict[str, object]]  # name → schema of its arguments
    streams: bool
    model: str
    texts: tuple[str, ...] = ()  # all that users, hooks and tools said, in order
