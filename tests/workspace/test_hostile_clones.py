"""Clones in which an agent set traps: the engine reads their files and runs nothing from them."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.workspace.conftest import git_in, snapshot
from tests.workspace.test_clones import rescued, take
from trued.workspace.git.workspace import GitWorkspace


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a mark when somebody runs it."""
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\ncat\n")
    program.chmod(0o755)
    return program


def shell(script: str, folder: Path) -> None:
    subprocess.run(["bash", "-c", script], cwd=folder, check=True)


async def whole_life(workspace: GitWorkspace, name: str) -> str:
    """Do everything with a clone that the engine ever does."""
    head, _ = await take(workspace, name, workspace.base)
    await workspace.clone(name, head, token="again")
    await workspace.drop_clone(name, "end")
    async with workspace.room(head):
        pass
    return head


@pytest.mark.spec("LAW-4", "RUN-4")
async def test_hooks_filters_and_monitors_of_a_clone_never_run(workspace: GitWorkspace, trap: Path) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    hooks = work / ".git" / "hooks"
    hooks.mkdir()
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "post-commit"):
        (hooks / hook).write_bytes(trap.read_bytes())
        (hooks / hook).chmod(0o755)
    settings = ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.external"]
    for key in (*settings, "core.sshCommand", "uploadpack.packObjectsHook", "core.pager", "credential.helper"):
        git_in(work, "config", key, str(trap))
    (work / ".gitattributes").write_text(
        "* filter=evil text eol=crlf ident diff=evil\n*.py working-tree-encoding=UTF-16\n"
    )
    (work / "app.py").write_bytes(b"changed $Id$\r\n")
    head = await whole_life(workspace, "a")
    assert not (trap.parent / "sprung").exists()
    assert await workspace.read(head, "app.py") == b"changed $Id$\r\n"
    async with workspace.room(head) as room:
        assert (room / "app.py").read_bytes() == b"changed $Id$\r\n"


async def test_a_clone_cannot_point_the_engine_at_another_folder(workspace: GitWorkspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("not the agent's")
    work, _ = await workspace.clone("a", workspace.base, token="1")
    git_in(work, "config", "core.worktree", str(outside))
    git_in(work, "config", "core.excludesFile", str(tmp_path / "exclude"))
    (tmp_path / "exclude").write_text("*\n")
    (work / ".git" / "info").mkdir(exist_ok=True)
    (work / ".git" / "info" / "exclude").write_text("hidden.py\n")
    (work / "hidden.py").write_text("seen all the same")
    before = snapshot(outside)
    head = await whole_life(workspace, "a")
    assert snapshot(outside) == before
    assert await workspace.read(head, "secret") is None
    assert await workspace.read(head, "hidden.py") == b"seen all the same"


async def test_index_flags_hide_nothing(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    git_in(work, "update-index", "--assume-unchanged", "app.py")
    git_in(work, "update-index", "--skip-worktree", "run.sh")
    (work / "app.py").write_text("changed\n")
    (work / "run.sh").write_text("changed\n")
    assert (await take(workspace, "a", workspace.base))[1] == ("app.py", "run.sh")


async def test_replace_refs_grafts_and_rewritten_history_change_nothing(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "app.py").write_text("forged\n")
    git_in(work, "add", "-A")
    git_in(work, "commit", "-q", "--amend", "-m", "forged base")
    forged = git_in(work, "rev-parse", "HEAD")
    git_in(work, "replace", "-f", workspace.base, forged)
    head, changed = await take(workspace, "a", workspace.base)
    assert changed == ("app.py",)
    assert await workspace.read(workspace.base, "app.py") == b"print('hello')\n"
    await workspace.drop_clone("a", "end")
    assert await workspace.read(workspace.base, "app.py") == b"print('hello')\n"
    assert git_in(workspace.store.folder, "for-each-ref", "refs/replace") == ""
    assert await workspace.read(head, "app.py") == b"forged\n"


@pytest.mark.parametrize("way", ["removed", "file", "link", "empty", "foreign", "torn"])
async def test_a_clone_whose_git_is_gone_or_false_is_still_taken(
    workspace: GitWorkspace, tmp_path: Path, way: str
) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "mine").write_text("work")
    dot, away = work / ".git", tmp_path / "away"
    if way == "torn":
        for pack in (dot / "objects" / "pack").iterdir():
            pack.chmod(0o644)
            pack.write_bytes(b"")
    else:
        dot.rename(away)
    if way == "file":
        dot.write_text(f"gitdir: {away}\n")
    elif way == "link":
        dot.symlink_to(away)
    elif way == "empty":
        dot.mkdir()
    elif way == "foreign":
        git_in(work, "init", "-q")
    kept = snapshot(away) if away.exists() else {}
    head, changed = await take(workspace, "a", workspace.base)
    assert changed == ("mine",)
    await workspace.clone("a", head, token="2")
    assert git_in(work, "rev-parse", "HEAD") == head
    assert git_in(work, "status", "--porcelain") == ""
    git_in(work, "fsck", "--full")
    await workspace.drop_clone("a", "end")
    if kept:
        assert snapshot(away) == kept


async def test_a_repository_inside_the_clone_is_taken_as_its_files(workspace: GitWorkspace, trap: Path) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    for name, committed in (("with", True), ("without", False)):
        inner = work / name / "inner"
        inner.mkdir(parents=True)
        git_in(inner, "init", "-q")
        git_in(inner, "config", "core.fsmonitor", str(trap))
        (inner / "file").write_text(name)
        (inner / "noise.log").write_text("ignored by the outer tree")
        if committed:
            git_in(inner, "-c", "core.fsmonitor=false", "add", "-A")
            git_in(
                inner, *("-c", "core.fsmonitor=false", "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x")
            )
    git_in(work / "lib", "init", "-q")
    (work / "lib" / "more.py").write_text("2")
    head, changed = await take(workspace, "a", workspace.base)
    assert changed == ("lib/more.py", "with/inner/file", "without/inner/file")
    assert not (trap.parent / "sprung").exists()
    assert await workspace.read(head, "with/inner/file") == b"with"
    await workspace.drop_clone("a", "end")


async def test_links_out_of_the_clone_are_kept_as_links_and_never_followed(
    workspace: GitWorkspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "größe.py").write_text("not the agent's")
    (outside / "note.md").write_text("not the agent's")
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "lib" / "größe.py").unlink()
    (work / "lib").rmdir()
    (work / "lib").symlink_to(outside)
    (work / "docs").symlink_to(outside)
    (work / ".gitignore").write_text("docs\nlib\n")
    before = snapshot(outside)
    head, changed = await take(workspace, "a", workspace.base)
    assert changed == (".gitignore", "lib/größe.py")
    moved = await workspace.commit_files(workspace.base, {"docs/note.md": b"engine's"}, message="note", when=1.0)
    await workspace.clone("a", moved, token="2")
    assert (work / "docs" / "note.md").read_bytes() == b"engine's"
    assert (work / "lib" / "größe.py").read_text() == "x = 1\n"
    await workspace.drop_clone("a", "end")
    assert snapshot(outside) == before
    assert await workspace.read(head, "lib/größe.py") is None


