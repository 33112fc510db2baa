"""Whether a decision is accepted and how long it applies, in a journal and a store that the test fills."""

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.engine.ended_run import RUN, Place, ended_run
from trued.engine.approvals import Decision, decide
from trued.engine.journals.sqlite import SqliteJournal
from trued.engine.pending import waits
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import Approval, Grade, ProcessedDecisions
from trued.proof.receipts.receipt import encode_receipt, parse_receipt
from trued.proof.receipts.statement import ReceiptSurroundings, statement
from trued.run.approvals import ChangesSince, current_decisions


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ended_run(tmp_path) as found:
        yield found


@pytest.mark.spec("USE-7", "RUN-8", "LAW-8")
@pytest.mark.parametrize(
    ("requirement", "who", "why", "said"),
    [
        ("nothing", "ann", "fine", "has no requirement 'nothing' (it has look, fast, wrong, unseen)"),
        ("unseen", "ann", "fine", "has not judged unseen yet"),
        ("wrong", "ann", "fine", "wrong is refuted by a check"),
        ("fast", "ann", "fine", "fast is proven already"),
        ("look", "ann", " ", "a decision needs a reason (--reason TEXT)"),
        ("look", " ", "fine", "a decision needs a name (--as NAME)"),
    ],
)
def test_what_cannot_be_said_is_refused_in_one_sentence(
    place: Place, requirement: str, who: str, why: str, said: str
) -> None:
    with pytest.raises(BadInput) as refused:
        decide(place.engine.store, RUN, [requirement], Decision(who=who, why=why))
    assert said in str(refused.value)
    assert place.engine.store.journal.approvals(RUN) == []


@pytest.mark.spec("RUN-8")
def test_the_first_word_stands_and_the_second_person_is_told_whose_it_is(place: Place) -> None:
    decide(place.engine.store, RUN, ["look"], Decision(who="ann", why="fine"))
    with RunStore(place.engine.store.home, {}) as bob, pytest.raises(BadInput) as refused:
        decide(bob, RUN, ["look"], Decision(who="bob", why="ugly", rejected=True))
    assert f"ann has accepted look already at {place.commits[0][:10]}: fine (--instead replaces that decision)" in str(
        refused.value
    )
    given = Approval(requirement="look", who="bob", why="ugly", commit=place.commits[0], asked="x", rejected=True)
    first, second = (SqliteJournal(place.engine.store.home / "journal.db") for _ in "ab")
    with closing(first), closing(second):
        assert [first.approve("r-two", given), second.approve("r-two", given)] == [True, False]
    decide(place.engine.store, RUN, ["look"], Decision(who="bob", why="ugly", instead=True, rejected=True))
    assert place.look().why[0] == "rejected by bob: ugly"
    assert [one.who for one in place.engine.store.journal.approvals(RUN)] == ["ann", "bob"]


@pytest.mark.spec("RUN-8")
def test_a_decision_on_several_requirements_that_is_broken_off_is_not_recorded_by_half(place: Place) -> None:
    def broken_off(*_: object) -> None:
        raise KeyboardInterrupt

    store = place.engine.store
    store.listen = broken_off
    with suppress(KeyboardInterrupt):
        decide(store, RUN, ["look", "fast"], Decision(who="ann", why="no", rejected=True))
    assert len(store.journal.approvals(RUN)) == len(
        [one for one in store.journal.events(RUN) if one.kind == "rejected"]
    )
    assert [one.requirement for one in store.journal.approvals(RUN)] in ([], ["look", "fast"])


@pytest.mark.spec("PAGE-4")
def test_a_decision_says_by_which_way_it_came(place: Place) -> None:
    store = place.engine.store
    decide(store, RUN, ["look"], Decision(who="ann", why="fine"))
    decide(store, RUN, ["look"], Decision(who="bob", why="ugly", rejected=True, instead=True, way="page"))
    assert [(one.way, one.came_by) for one in store.journal.approvals(RUN)] == [
        ("command", "by command"),
        ("page", "on the page"),
    ]
    assert [one.data.get("way") for one in store.journal.events(RUN) if one.kind in ("approved", "rejected")] == [
        "command",
        "page",
    ]
    old = Approval(requirement="look", who="cy", why="fine")  # as an earlier version stored it
    assert (old.came_by, "way" in old.model_dump()) == ("", False)


@pytest.mark.spec("LAW-9", "LAW-8")
def test_a_word_stands_for_the_same_work_and_is_needed_again_when_it_changed(place: Place) -> None:
    decide(place.engine.store, RUN, ["look"], Decision(who="ann", why="fine"))
    assert (place.look().grade, place.look().why[0]) == (Grade.ATTESTED, "accepted by ann: fine")
    place.finish(2, place.commits[1], owned=("MEMORY.md",))
    assert place.look().grade is Grade.ATTESTED  # only the engine's own file changed
    place.finish(3, place.commits[3], owned=("MEMORY.md",))
    look = place.look()
    assert (look.grade, look.lacks) == (Grade.UNPROVEN, "attest")
    seen = place.commits[0][:10]
    assert look.why[1] == f"attested at {seen} by ann: fine, 3 commits earlier; changed since: a.py, b.py"
    assert [one.kind for one in waits(place.engine.store, place.record())] == ["judge"]
    decide(place.engine.store, RUN, ["look"], Decision(who="bob", why="still fine"))
    assert place.look().why[0] == "accepted by bob: still fine"


