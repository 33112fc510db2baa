"""Named steps of one part of a run: counted per name, recorded once, and told to whoever reads the journal."""

from collections.abc import Awaitable, Callable
from copy import copy
from pathlib import PurePosixPath

from trued.model import Settings
from trued.run.context import Kit, Line
from trued.workflows.handoff import agent_state, e2e_example, feature_list
from trued.workflows.handoff.progress_file import PROGRESS
from trued.workflows.handoff.project import SCRIPT

TEAM = ".trued/team/"
LOGGED = ("purple", "solo")  # workflows that keep MEMORY.md beside their plan


class Steps:
    """The steps below one path. All parts of a run share its line, and with it the count of every name."""

    def __init__(self, kit: Kit, line: Line, path: str = "") -> None:
        self.kit, self.line, self.path = kit, line, path

    def below(self, name: str) -> "Steps":
        return Steps(self.kit, self.line, f"{self.path}{name}/")

    def apart(self) -> "Steps":
        """The same part on a line of its own: what is accepted there moves nobody else's head."""
        return Steps(self.kit, copy(self.line), self.path)

    def key(self, name: str) -> str:
        key = f"{self.path}{name}"
        self.line.seen[key] += 1  # shared by all parts: coming back to one continues its numbers
        return f"{key}#{self.line.seen[key]}"

    async def once(self, key: str, inputs: str, step: Callable[[], Awaitable[str]]) -> str:
        async def happening() -> str:
            self.line.live = True
            return await step()

        return await self.kit.journal.once(key, inputs, happening)

    def tell(self, name: str) -> Callable[..., None]:
        key = f"{self.path}{name}"

        def tell(kind: str, /, **data: object) -> None:
            self.kit.journal.tell(kind, key, **data)

        return tell

    async def publish(self) -> None:
        """The run's branch follows every accepted step; whoever else moved it is told of, not overrun."""
        line = self.line
        replayed = not line.live  # what is only remembered was published when it happened, or will be with the next
        if replayed or line.published == line.head or line.head == self.kit.workspace.base:
            return
        line.unpublished = await self.kit.workspace.publish(line.head)
        if line.unpublished:
            self.kit.journal.tell("branch not moved", why=line.unpublished)
        line.published = line.head

    async def close_sessions(self) -> None:
        for clone in [clone for clone, path in self.line.clones.items() if path == self.path]:
            del self.line.clones[clone]
            await self.kit.workspace.drop(clone, "the session has ended")

    # -- files that are not the agents' --------------------------------------------------------------------------------

    @property
    def memory(self) -> str:
        """MEMORY.md lies beside the plan; a plan from outside the repository has none there."""
        return next(iter(self._beside), "")

    @property
    def owned(self) -> tuple[str, ...]:
        """The engine's own files: no part of the work."""
        return (*self._beside, *self.line.owned)

    @property
    def _beside(self) -> tuple[str, ...]:
        return owned_beside(self.kit.goal.source.file) if self.kit.settings.workflow in LOGGED else ()

    @property
    def not_theirs(self) -> set[str]:
        """What an agent may change in its clone to no effect: the plan, frozen files, the engine's own."""
        frozen = self.line.contract.frozen if self.line.contract else {}
        return {*self.owned, self.kit.goal.source.file, *(path for path, blob in frozen.items() if blob)}


def owned_by(settings: Settings, goal: str) -> tuple[str, ...]:
    """All that is no part of the work in a run of this kind, for whoever judges it when the run is over."""
    if settings.workflow == "handoff":
        return feature_list.NAME, agent_state.NAME, *PROGRESS, settings.progress, SCRIPT, e2e_example.PATH
    if settings.workflow == "team":
        return (TEAM,)
    return owned_beside(goal) if settings.workflow in LOGGED else ()


def owned_beside(plan: str) -> tuple[str, ...]:
    """The files that the engine writes beside a plan of the repository."""
    outside = not plan or PurePosixPath(plan).is_absolute() or plan.startswith("..")
    return () if outside else (str(PurePosixPath(plan).with_name("MEMORY.md")),)
