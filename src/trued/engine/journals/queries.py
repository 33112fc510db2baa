"""JournalQueries and RunQueries: the reads of `JournalStore` and `Journal` that are the same for all databases."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from trued.engine.journals.rows import (
    PAST,
    KnownSpends,
    comments_of,
    event_of,
    landings,
    question_of,
    select_run,
    spend_of,
    spending_of,
)
from trued.model import Approval, Comment, Event, Question, RunRecord
from trued.model.records import ENDED_STATES
from trued.model.step_keys import JUDGED

if TYPE_CHECKING:
    from trued.wire import Spend

# Selects rows that belong to runs which began at or after a time (the first value) and have a workflow (the second
# value; "" for all workflows).
OF_RUNS_SINCE = "run in (select id from run where created_at >= ? and workflow = coalesce(nullif(?, ''), workflow))"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The pieces of SQL in which the databases differ."""

    number: str  # a column of every table: rows that were written later have higher numbers
    position: str  # a function: where a text (1st argument) has another one (2nd) for the first time; 0 if nowhere
    role: str  # the role in an event's data
    lean: str  # an event's data without the texts that `JournalQueries.events` leaves out with `lean`
    bare: str  # only the facts in an event's data that contain no text of the agent or its provider


class JournalQueries(ABC):
    """Reads from the tables of a journal, which have the same names and columns in every database.

    Statements mark their values with `?`, and contain neither `?` nor `%` otherwise.
    """

    _dialect: ClassVar[Dialect]

    @abstractmethod
    def _select(self, statement: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of one statement that only reads."""

    # -- runs ----------------------------------------------------------------------------------------------------------

    def runs(self) -> list[RunRecord]:
        columns = ", ".join(RunRecord.model_fields)
        rows = self._select(f"select {columns} from run order by created_at desc, id")  # noqa: S608
        return [RunRecord(**row) for row in rows]

    def inputs(self, run: str) -> str:
        """The inputs of a run, as JSON."""
        return str(self._select("select inputs from run where id = ?", (run,))[0]["inputs"])

    def run(self, name: str) -> RunRecord:
        """The run with the id `name`, or the only run whose id begins with `name`. Raises BadInput if no run or several
        runs fit."""
        return select_run(self.runs(), name)

    def runs_at_work(self) -> list[str]:
        return [row["id"] for row in self._select("select id from run where state = 'running' order by id")]

    def runs_to_decide(self) -> set[str]:
        judged, names = self._step_name_condition(JUDGED)
        asked = "exists (select 1 from question where question.run = run.id and answer = '')"
        shown = f"exists (select 1 from step where step.run = run.id and {judged})"  # noqa: S608  (constants)
        statement = f"select id from run where state not in ({_marks(ENDED_STATES)}) and ({asked} or {shown})"  # noqa: S608
        return {row["id"] for row in self._select(statement, (*ENDED_STATES, *names))}

    def runs_with_approvals(self) -> set[str]:
        return {row["run"] for row in self._select("select distinct run from approval")}

    # -- events --------------------------------------------------------------------------------------------------------

    def events(self, run: str, after: int = 0, *, limit: int = 0, lean: bool = False) -> list[Event]:
        """The events of a run after this id, oldest first; at most `limit`, if that is not 0.

        `lean`: leave out briefs, and keep only some fields of each reply: those that claim a result, and the beginning
        of `summary`.
        """
        return self._events("run = ? and id > ?", (run, after), limit=limit, lean=lean)

    def last_events(self, run: str, limit: int, *, before: int = 0, lean: bool = False) -> list[Event]:
        """The newest `limit` events of a run, oldest first. `before`: only events before this id; 0 for all. `lean`: as
        in `events`."""
        where, values = ("run = ? and id < ?", (run, before)) if before else ("run = ?", (run,))
        return self._events(where, values, limit=limit, newest=True, lean=lean)

    def events_of_kind(self, run: str, *kinds: str, lean: bool = False) -> list[Event]:
        """The events of a run that have one of these kinds, oldest first. `lean`: as in `events`."""
        return self._events(f"run = ? and kind in ({_marks(kinds)})", (run, *kinds), lean=lean)

    def events_of_call(self, run: str, key: str) -> list[Event]:
        """The complete events of the call with this key, oldest first. They contain its brief and reply."""
        return self._events("run = ? and key = ?", (run, key))

    def search_events(
        self, run: str, words: Sequence[str] = (), *, before: int = 0, limit: int = 200, silent: Sequence[str] = ()
    ) -> tuple[int, list[Event]]:
        """Find the events of a run that have all these words in kind, key or lean data. Returns their number, and at
        most `limit` of them, newest first. `before`: returns only events before this id; 0 for all.

        `silent`: roles whose texts stay hidden. If an event has a silent role in its data or key, only its facts that
        contain no text of an agent are searched and returned.
        """
        sql = self._dialect
        own = f"({sql.role} = ? or {sql.position}(key, ?) = 1 or {sql.position}(key, ?) > 0)"
        shown = f"(case when {' or '.join([own] * len(silent)) or 'false'} then {sql.bare} else {sql.lean} end)"
        silent = [beginning for role in silent for beginning in (role, f"{role}#", f"/{role}#")]
        where, values = "run = ?", list[object]([run])
        for word in words:
            folded, letters = _in_lower_case(f"kind || ' ' || key || ' ' || {shown}", word)
            where += f" and {sql.position}({folded}, ?) > 0"
            values += [*silent, *letters, word.lower()]
        total = self._select(f"select count(*) as number from event where {where}", values)[0]["number"]  # noqa: S608
        older, values = (" and id < ?", [*values, before]) if before else ("", values)
        found = self._select(
            f"select id, at, key, kind, {shown} as data from event where {where}{older} order by id desc limit ?",  # noqa: S608
            (*silent, *values, limit),
        )
        return int(total), [event_of(row) for row in found]

    def _events(
        self, where: str, values: Sequence[object], *, limit: int = 0, newest: bool = False, lean: bool = False
    ) -> list[Event]:
        columns = f"id, at, key, kind, {self._dialect.lean if lean else 'data'} as data"
        order = f"order by id{' desc' if newest else ''}{' limit ?' if limit else ''}"
        statement = f"select {columns} from event where {where} {order}"  # noqa: S608
        rows = self._select(statement, (*values, limit) if limit else values)
        found = [event_of(row) for row in rows]
        return found[::-1] if newest else found

    def last_event_id(self) -> int:
        """The id of the newest event of all runs; 0 if there is none."""
        return int(self._select("select coalesce(max(id), 0) as last from event")[0]["last"])

    def landed(self) -> dict[str, list[str]]:
        """Run → branches that its whole work landed on."""
        return landings(self._select("select run, data from event where kind = 'landed' order by id"))

    # -- steps and spending --------------------------------------------------------------------------------------------

    def step(self, run: str, key: str) -> str | None:
        """The result of a recorded step; None if it was not recorded."""
        rows = self._select("select value from step where run = ? and key = ?", (run, key))
        return str(rows[0]["value"]) if rows else None

    def steps(self, run: str, *names: str) -> list[tuple[str, float, float]]:
        """Key, begin and end of each step, oldest first. `names`: only steps that have one of these names at the
        beginning of their key, or after a slash in it."""
        where, values = self._step_name_condition(names)
        statement = f"select key, began, ended from step where run = ? and {where} order by {self._dialect.number}"  # noqa: S608
        return [(row["key"], row["began"], row["ended"]) for row in self._select(statement, (run, *values))]

    def step_count(self, run: str) -> int:
        return int(self._select("select count(*) as number from step where run = ?", (run,))[0]["number"])

    def _step_name_condition(self, names: Sequence[str]) -> tuple[str, list[str]]:
        """The SQL condition for steps that have one of `names` at the beginning of their key, or after a slash in it;
        also the values for its `?`. Without names, the condition is true for all steps."""
        position = self._dialect.position
        condition = " or ".join([f"{position}(key, ?) = 1 or {position}(key, ?) > 0"] * len(names))
        return f"({condition or 'true'})", [value for name in names for value in (name, f"/{name}")]

    def spends(self, run: str) -> "list[Spend]":
        """Everything that a run has reserved and spent."""
        rows = self._select(f"select * from spend where run = ? order by {self._dialect.number}", (run,))  # noqa: S608
        return [spend_of(row) for row in rows]

    def spends_of_runs_since(self, since: float, workflow: str = "") -> "list[tuple[str, Spend]]":
        columns = "run, step, role, agent, spent_usd, spent_tokens, spent_seconds, cost"
        statement = f"select {columns} from spend where {OF_RUNS_SINCE} order by {self._dialect.number}"  # noqa: S608
        return [(row["run"], spending_of(row)) for row in self._select(statement, (since, workflow))]

    def past(self, role: str, agent: str) -> "list[Spend]":
        """What the newest finished calls of this role and agent used, in all runs, newest first; at most PAST calls."""
        where = "role = ? and agent = ? and state = 'done'"
        rows = self._select(f"select * from spend where {where} order by at desc limit {PAST}", (role, agent))  # noqa: S608
        return [spend_of(row) for row in rows]

    def agents_and_roles(self) -> list[tuple[str, str]]:
        return sorted((row["agent"], row["role"]) for row in self._select("select distinct agent, role from spend"))

    # -- people --------------------------------------------------------------------------------------------------------

    def questions(self, run: str, *, only_open: bool = False) -> list[Question]:
        rows = self._select("select * from question where run = ? order by id", (run,))
        return [question for row in rows if not ((question := question_of(row)).answer and only_open)]

    def approvals(self, run: str) -> list[Approval]:
        """Approvals and rejections, oldest first."""
        columns = 'requirement, who, why, at, contract, seen as "commit", asked, rejected, way'
        statement = f"select {columns} from approval where run = ? order by {self._dialect.number}"  # noqa: S608
        return [Approval(**row) for row in self._select(statement, (run,))]

    def comments(self, run: str) -> list[Comment]:
        """What people said to the run's agents, oldest first, each with the calls whose agents got it."""
        columns, sql = "id, sent_to, text, who, way, stops, at", self._dialect
        rows = self._select(f"select {columns} from comment where run = ? order by id", (run,))  # noqa: S608
        if not rows:
            return []
        where = f"run = ? and {sql.position}(key, ' comments') > 0"
        steps = self._select(f"select key, value from step where {where} order by {sql.number}", (run,))  # noqa: S608
        return comments_of(rows, steps)

    def limit_changes(self, run: str) -> list[tuple[str, str, float]]:
        """Scope, kind and amount of every limit that people changed, oldest first."""
        statement = f"select scope, what, amount from raised where run = ? order by {self._dialect.number}"  # noqa: S608
        return [(row["scope"], row["what"], row["amount"]) for row in self._select(statement, (run,))]


Store = TypeVar("Store", bound=JournalQueries)


class RunQueries(Generic[Store]):
    """The reads of one run's journal that are the same for all databases. A journal that inherits from this class calls
    `listen` with every event that it writes."""

    def __init__(self, journal: Store, run: str, listen: Callable[[Event], None] | None = None) -> None:
        self.journal, self.run, self.listen = journal, run, listen
        self._spends = KnownSpends()

    def has_step(self, key: str) -> bool:
        return self.journal.step(self.run, key) is not None

    def has_begun(self, key: str) -> bool:
        return bool(self.journal._select("select 1 from spend where run = ? and step = ? limit 1", (self.run, key)))

    def past(self, role: str, agent: str) -> "list[Spend]":
        return self.journal.past(role, agent)

    def limit_changes(self) -> list[tuple[str, str, float]]:
        return self.journal.limit_changes(self.run)

    def comments(self) -> list[Comment]:
        return self.journal.comments(self.run)

    def approvals(self) -> list[Approval]:
        return self.journal.approvals(self.run)


def _marks(values: Sequence[object]) -> str:
    """A `?` for each value, for use in `in (…)`. Without values: `null`, because `in (null)` is never true."""
    return ", ".join("?" * len(values)) or "null"


def _in_lower_case(text: str, word: str) -> tuple[str, list[str]]:
    """An SQL expression for `text` in lower case, to be searched for `word`; also the values for its `?`.

    In SQLite, and in some locales of Postgres, `lower` folds only ASCII letters. So the expression also replaces the
    capitals of all other letters in `word`.
    """
    others = [letter for letter in dict.fromkeys(word.lower()) if not letter.isascii()]
    letters = [(capital, other) for other in others if len(capital := other.upper()) == 1 and capital != other]
    folded = f"{'replace(' * len(letters)}lower({text}){', ?, ?)' * len(letters)}"
    return folded, [letter for pair in letters for letter in pair]
