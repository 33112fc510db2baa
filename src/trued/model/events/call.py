"""Events of one agent call: asked, waiting, lost, adopted, answered."""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field

from trued.model.events import JournalEvent, UnknownEvent, kinds
from trued.model.history import claim_of
from trued.model.value import Value


class TokenCount(Value):
    """Tokens of one call. `peak` is the largest context of one request."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    tokens_in: int = Field(default=0, alias="in")  # stored as `in`, which is a keyword in Python
    tokens_out: int = Field(default=0, alias="out")
    cached: int = 0
    peak: int = 0
    estimated: bool = True

    @property
    def total(self) -> int:
        return self.tokens_in + self.tokens_out


class CallAsked(JournalEvent, kind="asked"):
    """An agent was asked to work. Emitted again when a resumed engine reaches a call that is still running."""

    role: str
    agent: str
    brief: str = ""  # "" if the events were read without their texts
    chars: int = 0  # length of the brief; 0 if the event was shortened for views that fold events
    resume: bool = False  # the agent continues its earlier conversation


class CallAnswered(JournalEvent, kind="answered"):
    """An agent call ended: with a reply, which is a claim, or with the reason why there is none."""

    role: str
    agent: str
    state: str
    kind: str  # kind of failure
    why: str
    reply: dict[str, Any] | None = None
    attempts: int
    asks: int  # how often the agent was asked: 2 if its first reply was invalid
    resumed: bool
    reaped: int  # number of processes that the agent left behind, which were then ended
    commit: str
    changed: tuple[str, ...]
    tokens: TokenCount = Field(default_factory=TokenCount)
    cost_usd: float
    cost: str  # how the cost is known: reported, computed, ceiling; "" if unknown
    requests: int
    compactions: int
    began: float
    ended: float

    @property
    def claim(self) -> str:
        """The result that the agent claims: DONE, PASS, …"""
        return claim_of(self.reply or {})


class CallWaits(JournalEvent, kind="waits"):
    """A call waits because its provider refused it for now."""

    until: float
    why: str
    failure: str  # rate, overloaded, …
    agent: str

    @property
    def waits_for(self) -> str:
        """What the call waits for, as text: `rate limit of claude`."""
        kind, _, rest = (self.agent or "its provider").partition(":")
        who = rest.partition(":")[0] if kind == "coder" else kind if kind != "acp" else rest.partition(" ")[0]
        return f"{who} is overloaded or out of reach" if self.failure == "overloaded" else f"rate limit of {who}"


class CallWaited(JournalEvent, kind="waited"):
    """The wait for a provider is over."""

    seconds: float


class CallPostponed(JournalEvent, kind="postponed"):
    """A call waits for its turn on the hub: the agent's cap over all machines is reached, or an attempt at the call on
    another machine may still be at work."""

    why: str
    agent: str


class QuotaReported(JournalEvent, kind="quota"):
    """An agent reported how much of the user's subscription is used."""

    agent: str
    window: str = ""
    used: float = 0.0  # per cent
    until: float = 0.0


class CallRepeated(JournalEvent, kind="run again"):
    """A call died and left nothing behind, so it is made again."""

    attempt: int
    why: str


class FreshSession(JournalEvent, kind="fresh session"):
    """The agent cannot resume a conversation. So it begins a new one, and its brief repeats all facts."""

    why: str


class CallStarted(JournalEvent, kind="started"):
    """A supervisor started the agent."""

    pid: int


class CallAdopted(JournalEvent, kind="adopted"):
    """A resumed engine found the call still running and waits for it."""

    pid: int


class ReportFound(JournalEvent, kind="report found"):
    """A resumed engine found the report of a call that had ended meanwhile."""

    state: str


class CallDied(JournalEvent, kind="died", omits=("lapsed",)):
    """The call ended without a report."""

    stopped: bool
    reaped: int
    lapsed: bool = False  # its supervisor ended it because the driver's lease on the run had expired


class CallStopped(JournalEvent, kind="stopped for a comment"):
    """A person stopped the call to say something to the agent. The call then continues in the same session."""

    who: tuple[str, ...]


class SessionResumed(JournalEvent, kind="session resumed"):
    """The agent's conversation is resumed after its process died."""

    session: str


class CallFileCorrupted(JournalEvent, kind="corrupted"):
    """A file of the call cannot be read; it was moved aside."""

    file: str


class SupervisorStuck(JournalEvent, kind="supervisor stands still", shown="supervisor hangs"):
    """A supervisor did not keep its own time limit and was ended."""


EVENTS = (
    *(
        CallAsked,
        CallAnswered,
        CallPostponed,
        CallWaits,
        CallWaited,
        QuotaReported,
        CallRepeated,
        FreshSession,
        CallStarted,
    ),
    *(CallAdopted, ReportFound, CallDied, CallStopped, SessionResumed, CallFileCorrupted, SupervisorStuck),
)
KINDS = kinds(*EVENTS)


def from_runtime(kind: str, data: Mapping[str, Any]) -> JournalEvent:
    """The event that a runtime reports as plain data; an `UnknownEvent` for kinds that only the runtime knows."""
    event = KINDS[kind].from_data(data) if kind in KINDS else None
    return event or UnknownEvent(name=kind, data=dict(data))
