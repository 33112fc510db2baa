"""Commits outside the run's branch: pictures without a history, and commits that an agent made itself."""

import asyncio
import os
import resource
from pathlib import Path

import pytest

from tests.workspace.conftest import Begin, git_in
from trued.workspace.git.changes_since import changes_since
from trued.workspace.git.workspace import GitWorkspace


@pytest.mark.spec("TIC-9")
async def test_pictures_are_a_commit_of_their_own_and_always_the_same_one(begin: Begin) -> None:
    workspace = begin()
    await workspace.begin()
    files = {"01-page-before.png": b"\x89PNG one", "deep/two.png": b"two"}
    first = await workspace.commit_without_history(files, message="docs: pictures", when=1.0)
    assert first == await workspace.commit_without_history(files, message="docs: pictures", when=1.0)
    assert set(await workspace.blobs(first)) == set(files)
    assert await workspace.read(first, "01-page-before.png") == b"\x89PNG one"
    assert git_in(workspace.store.folder, "rev-list", "--count", first) == "1"


@pytest.mark.spec("TIC-2")
async def test_a_commit_is_known_once_an_agent_made_it_and_no_other_is(repo: Path, begin: Begin) -> None:
    workspace = _named("fix/X-1-words", begin())
    await workspace.begin()
    work, _ = await workspace.clone("impl", workspace.base, token="t")
    assert git_in(work, "branch", "--show-current") == "fix/X-1-words"
    (work / "app.py").write_text("print('mine')\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    git_in(work, *who, "commit", "-qam", "mine")
    mine = git_in(work, "rev-parse", "HEAD")
    taken = await workspace.commit_clone("impl", workspace.base, author="impl-agent", message="work", when=1.0)
    await workspace.drop_clone("impl", "the session has ended")
    assert await workspace.is_known_commit(mine)
    assert await workspace.is_known_commit(mine[:9])
    assert await workspace.is_known_commit(taken.commit)
    (repo / "app.py").write_text("print('elsewhere')\n")
    git_in(repo, "commit", "-qam", "not of this run")
    for other in (git_in(repo, "rev-parse", "HEAD"), "0" * 40, "main", "", "-h", "HEAD"):
        assert not await workspace.is_known_commit(other)


def _named(branch: str, like: GitWorkspace) -> GitWorkspace:
    return GitWorkspace(like.repo, like.home, "r2", branch, like.base, like.confinement())


async def test_a_commit_of_hundreds_of_files_needs_no_hundreds_of_open_ones(begin: Begin) -> None:
    workspace = begin()
    await workspace.begin()
    files = {f"tasks/{number}.md": b"%d\n" % number for number in range(150)}
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(one) for one in os.listdir("/proc/self/fd")) + 300  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        async with asyncio.timeout(60):
            head = await workspace.commit_files(workspace.base, files, message="tasks", when=1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert set(await workspace.changed_files(workspace.base, head)) == set(files)


async def test_work_that_was_not_there_yet_is_seen_when_it_is(repo: Path, begin: Begin) -> None:
    workspace = begin()
    run, home = workspace.folder.name, workspace.home
    (repo / "more.py").write_text("1\n")
    git_in(repo, "add", ".")
    git_in(repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "more")
    head = git_in(repo, "rev-parse", "HEAD")
    assert changes_since(repo, home, run, workspace.base, head) is None
    await workspace.begin()
    await workspace.store.bring(await workspace.store.source(), head, "later")
    assert changes_since(repo, home, run, workspace.base, head) == (1, ("more.py",))
