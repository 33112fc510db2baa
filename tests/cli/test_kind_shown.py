"""The kind of the project in this folder, as `trued doctor` shows it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Trued, git
from trued.cli.project_kind import kind_here
from trued.model import Commands, Settings

FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n[dependency-groups]\ndev = ["pytest"]\n',
    "uv.lock": "",
    "shop/__init__.py": "",
    "tests/test_shop.py": "def test_it() -> None: ...\n",
}


def committed(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "files")
    return folder


@pytest.mark.spec("TEAM-13")
def test_doctor_shows_the_projects_kind_and_commands_as_words_and_as_data(trued: Trued, tmp_path: Path) -> None:
    folder = committed(tmp_path / "shop", FILES)
    found = {one["name"]: one for one in json.loads(trued("doctor", "--json", cwd=folder).stdout)}
    project = found["project"]
    assert project["facts"]["kind"] == "Python"
    assert project["facts"]["test"] == "uv run pytest"
    assert project["says"] == "Python; build: python3 -m compileall -q shop; test: uv run pytest"


@pytest.mark.spec("TEAM-13")
def test_what_is_committed_counts_and_what_the_user_says_corrects_it(tmp_path: Path) -> None:
    folder = committed(tmp_path / "shop", FILES)
    (folder / "go.mod").write_text("module x\n")
    kind = kind_here(folder, Settings(commands=Commands(start="make serve")))
    assert (kind.names, kind.start) == (("Python",), "make serve")


def test_a_repository_without_a_commit_is_of_no_known_kind(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert kind_here(tmp_path, Settings()).name == "unknown"
