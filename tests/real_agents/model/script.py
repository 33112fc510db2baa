"""What the model does, step by step, in words that fit every agent; and what goes wrong on the way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from .turn import Turn


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


@dataclass(frozen=True)
class Answer:
    """Gives a typed answer: by the tool that the agent has for it, or as JSON and nothing else."""

    value: Mapping[str, Any]


@dataclass(frozen=True)
class Ask:
    """Asks a person, by the agent's tool for that; without one it says the question and ends its turn."""

    question: str


@dataclass(frozen=True)
class Call:
    """Calls a tool by its name, whether the agent offers it or not."""

    name: str
    arguments: Mapping[str, Any]


Step: TypeAlias = Say | Read | Write | Edit | Run | Answer | Ask | Call

FAILS, HANG, STALL, DROP, CUT, HUGE = "fails", "hang", "stall", "drop", "cut", "huge"


@dataclass
class Fault:
    """The next requests go wrong so often: with a status, or as `how` says.

    hang: no byte comes; stall: it stops in the middle, and stays; drop: it is cut off in the middle; cut: it ends well,
    but the JSON in it does not; huge: it answers, with `size` characters. Questions on the side are spared.
    """

    status: int = 0
    times: int = 1
    retry_after: float | None = None
    how: str = FAILS
    after: int = 0  # so many answers of this script are good before
    marker: str = ""  # only where it is in what was said
    message: str = ""  # a provider's own words
    seconds: float = 600.0  # for which it hangs or stalls, at most: it ends with the server
    size: int = 8_000_000

    @property
    def name(self) -> str:
        return str(self.status) if self.how == FAILS else self.how


@dataclass
class Script:
    """Which step comes is counted from the request alone, so that a request that is sent again gets the same answer.

    Only what goes wrong has a state: a fault that has happened is over.
    """

    steps: Sequence[Step]
    folder: Path | None = (
        None  # where relative paths lie: told, not read out of a prompt; without it they stay relative
    )
    faults: list[Fault] = field(default_factory=list)
    good: int = field(default=0, init=False)  # answers so far

    def step(self, turn: Turn, *, typed: bool) -> Step:
        """The last step is said for ever; a typed answer only until it is taken."""
        last = self.steps[-1]
        if typed and isinstance(last, Answer) and turn.number >= len(self.steps) and not turn.refused:
            return Say("That was my answer.")
        return self.steps[min(turn.number, len(self.steps) - 1)]

    def path(self, path: str) -> str:
        return str(self.folder / path) if self.folder else path

    def fault(self, turn: Turn) -> Fault | None:
        """The first one that fits this request; it has happened then."""
        for one in self.faults:
            if self.good >= one.after and one.marker in turn.everything:
                one.times -= 1
                self.faults[:] = [other for other in self.faults if other.times > 0]
                return one
        return None


Choice: TypeAlias = Callable[[Turn], Script]


@dataclass
class Cast:
    """One server for several agents: the script is chosen by a marker in what was said.

    What was asked last goes before what was asked earlier, and that before the instructions of the role.
    """

    parts: Mapping[str, Script]
    otherwise: Script = field(default_factory=lambda: Script([Say("I have no part in this.")]))

    def __call__(self, turn: Turn) -> Script:
        for told in (turn.asked, "\n".join(turn.users), turn.system):
            for marker, script in self.parts.items():
                if marker in told:
                    return script
        return self.otherwise
