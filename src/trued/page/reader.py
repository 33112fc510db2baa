"""Reads the state folder for pages: runs, their progress, and what waits for a person. It writes nothing."""

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from sys import intern
from typing import Any, TypeVar, cast, overload

from trued.engine.comparisons import Comparison
from trued.engine.continuations import next_steps
from trued.engine.inputs import Inputs
from trued.engine.journals.opening import has_journal
from trued.engine.pending import Wait, waits
from trued.engine.run_store import RunStore
from trued.engine.stored_evidence import StoredEvidence
from trued.errors import BadInput
from trued.inputs.settings.hub import hub_address
from trued.model import EXISTING_TESTS, Approval, Contract, Event, Evidence, Grade, RunRecord, Verdict
from trued.model.events.call import EVENTS, CallAnswered, CallAsked, CallStarted, CallWaits, QuotaReported
from trued.model.events.run import EditApplied, RunResumed, SealedFileEdited
from trued.model.step_keys import FINISH, PROOF, is_verdict
from trued.page.caches import Recent, Stamped
from trued.page.story import StoryLine, sentence, story_lines
from trued.page.transcript import CallTranscript
from trued.page.work_diff import CloneDiffs, has_server
from trued.proof.hashes import contract_hash
from trued.reporting.html.calls import ReportedCall, calls
from trued.reporting.html.gather import all_approvals, documents_of
from trued.reporting.html.material import CheckRun, Material, ProofSummary, Proved
from trued.reporting.html.notices import WARNINGS
from trued.reporting.html.pictures import reader as artifacts
from trued.reporting.views.claims import CallEnd, DoneClaim, done_claims
from trued.reporting.views.comparison import comparison_data as compare
from trued.reporting.views.event_kinds import EventHead, typed
from trued.reporting.views.history import accepted_grades, grades_with_approvals, history, met_of
from trued.reporting.views.progress import Progress
from trued.reporting.views.run_rows import all_as_seen, as_seen
from trued.reporting.views.stats import HistoryFilter, Stats, add_up
from trued.support.lazy_regex import lazy_regex
from trued.workflows.view import WorkflowView, view_of

SUMMARIES = 1_000  # for at most this many runs, the line in the list is cached
WATCHED = 8  # for at most this many runs, the folded events are kept; the least recently viewed run is dropped
BEGUN = 2  # of runs that are read only for their line in the list, at most this many half-read ones are kept
STORY = 80  # lines of a run's story that are kept, the newest
BATCH = 1_000  # events that one query reads
TOLD = 200  # events that one query reads for the story, backwards from the newest, until the story is long enough
PROOFS = 64  # whole verdicts that are cached
DRAW_S = 2.0  # how old a picture of a whole run may be on a page that is made several times a second
# Events are dropped after they are folded, since there may be a hundred thousand; only those that pages read are kept.
# Of an event that ends a call's wait, only the time is kept; the call's row has its other facts.
TIMES = {event.KIND for event in EVENTS} - {CallStarted.KIND, QuotaReported.KIND, CallWaits.KIND}
READ = {
    CallWaits.KIND,
    EditApplied.KIND,
    RunResumed.KIND,
    SealedFileEdited.KIND,
    *(warning.KIND for warning in WARNINGS),
}
HASH = lazy_regex(r"[0-9a-f]{64}")
PNG = b"\x89PNG\r\n\x1a\n"

Made = TypeVar("Made")


class StillReading(Exception):
    """A run has more events than one request may read. The next request continues where this one stopped. The page
    shows no progress until all events are read, because it would be outdated."""

    def __init__(self, record: RunRecord, share: float) -> None:
        super().__init__(record.id)
        self.record, self.share = record, share  # share: how much of the run is folded, from 0 to 1


@dataclass(frozen=True, slots=True)
class Decided:
    """A run's contract, newest verdict and approvals, and the check runs on its base."""

    contract: Contract | None
    name: str  # the contract's hash
    verdict: Verdict | None
    approvals: tuple[Approval, ...]
    base_runs: tuple[CheckRun, ...] = ()


