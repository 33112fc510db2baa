"""The contract of every journal store: the same tests on SQLite and on Postgres."""

import asyncio
import inspect
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import PostgresServer
from trued.engine.journals.sqlite import RunJournal, SqliteJournal
from trued.errors import BadInput, Busy, Diverged, StateFailed
from trued.hub.postgres import PostgresJournal, PostgresRunJournal
from trued.model import Approval, Comment, Event, Grade, RunRecord, TakenComments
from trued.model.events import JournalEvent
from trued.model.events.call import CallAnswered, CallAsked
from trued.model.events.landing import WorkLanded
from trued.model.events.people import CommentGiven, decision_event
from trued.model.events.proof import ContractSealed, GradedRequirement, VerdictReached
from trued.model.events.run import RunResumed
from trued.protocols import Journal, JournalStore
from trued.wire import Amount, Spend

pytestmark = pytest.mark.spec("HUB-1")


def record(name: str) -> RunRecord:
    return RunRecord(
        id=name, workflow="purple", title="a plan", repository="/repo", base="b" * 40, branch=f"trued/{name}"
    )


def sqlite_store(folder: Path) -> Callable[..., JournalStore]:
    return partial(SqliteJournal, folder / "home" / "journal.db")


def postgres_store(server: PostgresServer) -> Callable[..., JournalStore]:
    return partial(PostgresJournal, server.url, schema=server.new_schema())


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., JournalStore]:
    """A function that opens the same store at each call, as another process would."""
    if request.param == "sqlite":
        return sqlite_store(tmp_path)
    return postgres_store(request.getfixturevalue("postgres"))


@pytest.fixture
def journal(opened: Callable[..., JournalStore]) -> Iterator[JournalStore]:
    """A store with one run, driven by this process."""
    with closing(opened()) as store:
        store.add(record("r-one"))
        with store.claim("r-one"):
            yield store


class Counting:
    """A step that counts how often it is computed."""

    def __init__(self, results: list[str]) -> None:
        self.results, self.times = results, 0

    async def __call__(self) -> str:
        self.times += 1
        return self.results[self.times - 1]


@pytest.mark.spec("RUN-1", "RUN-2")
async def test_a_recorded_step_never_happens_again(journal: JournalStore) -> None:
    step = Counting(["first", "second"])
    run = journal.of("r-one")
    assert [await run.once("chunk 1A/a#1", "h", step) for _ in range(3)] == ["first"] * 3
    assert step.times == 1


@pytest.mark.spec("RUN-1")
async def test_steps_are_found_by_name_whatever_the_order(journal: JournalStore) -> None:
    run = journal.of("r-one")
    await asyncio.gather(run.once("a#1", "h", Counting(["A"])), run.once("b#1", "h", Counting(["B"])))
    again = await asyncio.gather(run.once("b#1", "h", Counting([])), run.once("a#1", "h", Counting([])))
    assert list(again) == ["B", "A"]


@pytest.mark.spec("RUN-3")
async def test_other_inputs_under_an_old_name_are_refused_loudly(journal: JournalStore) -> None:
    run = journal.of("r-one")
    await run.once("a#1", "the brief", Counting(["x"]))
    with pytest.raises(Diverged, match="a#1"):
        await run.once("a#1", "another brief", Counting(["y"]))


async def test_a_step_that_fails_is_not_recorded(journal: JournalStore) -> None:
    async def fails() -> str:
        raise RuntimeError("broken")

    run = journal.of("r-one")
    with pytest.raises(RuntimeError):
        await run.once("a#1", "h", fails)
    assert await run.once("a#1", "h", Counting(["later"])) == "later"


@pytest.mark.spec("PAGE-3")
def test_what_is_read_while_it_stands_still_is_of_one_moment(
    journal: JournalStore, opened: Callable[..., JournalStore]
) -> None:
    with closing(opened(read_only=True)) as reader:
        with reader.read_snapshot():
            assert len(reader.runs()) == 1
            journal.add(record("r-two"))
            assert len(reader.runs()) == 1
        assert len(reader.runs()) == 2


