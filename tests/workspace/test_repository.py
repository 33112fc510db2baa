"""Repositories in which a run can start; otherwise one sentence says why not."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.workspace.conftest import git_in, snapshot
from trued.errors import BadInput
from trued.workspace.git.repository import blocking_file, open_repository


def test_a_repository_is_found_from_a_folder_inside_it(repo: Path) -> None:
    found = open_repository(repo / "lib")
    assert found.root == repo
    assert found.head == git_in(repo, "rev-parse", "HEAD")
    assert (found.branch, found.dirty) == ("main", ())


@pytest.mark.spec("PIPE-1")
def test_other_files_in_the_folder_above_do_not_block_a_folder(repo: Path) -> None:
    (repo / "docs").mkdir()
    (repo / "docs" / "conf.py").write_text("project = 'tiny'\n")
    (repo / ".notes").write_text("a file\n")
    git_in(repo, "add", "-A")
    git_in(repo, "commit", "-qm", "docs")
    assert blocking_file(repo, "docs/feature") == ""
    assert blocking_file(repo, "docs") == ""
    assert blocking_file(repo, "docs/conf.py/feature") == "docs/conf.py"
    assert blocking_file(repo, ".notes/team") == ".notes"


@pytest.mark.spec("RUN-4")
def test_a_dirty_working_tree_is_listed_and_left_alone(repo: Path) -> None:
    (repo / "app.py").write_text("changed\n")
    (repo / "neu ü.txt").write_text("new\n")
    before = snapshot(repo)
    assert open_repository(repo).dirty == ("app.py", "neu ü.txt")
    assert snapshot(repo) == before


def test_a_detached_head_is_fine(repo: Path) -> None:
    git_in(repo, "checkout", "-q", "--detach")
    found = open_repository(repo)
    assert found.branch == ""
    assert len(found.head) == 40


def test_a_linked_worktree_is_fine(repo: Path, tmp_path: Path) -> None:
    git_in(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side tree"))
    found = open_repository(tmp_path / "side tree")
    assert (found.root, found.branch) == (tmp_path / "side tree", "side")
    assert found.common == repo / ".git"


def test_what_cannot_be_started_from_is_one_clear_sentence(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    git_in(tmp_path / "empty", "init", "-q")
    (tmp_path / "plain").mkdir()
    git_in(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    cases = {
        tmp_path / "missing": "does not exist",
        tmp_path / "plain": "is not in a git repository",
        tmp_path / "empty": "has no commit yet",
        tmp_path / "bare.git": "is a bare repository",
        repo / ".git": "is inside a .git folder",
    }
    for path, sentence in cases.items():
        with pytest.raises(BadInput, match=sentence) as caught:
            open_repository(path)
        assert "\n" not in str(caught.value)
        assert caught.value.then


def test_hooks_and_monitors_of_the_repository_do_not_run_when_it_is_opened(repo: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
    trap.chmod(0o755)
    git_in(repo, "config", "core.fsmonitor", str(trap))
    open_repository(repo)
    assert not (tmp_path / "sprung").exists()
    subprocess.run(["git", "-C", str(repo), "status"], check=False, capture_output=True)
    assert (tmp_path / "sprung").exists(), "the trap itself works"


@pytest.mark.parametrize("name", ["evil", "ev=il"])
@pytest.mark.parametrize("where", ["config", "include", "worktree"])
def test_filters_of_the_repository_do_not_run_when_it_is_opened_and_those_of_the_user_do(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (repo / "a.txt").write_text("a\n")
    (repo / ".gitattributes").write_text(f"a.txt filter={name}\n")
    git_in(repo, "add", "-A")
    git_in(repo, "commit", "-qm", "a")
    (repo / "a.txt").write_text("b\n")
    place = {"config": (), "include": ("-f", str(tmp_path / "more")), "worktree": ("--worktree",)}[where]
    if where == "include":
        git_in(repo, "config", "include.path", str(tmp_path / "more"))
    elif where == "worktree":
        git_in(repo, "config", "extensions.worktreeConfig", "true")
    for key in ("clean", "smudge", "process"):
        git_in(repo, "config", *place, f"filter.{name}.{key}", f"touch '{tmp_path}/sprung'; cat")
    git_in(repo, "config", *place, f"filter.{name}.required", "true")
    assert open_repository(repo).dirty == ("a.txt",)
    assert not (tmp_path / "sprung").exists()
    subprocess.run(["git", "-C", str(repo), "status"], check=False, capture_output=True)
    assert (tmp_path / "sprung").exists(), "the trap itself works"
    (tmp_path / "sprung").unlink()
    git_in(repo, "config", *place, "--unset", f"filter.{name}.process")  # an empty one would turn off `clean`, too
    own = ("-f", str(tmp_path / "home" / ".gitconfig"))
    git_in(repo, "config", *own, f"filter.{name}.clean", f"touch '{tmp_path}/own'; echo a")
    assert open_repository(repo).dirty == ()
    assert (tmp_path / "own").exists(), "the user's own filter is theirs"
    assert not (tmp_path / "sprung").exists()


def test_a_file_whose_name_is_not_utf_8_is_listed_readably(repo: Path) -> None:
    Path(os.fsdecode(os.fsencode(repo) + b"/caf\xe9.txt")).write_text("new\n")
    assert open_repository(repo).dirty == ("caf\\xe9.txt",)


@pytest.mark.parametrize("name", [b"r\xe9po", b"re\npo"])
def test_a_path_that_cannot_be_stored_is_one_clear_sentence(repo: Path, tmp_path: Path, name: bytes) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    repo.rename(odd)
    with pytest.raises(BadInput, match="has a line break in it, or is not UTF-8") as caught:
        open_repository(odd)
    assert str(caught.value).isascii()
    assert "\n" not in str(caught.value)


def test_the_home_of_nobody_is_one_clear_sentence() -> None:
    with pytest.raises(BadInput, match="there is no folder"):
        open_repository("~nobody-here/project")
