"""The ways to install trued agree with each other."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).parents[1]


def pins(name: str) -> dict[str, str]:
    text = (TOP / "requirements" / f"{name}.txt").read_text()
    found = re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)", text, re.MULTILINE)
    return {canonicalize_name(package): version for package, version in found}


@pytest.mark.spec("DAY-14")
def test_the_demo_installs_what_trued_needs_and_little_more() -> None:
    demo, every = pins("demo"), pins("dev")
    project = tomllib.loads((TOP / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    assert {canonicalize_name(Requirement(one).name) for one in wanted} <= demo.keys()
    assert demo.items() <= every.items()  # one .venv serves both
    assert len(demo) * 3 < len(every)


@pytest.mark.spec("DAY-14")
def test_the_container_copies_files_that_are_there() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (TOP / "Containerfile").read_text(), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert {"pyproject.toml", "README.md", "src"} <= set(names)
    assert [name for name in names if not (TOP / name).exists()] == []


UV = """#!/bin/sh
echo "$UV_SYSTEM_CERTS $*" >>"$CALLS"
if [ "$1" = venv ]; then
  for folder; do :; done
  mkdir -p "$folder/bin" && ln -s "$PYTHON" "$folder/bin/python"
fi
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the set-up reads, and a uv that only writes down how it is called."""
    for name in ("tools/setup.sh", "requirements/demo.txt", "requirements/dev.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for name in ("uv", "bwrap", "git"):
        (tmp_path / "bin" / name).write_text(UV if name == "uv" else "#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def set_up(clone: Path, purpose: str) -> tuple[list[str], str]:
    """The calls of uv, and what was printed."""
    calls = clone / "calls"
    calls.write_text("")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    variables |= {"PATH": f"{clone}/bin:{os.environ['PATH']}", "CALLS": str(calls), "PYTHON": sys.executable}
    command = ["bash", str(clone / "tools" / "setup.sh"), purpose]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=True)
    return calls.read_text().splitlines(), done.stderr


@pytest.mark.spec("DAY-14")
def test_the_set_up_says_what_it_does_and_trusts_the_systems_certificates(clone: Path) -> None:
    calls, said = set_up(clone, "demo")
    assert [call.split()[:3] for call in calls] == [["true", "venv", "--quiet"], *[["true", "pip", "install"]] * 2]
    assert "requirements/demo.txt" in calls[1]
    assert [line.split()[0] for line in said.splitlines()] == ["making", "installing"]
    assert set_up(clone, "demo") == ([], "")  # quick when nothing changed


@pytest.mark.spec("DAY-14")
def test_the_demo_and_the_tests_share_one_environment(clone: Path) -> None:
    set_up(clone, "demo")
    calls, _ = set_up(clone, "check")
    assert "requirements/dev.txt" in calls[0]
    assert set_up(clone, "demo") == set_up(clone, "check") == ([], "")
