"""A file among the tests that has the name of the product's module blinds them: they load it instead."""

from pathlib import Path

import pytest

from tests.proof.trial import Change, Trial, asked_three
from trued.model import Grade

ONE = "def one():\n    return 1\n"
THREE = "\n\ndef three():\n    return 3\n"
TEST = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"
BASE = {"tiny.py": ONE, "other.py": ONE, "tests/test_tiny.py": TEST, "tests/deep/test_deep.py": TEST}
WORK = {"tiny.py": ONE + THREE}
LIARS: dict[str, Change] = {
    "a module": {**WORK, "tests/tiny.py": ONE},
    "a package": {**WORK, "tests/tiny/__init__.py": ONE},
    "beside another test": {**WORK, "tests/deep/tiny.py": ONE},
}
HONEST: dict[str, Change] = {
    "another name": {**WORK, "tests/helper.py": ONE, "tests/tiny/data.txt": "1\n"},
    "a module that tests do not import": {**WORK, "tests/other.py": ONE},
    "in a package": {**WORK, "tests/unit/__init__.py": "", "tests/unit/tiny.py": ONE},
}
PACKAGE = {**BASE, "tests/__init__.py": "", "tests/deep/__init__.py": ""}


async def graded(place: Path, base: dict[str, str], heads: dict[str, Change]) -> dict[str, tuple[Grade, str]]:
    trial = Trial(place, base, asked_three("tiny:three"))
    contract = await trial.seal_with_existing_tests()
    judged = await trial.judged(contract, *heads.values())
    return {name: (one.grade, one.why[0]) for name, one in zip(heads, judged, strict=True)}


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_a_new_namesake_of_the_product_among_tests_is_tested_at_most(tmp_path: Path) -> None:
    found = await graded(tmp_path, BASE, LIARS | HONEST)
    wanted = {**dict.fromkeys(LIARS, Grade.TESTED), **dict.fromkeys(HONEST, Grade.PROVEN)}
    assert {name: grade for name, (grade, _) in found.items()} == wanted, found
    assert "tests/deep/tiny.py" in found["beside another test"][1]


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_tests_in_a_package_find_the_product_unless_that_ends(tmp_path: Path) -> None:
    heads: dict[str, Change] = {
        "honest": {**WORK, "tests/tiny.py": ONE},
        "no package any more": {**WORK, "tests/tiny.py": ONE, "tests/__init__.py": None},
    }
    found = await graded(tmp_path, PACKAGE, heads)
    assert [grade for grade, _ in found.values()] == [Grade.PROVEN, Grade.TESTED], found


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_tests_that_load_a_namesake_guard_no_product(tmp_path: Path) -> None:
    heads: dict[str, Change] = {
        "broken": {"tiny.py": ONE.replace("1", "2") + THREE},
        "honest": WORK,
    }
    found = await graded(tmp_path, {**BASE, "tests/tiny.py": ONE, "tests/deep/tiny.py": ONE}, heads)
    assert [grade for grade, _ in found.values()] == [Grade.TESTED, Grade.PROVEN], found
    assert "tiny.py (one)" in found["broken"][1]
