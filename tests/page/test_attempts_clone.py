"""What an agent leaves in its clone is read by the page, and nothing of it is run."""

import subprocess
from pathlib import Path

import pytest

from trued.page.work_diff import _clone_diff
from trued.workspace.git.clones import Clones
from trued.workspace.git.store import Store


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=u", "-c", "user.email=u@example.invalid", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.spec("PAGE-6")
async def test_looking_at_a_clone_runs_no_filter_of_a_submodule_that_an_agent_made_there(tmp_path: Path) -> None:
    repository, home, ran = tmp_path / "repository", tmp_path / "home", tmp_path / "ran"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    (repository / "a.txt").write_text("a\n")
    git(repository, "add", "-A")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(repository, "commit", "-qm", "base")
    base = git(repository, "rev-parse", "HEAD")
    store = Store(repository, home, "r-1")
    await store.begin(base)
    clone = await Clones(store, home / "runs" / "r-1" / "clones").provide("dev", base, "token")
    sub = clone.work / "sub"
    sub.mkdir(exist_ok=True)
    git(sub, "init", "-q")
    (sub / "q").write_text("hello\n")
    git(sub, "add", "q")
    script = sub / ".git" / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    git(sub, "config", "filter.evil.clean", str(script))
    (sub / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    (sub / "q").write_text("hellp\n")
    (sub / ".git" / "HEAD").write_text("1" * 40 + "\n")
    (clone.work / "a.txt").write_text("b\n")
    parts = _clone_diff(str(store.folder), str(clone.folder), 0)
    assert ("+", "+b\n") in parts
    assert not ran.exists()
