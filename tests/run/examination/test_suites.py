"""Which suites a commit has does not depend on how many other files are named like tests."""

import shutil
from pathlib import Path

import pytest

from tests.proof.trial import Trial, asked_three
from trued.model import Grade, Requirements, TestsCheck
from trued.run.examination.existing_tests import with_existing_tests

NODE = {
    "tiny.js": "exports.one = () => 1;\n",
    "test/tiny.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "test('one', () => { assert.strictEqual(require('../tiny.js').one(), 1); });\n",
}
PYTHON = {
    "tiny.py": "def one():\n    return 1\n",
    "tests/test_tiny.py": "import tiny\n\n\ndef test_one():\n    assert tiny.one() == 1\n",
}
EMPTY_NODE = {f"test/a{number:02}.test.js": "// later\n" for number in range(45)}
EMPTY_PYTHON = {f"tests/test_a{number:02}.py": "# later\n" for number in range(45)}
NAMED = {**PYTHON, "setup.cfg": "[tool:pytest]\npython_files = unit_*.py\n"}  # no file has this name
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")


@needs_node
@pytest.mark.spec("LAW-6")
@pytest.mark.slow
async def test_empty_files_do_not_switch_a_suite_off(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {**NODE, **EMPTY_NODE}, asked_three("tiny.js:three"))
    contract = await trial.seal_with_existing_tests()
    added = "exports.three = () => 3;\n"
    heads = [{"tiny.js": text + added} for text in (NODE["tiny.js"].replace("1", "2"), NODE["tiny.js"])]
    judged = await trial.judged(contract, *heads)
    assert [one.grade for one in judged] == [Grade.REFUTED, Grade.PROVEN]


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("files", "suites"),
    [
        (NODE, 1),
        ({**NODE, **EMPTY_NODE}, 1),
        (EMPTY_NODE, 0),
        ({**PYTHON, **EMPTY_PYTHON}, 1),
        ({**NAMED, **EMPTY_PYTHON}, 1),
        (EMPTY_PYTHON, 0),
    ],
)
async def test_a_suite_is_there_if_any_file_is_a_test(files: dict[str, str], suites: int, tmp_path: Path) -> None:
    found = await _found(tmp_path, files)
    checks = [check for suite in found.suites for check in suite.checks]
    assert [type(check) for check in checks] == [TestsCheck] * suites


@pytest.mark.spec("LAW-6")
async def test_shell_scripts_that_start_a_runner_hide_no_test_that_starts_none(tmp_path: Path) -> None:
    known = {f"tests/a{number:02}.test.sh": "python -m pytest -q\n" for number in range(45)}
    found = await _found(tmp_path / "one", {**PYTHON, **known})
    assert not found.unguarded
    found = await _found(tmp_path / "two", {**PYTHON, **known, "tests/tiny.test.sh": "test $(./tiny) = 1\n"})
    assert [one.split(":")[0] for one in found.unguarded] == ["tests/tiny.test.sh"]


async def _found(place: Path, files: dict[str, str]) -> Requirements:
    """The requirements with the suites that were found on this base, of which nothing has run."""
    trial = Trial(place, files, asked_three())
    await trial.workspace.begin()
    return (await with_existing_tests(trial.workspace, trial.asked))[0]
