"""Honest work in Node projects is accepted: nested tests, fake clocks, equal titles, the base's own suite."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial, only
from trued.model import EXISTING_TESTS, Grade, TestsCheck
from trued.proof.runners.made_to_fail import failing_javascript
from trued.run.examination.existing_tests import with_existing_tests

TESTS = """'use strict';
const { test, describe, it, before, mock } = require('node:test');
const assert = require('node:assert');
const { one, two } = require('../lib.js');
const stands = () => assert.equal(one(), 1);

before(() => mock.timers.enable({ apis: ['Date'] }));
test('outer', async (t) => {
  await t.test('inner', async (s) => { await s.test('innermost', () => { assert.equal(one(), 1); }); });
});
describe('a', () => { it('works', stands); });
describe('b', () => { it('works', () => { assert.equal(two(), 2); }); });
"""
BASE = {"package.json": '{"scripts": {"test": "node --test"}}', "lib.js": "exports.one = () => 1;\n"}


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_nested_tests_mocked_clocks_and_equal_titles_are_no_forgery(tmp_path: Path) -> None:
    check = {"kind": "tests", "command": "npm test", "files": ["test/lib.test.js"]}
    asked = [{"id": "two", "text": "two() is 2", "checks": [check]}]
    trial = Trial(tmp_path, {**BASE, "test/lib.test.js": TESTS}, asked)
    judged = only(await trial.verdict({"lib.js": "exports.one = () => 1;\nexports.two = () => 2;\n"}))
    assert judged.grade is Grade.TESTED, judged.why


def test_a_title_counts_only_where_every_test_of_it_was_made_to_fail() -> None:
    made = failing_javascript(TESTS)
    assert made.titles == ("outer", "inner", "innermost")
    assert "Date.now" not in made.content


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"package.json": '{"scripts": {"test": "node --test spec/"}}', "spec/lib.test.js": TESTS}, "npm test"),
        ({"package.json": '{"type": "commonjs"}', "lib.test.js": TESTS}, "node --test"),
        ({"test_lib.py": "def test_it():\n    assert True\n"}, "python -m pytest -q"),
    ],
)
async def test_the_guards_are_run_by_the_runner_that_the_base_has(
    files: dict[str, str], command: str, tmp_path: Path
) -> None:
    trial = Trial(tmp_path, {**files, "lib.js": BASE["lib.js"]}, [{"id": "two", "text": "two() is 2"}])
    await trial.workspace.begin()
    made, guards = await with_existing_tests(trial.workspace, trial.asked)
    (suite,) = [check for one in made.suites for check in one.checks]
    assert isinstance(suite, TestsCheck)
    assert (suite.command, len(guards)) == (command, 1)


@pytest.mark.spec("LAW-6")
async def test_neither_a_name_nor_other_tests_take_the_place_of_the_bases_own(tmp_path: Path) -> None:
    base = {"test_lib.py": "def test_it():\n    assert True\n"}
    named = TestsCheck(command="python -m pytest -q test_new.py")
    trial = Trial(tmp_path, base, [{"id": "base-tests", "text": "two() is 2"}, {"id": "F", "text": "three() is 3"}])
    first, second = trial.asked.requirements
    asked = trial.asked.model_copy(update={"requirements": (first, second.model_copy(update={"checks": (named,)}))})
    await trial.workspace.begin()
    made, guards = await with_existing_tests(trial.workspace, asked)
    assert [one.id for one in made.suites] == [EXISTING_TESTS]
    assert len(guards) == 1
    again, _ = await with_existing_tests(trial.workspace, made)
    assert again == made


@pytest.mark.spec("LAW-6")
async def test_a_suite_of_which_all_is_superseded_guards_nothing_and_refuses_nobody(tmp_path: Path) -> None:
    base = {
        "lib.py": "def one():\n    return 1\n",
        "test_lib.py": "import lib\n\ndef test_it(): assert lib.one() == 1\n",
    }
    check = {"kind": "examples", "cases": [{"call": "lib:one", "args": [], "returns": 2}]}
    asked = [{"id": "two", "text": "one() is 2", "supersedes": ["test_lib.py"], "checks": [check]}]
    trial = Trial(tmp_path, base, asked)
    contract = await trial.seal_with_existing_tests()
    assert [one.id for one in contract.requirements] == ["two"]
    assert "python -m pytest -q: all its tests that pass on the base are superseded, so it guards nothing" in (
        contract.undecided
    )
    judged = only(await trial.prove(contract, await trial.head({"lib.py": "def one():\n    return 2\n"})))
    assert judged.grade is Grade.PROVEN, judged.why


@pytest.mark.parametrize(("raises", "grade"), [("lib:Bad", Grade.PROVEN), ("lib:Worse", Grade.REFUTED)])
async def test_an_error_may_be_named_as_functions_are(raises: str, grade: Grade, tmp_path: Path) -> None:
    check = {"kind": "examples", "cases": [{"call": "lib:one", "args": [], "raises": raises}]}
    trial = Trial(tmp_path, {"lib.py": "\n"}, [{"id": "bad", "text": "one() raises Bad", "checks": [check]}])
    work = "class Bad(Exception): ...\nclass Worse(Bad): ...\ndef one(): raise Bad\n"
    assert only(await trial.verdict({"lib.py": work})).grade is grade
