"""Folds a run's events into a tree of calls and checks: the same tree live and from the journal."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from sys import intern

from trued.model import Event, Grade
from trued.model.events import JournalEvent, call, landing, people, proof, run
from trued.model.step_keys import inner_scope, is_landing, scope_of
from trued.reporting.views.cases import base_outcomes
from trued.reporting.views.claims import VerdictFact
from trued.reporting.views.event_kinds import EventHead, typed, typed_from_json
from trued.reporting.views.notices import few, notices_of
from trued.reporting.views.rows import Call, CallOutcome, Checks, Remark, Row
from trued.support.money import least_certain
from trued.support.plurals import counted
from trued.workflows.view import WorkflowView, view_of

BAD = ("refuted", "unjudged", "unproven")  # grades that prove nothing
SEAL = "seal"
HALTS = {  # the state that the last process left → what readers see
    "running": "the engine was killed",
    "interrupted": "Ctrl-C",
    "waiting": "it had waited for you",
    "limited": "a limit was reached",
    "failed": "a failed call",
    "planned": "planning",
    "unjudged": "it could not be judged",
}
CALLS, PROOFS = frozenset(call.EVENTS), frozenset(proof.EVENTS)
INCIDENTS = {  # kind of a call's event → what readers see
    call.CallAdopted: "adopted after a restart",
    call.ReportFound: "",
    call.CallDied: "died",
    call.SessionResumed: "session resumed",
    call.CallRepeated: "run again",
}


class Progress:
    """The state of a run after the events so far. The same events give the same state."""

    def __init__(self, events: Iterable[Event] = (), workflow: str = "") -> None:
        """`workflow`: the run's workflow, if known before the first event."""
        self.title = self.workflow = self.branch = self.level = ""
        self.state, self.grade, self.why, self.code = "running", "", "", 0
        self.accept = Grade.ATTESTED  # the lowest grade with which a requirement is met
        self.began = self.last = 0.0
        # how many seconds former drivers drove the run; when the current driver began, or 0 if there is none
        self._driven, self._driven_since = 0.0, 0.0
        self.scopes: dict[str, list[str]] = {}  # scope → ids of its rows, in order
        self.names: dict[str, str] = {}  # scope → its title
        self.rows: dict[str, Row] = {}
        self.grades: dict[str, str] = {}  # requirement → its newest grade
        self.verdicts: list[VerdictFact] = []  # in order
        self.requirements = 0
        self.served: set[str] = set()  # requirements that have a sealed check
        self.on_base: Counter[str] = Counter()  # outcome → how many cases on the base
        self.of_check: dict[str, Mapping[str, int]] = {}  # check → outcome → how many, in its last run on the base
        self.quotas: dict[str, call.QuotaReported] = {}  # kind of agent → what it reported last
        self.question: tuple[str, str] | None = None  # key, text
        self.landed: dict[str, str] = {}  # branch → the commit with which all of the work landed on it
        self.landed_parts: dict[str, str] = {}  # branch → the last chunk whose work has landed on it
        self.view: WorkflowView = view_of(workflow)
        self._places: dict[str, str] = {}  # row → its scope
        self._proofs: dict[str, int] = {}  # key → how many proofs began under it
        self.touched: list[str] = []  # the scopes that the last event changed
        self._open: set[str] = set()  # names of the rows of proofs that have no verdict yet
        self._conflicts: set[str] = set()  # parts whose merge had a conflict
        for event in events:
            self.add(event)

    @property
    def calls(self) -> list[Call]:
        # list() copies the rows, because another thread may add some meanwhile
        return [row for row in list(self.rows.values()) if isinstance(row, Call)]

    @property
    def at_work(self) -> list[Call | Checks]:
        rows = list(self.rows.values())
        return [row for row in rows if not isinstance(row, Remark) and row.state == "running"]

    @property
    def tokens(self) -> tuple[int, bool]:
        """How many tokens all calls used, and whether a part of the number is estimated."""
        used = [row.tokens for row in self.calls if row.tokens.total]
        return sum(tokens.total for tokens in used), any(tokens.estimated for tokens in used)

    @property
    def worked(self) -> float:
        """Seconds for which a process drove the run. The time after an interruption, until `resume`, does not count."""
        if not (self._driven or self._driven_since):  # the journal lacks the run's beginning
            return self.last - self.began
        return self._driven + (self.last - self._driven_since if self._driven_since else 0.0)

    @property
    def cost_usd(self) -> float:
        return sum(row.cost_usd for row in self.calls)

    @property
    def cost(self) -> str:
        """How the cost of the least certain call is known: reported, computed or ceiling (an upper bound)."""
        return least_certain(call.cost for call in self.calls if call.cost_usd)

    @property
    def landed_text(self) -> str:
        """Where the work has landed: `landed on main at 1a2b3c4d5e`; "" if it has not."""
        whole = [f"landed on {onto} at {commit[:10]}" for onto, commit in self.landed.items()]
        parts = {onto: chunk for onto, chunk in self.landed_parts.items() if onto not in self.landed}
        return ", ".join([*whole, *(f"chunks up to {chunk} landed on {onto}" for onto, chunk in parts.items())])

    def add(self, stored: Event) -> None:
        """Add the next event of the journal."""
        head = EventHead(stored.id, stored.at, stored.key, stored.kind)
        self._add(head, typed(stored, self.view.EVENTS))

    def add_json(self, stored: EventHead, data: str) -> JournalEvent:
        """Like `add`, for an event whose JSON has not been parsed; returns the event."""
        event = typed_from_json(stored, data, self.view.EVENTS)
        self._add(stored, event)
        return event

    def _add(self, stored: EventHead, event: JournalEvent) -> None:
        self.began = self.began or stored.at
        before, self.last = self.last, max(self.last, stored.at)
        if isinstance(event, run.RunResumed) and self._driven_since:  # the former driver was killed: it recorded no end
            self._driven += before - self._driven_since
        self.touched = []
        if type(event) in CALLS:  # first, because three of five events are about calls
            self._add_to_view(stored, event)
            self._add_call(stored, event)
            return
        if type(event) in PROOFS:  # next, because most of the others are about proofs
            self._add_to_view(stored, event)
            self._add_proof(stored, event)
        else:
            self._add_run(stored, event)
            self._add_to_view(stored, event)
            self._add_merge(event)
            self._add_people(stored, event)
        for text, warning in notices_of(event):
            self.remark(stored.key, text, warning=warning)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def set_row(self, row: Row, row_name: str = "") -> None:
        """Add a row to its scope, or replace the row of the same name."""
        name = row_name or row.key
        if name not in self.rows:
            # a row without a scope gets a scope of its own, in order of time: seal first, finish last
            self._places[name] = intern(scope_of(row.key)) or self.view.place(row.key) or f"/{name}"
            self.scopes.setdefault(self._places[name], []).append(name)
        self.rows[name] = row
        self.touched.append(self._places[name])
        if isinstance(row, Checks) and not row.closed:
            self._open.add(name)
        else:
            self._open.discard(name)

    def remark(self, key: str, text: str, *, warning: bool = False) -> None:
        """Add a line about this step, below the part of the tree that contains the step, such as a task."""
        self.set_row(Remark(key, text, warning), f"{key} remark {len(self.rows)}")

    def name_scope(self, key: str, kind: str, which: str, title: str) -> None:
        """Record the title of a scope such as `task F1-T2`. Does nothing if the innermost scope of `key` is not
        `kind which`."""
        if which and title and inner_scope(key) == f"{kind} {which}":
            self.names[scope_of(key)] = title

    def settle(self) -> None:
        """Close the row of the seal, and the row of each proof that has grades. Called when no check runs any more: an
        agent or a person is asked, the work has landed, or the run has ended."""
        for name in list(self._open):
            row = self.rows[name]
            if isinstance(row, Checks) and (row.grades or row.key == SEAL):
                state = "failed" if any(grade in BAD for _, grade, _ in row.grades) else "held"
                worst = str(
                    min((Grade(judged[1]) for judged in row.grades), key=lambda grade: grade.rank, default=row.summary)
                )
                self.set_row(row._replace(state=state, summary=worst, closed=True), name)

    def call_row(self, key: str) -> Call:
        """The call of this key; an empty call if there is none yet."""
        row = self.rows.get(key)
        return row if isinstance(row, Call) else Call(key)

    def _checks(self, key: str) -> tuple[str, Checks]:
        """The name and the row of the proof that is open under this key, or of a new proof if none is open."""
        turn = self._proofs.get(key, 1)
        row = self.rows.get(f"{key} {turn}")
        if isinstance(row, Checks) and row.closed:
            turn, row = turn + 1, None
        self._proofs[key] = turn
        return f"{key} {turn}", row if isinstance(row, Checks) else Checks(key)

    def _restate(self, before: str, after: str) -> None:
        for name, row in list(self.rows.items()):
            if not isinstance(row, Remark) and row.state == before:
                self.rows[name] = row._replace(state=after)

    # -- events --------------------------------------------------------------------------------------------------------

    def _add_run(self, stored: EventHead, event: JournalEvent) -> None:
        match event:
            case run.RunBegan():
                if event.workflow != self.workflow:
                    self.view = view_of(event.workflow)
                self.title, self.workflow = event.title, event.workflow
                self.branch, self.level, self.accept = event.branch, event.level, event.accept
                self._driven_since = stored.at
            case run.RunResumed():
                self.state, self.why = "running", ""
                self.question = None  # an open question is asked again
                self._restate("unfinished", "running")
                self._driven_since = stored.at
                self.remark(stored.key, f"resumed after {HALTS.get(event.after, event.after) or 'a crash'}")
            case run.RunEnded():
                self.settle()
                self.state, self.grade, self.why, self.code = event.state, str(event.grade), event.why, event.code
                self._restate("running", "unfinished")
                self._driven += stored.at - self._driven_since if self._driven_since else 0.0
                self._driven_since = 0.0
            case landing.WorkLanded():
                if event.through:
                    self.landed_parts[event.onto] = event.through
                else:
                    self.landed[event.onto] = event.commit
                self.settle()
                by, what = event.who or "somebody", f"chunks up to {event.through}" if event.through else "it"
                self.remark(stored.key, f"{by} landed {what} on {event.onto} at {event.commit[:10]} ({event.how})")
            case _:
                pass

    def _add_to_view(self, stored: EventHead, event: JournalEvent) -> None:
        try:
            self.view.add(self, stored.key, event)
        except Exception as error:  # noqa: BLE001  a view written by others must not hide the run
            self.remark(
                stored.key, f"the view of {self.workflow} failed: {type(error).__name__}: {error}", warning=True
            )
            self.view = WorkflowView()

    def _add_merge(self, event: JournalEvent) -> None:
        """Show merge conflicts and how each was resolved; merges without a conflict are not shown."""
        match event:
            case run.MergeConflict():
                self._conflicts.add(event.part)
                what = (
                    f"conflicts with what was merged before, in {few(event.files)}: its agent is asked to combine both"
                )
                self.remark(f"{event.part}/join", what, warning=True)
            case run.PartMerged() if event.part in self._conflicts:
                lost = event.given_up
                kept = "no file equals one side alone; that both changes survive is only its agent's claim"
                how = f"one side of {few(lost)} was dropped" if lost else kept
                self.remark(f"{event.part}/join", f"merged as {event.commit[:10]}: {how}", warning=bool(lost))
            case _:
                pass

    def _add_call(self, stored: EventHead, event: JournalEvent) -> None:
        row = self.call_row(stored.key)
        match event:
            case call.CallAsked():
                self.settle()
                row = row._replace(role=intern(event.role), agent=intern(event.agent), state="running")
                asked, began = row.asked or stored.at, row.began or stored.at
                self.set_row(row._replace(asked=asked, began=began, ended=0.0, waits_until=0.0))
            case call.CallStarted() if stored.key in self.rows:
                self.rows[stored.key] = row._replace(started=row.started or stored.at)
            case call.FreshSession():
                self.set_row(_with_remark(row, "fresh session: all facts sent again"))
            case call.CallAdopted() | call.ReportFound() | call.CallDied() | call.SessionResumed():
                self._add_incident(stored, row, INCIDENTS[type(event)])
            case call.CallRepeated():
                row = row._replace(attempts=event.attempt or row.attempts + 1)
                self._add_incident(stored, row, INCIDENTS[type(event)])
            case call.CallWaits():
                self.set_row(row._replace(waits_until=event.until, waits_for=event.waits_for))
            case call.CallWaited():
                self.set_row(row._replace(waits_until=0.0, waits_for="", waited=row.waited + event.seconds))
            case call.CallAnswered():
                self.set_row(_answered_call(row, stored.at, event))
            case call.QuotaReported():
                self.quotas[event.agent.partition(":")[0]] = event
            case _:
                pass

    def _add_incident(self, stored: EventHead, row: Call, remark: str) -> None:
        row = row._replace(incidents=(*row.incidents, (stored.at, stored.kind)))
        self.set_row(_with_remark(row, remark) if remark else row)

    def _add_proof(self, stored: EventHead, event: JournalEvent) -> None:
        match event:
            case proof.CheckSealed() | proof.ContractSealed():
                self._add_sealed(stored, event)
            case proof.CheckRan():
                name, row = self._checks(stored.key)
                self.set_row(row._replace(runs=row.runs + 1, began=row.began or stored.at, ended=stored.at), name)
            case proof.RequirementJudged():
                name, row = self._checks(stored.key)
                grades = ((event.requirement, str(event.grade), "; ".join(event.why)),)
                self._grade(stored.key, grades)
                row = row._replace(grades=(*row.grades, *grades), ended=stored.at, began=row.began or stored.at)
                self.set_row(row, name)
            case proof.VerdictReached():
                self._add_verdict(stored, event)
            case _:
                pass

    def _add_sealed(self, stored: EventHead, event: proof.CheckSealed | proof.ContractSealed) -> None:
        name, row = self._checks(stored.key or SEAL)
        row = row._replace(began=row.began or stored.at, ended=stored.at)
        if isinstance(event, proof.ContractSealed):
            self.requirements = event.requirements
            held_out = "held out" if event.held_out else f"visible: {event.why}"
            self.set_row(row._replace(state="held", closed=True, summary=f"{self._base_summary()}, {held_out}"), name)
            return
        summary = "its checks were run on the new base"
        if not is_landing(stored.key):
            self.served |= set(event.serves)
            self.requirements = len(self.served)
            self.of_check[event.check] = event.cases
            self.on_base = sum((Counter(outcomes) for outcomes in self.of_check.values()), Counter())
            summary = self._base_summary()
        self.set_row(row._replace(runs=row.runs + 1, summary=summary), name)

    def _add_verdict(self, stored: EventHead, event: proof.VerdictReached) -> None:
        name, row = self._checks(stored.key)
        judged = tuple(
            (intern(requirement.id), intern(str(requirement.grade)), intern("; ".join(requirement.why)))
            for requirement in event.requirements or ()
        )
        self.verdicts.append(
            VerdictFact(stored.key, stored.at, {name: grade for name, grade, _ in judged}, str(event.grade))
        )
        grades = judged or row.grades
        self._grade(stored.key, grades)
        gaps = len(event.gaps or ())
        state = "failed" if not event.holds else "open" if event.grade in BAD else "held"
        row = row._replace(state=state, ended=stored.at, began=row.began or stored.at, closed=True)
        summary = str(event.grade) + (f", {counted(gaps, 'gap')}" if gaps else "")
        self.set_row(row._replace(summary=summary, grades=grades), name)

    def _grade(self, key: str, grades: Sequence[tuple[str, str, str]]) -> None:
        if not is_landing(key):  # a landing's grade is about another commit, so it is not the requirement's newest
            self.grades.update({name: grade for name, grade, _ in grades})

    def _base_summary(self) -> str:
        cases, number = base_outcomes(self.on_base), counted(self.requirements, "requirement")
        return f"{number}, on the base {cases}" if cases else number

    def _add_people(self, stored: EventHead, event: JournalEvent) -> None:
        """Record questions and people's answers; `notices_of` makes the lines about them."""
        match event:
            case people.QuestionAsked():
                self.settle()
                self.question = (stored.key, event.text)
            case people.RequirementApproved():
                self.question = None if stored.key else self.question  # with a key, the approval is an answer
            case (
                people.QuestionAnswered()
                | people.QuestionLeftOpen()
                | people.QuestionNotAsked()
                | people.DecisionTooLate()
                | people.RequirementParked()
            ):
                self.question = None
            case _:
                pass


def _with_remark(row: Call, text: str) -> Call:
    return row._replace(remarks=tuple(dict.fromkeys((*row.remarks, text))))


def _answered_call(row: Call, answered_at: float, event: call.CallAnswered) -> Call:
    remarks = [*row.remarks]
    remarks += ["asked twice for a valid reply"] if event.asks > 1 else []
    remarks += [f"shortened its context {counted(event.compactions, 'time')}"] if event.compactions else []
    remarks += [f"{counted(event.reaped, 'left-over process', 'left-over processes')} ended"] if event.reaped else []
    return row._replace(
        role=intern(event.role) or row.role,
        agent=intern(event.agent) or row.agent,
        state=intern(event.state) or "done",
        attempts=event.attempts or row.attempts,
        began=row.began if row.waited else event.began or row.began,
        ended=event.ended or answered_at,
        answer=CallOutcome.of(event),
        remarks=tuple(dict.fromkeys(remarks)),
        waits_until=0.0,
        waits_for="",
    )