@dataclass
class WatchedRun:
    """One run that is being viewed: its progress by the events read so far, and other data about it."""

    progress: Progress
    moment: int = 0  # the moment at which it was last brought up to date; 0: never, or outside `at_one_moment`
    was_whole: bool = False  # it was once read to its newest event: its page never shows "still reading" again
    first: int = 0  # id of its first event
    last: int = 0  # id of the newest folded event
    count: int = 0  # how many events are folded
    kept: list[Event] = field(default_factory=list)  # events that pages show one by one
    waiting: set[str] = field(default_factory=set)  # keys of calls whose last wait has no end in `kept`
    story: deque[StoryLine] = field(default_factory=lambda: deque(maxlen=STORY))
    told_until: int = 0  # id of the newest event in the story
    proofs: list[ProofSummary] = field(default_factory=list)  # each is read once, because a step never changes
    last_step: int = 0  # number of the newest step read
    inputs: Inputs | None = None
    decided: tuple[object, Decided] | None = None
    material: Stamped[Material] = field(default_factory=Stamped)
    # part of a page → what it was made of, and the part itself
    made: dict[str, tuple[object, Any]] = field(default_factory=dict)
    drawn: dict[str, float] = field(default_factory=dict)  # when each picture of the whole run was drawn
    calls: tuple[Material, tuple[ReportedCall, ...]] | None = None
    next_steps: Stamped[list[tuple[str, str]]] = field(default_factory=Stamped)

    def add(self, rows: Sequence[tuple[int, float, str, str, str]]) -> None:
        """Bring the progress up to date with the next events. `rows`: id, time, key, kind and data of each event."""
        warnings = {warning.KIND for warning in self.progress.view.WARNINGS}
        # whether these events go into the story now; otherwise `story` reads them, backwards from the newest
        tells = self.told_until == self.last and len(rows) <= TOLD
        for number, time_s, name, kind, data in rows:
            key = intern(name)  # interned, because most keys occur many times
            head = EventHead(number, time_s, key, kind)
            event = self.progress.add_json(head, data)
            if tells:
                self.story.extend(story_lines(head, event))
            if kind in READ or kind in warnings:
                self.kept.append(Event(id=number, at=time_s, key=key, kind=kind, data=json.loads(data)))
            elif key in self.waiting and kind in TIMES:
                self.kept.append(Event(id=number, at=time_s, key=key, kind=kind))
            else:
                continue
            (self.waiting.add if kind == CallWaits.KIND else self.waiting.discard)(key)
        self.count += len(rows)
        self.first = self.first or rows[0][0]
        self.last = rows[-1][0]
        self.told_until = self.last if tells else self.told_until


