"""What a person does on a page before it is looked at: click, type, choose, press, wait; and pages that pretend."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_browser_check import SERVE, SERVER, at, needs_chromium, opened, unmet
from tests.proof.trial import Trial, only
from trued.model import BrowserCheck, Grade
from trued.proof.checks.browser import page_flaw

SHOP = """<!doctype html><h1>Shop</h1><p id="cart">Your cart is empty</p>
<button id="add">Add to cart</button><button disabled>Pay</button><a href="/order.html">Order</a>
<form id="form"><label>Name <input name="name"></label>
<label>Colour <select name="colour"><option>Red</option><option>Blue</option></select></label></form>
<p id="said"></p><script>
const get = (id) => document.getElementById(id);
get("add").onclick = () => setTimeout(() => { get("cart").textContent = "1 item in your cart"; }, 300);
get("form").onsubmit = (event) => {
  event.preventDefault();
  const data = new FormData(get("form"));
  get("said").textContent = `Hello ${data.get("name").toUpperCase()}, ${data.get("colour")} it is`;
};
</script>"""
ADD = {"actions": [{"click": "Add to cart"}], "before": {"hides": ["1 item"]}, "sees": ["1 item in your cart"]}
HELD: dict[str, Any] = {
    "id": "cart",
    "text": "it counts",
    "checks": [{"kind": "browser", "page": "/index.html", **ADD}],
}


@pytest.mark.slow
@needs_chromium
@pytest.mark.spec("DAY-3")
async def test_a_page_is_looked_at_after_what_a_person_does_there(tmp_path: Path) -> None:
    async with at(tmp_path, {"index.html": SHOP, "order.html": "<p>Your order</p>"}) as bench:
        every = [
            {"click": 'button "Add to cart"'},
            {"wait": "1 item"},
            {"type": "ann", "field": "Name"},
            {"choose": "Blue", "field": "Colour"},
            {"click": "Name"},
            {"press": "Enter"},
        ]
        done = await opened(
            bench, actions=every, before={"sees": ["empty"], "hides": ["Hello"]}, sees=["Hello ANN, Blue"]
        )
        assert unmet(done) == {}, done.tried[-1].detail
        led = await opened(bench, actions=[{"click": "Order"}], sees=["Your order"], url="/order.html")
        assert unmet(led) == {}


@pytest.mark.slow
@needs_chromium
@pytest.mark.spec("DAY-3")
@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ({"click": "Buy"}, 'could not click "Buy" on /index.html: there is no such button, link or text'),
        pytest.param({"click": "Pay"}, 'could not click "Pay" on /index.html: it is disabled', marks=pytest.mark.slow),
        pytest.param(
            {"choose": "Pink", "field": "Colour"},
            'could not choose "Pink" in "Colour" on /index.html: it has no such option',
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_the_action_that_failed_is_named_with_its_reason(
    tmp_path: Path, action: dict[str, str], sentence: str
) -> None:
    async with at(tmp_path, {"index.html": SHOP}) as bench:
        fact = await opened(bench, actions=[action], before={"sees": ["Shop"]}, sees=["Shop"])
    assert unmet(fact) == {'sees "Shop"': "action"}
    assert fact.tried[-1].detail == sentence


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("DAY-3", "LAW-5")
async def test_a_page_that_shows_the_result_without_the_action_is_refuted(tmp_path: Path) -> None:
    base: dict[str, str | None] = {"server.py": SERVER, "index.html": "<h1>Shop</h1>"}
    trial = Trial(tmp_path, base, [HELD], serve=SERVE)
    contract = await trial.seal()
    assert [one.kind for one in contract.base_facts[0].tried] == ["", "action"]
    honest = await trial.prove(contract, await trial.head({"index.html": SHOP}))
    assert only(honest).grade is Grade.PROVEN
    liar = "<h1>Shop</h1><button>Add to cart</button><p>1 item in your cart</p>"
    verdict = await trial.prove(contract, await trial.head({"index.html": liar}))
    assert only(verdict).grade is Grade.REFUTED
    assert "before the first action" in " ".join(only(verdict).why)
    assert "1 item" not in " ".join(gap.what for gap in only(verdict).gaps)


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ({"actions": [{"click": "a", "press": "b"}]}, "exactly one"),
        ({"actions": [{"type": "a"}]}, "needs field"),
        ({"actions": [{"click": "a", "field": "b"}]}, "has no field"),
        ({"actions": [{"click": " "}]}, "names nothing"),
        ({"before": {"hides": ["a"]}}, "no actions"),
    ],
)
def test_actions_that_nobody_could_do_are_malformed(check: dict[str, Any], why: str) -> None:
    assert why in page_flaw(BrowserCheck.model_validate({"page": "/", "sees": ["x"], **check}))
