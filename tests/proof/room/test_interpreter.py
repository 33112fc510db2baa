"""Which Python runs checks: the project's, never the one that trued itself was installed with."""

import os
import sys
from pathlib import Path

import pytest

from trued.proof.room.interpreter import chosen_python

OURS = Path(__file__).parents[3] / ".venv" / "bin"


def with_python(folder: Path) -> str:
    folder.mkdir(parents=True)
    (folder / "python3").symlink_to(sys.executable)
    return str(folder)


@pytest.mark.spec("DAY-2")
def test_the_environment_of_trueds_own_checkout_is_not_taken_for_the_projects(tmp_path: Path) -> None:
    users = with_python(tmp_path / "users")
    assert chosen_python({"PATH": f"{OURS}{os.pathsep}{users}"}) == f"{users}/python3"


@pytest.mark.spec("DAY-2")
def test_another_environment_that_is_first_on_the_path_is_the_projects(tmp_path: Path) -> None:
    theirs, users = with_python(tmp_path / "venv" / "bin"), with_python(tmp_path / "users")
    assert chosen_python({"PATH": f"{theirs}{os.pathsep}{users}"}) == f"{theirs}/python3"


@pytest.mark.spec("DAY-2")
def test_without_another_python_trueds_own_is_used() -> None:
    assert chosen_python({"PATH": str(OURS)}) == sys.executable