class StoredProofs(Sequence[Proved]):
    """The verdicts of a run, each loaded on access: all of them together are as large as the journal."""

    def __init__(self, summaries: Sequence[ProofSummary], read: Callable[[ProofSummary], Proved]) -> None:
        self.summaries, self._read = tuple(summaries), read

    def __len__(self) -> int:
        return len(self.summaries)

    @overload
    def __getitem__(self, index: int) -> Proved: ...
    @overload
    def __getitem__(self, index: slice) -> "StoredProofs": ...
    def __getitem__(self, index: int | slice) -> "Proved | StoredProofs":
        if isinstance(index, slice):
            return StoredProofs(self.summaries[index], self._read)
        return self._read(self.summaries[index])

    def about(self, name: str) -> "StoredProofs":
        """The verdicts that judge this requirement."""
        return StoredProofs([summary for summary in self.summaries if summary.is_about(name)], self._read)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run as the list of runs shows it."""

    who: str
    sentence: str
    grades: Mapping[str, int]  # grade → number of requirements
    names: tuple[str, ...]  # the requirements' ids
    requirements: int
    calls: int
    tokens: int
    estimated: bool
    cost_usd: float
    cost: str
    worked: float
    met: int  # how many requirements are met
    claims_refuted: int
    is_read: bool = True  # False: its events are still being read, and nothing else is known

    @classmethod
    def unread(cls, share: float) -> "RunSummary":
        why = f"Its events are being read: {share:.0%}."
        return cls("", why, {}, (), 0, 0, 0, False, 0.0, "", 0.0, 0, 0, is_read=False)

    @classmethod
    def of(
        cls, record: RunRecord, seen: Progress, waits: list[Wait], attested: Mapping[str, str], accept: Grade
    ) -> "RunSummary":
        """The summary of a run that has been read. `attested`: all grades after people's approvals, or {} without
        approvals."""
        who, says = sentence(record, seen, waits)
        graded = attested or seen.grades
        without_existing_tests = {name: grade for name, grade in graded.items() if not name.startswith(EXISTING_TESTS)}
        used, estimated = seen.tokens
        return cls(
            who=who,
            sentence=says,
            grades=Counter(without_existing_tests.values()),
            names=tuple(without_existing_tests)[:200],
            requirements=max(seen.requirements, len(without_existing_tests)),
            calls=len(seen.calls),
            tokens=used,
            estimated=estimated,
            cost_usd=seen.cost_usd,
            cost=seen.cost,
            worked=seen.worked,
            met=met_of(without_existing_tests, accept),
            claims_refuted=sum(claim.fell for claim in _claims(seen)),
        )


def _claims(seen: Progress) -> Iterator[DoneClaim]:
    return done_claims(map(CallEnd.of, seen.calls), seen.verdicts)


def _base_runs(contract: Contract | None) -> Iterator[CheckRun]:
    facts: Sequence[Evidence] = contract.base_facts if contract else ()
    return map(CheckRun.read, facts.as_stored()) if isinstance(facts, StoredEvidence) else map(CheckRun.of, facts)


class Reader:
    """Reads everything that pages show. One per server; used from one thread at a time."""

    def __init__(self, home: Path, environ: Mapping[str, str], *, can_steer: bool = True, at_once: int = 0) -> None:
        """`can_steer`: whether pages show forms. It protects nothing, because the server checks every request anyway.
        `at_once`: how many events may be read for one page (0: any number). If a run has more new events,
        `StillReading` is raised."""
        self.home, self.environ, self.can_steer, self._at_once = home, environ, can_steer, at_once
        self._left = at_once  # events that may still be folded for this page
        self.is_reading_on = False  # True: a run was not read to its end for this page
        self.is_behind = False  # True: a picture on this page is older than the rest of it
        self._spares = False
        self.clones = CloneDiffs()
        self._store: RunStore | None = None
        self._moments = self._moment = 0  # how many moments there were; the number of the current one, or 0
        self._read_now: dict[tuple[str, ...], Any] = {}  # cache for the current moment
        self._watched = Recent[str, WatchedRun](WATCHED)
        self._begun = Recent[str, WatchedRun](BEGUN)
        self._waits = Recent[str, Stamped[list[Wait]]](200)
        self._documents = Recent[str, Stamped[dict[str, str]]](WATCHED)
        self._comparisons = Recent[str, Stamped[dict[str, Any]]](WATCHED)
        self._newest: dict[str, int] = {}
        self._last_seen = 0  # the largest id in `_newest`
        self._summaries = Recent[str, Stamped[RunSummary]](SUMMARIES)
        self._stats = Recent[HistoryFilter, Stamped[Stats]](8)
        self._fallen = Stamped[dict[str, int]]()
        self._accepted: dict[str, Grade] = {}  # run → the grade that its user accepts
        self._transcripts = Recent[tuple[str, str], CallTranscript](16)
        self._proofs = Recent[tuple[str, str], Proved](PROOFS)

    @property
    def store(self) -> RunStore:
        """The store, opened at first use. Raises StateFailed if the journal cannot be used."""
        if self._store is None:
            self._store = RunStore(self.home, self.environ, read_only=True, watches=True)
        return self._store

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever run with this state folder."""
        return self._store is None and not has_journal(self.home, hub_address(self.environ))

    def version(self) -> int:
        """A number that changes with every write to the journal."""
        return 0 if self.is_empty else self.store.journal.data_version()

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """In the `with` block, all parts of a page show the same moment, and nothing is read from the journal twice."""
        if self.is_empty:
            yield
            return
        with self.store.journal.read_snapshot():
            self._moments += 1
            self._moment = self._moments
            self._left, self.is_reading_on, self.is_behind = self._at_once, False, False
            try:
                yield
            finally:
                self._moment = 0
                self._read_now.clear()

    @contextmanager
    def sparing(self) -> Iterator[None]:
        """In the `with` block, `drawn` does not draw a picture again within two seconds, not even after an event. This
        is for pages that are made often."""
        self._spares = True
        try:
            yield
        finally:
            self._spares = False

    def _once(self, read: Callable[[], Made], *name: str) -> Made:
        """The result of `read`. Within `at_one_moment`, only the first call for a name reads; all later calls for this
        name get the same result."""
        if not self._moment:
            return read()
        if name not in self._read_now:
            self._read_now[name] = read()
        return cast("Made", self._read_now[name])

    def close(self) -> None:
        self.clones.close()
        if self._store is not None:
            self._store.close()

    # -- runs ----------------------------------------------------------------------------------------------------------

    def newest_event(self) -> int:
        """The id of the journal's newest event."""
        return 0 if self.is_empty else self.store.journal.last_event_id()

    def newest_events(self) -> dict[str, int]:
        """Run → the id of its newest event."""
        return {} if self.is_empty else self._once(self._newest_events, "newest events")

    def _newest_events(self) -> dict[str, int]:
        if self.newest_event() > self._last_seen:
            self._newest |= self.store.journal.runs_changed(self._last_seen)
            self._last_seen = max(self._newest.values())
        return self._newest

    def runs(self) -> list[RunRecord]:
        """All runs, newest first, with their actual state: `queued` if a run waits for a worker, `interrupted` if the
        process that works on the run has died."""
        return [] if self.is_empty else self._once(self._runs, "runs")

    def _runs(self) -> list[RunRecord]:
        records = all_as_seen(self.store.journal.runs(), self.store.journal)
        return sorted(records, key=lambda record: (-record.created_at, record.id))

    def history(self, wanted: HistoryFilter) -> Stats:
        """What the wanted runs cost and achieved. Computed again only if the journal was written to, or the process
        that works on a run has died."""
        if self.is_empty:
            return add_up(())
        stamp = (self.version(), [(record.id, record.state) for record in self.runs()])
        return self._stats.get(wanted, Stamped).get(stamp, lambda: add_up(history(self.store, wanted)))

    def run(self, name: str) -> RunRecord:
        """The run with this id. Raises BadInput if there is none."""
        if self.is_empty:
            raise BadInput(f"there is no run {name}")
        listed = next((record for record in self.runs() if record.id == name), None) if self._moment else None
        return listed or as_seen(self.store.journal.run(name), self.store.journal)

    def watch(self, record: RunRecord) -> WatchedRun:
        """The run, with its progress up to the newest event. Raises StillReading if that takes more events than one
        page may read."""
        watched = self._watched.get(record.id, lambda: WatchedRun(Progress((), record.workflow)))
        if self._moment and watched.moment == self._moment:
            return watched
        self._read_on(record, watched)
        watched.moment = self._moment
        return watched

    def _read_on(self, record: RunRecord, run: WatchedRun) -> None:
        newest = self.newest_events().get(record.id, 0)
        while run.last < newest:
            if self._moment and self._at_once and self._left <= 0 and not run.was_whole:
                self.is_reading_on = True
                raise StillReading(record, (run.last - run.first) / max(1, newest - run.first))
            rows = self.store.journal.folded_events(record.id, run.last, BATCH)
            if not rows:
                return  # the journal was replaced by an older one
            run.add(rows)
            self._left -= len(rows)
        run.was_whole = True

    def progress(self, record: RunRecord) -> Progress:
        return self.watch(record).progress

    def waits(self, record: RunRecord) -> list[Wait]:
        """What the run needs from a person."""
        return (
            [] if record.has_ended else self._once(lambda: self._read_waits(record), "waits", record.id, record.state)
        )

    def wait_count(self) -> int:
        """How many things all runs together need from a person."""
        return sum(len(self.waits(record)) for record in self.runs())

    def _read_waits(self, record: RunRecord) -> list[Wait]:
        journal = self.store.journal
        to_decide = self._once(journal.runs_to_decide, "to decide")
        if record.id not in to_decide:
            return waits(self.store, record, to_decide)
        questions = journal.questions(record.id, only_open=True)
        # what can be decided changes only with a step or an approval
        approvals, steps = len(journal.approvals(record.id)), journal.step_count(record.id)
        stamp = (steps, record.state, record.why, [question.key for question in questions], approvals)
        return self._waits.get(record.id, Stamped).get(stamp, lambda: waits(self.store, record))

    def summary(self, record: RunRecord) -> RunSummary:
        """One line of the list of runs. The progress of a run that nobody views is computed for this line only, and not
        kept."""
        waiting = self.waits(record)
        stamp = (self.newest_events().get(record.id, 0), record.state, record.why, len(waiting))

        def sum_up() -> RunSummary:
            is_watched = record.id in self._watched or record.state == "running"
            seen = self.watch(record).progress if is_watched else self._fold_to_end(record)
            return RunSummary.of(record, seen, waiting, *self._attested_grades(record))

        try:
            return self._summaries.get(record.id, Stamped).get(stamp, sum_up)
        except StillReading as still:
            return RunSummary.unread(still.share)

    def claims_refuted(self) -> dict[str, int]:
        """Run → how many claims of its agents were refuted; runs without any are left out.

        To save time, the counts of runs that are not running are kept. They are counted again only if one of these runs
        has a new event, or if another run has stopped running.
        """
        if self.is_empty:
            return {}
        newest, running = self.newest_events(), [record for record in self.runs() if record.state == "running"]
        stamp = [(record.id, newest.get(record.id, 0)) for record in self.runs() if record.state != "running"]

        def count() -> dict[str, int]:
            runs = self.history(HistoryFilter()).runs
            return {run.record.id: sum(claim.fell for claim in run.claims) for run in runs}

        past, current = (
            self._fallen.get(stamp, count),
            {record.id: self.summary(record).claims_refuted for record in running},
        )
        return {name: number for name, number in {**past, **current}.items() if number}

    def _attested_grades(self, record: RunRecord) -> tuple[dict[str, str], Grade]:
        """The grades after people's approvals ({} without approvals), and the lowest grade that the run's user
        accepts."""
        approved = self._once(self.store.journal.runs_with_approvals, "runs with approvals")
        if record.id not in self._accepted:  # read once, because a run's inputs never change
            grades = accepted_grades(self.store)
            self._accepted = {run.id: grades.get(run.id, Grade.ATTESTED) for run in self.runs()}
        approved_grades = grades_with_approvals(self.store, record) if record.id in approved else {}
        return approved_grades, self._accepted.get(record.id, Grade.ATTESTED)

    def _fold_to_end(self, record: RunRecord) -> Progress:
        """The run's progress up to its newest event. If there are more events than one request may read, raises
        StillReading; the next call continues where this one stopped."""
        run = self._begun.get(record.id, lambda: WatchedRun(Progress((), record.workflow)))
        self._read_on(record, run)
        self._begun.drop(record.id)
        return run.progress

    # -- one run -------------------------------------------------------------------------------------------------------

    def material(self, record: RunRecord) -> Material:
        """The report's material without briefs, replies and transcripts; cached until something happens."""
        return self._once(lambda: self._material(record), "material", record.id, record.state, record.head)

    def _material(self, record: RunRecord) -> Material:
        run, store = self.watch(record), self.store
        steps = store.journal.step_count(record.id)
        questions, approvals = store.journal.questions(record.id), store.journal.approvals(record.id)
        answered = sum(bool(question.answer) for question in questions)
        stamp = (run.last, steps, record.state, record.head, len(questions), answered, len(approvals))
        return run.material.get(stamp, lambda: self._gather(record, run, steps))

    def _gather(self, record: RunRecord, run: WatchedRun, steps: int) -> Material:
        store, inputs = self.store, run.inputs or self.store.inputs(record.id)
        run.inputs = inputs
        decided, folder, history = (
            self._read_decisions(record, run, steps),
            store.folder(record.id),
            self.history_of(record),
        )
        return Material(
            record=record,
            events=run.kept,
            settings=inputs.settings,
            goal=inputs.goal,
            level=inputs.level,
            version=inputs.version,
            contract=decided.contract,
            contract_hash=decided.name,
            verdict=decided.verdict,
            history=history,
            summed_up=history.summaries,
            approvals=decided.approvals,
            base_runs=decided.base_runs,
            questions=store.journal.questions(record.id),
            folder=folder,
            kept=artifacts(folder / "artifacts"),
            now=run.progress.last,
            folded=run.progress,
            picture_address="/picture/",
        )

    def _read_decisions(self, record: RunRecord, run: WatchedRun, steps: int) -> Decided:
        """Contract, verdict and approvals; read again only after a step or an approval, not after every event."""
        store = self.store
        stamp = (steps, len(store.journal.approvals(record.id)), record.head)
        if run.decided is None or run.decided[0] != stamp:
            contract, verdict = store.contract(record.id), store.verdict(record.id)
            approvals, before = tuple(all_approvals(store, record.id)), run.decided[1] if run.decided else None
            if before and before.contract is contract:
                decided = replace(before, verdict=verdict, approvals=approvals)
            else:
                name = contract_hash(contract) if contract else ""
                decided = Decided(contract, name, verdict, approvals, tuple(_base_runs(contract)))
            run.decided = (stamp, decided)
        return run.decided[1]

    def history_of(self, record: RunRecord) -> StoredProofs:
        """The run's verdicts, oldest first."""
        run = self.watch(record)
        for number, key, ended, value in self.store.journal.steps_after(record.id, run.last_step, PROOF, FINISH):
            run.last_step = number
            if is_verdict(key):
                run.proofs.append(ProofSummary.read(key, ended, json.loads(value)))
        return StoredProofs(run.proofs, partial(self._read_proof, record.id))

    def _read_proof(self, run: str, proof: ProofSummary) -> Proved:
        def read() -> Proved:
            verdict = Verdict.model_validate_json(self.store.journal.step(run, proof.key) or "")
            return Proved(proof.key, proof.at, verdict)

        return self._proofs.get((run, proof.key), read)

    def story(self, record: RunRecord) -> list[StoryLine]:
        """The newest lines of the run's story, newest first. Reads only as many events as needed."""
        run = self.watch(record)
        if run.told_until < run.last:
            run.story.extend(self._read_story(record, run.progress.view, run.told_until, run.last)[::-1])
            run.told_until = run.last
        return list(run.story)[::-1]

    def newest_story(self, record: RunRecord) -> list[StoryLine]:
        """Like `story`, for a run that is still being read."""
        return self._read_story(record, view_of(record.workflow), 0, self.newest_events().get(record.id, 0))

    def _read_story(self, record: RunRecord, view: WorkflowView, after: int, last: int) -> list[StoryLine]:
        """The newest lines about events after this id, newest first."""
        lines, before = list[StoryLine](), last + 1
        while before > after + 1 and len(lines) < STORY:
            most = min(TOLD, before - after)  # there cannot be more new events than new ids
            events = self.store.journal.last_events(record.id, most, before=before, lean=True)
            for event in reversed(events):
                lines += [] if event.id <= after else [*story_lines(event, typed(event, view.EVENTS))][::-1]
            before = events[0].id if len(events) == most else 0
        return lines[:STORY]

    def look_at(self, record: RunRecord) -> tuple[str, str]:
        """The command with which a person looks at the work, and what the command does: `trued preview` if the work has
        a server, otherwise `trued diff`."""
        contract = self.store.contract(record.id)
        start = str(self.store.stored_inputs(record.id)["settings"].get("commands", {}).get("start", ""))
        if (contract and contract.serve) or has_server(self.store, record, configured=start):
            return f"trued preview {record.id}", "starts it"
        return f"trued diff {record.id}", "shows it"

    def next_steps(self, record: RunRecord) -> list[tuple[str, str]]:
        """Commands that a person may want next; looked up again when something has happened."""
        run = self.watch(record)
        return run.next_steps.get((run.last, record.state), lambda: next_steps(self.store, record))

    def calls(self, record: RunRecord) -> tuple[ReportedCall, ...]:
        """Every call of the run, and whether its claim was refuted. Briefs and replies are not included; `texts` reads
        them."""
        run, material = self.watch(record), self.material(record)
        if run.calls is None or run.calls[0] is not material:
            earlier, earlier_calls = run.calls or (material, ())
            known = earlier_calls if earlier.ended == material.ended else ()
            is_judged = len(earlier.proofs) == len(material.proofs)
            run.calls = (material, calls(material, texts=False, known=known, is_judged=is_judged))
        return run.calls[1]

    def made(self, record: RunRecord, name: str, make: Callable[[Material], Made]) -> Made:
        """A part of a page that depends only on the run's material; made again only when something has happened."""
        material = self.material(record)
        return self._cached_part(record, name, material, lambda: make(material))

    def drawn(self, record: RunRecord, name: str, draw: Callable[[Material], Made]) -> Made:
        """A picture of the whole run, such as who worked when. It is cached, and drawn again after an event. While the
        run works, it is also drawn again once it is two seconds old, because it changes even without an event. In a
        `sparing` block, a picture that is less than two seconds old is kept even after an event."""
        run, material, now = self.watch(record), self.material(record), time.monotonic()
        drawn = run.made.get(name)
        is_new = drawn is not None and now - run.drawn[name] < DRAW_S
        if drawn and is_new and (self._spares or drawn[0] is material):
            self.is_behind |= drawn[0] is not material
            return cast("Made", drawn[1])
        if drawn is None or drawn[0] is not material or record.state == "running":
            run.made[name], run.drawn[name] = (material, draw(material)), now
        return cast("Made", run.made[name][1])

    def made_of_decisions(self, record: RunRecord, name: str, make: Callable[[Material], Made]) -> Made:
        """Like `made`, for a part that depends only on contract, verdict and approvals, and on whether the run has
        ended. Events that change none of these do not make the part again."""
        run, material = self.watch(record), self.material(record)
        decided = run.decided[1] if run.decided else material
        return self._cached_part(record, f"{name} {material.ended}", decided, lambda: make(material))

    def _cached_part(self, record: RunRecord, name: str, of: object, make: Callable[[], Made]) -> Made:
        run = self.watch(record)
        made = run.made.get(name)
        if made is None or made[0] is not of:
            made = run.made[name] = (of, make())
        return cast("Made", made[1])

    def call(self, record: RunRecord, key: str) -> ReportedCall:
        """The call with this key. Raises BadInput if the run has none."""
        for call in self.calls(record):
            if call.key == key:
                return call
        raise BadInput(f"run {record.id} has no call {key}")

    def texts(self, record: RunRecord, call: ReportedCall) -> tuple[str, str]:
        """A call's last brief, and its last reply as JSON. If they may quote held-out cases, both are "" until the run
        has ended."""
        if call.held_back:
            return "", ""
        events = self.store.journal.events_of_call(record.id, call.key)
        asked_events = [call_asked for event in events if (call_asked := CallAsked.read(event))]
        answered_events = [answer for event in events if (answer := CallAnswered.read(event)) and answer.reply]
        reply = json.dumps(answered_events[-1].reply, indent=2, ensure_ascii=False) if answered_events else ""
        return asked_events[-1].brief if asked_events else "", reply

    def transcript(self, record: RunRecord, call: ReportedCall) -> CallTranscript | None:
        """What the call's processes wrote; None while the call's texts are held back."""
        if call.held_back:
            return None
        folder = self.store.folder(record.id) / "spool"
        return self._transcripts.get((record.id, call.key), lambda: CallTranscript(folder, call.key))

    def documents(self, record: RunRecord) -> dict[str, str]:
        """Name → text of the run's documents. They are read again when the run's head or the files in its folder have
        changed."""
        folder = self.store.folder(record.id)
        files = folder / "files"
        times = [path.stat().st_mtime_ns for path in files.rglob("*") if path.is_file()] if files.is_dir() else []
        stamp = (record.head, len(times), max(times, default=0))
        return self._documents.get(record.id, Stamped).get(
            stamp, lambda: documents_of(record, folder, self.material(record).goal)
        )

    def comparison(self, comparison: Comparison) -> dict[str, Any]:
        """The comparison, as `compare --json` prints it; made again when something has happened in one of its runs."""
        newest = self.newest_events()
        stamp = tuple(
            (compared.run, newest.get(compared.run, 0), self.run(compared.run).state) for compared in comparison.runs
        )
        return self._comparisons.get(comparison.id, Stamped).get(stamp, lambda: compare(self.store, comparison))

    def outside_journal(self) -> tuple[int, tuple[tuple[str, int | str], ...]]:
        """Facts that change without an event: the size of the transcripts shown last, which process works on each run,
        and what each queued run waits for."""
        written = sum(transcript.written for transcript in self._transcripts.values())
        if self.is_empty:
            return written, ()
        journal = self.store.journal
        at_work = journal.runs_at_work()
        drivers = journal.drivers() if at_work else {}  # only if needed, because this reads a file of every run
        return written, (*((queue, drivers.get(queue, 0)) for queue in at_work), *journal.queued().items())

    def picture(self, sha256: str) -> bytes | None:
        """The engine's screenshot with this hash, as PNG bytes. None if there is none, if it is not a PNG, or if it
        may show a held-out case of a run that is not over."""
        if not HASH.fullmatch(sha256) or self.is_empty:
            return None
        for record in self.runs():
            file = self.store.folder(record.id) / "artifacts" / sha256
            if file.is_file() and sha256 in self._shown_pictures(record):
                content = artifacts(file.parent)(sha256)
                return content if content.startswith(PNG) else None
        return None

    def _shown_pictures(self, record: RunRecord) -> set[str]:
        over, runs = record.has_ended, self.material(record).check_runs
        return {
            picture for check_run in runs if over or not check_run.may_quote_held_out for picture in check_run.pictures
        }
