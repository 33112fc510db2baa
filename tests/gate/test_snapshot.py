"""A snapshot of uncommitted work is exactly what git would commit, and leaves the repository unchanged."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gate.yard import Yard
from trued.engine.worktree import open_checkout
from trued.errors import BadInput, CannotJudge
from trued.workspace.git.command import Git
from trued.workspace.git.snapshot import Snapshot, take_snapshot


async def taken(
    yard: Yard, at: Path | None = None, own: dict[str, bytes] | None = None, patience_s: float = 60.0
) -> Snapshot:
    here = open_checkout(at or yard.repository, yard.variables)
    worktree = replace(here.worktree, engine_files=own or {}, hang_timeout_s=patience_s)
    return await take_snapshot(worktree, yard.state / "snapshots.git")


async def files(found: Snapshot) -> dict[str, str]:
    out = await Git(found.repository)("ls-tree", "-r", "-z", found.commit)
    entries = [line.partition("\t") for line in out.decode().split("\0") if line]
    return {path: about.split(" ")[0] for about, _, path in entries}


def by_git(yard: Yard, aside: Path) -> str:
    """The tree that git itself would commit, made in a copy."""
    shutil.copytree(yard.repository, aside, symlinks=True)
    yard.git("add", "-A", at=aside)
    return yard.git("write-tree", at=aside).stdout.strip()


async def test_a_clean_tree_is_its_own_commit(yard: Yard) -> None:
    found = await taken(yard)
    assert found.commit == yard.git("rev-parse", "HEAD").stdout.strip()
    assert not found.dirty


async def test_the_snapshot_is_what_git_would_commit_and_nothing_is_touched(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("not ours")
    ignore = tmp_path / "home" / ".config" / "git" / "ignore"
    ignore.parent.mkdir(parents=True)
    ignore.write_text("*.mine\n")
    (yard.repository / ".git" / "info" / "exclude").write_text("scratch/\n")
    yard.write(".gitignore", "*.log\n!keep.log\n")
    yard.write("slug.py", "changed\n")
    yard.write("staged.py", "staged\n")
    yard.git("add", "staged.py")
    yard.write("staged.py", "and changed again\n")
    yard.write("new/größe\n two.py", "new\n")
    for hidden in ("a.log", "b.mine", "scratch/c"):
        yard.write(hidden, "hidden\n")
    yard.write("keep.log", "kept\n")
    yard.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (yard.repository / "link").symlink_to(tmp_path / "outside.txt")
    (yard.repository / "README.md").unlink()
    os.mkfifo(yard.repository / "pipe")
    before = yard.seen()
    found = await taken(yard)
    assert yard.seen() == before
    (yard.repository / "pipe").unlink()
    assert found.tree == by_git(yard, tmp_path / "copy")
    assert await files(found) == {
        ".gitignore": "100644",
        "keep.log": "100644",
        "link": "120000",
        "new/größe\n two.py": "100644",
        "run.sh": "100755",
        "slug.py": "100644",
        "staged.py": "100644",
    }
    assert (await taken(yard)).commit == found.commit


async def test_hooks_filters_and_monitors_of_the_repository_are_not_run(yard: Yard, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho sprung >> {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    yard.git("config", "filter.evil.clean", str(trap))
    yard.git("config", "filter.evil.process", str(trap))
    yard.git("config", "core.fsmonitor", str(trap))
    yard.git("config", "core.hooksPath", str(tmp_path))
    shutil.copy(trap, tmp_path / "post-index-change")
    yard.write(".gitattributes", "* filter=evil text eol=crlf\n")
    yard.write("slug.py", "changed\r\n")
    found = await taken(yard)
    assert not (tmp_path / "sprung").exists()
    assert await Git(found.repository)("cat-file", "blob", f"{found.commit}:slug.py") == b"changed\r\n"


async def test_a_submodule_stays_as_head_names_it_and_a_repository_inside_is_left_out(
    yard: Yard, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(yard.repository, other)
    yard.git("submodule", "--quiet", "add", str(other), "sub")
    yard.git("commit", "-qm", "with a submodule")
    (yard.repository / "sub" / "slug.py").write_text("changed inside\n")
    shutil.copytree(other, yard.repository / "nested")
    before = yard.seen()
    found = await taken(yard)
    assert yard.seen() == before
    assert not found.dirty
    assert found.notes == ("repositories inside this one are left out: nested/",)


async def test_what_lies_beyond_a_link_is_not_taken(yard: Yard, tmp_path: Path) -> None:
    yard.write("folder/a.py", "a\n")
    yard.git("add", ".")
    yard.git("commit", "-qm", "folder")
    shutil.copytree(yard.repository / "folder", tmp_path / "away")
    shutil.rmtree(yard.repository / "folder")
    (yard.repository / "folder").symlink_to(tmp_path / "away")
    found = await taken(yard)
    assert (await files(found))["folder"] == "120000"
    assert "folder/a.py" not in await files(found)


async def test_a_linked_worktree_is_judged_by_its_own_files(yard: Yard, tmp_path: Path) -> None:
    yard.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "new.py").write_text("new\n")
    assert not (await taken(yard)).dirty
    assert "new.py" in await files(await taken(yard, tmp_path / "side"))


async def test_what_a_sparse_checkout_leaves_out_is_not_removed(yard: Yard) -> None:
    yard.write("deep/down.py", "a\n")
    yard.git("add", ".")
    yard.git("commit", "-qm", "deep")
    yard.git("sparse-checkout", "set", "--cone", "other")
    assert not (yard.repository / "deep").exists()
    assert not (await taken(yard)).dirty


async def test_the_gates_own_files_are_no_work_until_somebody_changes_them(yard: Yard) -> None:
    yard.write(".claude/settings.json", "{}")
    own = {".claude/settings.json": b"{}"}
    assert not (await taken(yard, own=own)).dirty
    yard.write(".claude/settings.json", "{ }")
    assert (await taken(yard, own=own)).dirty


async def test_a_merge_that_conflicts_names_the_file_as_the_user_does(yard: Yard) -> None:
    def committed(name: str, text: str) -> str:
        yard.write(name, text)
        yard.git("add", "-A")
        yard.git("commit", "-qm", text)
        return yard.git("rev-parse", "HEAD").stdout.strip()

    yard.git("switch", "-qc", "work")
    theirs = committed('große "Namen".txt', "theirs")
    yard.git("switch", "-q", "main")
    here, private = open_checkout(yard.repository, yard.variables), yard.state / "merged.git"
    merged = await here.merged(private, committed("other.txt", "ours"), theirs)
    assert {"other.txt", 'große "Namen".txt'} <= (await files(Snapshot(private, merged, "", dirty=False))).keys()
    with pytest.raises(BadInput, match=r'in große "Namen"\.txt'):
        await here.merged(private, committed('große "Namen".txt', "ours"), theirs)


async def test_a_working_tree_on_which_git_hangs_is_one_sentence(yard: Yard) -> None:
    os.mkfifo(yard.repository / ".gitignore")
    with pytest.raises(CannotJudge, match="git hangs on the working tree"):
        await taken(yard, patience_s=0.5)
