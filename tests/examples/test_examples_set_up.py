"""init.sh on a fresh copy of each example, twice, in a folder with a blank in its name."""

import os
import subprocess
from pathlib import Path

import pytest

from examples.service import agents as service
from tests.cli.conftest import git
from tests.examples.places import begun
from trued.workflows.handoff.init_script import init_script

TEST = {"shop": "npm test", "service": "python -m pytest -q"}


def run(repository: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "init.sh"],
        cwd=repository,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", [pytest.param("shop", marks=pytest.mark.slow), "service"])
@pytest.mark.spec("HAND-4")
def test_an_example_is_set_up_twice_and_says_how_it_is_tested(name: str, tmp_path: Path) -> None:
    repository = begun(name, tmp_path).repository
    if name == "service":
        service.coder({"key": "feature health/coder#1"}, repository)
    paths = [str(one.relative_to(repository)) for one in repository.rglob("*") if ".git/" not in str(one)]
    text = init_script(paths, lambda path: (repository / path).read_text(), test=TEST[name])
    (repository / "init.sh").write_text(text)
    before = git(repository, "status", "--short")
    for _ in range(2):
        done = run(repository, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"Run the tests: {TEST[name]}" in done.stdout
    assert git(repository, "status", "--short") == before