@pytest.mark.spec("RUN-8")
def test_a_question_waits_until_a_person_answers_and_keeps_who_and_why(
    journal: JournalStore, opened: Callable[..., JournalStore]
) -> None:
    run = journal.of("r-one")
    assert run.question("confirm#1", "Go on?", ["yes", "stop"]) is None
    with closing(opened()) as restarted:
        assert [one.text for one in restarted.questions("r-one", only_open=True)] == ["Go on?"]
        restarted.of("r-one").answer("confirm#1", "stop", "not good", "ann")
    assert run.question("confirm#1", "Go on?", ["yes", "stop"]) == ("stop", "not good", "ann")
    run.answer("confirm#1", "yes", "", "bob")
    assert run.question("confirm#1", "Go on?", ["yes", "stop"]) == ("stop", "not good", "ann")


@pytest.mark.spec("RUN-10")
def test_every_event_is_there_for_whoever_looks_later(
    journal: JournalStore, opened: Callable[..., JournalStore]
) -> None:
    heard: list[Event] = []
    asked = CallAsked(role="purple-team-a", agent="", brief="näh\n", chars=4, resume=False)
    journal.of("r-one", heard.append).emit(asked, "a#1")
    with closing(opened()) as other:
        (event,) = other.events("r-one")
        assert (event.kind, event.key, event.data["brief"]) == ("asked", "a#1", "näh\n")
        assert other.events("r-one", after=event.id) == []
        assert [(one.kind, one.id) for one in heard] == [("asked", event.id)]
    journal.of("r-one").emit(RunResumed(after="running"))  # without a step's key, and without a listener
    assert [(one.kind, one.key) for one in journal.events("r-one")] == [("asked", "a#1"), ("resumed", "")]


def answered(reply: dict[str, object] | None, *, estimated: bool = True) -> CallAnswered:
    told = dict.fromkeys(("role", "agent", "kind", "why", "commit", "cost"), "")
    counts = dict.fromkeys(("attempts", "asks", "reaped", "requests", "compactions"), 1)
    times = dict.fromkeys(("cost_usd", "began", "ended"), 0.0)
    parts = {**told, **counts, **times, "state": "done", "resumed": False, "changed": ()}
    return CallAnswered.model_validate({**parts, "reply": reply, "tokens": {"estimated": estimated}})


@pytest.mark.spec("PAGE-2", "PAGE-3")
def test_lean_events_leave_out_briefs_and_replies_but_keep_every_claim(journal: JournalStore) -> None:
    run = journal.of("r-one")
    run.emit(CallAsked(role="dev", agent="claude", brief="b" * 9000, chars=9000, resume=False), "dev#1")
    run.emit(answered({"result": "DONE", "summary": "s" * 900, "findings": ["f" * 9000]}), "dev#1")
    run.emit(answered(None), "dev#2")
    run.emit(answered({"status": "PASS", "result": None}), "dev#3")
    run.emit(RunResumed(after="running"))
    lean = journal.events("r-one", lean=True)
    full = journal.events("r-one")
    assert [(one.id, one.kind, one.key, one.at) for one in lean] == [
        (one.id, one.kind, one.key, one.at) for one in full
    ]
    assert lean[0].data == {name: value for name, value in full[0].data.items() if name != "brief"}
    claims = [[one.claim for event in some if (one := CallAnswered.read(event))] for some in (lean, full)]
    assert claims == [["DONE", "", "PASS"]] * 2
    assert sum(len(one.model_dump_json()) for one in lean) < 4000
    assert lean[-1] == full[-1]
    assert journal.events_of_call("r-one", "dev#1") == full[:2]
    assert journal.events_of_kind("r-one", "asked", "resumed") == [full[0], full[-1]]


@pytest.mark.spec("PAGE-2")
def test_pages_of_events_forward_and_backward_join_without_a_gap(journal: JournalStore) -> None:
    journal.add(record("r-two"))
    for number in range(25):
        journal.of("r-one").emit(RunResumed(after=str(number)))
        journal.of("r-two").emit(RunResumed(after="other"))
    every = [one.id for one in journal.events("r-one")]
    forward: list[int] = []
    while page := journal.events("r-one", forward[-1] if forward else 0, limit=10):
        forward += [one.id for one in page]
    backward: list[int] = []
    while page := journal.last_events("r-one", 10, before=backward[0] if backward else 0):
        backward = [one.id for one in page] + backward
    assert (forward, backward) == (every, every)
    assert journal.last_event_id() == journal.events("r-two")[-1].id
    assert journal.runs_changed(every[-1]) == {"r-two": journal.last_event_id()}


