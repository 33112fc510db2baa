"""Locks on files: one holder at a time, and closing the file ends it."""

from pathlib import Path

from trued.support.file_lock import file_lock, is_locked, take_lock


def test_one_holds_the_lock_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    with path.open("ab") as other:
        with file_lock(path):
            assert is_locked(path)
            assert not take_lock(other)
        assert take_lock(other)
        assert is_locked(path)
    assert not is_locked(path)
