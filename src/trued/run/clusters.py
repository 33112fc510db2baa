"""Clusters: how several agents take one step, and what happens when one of them fails.

A  `send_all`: all at once. If an agent fails or replies ERROR, a fresh agent tries once. If the fresh agent also fails,
   there is no usable reply.
B  `send_behind_gate`: one agent goes first. Depending on its result, the other agents follow as in A, or are not asked.
C  `repeat`: check, repair, check again, at most three times; the caller records what is still open.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from trued.model import Status, Value
from trued.run.agent_call import AgentAnswer
from trued.run.parallel import Parallel
from trued.run.session import BriefContext, R, Session, Subject
from trued.run.steps import Steps

TRIES = 2  # tries of one errand; the second is made in a fresh session
ROUNDS = 3  # most rounds of checking, with two repairs between them; people decide about what is still open
NAMED = 20  # undone files that the brief of a second agent names


@dataclass(frozen=True)
class Errand(Generic[R]):
    """What one agent is sent to do: who goes, with which brief, and which files it may write."""

    name: str  # tells agents of one role apart, such as researcher-impact
    role: str
    reply: type[R]
    subject: Subject
    context: Mapping[str, BriefContext] = field(default_factory=dict)
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Returned(Generic[R]):
    """The result of an errand. `reply`: the last reply of any try, or None if no try gave a reply. An agent may have
    left files even without a reply."""

    name: str
    role: str
    reply: R | None
    answers: tuple[AgentAnswer, ...] = ()  # everything known about each try: files, failure, head
    tries: int = 1
    before: tuple[R, ...] = ()  # replies of tries before the one that gave `reply`

    @property
    def replies(self) -> tuple[R, ...]:
        """All replies, oldest first: a later reply does not replace an earlier one."""
        return (*self.before, self.reply) if self.reply is not None else ()

    @property
    def good(self) -> bool:
        return self.reply is not None and self.reply.status is not Status.ERROR

    @property
    def undone(self) -> dict[str, str | None]:
        """File that the agent was not allowed to write → what it wrote into it in its last such try; None if it
        removed the file."""
        return {path: text for answer in self.answers for path, text in answer.undone.items()}

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for answer in self.answers for path in answer.changed))

    def written_at(self, path: str) -> str:
        """The commit with the agent's last version of a file; "" if it did not write the file."""
        return next((answer.head for answer in reversed(self.answers) if path in answer.changed), "")


class Undone(Value):
    """Tells a second agent which of the first agent's changes were undone."""

    files: tuple[str, ...]
    why: str = "you may not write these files: the changes were undone"


class Settled(Protocol):
    @property
    def settled(self) -> bool:
        """Whether the check found nothing that still needs a repair."""


S = TypeVar("S", bound=Settled)


class Clusters:
    """The three ways in which several agents take one step. Each agent starts from the newest commit, and does not see
    what the other agents change meanwhile."""

    def __init__(self, steps: Steps, parallel: Parallel) -> None:
        self._steps, self._parallel = steps, parallel

    async def send(self, errand: Errand[R]) -> Returned[R]:
        """Send one agent. If it fails or replies ERROR, a fresh agent tries once more. The brief of the fresh agent
        lists the first agent's changes that were undone."""
        returned = Returned[R](errand.name, errand.role, None, tries=0)
        while not returned.good and returned.tries < TRIES:
            session = Session(
                self._steps.apart(), errand.role, errand.reply, publishes=False, only=errand.only, name=errand.name
            )
            undone = {"undone": Undone(files=tuple(returned.undone)[:NAMED])} if returned.undone else {}
            reply = await session.ask_once_or_none(errand.subject, **{**errand.context, **undone})
            answers, before = (*returned.answers, session.last_answer), returned.replies if reply else returned.before
            returned = Returned(errand.name, errand.role, reply or returned.reply, answers, returned.tries + 1, before)
        return returned

    async def send_all(self, errands: Iterable[Errand[R]]) -> dict[str, Returned[R]]:
        """Pattern A: send all at once. The result is in the order of the errands, whichever returned first."""
        returned = await self._parallel.gather({errand.name: self.send(errand) for errand in errands})
        # The engine dates its next commit with `when`: the commit must not look older than the work that it records.
        position = self._steps.state.position
        position.when = max(
            [position.when, *(answer.when for result in returned.values() for answer in result.answers)]
        )
        return returned

    async def send_behind_gate(
        self,
        gate: Errand[Any],
        errands: Iterable[Errand[Any]],
        *,
        opens: Callable[[Returned[Any]], bool],
    ) -> dict[str, Returned[Any]]:
        """Pattern B: send the errand `gate` first, and the other errands only if `opens` is true for its result."""
        first = await self.send_all((gate,))
        return {**first, **(await self.send_all(errands) if opens(first[gate.name]) else {})}

    @staticmethod
    async def repeat(
        check: Callable[[int], Awaitable[S]],
        repair: Callable[[S], Awaitable[bool]],
        *,
        most: int = ROUNDS,
    ) -> S:
        """Pattern C: check, repair, check again. Ends when the check is settled, after `most` checks, or when `repair`
        returns that it did nothing. Returns the last check's result."""
        number = 1
        result = await check(number)
        while not result.settled and number < most and await repair(result):
            number += 1
            result = await check(number)
        return result
