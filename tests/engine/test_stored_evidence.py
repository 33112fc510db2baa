"""Evidence that is parsed only when used equals evidence that was parsed at once."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.page.made_up import add_run
from tests.reporting.html.sample import material
from trued.engine.run_store import RunStore
from trued.engine.stored_amendment import Amendment
from trued.engine.stored_evidence import StoredEvidence, evidence_about, packed
from trued.model import Contract, RunRecord, Verdict
from trued.model.step_keys import is_final_verdict
from trued.proof.hashes import contract_hash

pytestmark = pytest.mark.spec("PAGE-3")


def _add_step(home: Path, record: RunRecord, key: str, value: str) -> None:
    with closing(sqlite3.connect(home / "journal.db")) as db, db:
        db.execute("insert into step values (?, ?, '', ?, 0, 0)", (record.id, key, value))


def _at_work(home: Path) -> RunRecord:
    sample = material()
    return add_run(home, replace(sample, history=[one for one in sample.history if not is_final_verdict(one.key)]))


def _finished(home: Path) -> RunRecord:
    return add_run(home, material())


def _amended(home: Path) -> RunRecord:
    sample, record = material(), _finished(home)
    assert sample.contract
    parts = {"who": "Ann", "why": "x", "what": (), "before": (), "contract": sample.contract, "verdict": sample.verdict}
    _add_step(home, record, "amend#1", Amendment(**parts).model_dump_json())
    return record


def _amended_at_work(home: Path) -> RunRecord:
    sample, record = material(), _at_work(home)
    assert sample.contract
    parts = {"who": "Ann", "why": "x", "what": (), "before": (), "contract": sample.contract}
    _add_step(home, record, "amend#1", Amendment(**parts).model_dump_json())
    return record


@pytest.mark.parametrize("written", [_at_work, _finished, _amended, _amended_at_work])
def test_who_watches_is_told_the_same_as_who_reads_once(tmp_path: Path, written: Callable[[Path], RunRecord]) -> None:
    run = written(tmp_path).id
    with RunStore(tmp_path, {}) as once, RunStore(tmp_path, {}, read_only=True, watches=True) as watching:
        contract, verdict = once.contract(run), once.verdict(run)
        kept, found = watching.contract(run), watching.verdict(run)
        assert contract
        assert verdict
        assert kept
        assert found
        assert [type(one).__name__ for one in (kept.base_facts, found.evidence)] == ["StoredEvidence"] * 2
        assert Contract(**{**dict(kept), "base_facts": tuple(kept.base_facts)}) == contract
        assert Verdict(**{**dict(found), "evidence": tuple(found.evidence)}) == verdict
        assert contract_hash(kept) == contract_hash(contract)
        assert len(kept.base_facts) == len(contract.base_facts) > 1
        assert watching.contract(run) is kept


def test_of_all_evidence_only_what_is_asked_for_is_read() -> None:
    facts = material().contract.base_facts  # type: ignore[union-attr]
    rest, stored = StoredEvidence.taken_out_of(
        json.dumps({"own": {"facts": [one.model_dump(mode="json") for one in facts], "more": 1}}), "own", "facts"
    )
    name = facts[-1].requirement
    assert json.loads(rest) == {"own": {"more": 1}}
    assert list(evidence_about(stored, {name})) == list(evidence_about(facts, {name})) != []
    assert list(evidence_about(stored, ())) == []
    assert (stored[0], tuple(stored[1:])) == (facts[0], facts[1:])
    assert [one["id"] for one in stored.as_stored()] == [one.id for one in facts]
    broken = StoredEvidence([("R1", packed({})), (name, packed(facts[-1].model_dump(mode="json")))])
    assert list(broken.about({name})) == [facts[-1]]


def test_evidence_that_nobody_reads_takes_less_memory_than_its_text() -> None:
    fact = material().contract.base_facts[0].model_dump(mode="json")  # type: ignore[union-attr]
    assert len(packed(fact)) < 0.7 * len(json.dumps(fact))
