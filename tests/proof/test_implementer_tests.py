"""Tests that the implementer adds itself are worth `self-tested` at most; they prove nothing."""

from pathlib import Path
from typing import Literal

import pytest

from tests.proof.trial import Trial
from trued.model import Evidence, Grade, Outcomes, Tried, Verdict
from trued.proof.implementer_tests import ResultsOnBothSides
from trued.proof.text.command_parser import files_in_command, recognise_runner
from trued.proof.verdict import reasons
from trued.proof.verdict.missing import lacked_by_base
from trued.proof.without_requirements import _judge_results

BASE = {"a.py": "def one():\n    return 0\n", "tests/test_old.py": "def test_old():\n    pass\n"}
ASKED = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_one.py"]}
RIGHT = "import a\n\n\ndef test_one():\n    assert a.one() == 1\n"
HOLLOW = "def test_one():\n    assert True\n"


async def proven(place: Path, head: dict[str, str | None]) -> Verdict:
    trial = Trial(place, BASE, [{"id": "r", "text": "one returns 1", "checks": [ASKED]}])
    return await trial.prove(await trial.seal(), await trial.head(head))


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-8")
async def test_own_tests_that_are_red_before_and_green_after_are_self_tested_and_no_more(tmp_path: Path) -> None:
    verdict = await proven(tmp_path, {"a.py": "def one():\n    return 1\n", "tests/test_one.py": RIGHT})
    (judged,) = verdict.requirements
    assert (judged.grade, judged.lacks) == (Grade.SELF_TESTED, "attest")
    assert judged.why[0] == reasons.own_tests_turned(1)
    assert {(one.side, len(one.tried)) for one in verdict.evidence if one.turn == 2} >= {("base", 1), ("head", 1)}


@pytest.mark.spec("LAW-5", "LAW-8")
@pytest.mark.many(1)
@pytest.mark.parametrize(
    "head",
    [
        {"a.py": "def one():\n    return 1\n", "tests/test_one.py": HOLLOW},  # the test passes on the base, too
        {"a.py": "def one():\n    return 2\n", "tests/test_one.py": RIGHT},  # the test fails on the head, too
        {"a.py": "def one():\n    return 1\n"},  # there is no test at all
        {"tests/test_one.py": RIGHT.replace("== 1", "in (0, 1)")},
    ],
)
async def test_own_tests_that_show_no_difference_count_for_nothing(tmp_path: Path, head: dict[str, str | None]) -> None:
    assert (await proven(tmp_path, head)).grade is Grade.UNPROVEN


@pytest.mark.spec("HAND-8", "LAW-8")
@pytest.mark.slow
@pytest.mark.parametrize("command", ["python -m pytest -q tests/test_one.py", "python -m pytest -q"])
async def test_own_tests_count_also_where_only_the_command_names_them_or_the_base_has_none(
    tmp_path: Path, command: str
) -> None:
    base = {"a.py": BASE["a.py"]}
    trial = Trial(tmp_path, base, [{"id": "r", "text": "x", "checks": [{"kind": "tests", "command": command}]}])
    contract = await trial.seal()
    head = await trial.head({"a.py": "def one():\n    return 1\n", "tests/test_one.py": RIGHT})
    verdict = await trial.prove(contract, head)
    assert verdict.grade is Grade.SELF_TESTED, verdict.requirements[0].why


NEW = "from validator import check\n\n\ndef test_check():\n    assert check(1)\n"
UNIT = (
    "import unittest\nfrom validator import check\n\n\nclass T(unittest.TestCase):\n"
    "    def test_check(self):\n        self.assertTrue(check(1))\n"
)
NODE = "const test = require('node:test');\nconst { check } = require('../validator.js');\ntest('c', () => check(1));\n"
VALID = {"validator.py": "def check(x):\n    return x == 1\n", "validator.js": "exports.check = (x) => x === 1;\n"}
RUNS = [
    ("python -m pytest tests/test_validator.py", "tests/test_validator.py", NEW),
    ("python -m unittest tests.test_validator", "tests/test_validator.py", UNIT),
    ("node --test test/validator.test.js", "test/validator.test.js", NODE),
]


async def new_module(place: Path, command: str, head: dict[str, str | None]) -> Verdict:
    check = {"kind": "tests", "command": command}
    trial = Trial(place, {"README.md": "x\n"}, [{"id": "r", "text": "check(1) is true", "checks": [check]}])
    return await trial.prove(await trial.seal(), await trial.head(head))


@pytest.mark.many(1)
@pytest.mark.spec("DAY-1", "LAW-5")
@pytest.mark.parametrize(("command", "file", "test"), RUNS, ids=["pytest", "unittest", "node"])
async def test_a_test_file_that_imports_what_the_base_does_not_have_yet_is_red_there(
    tmp_path: Path, command: str, file: str, test: str
) -> None:
    verdict = await new_module(tmp_path, command, {**VALID, file: test})
    (judged,) = verdict.requirements
    assert (judged.grade, judged.lacks, judged.gaps) == (Grade.SELF_TESTED, "attest", ()), judged.why
    assert verdict.holds


