"""Actions of the page: steering is done at once, speaking is finished in the terminal."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from tests.page.made_up import demo
from tests.page.served import RUN, with_run
from trued.engine.amendments import ContractChange
from trued.engine.amendments import amend as amend_run
from trued.engine.landing.land import land as land_run
from trued.engine.landing.records import LandingRequest
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import Question
from trued.page.actions import Actions, terminal_line
from trued.page.confirmation import TRIES, Confirmations, ProposedDecision
from trued.proof.hashes import contract_hash


class Typed:
    """A terminal at which somebody has typed these lines, each after something was asked."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()

    def say(self, text: str) -> None:
        self.said.append(text)

    def forget_typed(self) -> None:
        while not self.lines.empty():
            self.lines.get_nowait()

    async def line(self) -> str | None:
        return await self.lines.get()


async def _leaves(proposal: ProposedDecision, state: str) -> None:
    while proposal.state == state:  # noqa: ASYNC110  a proposal has no event: the page asks for its state
        await asyncio.sleep(0)


async def _nobody(question: Question) -> None:
    return None


async def _done() -> str:
    return "recorded"


def _no_bug(error: BaseException) -> None:
    raise error


async def _answered(confirmations: Confirmations, terminal: Typed, *lines: str | None) -> str:
    listening = asyncio.create_task(confirmations.listen())
    proposal = confirmations.propose("Ann Lee accepts look of r-1 at 1324266ff7: it is right", _done, 1)
    for line in lines:
        terminal.lines.put_nowait(proposal.number if line == "the number" else line)
    while proposal.state == "asked":  # noqa: ASYNC110  a proposal has no event: the page asks for its state
        await asyncio.sleep(0)
    listening.cancel()
    return proposal.state


@pytest.mark.spec("PAGE-4")
@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (("the number",), "done"),
        (("x", "y", "the number"), "done"),
        (("x",) * TRIES, "refused"),
        (("",), "refused"),
        ((None,), "refused"),
    ],
)
async def test_only_the_number_of_the_page_finishes_a_decision(lines: tuple[str | None, ...], state: str) -> None:
    terminal = Typed()
    assert await _answered(Confirmations(terminal, lambda: None, _no_bug), terminal, *lines) == state
    assert "Ann Lee accepts look of r-1 at 1324266ff7: it is right" in terminal.said[0]


@pytest.mark.spec("PAGE-4")
async def test_decisions_are_asked_one_at_a_time_and_what_was_typed_before_is_no_answer() -> None:
    terminal = Typed()
    terminal.lines.put_nowait("0000")
    confirmations = Confirmations(terminal, lambda: None, _no_bug)
    confirmations.propose("one", _done, 1)
    assert terminal.lines.empty()
    with pytest.raises(BadInput, match="another decision"):
        confirmations.propose("two", _done, 2)


@pytest.mark.spec("PAGE-4")
async def test_a_bug_in_an_action_is_reported_and_the_terminal_asks_again() -> None:
    async def broken() -> str:
        raise ValueError("a bug")

    terminal, bugs = Typed(), list[BaseException]()
    confirmations = Confirmations(terminal, lambda: None, bugs.append)
    listening = asyncio.create_task(confirmations.listen())
    proposal = confirmations.propose("one", broken, 1)
    terminal.lines.put_nowait(proposal.number)
    while proposal.state == "asked":  # noqa: ASYNC110  a proposal has no event: the page asks for its state
        await asyncio.sleep(0)
    assert (proposal.state, [str(one) for one in bugs]) == ("failed", ["a bug"])
    assert confirmations.propose("two", _done, 2).state == "asked"
    listening.cancel()


@pytest.mark.spec("PAGE-4")
async def test_only_the_session_that_proposed_a_decision_sees_its_number_and_can_withdraw_it() -> None:
    terminal = Typed()
    confirmations = Confirmations(terminal, lambda: None, _no_bug)
    proposal = confirmations.propose("one", _done, 1)
    assert confirmations.pending(1) is proposal
    assert confirmations.pending(2) is None
    with pytest.raises(BadInput, match="no open decision to withdraw"):
        confirmations.withdraw(2)
    with pytest.raises(BadInput, match="withdraw it"):
        confirmations.propose("two", _done, 1)
    confirmations.withdraw(1)
    assert (proposal.state, proposal.said, confirmations.pending(1)) == ("refused", "withdrawn on the page", None)
    assert terminal.said[-1] == "nothing was recorded: withdrawn on the page"


