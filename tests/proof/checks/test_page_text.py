"""Sentences about a page quote the text that is nearest to the expected one, not the whole page."""

import pytest

from trued.model import BrowserCheck, Evidence, Grade, Outcomes, Requirement, Shot, TestsCheck, Tried
from trued.proof.checks import browser
from trued.proof.checks import page_text as seeing
from trued.proof.hashes import check_hash
from trued.proof.room.held_out import is_hidden_data
from trued.proof.screenshots import evidence_pictures
from trued.proof.verdict.failed_cases import gap
from trued.proof.verdict.judge import Facts, judge

PAGE = ("Shop", "Sneaker", "79,90 €", "+ loyalty points", "Add to cart", "Imprint and terms")
CHECK = BrowserCheck(page="/collection", sees=("Earn 40 points",), hides=("+ loyalty points",))
RECORD = {
    **{"status": 200, "url": "http://localhost:4711/collection", "errors": [], "tree": '- button "Add to cart"'},
    **{"shown": "\n".join(PAGE), "meant": "\n".join(PAGE), "added": ""},
}


def tried(check: BrowserCheck = CHECK, **changes: object) -> list[Tried]:
    return list(browser.judge_page(check, {**RECORD, **changes}, "http://localhost:4711"))


@pytest.mark.spec("TIC-6")
def test_expected_and_actual_text_are_one_sentence() -> None:
    sees, hides = tried()
    assert sees.detail == 'expected to see "Earn 40 points" on /collection; it shows "+ loyalty points"'
    assert hides.detail == 'expected not to see "+ loyalty points" on /collection; it is there'
    found = gap(Requirement(id="points", text="shows points"), CHECK, sees.id, sees, held_out=False)
    assert found.what == f"points: {sees.detail}"


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("Earn 40 points", "+ loyalty points"),
        ("Add to basket", "Add to cart"),
        ("89,90 €", "79,90 €"),
        ("Zebra crossing ahead", ""),
    ],
)
def test_the_nearest_text_is_the_one_that_a_person_would_point_at(wanted: str, near: str) -> None:
    assert seeing.nearest_text(wanted, PAGE) == near


def test_of_a_long_text_only_the_part_is_quoted_and_of_an_empty_page_that_it_is_empty() -> None:
    long = " ".join(["word"] * 3000 + ["Earn", "30", "points"] + ["word"] * 3000)
    said = seeing.expected_to_see("Earn 40 points", "/", [long])
    assert "Earn 30 points" in said
    assert len(said) < 300
    assert seeing.expected_to_see("A", "/", []).endswith("the page shows no text at all")
    assert 'nothing similar, and begins with "Shop' in seeing.expected_to_see("Zebra crossing", "/", PAGE)


@pytest.mark.spec("TIC-6", "LAW-2")
@pytest.mark.parametrize(
    ("record", "outcome", "kind", "sentence"),
    [
        (
            {"failed": "Page.goto: Timeout 20000ms exceeded."},
            *(Outcomes.FAILED, "time", "/collection did not finish loading within 20 s"),
        ),
        (
            {"failed": "net::ERR_EMPTY_RESPONSE at http://localhost:4711/"},
            *(Outcomes.FAILED, "page", "/collection could not be opened: net::ERR_EMPTY_RESPONSE"),
        ),
        (
            {**RECORD, "status": 500, "shown": "Internal Server Error"},
            *(Outcomes.FAILED, "page", '/collection answers 500 and shows "Internal Server Error"'),
        ),
        ({**RECORD, "status": 404, "shown": "", "meant": ""}, Outcomes.MISSING, "missing", "/collection answers 404"),
        (
            {**RECORD, "shown": "", "meant": "", "errors": ["error: TypeError: x is not a function"]},
            *(Outcomes.FAILED, "sees", 'shows no text at all; it reports "error: TypeError: x is not a function"'),
        ),
        ({"unable": "Error: no such browser"}, Outcomes.UNJUDGED, "environment", "no such browser"),
    ],
)
def test_a_page_that_does_not_come_says_so_in_one_sentence(
    record: dict[str, object], outcome: Outcomes, kind: str, sentence: str
) -> None:
    first = next(iter(browser.judge_page(CHECK, dict(record), "http://localhost:4711")))
    assert (first.outcome, first.kind) == (outcome, kind)
    assert sentence in first.detail
    assert "\n" not in first.detail


def fact(side: str, outcome: Outcomes, turn: int, check: BrowserCheck) -> Evidence:
    shot = Shot(name="screenshot.png", sha256=f"{side[0]}{turn}", page=check.page, viewport="1280x800")
    cases = [one for one, _, _ in browser.expectations(check)]
    detail = "" if outcome is Outcomes.PASSED else "expected one thing; it shows another"
    return Evidence.model_validate(
        {
            **{"id": f"{side}{turn}", "requirement": "points", "check": check_hash(check), "kind": "browser"},
            **{"side": side, "turn": turn, "commit": side, "tree": "t", "isolation": "bubblewrap"},
            "tried": [Tried(id=one, outcome=outcome, kind="sees", detail=detail) for one in cases],
            "pictures": (shot,),
        }
    )


@pytest.mark.spec("LAW-7", "LAW-8", "TIC-6")
@pytest.mark.parametrize("visible", [True, False])
def test_a_page_of_the_tickets_own_words_is_told_and_shows_no_more_than_tested(visible: bool) -> None:
    check = CHECK.model_copy(update={"visible": visible})
    asked = Requirement(id="points", text="shows points", checks=(check,))
    red = [fact("base", Outcomes.FAILED, turn, check) for turn in (1, 2, 3)]
    green = [fact("head", Outcomes.PASSED, turn, check) for turn in (1, 2)]
    assert is_hidden_data(check) is not visible
    judged = judge(asked, Facts(base=red, head=green, held_out=True))
    assert judged.grade is (Grade.TESTED if visible else Grade.PROVEN)
    failed = [fact("head", Outcomes.FAILED, turn, check) for turn in (1, 2)]
    gaps = judge(asked, Facts(base=red, head=failed, held_out=True)).gaps
    told = {one.what for one in gaps}
    assert ("points: /collection" in min(told) or "it shows another" in min(told)) is visible
    assert any("a held-out example fails" in one for one in told) is not visible


@pytest.mark.spec("TIC-6")
def test_pictures_are_one_of_each_side_and_the_worst_of_all_times() -> None:
    red = [fact("base", Outcomes.FAILED, turn, CHECK) for turn in (1, 2, 3)]
    mixed = [fact("head", Outcomes.PASSED, 1, CHECK), fact("head", Outcomes.FAILED, 2, CHECK)]
    before, after = evidence_pictures((*red, *mixed))
    assert (before.side, before.sha256, before.passed, before.viewport) == ("base", "b1", False, "1280x800")
    assert (after.sha256, after.passed, after.says) == ("h2", False, ("expected one thing; it shows another",))
    assert evidence_pictures(()) == ()


@pytest.mark.spec("LAW-10")
def test_what_came_later_changes_no_hash_and_no_old_record() -> None:
    assert "e2e" not in TestsCheck().model_dump()
    assert "visible" not in CHECK.model_dump()
    assert TestsCheck.model_validate({"kind": "tests", "e2e": True}).model_dump()["e2e"] is True
    old = fact("head", Outcomes.PASSED, 1, CHECK).model_dump(mode="json")
    old.pop("pictures")
    assert Evidence.model_validate(old).model_dump(mode="json") == old
