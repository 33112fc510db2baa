"""Sentences that ask for what already fails on the base stay requirements."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial
from trued.model import Grade, Judged

DOUBLE = "def one():\n    return {}\n\n\ndef double(x):\n    return 2 * x\n"
TEST_ONE = "import lib\n\n\ndef test_one():\n    assert lib.one() == 1\n"
TEST_TWO = "import lib\n\n\ndef test_two():\n    assert lib.one() > 0\n"
LINT = "lint:\n\t@! grep -n TODO lib.py\n"
CASES = [{"call": "lib:double", "args": [x], "returns": 2 * x} for x in (2, 5)]
FAILS = "what it asks to pass fails on the base and still fails: "


def project(returns: object) -> dict[str, str]:
    return {"lib.py": f"def one():\n    return {returns}\n", "test_lib.py": TEST_ONE}


async def judged(place: Path, base: dict[str, str], sentence: str, head: str) -> dict[str, Judged]:
    """The verdict on a change that doubles as asked for, with this sentence as a requirement of a goal in words."""
    asked: list[dict[str, Any]] = [
        {"id": "double", "text": "double(x) doubles", "checks": [{"kind": "examples", "cases": CASES}]},
        {"id": "asked", "text": sentence},
    ]
    trial = Trial(place, base, asked)
    contract = await trial.seal_with_existing_tests()
    assert [one.id for one in contract.requirements] == ["double", "asked"]
    verdict = await trial.prove(contract, await trial.head({"lib.py": head}))
    return {one.id: one for one in verdict.requirements}


@pytest.mark.many(1)
@pytest.mark.spec("LAW-12", "LAW-8")
@pytest.mark.parametrize(
    ("base", "sentence", "named"),
    [
        (project(2), "All existing tests pass.", "test_lib.py::test_one"),
        (project(2), "`python -m pytest -q` passes.", "test_lib.py::test_one"),
        ({"lib.py": "# TODO\n", "Makefile": LINT}, "The linter stays clean.", "make lint"),
    ],
)
async def test_what_fails_before_and_after_is_an_unproven_requirement_that_a_person_may_accept(
    base: dict[str, str], sentence: str, named: str, tmp_path: Path
) -> None:
    found = await judged(tmp_path, base, sentence, f"# TODO\n{DOUBLE.format(2)}")
    assert (found["asked"].grade, found["asked"].lacks) == (Grade.UNPROVEN, "attest")
    assert found["asked"].why[0] == f"{FAILS}{named}"
    assert found["double"].grade is not Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-8")
@pytest.mark.parametrize(
    ("base", "sentence"),
    [
        (project(2), "All existing tests pass."),
        (project(2), "`python -m pytest -q` passes."),
        ({"lib.py": "# TODO\n", "Makefile": LINT}, "The linter stays clean."),
    ],
)
async def test_what_the_change_turns_green_is_tested(base: dict[str, str], sentence: str, tmp_path: Path) -> None:
    found = await judged(tmp_path, base, sentence, DOUBLE.format(1))
    assert found["asked"].grade is Grade.TESTED, found["asked"].why


@pytest.mark.slow
@pytest.mark.spec("LAW-8")
async def test_of_two_failing_tests_both_have_to_turn_green(tmp_path: Path) -> None:
    base = {**project(0), "test_two.py": TEST_TWO}
    found = await judged(tmp_path, base, "All existing tests pass.", DOUBLE.format(2))
    assert (found["asked"].grade, found["asked"].why[0]) == (Grade.UNPROVEN, f"{FAILS}test_lib.py::test_one")


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8")
@pytest.mark.parametrize(("returns", "grade"), [(3, Grade.TESTED), (0, Grade.REFUTED)])
async def test_a_test_that_fails_anyway_is_named_beside_those_that_still_pass(
    returns: int, grade: Grade, tmp_path: Path
) -> None:
    base = {**project(2), "test_two.py": TEST_TWO}
    found = await judged(tmp_path, base, "All existing tests still pass.", DOUBLE.format(returns))
    assert found["asked"].grade is grade, found["asked"].why
    assert (f"{FAILS}test_lib.py::test_one" in found["asked"].why) is (grade is Grade.TESTED)


@pytest.mark.slow
@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(("returns", "grade"), [(3, Grade.TESTED), (1, Grade.PROVEN)])
async def test_a_failing_test_that_is_asked_for_guards_no_code(returns: int, grade: Grade, tmp_path: Path) -> None:
    found = await judged(tmp_path, project(2), "All existing tests pass.", DOUBLE.format(returns))
    assert found["double"].grade is grade, found["double"].why


@pytest.mark.slow
@pytest.mark.spec("LAW-2", "LAW-12")
async def test_tests_that_cannot_be_run_on_the_base_show_nothing_and_are_not_dropped(tmp_path: Path) -> None:
    base = {**project(1), "test_lib.py": f"import nowhere_to_be_found\n{TEST_ONE}"}
    found = await judged(tmp_path, base, "All existing tests pass.", DOUBLE.format(1))
    assert found["asked"].grade is Grade.UNJUDGED
    assert "nowhere_to_be_found" in " ".join(found["asked"].why)
