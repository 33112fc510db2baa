"""Whether the agent may stop: a table of decisions, and all kinds of hook inputs."""

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gate.yard import SECRET
from trued.errors import BadInput
from trued.gate.claude_stop import EVENTS, decide, parse_hook_call
from trued.gate.judge import JudgedTree
from trued.gate.state import Gate, StopHistory
from trued.model import Contract, Finding, Grade, Judged, MissingFromEnvironment, Requirement, Verdict
from trued.proof.verdict.conclusion import conclude

GATE = Gate(repository="r", root="r", base="b", attempts=3)


CONTRACT = Contract(base="b", requirements=(Requirement(id="slug", text="the words"),))


def found(
    grade: Grade,
    *,
    tree: str = "t1",
    gap: str = "slug: it fails",
    lacks: str = "",
    accept: Grade = GATE.accept,
) -> JudgedTree:
    gaps = (Finding(what=gap, where="the words"),) if gap and grade is Grade.REFUTED else ()
    one = Judged(id="slug", text="the words", grade=grade, why=("because",), gaps=gaps, holds=bool(lacks), lacks=lacks)
    verdict = Verdict(subject="x", commit="c", tree=tree, requirements=(one,))
    return JudgedTree(verdict, conclude(verdict, CONTRACT, accept), tree, "c")


GREEN, RED, WAITING = found(Grade.PROVEN), found(Grade.REFUTED), found(Grade.TESTED, lacks="attest")


@pytest.mark.spec("USE-5")
def test_blocked_while_it_is_red_and_let_go_when_it_is_green() -> None:
    first = decide(GATE, RED, StopHistory(), active=False)
    assert first.answer()["decision"] == "block"
    assert "slug: it fails" in first.blocked
    assert decide(GATE, GREEN, first.session, active=True).answer() == {}


def test_after_the_last_attempt_it_is_let_go_and_loudly_not_proven() -> None:
    session = StopHistory()
    for number in range(1, GATE.attempts + 1):
        decision = decide(GATE, RED, session, active=number > 1)
        assert f"stop {number} of 3" in decision.blocked
        session = decision.session
    last = decide(GATE, RED, session, active=True)
    assert not last.blocked
    assert "NOT PROVEN" in last.answer()["systemMessage"]
    assert "slug: it fails" in last.message


def test_nobody_is_ever_blocked_for_ever() -> None:
    """At most three blocks in a row, whatever the flags say and whatever the agent does to its files."""
    for flags in itertools.product((False, True), repeat=9):
        for trees in (["t1"] * 9, ["t1", "t2"] * 5):
            session, row = StopHistory(), 0
            for active, tree in zip(flags, trees, strict=False):
                decision = decide(GATE, found(Grade.REFUTED, tree=tree), session, active=active)
                row = row + 1 if decision.blocked else 0
                session = decision.session
                assert row <= GATE.attempts


def test_once_let_go_it_stays_so_until_there_is_a_new_turn_with_new_work() -> None:
    given_up = StopHistory(blocks=3, tree="t1", given_up=True)
    assert not decide(GATE, RED, given_up, active=False).blocked
    assert not decide(GATE, found(Grade.REFUTED, tree="t2"), given_up, active=True).blocked
    anew = decide(GATE, found(Grade.REFUTED, tree="t2"), given_up, active=False)
    assert "stop 1 of 3" in anew.blocked


def test_what_only_a_person_can_add_blocks_no_agent() -> None:
    decision = decide(GATE, WAITING, StopHistory(), active=False)
    assert not decision.blocked
    assert "only your approval is missing for slug" in decision.message


def test_what_could_not_be_judged_is_no_pass() -> None:
    assert decide(GATE, found(Grade.UNJUDGED), StopHistory(), active=False).blocked


def test_what_this_machine_lacked_from_the_beginning_blocks_no_agent() -> None:
    part = MissingFromEnvironment(name="go", what="the program go is not installed", fix="install go")
    unjudged = found(Grade.UNJUDGED)
    judged = unjudged.verdict.requirements[0].model_copy(update={"missing": (part,)})
    verdict = unjudged.verdict.model_copy(update={"requirements": (judged,)})
    for known in (False, True):
        tree = replace(unjudged, verdict=verdict, outcome=conclude(verdict, CONTRACT), lacks_machine=known)
        decision = decide(GATE, tree, StopHistory(), active=False)
        assert bool(decision.blocked) != known
        assert ("the program go is not installed" in decision.message) == known


@pytest.mark.parametrize("grade", list(Grade))
@pytest.mark.parametrize("accept", [Grade.TESTED, Grade.EXAMINED, Grade.ATTESTED, Grade.PROVEN])
def test_silence_means_that_the_bar_is_reached(grade: Grade, accept: Grade) -> None:
    gate = GATE.model_copy(update={"accept": accept})
    decision = decide(gate, found(grade, accept=accept), StopHistory(), active=False)
    reached = grade.rank >= accept.rank
    assert bool(decision.blocked) != reached
    if reached and accept.rank < Grade.ATTESTED.rank:
        assert f"--accept {accept}" in decision.message


def test_many_and_long_reasons_are_cut() -> None:
    gaps = tuple(Finding(what=f"slug: case {n} " + "x" * 5000) for n in range(50))
    one = RED.verdict.requirements[0].model_copy(update={"gaps": gaps})
    verdict = RED.verdict.model_copy(update={"requirements": (one,)})
    many = JudgedTree(verdict, conclude(verdict, CONTRACT), "t", "c")
    reason = decide(GATE, many, StopHistory(), active=False).blocked
    assert len(reason) < 5000
    assert "and 42 more" in reason
    assert SECRET not in reason


# -- questions ---------------------------------------------------------------------------------------------------------


def question(**more: Any) -> bytes:
    base = {"session_id": "s", "hook_event_name": "Stop", "stop_hook_active": True, "cwd": "/x"}
    return json.dumps({**base, **more}).encode()


def test_a_question_is_read() -> None:
    read = parse_hook_call(question())
    assert (read.event, read.session, read.active, read.folder) == ("Stop", "s", True, "/x")


def test_each_subagent_has_a_count_of_its_own() -> None:
    names = {parse_hook_call(question(hook_event_name="SubagentStop", agent_id=one)).session for one in ("a", "b")}
    assert len({*names, parse_hook_call(question()).session}) == 3


@pytest.mark.parametrize("odd", ["yes", 1, None, [], {}])
def test_only_true_means_that_it_goes_on_already(odd: object) -> None:
    assert parse_hook_call(question(stop_hook_active=odd)).active is False


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        question(hook_event_name="PreToolUse"),
        question(session_id=""),
    ],
)
def test_a_malformed_question_is_one_sentence(data: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        parse_hook_call(data)
    assert "\n" not in str(caught.value)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
keys = st.sampled_from(["session_id", "hook_event_name", "cwd", "stop_hook_active", "agent_id", "transcript_path"])


@given(
    st.binary(max_size=200)
    | st.dictionaries(
        keys, scalars | st.sampled_from(EVENTS) | st.lists(scalars, max_size=2) | st.dictionaries(keys, scalars)
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_question_breaks_the_gate(data: bytes) -> None:
    try:
        read = parse_hook_call(data)
    except BadInput:
        return
    assert read.event in EVENTS
    assert read.session
