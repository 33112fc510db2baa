"""A run's questions are answered by key, once, from any terminal."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.engine.ended_run import RUN, Place, ended_run
from tests.workflows.conftest import Ground, events
from trued.engine.approvals import Decision, answer_question, decide
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import Finding, Grade, Judged, MissingFromEnvironment, PersonAnswer, Question, Task, Verdict
from trued.run.examination.examiner import proposal_text
from trued.run.examination.replies import Proposal
from trued.run.people import confirmation
from trued.run.questions import question_text

ASKED = "chunk 1A/confirm#1"
MANUAL = {"id": "look", "text": "it looks well", "covers": ["1A"], "checks": [{"kind": "manual", "steps": ["look"]}]}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ended_run(tmp_path) as found:
        found.engine.store.journal.of(RUN).question(ASKED, "Go on?", ["yes", "stop", "redo"])
        found.engine.store.journal.of(RUN).question("chunk 1B/dev#1?1", "by adding or by shifting?", [])
        yield found


@pytest.mark.spec("PAGE-4", "RUN-8")
def test_of_two_open_questions_the_one_with_the_key_is_answered(place: Place) -> None:
    store = place.engine.store
    with pytest.raises(BadInput) as unclear:
        answer_question(store, RUN, "yes", comment="", who="ann")
    assert all(
        one in str(unclear.value) for one in (ASKED, "chunk 1B/dev#1?1", "by adding or by shifting?", "--question")
    )
    assert len(store.journal.questions(RUN, only_open=True)) == 2
    with pytest.raises(BadInput, match="no open question 'chunk 2'; open: "):
        answer_question(store, RUN, "yes", comment="", who="ann", key="chunk 2")
    answer_question(store, RUN, "by adding", comment="", who="ann", key="dev#1")
    assert [one.key for one in store.journal.questions(RUN, only_open=True)] == [ASKED]
    answer_question(store, RUN, "yes", comment="", who="ann")  # only one question is left


@pytest.mark.spec("PAGE-4", "RUN-8")
def test_of_two_who_answer_at_once_one_wins_and_the_other_learns_whose_answer_counts(place: Place) -> None:
    with RunStore(place.engine.store.home, {}) as bob:
        answer_question(place.engine.store, RUN, "redo", comment="more tests", who="ann", key=ASKED)
        with pytest.raises(BadInput, match=r"ann has answered chunk 1A/confirm#1 already: redo \(more tests\)"):
            answer_question(bob, RUN, "yes", comment="", who="bob", key=ASKED)
    (first,) = [one for one in place.engine.store.journal.questions(RUN) if one.key == ASKED]
    assert (first.answer, first.who) == ("redo", "ann")
    assert [one.data["who"] for one in place.engine.store.journal.events(RUN) if one.kind == "said"] == ["ann"]


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        ground = Ground(tmp_path, stack)
        ground.one_chunk()
        yield ground


class Absent:
    """A person at the terminal who never answers."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[Question] = asyncio.Queue()

    async def __call__(self, question: Question) -> None:
        await self.asked.put(question)
        await asyncio.Event().wait()


@pytest.mark.slow
@pytest.mark.spec("PAGE-4", "RUN-8")
async def test_a_run_that_asks_at_its_terminal_hears_an_answer_from_elsewhere(ground: Ground) -> None:
    person = Absent()
    engine, _ = ground.engine(person=person)
    running = asyncio.ensure_future(ground.run(engine, yes=False))
    async with asyncio.timeout(120):
        question = await person.asked.get()
        with RunStore(ground.home, {}) as elsewhere:
            run = elsewhere.journal.runs()[0].id
            answer_question(elsewhere, run, "yes", comment="", who="ann", key=question.key)
        record = await running
    assert record.state == "done"
    (said,) = events(engine, record, "said")  # once, with the name of the person who answered
    assert (said.key, said.data["who"]) == (question.key, "ann")


@pytest.mark.slow
@pytest.mark.spec("PAGE-4", "RUN-8")
async def test_an_answer_at_the_terminal_that_comes_second_is_not_in_the_journal(ground: Ground) -> None:
    async def person(question: Question) -> PersonAnswer:
        with RunStore(ground.home, {}) as elsewhere:
            run = elsewhere.journal.runs()[0].id
            answer_question(elsewhere, run, "yes", comment="quicker", who="ann", key=question.key)
        return PersonAnswer("stop", "", "bob")

    engine, _ = ground.engine(person=person)
    async with asyncio.timeout(120):
        record = await ground.run(engine, yes=False)
    assert record.state == "done"
    assert [(one.data["answer"], one.data["who"]) for one in events(engine, record, "said")] == [("yes", "ann")]


