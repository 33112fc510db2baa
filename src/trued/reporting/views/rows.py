"""The rows of a run's tree: agents' calls, the engine's checks, and what happened between them."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Call:
    """One agent call, however many processes it took."""

    key: str
    role: str = ""
    agent: str = ""
    state: str = "running"  # running | done | failed | unfinished
    attempts: int = 1
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    peak: int = 0
    estimated: bool = True
    cost_usd: float = 0.0
    cost: str = ""  # how it is known: reported | computed | ceiling
    requests: int = 0  # to the model, where the agent tells
    compactions: int = 0
    began: float = 0.0
    ended: float = 0.0
    remarks: tuple[str, ...] = ()  # resumed, adopted, asked twice: what a reader would wonder about
    why: str = ""
    changed: int = 0
    claim: str = ""
    waits_until: float = 0.0  # its provider lets it go on then; 0: it does not wait
    waits_for: str = ""
    waited: float = 0.0  # seconds, for its provider, up to now

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Checks:
    """The engine's own work on one proof: what it runs now, and the verdict once there is one."""

    key: str
    state: str = "running"  # running | held | open (only a person's word is missing) | failed | unfinished
    current: str = ""
    runs: int = 0
    began: float = 0.0
    ended: float = 0.0
    summary: str = ""
    grades: tuple[tuple[str, str, str], ...] = ()  # requirement, grade, why
    closed: bool = False  # there is nothing more to come: the next check under this key begins another proof


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that happened between calls and checks."""

    key: str
    text: str
    warning: bool = False


Row: TypeAlias = Call | Checks | Remark