@pytest.mark.spec("LAW-9", "RUN-8")
def test_a_rejection_stands_until_it_was_heard_and_something_was_done(place: Place) -> None:
    record = decide(place.engine.store, RUN, ["look"], Decision(who="ann", why="ugly", rejected=True))
    assert (record.state, record.code) == ("waiting", 3)
    assert [one.who for one in place.engine.store.unprocessed_approvals(RUN)] == ["ann"]
    place.finish(2, place.commits[2])  # the work changed meanwhile
    assert place.look().grade is Grade.REFUTED
    assert place.look().gaps[0].what == "ann rejected look: ugly"
    (word,) = place.engine.store.journal.approvals(RUN)
    place.step("decided#1", ProcessedDecisions(head=place.commits[2], words=(word,)).model_dump_json())
    assert place.engine.store.unprocessed_approvals(RUN) == []
    assert place.look().grade is Grade.REFUTED  # taken up, but nothing was changed
    place.finish(3, place.commits[3])
    assert (place.look().grade, place.look().lacks) == (Grade.UNPROVEN, "attest")
    assert "ugly, and it has been worked on since" in place.look().why[1]


@pytest.mark.spec("LAW-3", "LAW-9")
def test_a_word_on_a_requirement_that_was_amended_is_a_word_on_another_one() -> None:
    word = Approval(requirement="look", who="ann", why="fine", commit="c", asked="before")
    (kept,) = current_decisions([word], {"look": "c"}, {}, lambda *_: ChangesSince(), {"look": "after"})
    assert kept.stale == "attested at c by ann: fine, the requirement has changed since"
    (gone,) = current_decisions([word], {"look": "d"}, {}, lambda *_: ChangesSince(known=False), {"look": "before"})
    assert "that commit cannot be found any more" in gone.stale


@pytest.mark.spec("RUN-8")
def test_words_from_before_commits_were_kept_still_stand_and_are_written_as_they_were(tmp_path: Path) -> None:
    old = Approval(requirement="look", who="ann", why="fine", at=1.0, contract="c")
    assert old.model_dump(mode="json") == {
        "requirement": "look",
        "who": "ann",
        "why": "fine",
        "at": 1.0,
        "contract": "c",
    }
    (kept,) = current_decisions([old], {"look": "c"}, {}, lambda *_: ChangesSince(("a.py",)), {"look": "x"})
    assert kept.stale == ""


@pytest.mark.spec("LAW-8", "LAW-10")
def test_a_receipt_carries_name_reason_and_commit_and_says_what_does_not_count_any_more(place: Place) -> None:
    decide(place.engine.store, RUN, ["look"], Decision(who="ann", why="fine"))
    place.finish(2, place.commits[1], owned=("MEMORY.md",))
    assert rests_on(place) == f"accepted by ann: fine/{place.commits[0]}"
    place.finish(3, place.commits[3], owned=("MEMORY.md",))
    assert rests_on(place).startswith("an approval that no longer applies: attested at ")


def rests_on(place: Place) -> str:
    """What `look` rests on, and the approval's commit, as a receipt states them."""
    contract, verdict = place.engine.store.contract(RUN), place.engine.store.verdict(RUN)
    assert contract
    assert verdict
    stated = statement(contract, verdict, ReceiptSurroundings(approvals=tuple(place.engine.store.approvals(RUN))))
    account = parse_receipt(encode_receipt(stated)).statement.predicate.trued
    return f"{account.requirements[0].rests_on[-1]}/{account.words[0].commit}"


@pytest.mark.spec("RUN-8")
def test_all_waits_are_in_one_list_with_a_command_for_each(place: Place) -> None:
    journal = place.engine.store.journal.of(RUN)
    journal.question("chunk 1A/confirm#1", "Go on?", ["yes", "stop", "redo"])
    journal.question("chunk 1A/purple-team-a#1?1", "by adding or by shifting?", [])
    found = waits(place.engine.store, place.record())
    assert [(one.kind, one.command) for one in found] == [
        ("go on", f"trued answer {RUN} --question 'chunk 1A/confirm#1' yes|stop|redo"),
        ("answer", f"trued answer {RUN} --question 'chunk 1A/purple-team-a#1?1' 'your own words'"),
        ("judge", f"trued approve {RUN} look --as NAME --reason TEXT"),
    ]
    assert [one.question for one in found] == ["chunk 1A/confirm#1", "chunk 1A/purple-team-a#1?1", ""]
    assert all(one.since > 0 for one in found)
    with RunStore(place.engine.store.home, {}) as restarted:
        assert waits(restarted, restarted.journal.run(RUN)) == found


@pytest.mark.spec("LAW-9")
def test_a_contract_cannot_be_rejected(place: Place) -> None:
    store = place.engine.store
    with pytest.raises(BadInput, match="cannot be rejected"):
        decide(store, RUN, [None], Decision(who="ann", why="no", rejected=True))
    with pytest.raises(BadInput, match="cannot be rejected"):
        decide(store, RUN, ["look", None], Decision(who="ann", why="no", rejected=True))
    assert store.journal.approvals(RUN) == []
