"""The rows of a run's tree: agents' calls, the engine's checks, and remarks between them."""

from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:  # not imported at run time: statistics use this module, and need no class of an event
    from trued.model.events.call import CallAnswered

WORD = 20  # strings shorter than this, such as PASS or DONE, are interned

# Named tuples, because a long run has tens of thousands of rows, each rebuilt several times while events are folded.


class TokenSum(NamedTuple):
    """Tokens of one call. `peak` is the largest context of one request."""

    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    peak: int = 0
    estimated: bool = True

    @property
    def total(self) -> int:
        return self.tokens_in + self.tokens_out


class CallOutcome(NamedTuple):
    """How a call ended: what views need of the event `CallAnswered`, without empty fields of its reply. This takes a
    fifth of the memory; short strings are interned, so that all calls share them."""

    state: str
    kind: str  # kind of failure
    why: str
    reply: Mapping[str, Any] | None
    asks: int
    resumed: bool
    reaped: int
    commit: str
    changed: tuple[str, ...]
    tokens: TokenSum
    cost_usd: float
    cost: str
    requests: int
    compactions: int
    began: float
    claim: str

    @classmethod
    def of(cls, event: "CallAnswered") -> "CallOutcome":
        used = event.tokens
        reply = {name: _intern(value) for name, value in (event.reply or {}).items() if value or value is False}
        return cls(
            state=intern(event.state),
            kind=intern(event.kind),
            why=event.why,
            reply=reply or None,
            asks=event.asks,
            resumed=event.resumed,
            reaped=event.reaped,
            commit=intern(event.commit),
            changed=tuple(map(intern, event.changed)),
            tokens=TokenSum(used.tokens_in, used.tokens_out, used.cached, used.peak, used.estimated),
            cost_usd=event.cost_usd,
            cost=intern(event.cost),
            requests=event.requests,
            compactions=event.compactions,
            began=event.began,
            claim=intern(event.claim),
        )


def _intern(value: object) -> object:
    return intern(value) if type(value) is str and len(value) < WORD else value


class Call(NamedTuple):
    """One agent call, however many processes it took."""

    key: str
    role: str = ""
    agent: str = ""
    state: str = "running"  # running | done | failed | unfinished
    attempts: int = 1
    asked: float = 0.0  # when it was first asked
    started: float = 0.0  # start of its first process; 0: not yet
    began: float = 0.0
    ended: float = 0.0
    answer: CallOutcome | None = None
    incidents: tuple[tuple[float, str], ...] = ()  # crashes that it survived: time and kind of event
    remarks: tuple[str, ...] = ()  # what a reader should know, such as resumed, adopted, asked twice
    waits_until: float = 0.0  # when its provider accepts requests again; 0: the call does not wait
    waits_for: str = ""
    waited: float = 0.0  # seconds that it has waited for its provider

    @property
    def tokens(self) -> TokenSum:
        return self.answer.tokens if self.answer else TokenSum()

    @property
    def cost_usd(self) -> float:
        return self.answer.cost_usd if self.answer else 0.0

    @property
    def cost(self) -> str:
        """How the cost is known: reported | computed | ceiling (an upper bound); "" if unknown."""
        return self.answer.cost if self.answer else ""

    @property
    def requests(self) -> int:
        """The number of requests to the model, if the agent reports it."""
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
        """Why the call failed."""
        return (self.answer.why or self.answer.kind) if self.answer else ""


class Checks(NamedTuple):
    """The engine's own work on one proof: how many checks ran, and the verdict when there is one."""

    key: str
    state: str = "running"  # running | held | open (only a person's approval is missing) | failed | unfinished
    runs: int = 0
    began: float = 0.0
    ended: float = 0.0
    summary: str = ""
    grades: tuple[tuple[str, str, str], ...] = ()  # requirement, grade, why
    closed: bool = False  # the next check under this key begins another proof


class Remark(NamedTuple):
    """Something that happened between calls and checks."""

    key: str
    text: str
    warning: bool = False


Row: TypeAlias = Call | Checks | Remark
