"""Runs every check on the head twice: in parallel if that cannot change the result, else one after the other.

The second run must find all files that the first left in the checkout (LAW-6). Parallel runs use two equal rooms, so
the second run counts only if the first run left its room unchanged. Cases that failed in parallel are run again in
turns that follow each other, before they count against the head. Such a case must pass in more turns than other cases.

Of the checks that run code, only cases and pages can show `proven`. A test that ran before them could leave a sign in
the room by which the head's code knows that it is being judged. The engine cannot find every sign: the time or the mode
of a folder is enough. So the first run of cases and pages is in a room of their own, in which no other check has
changed anything. Their second run is in the room of the tests, as LAW-6 asks. If cases or pages pass in their own room,
but leave something behind there, their first run is repeated in the room of the tests.

The room of the tests has the base's tests and test settings, and lacks tests and test settings that the head adds.
While a case or page runs in this room, all files are as the head has them (`write_files_of_commit`): a file that looks
like a test may belong to the product, and the head's code must not pass only because its tests are missing.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace

from trued.model import Outcomes
from trued.proof.room.bench import WHOLE_CHECK, Bench, CaseSelection, Fact
from trued.proof.room.clean_room import Graft
from trued.proof.room.files_in_room import footprint
from trued.proof.room.files_of_checks import has_changed_objects
from trued.proof.room.held_out import DATA
from trued.proof.run_check import SharedRun, run_check
from trued.proof.verdict.case_status import GREEN_TURNS
from trued.proof.verdict.notes import passed_in_sequence

STEADY_TURNS = 4  # number of turns if a case failed only in parallel; with fewer turns, it could pass by chance
# Parallel turns are stopped, and run in sequence instead, if they take longer than this many times the usual time, and
# also longer than this many seconds.
USUAL_TIMES, LONG_S = 2.0, 120.0
BESIDE = "at the same time as the first run, in a copy of its checkout"

Record = Callable[[int, SharedRun, Fact], None]
Room = AbstractAsyncContextManager[tuple[Bench, Graft]]


@dataclass(frozen=True, slots=True)
class Rooms:
    """Makes further rooms of the same commit."""

    fresh: Callable[[], Room]  # like the room of the tests
    as_committed: Callable[[], Room]  # for cases and pages: with all files as the commit has them
    differ: bool  # whether rooms of the two kinds differ in their files


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One execution within a turn, with the ids that it runs."""

    shared: SharedRun
    ids: tuple[str, ...]
    red: tuple[str, ...]  # the ids that failed on the base
    conduct: Mapping[str, frozenset[str]]  # id → how the case behaved on the base (`Tried.conduct`)
    usual_s: float  # how long it took on the base


@dataclass(frozen=True, slots=True)
class Turn:
    """The results of one turn: every planned check, run once."""

    facts: tuple[tuple[SharedRun, Fact], ...]
    untouched: bool = False  # the turn changed nothing in the room

    @property
    def failures(self) -> frozenset[tuple[str, str]]:
        """Check and id of everything that did not pass."""
        return frozenset((next(iter(run.serves)), name) for run, fact in self.facts for name in _failed_ids(fact))

    @property
    def outcomes(self) -> list[dict[str, Outcomes]]:
        return [{result.id: result.outcome for result in fact.tried} for _, fact in self.facts]

    def beside(self) -> "Turn":
        """The same turn, marked in the evidence as run in parallel with the first."""
        facts = [(shared, replace(fact, setting=f"{fact.setting}, {BESIDE}")) for shared, fact in self.facts]
        return replace(self, facts=tuple(facts))


def _failed_ids(fact: Fact) -> set[str]:
    fine = (Outcomes.PASSED, Outcomes.SKIPPED)
    return {result.id for result in fact.tried if result.outcome not in fine} | (
        {WHOLE_CHECK} if fact.void or not fact.tried else set()
    )


async def take_turns(
    plan: Sequence[PlannedRun], bench: Bench, turns: int, record: Record, rooms: Rooms
) -> tuple[str, ...]:
    """Run the whole plan `turns` times, or more often if something failed only in parallel, and record the results.
    Returns notes for the verdict."""
    if turns != GREEN_TURNS or not plan or not await _can_take_two_at_once(plan, bench):
        await _Sequence(plan, bench, record, rooms).take(turns)
        return ()
    first, second = await _take_two_at_once(plan, bench, rooms)
    if first and second and not first.failures:
        sequence = _Sequence(plan, bench, record, rooms)
        sequence.add(first)
        if first.untouched and second.outcomes == first.outcomes:
            sequence.add(second.beside())
        return await _finish(sequence, second.failures)
    # The first parallel turn does not count: begin again, in a room in which nothing has run.
    async with rooms.fresh() as (fresh_bench, _):
        sequence = _Sequence(plan, fresh_bench, record, rooms)
        await sequence.take(1)
        failed = first.failures | second.failures if first and second else frozenset()
        if second and sequence.turns[0].untouched and failed <= sequence.turns[0].failures:
            sequence.add(second.beside())
        return await _finish(sequence, failed)


async def _can_take_two_at_once(plan: Sequence[PlannedRun], bench: Bench) -> bool:
    """Whether two turns can run in parallel. They can if two cores are idle and no preparation has run: files that a
    preparation wrote may contain the room's path, and would be wrong in a copy of the room."""
    if bench.prepared or bench.broken:
        return False
    return await bench.workspace.can_run_side_by_side(sum(planned.usual_s for planned in plan))