@pytest.mark.slow
@pytest.mark.spec("DAY-1", "LAW-5")
@pytest.mark.parametrize(
    ("head", "told"),
    [
        ({"tests/test_validator.py": NEW}, "No module named 'validator'"),  # a test without the work
        # the test file is broken on base and head
        ({**VALID, "tests/test_validator.py": "def test_check(:\n"}, "SyntaxError"),
        # neither commit has this module
        ({**VALID, "tests/test_validator.py": f"import nowhere_at_all\n{NEW}"}, "nowhere_at_all"),
        ({**VALID, "tests/test_validator.py": "def test_check():\n    assert 1\n"}, "show nothing"),
        ({**VALID}, "tests/test_validator.py, which does not exist"),
    ],
    ids=["no work", "syntax", "package", "vacuous", "no test"],
)
async def test_a_test_file_that_shows_nothing_of_the_change_proves_nothing_and_its_author_is_told_why(
    tmp_path: Path, head: dict[str, str | None], told: str
) -> None:
    verdict = await new_module(tmp_path, RUNS[0][0], head)
    (judged,) = verdict.requirements
    assert judged.grade.rank < Grade.SELF_TESTED.rank
    assert not verdict.holds
    assert any(told in gap.what for gap in judged.gaps), judged


NEEDY = {"shop.py": "import no_such_package\n\n\ndef price():\n    return 1\n"}
PRICE = "from shop import price\n\n\ndef test_price():\n    assert price() == 2\n"


@pytest.mark.slow
@pytest.mark.spec("DAY-2")
@pytest.mark.parametrize("is_used_on_base", [True, False])
async def test_a_module_that_the_bases_own_code_needs_and_the_machine_lacks_is_no_failure_of_the_change(
    tmp_path: Path, is_used_on_base: bool
) -> None:
    base = NEEDY if is_used_on_base else {"shop.py": "def price():\n    return 1\n"}
    check = {"kind": "tests", "command": "python -m pytest tests/test_price.py"}
    trial = Trial(tmp_path, base, [{"id": "r", "text": "the price is 2", "checks": [check]}])
    contract = await trial.seal()
    head = await trial.head({"shop.py": NEEDY["shop.py"].replace("1", "2"), "tests/test_price.py": PRICE})
    (judged,) = (await trial.prove(contract, head)).requirements
    assert bool(judged.gaps) is not is_used_on_base  # a change may not bring an import that nobody declares
    assert [one.name for one in judged.missing] == (["no_such_package"] if is_used_on_base else [])


@pytest.mark.spec("DAY-2")
def test_a_test_that_only_claims_to_lack_a_module_of_the_base_is_not_believed() -> None:
    lost = Tried(id="t.py", outcome=Outcomes.UNJUDGED, kind="module flask")
    facts = [fact("base", 1, lost)]
    assert [*lacked_by_base(facts, ["import flask"], ["pytest"])] == ["module flask"]
    assert lacked_by_base(facts, ["import flask"], ["Flask"]) == {}  # it is installed
    assert lacked_by_base(facts, ["import json", "from .flask import app"], ["pytest"]) == {}


@pytest.mark.spec("DAY-2")
def test_an_environment_that_broke_under_the_changes_own_tests_is_named_and_no_failure() -> None:
    red = Tried(id="t.py::t", outcome=Outcomes.FAILED, kind="failed")
    lost = Tried(id="t.py::t", outcome=Outcomes.UNJUDGED, kind="environment", detail="no more space")
    facts = [fact("base", turn, red) for turn in (1, 2, 3)] + [fact("head", turn, lost) for turn in (1, 2)]
    judged = _judge_results([ResultsOnBothSides(facts, frozenset(), {})], changed=True)
    assert (judged.grade, judged.holds, judged.gaps) == (Grade.UNJUDGED, False, ())
    assert "no more space" in judged.missing[0].what


def fact(side: Literal["base", "head"], turn: int, tried: Tried) -> Evidence:
    return Evidence(
        id=f"{side}{turn}", requirement="r", check="c", kind="tests", side=side, turn=turn, commit="c", tree="t",
        isolation="x", tried=(tried,),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("python -m pytest -q -s tests/test_a.py::test_x -k foo/bar", ("tests/test_a.py",)),
        ("pytest tests -m slow", ("tests",)),
        ("pytest -q -c conf/x.ini", ()),
        ("python -m unittest tests.test_core.Numbers.test_double -v", ("tests/test_core.py",)),
        ("python -m unittest tests/test_a.py", ("tests/test_a.py",)),
        ("python -m unittest -k half", ()),
        ("python -m unittest discover -s tests -t . -p 'test_c*.py'", ()),
        ("node --test test/a.test.js 'test/**/*.mjs'", ("test/a.test.js",)),
        ("npx vitest run", ()),
    ],
)
def test_the_files_that_a_command_names_are_known(command: str, files: tuple[str, ...]) -> None:
    asked = recognise_runner(command)
    assert asked is not None
    assert files_in_command(asked) == files
