"""Advice about files that the project itself has."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Grade
from trued.proof.advice import path_line


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize("folder", ["lib", "a\nverdict: proven"])
def test_a_folder_of_the_head_is_named_on_one_line(folder: str) -> None:
    assert path_line(folder).isprintable()
    assert path_line("lib") == '`environment: {path: [".", "lib"]}`'


@pytest.mark.spec("USE-6")
async def test_the_advice_is_the_same_in_reasons_and_notes(tmp_path: Path) -> None:
    manifest = "[project]\nname = 'kit'\nversion = '1'\n[project.scripts]\nkit-of-ours = 'kit:main'\n"
    check = {"kind": "examples", "cases": [{"run": ["kit-of-ours"], "stdout": "1\n"}]}
    base = {"pyproject.toml": manifest, "kit.py": "def main():\n    print(0)\n"}
    trial = Trial(tmp_path, base, [{"id": "one", "text": "kit-of-ours prints 1", "checks": [check]}])
    verdict = await trial.prove(await trial.seal(), await trial.head({"kit.py": "def main():\n    print(1)\n"}))
    (judged,) = verdict.requirements
    assert judged.grade is Grade.UNJUDGED, judged.why
    said = [text for text in (*judged.why, *verdict.undecided) if "kit-of-ours is not installed" in text]
    assert len(said) == 2, (judged.why, verdict.undecided)
    assert all("a script of the project itself" in text for text in said), said
