"""Features of a handoff as people see them: their status by the engine's checks, and what went wrong."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from trued.model import Event
from trued.model.events import JournalEvent, of_kind
from trued.model.events.proof import ContractAmended, VerdictReached, test_counts
from trued.model.step_keys import FINISH, feature_scope, step_name
from trued.workflows.handoff import events
from trued.workflows.handoff.events import (
    EVENTS,
    FailureMode,
    FeatureListWritten,
    FeatureProposed,
    FinishedFeatureBroken,
    PassUndone,
)
from trued.workflows.view import ReportSection, WorkflowView
from trued.workflows.view_protocols import CallRow, RunTree

SCOPE = "feature "
ATTEMPTS = 3  # how many more attempts the suggested command grants: the default number
NAMED = 5  # features named in one sentence


def summary(written: FeatureListWritten, *, at_work: bool = True) -> str:
    """The list in a few words: `2/5 features pass · upload: attempt 2/3, 15/20 tests`. `at_work`: whether to add the
    feature that is being worked on."""
    rows = written.features
    if not rows:
        return ""
    parts = [f"{sum(bool(row.get('passes')) for row in rows)}/{len(rows)} features pass{_not_passing(rows)}"]
    now = next((row for row in rows if row.get("id") == written.feature), None)
    if now and at_work:
        facts = [f"attempt {written.attempt}/{written.of}" if written.attempt else "", tests(now)]
        parts.append(f"{now.get('id')}: {', '.join(filter(None, facts)) or now.get('state')}")
    return " · ".join(parts)


def _not_passing(rows: Iterable[Mapping[str, Any]]) -> str:
    others = [row for row in rows if not row.get("passes")]
    waiting = sum(bool(row.get("holds")) for row in others)
    failed = sum(row.get("state") == "failed" for row in others)
    blocked = sum(str(row.get("agent_notes")).startswith("blocked: ") for row in others)
    counts = {"waits for you" if waiting == 1 else "wait for you": waiting, "failed": failed, "blocked": blocked}
    return "".join(f", {number} {state}" for state, number in counts.items() if number)


def tests(feature: Mapping[str, Any]) -> str:
    """The test counts of a feature, such as `15/20 tests, 81.5 % covered`; "" if there are none."""
    total = int(feature.get("tests_total") or 0)
    return test_counts(int(feature.get("tests_passing") or 0), total, feature.get("coverage"))


def continuations(run: str, events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """Yield the command that gives more attempts to a handoff that has ended, with a sentence that names what they are
    for. Attempts are for features that failed according to the newest list, and for a contract that was amended after
    the end. Yields nothing if there is neither."""
    lists = [event for _, event in of_kind(events, FeatureListWritten)]
    failed = (
        [str(feature.get("id")) for feature in lists[-1].features if feature.get("state") == "failed"] if lists else []
    )
    finished = [stored.id for stored, _ in of_kind(events, VerdictReached) if stored.key == step_name(FINISH)]
    if any(stored.id > max(finished, default=0) for stored, _ in of_kind(events, ContractAmended)):
        failed.append("what the amended contract asks for")
    if failed:
        yield (
            f"trued resume {run} --rounds {ATTEMPTS}",
            f"gives {ATTEMPTS} more attempts to {', '.join(failed[:NAMED])}",
        )


class HandoffView(WorkflowView):
    EVENTS = EVENTS
    KEY = "features"
    SECTION = ReportSection("features", "Features", "features.html.j2")
    WARNINGS: ClassVar[Mapping[type[JournalEvent], str]] = {
        events.OneShotAttempt: "One-shot attempt: more than one feature was built at once",
        events.PrematureVictory: "Premature victory: claimed done while checks fail",
        events.Guesswork: "Guesswork: installed or started something that init.sh does not",
        events.FeatureListMeddled: "An agent edited the feature list; the edit was undone",
        events.FinishedFeatureBroken: "The work for one feature broke a finished one, and was discarded",
        events.PassUndone: "The list marked a feature as passed, although it does not hold",
    }

    def __init__(self) -> None:
        self.written = FeatureListWritten(features=())  # the list as it was written last
        self.failures: dict[str, list[dict[str, str]]] = {}  # feature → failure modes that occurred with it

    def add(self, tree: RunTree, key: str, event: JournalEvent) -> None:
        match event:
            case FeatureListWritten():
                self.written = event
            case FailureMode():
                # Recorded for the feature that was being worked on, even if checks of other features revealed it.
                feature = feature_scope(key).removeprefix(SCOPE) or event.feature
                mode = {"name": event.stored_kind, "evidence": event.evidence}
                self.failures.setdefault(feature, []).append(mode)
                tree.remark(key, f"{event.stored_kind}: {event.evidence}", warning=True)
            case PassUndone():
                why = (event.why or "it does not hold").splitlines()[0]
                names = ", ".join(event.features or (event.feature,))
                tree.remark(key, f"marked as passed, but does not hold: {names} ({why})", warning=True)
            case FinishedFeatureBroken():
                broken = "; ".join(gap.partition("\n")[0] for gap in event.broken)
                tree.remark(key, f"the work for {event.feature} was discarded: {broken}", warning=True)
            case FeatureProposed():
                tree.remark(key, f"a new feature is proposed; you decide: {event.proposed}")
            case _:
                pass

    def data(self, calls: Sequence[CallRow]) -> list[dict[str, Any]]:
        """The list as it was written last, each feature with its failure modes."""
        features = self.written.features
        return [{**row, "failure_modes": self.failures.get(str(row.get("id")), [])} for row in features]

    def counts(self, *, running: bool) -> str:
        return summary(self.written, at_work=running)

    def describe(self, event: JournalEvent) -> str | None:
        return summary(event) if isinstance(event, FeatureListWritten) else None
