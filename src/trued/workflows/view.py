"""WorkflowView: shows people what is special about a workflow. Calls, checks and grades are shown without it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from trued.model.events import JournalEvent
from trued.workflows.descriptor import load
from trued.workflows.registry import find_descriptor
from trued.workflows.view_protocols import CallRow, RunTree

StyledLine: TypeAlias = Sequence[tuple[str, str]]  # pieces of one line: the text, and a style of the terminal or ""
HeadFigure: TypeAlias = tuple[str, str, str]  # in the report's head: the number, what it counts, a remark


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A part of a run's HTML report and live page. It shows `WorkflowView.data`."""

    anchor: str
    title: str
    # A Jinja template: "package:path", a file of an installed package; without a package, a file in
    # trued/reporting/html/templates. It gets `page.own`, which is `WorkflowView.data`, and `page.run`, the run's id.
    template: str


class WorkflowView:
    """Takes a run's events, one after another, and decides what readers see of them. Subclass this class, and override
    what you need."""

    EVENTS: ClassVar[tuple[type[JournalEvent], ...]] = ()  # kinds that only this workflow emits
    KEY: ClassVar[str] = ""  # the key of `data` in `trued show --json`
    SECTION: ClassVar[ReportSection | None] = None
    WARNINGS: ClassVar[Mapping[type[JournalEvent], str]] = {}  # event → heading of its warning in the report

    def add(self, tree: RunTree, key: str, event: JournalEvent) -> None:
        """Take the next event of the run, under its step key; remarks go into the tree."""

    def place(self, key: str) -> str:
        """The scope under which to show a row whose step key has no scope; "" to show the row on its own."""
        return ""

    def data(self, calls: Sequence[CallRow]) -> Any:
        """What this workflow shows of a run, as JSON values; None or empty if there is nothing to show yet."""
        return None

    def status(self, calls: Sequence[CallRow], *, running: bool) -> Iterable[StyledLine]:
        """Lines below the live tree, one or two."""
        return ()

    def counts(self, *, running: bool) -> str:
        """A few words for the last line of the tree: `1/5 features · 12/31 tasks`."""
        return ""

    def planned(self) -> Iterable[StyledLine]:
        """Lines about what will be built, for `--plan-only`: the contract is sealed, and no work has begun."""
        return ()

    def ending(self, calls: Sequence[CallRow], branch: str) -> Iterable[StyledLine]:
        """Lines about the result of an ended run."""
        return ()

    def totals(self) -> Iterable[str]:
        """Counts for the last line about an ended run."""
        return ()

    def figures(self) -> Iterable[HeadFigure]:
        """Numbers for the head of the report."""
        return ()

    def notices(self) -> Iterable[str]:
        """Sentences that a reader of the report should see first."""
        return ()

    def describe(self, event: JournalEvent) -> str | None:
        """The facts of an event in one line of the log; None to show all its fields."""
        return None

    def logged_key(self, key: str, event: JournalEvent) -> str:
        """The step key that the log shows with an event."""
        return key


def view_of(workflow: str) -> WorkflowView:
    """A new view for the workflow of this name: its own or, if it is gone, is broken or has none, the default view."""
    descriptor = find_descriptor(workflow) if workflow else None
    try:
        made = load(descriptor.view)() if descriptor and descriptor.view else None
    except Exception:  # noqa: BLE001  third-party code must not keep a run from being shown
        made = None
    return made if isinstance(made, WorkflowView) else WorkflowView()
