"""Files, trees and contents of a commit are asked from git only once."""

import shutil
from pathlib import Path

import pytest

from tests.workspace.conftest import Begin, git_in

COUNTING = '#!/bin/sh\necho "$@" >> "{log}"\nexec "{git}" "$@"\n'


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git on the path that logs its command lines."""
    real = shutil.which("git")
    assert real
    folder, log = tmp_path / "bin", tmp_path / "asked.txt"
    folder.mkdir()
    (folder / "git").write_text(COUNTING.format(log=log, git=real))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    log.touch()
    return log


def words(log: Path) -> list[str]:
    return log.read_text().splitlines()


async def test_files_of_a_commit_are_read_by_one_look_and_those_it_lacks_by_none(
    begin: Begin, repo: Path, asked: Path
) -> None:
    (repo / "empty.txt").touch()
    (repo / "big.bin").write_bytes(bytes(range(256)) * 1024)
    (repo / "two\nlines").write_bytes(b"\n\nnot a header blob 3\n")
    git_in(repo, "add", "-A")
    git_in(repo, "commit", "-q", "-m", "odd files")
    workspace = begin()
    await workspace.begin()
    base = workspace.base
    await workspace.blobs(base)
    before = len(words(asked))
    names = ["app.py", "lib/größe.py", "link", "empty.txt", "big.bin", "two\nlines", "lib", "none.py"]
    found = await workspace.read_all(base, names)
    assert len(words(asked)) == before + 1
    assert set(names) - found.keys() == {"lib", "none.py"}
    assert found["big.bin"] == (repo / "big.bin").read_bytes()
    assert (found["link"], found["empty.txt"], found["two\nlines"]) == (b"app.py", b"", b"\n\nnot a header blob 3\n")
    assert [await workspace.read(base, name) for name in ("none.py", "lib", "../app.py")] == [None] * 3
    assert await workspace.read(base, "lib/größe.py") == b"x = 1\n"
    assert len(words(asked)) == before + 1


async def test_trees_and_differences_of_commits_are_asked_once(begin: Begin, repo: Path, asked: Path) -> None:
    workspace = begin()
    await workspace.begin()
    base = workspace.base
    head = await workspace.commit_files(base, {"new.py": b"x = 2\n"}, message="new", when=1.0)
    before = len(words(asked))
    for _ in range(3):
        assert await workspace.changed_files(base, head) == ("new.py",)
        assert await workspace.tree(head) != await workspace.tree(base)
    assert len(words(asked)) <= before + 3


async def test_a_name_that_can_move_is_asked_for_each_time(begin: Begin, repo: Path) -> None:
    workspace = begin()
    await workspace.begin()
    ref = workspace.store.ref("base")
    first = await workspace.store.tree(ref)
    head = await workspace.commit_files(workspace.base, {"new.py": b"x = 2\n"}, message="new", when=1.0)
    await workspace.store.set_ref("base", head)
    assert await workspace.store.tree(ref) != first
    assert await workspace.read(ref, "new.py") == b"x = 2\n"
