"""Trust is recorded by content, outside the repository, and asked for again when a byte changes."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trued.engine.trust import REMEMBERED, files_to_trust, is_trusted, record_trust, trusted_files
from trued.errors import BadInput


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "my repo ü"
    (folder / ".trued" / "roles").mkdir(parents=True)
    (folder / "trued.toml").write_text("rounds = 3\n")
    (folder / ".trued" / "roles" / "solo.md").write_text("x")
    return folder


@pytest.mark.spec("USE-6")
def test_a_repository_that_brings_nothing_needs_no_trust(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'trued-fan'\n")
    nothing = files_to_trust(tmp_path)
    assert (nothing.files, nothing.digest) == ((), "")
    assert is_trusted(tmp_path / "home", tmp_path, "")


@pytest.mark.spec("USE-6")
def test_what_is_found_is_trusted_by_content_and_asked_again_when_it_changes(repo: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = files_to_trust(repo)
    assert first.files == (".trued/roles/solo.md", "trued.toml")
    assert not is_trusted(home, repo, first.digest)
    record_trust(home, repo, first.digest, "ann")
    assert is_trusted(home, repo, first.digest)
    link = tmp_path / "link"
    link.symlink_to(repo)
    assert is_trusted(home, link, first.digest)
    assert not is_trusted(home, tmp_path / "other", first.digest)
    for path in (repo / "trued.toml", repo / ".trued" / "roles" / "solo.md"):
        before = path.read_text()
        path.write_text(before + " ")
        assert not is_trusted(home, repo, files_to_trust(repo).digest)
        path.write_text(before)
        assert is_trusted(home, repo, files_to_trust(repo).digest)
    (repo / ".trued" / "roles" / "new.md").write_text("y")
    assert not is_trusted(home, repo, files_to_trust(repo).digest)
    assert (home.stat().st_mode & 0o777) == 0o700
    assert not list(repo.glob("**/trust*"))
    assert json.loads((home / "trust.json").read_text())["repositories"][str(repo)][first.digest]["who"] == "ann"


@pytest.mark.spec("USE-6")
def test_in_pyproject_only_our_table_counts(repo: Path) -> None:
    path = repo / "pyproject.toml"
    path.write_text("[tool.trued]\nrounds = 1\n")
    first = files_to_trust(repo)
    assert "pyproject.toml [tool.trued]" in first.files
    path.write_text("[project]\nname = 'x'\n[tool.trued]\nrounds = 1\n")
    assert files_to_trust(repo).digest == first.digest
    path.write_text("[tool.trued]\nrounds = 2\n")
    assert files_to_trust(repo).digest != first.digest
    path.write_text("[tool.trued\nrounds = 2\n")
    assert "pyproject.toml [tool.trued]" in files_to_trust(repo).files


@pytest.mark.spec("USE-6")
def test_trust_is_given_only_to_what_was_shown(repo: Path, tmp_path: Path) -> None:
    shown = files_to_trust(repo).digest
    (repo / "trued.toml").write_text("rounds = 1\n")
    with pytest.raises(BadInput, match="not those that were shown"):
        record_trust(tmp_path / "home", repo, shown, "ann")
    assert not (tmp_path / "home").exists()


@pytest.mark.spec("USE-6")
def test_broken_files_are_not_interpreted_before_they_are_trusted(repo: Path) -> None:
    (repo / "trued.toml").write_bytes(b"\xff not toml [[[")
    (repo / ".trued" / "roles" / "solo.md").write_bytes(b"\x00\xff")
    assert len(files_to_trust(repo).digest) == 64


@pytest.mark.spec("USE-6")
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(repo: Path) -> None:
    os.mkfifo(repo / ".trued" / "roles" / "wait.md")
    with pytest.raises(BadInput, match="not an ordinary file"):
        files_to_trust(repo)


@pytest.mark.spec("USE-6", "USE-7")
def test_a_damaged_record_is_said_and_trusts_nobody(repo: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    record_trust(home, repo, files_to_trust(repo).digest, "ann")
    for text in ("{", "[]", '{"repositories": 5}'):
        (home / "trust.json").write_text(text)
        with pytest.raises(BadInput, match="damaged"):
            is_trusted(home, repo, files_to_trust(repo).digest)


@pytest.mark.spec("USE-6")
def test_two_at_once_do_not_forget_each_other(tmp_path: Path) -> None:
    repos = [tmp_path / f"r{number}" for number in range(12)]
    for number, one in enumerate(repos):
        one.mkdir()
        (one / "trued.toml").write_text(f"cap = {number + 1}\n")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda one: record_trust(tmp_path / "home", one, files_to_trust(one).digest, "ann"), repos))
    assert all(is_trusted(tmp_path / "home", one, files_to_trust(one).digest) for one in repos)


@pytest.mark.spec("USE-6", "AGT-2")
def test_role_files_of_other_tools_are_found_and_trusted_one_by_one(repo: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    names = (".claude/agents/deep/a.md", ".github/agents/b.agent.md", ".opencode/agents/c.md")
    for name in names:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(name)
    what = files_to_trust(repo)
    assert what.others == frozenset(names)
    assert set(what.files) == {*names, ".trued/roles/solo.md", "trued.toml"}
    assert trusted_files(home, repo, what) == frozenset()
    record_trust(home, repo, what.digest, "ann")
    assert trusted_files(home, repo, what) == frozenset(what.files)
    (repo / names[0]).write_text("changed")
    (repo / names[1]).unlink()
    later = files_to_trust(repo)
    assert not is_trusted(home, repo, later.digest)
    assert trusted_files(home, repo, later) == frozenset(what.files) - {names[0], names[1]}


@pytest.mark.spec("USE-6")
def test_of_too_many_trusted_versions_the_oldest_are_forgotten(repo: Path, tmp_path: Path) -> None:
    digests = []
    for number in range(REMEMBERED + 5):
        (repo / "trued.toml").write_text(f"rounds = {number}\n")
        digests.append(files_to_trust(repo).digest)
        record_trust(tmp_path, repo, digests[-1], "ann")
    assert [is_trusted(tmp_path, repo, one) for one in digests] == [False] * 5 + [True] * REMEMBERED
    (repo / "trued.toml").write_text("rounds = 5\n")  # trusted again, so it is the newest
    record_trust(tmp_path, repo, digests[5], "ann")
    (repo / "trued.toml").write_text("rounds = 99\n")
    record_trust(tmp_path, repo, files_to_trust(repo).digest, "ann")
    assert [is_trusted(tmp_path, repo, one) for one in digests[5:8]] == [True, False, True]
