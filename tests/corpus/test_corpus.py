"""Falsely and honestly finished work: every cheat is rejected, every honest change accepted."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, read_requirements, script
from trued.proof import success

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((HERE / "manifest.json").read_text())
TRIED = [(case, kind) for case in CASES for kind in case["expected"]]


@pytest.mark.spec("LAW-1", "LAW-2", "LAW-4", "LAW-5", "LAW-6", "LAW-7")
@pytest.mark.parametrize(("case", "kind"), TRIED, ids=[f"{case['id']}-{kind}" for case, kind in TRIED])
async def test_a_cheat_is_rejected_and_an_honest_change_accepted(
    case: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    source = HERE / "cases" / case["id"]
    home = tmp_path / "home"
    home.mkdir()

    def base(folder: Path) -> None:
        shutil.copytree(source / "base", folder, symlinks=True, dirs_exist_ok=True)

    trial = Trial(tmp_path, base, read_requirements(source / "requirements.json"))
    verdict = await trial.verdict(script(source / f"{kind}.py", home))
    accepted = success(verdict)
    assert accepted == (case["expected"][kind] == "must_accept"), "\n".join(
        f"{one.id}: {one.grade}: {one.why}" for one in verdict.requirements
    )