@pytest.mark.spec("PAGE-4", "RUN-8")
async def test_a_run_that_asks_for_a_look_hears_the_decision_from_elsewhere(ground: Ground) -> None:
    ground.require([MANUAL])
    person = Absent()
    engine, _ = ground.engine(person=person)
    running = asyncio.ensure_future(ground.run(engine, yes=False))
    async with asyncio.timeout(120):
        while (asked := await person.asked.get()).key != "look by hand":
            answer_question(
                engine.store, engine.store.journal.runs()[0].id, "yes", comment="", who="ann", key=asked.key
            )
        with RunStore(ground.home, {}) as elsewhere:
            run = elsewhere.journal.runs()[0].id
            decide(elsewhere, run, ["look"], Decision(who="ann", why="it does"))
        record = await running
    assert person.asked.empty()
    assert [(one.who, one.stale) for one in engine.store.approvals(record.id)] == [("ann", "")]
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert {one.id: one.grade for one in verdict.requirements}["look"] is Grade.ATTESTED


FAKE = "May I?\x1b[2J\n\n\nmine: proven\r\n1. trued approve r-1 --as you --reason ok\u2028yes: go on\n"


@pytest.mark.spec("USE-6", "RUN-8")
def test_no_line_of_an_agents_question_looks_like_the_engines() -> None:
    assert question_text("dev", FAKE).split("\n") == [
        "dev asks: May I?",
        "> mine: proven",
        "> 1. trued approve r-1 --as you --reason ok yes: go on",
    ]
    assert question_text("dev", "by adding or by shifting?") == "dev asks: by adding or by shifting?"


@pytest.mark.spec("USE-6", "RUN-8")
def test_what_an_agent_found_is_one_line_of_the_question_whether_to_continue() -> None:
    verdict = Verdict.open("1A", Finding(what="it is slow\n1A all: proven, holds\nContinue? (stop: the next chunk)"))
    asked = confirmation(Task(id="1A", title="all"), verdict).split("\n")
    assert asked[1] == "  - it is slow 1A all: proven, holds Continue? (stop: the next chunk)"
    assert [one for one in asked if one.startswith("Continue?")] == [asked[-1]]


LACKING = MissingFromEnvironment(name="x", what="the module x is not installed", fix="declare `x`")
UNJUDGED = Judged(id="r", text="", grade=Grade.UNJUDGED, why=("",), holds=False, missing=(LACKING,))


@pytest.mark.spec("PUR-9", "DAY-2")
@pytest.mark.parametrize(
    ("verdict", "stalled", "said"),
    [
        (Verdict.open("1A", Finding(what="it is slow")), False, ("used up", "  - it is slow")),
        (Verdict.open("1A", Finding(what="it is slow")), True, ("no progress", "  - it is slow")),
        (
            Verdict(subject="1A", commit="c", requirements=(UNJUDGED,)),
            False,
            ("on this machine", "  - the module x is not installed; declare `x`"),
        ),
    ],
    ids=["rounds are used up", "no progress", "the machine lacks something"],
)
def test_the_question_whether_to_continue_says_why_the_rounds_ended(
    verdict: Verdict, stalled: bool, said: tuple[str, str]
) -> None:
    state, left, _ = confirmation(Task(id="1A", title="all"), verdict, stalled=stalled).split("\n")
    assert [one for one in ("used up", "no progress", "on this machine") if one in state] == [said[0]]
    assert left == said[1]


@pytest.mark.spec("USE-6", "LAW-3")
def test_a_command_in_an_examiners_reason_does_not_look_like_the_engines() -> None:
    why = "slow”); if you agree: trued amend r-1 --remove double\n("
    told = proposal_text(Proposal(what="keep", requirement="double", why=why), "r-1")
    first, _, rest = told.partition(" (its reason: “")
    assert first == "double: the examiner proposes keep; if you agree: trued amend r-1 --keep double"
    assert rest == "slow’); if you agree: trued amend r-1 --remove double (”)"


@pytest.mark.spec("USE-6", "RUN-8")
@pytest.mark.parametrize("title", ["write\n\n1A: proven, holds\nContinue?", "write double"])
async def test_a_planners_title_cannot_look_like_a_line_of_the_question(ground: Ground, title: str) -> None:
    engine, _ = ground.engine(lambda order: {"tasks": [{"id": "1A", "title": title}]})
    record = await ground.run(engine, "numbers can be doubled", workflow="purple", required=False, yes=False)
    (asked,) = engine.store.journal.questions(record.id)
    assert asked.text.splitlines() == ["Continue with this plan?", f"  1A: {' '.join(title.split())}"]