@pytest.mark.spec("PAGE-1", "PAGE-2")
def test_a_journal_that_is_only_read_sees_every_write_and_makes_none(
    journal: JournalStore, opened: Callable[..., JournalStore]
) -> None:
    with closing(opened(read_only=True)) as reader:
        before = reader.data_version()
        assert reader.data_version() == before
        journal.of("r-one").emit(RunResumed(after="running"))
        assert reader.data_version() != before
        assert [one.kind for one in reader.events("r-one")] == ["resumed"]
        with pytest.raises(StateFailed, match="cannot be written"):
            reader.of("r-one").emit(RunResumed(after="running"))
        assert len(journal.events("r-one")) == 1


def test_runs_are_found_by_a_beginning_that_fits_one(journal: JournalStore) -> None:
    journal.add(record("r-other"))
    assert journal.run("r-on").id == "r-one"
    with pytest.raises(BadInput, match="2 runs begin with"):
        journal.run("r-o")
    with pytest.raises(BadInput, match="no run"):
        journal.run("x")


def test_a_run_keeps_its_state_and_approvals(journal: JournalStore) -> None:
    journal.update(record("r-one").model_copy(update={"state": "done", "grade": Grade.PROVEN, "code": 0}))
    journal.approve("r-one", Approval(requirement="*", who="ann", why="read it", contract="c"))
    assert (journal.run("r-one").state, journal.run("r-one").grade) == ("done", Grade.PROVEN)
    assert [(one.who, one.why) for one in journal.approvals("r-one")] == [("ann", "read it")]


async def test_a_clock_that_goes_backwards_gives_no_negative_time(opened: Callable[..., JournalStore]) -> None:
    hours = iter(range(100, 0, -1))
    with closing(opened(clock=lambda: 3600.0 * next(hours))) as journal:
        journal.add(record("r-one"))
        with journal.claim("r-one"):
            await journal.of("r-one").once("a#1", "h", Counting(["x"]))
        ((_, began, ended),) = journal.steps("r-one")
        assert ended == began


@pytest.mark.spec("RUN-8")
def test_the_first_answer_stands_and_the_second_is_told_so(journal: JournalStore) -> None:
    run = journal.of("r-one")
    run.question("confirm#1", "Go on?", ["yes", "stop"])
    assert run.answer("confirm#1", "stop", "", "ann") is True
    assert run.answer("confirm#1", "yes", "", "bob") is False


@pytest.mark.spec("RUN-3")
def test_a_run_has_one_driver_and_is_free_after_it(opened: Callable[..., JournalStore]) -> None:
    with closing(opened()) as one, closing(opened()) as two:
        one.add(record("r-one"))
        one.announce("r-one")
        assert two.driver("r-one")
        with one.claim("r-one"):
            assert one.driver("r-one") == two.driver("r-one") != 0
            for other in (one, two):
                with pytest.raises(Busy, match="r-one is driven by"), other.claim("r-one"):
                    pass
        assert one.driver("r-one") == two.driver("r-one") == 0
        with pytest.raises(RuntimeError), two.claim("r-one"):
            raise RuntimeError("the driver failed")
        with one.claim("r-one"):
            assert two.driver("r-one")


@pytest.mark.spec("RUN-6")
def test_who_decides_on_spending_sees_all_of_it_and_a_row_is_replaced_whole(journal: JournalStore) -> None:
    run = journal.of("r-one")
    for call in ("a", "b"):
        assert run.spend(lambda known, call=call: _spend(call, "open", len(known)))  # type: ignore[misc]
    assert run.spend(lambda known: None) is None
    run.spend(lambda known: _spend("a", "done", len(known)))
    assert [(one.call, one.state, one.spent.tokens) for one in journal.spends("r-one")] == [
        ("b", "open", 1),
        ("a", "done", 2),
    ]
    assert [one.call for one in run.past("dev", "claude")] == ["a"]
    assert (run.has_begun("step a"), run.has_begun("step c")) == (True, False)


