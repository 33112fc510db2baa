"""`trued run --page`: the page ends with the run's process, however that ends."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

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
