"""Heads that an attacker wrote: none is accepted, and an honest head is."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.attacks import BASE, FILES, HONEST, IN_PROCESS, INSIDE_PYTEST, NEVER_ENDS, core
from tests.proof.trial import Cellar, Change, Sealed, Trial, is_success, only
from trued.model import Grade

CHECKED_BY_TESTS = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_core.py"]}
CHECKED_BY_DATA = {
    "kind": "examples",
    "cases": [
        {"call": "calc.core:double", "args": [21], "returns": 42, "within_s": 5},
        {"call": "calc.core:double", "args": ["ab"], "returns": "abab", "within_s": 10},
        {"call": "calc.core:half", "args": [9], "returns": 4, "within_s": 5},
    ],
}


def requirement(*checks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "double", "text": "double(x) is x twice", "checks": list(checks)}]


@pytest.fixture
async def both(cellar: Cellar) -> Sealed:
    """A contract with tests and held-out examples, sealed once."""
    return await cellar.sealed("both", BASE, requirement(CHECKED_BY_TESTS, CHECKED_BY_DATA))


@pytest.fixture
async def by_data(cellar: Cellar) -> Sealed:
    """A contract with held-out examples only, sealed once."""
    return await cellar.sealed("data", BASE, requirement(CHECKED_BY_DATA))


@pytest.fixture
async def by_tests(cellar: Cellar) -> Sealed:
    """A contract with visible tests only, sealed once."""
    return await cellar.sealed("tests", BASE, requirement(CHECKED_BY_TESTS))


@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.many(1)
@pytest.mark.parametrize("text", IN_PROCESS.values(), ids=IN_PROCESS)
async def test_nothing_that_the_head_does_in_its_own_process_is_accepted(by_data: Sealed, text: str) -> None:
    verdict = await by_data.trial.prove(by_data.contract, await by_data.trial.head(core(text)))
    assert only(verdict).grade is Grade.REFUTED


@pytest.mark.spec("LAW-2")
async def test_a_call_that_never_ends_is_refuted_in_time(tmp_path: Path) -> None:
    quick = {"kind": "examples", "cases": [{"call": "calc.core:double", "args": [1], "returns": 2, "within_s": 2}]}
    verdict = await Trial(tmp_path, BASE, requirement(quick)).verdict(core(NEVER_ENDS))
    assert only(verdict).grade is Grade.REFUTED
    assert "does not end within its time limit" in only(verdict).why[0]


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("change", FILES.values(), ids=FILES)
async def test_no_file_beside_the_code_makes_undone_work_pass(by_tests: Sealed, change: Change) -> None:
    verdict = await by_tests.trial.prove(by_tests.contract, await by_tests.trial.head(change, force=True))
    assert not is_success(verdict, Grade.TESTED)
    assert only(verdict).grade is Grade.REFUTED


HARMLESS = ["a conftest at the root", "pytest.ini", "tox.ini", "setup.cfg", "a package of tests", "sitecustomize"]


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("name", HARMLESS)
async def test_the_same_file_beside_honest_work_is_not_held_against_it(both: Sealed, name: str) -> None:
    change = FILES[name]
    assert not callable(change)
    verdict = await both.trial.prove(both.contract, await both.trial.head({**change, **core(HONEST)}))
    assert is_success(verdict), only(verdict).why


@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("text", INSIDE_PYTEST.values(), ids=INSIDE_PYTEST)
async def test_code_that_fights_the_runner_is_refuted_by_its_own_tests(by_tests: Sealed, text: str) -> None:
    verdict = await by_tests.trial.prove(by_tests.contract, await by_tests.trial.head(core(text)))
    assert only(verdict).grade is Grade.REFUTED


# -- and the honest one ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-7")
async def test_honest_work_is_proven_by_held_out_data_and_tested_by_tests(both: Sealed, by_tests: Sealed) -> None:
    assert only(await both.trial.prove(both.contract, await both.trial.head(core(HONEST)))).grade is Grade.PROVEN
    visible = only(await by_tests.trial.prove(by_tests.contract, await by_tests.trial.head(core(HONEST))))
    assert (visible.grade, visible.lacks, visible.holds) == (Grade.TESTED, "attest", True)


def test_the_attacks_are_real_programs() -> None:
    """A syntax error in an attack would make its test worthless."""
    for text in (*IN_PROCESS.values(), *INSIDE_PYTEST.values(), NEVER_ENDS):
        compile(text, "attack", "exec")
