"""Programs that a repository tells git to run are not run, and a room has exactly the bytes of the commit."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workspace.conftest import Begin, git_in
from trued.errors import TruedError
from trued.wire import Confinement
from trued.workspace.git.commit_lookup import find_commit
from trued.workspace.git.workspace import GitWorkspace

PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand", "core.editor", "core.pager"),
    *("credential.helper", "uploadpack.packObjectsHook", "gpg.program", "diff.external"),
)


def trap(folder: Path, name: str) -> tuple[Path, Path]:
    """A program that leaves a mark when it is run, and the mark."""
    mark, program = folder / f"{name}.ran", folder / name
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    program.chmod(0o755)
    return program, mark


@pytest.mark.spec("LAW-4")
async def test_nothing_that_a_repository_names_is_run_and_no_byte_is_changed(repo: Path, tmp_path: Path) -> None:
    traps = tmp_path / "traps"
    traps.mkdir()
    program, mark = trap(traps, "trap")
    odd = {
        "a.txt": b"one\r\ntwo\n",
        "id.c": b"$Id$ $Format:%H$\n",
        "wide.txt": "größe\n".encode("utf-16-le"),
        "data.bin": b"\0\1",
        "hidden/x": b"x",
        "Case.py": b"upper",
        "case.py": b"lower",
        "back\\slash": b"\\",
        "new\nline": b"n",
        "-rf": b"dash",
        ".gitignore.d/.gitmodules-like": b"y",
    }
    attributes = "*.txt text eol=crlf\n*.c ident export-subst\nwide.txt working-tree-encoding=UTF-16LE\n"
    attributes += "*.bin filter=trap diff=trap merge=trap\nhidden export-ignore\n"
    (repo / ".gitattributes").write_text("* -text\n")
    for name, content in odd.items():
        place = repo / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
    git_in(repo, "add", "-A", "-f")
    (repo / ".gitattributes").write_text(attributes)
    blob = git_in(repo, "hash-object", "-w", "--no-filters", ".gitattributes")
    git_in(repo, "update-index", "--cacheinfo", f"100644,{blob},.gitattributes")
    git_in(repo, "commit", "-q", "-m", "odd")
    for key in ("smudge", "clean", "process"):
        git_in(repo, "config", f"filter.trap.{key}", str(program))
    for key in PROGRAMS:
        git_in(repo, "config", key, str(program))
    git_in(repo, "config", "core.worktree", "/etc")
    git_in(repo, "config", "core.attributesFile", str(traps / "none"))
    hooks = repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "fsmonitor-watchman"):
        shutil.copy(program, hooks / name)
    other = git_in(repo, "--work-tree", str(repo), "commit-tree", "-m", "forged", git_in(repo, "mktree"))
    (repo / ".git" / "info").mkdir(exist_ok=True)
    head = git_in(repo, "rev-parse", "HEAD")
    (repo / ".git" / "info" / "grafts").write_text(f"{head} {other}\n")
    git_in(repo, "replace", head, other)
    (repo / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "objects" / "info" / "alternates").write_text("/nonexistent/objects\n")
    mark.unlink(missing_ok=True)
    found = await find_commit(str(repo), tmp_path)
    assert found.commit == head
    workspace = GitWorkspace(found.root or found.git, tmp_path / "state", "r1", "", head, Confinement())
    await workspace.store.begin(head, depth=1)
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        assert {name: (room / name).read_bytes() for name in odd} == odd
        assert not (room / ".git").exists()
    assert not mark.exists()


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("name", [".git", ".GIT", ".git ", "git~1", ".g\u200cit"])
async def test_a_tree_that_holds_a_repository_of_its_own_gives_no_room_that_git_would_obey(
    repo: Path, begin: Begin, name: str
) -> None:
    """The commit is refused with a sentence, or the folder only has an odd name and git does not use it."""
    blob = git_in(repo, "hash-object", "-w", "app.py")
    inner = _tree(repo, f"100644 blob {blob}\tconfig\n")
    outer = _tree(repo, f"040000 tree {inner}\t{name}\n")
    commit = git_in(repo, "commit-tree", "-m", "odd", outer)
    git_in(repo, "update-ref", "refs/heads/main", commit)
    workspace = begin()
    with contextlib.suppress(TruedError):
        await workspace.begin()
        async with workspace.room(workspace.base) as room:
            assert not (room / ".git").exists()


def _tree(repo: Path, lines: str) -> str:
    made = subprocess.run(["git", "mktree"], cwd=repo, input=lines.encode(), capture_output=True, check=True)
    return made.stdout.decode().strip()


@pytest.mark.spec("LAW-4")
async def test_a_repository_behind_a_link_is_read_where_it_is(repo: Path, begin: Begin, tmp_path: Path) -> None:
    (repo / ".git").rename(tmp_path / "elsewhere.git")
    (repo / ".git").symlink_to(tmp_path / "elsewhere.git")
    workspace = begin()
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        assert (room / "app.py").is_file()


@pytest.mark.spec("LAW-4")
async def test_a_large_file_of_a_commit_is_there_whole(repo: Path, begin: Begin) -> None:
    content = os.urandom(1 << 16) * 64
    (repo / "large").write_bytes(content)
    git_in(repo, "add", "large")
    git_in(repo, "commit", "-q", "-m", "large")
    workspace = begin()
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        assert (room / "large").read_bytes() == content
