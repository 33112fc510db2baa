"""Tests that the implementer brings itself show something, and prove nothing."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Grade, Verdict
from trued.proof import reasons
from trued.proof.runners.command_parser import files_in_command, recognise_runner

BASE = {"a.py": "def one():\n    return 0\n", "tests/test_old.py": "def test_old():\n    pass\n"}
ASKED = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_one.py"]}
RIGHT = "import a\n\n\ndef test_one():\n    assert a.one() == 1\n"
HOLLOW = "def test_one():\n    assert True\n"


async def proven(place: Path, head: dict[str, str | None]) -> Verdict:
    trial = Trial(place, BASE, [{"id": "r", "text": "one returns 1", "checks": [ASKED]}])
    return await trial.prove(await trial.seal(), await trial.head(head))


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
        {"a.py": "def one():\n    return 1\n", "tests/test_one.py": HOLLOW},  # green on the base, too
        {"a.py": "def one():\n    return 2\n", "tests/test_one.py": RIGHT},  # red here, too
        {"a.py": "def one():\n    return 1\n"},  # no test at all
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
