"""Files that the supervisor writes into an agent's HOME."""

from pathlib import Path

import pytest

from trued.agents.supervisor.home_files import write_home_files


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "user").mkdir()
    return tmp_path / "home"


def test_files_are_there_with_their_folders_and_for_their_owner_alone(home: Path) -> None:
    write_home_files(home, {".agent/deep/settings.json": b"{}", "plain": b"1"})
    assert (home / ".agent/deep/settings.json").read_bytes() == b"{}"
    assert (home / "plain").stat().st_mode & 0o777 == 0o600


def test_a_file_of_an_earlier_call_is_written_anew(home: Path) -> None:
    write_home_files(home, {"a/b": b"much more than later"})
    write_home_files(home, {"a/b": b"short"})
    assert (home / "a/b").read_bytes() == b"short"


def test_a_link_that_the_agent_left_leads_nowhere(home: Path) -> None:
    user = home.parent / "user"
    (user / "settings.json").write_text("the user's own")
    (home / ".agent").symlink_to(user)
    (home / "file").symlink_to(user / "settings.json")
    write_home_files(home, {".agent/settings.json": b"ours", "file": b"ours"})
    assert (user / "settings.json").read_text() == "the user's own"
    assert (home / ".agent/settings.json").read_bytes() == (home / "file").read_bytes() == b"ours"


def test_what_stands_in_the_way_goes(home: Path) -> None:
    (home / "a").write_text("a file where a folder is needed")
    (home / "b/c").mkdir(parents=True)
    write_home_files(home, {"a/settings": b"ours", "b": b"ours"})
    assert (home / "a/settings").read_bytes() == (home / "b").read_bytes() == b"ours"
