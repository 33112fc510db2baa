"""Patterns: how several agents work on one step, and what becomes of those who fail.

A  `cluster`: all at once. Who fails, or says ERROR, gets one retry by a fresh session; who fails again is missing.
B  `gated`: one goes first; only where it opens the gate, the others go as in A.
C  `rounds`: check, mend, check again, three times at most; what is left then is for the caller to put on record.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from trued.model import Status, Value
from trued.run.agent_call import Answered
from trued.run.parallel import Parallel
from trued.run.session import Context, R, Session, Subject

TRIES = 2  # of one errand: the second goes to a fresh session
ROUNDS = 3  # of checking: what two rounds of mending leave is for people to see
NAMED = 20  # files that whoever tries again is told of


@dataclass(frozen=True)
class Errand(Generic[R]):
    """What one agent is sent for: who goes, with which words, and which files it may leave."""

    name: str  # of the instance: researcher-impact
    role: str
    reply: type[R]
    subject: Subject
    context: Mapping[str, Context] = field(default_factory=dict)
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Returned(Generic[R]):
    """What came of an errand. `reply` is None where nobody gave one: missing, whatever was left."""

    name: str
    role: str
    reply: R | None
    lefts: tuple[Answered, ...] = ()  # try by try
    tries: int = 1
    before: tuple[R, ...] = ()  # what was said in tries that failed, where the last one gave a reply, too

    @property
    def replies(self) -> tuple[R, ...]:
        """All that was said, the last word last: asking again takes nothing back."""
        return (*self.before, self.reply) if self.reply is not None else ()

    @property
    def good(self) -> bool:
        return self.reply is not None and self.reply.status is not Status.ERROR

    @property
    def undone(self) -> dict[str, str | None]:
        """What it wrote and was not its to write, in any try."""
        return {path: text for left in self.lefts for path, text in left.undone.items()}

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for left in self.lefts for path in left.changed))

    def written_at(self, path: str) -> str:
        """The commit that holds what it last wrote there; "" where it wrote nothing."""
        return next((left.head for left in reversed(self.lefts) if path in left.changed), "")


class Undone(Value):
    """For whoever tries again."""

    files: tuple[str, ...]
    why: str = "not yours to write: it was undone"


class Settled(Protocol):
    @property
    def settled(self) -> bool:
        """Is there nothing left to mend?"""


S = TypeVar("S", bound=Settled)


class Patterns(Parallel):
    """The three ways of a step with several agents. All of them are asked apart: nobody moves another's head."""

    async def errand(self, errand: Errand[R]) -> Returned[R]:
        """One agent; where it fails or says ERROR, once more by a fresh one, which is told of what was undone."""
        returned = Returned[R](errand.name, errand.role, None, tries=0)
        while not returned.good and returned.tries < TRIES:
            session = Session(
                self.steps.apart(), errand.role, errand.reply, publishes=False, only=errand.only, name=errand.name
            )
            told = {"undone": Undone(files=tuple(returned.undone)[:NAMED])} if returned.undone else {}
            reply = await session.tolerant(errand.subject, **{**errand.context, **told})
            lefts, before = (*returned.lefts, session.left), returned.replies if reply else returned.before
            returned = Returned(errand.name, errand.role, reply or returned.reply, lefts, returned.tries + 1, before)
        return returned

    async def cluster(self, errands: Iterable[Errand[R]]) -> dict[str, Returned[R]]:
        """Pattern A: all at once, under the run's one cap; in the order of the errands, whoever was first."""
        found = await self.together({one.name: self.errand(one) for one in errands})
        self._later(found)
        return found

    async def gated(
        self,
        gate: Errand[Any],
        errands: Iterable[Errand[Any]],
        *,
        opens: Callable[[Returned[Any]], bool],
    ) -> dict[str, Returned[Any]]:
        """Pattern B: nobody else is asked where the gate stays closed."""
        first = await self.cluster((gate,))
        return {**first, **(await self.cluster(errands) if opens(first[gate.name]) else {})}

    async def rounds(
        self,
        check: Callable[[int], Awaitable[S]],
        mend: Callable[[S], Awaitable[bool]],
        *,
        most: int = ROUNDS,
    ) -> S:
        """Pattern C: the last round is a check; `mend` says whether anything was done that is worth another."""
        number = 1
        found = await check(number)
        while not found.settled and number < most and await mend(found):
            number += 1
            found = await check(number)
        return found

    def _later(self, found: Mapping[str, Returned[Any]]) -> None:
        """The engine's next commit is not older than what it tells of."""
        self.line.when = max([self.line.when, *(left.when for one in found.values() for left in one.lefts)])
