"""Files that a check names: tests are collected, data files are frozen, and notes say whose version was used."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import Grade

READS = """import json
import pathlib

from kit import double


def test_double():
    given = json.loads(pathlib.Path(__file__).with_name("cases.json").read_text())
    assert [double(one) for one, _ in given] == [two for _, two in given]
"""
BASE: dict[str, str | None] = {
    "kit.py": "def double(x):\n    return x\n",
    "tests/test_kit.py": READS,
    "tests/cases.json": "[[1, 2], [3, 6]]\n",
}
DONE = "def double(x):\n    return 2 * x\n"


def asked(**check: Any) -> list[dict[str, Any]]:
    return [{"id": "it", "text": "it works", "checks": [{"kind": "tests", **check}]}]


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.slow
async def test_data_beside_the_tests_is_frozen_and_handed_to_no_runner(tmp_path: Path) -> None:
    command = "python -m pytest -q tests/test_kit.py"
    trial = Trial(tmp_path, BASE, asked(command=command, files=["tests/test_kit.py", "tests/cases.json"]))
    contract = await trial.seal()
    honest = only(await trial.prove(contract, await trial.head({"kit.py": DONE})))
    assert honest.grade is Grade.TESTED, honest.why
    liar = await trial.head({"kit.py": "def double(x):\n    return 2\n", "tests/cases.json": "[[1, 2]]\n"})
    assert only(await trial.prove(contract, liar)).grade is Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("LAW-11")
async def test_where_the_contracts_version_of_a_file_was_used_that_is_said(tmp_path: Path) -> None:
    base = {**BASE, "tests/test_kit.py": "def test_nothing():\n    pass\n"}
    carried = {"tests/test_kit.py": base64.b64encode(READS.encode()).decode()}
    trial = Trial(tmp_path, base, asked(files=["tests/test_kit.py"]), carried=carried)
    contract = await trial.seal()
    same = await trial.prove(contract, await trial.head({"kit.py": DONE, "tests/test_kit.py": READS}))
    assert not [one for one in same.undecided if "version was used" in one], same.undecided
    other = await trial.prove(contract, await trial.head({"kit.py": DONE, "tests/test_kit.py": f"{READS}\n\n"}))
    assert [one for one in other.undecided if "version was used" in one] == [
        "tests/test_kit.py: the contract's version was used, not the change's"
    ]
