"""Publishing moves the run's branch in the user's repository forward, and touches nothing else there."""

import os
import time
from pathlib import Path

import pytest

from tests.workspace.conftest import Begin, git_in, snapshot
from trued.errors import BadInput
from trued.wire import Confinement
from trued.workspace.git.workspace import GitWorkspace

BRANCH = "refs/heads/trued/r1"


async def work_on(workspace: GitWorkspace, head: str, text: bytes) -> str:
    return await workspace.commit_files(head, {"docs/log.md": text}, message="log", when=1_700_000_000.0)


def besides_objects(repo: Path) -> dict[str, bytes]:
    ours = (str(repo / ".git" / "objects"), str(repo / ".git" / BRANCH), str(repo / ".git" / "logs" / BRANCH))
    return {path: content for path, content in snapshot(repo).items() if not path.startswith(ours)}


@pytest.mark.spec("RUN-4")
async def test_nothing_in_the_users_repository_changes_but_the_runs_branch(
    workspace: GitWorkspace, repo: Path, tmp_path: Path
) -> None:
    git_in(repo, "branch", "other")
    git_in(repo, "tag", "v1")
    git_in(repo, "config", "fetch.prune", "true")
    git_in(repo, "config", "fetch.writeCommitGraph", "true")
    git_in(repo, "config", "gc.auto", "1")
    git_in(repo, "config", "remote.origin.url", str(tmp_path))
    git_in(repo, "config", "remote.origin.fetch", "+refs/*:refs/remotes/origin/*")
    (repo / ".git" / "FETCH_HEAD").write_text("as it was\n")
    (repo / "app.py").write_text("the user works here\n")
    (repo / "untracked").write_text("too\n")
    trap = tmp_path / "sprung"
    (repo / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in ("reference-transaction", "post-checkout", "post-merge", "pre-auto-gc", "post-rewrite"):
        (repo / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\ntouch '{trap}'\n")
        (repo / ".git" / "hooks" / hook).chmod(0o755)
    before = besides_objects(repo)
    head = await work_on(workspace, workspace.base, b"one")
    assert await workspace.publish(head) == ""
    second = await work_on(workspace, head, b"two")
    assert await workspace.publish(second) == ""
    assert await workspace.publish(second) == ""
    assert besides_objects(repo) == before
    assert not trap.exists()
    assert git_in(repo, "rev-parse", BRANCH) == second
    assert git_in(repo, "show", f"{BRANCH}:docs/log.md") == "two"
    git_in(repo, "fsck", "--full", "--strict")


@pytest.mark.spec("RUN-4")
async def test_a_branch_that_is_checked_out_is_left_alone(workspace: GitWorkspace, repo: Path, tmp_path: Path) -> None:
    head = await work_on(workspace, workspace.base, b"one")
    assert await workspace.publish(head) == ""
    git_in(repo, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "trued/r1")
    second = await work_on(workspace, head, b"two")
    assert "checked out" in await workspace.publish(second)
    git_in(repo, "worktree", "remove", str(tmp_path / "elsewhere"))
    third = await work_on(workspace, second, b"three")
    assert await workspace.publish(third) == ""
    git_in(repo, "checkout", "-q", "trued/r1")
    assert "checked out" in await workspace.publish(await work_on(workspace, third, b"four"))
    assert git_in(repo, "status", "--porcelain") == ""


@pytest.mark.spec("RUN-4")
async def test_a_branch_that_somebody_else_moved_is_not_overrun(workspace: GitWorkspace, repo: Path) -> None:
    head = await work_on(workspace, workspace.base, b"one")
    assert await workspace.publish(head) == ""
    theirs = git_in(repo, "commit-tree", "-p", head, "-m", "theirs", "HEAD^{tree}")
    git_in(repo, "update-ref", BRANCH, theirs)
    second = await work_on(workspace, head, b"two")
    assert "somebody else moved" in await workspace.publish(second)
    assert git_in(repo, "rev-parse", BRANCH) == theirs
    git_in(repo, "update-ref", BRANCH, head)
    assert await workspace.publish(second) == ""


async def test_after_a_crash_between_branch_and_note_it_is_still_ours(workspace: GitWorkspace, begin: Begin) -> None:
    head = await work_on(workspace, workspace.base, b"one")
    assert await workspace.publish(head) == ""
    await workspace.store.git("update-ref", "-d", workspace.store.ref("published"))
    restarted = begin()
    await restarted.begin()
    assert await restarted.publish(await work_on(restarted, head, b"two")) == ""


@pytest.mark.spec("RUN-4")
@pytest.mark.parametrize("content", [b"", b"\xff\x00garbage {[\n"])
@pytest.mark.parametrize("names", [("base",), ("head",), ("published",), ("base", "head", "published")])
@pytest.mark.many(3)
async def test_a_broken_ref_of_the_store_stops_nothing(
    workspace: GitWorkspace, begin: Begin, repo: Path, content: bytes, names: tuple[str, ...]
) -> None:
    def damage() -> None:
        for name in names:
            (workspace.store.folder / workspace.store.ref(name)).write_bytes(content)

    head = await work_on(workspace, workspace.base, b"one")
    assert await workspace.publish(head) == ""
    damage()
    second = await work_on(workspace, head, b"two")
    assert await workspace.publish(second) == ""
    damage()
    restarted = begin()
    await restarted.begin()
    assert (await restarted.store.refs("base")) == {restarted.store.ref("base"): workspace.base}
    third = await work_on(restarted, second, b"three")
    assert await restarted.publish(third) == ""
    assert git_in(repo, "rev-parse", BRANCH) == third


@pytest.mark.spec("RUN-4")
async def test_a_broken_ref_gives_nobody_elses_work_away(workspace: GitWorkspace, repo: Path) -> None:
    head = await work_on(workspace, workspace.base, b"one")
    assert await workspace.publish(head) == ""
    theirs = git_in(repo, "commit-tree", "-p", head, "-m", "theirs", "HEAD^{tree}")
    git_in(repo, "update-ref", BRANCH, theirs)
    for name in ("head", "published"):
        (workspace.store.folder / workspace.store.ref(name)).write_bytes(b"")
    assert "somebody else moved" in await workspace.publish(await work_on(workspace, head, b"two"))
    assert git_in(repo, "rev-parse", BRANCH) == theirs


async def test_work_is_recorded_over_a_broken_ref_after_a_restart(workspace: GitWorkspace, begin: Begin) -> None:
    head = await work_on(workspace, workspace.base, b"one")
    (workspace.store.folder / workspace.store.ref(f"record/{head}")).write_bytes(b"")
    restarted = begin()
    await restarted.begin()
    assert await work_on(restarted, workspace.base, b"one") == head


@pytest.mark.spec("RUN-4")
async def test_an_old_lock_on_the_runs_branch_is_removed_and_no_other(workspace: GitWorkspace, repo: Path) -> None:
    head = await work_on(workspace, workspace.base, b"one")
    assert await workspace.publish(head) == ""
    long_ago = time.time() - 3600
    ours, other = (repo / ".git" / f"refs/heads/{name}.lock" for name in ("trued/r1", "trued/r2"))
    for lock in (ours, other):
        lock.touch()
        os.utime(lock, (long_ago, long_ago))
    second = await work_on(workspace, head, b"two")
    assert await workspace.publish(second) == ""
    assert git_in(repo, "rev-parse", BRANCH) == second
    assert other.exists()


@pytest.mark.spec("RUN-4")
async def test_a_fresh_lock_on_the_runs_branch_is_left_and_named(workspace: GitWorkspace, repo: Path) -> None:
    head = await work_on(workspace, workspace.base, b"one")
    assert await workspace.publish(head) == ""
    lock = repo / ".git" / f"{BRANCH}.lock"
    lock.touch()
    second = await work_on(workspace, head, b"two")
    assert f"delete {lock}" in await workspace.publish(second)
    assert lock.exists()
    assert git_in(repo, "rev-parse", BRANCH) == head
    lock.unlink()
    assert await workspace.publish(second) == ""


async def test_a_repository_that_cannot_be_written_is_said_and_no_error(workspace: GitWorkspace, repo: Path) -> None:
    head = await work_on(workspace, workspace.base, b"one")
    (repo / ".git" / "refs" / "heads" / "trued").write_text("in the way")
    assert "trued/r1" in await workspace.publish(head)
    assert git_in(repo, "status", "--porcelain") == ""


async def test_linked_worktrees_and_detached_heads_are_published_to(begin: Begin, repo: Path, tmp_path: Path) -> None:
    git_in(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "side"))
    base = git_in(repo, "rev-parse", "HEAD")
    workspace = GitWorkspace(tmp_path / "side", tmp_path / "state", "r1", "trued/r1", base, Confinement())
    await workspace.begin()
    head = await work_on(workspace, base, b"one")
    assert await workspace.publish(head) == ""
    assert git_in(repo, "rev-parse", BRANCH) == head


async def test_a_shallow_clone_can_be_worked_on(repo: Path, tmp_path: Path) -> None:
    (repo / "app.py").write_text("second\n")
    git_in(repo, "commit", "-q", "-am", "second")
    git_in(tmp_path, "clone", "-q", "--depth=1", repo.as_uri(), str(tmp_path / "shallow"))
    base = git_in(tmp_path / "shallow", "rev-parse", "HEAD")
    workspace = GitWorkspace(tmp_path / "shallow", tmp_path / "state", "r1", "trued/r1", base, Confinement())
    await workspace.begin()
    work, _ = await workspace.clone("a", base, token="1")
    assert git_in(work, "log", "--format=%H") == base
    (work / "app.py").write_text("third\n")
    taken = await workspace.commit_clone("a", base, author="a", message="m", when=1.0)
    assert await workspace.publish(taken.commit) == ""
    assert git_in(tmp_path / "shallow", "rev-parse", BRANCH) == taken.commit


async def test_a_repository_with_the_longer_hashes_is_worked_on(tmp_path: Path) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    git_in(folder, "init", "-q", "--object-format=sha256")
    (folder / "a").write_text("x")
    git_in(folder, "add", "-A")
    git_in(folder, "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x")
    base = git_in(folder, "rev-parse", "HEAD")
    workspace = GitWorkspace(folder, tmp_path / "state", "r1", "trued/r1", base, Confinement())
    await workspace.begin()
    work, _ = await workspace.clone("a", base, token="1")
    assert git_in(work, "status", "--porcelain") == ""
    (work / "b").write_text("y")
    taken = await workspace.commit_clone("a", base, author="a", message="m", when=1.0)
    assert await workspace.publish(taken.commit) == ""


async def test_a_base_that_is_gone_is_said(begin: Begin, repo: Path, tmp_path: Path) -> None:
    workspace = GitWorkspace(repo, tmp_path / "state", "r1", "trued/r1", "1" * 40, Confinement())
    with pytest.raises(BadInput, match="cannot copy 111111111111"):
        await workspace.begin()


# -- the engine's own commits ----------------------------------------------------------------------------------------


async def test_record_changes_the_named_files_and_nothing_else(workspace: GitWorkspace) -> None:
    files = {"docs/größe.md": "ü".encode(), "run.sh": b"#!/bin/sh\n", "a\nb": b"odd"}
    head = await workspace.commit_files(workspace.base, files, message="by the engine", when=5.0)
    assert await workspace.changed_files(workspace.base, head) == ("a\nb", "docs/größe.md", "run.sh")
    assert await workspace.read(head, "docs/größe.md") == "ü".encode()
    assert (await workspace.store.entries(head))["run.sh"][0] == "100755"
    assert await workspace.commit_files(workspace.base, files, message="by the engine", when=5.0) == head
    assert await workspace.commit_files(head, files, message="again", when=6.0) == head
    assert await workspace.commit_files(head, {}, message="nothing", when=6.0) == head


async def test_commits_are_read_by_path(workspace: GitWorkspace) -> None:
    base = workspace.base
    assert await workspace.read(base, "app.py") == b"print('hello')\n"
    assert await workspace.read(base, "missing") is None
    assert await workspace.read(base, "lib") is None
    assert set(await workspace.blobs(base)) == {".gitignore", "app.py", "lib/größe.py", "link", "run.sh"}
    assert await workspace.tree(base) == await workspace.store.git.line("rev-parse", f"{base}^{{tree}}")
