"""Steps: named durable steps below one path of a run, each computed once and kept in the journal."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from trued.model import Value
from trued.model.events import JournalEvent
from trued.model.events.run import BranchNotMoved
from trued.model.step_keys import numbered
from trued.protocols import Emit
from trued.run.context import RunContext
from trued.run.editable_files import protected_files
from trued.run.state import RunState

V = TypeVar("V", bound=Value)


class _NothingToRecord(Exception):
    """Raised inside a step, so that the journal records no result for it."""


class Steps:
    """The steps of one scope. All scopes of a run share its state, which also counts the uses of each step name."""

    def __init__(self, context: RunContext, state: RunState, path: str = "") -> None:
        self.context, self.state, self.path = context, state, path

    def below(self, name: str) -> "Steps":
        """The steps of the scope `name` inside this scope. Work in either scope moves the head of both."""
        return Steps(self.context, self.state, f"{self.path}{name}/")

    def apart(self) -> "Steps":
        """The same scope with a copy of the position: work that the returned `Steps` accept does not move the head of
        this object."""
        return Steps(self.context, self.state.apart(), self.path)

    def key(self, name: str) -> str:
        """The next key for this name in this scope. Keys are numbered; the numbers continue if the scope is entered
        again."""
        key = f"{self.path}{name}"
        self.state.counts[key] += 1
        return numbered(key, self.state.counts[key])

    async def once(self, key: str, inputs: str, step: Callable[[], Awaitable[str]]) -> str:
        """The result of a step: from the journal if it is there, else computed and recorded.

        Raises `Diverged` if the journal has the key with other inputs.
        """

        async def run_step() -> str:
            self.state.position.live = True
            return await step()

        return await self.context.journal.once(key, inputs, run_step)

    async def once_unless_none(self, key: str, inputs: str, step: Callable[[], Awaitable[str | None]]) -> str | None:
        """`once` for a step that might find nothing. None is returned but not recorded: a resumed run repeats the
        step."""

        async def step_or_nothing() -> str:
            result = await step()
            if result is None:
                raise _NothingToRecord
            return result

        try:
            return await self.once(key, inputs, step_or_nothing)
        except _NothingToRecord:
            return None

    async def compute(self, kind: type[V], key: str, inputs: str, step: Callable[[], Awaitable[V]]) -> V:
        """`once` for a step whose result is a value. The journal keeps it as JSON."""

        async def step_as_json() -> str:
            return (await step()).model_dump_json()

        return kind.model_validate_json(await self.once(key, inputs, step_as_json))

    def emit(self, name: str, event: JournalEvent) -> None:
        """Write an event for people, under this name."""
        self.context.journal.emit(event, f"{self.path}{name}")

    def emitter(self, name: str) -> Emit:
        """A function that writes events under this name."""
        return partial(self.emit, name)

    async def publish(self) -> None:
        """Move the run's branch to the newest commit. If somebody else has moved the branch, emit an event that says
        so, and leave the branch alone."""
        position = self.state.position
        # The commit of a replayed step was published when the step ran, or will be with the next step that runs.
        replayed = not position.live
        if replayed or position.published == position.head or position.head == self.context.workspace.base:
            return
        position.unpublished = await self.context.workspace.publish(position.head)
        if position.unpublished:
            self.context.journal.emit(BranchNotMoved(why=position.unpublished))
        position.published = position.head

    async def close_sessions(self) -> None:
        """Drop the clones of all sessions that were opened in this scope."""
        for clone in [clone for clone, path in self.state.clones.items() if path == self.path]:
            del self.state.clones[clone]
            await self.context.workspace.drop_clone(clone, "the session has ended")

    @property
    def owned(self) -> tuple[str, ...]:
        """Files that only the engine writes: agents' changes to them are undone."""
        return self.state.files.owned

    @property
    def not_part_of_work(self) -> tuple[str, ...]:
        """Owned files and background, without the files that `Branch.count_as_work` named."""
        files = self.state.files
        return tuple(path for path in (*files.owned, *files.background) if path not in files.counted)

    @property
    def protected(self) -> tuple[str, ...]:
        """Documents of people and of the engine: an agent's changes to them are undone."""
        return protected_files(self.owned, self.context.person_files)

    @property
    def frozen_files(self) -> frozenset[str]:
        """Frozen files: checks use the contract's version of them, whatever the commit has there."""
        contract = self.state.proof.contract
        return frozenset(path for path, blob in contract.frozen.items() if blob) if contract else frozenset()
