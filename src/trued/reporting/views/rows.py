"""The rows of a run's tree: agents' calls, the engine's checks, and remarks between them."""

from dataclasses import dataclass
from typing import TypeAlias

from trued.model.events.call import CallAnswered, TokenCount


@dataclass(frozen=True, slots=True)
class Call:
    """One agent call, however many processes it took."""

    key: str
    role: str = ""
    agent: str = ""
    state: str = "running"  # running | done | failed | unfinished
    attempts: int = 1
    asked: float = 0.0  # first
    started: float = 0.0  # its first process; 0: not yet
    began: float = 0.0
    ended: float = 0.0
    answer: CallAnswered | None = None
    incidents: tuple[tuple[float, str], ...] = ()  # when, and the kind of event: crashes that it survived
    remarks: tuple[str, ...] = ()  # resumed, adopted, asked twice: what a reader would wonder about
    waits_until: float = 0.0  # when its provider admits it again; 0: it does not wait
    waits_for: str = ""
    waited: float = 0.0  # seconds, for its provider, up to now

    @property
    def tokens(self) -> TokenCount:
        return self.answer.tokens if self.answer else TokenCount()

    @property
    def cost_usd(self) -> float:
        return self.answer.cost_usd if self.answer else 0.0

    @property
    def cost(self) -> str:
        """How the cost is known: reported | computed | ceiling."""
        return self.answer.cost if self.answer else ""

    @property
    def requests(self) -> int:
        """To the model, where the agent reports them."""
        return self.answer.requests if self.answer else 0

    @property
    def compactions(self) -> int:
        return self.answer.compactions if self.answer else 0

    @property
    def changed(self) -> tuple[str, ...]:
        return self.answer.changed if self.answer else ()

    @property
    def claim(self) -> str:
        return self.answer.claim if self.answer else ""

    @property
    def why(self) -> str:
        """Why it failed."""
        return (self.answer.why or self.answer.kind) if self.answer else ""


@dataclass(frozen=True, slots=True)
class Checks:
    """The engine's own work on one proof: the check that runs now, and the verdict once there is one."""

    key: str
    state: str = "running"  # running | held | open (only a person's approval is missing) | failed | unfinished
    current: str = ""
    runs: int = 0
    began: float = 0.0
    ended: float = 0.0
    summary: str = ""
    grades: tuple[tuple[str, str, str], ...] = ()  # requirement, grade, why
    closed: bool = False  # the next check under this key begins another proof


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that happened between calls and checks."""

    key: str
    text: str
    warning: bool = False


Row: TypeAlias = Call | Checks | Remark
