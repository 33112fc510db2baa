"""Decisions that the page only proposes: a person confirms them in the terminal where the page was started."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from trued.errors import BadInput, TruedError

TRIES = 3
WITHIN_S = 120.0
HIGHEST, WIDTH = 20, 80  # a question has at most HIGHEST rows of WIDTH characters: nobody reads what has scrolled away
DecisionState: TypeAlias = Literal["asked", "doing", "done", "refused", "failed", "too late"]


class PersonTerminal(Protocol):
    """The terminal of the person who started the page."""

    def say(self, text: str) -> None: ...

    def forget_typed(self) -> None:
        """Drop what was typed before the present question, because it does not answer that question."""

    async def line(self) -> str | None:
        """The next line that the person types; None at the end of input."""


@dataclass
class ProposedDecision:
    """One decision that waits for its number to be typed."""

    id: str
    number: str
    words: str  # exactly what would be recorded
    act: Callable[[], Awaitable[str]]
    session: int  # the session that proposed the decision; no other session sees the number
    until: float  # when it expires, in seconds since the epoch
    state: DecisionState = "asked"
    said: str = ""
    tries: int = 0


class Confirmations:
    """Asks about one proposal at a time: the browser shows a number, and the person types this number in the terminal.

    Only pages of the session that made the proposal show the number. An attacker who has stolen the person's session
    can propose and sees the number, but cannot type it in the terminal. The person's own pages then show the number as
    well, so the person might type it. That is why the terminal first shows exactly what would be recorded.
    """

    def __init__(
        self,
        terminal: PersonTerminal | None,
        again: Callable[[], None],
        report: Callable[[BaseException], None],
        within_s: float = WITHIN_S,
    ) -> None:
        """`again`: opens the page in a browser; it is called if the person presses Enter while nothing is asked.
        `report`: saves the traceback of a bug. `within_s`: how long a person has to type the number."""
        self._terminal, self._again, self._report, self._within_s = terminal, again, report, within_s
        self._open: ProposedDecision | None = None
        self._past: dict[str, ProposedDecision] = {}
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def has_terminal(self) -> bool:
        return self._terminal is not None

    def propose(self, words: str, act: Callable[[], Awaitable[str]], session: int) -> ProposedDecision:
        """Show `words` in the terminal and ask for the number. `act`: records the decision once the person has typed
        the number. `session`: the browser session that proposes it. Raises BadInput if there is no terminal, if another
        decision is pending, or if the text does not fit on a screen."""
        if self._terminal is None:
            raise BadInput("the page was started without a terminal")
        if self._open is not None:
            then = "type its number there, or withdraw it" if self._open.session == session else "finish that one first"
            raise BadInput("another decision is waiting in the terminal", then=then)
        if sum(-(-len(line) // WIDTH) or 1 for line in words.split("\n")) > HIGHEST:
            what = f"what would be recorded takes more than {HIGHEST} rows of the terminal"
            raise BadInput(what, then="decide on fewer things at once, or use the command line")
        name, number = secrets.token_urlsafe(16), f"{secrets.randbelow(10_000):04}"
        proposal = ProposedDecision(name, number, words, act, session, time.time() + self._within_s)
        self._open = proposal
        self._past = {**dict(list(self._past.items())[-20:]), proposal.id: proposal}
        self._expiry = asyncio.get_running_loop().call_later(
            self._within_s, self._close, proposal, "too late", "nobody typed the number"
        )
        self._terminal.forget_typed()
        self._terminal.say(
            f"\nThe page asks you to record, at {time.strftime('%H:%M:%S')}:\n\n{words}\n\n"
            f"Type the number that the page shows to confirm it, or press Enter to refuse ({self._within_s:.0f} s):"
        )
        return proposal

    def proposal(self, name: str) -> ProposedDecision:
        """The proposal with this id. Raises BadInput if there is none."""
        if name not in self._past:
            raise BadInput("there is no such decision")
        return self._past[name]

    def pending(self, session: int) -> ProposedDecision | None:
        """The decision that the terminal asks for now, if this session proposed it."""
        found = self._open
        return found if found is not None and found.session == session and found.state == "asked" else None

    def withdraw(self, session: int) -> None:
        """Withdraw this session's proposal. Raises BadInput if there is none, or if it is already being recorded."""
        if (proposal := self.pending(session)) is None:
            raise BadInput("you have no open decision to withdraw")
        self._close(proposal, "refused", "withdrawn on the page")

    async def listen(self) -> None:
        """Read the terminal until its input ends; return at once without a terminal."""
        while self._terminal is not None:
            line = await self._terminal.line()
            if line is None:
                self._terminal = None
                if self._open is not None:
                    self._close(self._open, "refused", "the terminal has ended")
            elif self._open is not None:
                await self._handle_line(self._open, line)
            elif not line:
                self._again()

    async def _handle_line(self, proposal: ProposedDecision, line: str) -> None:
        if not line:
            self._close(proposal, "refused", "refused in the terminal")
        elif not secrets.compare_digest(line.encode(), proposal.number.encode()):
            proposal.tries += 1
            if proposal.tries >= TRIES:
                self._close(proposal, "refused", f"{TRIES} wrong numbers were typed")
            elif self._terminal is not None:
                self._terminal.say("that is not the number; try again, or press Enter to refuse:")
        else:
            proposal.state = "doing"  # from here on, the proposal can neither expire nor be withdrawn
            self._stop_expiry()
            try:
                said = await proposal.act()
            except TruedError as error:
                self._close(proposal, "failed", str(error))
            except Exception as error:  # noqa: BLE001  after a bug in one action, the terminal must still be read
                self._report(error)
                self._close(proposal, "failed", f"unexpected {type(error).__name__}")
            else:
                self._close(proposal, "done", said)

    def _stop_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _close(self, proposal: ProposedDecision, state: DecisionState, said: str) -> None:
        """Close this proposal if the terminal still asks about it; otherwise do nothing."""
        if proposal is not self._open:
            return
        self._open = None
        self._stop_expiry()
        proposal.state, proposal.said = state, said
        if self._terminal is not None:
            self._terminal.say(said if state == "done" else f"nothing was recorded: {said}")