@pytest.mark.spec("PAGE-4")
async def test_what_is_being_recorded_cannot_be_withdrawn() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        begun.set()
        await may_end.wait()
        return "recorded"

    terminal = Typed()
    confirmations = Confirmations(terminal, lambda: None, _no_bug)
    listening = asyncio.create_task(confirmations.listen())
    proposal = confirmations.propose("one", slow, 1)
    terminal.lines.put_nowait(proposal.number)
    await begun.wait()
    with pytest.raises(BadInput, match="no open decision to withdraw"):
        confirmations.withdraw(1)
    may_end.set()
    while proposal.state == "doing":  # noqa: ASYNC110  a proposal has no event: the page asks for its state
        await asyncio.sleep(0)
    assert proposal.state == "done"
    listening.cancel()


@pytest.mark.spec("PAGE-4")
async def test_without_a_terminal_nothing_can_be_proposed() -> None:
    with pytest.raises(BadInput, match="without a terminal"):
        Confirmations(None, lambda: None, _no_bug).propose("one", _done, 1)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    with_run(tmp_path).close()
    return RunStore(tmp_path, {})


def _actions(store: RunStore) -> Actions:
    return Actions(store.home, {}, "Ann Lee")


@pytest.mark.spec("PAGE-4", "PAGE-7")
def test_the_second_answer_to_a_question_is_told_whose_answer_stands(store: RunStore) -> None:
    actions = _actions(store)
    both = [actions.prepare(store, "answer", {"run": RUN, "key": "go on#1", "answer": one}) for one in ("yes", "stop")]
    assert not any(one.needs_confirmation for one in both)
    assert both[0].do(store) == "Ann Lee answered: yes; the run continues when it is resumed"
    with pytest.raises(BadInput, match="Ann Lee has answered go on#1 already: yes"):
        both[1].do(store)
    store.close()


@pytest.mark.spec("PAGE-4")
def test_lowering_a_limit_steers_and_raising_it_is_spoken(store: RunStore) -> None:
    actions = _actions(store)
    first = actions.prepare(store, "limit", {"run": RUN, "limit": "usd=5"})
    assert not first.needs_confirmation
    first.do(store)
    assert not actions.prepare(store, "limit", {"run": RUN, "limit": "usd=2"}).needs_confirmation
    higher = actions.prepare(store, "limit", {"run": RUN, "limit": "usd=9"})
    assert higher.needs_confirmation
    assert higher.words == f"Ann Lee changes the limits of {RUN}: usd: 5 → 9"
    mixed = actions.prepare(store, "limit", {"run": RUN, "limit": ["calls=3", "usd=9"]})
    assert mixed.needs_confirmation
    store.close()


@pytest.mark.spec("PAGE-7")
def test_a_comment_steers_and_is_on_record_as_a_persons_who_used_the_page(store: RunStore) -> None:
    comment = _actions(store).prepare(store, "comment", {"run": RUN, "comment": "mind the tests", "when": "next"})
    assert not comment.needs_confirmation
    comment.do(store)
    (said,) = store.journal.comments(RUN)
    assert (said.text, said.who, said.way) == ("mind the tests", "Ann Lee", "page")
    now = {"run": RUN, "comment": "stop", "when": "now", "call": "dev#1"}
    with pytest.raises(BadInput, match="no call of run"):
        _actions(store).prepare(store, "comment", now).do(store)
    store.close()


@pytest.mark.spec("PAGE-4")
def test_what_changes_the_contract_or_lands_is_spoken_and_says_every_word(store: RunStore) -> None:
    actions = _actions(store)
    amend = actions.prepare(store, "amend", {"run": RUN, "criterion": "all", "who": "Bo", "reason": "it\nis mine"})
    assert amend.needs_confirmation
    assert amend.words == f"Bo amends the contract of {RUN}: it is mine\n    criterion all"
    assert amend.command == ("trued", "amend", RUN, "--criterion", "all", "--as", "Bo", "--reason", "it is mine")
    land = actions.prepare(store, "land", {"run": RUN, "agree": "abc"})
    assert land.needs_confirmation
    assert land.command == ("trued", "land", RUN, "--agree", "abc")
    store.close()


