"""A workflow that somebody else wrote, installed as a package and run by the real command line."""

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import git
from tests.examples.places import EXAMPLES, Place, begun

NAME = "red-green"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as an installer leaves it: built into a wheel by its own build system, and unpacked."""
    place = tmp_path_factory.mktemp("installed")
    source = place / "source"
    shutil.copytree(EXAMPLES / "own_workflow", source)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=120)
    (wheel,) = (place / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(place / "site-packages")
    return place / "site-packages"


@dataclass(frozen=True)
class With(Place):
    """The place of the example, with packages beside trued's own."""

    installed: Path = Path()

    @property
    def variables(self) -> dict[str, str]:
        return (
            {**super().variables, "PYTHONPATH": os.fspath(self.installed)} if self.installed.name else super().variables
        )


@pytest.fixture
def place(tmp_path: Path, installed: Path) -> With:
    found = begun("own_workflow", tmp_path)
    return With(found.folder, found.repository, installed)


def worked(place: Place, agents: str = "") -> subprocess.CompletedProcess[str]:
    words = ("../plan.md", "--workflow", NAME, "--requirements", str(place.requirements), "--yes")
    return place.trued("run", *words, "--agent", f"scripted:{place.agents}{agents}")


@pytest.mark.spec("DAY-15", "AGT-2")
def test_a_workflow_of_somebody_elses_is_run_like_ours_and_seen_like_ours(place: With) -> None:
    done = worked(place)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = place.data("ls")
    assert (run["workflow"], run["grade"], run["state"]) == (NAME, "proven", "done")
    assert [one["grade"] for one in place.events("proven")] == ["refuted", "proven", "proven"]
    shown = place.data("show")
    keys = [f"task 1A/{name}" for name in ("test-author#1", "builder#1", "builder#2")]
    assert [one["key"] for one in shown["calls"]] == keys
    assert "split()" in place.file(run["branch"], "textkit.py")
    assert "split()" not in git(place.repository, "show", "main:textkit.py")
    assert {"test-author", "builder"} <= {one["name"] for one in place.data("roles")}


@pytest.mark.slow
@pytest.mark.spec("DAY-15", "LAW-1", "LAW-2")
def test_its_agents_claim_to_be_done_and_the_run_is_not_done(place: With) -> None:
    done = worked(place, "#liar")
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = place.data("ls")
    assert run["state"] == "not proven"
    assert run["grade"] not in ("proven", "attested", "examined", "tested")
    claims = [one["reply"]["summary"] for one in place.events("answered") if one["role"] == "builder"]
    assert set(claims) == {"done: all tests pass"}
    assert run["head"] == run["base"]


@pytest.mark.spec("DAY-15")
def test_the_guide_shows_the_example_as_it_is() -> None:
    page = (EXAMPLES.parent / "docs" / "guide" / "own-workflow.md").read_text()
    blocks = [block.strip() for block in page.split("```python\n")[1:]]
    for file, block in zip(("__init__.py", "flow.py"), blocks, strict=True):
        code = (EXAMPLES / "own_workflow" / "red_green" / file).read_text().partition('"""\n\n')[2]
        assert code.strip() == block.partition("\n```")[0].strip()


@pytest.mark.slow
@pytest.mark.spec("DAY-15", "USE-7")
def test_a_run_of_a_workflow_that_is_no_longer_installed_is_shown_and_not_resumed(place: With) -> None:
    words = ("../plan.md", "--workflow", NAME, "--requirements", str(place.requirements), "--plan-only")
    planned = place.trued("run", *words, "--agent", f"scripted:{place.agents}")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    without = Place(place.folder, place.repository)
    (run,) = without.data("ls")
    assert run["workflow"] == NAME
    assert without.data("show", run["id"])["workflow"] == NAME
    refused = without.trued("resume", run["id"])
    assert refused.returncode == 2
    assert f"there is no workflow '{NAME}'" in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr
    again = place.trued("resume", run["id"], "--yes")
    assert again.returncode == 0, again.stdout + again.stderr
