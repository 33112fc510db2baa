"""Transcript: what an agent has reported about one call so far."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from trued.agents.driver.program import Stop
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain_line
from trued.wire import EmitAgentEvent, Order, Usage, add_usage, with_cost

if TYPE_CHECKING:
    from trued.agents.driver.provider_errors import Refusal

SHOWN = 2000  # characters of a text or a tool's argument in an event
ASKED = 500  # characters of a tool's argument in a question to a person, which has to be short
# Larger figures are impossible and rejected: tokens or dollars of one call, or epoch seconds. Tools can write into the
# agent's stream, and agents can claim anything.
MOST = 10**11
SESSION = lazy_regex(r"\w[\w.:@+=/-]{0,255}", re.ASCII)  # session ids that are safe on a command line


@dataclass
class Transcript:
    """Collects what an agent reports in one call. The agent's adapter folds each event into the transcript, and the
    transcript emits its own event at once."""

    order: Order
    emit: EmitAgentEvent
    native: str = ""  # the agent's own id of the session
    text: str = ""  # the agent's last message
    structured: dict[str, Any] | None = None
    usage: Usage = field(default_factory=Usage)  # of this call
    refusal: "Refusal | None" = None
    question: str = ""
    finished: bool = False  # the agent reported the end of its turn
    running: set[str] = field(default_factory=set)  # ids of tools that are running
    stop: Stop | None = None
    # The fullest quota window of the user's subscription, if the agent reports it.
    quota: dict[str, Any] = field(default_factory=dict)
    last: str = ""  # id of the last message, to recognise its further pieces

    def set_session(self, native: str) -> None:
        """Record the agent's own session id as soon as it is known: after a crash the session is resumed with it.
        Raises ValueError for an id that is not safe on a command line."""
        if native and native != self.native:
            if not SESSION.fullmatch(native):
                raise ValueError("not a session id")
            self.native = native
            self.emit("session", id=native)

    def add_text(self, text: str) -> None:
        """Record a message of the agent."""
        if text.strip():
            self.emit("says", text=text[:SHOWN])

    def start_tool(self, name: str, id: str = "", what: str = "") -> None:
        """Record that a tool has started; `what` is its input."""
        self.running.add(id)
        self.emit("tool", name=name, id=id, what=what[:SHOWN])

    def end_tool(self, id: str = "", *, failed: bool = False) -> None:
        """Record that a tool has ended."""
        self.running.discard(id)
        self.emit("tool ended", id=id, failed=failed)

    def deny_tool(self, tool: str, what: str = "") -> None:
        """Record that the agent tried to use a tool that the role does not allow. If the order's `prompts` is "ask",
        also stop the agent, so that a person is asked."""
        self.emit("permission", tool=tool, what=what[:SHOWN], answer=self.order.prompts)
        if self.order.prompts == "ask" and not self.question:
            shown = f": {plain_line(what, ASKED)}" if what else ""
            self.question = f"{self.order.role} wants to use {tool}{shown}. Allow this?"
            self.stop = Stop("question", self.question)

    def report_started_agent(self, name: str) -> None:
        """Record that the agent tried to start another agent."""
        self.emit("tried to start an agent", program=name)

    def count_compaction(self, tokens: int = 0) -> None:
        """Record that the agent shortened its own context."""
        self.usage = replace(self.usage, compactions=self.usage.compactions + 1)
        self.emit("compacted", tokens=tokens)

    def add_request(self, usage: Usage) -> None:
        """Add the usage of one request to the model. The tokens that were sent and received together are the context's
        size."""
        context = usage.tokens_in + usage.tokens_out
        self.set_usage(
            add_usage(self.usage, replace(usage, peak=max(usage.peak, context), requests=1, estimated=False))
        )

    def set_usage(self, usage: Usage) -> None:
        """Set the usage of the whole call so far; stop the agent if the usage exceeds what was reserved. Raises
        ValueError for impossible figures."""
        if not all(0 <= figure <= MOST for figure in (usage.tokens_in, usage.tokens_out, usage.peak, usage.cost_usd)):
            raise ValueError("impossible usage figures")
        self.usage = replace(usage, compactions=max(usage.compactions, self.usage.compactions))
        with_cost = self.usage_with_cost()
        self.emit(
            "usage",
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            peak=usage.peak,
            cost_usd=round(with_cost.cost_usd, 6),
        )
        allowed = self.order.allowance
        if allowed.usd and with_cost.cost_usd > allowed.usd:
            why = f"it has used ${with_cost.cost_usd:.2f}, and ${allowed.usd:.2f} were reserved for it"
            self.stop = self.stop or Stop("budget", why)
        if allowed.tokens and usage.tokens_in + usage.tokens_out > allowed.tokens:
            why = f"it has used {usage.tokens_in + usage.tokens_out} tokens, and {allowed.tokens} were reserved for it"
            self.stop = self.stop or Stop("budget", why)

    def set_quota(self, name: str, until: float, *, used: float | None = None, closed: bool = False) -> None:
        """Record how full a quota window of a subscription is, in per cent, and when it resets. `closed`: the window is
        full. Ignore a window that is less full than the recorded one."""
        full = 100.0 if closed else used
        if full is None or not (self.quota.get("used") or 0.0) <= full < MOST:
            return
        self.quota = {"window": name, "used": round(full, 1), "until": until if 0 <= until < MOST else 0.0}
        self.emit("quota", **self.quota)

    def usage_with_cost(self) -> Usage:
        """The usage with a cost: the agent's own figure, or one computed from the price of its model."""
        return with_cost(self.usage, self.order.price)

    def refuse(
        self,
        text: str,
        *,
        kind: str = "",
        status: int = 0,
        headers: Mapping[str, str] | None = None,
        final: bool = True,
    ) -> None:
        """Record a refusal by the agent or its provider. `final`: the agent gives up. Otherwise the agent retries, and
        is stopped if no retry can help."""
        from trued.agents.driver.provider_errors import Refusal, parse_refusal  # loaded only after a refusal

        known = (
            Refusal(kind, 0.0, text[:SHOWN])
            if kind
            else parse_refusal(text, now=time.time(), status=status, headers=headers or {})
        )
        refusal = known or Refusal("other", 0.0, text[:SHOWN])
        if refusal.kind == "rate" and not refusal.until and self.quota.get("used") == 100.0:
            refusal = replace(refusal, until=float(self.quota["until"]))
        self.emit("refused", failure=refusal.kind, why=refusal.why, until=refusal.until, final=final)
        if final:
            self.refusal = refusal
        elif refusal.kind in ("auth", "credit"):
            self.stop = self.stop or Stop(refusal.kind, refusal.why)
