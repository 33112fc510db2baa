"""What fuzzing found once, kept as plain tests."""

from typing import Any

import pytest

from tests.fuzz.reports import CANARY, ONE, TOKEN, TWO, WORDS, kept, session
from tests.fuzz.rooms import lines, place, said
from trued.model import Evidence, Outcomes, Tried
from trued.proof.room.bench import channel_records
from trued.proof.runners.counting import CountedRun, counted_fact
from trued.proof.verdict.case_status import Head, on_head


def judged(told: list[Any]) -> Evidence:
    ran = said(lines(TOKEN, told), exit_code=1)
    found, _ = channel_records(ran.answers, TOKEN)
    return kept(counted_fact(place()[1], ran, CountedRun.of(found, CANARY), WORDS))


def head(name: str, evidence: Evidence) -> Head:
    return on_head(name, [evidence, evidence])[0]


def test_an_honest_session_passes() -> None:
    assert head(ONE, judged(session("passed"))) is Head.PASSED
    assert head(TWO, judged(session("passed"))) is Head.PASSED


@pytest.mark.spec("LAW-6")
def test_a_record_about_everything_stands_for_no_test_that_vanished() -> None:
    told = [one for one in session("passed") if one.get("id") != TWO]
    assert head(TWO, judged(told)) is Head.FAILED
    whole = {"id": "*", "when": "call", "outcome": "passed", "seconds": 0.1, "text": ""}
    assert head(TWO, judged([whole, *told])) is Head.FAILED
    fact = judged(told)
    general = fact.model_copy(update={"tried": (*fact.tried, Tried(id="*", outcome=Outcomes.PASSED))})
    assert head(TWO, general) is Head.FAILED


@pytest.mark.spec("LAW-6")
def test_a_copy_that_was_begun_and_not_reported_as_failed_voids_the_run() -> None:
    told = [one for one in session("passed") if not (one.get("copy") and one["when"] == "call")]
    told = [{"copying": []} if "copying" in one else one for one in told]
    assert head(ONE, judged(told)) is Head.FAILED


@pytest.mark.parametrize(
    "record",
    [
        {"id": ONE},
        {"id": ONE, "when": "call", "outcome": ["passed"]},
        {"id": ONE, "when": "call", "outcome": "passed", "text": "\ud800"},
        {"id": {"a": 1}, "when": "call", "outcome": "passed"},
        {"ended": [1]},
        {"ended": True},
        {"left_out": 1},
        {"ran": None},
        {"versions": []},
        {"copying": "x"},
        {"note": 5},
        {"collect": "x"},
    ],
)
@pytest.mark.spec("LAW-2")
def test_a_record_that_the_engines_plugin_would_not_write_voids_the_run_and_breaks_nothing(record: Any) -> None:
    found = judged([*session("passed"), record])
    assert found.why_void
    assert head(ONE, found) is Head.FAILED


@pytest.mark.parametrize("seconds", [float("nan"), 10**400, -1e9])
@pytest.mark.spec("LAW-2")
def test_a_duration_is_only_a_figure_whatever_a_frozen_clock_makes_of_it(seconds: float) -> None:
    records = [{**record, "seconds": seconds} if "seconds" in record else record for record in session("passed")]
    found = judged(records)
    assert not found.why_void
    assert head(ONE, found) is Head.PASSED
