"""The ways to install trued agree with each other."""

import re
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
