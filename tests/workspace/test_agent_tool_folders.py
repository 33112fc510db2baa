"""Which of the user's folders an agent sees, so that it can run the project's own tools."""

import os
from pathlib import Path

import pytest

from trued.workspace.sandbox.agent_tool_folders import toolchain_folders, visible_path


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
    """This happens after `su`, which keeps root's PATH."""
    closed = tmp_path / "root" / ".cargo" / "bin"
    closed.mkdir(parents=True)
    (tmp_path / "root").chmod(0)
    if (child := os.fork()) == 0:
        code = 2
        try:
            if os.getuid() == 0:  # root may read everything
                os.setuid(65534)
            code = int(toolchain_folders(str(closed), "/") != ())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    (tmp_path / "root").chmod(0o700)
    assert os.waitstatus_to_exitcode(status) == 0
