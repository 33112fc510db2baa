"""How many processes a verdict needs: git is asked only for what is not known yet."""

import os
import shutil
from pathlib import Path

import pytest

from tests.engine.two_commits import REQUIREMENTS, project
from trued.engine.verify import VerifyRequest, verify

# Two names, two looks at the history, a store, a copy, two lists, two rooms, contents; eight make a `.git` in each.
MOST = 24
COUNTING = '#!/bin/sh\necho "$@" >> "{log}"\nexec "{git}" "$@"\n'


@pytest.mark.spec("USE-5")
async def test_a_verdict_asks_git_a_handful_of_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, head = project(tmp_path / "repo")
    asked, log, real = tmp_path / "asked.yaml", tmp_path / "log.txt", shutil.which("git")
    asked.write_text(REQUIREMENTS)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(COUNTING.format(log=log, git=real))
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    request = VerifyRequest(base=base, head=head, requirements_file=asked, here=tmp_path / "repo")
    done = await verify(request, home=tmp_path / "state", environ=os.environ, tell=lambda event: None)
    calls = log.read_text().splitlines()
    assert done.code == 0
    assert 0 < len(calls) <= MOST, "\n".join(calls)
