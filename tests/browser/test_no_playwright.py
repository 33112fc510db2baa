"""A machine that has a Chromium and no playwright: everything names that cause, and one command."""

import sys
from pathlib import Path

import pytest

from tests.browser.test_browser_check import SERVE, SERVER
from tests.proof.trial import Trial, only
from trued.cli.doctor import diagnose
from trued.model import Contract, Grade, Settings, Verdict
from trued.model.events import JournalEvent
from trued.model.events.proof import CheckSealed
from trued.proof.seal import SealTerms, seal
from trued.proof.verdict.missing import missing_on_base

FIX = "pip install 'trued[browser]'"
SHOWN = {"id": "shown", "text": "the page", "checks": [{"kind": "browser", "page": "/", "sees": ["Hello"]}]}


@pytest.fixture(autouse=True)
def _lacks_playwright(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)


@pytest.mark.spec("DAY-9")
def test_the_doctor_looks_for_what_page_checks_need(tmp_path: Path) -> None:
    (seen,) = [one for one in diagnose(tmp_path, Settings()) if one.name == "chromium"]
    assert (seen.state, seen.fix) == ("missing", FIX)
    assert seen.says.startswith("playwright is not installed")


@pytest.mark.spec("DAY-2", "LAW-2")
async def test_sealing_and_verdict_name_the_same_cause_once(tmp_path: Path) -> None:
    trial, told = Trial(tmp_path, {"server.py": SERVER}, [SHOWN], serve=SERVE), list[JournalEvent]()
    await trial.workspace.begin()
    contract = await seal(trial.workspace, trial.asked, SealTerms(held_out=True), tell=told.append)
    (sealed,) = [one for one in told if isinstance(one, CheckSealed)]
    lack = f"playwright is not installed; {FIX}"
    assert sealed.lacks == (lack,)
    assert [str(one) for one in missing_on_base(contract, ())["shown"]] == [lack]
    verdict = await trial.prove(contract, await trial.head({"index.html": "<p>Hello</p>"}))
    assert only(verdict).grade is Grade.UNJUDGED
    assert [str(one) for one in verdict.missing_from_environment] == [lack]


@pytest.mark.spec("LAW-2")
async def test_a_contract_that_an_earlier_version_sealed_without_playwright_stays_unjudged(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {"server.py": SERVER}, [SHOWN], serve=SERVE)
    contract = await trial.seal()
    verdict = await _as_earlier(trial, contract)
    assert only(verdict).grade is Grade.UNJUDGED, only(verdict).why


async def _as_earlier(trial: Trial, contract: Contract) -> Verdict:
    facts = [
        fact.model_copy(
            update={"tried": tuple(one.model_copy(update={"kind": "program chromium"}) for one in fact.tried)}
        )
        for fact in contract.base_facts
    ]
    earlier = contract.model_copy(update={"base_facts": tuple(facts)})
    return await trial.prove(earlier, await trial.head({"index.html": "<p>Hello</p>"}))
