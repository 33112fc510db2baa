"""Which of the user's folders an agent sees, so that it can run the project's own tools."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trued.workspace.sandbox.toolchains import toolchain_folders, visible_path


def made(home: Path, *names: str) -> str:
    for name in names:
        (home / name).mkdir(parents=True, exist_ok=True)
    return ":".join(str(home / name) for name in names)


@pytest.mark.spec("RUN-5", "USE-6")
def test_version_managers_are_shown_and_home_is_not(tmp_path: Path) -> None:
    home = tmp_path / "ann"
    path = made(home, ".nvm/versions/node/v20/bin", ".pyenv/shims", ".cargo/bin", "bin", "secret/bin")
    shown = toolchain_folders(f"/usr/bin:{path}:relative/bin:{home}/gone/bin", str(home))
    assert shown == (f"{home}/.nvm/versions", f"{home}/.pyenv", f"{home}/.cargo/bin")


def test_a_virtual_environment_brings_its_interpreter(tmp_path: Path) -> None:
    base, venv = tmp_path / "a" / "python3.12", tmp_path / "ann" / "project" / ".venv"
    made(base, "bin")
    made(venv, "bin")
    (base / "bin" / "python3.12").touch()
    (venv / "pyvenv.cfg").touch()
    (venv / "bin" / "python").symlink_to(base / "bin" / "python3.12")
    assert toolchain_folders(f"{venv}/bin", str(tmp_path / "ann")) == (str(venv), str(base))


def test_path_leads_to_nothing_that_cannot_be_seen(tmp_path: Path) -> None:
    seen = str(tmp_path / "seen")
    assert visible_path(f"/usr/bin:{tmp_path}/hidden/bin:{seen}/bin", (seen,)) == f"/usr/bin:{seen}/bin"


@pytest.mark.spec("DAY-14")
def test_a_folder_on_path_that_is_another_users_own_is_left_out(tmp_path: Path) -> None:
    """As after `su`, which keeps root's PATH."""
    closed = tmp_path / "root" / ".cargo" / "bin"
    closed.mkdir(parents=True)
    (tmp_path / "root").chmod(0)
    code = (
        "import sys; from trued.workspace.sandbox.toolchains import toolchain_folders as f; print(f(sys.argv[1], '/'))"
    )
    other: dict[str, Any] = {"user": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    done = subprocess.run([sys.executable, "-c", code, str(closed)], capture_output=True, text=True, cwd="/", **other)
    (tmp_path / "root").chmod(0o700)
    if other and "ModuleNotFoundError" in done.stderr:
        pytest.skip("this clone is in a folder that only root can read")
    assert (done.stdout, done.stderr) == ("()\n", "")
