"""Falsely and honestly finished work: every cheat is rejected, every honest change accepted."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Sealed, Trial, is_success, read_requirements, script

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((HERE / "manifest.json").read_text())
TRIED = [(case, kind) for case in CASES for kind in case["expected"]]
QUICK = 13  # every thirteenth is in `make test`: an odd number, so that cheats and honest ones take turns


@pytest.fixture(scope="session")
def sealed() -> dict[str, Sealed]:
    """The cases share a few small projects; each is sealed once a process."""
    return {}


async def project(source: Path, sealed: dict[str, Sealed], factory: pytest.TempPathFactory) -> Sealed:
    files = sorted(path for path in [*(source / "base").rglob("*"), source / "requirements.json"] if path.is_file())
    content = b"".join(str(path.relative_to(source)).encode() + path.read_bytes() for path in files)
    name = hashlib.sha256(content).hexdigest()
    if name not in sealed:

        def base(folder: Path) -> None:
            shutil.copytree(source / "base", folder, symlinks=True, dirs_exist_ok=True)

        trial = Trial(factory.mktemp("project"), base, read_requirements(source / "requirements.json"))
        sealed[name] = Sealed(trial, await trial.seal())
    return sealed[name]


@pytest.mark.many(2)
@pytest.mark.spec("LAW-1", "LAW-2", "LAW-4", "LAW-5", "LAW-6", "LAW-7")
@pytest.mark.parametrize(
    ("case", "kind"),
    [
        pytest.param(case, kind, id=f"{case['id']}-{kind}", marks=[pytest.mark.slow] if place % QUICK else [])
        for place, (case, kind) in enumerate(TRIED)
    ],
)
async def test_a_cheat_is_rejected_and_an_honest_change_accepted(
    case: dict[str, Any], kind: str, sealed: dict[str, Sealed], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = HERE / "cases" / case["id"]
    trial, contract = await project(source, sealed, tmp_path_factory)
    verdict = await trial.prove(contract, await trial.head(script(source / f"{kind}.py", tmp_path)))
    assert is_success(verdict) == (case["expected"][kind] == "must_accept"), "\n".join(
        f"{one.id}: {one.grade}: {one.why}" for one in verdict.requirements
    )