async def _take_two_at_once(plan: Sequence[PlannedRun], bench: Bench, rooms: Rooms) -> tuple[Turn | None, Turn | None]:
    within_s = max(LONG_S, USUAL_TIMES * sum(planned.usual_s for planned in plan))
    async with bench.workspace.copy_of_room(bench.room) as beside:
        two_turns = asyncio.gather(
            _take_turn(plan, bench, rooms, second=False),
            _take_turn(plan, bench.moved_to(beside), rooms, second=True),
        )
        try:
            async with asyncio.timeout(within_s):
                first, second = await two_turns
        except TimeoutError:
            return None, None
    return first, second


async def _finish(sequence: "_Sequence", suspects: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    """Run the remaining turns of this sequence, and extra turns if something failed only in parallel. Returns notes."""
    await sequence.take(GREEN_TURNS - len(sequence.turns))
    only_in_parallel = suspects - frozenset[tuple[str, str]]().union(*(turn.failures for turn in sequence.turns))
    if not only_in_parallel:
        return ()
    await sequence.take(STEADY_TURNS - len(sequence.turns))
    return (passed_in_sequence(len(only_in_parallel), STEADY_TURNS),)


class _Sequence:
    """Turns that run one after the other in one room; each is recorded when it ends."""

    def __init__(self, plan: Sequence[PlannedRun], bench: Bench, record: Record, rooms: Rooms) -> None:
        self.turns: list[Turn] = []
        self._plan, self._bench, self._record, self._rooms = plan, bench, record, rooms

    def add(self, turn: Turn) -> None:
        """Record a turn that has already run."""
        self.turns.append(turn)
        for shared, fact in turn.facts:
            self._record(len(self.turns), shared, fact)

    async def take(self, turns: int) -> None:
        """Run this number of further turns."""
        for _ in range(turns):
            number = len(self.turns) + 1
            turn = await _take_turn(
                self._plan,
                self._bench,
                self._rooms,
                second=number % 2 == 0,
                before=self.turns,
                record=lambda shared, fact, number=number: self._record(number, shared, fact),  # type: ignore[misc]
            )
            self.turns.append(turn)


async def _take_turn(
    plan: Sequence[PlannedRun],
    bench: Bench,
    rooms: Rooms,
    *,
    second: bool,
    before: Sequence[Turn] = (),
    record: Callable[[SharedRun, Fact], None] = lambda _shared, _fact: None,
) -> Turn:
    footprint_before = footprint(
        bench.room, besides=bench.frozen
    )  # without frozen files, which are restored before each check
    facts: list[tuple[SharedRun, Fact]] = []
    async with _UnusedRooms(rooms.as_committed) as unused:
        if not second and not bench.prepared and any(isinstance(planned.shared.check, DATA) for planned in plan[1:]):
            unused.make_ahead()
        for planned in plan:
            if not (ids := _ids_to_run(planned, before)):
                continue
            check = planned.shared.check
            selection = CaseSelection(ids, second=second, red=planned.red, conduct=planned.conduct)
            in_unused_room = (bool(facts) or rooms.differ) and not second and isinstance(check, DATA)
            fact = await run_check(check, await unused.room(), selection) if in_unused_room else None
            if fact is None or (not _failed_ids(fact) and unused.is_touched()):
                fact = await run_check(check, bench, selection)
            facts.append((planned.shared, fact))
            record(planned.shared, fact)
    return Turn(tuple(facts), untouched=footprint(bench.room, besides=bench.frozen) == footprint_before)


class _UnusedRooms:
    """Provides a clean room in which no check has changed anything. If a check has changed the room, the next call of
    `room` removes it and makes a new one, by calling `make`."""

    def __init__(self, make: Callable[[], Room]) -> None:
        self._new_room = make
        self._rooms = AsyncExitStack()
        self._ahead: asyncio.Task[None] | None = None  # makes the first room
        self._bench: Bench | None = None
        self._footprint_when_made: frozenset[tuple[str, int, int]] = frozenset()

    async def __aenter__(self) -> "_UnusedRooms":
        return self

    async def __aexit__(self, *_error: object) -> None:
        try:
            if self._ahead is not None:
                self._ahead.cancel()
                await asyncio.gather(self._ahead, return_exceptions=True)
        finally:
            await self._rooms.aclose()

    def make_ahead(self) -> None:
        """Begin to make the first room now, so that it is ready when the earlier checks have ended."""
        self._ahead = asyncio.create_task(self._make())

    async def room(self) -> Bench:
        if self._ahead is not None:
            await self._ahead
            self._ahead = None
        if self._bench is None or self.is_touched():
            await self._rooms.aclose()  # removes the previous room
            await self._make()
        assert self._bench is not None  # noqa: S101  (just made)
        return self._bench

    async def _make(self) -> None:
        bench, _ = await self._rooms.enter_async_context(self._new_room())
        self._bench, self._footprint_when_made = bench, footprint(bench.room, whole=True)

    def is_touched(self) -> bool:
        bench = self._bench
        return bench is not None and (
            has_changed_objects(bench) or footprint(bench.room, whole=True) != self._footprint_when_made
        )


def _ids_to_run(planned: PlannedRun, before: Sequence[Turn]) -> tuple[str, ...]:
    """The ids of the planned run, without ids that timed out in an earlier turn: another run could not improve their
    result. Empty if the whole check timed out."""
    facts = [fact for turn in before for shared, fact in turn.facts if shared is planned.shared]
    timed_out = {result.id for fact in facts for result in fact.tried if result.kind == "time"}
    return () if WHOLE_CHECK in timed_out else tuple(name for name in planned.ids if name not in timed_out)
