"""Pictures in the report have captions, and those of held-out cases appear only after the run."""

import base64
from dataclasses import replace

import pytest

from tests.reporting.html.reading import Read
from tests.reporting.html.sample import BASE, HEAD, material
from trued.model import BrowserCheck, Evidence, Outcomes, Shot, Tried
from trued.reporting.html.material import Material
from trued.reporting.html.page import page
from trued.reporting.html.pictures import MOST_BYTES
from trued.reporting.html.render import rendered
from trued.reporting.views.ledger import ledger

PNG, ZIP = b"\x89PNG before", b"PK recording"
HASHES = {"a" * 64: PNG, "b" * 64: b"\x89PNG after", "c" * 64: ZIP}
CHECK = BrowserCheck(page="/collection", sees=("Earn 40 points",))
WORDS = 'expected to see "Earn 40 points" on /collection; it shows "<b>+ loyalty points</b>"'


def seen(side: str, picture: str, *, passed: bool, held_out: bool = False) -> Evidence:
    outcome = Outcomes.PASSED if passed else Outcomes.FAILED
    tried = Tried(id='sees "Earn 40 points"', outcome=outcome, kind="sees", detail="" if passed else WORDS)
    where = {"url": "http://localhost:4711/collection", "viewport": "1280x800"}
    shot = Shot(name="screenshot.png", sha256=picture, page="/collection", trace="c" * 64, **where)
    return Evidence.model_validate(
        {
            **{"id": f"page-{side}", "requirement": "slug", "check": "x", "kind": "browser", "side": side},
            **{"commit": BASE if side == "base" else HEAD, "tree": "t", "isolation": "bubblewrap"},
            **{"tried": (tried,), "pictures": (shot,), "artifacts": {"screenshot.png": picture}},
            "held_out": held_out,
        }
    )


def with_pages(*, held_out: bool = False, tainted: bool = False) -> Material:
    one = material()
    assert one.contract is not None
    base, head = seen("base", "a" * 64, passed=False, held_out=held_out), seen("head", "b" * 64, passed=True)
    head = head.model_copy(update={"held_out": held_out, "tainted": tainted})
    contract = one.contract.model_copy(update={"base_facts": (*one.contract.base_facts, base)})
    history = [
        replace(each, verdict=each.verdict.model_copy(update={"evidence": (*each.verdict.evidence, head)}))
        for each in one.history
    ]
    return replace(one, contract=contract, history=history, kept=lambda name: HASHES.get(name, b""))


@pytest.mark.spec("TIC-6")
def test_each_picture_is_shown_with_page_viewport_commit_hash_and_words() -> None:
    html = rendered(page(with_pages()))
    read = Read(html)
    images = [attributes["src"] for tag, attributes in read.tags if tag == "img"]
    assert images == [f"data:image/png;base64,{base64.b64encode(one).decode()}" for one in (b"\x89PNG after", PNG)]
    words = " ".join(read.text.split())
    assert WORDS in words
    assert f"1280 × 800 · commit {BASE[:10]} · sha256 {'a' * 16} · http://localhost:4711/collection" in words
    assert f"commit {HEAD[:10]}" in words
    assert "/collection before, on the base not as expected" in words
    assert "the same picture as there" in words  # the last verdict has the same picture as an earlier one
    links = [attributes for tag, attributes in read.tags if tag == "a" and attributes.get("download")]
    assert base64.b64decode(links[0]["href"].partition(",")[2]) == ZIP
    assert read.unbalanced == []


def test_pictures_of_held_out_cases_are_shown_when_the_run_has_ended_and_not_before() -> None:
    over = with_pages(held_out=True)
    assert rendered(page(over)).count("<img") == 2
    going = replace(over, record=over.record.model_copy(update={"state": "running"}))
    html = rendered(page(going))
    assert "<img" not in html
    assert "/collection" not in html


@pytest.mark.slow
def test_a_picture_taken_after_held_out_cases_ran_is_shown_when_the_run_has_ended_and_not_before() -> None:
    over = with_pages(tainted=True)
    assert rendered(page(over)).count("<img") == 2
    going = replace(over, record=over.record.model_copy(update={"state": "running"}))
    assert [one for one in HASHES if f"artifacts/{one}" in rendered(page(replace(going, kept=lambda name: b"")))] == [
        "a" * 64,
        "c" * 64,
    ]  # only that of the base, with its recording


def test_a_picture_that_is_too_large_or_gone_is_named_by_its_place() -> None:
    too_large = {"a" * 64: b"\x89PNG" + b"x" * MOST_BYTES}
    html = rendered(page(replace(with_pages(), kept=lambda name: too_large.get(name, b""))))
    assert "<img" not in html
    assert f"artifacts/{'a' * 64}" in html
    assert f"artifacts/{'b' * 64}" in html


@pytest.mark.spec("TIC-6", "USE-9")
def test_the_ledger_has_pictures_as_data() -> None:
    one = with_pages()
    assert one.verdict is not None
    verdict = one.history[-1].verdict
    judged = verdict.requirements[0].model_copy(update={"evidence": ("page-base", "page-head")})
    verdict = verdict.model_copy(update={"requirements": (judged,)})
    (row,) = [each for each in ledger(verdict, one.contract, over=True)["requirements"] if each["id"] == "slug"]
    before, after = row["pictures"]
    assert (before["side"], before["passed"], before["says"]) == ("base", False, [WORDS])
    assert (after["side"], after["passed"], after["commit"], after["trace"]) == ("head", True, HEAD, "c" * 64)
    assert row["evidence"][0]["pictures"][0]["viewport"] == "1280x800"
