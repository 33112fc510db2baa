"""`trued run --page`: the page ends with the run's process, however that ends."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.supervisor.world import wait_for
from tests.cli.conftest import clean_environment

RUN = "import sys\nfrom trued.cli.page import page_beside\nwith page_beside(True):\n    sys.stdin.readline()\n"


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10):
            return True
    except OSError:
        return False


@pytest.mark.spec("PAGE-1")
@pytest.mark.parametrize("killed", [False, True])
def test_the_page_beside_a_run_ends_with_it(tmp_path: Path, killed: bool) -> None:
    environment = {**clean_environment(), "TRUED_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("DISPLAY", None)
    command = [sys.executable, "-c", RUN]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, env=environment, text=True) as run:
        assert run.stdin
        assert run.stderr
        told = run.stderr.readline()
        found = re.fullmatch(r"http://t-[0-9a-f]{8}\.localhost:(\d+)\n", told)
        assert found, told
        assert _answers(int(found[1]))
        if killed:
            os.kill(run.pid, signal.SIGKILL)
        else:
            run.stdin.close()
        run.stderr.read()  # ends only when the page has ended, too: it holds the other end of the pipe
        assert not _answers(int(found[1]))
    assert not (tmp_path / "page").exists()


@pytest.mark.parametrize("opener", ["xdg-open", "wslview"])
def test_the_page_is_opened_by_whichever_standard_program_is_there(tmp_path: Path, opener: str) -> None:
    programs, seen = tmp_path / "bin", tmp_path / "seen"
    programs.mkdir()
    (programs / opener).write_text(f'#!/bin/sh\necho "$1" > {seen}.new && mv {seen}.new {seen}\n')
    (programs / opener).chmod(0o755)
    for needed in ("sh", "mv"):
        (programs / needed).symlink_to(f"/bin/{needed}")
    code = "import sys, pathlib\nfrom trued.cli.page import _open\n_open(False, pathlib.Path(sys.argv[1]))"
    environment = {**clean_environment(), "DISPLAY": ":0", "PATH": str(programs)}
    command = [sys.executable, "-c", code, str(tmp_path / "enter.html")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    wait_for(seen.exists, "the opener to run")
    assert seen.read_text().strip() == str(tmp_path / "enter.html")
    assert "open this file" not in done.stderr
