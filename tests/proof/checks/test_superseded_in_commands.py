"""Commands that run superseded tests: an intended change of a test passes, and nothing is proven by it."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import CommandCheck, Grade, Judged

OTHER = "def other():\n    return 5\n"
BASE: dict[str, str | None] = {
    "kit.py": f"def one():\n    return 1\n\n\n{OTHER}",
    "tests/check_one.py": "import kit\nassert kit.one() == 1\n",
    "tests/check_other.py": "import kit\nassert kit.other() == 5\n",
    "tests/every.py": "import check_one, check_other\n",
    "Makefile": "test:\n\tPYTHONPATH=. python tests/every.py\n",
}
WORK: dict[str, str | None] = {"kit.py": f"def one():\n    return 2\n\n\n{OTHER}"}
CHANGED_TEST: dict[str, str | None] = {"tests/check_one.py": "import kit\nassert kit.one() == 2\n"}
BROKEN: dict[str, str | None] = {"kit.py": "def one():\n    return 2\n\n\ndef other():\n    return 6\n"}
SILENT: dict[str, str | None] = {"tests/check_one.py": "import os\nos._exit(0)\n"}
CASE = {"kind": "examples", "cases": [{"call": "kit:one", "args": [], "returns": 2}]}


def asked(*more: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    fields = {"supersedes": ["tests/check_one.py"], **fields}
    return [{"id": "two", "text": "one() is 2", "checks": [CASE], **fields}, *more]


async def judged(place: Path, requirements: list[dict[str, Any]], *heads: dict[str, str | None]) -> list[Judged]:
    trial = Trial(place, BASE, requirements)
    contract = await trial.seal_with_existing_tests()
    assert [check for suite in contract.suites for check in suite.checks] == [CommandCheck(command="make test")]
    return await trial.judged(contract, *heads)


@pytest.mark.spec("LAW-6")
async def test_a_command_may_use_the_changes_version_of_a_superseded_test(tmp_path: Path) -> None:
    removed: dict[str, str | None] = {"tests/check_one.py": None, "tests/every.py": "import check_other\n"}
    both = asked(supersedes=["tests/check_one.py", "tests/every.py"])
    honest, silent = await judged(tmp_path / "one", asked(), WORK | CHANGED_TEST, BROKEN | SILENT)
    assert honest.grade is Grade.TESTED, honest.why
    assert any("make test" in why and "supersedes" in why for why in honest.why)
    # The liar's version of the test ends the whole command before it checks anything else.
    assert silent.grade is Grade.TESTED, silent.why
    gone, broken = await judged(tmp_path / "both", both, WORK | removed, BROKEN | removed)
    assert gone.grade is Grade.TESTED, gone.why
    assert broken.grade is Grade.REFUTED, broken.why


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("fields", [{"supersedes": []}, {"supersedes": [], "proposed": ["tests/check_one.py"]}])
async def test_only_the_users_own_word_gives_a_command_the_changes_tests(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    (liar,) = await judged(tmp_path, asked(**fields), WORK | CHANGED_TEST)
    assert liar.grade is Grade.REFUTED, liar.why


@pytest.mark.spec("LAW-6")
async def test_a_command_that_passes_with_the_bases_tests_lowers_nothing(tmp_path: Path) -> None:
    base: dict[str, str | None] = {**BASE, "tests/check_one.py": "import kit\nassert kit.one() in (1, 2)\n"}
    trial = Trial(tmp_path, base, asked(supersedes=["tests/check_other.py"]))
    contract = await trial.seal_with_existing_tests()
    done = await trial.prove(contract, await trial.head({**WORK, **SILENT, "tests/check_other.py": "\n"}))
    assert only(done).grade is Grade.PROVEN, only(done).why


@pytest.mark.spec("LAW-6")
async def test_the_users_own_command_may_use_a_superseded_test(tmp_path: Path) -> None:
    kept: dict[str, Any] = {"id": "make", "text": "make test passes", "keep": True}
    kept["checks"] = [{"kind": "command", "command": "PYTHONPATH=. python tests/check_one.py"}]
    trial = Trial(tmp_path, {name: text for name, text in BASE.items() if name != "Makefile"}, asked(kept))
    contract = await trial.seal_with_existing_tests()
    done = await trial.prove(contract, await trial.head(WORK | CHANGED_TEST))
    # A command never shows which files it runs, so alone it keeps nothing. But it no longer refutes an intended change.
    assert [each.grade for each in done.requirements] == [Grade.PROVEN, Grade.UNPROVEN], done.requirements