async def test_pipes_sockets_and_odd_names_do_not_stop_the_engine(workspace: GitWorkspace) -> None:
    workspace.store.hang_timeout_s = 1.0
    work, _ = await workspace.clone("a", workspace.base, token="1")
    os.mkfifo(work / "pipe")
    (work / "app.py").unlink()
    os.mkfifo(work / "app.py")
    (work / "sub").mkdir()
    os.mkfifo(work / "sub" / ".gitignore")
    (work / "sub" / "file").write_text("x")
    os.mkfifo(work / "lib" / ".gitattributes")
    (work / "lib" / "größe.py").write_text("changed")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(work)
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
    for name in (b"caf\xe9", b"n" * 255, b"-rf", b" ", b"a\nb", b'"quoted"', b"git~1", b":(top)x", b"*"):
        (work / os.fsdecode(name)).write_text("x")
    (work / ".GIT").mkdir()
    (work / ".GIT" / "config").write_text("x")
    head, changed = await take(workspace, "a", workspace.base)
    expected = {
        "app.py",
        "caf\\xe9",
        "n" * 255,
        "-rf",
        " ",
        "a\nb",
        '"quoted"',
        ":(top)x",
        "*",
        "sub/file",
        "lib/größe.py",
    }
    assert set(changed) == expected
    assert "app.py" not in await workspace.blobs(head)
    await workspace.clone("a", head, token="2")
    await workspace.drop_clone("a", "end")
    assert not work.exists()


async def test_pipes_in_the_agents_git_do_not_stop_a_rescue(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "mine").write_text("work")
    dot = work / ".git"
    (dot / "HEAD").unlink()
    os.mkfifo(dot / "HEAD")
    os.mkfifo(dot / "packed-refs")
    os.mkfifo(dot / "refs" / "heads" / "pipe")
    (dot / "refs" / "heads" / "loop").symlink_to("loop")
    (dot / "refs" / "heads" / "false").write_text("f" * 40)
    await workspace.drop_clone("a", "end")
    assert len(await rescued(workspace)) == 1


async def test_what_the_agent_shut_away_is_still_its_work(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "shut").mkdir()
    (work / "shut" / "file").write_text("x")
    (work / "shut" / "file").chmod(0)
    (work / "shut").chmod(0)
    assert (await take(workspace, "a", workspace.base))[1] == ("shut/file",)
    await workspace.drop_clone("a", "end")
    assert not work.exists()


async def test_a_very_deep_folder_is_taken_as_far_as_paths_go_and_removed(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    deep = "d=$(printf 'd%.0s' $(seq 200)); for i in $(seq 60); do mkdir $d && cd $d || exit 1; done; echo x > bottom"
    shell(deep, work)
    (work / "mine").write_text("x")
    _, changed = await take(workspace, "a", workspace.base)
    assert "mine" in changed
    await workspace.drop_clone("a", "end")
    assert not work.exists()


async def test_a_submodule_is_an_empty_folder_and_not_an_agents_to_move(workspace: GitWorkspace, repo: Path) -> None:
    git_in(repo, "update-index", "--add", "--cacheinfo", f"160000,{workspace.base},vendor")
    git_in(repo, "commit", "-q", "-m", "a submodule")
    head = git_in(repo, "rev-parse", "HEAD")
    other = GitWorkspace(repo, workspace.home, "r2", "trued/r2", head, workspace.confinement())
    await other.begin()
    work, _ = await other.clone("a", head, token="1")
    assert list((work / "vendor").iterdir()) == []
    (work / "vendor" / "file").write_text("x")
    git_in(work / "vendor", "init", "-q")
    git_in(work / "vendor", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x")
    assert await take(other, "a", head) == (head, ())
    async with other.room(head) as room:
        assert list((room / "vendor").iterdir()) == []
    await other.drop_clone("a", "end")
