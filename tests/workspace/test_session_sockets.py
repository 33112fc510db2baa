"""A confined process cannot reach sockets by which it could act as the user: windows, buses, terminals, key agents."""

import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from trued.wire import Confinement
from trued.workspace.sandbox import scope
from trued.workspace.sandbox.confined_command import confine
from trued.workspace.sandbox.levels import describe_isolation, level_state, reachable_sockets
from trued.workspace.sandbox.visible_folders import interpreter_folders

CONFINED = ("bubblewrap", "landlock")
CONNECT = """
import socket, sys
for kind, name in (one.split(":", 1) for one in sys.argv[1:]):
    try:
        with socket.socket(socket.AF_UNIX) as out:
            out.connect(chr(0) + name if kind == "abstract" else name)
        print("reached")
    except OSError:
        print("refused")
"""
OWN = """
import os, signal, socket, threading
for name in (chr(0) + "own", "own.sock"):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(name)
        server.listen()
        client.connect(name)
        client.send(b"x")
        print(server.accept()[0].recv(1).decode(), end="")
child = os.fork()
if child == 0:
    signal.pause()
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
needs_scopes = pytest.mark.skipif(not scope.can_scope(), reason="this kernel's Landlock has no scopes (before 6.12)")


@pytest.fixture
def abstract() -> Iterator[str]:
    name = f"trued-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen(8)
        yield name


def _ran(script: list[str], sight: Confinement, folder: Path, **variables: str) -> str:
    if not level_state(sight.level).works:
        pytest.skip(level_state(sight.level).why)
    argv, environment = confine(script, sight, folder=folder, variables=variables)
    ran = subprocess.run(argv, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-I", "-c", code, *words]


def _sight(level: str, **more: object) -> Confinement:
    python = interpreter_folders(sys.executable)
    return Confinement(**{"level": level, "network": "host", "readable": python, **more})  # type: ignore[arg-type]


def _seeing(folder: str) -> Confinement:
    sight = _sight("bubblewrap")
    return replace(sight, readable=(*sight.readable, folder))


@needs_scopes
@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("level", CONFINED)
def test_an_abstract_socket_of_the_host_is_out_of_reach_with_the_hosts_network(
    level: str, abstract: str, tmp_path: Path
) -> None:
    ask = _python(CONNECT, f"abstract:{abstract}")
    assert _ran(ask, _sight(level), tmp_path).split() == ["refused"]
    # Control: without the scope the socket can be reached, so the scope caused the refusal above.
    assert _ran(ask, _sight(level, scoped=False), tmp_path).split() == ["reached"]


@pytest.mark.parametrize("network", ["none", "host"])
@pytest.mark.parametrize("level", CONFINED)
def test_what_runs_inside_has_sockets_and_signals_of_its_own(level: str, network: str, tmp_path: Path) -> None:
    assert _ran(_python(OWN), _sight(level, network=network), tmp_path).split() == ["xx-15"]


@pytest.mark.spec("LAW-7")
def test_the_first_process_of_the_sandbox_tells_no_path_of_the_host(tmp_path: Path) -> None:
    for name in ("work", "shown", "shown/secret-plan"):
        (tmp_path / name).mkdir()
    sight = replace(_seeing(str(tmp_path / "shown")), hidden=(str(tmp_path / "shown" / "secret-plan"),))
    told = _ran(["cat", "/proc/1/cmdline", "/proc/1/environ"], sight, tmp_path / "work")
    assert "cat" in told
    assert str(tmp_path) not in told
    assert "secret-plan" not in told
    assert "TRUED" not in told


@pytest.mark.parametrize("level", CONFINED)
def test_signals_that_python_ignores_are_not_ignored_inside(level: str, tmp_path: Path) -> None:
    status = _ran(["cat", "/proc/self/status"], _sight(level), tmp_path)
    ignored = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")), 16)
    assert not [one for one in (signal.SIGPIPE, signal.SIGXFSZ) if ignored & 1 << (one - 1)]


# -- the probe ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-7")
def test_the_probe_finds_what_is_open_and_nothing_where_it_is_closed() -> None:
    for level in CONFINED:
        if not level_state(level).works:
            pytest.skip(level_state(level).why)
    closed = _sight("bubblewrap")
    assert reachable_sockets(closed) == (() if scope.can_scope() else ("abstract unix sockets",))
    assert reachable_sockets(_sight("bubblewrap", scoped=False)) == ("abstract unix sockets",)
    assert reachable_sockets(_sight("bubblewrap", scoped=False, network="none")) == ()
    # Landlock cannot restrict connections to unix sockets by path
    assert "unix sockets by path" in reachable_sockets(_sight("landlock"))
    assert reachable_sockets(Confinement(level="none")) == ("everything",)


def test_a_canary_that_cannot_run_is_no_proof_that_all_is_closed(tmp_path: Path) -> None:
    found = reachable_sockets(_sight("bubblewrap", hidden=tuple(interpreter_folders(sys.executable))))
    assert found
    assert "the canary did not run" in found[0]


@pytest.mark.spec("LAW-7")
def test_no_wish_brings_the_hosts_own_scratch_folder_or_its_sockets_inside(tmp_path: Path) -> None:
    """If an interpreter's folder were /tmp itself, all of /tmp would be visible, with the sockets of windows."""
    with socket.socket(socket.AF_UNIX) as listener:
        address = f"/tmp/trued-{uuid.uuid4().hex}"
        listener.bind(address)
        listener.listen()
        try:
            for folder in ("/tmp", "/dev/shm", "/dev"):
                sight = _seeing(folder)
                assert _ran(_python(CONNECT, f"path:{address}"), sight, tmp_path).split() == ["refused"]
        finally:
            Path(address).unlink()


def test_run_of_the_host_is_not_there_even_where_it_is_named(tmp_path: Path) -> None:
    look = ["sh", "-c", "for one in /run/* /var/run/*; do test -e $one && echo $one; done; true"]
    for folder in ("/run", "/var/run"):
        sight = _seeing(folder)
        there = {one.split("/")[-1] for one in _ran(look, sight, tmp_path).split()}
        # folders in which the system may keep its name servers
        assert there <= {"systemd", "resolvconf", "NetworkManager", "connman"}


def test_what_the_record_says_of_a_sandbox_names_what_is_open() -> None:
    open_ones = () if scope.can_scope() else ("abstract unix sockets",)
    assert all(one in describe_isolation("bubblewrap", "host") for one in open_ones)
    assert ("abstract unix sockets" in describe_isolation("bubblewrap", "host")) is not scope.can_scope()
    assert "abstract unix sockets" not in describe_isolation("bubblewrap", "none")
