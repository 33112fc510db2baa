"""What a set-up installed is kept for the next clone, and nothing else is."""

import os
from pathlib import Path

import pytest

from trued.run.set_up_cache import SetUpCache, set_up_key


@pytest.mark.spec("DAY-2", "DAY-7")
def test_installed_folders_are_put_into_the_next_clone_and_nothing_else_is(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for name in (".venv/bin", "web/node_modules/ms", "data"):
        (first / name).mkdir(parents=True)
    (first / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    (first / "web" / "node_modules" / "ms" / "index.js").write_text("1")
    (first / "data" / "own.txt").write_text("not installed by anybody")
    (first / "node_modules").symlink_to(tmp_path)  # a link out of the clone
    os.mkfifo(first / ".venv" / "pipe")  # reading it would never end
    (second / "web").mkdir(parents=True)
    cache = SetUpCache(tmp_path / "kept", "key")
    cache.restore(second)
    assert not (second / ".venv").exists()
    cache.save(first)
    (first / ".venv" / "bin" / "planted").write_text("an agent wrote this later")
    cache.save(first)
    cache.restore(second)
    found = {str(one.relative_to(second)) for one in second.rglob("*")}
    assert found == {
        *(".venv", ".venv/bin", ".venv/bin/python"),
        *("web", "web/node_modules", "web/node_modules/ms", "web/node_modules/ms/index.js"),
    }
    assert (second / ".venv" / "bin" / "python").is_symlink()


@pytest.mark.spec("DAY-2")
def test_another_script_manifest_or_lock_is_another_key() -> None:
    files = {"init.sh": "a", "requirements.txt": "b", "web/package-lock.json": "c", "app.py": "d", "state.json": "e"}
    key = set_up_key(files, "init.sh", ("state.json",))
    for path in ("init.sh", "requirements.txt", "web/package-lock.json"):
        assert set_up_key({**files, path: "x"}, "init.sh", ("state.json",)) != key
    for path in ("app.py", "state.json"):
        assert set_up_key({**files, path: "x"}, "init.sh", ("state.json",)) == key
