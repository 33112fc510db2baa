"""The user's git answers questions, and starts nothing that a repository's settings name."""

import subprocess
from pathlib import Path

import pytest

from trued.support.user_git import ask_git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "größe"
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    return place


def test_an_answer_is_what_git_prints_and_a_failure_is_none(repository: Path, tmp_path: Path) -> None:
    assert ask_git(repository, "rev-parse", "--is-inside-work-tree") == b"true\n"
    assert ask_git(repository, "hash-object", "--stdin", fed=b"x") == b"c1b0730e0133447badcfd47fd144e254807b06e1\n"
    assert ask_git(repository, "rev-parse", "--verify", "--quiet", "HEAD") is None
    assert ask_git(tmp_path / "nowhere", "status") is None
    assert ask_git(repository, "rev-parse", "a\0b") is None


def test_a_program_in_the_repositorys_settings_does_not_run(repository: Path, tmp_path: Path) -> None:
    seen, trap = tmp_path / "seen", tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {seen}\n")
    trap.chmod(0o755)
    (repository / "a.txt").write_text("a\n")
    subprocess.run(["git", "-C", str(repository), "config", "core.fsmonitor", str(trap)], check=True)
    assert ask_git(repository, "status", "--porcelain") == b"?? a.txt\n"
    assert not seen.exists()
    subprocess.run(["git", "-C", str(repository), "status"], check=True, capture_output=True)
    assert seen.exists(), "without our settings git would have run it"
