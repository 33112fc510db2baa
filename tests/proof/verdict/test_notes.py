"""Notes of a verdict: notes about what was done are told apart from notes about what is not checked, by their kind."""

import base64
from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Contract, FactNote, Verdict
from trued.proof.room.clean_room import Graft
from trued.proof.verdict.notes import fact_notes, files_used, not_run, reported_notes, worst_counts
from trued.proof.verdict.quick_verdict import QUICK_NOTE

UNCHECKED = [
    not_run("tests for cargo test: trued has no runner for them"),
    "no check covers: it is fast",
    "no check runs src/a.py, which was changed",
]


@pytest.mark.spec("LAW-11")
def test_every_note_about_the_files_that_were_used_is_a_fact() -> None:
    graft = Graft(restored=("a",), removed=("b",), added=("c",), merged=("d",), made_up=("e",))
    notes = files_used(graft, {"f": base64.b64encode(b"x").decode()}, {"f": "another blob"})
    assert sorted(one.partition(":")[0] for one in notes) == ["a", "b", "c", "d", "e", "f"]
    assert all(isinstance(one, FactNote) for one in (*notes, worst_counts(), QUICK_NOTE))
    assert not any(isinstance(one, FactNote) for one in UNCHECKED)


@pytest.mark.spec("LAW-11", "DAY-12")
def test_words_in_a_note_do_not_make_it_a_fact() -> None:
    """A file's name can begin like a note about a fact."""
    said = "no check runs src/quick: the base's version was used, which was changed"
    contract = Contract(base="0" * 40, requirements=(), reported=("built",), undecided=("built",))
    notes = [said, FactNote("seen"), "built"]
    made = Verdict(subject="all", undecided=tuple(notes), reported=reported_notes(contract, notes))
    assert fact_notes(Verdict.model_validate_json(made.model_dump_json())) == ("seen", "built")


@pytest.mark.slow
@pytest.mark.spec("LAW-11", "DAY-12")
async def test_that_a_proven_requirement_also_has_ordinary_tests_is_no_gap_in_its_checks(tmp_path: Path) -> None:
    """The grade accounts for the tests already: the requirement is `proven`, and nothing is left unchecked."""
    cases = [{"call": "tiny:double", "args": [n], "returns": 2 * n} for n in (21, 5)]
    checks = [{"kind": "examples", "cases": cases}, {"kind": "tests", "files": ["tests/test_tiny.py"]}]
    base = {
        "tiny.py": "def one():\n    return 1\n",
        "tests/test_tiny.py": "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n",
    }
    trial = Trial(tmp_path, base, [{"id": "double", "text": "double doubles", "checks": checks}])
    verdict = await trial.verdict({"tiny.py": f"{base['tiny.py']}\n\ndef double(x):\n    return 2 * x\n"})
    assert verdict.grade == "proven"
    assert any("rests on ordinary tests" in one for one in fact_notes(verdict))
    assert {*verdict.undecided} == {*fact_notes(verdict)}