@pytest.mark.spec("PAGE-4")
@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("approve", {"run": RUN, "reason": "x"}, "no contract"),
        ("approve", {"run": "r-a", "reason": "x"}, "no run"),
        ("approve", {"run": RUN}, "reason is missing"),
        ("approve", {"run": RUN, "reason": "x" * 600}, "longer than"),
        ("answer", {"run": RUN, "key": "go on#1"}, "answer is missing"),
        ("answer", {"run": RUN, "key": "go on#1", "answer": ["yes"]}, "answer is not text"),
        ("limit", {"run": RUN, "limit": [{}]}, "not a list of texts"),
        ("run", {"run": RUN}, "no action 'run'"),
        ("land", {}, "run is missing"),
    ],
)
def test_a_form_that_says_too_little_or_nonsense_is_refused_in_one_sentence(
    store: RunStore, name: str, given: dict[str, object], why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        _actions(store).prepare(store, name, given)
    store.close()


@pytest.mark.spec("PAGE-4")
@pytest.mark.parametrize(
    "blank", ["\u2800", "\u3164", "\u034f", "\u115f", "\uffa0", "\u200d", "\u3000", "\n", "e" + "\u0301" * 9]
)
def test_nothing_that_is_not_seen_pushes_words_away_or_makes_a_line(store: RunStore, blank: str) -> None:
    shown = terminal_line(f"Ann{blank * 300}Lee")
    assert terminal_line("Zoë Müller-Łuk, 李 👍: fine?") == "Zoë Müller-Łuk, 李 👍: fine?"
    assert shown in ("Ann Lee", "AnnLee") or blank.startswith("e")
    assert blank.startswith("e") or terminal_line(blank * 9) == ""
    forged = f"nothing{blank * 40}The page asks you to record, at 14:10:00:{blank}Ann Lee lands r-1"
    with pytest.raises(BadInput, match="criterion must be one line"):
        _actions(store).prepare(store, "amend", {"run": RUN, "criterion": [forged], "reason": "x"})
    if not blank.startswith("e"):
        with pytest.raises(BadInput, match="reason is missing"):
            _actions(store).prepare(store, "amend", {"run": RUN, "criterion": "all", "reason": blank * 20})
    store.close()


@pytest.mark.spec("PAGE-4")
async def test_what_is_higher_than_the_terminal_is_not_asked() -> None:
    terminal = Typed()
    for words in ("\n".join(["Ann accepts one"] * 21), "x" * 80 * 21):
        with pytest.raises(BadInput, match="more than 20 rows"):
            Confirmations(terminal, lambda: None, _no_bug).propose(words, _done, 1)
    assert terminal.said == []


@pytest.mark.spec("PAGE-4")
async def test_what_was_confirmed_in_time_is_not_too_late_while_it_is_done() -> None:
    go_on = asyncio.Event()

    async def slow() -> str:
        await go_on.wait()
        return "recorded"

    terminal = Typed()
    confirmations = Confirmations(terminal, lambda: None, _no_bug, within_s=0.05)
    listening = asyncio.create_task(confirmations.listen())
    proposal = confirmations.propose("one", slow, 1)
    terminal.lines.put_nowait(proposal.number)
    await _leaves(proposal, "asked")
    expired = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, expired.set)
    await expired.wait()
    assert (proposal.state, proposal.said) == ("doing", "")
    with pytest.raises(BadInput, match="another decision"):
        confirmations.propose("two", _done, 1)
    go_on.set()
    await _leaves(proposal, "doing")
    assert (proposal.state, proposal.said) == ("done", "recorded")
    late = confirmations.propose("three", _done, 1)
    await _leaves(late, "asked")
    assert late.state == "too late"
    listening.cancel()


@pytest.mark.spec("PAGE-4")
async def test_nothing_but_what_the_terminal_showed_is_landed_or_amended(tmp_path: Path) -> None:
    demo(tmp_path, state="done")
    with RunStore(tmp_path, {}) as store:
        actions, run = _actions(store), store.journal.run("r-demo")
        contract = store.contract("r-demo")
        assert contract
        land = actions.prepare(store, "land", {"run": "r-demo"})
        change = {"run": "r-demo", "remove": ["slug"], "reason": "x"}
        amend = actions.prepare(store, "amend", change)
        assert land.command == ("trued", "land", "r-demo", "--commit", run.head)
        assert amend.command[5:7] == ("--contract", contract_hash(contract))
        with sqlite3.connect(tmp_path / "journal.db") as db:
            other = contract.model_copy(update={"requirements": contract.requirements[::-1]})
            db.execute("update run set head = 'bad0bad0bad0'")
            db.execute("update step set value = ? where key = 'seal#1'", (other.model_dump_json(),))
        db.close()
        for one in (land, amend):
            with pytest.raises(BadInput, match="moved on since you were asked"):
                one.do(store)
        with pytest.raises(BadInput, match="is at bad0bad0bad0, not at"):  # and if it moves after that
            await land_run(store, "r-demo", LandingRequest(commit=run.head), _nobody)
        changed = ContractChange(remove=("slug",), who="Ann Lee", why="x")
        with pytest.raises(BadInput, match="has the contract"):
            await amend_run(store, "r-demo", changed, contract_hash(contract))


@pytest.mark.spec("PAGE-4")
def test_an_answer_that_gives_up_proof_is_spoken(store: RunStore) -> None:
    answer = {"run": RUN, "key": "go on", "comment": "fine\n\nThe page asks you"}
    given_up = _actions(store).prepare(store, "answer", {**answer, "answer": " without "})
    assert given_up.needs_confirmation
    assert given_up.words == f"Ann Lee answers go on of {RUN}: without (fine The page asks you)"
    assert not _actions(store).prepare(store, "answer", {**answer, "answer": "again"}).needs_confirmation
    store.close()