@pytest.mark.spec("RUN-6")
def test_who_decides_on_spending_sees_what_others_wrote(opened: Callable[..., JournalStore]) -> None:
    with closing(opened()) as one, closing(opened()) as two:
        one.add(record("r-one"))
        mine, other = (one, one.of("r-one")), (two, two.of("r-one"))

        def seen(store: JournalStore, run: Journal) -> list[tuple[str, str]]:
            found: list[tuple[str, str]] = []
            with store.claim("r-one"):
                run.spend(lambda known: found.extend((row.call, row.state) for row in known))
            return found

        written = ((mine, "a", "open"), (other, "b", "open"), (mine, "c", "open"), (other, "a", "done"))
        for (store, run), call, state in written:
            with store.claim("r-one"):
                run.spend(lambda known, call=call, state=state: _spend(call, state, 0))  # type: ignore[misc]
        assert seen(*mine) == seen(*other) == [("b", "open"), ("c", "open"), ("a", "done")]
        with pytest.raises(ZeroDivisionError), one.claim("r-one"):
            mine[1].spend(lambda known: _spend("d", "open", 1 // 0))
        assert seen(*mine) == [("b", "open"), ("c", "open"), ("a", "done")]


def _spend(call: str, state: str, tokens: int) -> Spend:
    reserved, spent = Amount(usd=0.5, seconds=60.0), Amount(usd=0.1, tokens=tokens)
    return Spend(call, 1, f"step {call}", "chunk 1A", "dev", "claude", state, reserved, spent, "computed")


def test_of_several_who_approve_the_same_at_once_one_is_recorded(opened: Callable[..., JournalStore]) -> None:
    recorded: list[bool] = []

    def approve(who: str) -> None:
        with closing(opened()) as own:
            recorded.append(own.approve("r-one", Approval(requirement="R1", who=who, why="seen", commit="c")))

    with closing(opened()) as store:
        store.add(record("r-one"))
        people = [threading.Thread(target=approve, args=(who,)) for who in ("ann", "bob", "eve", "joe")]
        for one in people:
            one.start()
        for one in people:
            one.join()
        assert sorted(recorded) == [False, False, False, True]
        assert len(store.approvals("r-one")) == 1


@pytest.mark.spec("RUN-8")
def test_decisions_that_belong_together_are_recorded_with_their_events_or_not_at_all(
    opened: Callable[..., JournalStore],
) -> None:
    def given(*names: str, who: str) -> list[tuple[Approval, JournalEvent]]:
        made = [Approval(requirement=name, who=who, why="seen", commit="c", asked="h") for name in names]
        return [(one, decision_event(one)) for one in made]

    def stored(store: JournalStore) -> list[tuple[str, ...]]:
        approvals = [(one.who, one.requirement) for one in store.approvals("r-one")]
        events = [(str(one.data["who"]), str(one.data["requirement"])) for one in store.events("r-one")]
        assert events == approvals
        return [*approvals]

    with closing(opened()) as store:
        store.add(record("r-one"))
        assert store.decide("r-one", given("R2", who="ann")) is None
        refused = store.decide("r-one", given("R1", "R2", "R3", who="bob"))
        assert refused
        assert refused.requirement == "R2"
        broken: Any = [*given("R1", who="bob"), (given("R3", who="bob")[0][0], "no event")]
        with pytest.raises(AttributeError):
            store.decide("r-one", broken)
        assert stored(store) == [("ann", "R2")]
        assert store.decide("r-one", given("R1", "R2", "R3", who="bob"), instead=True) is None
        assert stored(store) == [("ann", "R2"), ("bob", "R1"), ("bob", "R2"), ("bob", "R3")]


# -- name by name

SIDES = [(JournalStore, SqliteJournal, PostgresJournal), (Journal, RunJournal, PostgresRunJournal)]


@pytest.mark.parametrize(("protocol", "embedded", "shared"), SIDES)
def test_both_stores_have_every_name_of_the_protocol_with_the_same_parameters(
    protocol: type, embedded: type, shared: type
) -> None:
    def shapes(of: type) -> dict[str, list[tuple[str, Any, Any]]]:
        signatures = {name: inspect.signature(getattr(of, name)) for name in _names(protocol)}
        return {
            name: [(one.name, one.kind, one.default) for one in signature.parameters.values()]
            for name, signature in signatures.items()
        }

    assert shapes(embedded) == shapes(shared) == shapes(protocol)
    assert _names(embedded) - _names(protocol) == OF_SQLITE.get(embedded, set())


def _names(protocol: type) -> set[str]:
    members = [member for one in protocol.__mro__ for member in vars(one).items()]
    return {name for name, one in members if not name.startswith("_") and callable(one)}


# Names that only the embedded store has. A name for other code to use belongs into the protocol.
OF_SQLITE: dict[type, set[str]] = {SqliteJournal: {"commit", "writing"}}
WRITING = {"add", "put", "update", "of", "claim", "announce", "cancel", "approve", "decide", "add_comment"}
WRITING |= {"change_limit", "close"}
# methods with results that differ between stores
OWN = {
    "lease_file",
    "driver",
    "drivers",
    "queue_of",
    "queued",
    "data_version",
    "private_files",
    "password",
    "refuse_if_open",
    "read_snapshot",
}
ODD: list[dict[str, object]] = [
    {
        "result": "DONE " * 90,
        "passes": True,
        "passed": None,
        "asks": ["why"],
        "status": ["a", 1, "é"],
        "summary": "ß" * 400,
    },
    {"result": 7, "decision": False, "passes": "yes", "passed": False, "asks": [], "summary": {"deep": "x" * 400}},
    {"asks": {}, "findings": "a \x00 in it", "status": 1.5},
    {"asks": "which?", "decision": None},
]


async def story(store: JournalStore) -> None:
    """Write one of everything that a store can store."""
    for name in ("r-one", "r-two"):
        store.add(record(name), f'{{"of": "{name}", "settings": {{"accept": "tested"}}}}')
    store.add(record("r-odd"), "no JSON")
    store.announce("r-one")
    with store.claim("r-one"):
        run = store.of("r-one")
        run.emit(CallAsked(role="dev", agent="claude", brief="the Brief", chars=9, resume=True), "chunk 1/dev#1")
        for number, reply in enumerate(ODD):
            run.emit(answered(reply, estimated=number % 2 == 0), f"chunk 1/dev#{number}")
        for number in range(2):
            run.emit(answered(None, estimated=number == 0), f"examiner#{number}")
        run.emit(CallAsked(role="examiner", agent="codex", brief="b", chars=1, resume=False), "other#1")
        run.emit(ContractSealed(contract="k", requirements=3, held_out=True, why="tried"))
        for grade in (Grade.REFUTED, Grade.TESTED):
            judged = (GradedRequirement(id="R1", grade=grade), GradedRequirement(id="R2", grade=Grade.PROVEN))
            reached = VerdictReached(subject="s", commit="c", grade=grade, holds=False, requirements=judged)
            run.emit(reached, "proof#1")
        run.emit(WorkLanded(onto="main", commit="c", before="b", how="merge", who="ann"))
        for key in ("b#1", "chunk 1/a#1", "a#1"):
            await run.once(key, "h", Counting([f"of {key} \\u0000"]))
        for call, state in (("a", "open"), ("b", "open"), ("a", "done")):
            run.spend(lambda known, call=call, state=state: _spend(call, state, len(known)))  # type: ignore[misc]
        assert run.question("q#1", "Go on?", ["yes", "stop"]) is None
        assert run.question("q#2", "Sure?", ()) is None
        said = Comment(to="dev", text="use less", who="ann", way="page")
        number = store.add_comment("r-one", said, lambda one: _given(one, said), "")
        taken = TakenComments(role="dev", call="dev#2", comments=(said.model_copy(update={"id": number}),))
        await run.once("dev#2 comments", "h", Counting([taken.model_dump_json()]))
        store.update(record("r-one").model_copy(update={"state": "done", "grade": Grade.TESTED, "why": "it is"}))
    assert store.of("r-one").answer("q#1", "stop", "no", "bob")
    asked = Approval(requirement="R1", who="ann", why="seen", commit="c", asked="h", way="command")
    again = [store.approve("r-one", asked), store.approve("r-one", asked), store.approve("r-one", asked, instead=True)]
    whole = Approval(requirement="*", who="bob", why="read", contract="k", rejected=True)
    again += [store.approve("r-one", whole), store.of("r-one").approve(whole)]
    assert again == [True, False, True, True, False]
    store.change_limit("r-one", "", "usd", 9.5, "ann")
    store.change_limit("r-one", "chunk 1", "tokens", 100, "ann")
    with store.claim("r-two"):
        assert store.of("r-two").question("q#1", "Go on?", ()) is None
    with store.claim("r-odd"):
        await store.of("r-odd").once("chunk 1/prove#1", "h", Counting(["a verdict"]))
    store.cancel("r-two")
    store.of("r-two").emit(RunResumed(after="running"))


def _given(number: int, said: Comment) -> CommentGiven:
    return CommentGiven(number=number, to=said.to, text=said.text, who=said.who, way=said.way, stops=said.stops)


def asked_for(store: JournalStore) -> dict[str, list[Any]]:
    """Every reading method of the protocol → its results."""
    one = "r-one"
    return {
        "runs": [store.runs()],
        "run": [store.run("r-t")],
        "inputs": [store.inputs(one)],
        "events": [store.events(one), store.events(one, 3, limit=2), store.events(one, lean=True)],
        "last_events": [store.last_events(one, 3), store.last_events(one, 2, before=4, lean=True)],
        "events_of_kind": [store.events_of_kind(one, "asked", "landed"), store.events_of_kind(one, lean=True)],
        "events_of_call": [store.events_of_call(one, "chunk 1/dev#1")],
        "search_events": [
            store.search_events(one),
            store.search_events(one, ["DONE", "dev"]),
            store.search_events(one, ["brief"]),
            store.search_events(one, ["codex"], silent=("examiner", "dev")),
            store.search_events(one, ['"resume":1'], silent=("dev",)),
            store.search_events(one, ["why"], silent=("dev",)),
            store.search_events(one, before=5, limit=2, silent=("dev",)),
        ],
        "runs_changed": [store.runs_changed(), store.runs_changed(8)],
        "last_event_id": [store.last_event_id()],
        "landed": [store.landed()],
        "folded_events": [
            [(*rest, json.loads(data)) for *rest, data in store.folded_events(one, after, limit)]
            for after, limit in ((0, 100), (2, 3), (99, 5))
        ],
        "answers_since": [store.answers_since(0), store.answers_since(0, "purple"), store.answers_since(0, "solo")],
        "verdicts_since": [store.verdicts_since(0), store.verdicts_since(1e9)],
        "sealed_since": [store.sealed_since(0), store.sealed_since(0, "solo")],
        "spends_of_runs_since": [store.spends_of_runs_since(0), store.spends_of_runs_since(0, "solo")],
        "accepted": [store.accepted(), store.accepted(one), store.accepted("r-odd")],
        "agents_and_roles": [store.agents_and_roles()],
        "runs_to_decide": [store.runs_to_decide()],
        "runs_at_work": [store.runs_at_work()],
        "is_cancelled": [store.is_cancelled(one), store.is_cancelled("r-two")],
        "step": [store.step(one, "a#1"), store.step(one, "none")],
        "steps": [store.steps(one), store.steps(one, "a#", "dev"), store.steps(one, "c")],
        "steps_after": [[*store.steps_after(one, *given)] for given in ((0,), (1, "a", "b"), (9,))],
        "step_count": [store.step_count(one)],
        "spends": [store.spends(one)],
        "past": [store.past("dev", "claude"), store.past("dev", "codex")],
        "questions": [store.questions(one), store.questions(one, only_open=True)],
        "approvals": [store.approvals(one)],
        "runs_with_approvals": [store.runs_with_approvals()],
        "comments": [store.comments(one), store.comments("r-two")],
        "limit_changes": [store.limit_changes(one)],
    }


async def test_letters_of_any_alphabet_are_found_in_either_case(journal: JournalStore) -> None:
    journal.of("r-one").emit(ContractSealed(contract="k", requirements=3, held_out=True, why="ÜBER Größe: Страница"))
    found = [journal.search_events("r-one", words)[0] for words in (["über"], ["GRÖẞE", "СТРАНИЦА"], ["uber"])]
    assert found == [1, 1, 0]


async def test_both_stores_answer_every_question_alike(tmp_path: Path, postgres: PostgresServer) -> None:
    answers = []
    for opened in (sqlite_store(tmp_path), postgres_store(postgres)):
        ticks = itertools.count(1)
        with closing(opened(clock=lambda: float(next(ticks)))) as store:  # noqa: B023  (called in this turn only)
            await story(store)
            answers.append(asked_for(store))
    assert answers[0] == answers[1]
    assert answers[0].keys() | WRITING | OWN == _names(JournalStore)
    assert all(any(found for found in each) for each in answers[0].values())  # no method returned only empty results
