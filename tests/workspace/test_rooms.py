"""Clean rooms contain the commit, and nothing else of the repository."""

import os
from pathlib import Path

import pytest

from tests.workspace.conftest import Begin, git_in
from tests.workspace.test_clones import take
from trued.wire import Confinement
from trued.workspace.git.workspace import GitWorkspace


@pytest.mark.spec("LAW-4")
async def test_a_room_is_the_commit_and_nothing_else(workspace: GitWorkspace, repo: Path) -> None:
    (repo / "untracked").write_text("not in the commit")
    (repo / "cache.log").write_text("ignored")
    (repo / "app.py").write_text("not committed")
    async with workspace.room(workspace.base) as room:
        found = {str(path.relative_to(room)) for path in room.rglob("*") if not path.is_dir()}
        assert found == {".gitignore", "app.py", "lib/größe.py", "link", "run.sh"}
        assert (room / "app.py").read_text() == "print('hello')\n"
        assert (room / "link").readlink() == Path("app.py")
        assert os.access(room / "run.sh", os.X_OK)
        (room / "app.py").write_text("writable")
    assert not room.exists()


@pytest.mark.spec("LAW-4")
async def test_every_room_is_fresh(workspace: GitWorkspace) -> None:
    async with workspace.room(workspace.base) as first, workspace.room(workspace.base) as second:
        (first / "left").write_text("state")
        (first / "app.py").write_text("changed")
        assert first != second
        assert not (second / "left").exists()
    async with workspace.room(workspace.base) as third:
        assert (third / "app.py").read_text() == "print('hello')\n"


@pytest.mark.spec("LAW-4")
async def test_attributes_of_the_tree_change_no_byte_of_a_room(workspace: GitWorkspace, repo: Path) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    asked = "*.txt text eol=crlf\nhidden export-ignore\nid ident export-subst\n*.bin filter=lfs\n"
    (work / ".gitattributes").write_text(asked)
    content = {"a.txt": b"one\ntwo\n", "hidden": b"x", "id": b"$Id$ $Format:%H$\n", "b.bin": b"a pointer"}
    for name, data in content.items():
        (work / name).write_bytes(data)
    head, _ = await take(workspace, "a", workspace.base)
    async with workspace.room(head) as room:
        assert {name: (room / name).read_bytes() for name in content} == content


@pytest.mark.spec("LAW-4")
async def test_configuration_of_the_users_repository_changes_no_room(workspace: GitWorkspace, repo: Path) -> None:
    git_in(repo, "config", "core.autocrlf", "true")
    git_in(repo, "config", "core.symlinks", "false")
    forged = git_in(repo, "commit-tree", "-m", "forged", git_in(repo, "mktree", "--missing"))
    git_in(repo, "replace", workspace.base, forged)
    async with workspace.room(workspace.base) as room:
        assert (room / "app.py").read_bytes() == b"print('hello')\n"
        assert (room / "link").is_symlink()


async def test_a_room_is_gone_whatever_was_done_in_it(workspace: GitWorkspace) -> None:
    rooms: list[Path] = []

    async def wreck() -> None:
        async with workspace.room(workspace.base) as room:
            rooms.append(room)
            (room / "lib").chmod(0o500)
            (room / "shut").mkdir()
            (room / "shut" / "file").write_text("x")
            (room / "shut").chmod(0)
            (room / "out").symlink_to("/")
            os.makedirs(room.joinpath(*["d"] * 800))  # noqa: PTH103  (pathlib gives up at this depth)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await wreck()
    assert not rooms[0].parent.exists()


async def test_rooms_of_a_killed_engine_are_swept(workspace: GitWorkspace, begin: Begin) -> None:
    left = workspace.folder / "rooms" / "left"
    left.mkdir()
    (workspace.folder / "gone" / "x").mkdir(parents=True)
    await begin().begin()
    assert not left.exists()
    assert not (workspace.folder / "gone").exists()


@pytest.mark.parametrize("name", ["state", "st:ate", 'st"a\\te', "objects"])
async def test_a_room_gets_a_repository_wherever_the_state_is(repo: Path, tmp_path: Path, name: str) -> None:
    """Git separates folders by a colon; a file that is older than the index is not stored again."""
    base = git_in(repo, "rev-parse", "HEAD")
    workspace = GitWorkspace(repo, tmp_path / name, "run", "trued/run", base, Confinement(level="none"))
    await workspace.begin()
    async with workspace.room(base) as room:
        os.utime(room.parent / "index", (2e9, 2e9))
        made = await workspace.make_repository(room, base)
        assert git_in(room, f"--git-dir={made}", f"--work-tree={room}", "show", "HEAD:app.py") == "print('hello')"
