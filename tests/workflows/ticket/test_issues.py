"""Issues compared from round to round, and claims compared with git."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.model import Evidence, Finding, Grade, Judged, Outcomes, Shot, Tried, Verdict
from trued.workflows.ticket.issues import (
    ENGINE,
    Beyond,
    Issue,
    compare_issues,
    failed_checks,
    files_beyond,
)

POINTS = Issue(
    description="Points are not shown on product cards",
    location="/",
    expected='"Earn 40 points"',
    actual='"+ loyalty points"',
)
ISSUES = st.builds(
    Issue,
    description=st.text(min_size=1, max_size=30),
    location=st.sampled_from(["", "/", "/cart"]),
    expected=st.text(max_size=10),
    by=st.sampled_from(["", ENGINE]),
)


@pytest.mark.spec("TIC-8")
def test_an_issue_in_other_words_is_still_there() -> None:
    again = POINTS.model_copy(update={"description": "Still no points on the cards", "actual": '"+ points"'})
    reworded = POINTS.model_copy(update={"description": "Points are not shown on the product cards", "expected": ""})
    assert compare_issues([POINTS], [again]).still == (again,)
    assert compare_issues([POINTS.model_copy(update={"expected": ""})], [reworded]).still == (reworded,)


@pytest.mark.spec("TIC-8")
def test_what_nobody_repeats_is_fixed_and_what_nobody_said_is_new() -> None:
    cart = Issue(description="The cart shows no total", location="/cart", expected="Total: 12")
    found = compare_issues([POINTS], [cart])
    assert (found.fixed, found.still, found.new) == ((POINTS,), (), (cart,))
    assert found.sentence == "1 fixed, 0 still there, 1 new"
    assert not found.same
    assert compare_issues([POINTS, cart], [cart, POINTS]).same


@given(st.lists(ISSUES, max_size=6), st.lists(ISSUES, max_size=6))
def test_every_issue_has_one_fate(before: list[Issue], now: list[Issue]) -> None:
    found = compare_issues(before, now)
    assert len(found.still) + len(found.new) == len(now)
    assert len(found.still) + len(found.fixed) == len(before)


@given(st.lists(ISSUES, max_size=6))
def test_a_round_like_the_last_is_the_same(issues: list[Issue]) -> None:
    found = compare_issues(issues, issues)
    assert (found.fixed, found.new) == ((), ())
    assert found.same is bool(issues)


def verdict(*, held_out: bool) -> Verdict:
    sentence = 'expected to see "Earn 40 points" on /; it shows "Mug 4.00"'
    tried = Tried(id='sees "Earn 40 points"', outcome=Outcomes.FAILED, kind="sees", detail=sentence)
    what = (
        "points: a held-out example fails: the page does not show what it must"
        if held_out
        else f"points: {tried.detail}"
    )
    evidence = Evidence(
        id="e",
        requirement="points",
        check="c",
        kind="browser",
        side="head",
        commit="1",
        tree="2",
        isolation="none",
        tried=(tried,),
        artifacts={"screenshot.png": "abc"},
        pictures=(Shot(name="screenshot.png", sha256="abc", page="/"),),
        held_out=held_out,
    )
    gap = Finding(what=what, where="the clause", requirement="points")
    judged = Judged(id="points", text="…", grade=Grade.REFUTED, why=("x",), gaps=(gap,), holds=False)
    return Verdict(subject="plan", commit="1", requirements=(judged,), evidence=(evidence,))


@pytest.mark.spec("TIC-8", "TIC-6")
def test_a_page_that_fails_is_an_issue_with_expected_actual_and_the_engines_picture() -> None:
    (issue,) = failed_checks(verdict(held_out=False))
    assert (issue.expected, issue.actual) == ('see "Earn 40 points" on /', 'it shows "Mug 4.00"')
    assert (issue.screenshot, issue.requirement, issue.by) == ("abc", "points", ENGINE)
    assert issue.description == 'points: sees "Earn 40 points" on /'


@pytest.mark.spec("TIC-8", "LAW-7")
def test_of_a_held_out_case_an_issue_tells_no_more_than_an_implementer_may_know() -> None:
    (issue,) = failed_checks(verdict(held_out=True))
    assert "Mug" not in issue.model_dump_json()
    assert "40" not in issue.model_dump_json()
    assert (issue.description, issue.location) == (
        "points: a held-out example fails: the page does not show what it must",
        "the clause",
    )


@pytest.mark.spec("TIC-8", "LAW-7")
def test_no_issue_has_what_a_page_showed_after_held_out_cases_ran() -> None:
    found = verdict(held_out=False)
    tainted = [one.model_copy(update={"tainted": True}) for one in found.evidence]
    (issue,) = failed_checks(found.model_copy(update={"evidence": tuple(tainted)}))
    assert (issue.screenshot, issue.actual) == ("", "")
    clean = found.evidence[0].model_copy(update={"id": "f"})
    (issue,) = failed_checks(found.model_copy(update={"evidence": (*tainted, clean)}))
    assert issue.screenshot == "abc"


@pytest.mark.spec("TIC-7")
def test_what_a_fix_touched_beyond_the_named_files_is_listed_with_and_without_a_reason() -> None:
    said = [Beyond(path="said.py", why="it is imported"), Beyond(path="untouched.py", why="it might have been")]
    beyond = files_beyond(["named.py", "said.py", "unsaid.py"], ["named.py"], said)
    assert [(one.path, one.why) for one in beyond] == [("said.py", "it is imported"), ("unsaid.py", "")]


@pytest.mark.spec("DAY-3")
def test_what_must_not_be_seen_is_said_once() -> None:
    sentence = 'expected not to see "Error" on /; it is there'
    expected, _, actual = sentence.partition("; ")
    one = Issue(description="page", expected=expected.removeprefix("expected to "), actual=actual)
    assert one.finding.what == 'page: expected not to see "Error" on /, actual it is there'
