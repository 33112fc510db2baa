"""The levels of the sandbox: what escapes from each, and the message if one does not work."""

import json
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.workspace.conftest import Begin
from trued.errors import BadInput
from trued.wire import Confinement, ProcessLimits, from_json, to_json
from trued.workspace.sandbox import landlock
from trued.workspace.sandbox.confined_command import confine
from trued.workspace.sandbox.levels import LEVELS, check_agent_network, choose_level, level_state, probe_levels
from trued.workspace.sandbox.visible_folders import interpreter_folders, parts_without

# ways out that a level does not close; everything else that escapes.py tries must fail in it
OPEN = {
    "bubblewrap": set[str](),
    "landlock": {"see processes of the host"},
}
# these succeed, but only in the sandbox's own folders: nobody outside sees what is left there
OWN = {
    "bubblewrap": {"leave a file in shared memory", "leave a file in the shared scratch folder"},
    "landlock": set[str](),
}
# ways out that are also tried without a sandbox, as a control: they change nothing on the machine, even run by root
HARMLESS = (
    "write outside",
    "read outside",
    "list outside",
    "read hidden state through a readable folder",
    "write through a link",
    "hard link to a file outside",
    "connect to a listener of the host",
    "abstract socket of the host",
    "signal the engine",
    "open the engine's files",
    "reach the root of the host",
    "see processes of the host",
    "leave a file in shared memory",
    "leave a file in the shared scratch folder",
)
ROOTS = ("make a device", "write system", "write kernel settings", "read passwords", "get capabilities")


@cache
def tried(level: str) -> dict[str, bool]:
    """One process tries every way out of one level."""
    with TemporaryDirectory() as place, socket.socket() as tcp:
        top, name = Path(place).resolve(), f"trued-{uuid.uuid4().hex}"
        for folder in ("inside/folder", "outside", "readable/hidden"):
            (top / folder).mkdir(parents=True)
        (top / "outside" / "secret").write_text("secret")
        (top / "readable" / "hidden" / "journal").write_text("secret")
        shutil.copy(Path(__file__).with_name("escapes.py"), top / "inside")
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(8)
        with socket.socket(socket.AF_UNIX) as abstract:
            abstract.bind("\0" + name)
            abstract.listen(8)
            asked = {
                "ways": "all" if level != "none" else ",".join(HARMLESS + (ROOTS if os.getuid() == 0 else ())),
                "folder": str(top / "inside" / "folder"),
                "outside": str(top / "outside"),
                "secret": str(top / "outside" / "secret"),
                "hidden": str(top / "readable" / "hidden" / "journal"),
                "port": str(tcp.getsockname()[1]),
                "name": name,
                "engine": str(os.getpid()),
                "pidns": str(Path("/proc/self/ns/pid").readlink()),
            }
            found = _escape(level, top, asked)
        for left in (Path("/dev/shm", name), Path("/tmp", name)):
            found[f"left {left.parent}"] = left.exists()
            left.unlink(missing_ok=True)
        return found


def _escape(level: str, top: Path, asked: dict[str, str]) -> dict[str, bool]:
    readable = (*interpreter_folders(sys.executable), str(top / "readable"))
    sight = Confinement(level=level, readable=readable, hidden=(str(top / "readable" / "hidden"),))
    script = [sys.executable, "-I", "escapes.py", json.dumps(asked)]
    argv, environment = confine(script, sight, folder=top / "inside", variables={"HOME": str(top / "inside")})
    ran = subprocess.run(
        argv, env=environment, cwd=top / "inside", capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, bool] = json.loads(ran.stdout)
    return found


def ways() -> Iterator[tuple[str, str]]:
    text = Path(__file__).with_name("escapes.py").read_text()
    names = [line.split('"')[1] for line in text.splitlines() if line.startswith('        "')]
    assert len(names) >= 26
    return ((level, name) for level in OPEN for name in names if name not in OPEN[level] | OWN[level])


@pytest.mark.spec("LAW-4", "LAW-7")
@pytest.mark.parametrize(("level", "way"), ways())
def test_there_is_no_way_out(level: str, way: str) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    assert tried(level)[way] is False


@pytest.mark.parametrize("level", OPEN)
def test_nothing_is_left_in_shared_folders(level: str) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    assert not [way for way, escaped in tried(level).items() if way.startswith("left ") and escaped]


def test_the_ways_out_are_ways_out_where_nothing_confines() -> None:
    """Control: an attempt that cannot succeed anywhere would prove nothing about the sandbox."""
    assert [way for way in HARMLESS if not tried("none")[way]] == []


@pytest.mark.skipif(os.getuid() != 0, reason="these are root's ways out")
def test_roots_ways_out_are_ways_out_where_nothing_confines() -> None:
    assert [way for way in ROOTS if not tried("none")[way]] == []


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("network", ["none", "loopback", "host"])
def test_network_is_what_was_asked_for(level: str, network: str, tmp_path: Path) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    code = (
        "import socket, sys\n"
        "try:\n"
        "    s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('own')\n"
        "except OSError: print('nothing')\n"
        "try: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2); print('host')\n"
        "except OSError: print('alone')\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sight = Confinement(level=level, network=network, readable=interpreter_folders(sys.executable))
        script = [sys.executable, "-c", code, str(listener.getsockname()[1])]
        argv, environment = confine(script, sight, folder=tmp_path, variables={})
        ran = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=60)
    expected = {
        ("bubblewrap", "none"): "own alone",
        ("bubblewrap", "loopback"): "own alone",
        ("bubblewrap", "host"): "own host",
        ("landlock", "none"): "nothing alone",
        ("landlock", "loopback"): "nothing alone",  # Landlock restricts ports, not addresses, and no port was named
        ("landlock", "host"): "own host",
    }
    assert " ".join(ran.stdout.split()) == expected[level, network]


@pytest.mark.spec("LAW-7")
def test_a_network_that_a_level_cannot_narrow_is_refused_and_not_widened() -> None:
    with pytest.raises(BadInput, match="cannot tell addresses apart"):
        check_agent_network("landlock", "loopback")
    for level, network in [("bubblewrap", "loopback"), ("landlock", "none"), ("landlock", "host")]:
        check_agent_network(level, network)


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_certificates_and_name_servers_are_there_with_a_network(level: str, tmp_path: Path) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    present = [path for path in ("/etc/resolv.conf", "/etc/ssl/certs", "/etc/hosts") if Path(path).exists()]
    sight = Confinement(level=level, network="host")
    argv, environment = confine(["ls", *present], sight, folder=tmp_path, variables={})
    subprocess.run(argv, env=environment, capture_output=True, check=True, timeout=60)


@pytest.mark.parametrize("level", LEVELS)
def test_the_exit_code_of_the_program_comes_through(level: str, tmp_path: Path) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    for script, code in (("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)):
        argv, environment = confine(["sh", "-c", script], Confinement(level=level), folder=tmp_path, variables={})
        assert subprocess.run(argv, env=environment, check=False, timeout=60).returncode == code


@pytest.mark.parametrize("level", LEVELS)
def test_limits_hold_inside(level: str, tmp_path: Path) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    limits = ProcessLimits(memory_bytes=64 * 1024**2, processes=100)
    script = "ulimit -c; ulimit -d; ulimit -f"
    argv, environment = confine(
        ["sh", "-c", script], Confinement(level=level), folder=tmp_path, variables={}, limits=limits
    )
    ran = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.split() == ["0", str(64 * 1024), str(8 * 1024**3 // 512)]


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_a_path_through_a_link_works_under_both_of_its_names(level: str, tmp_path: Path) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "deep" / "file").write_text("x")
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to("real")
    sight = Confinement(level=level, readable=(str(tmp_path / "link" / "deep"), str(tmp_path / "missing")))
    names = [str(tmp_path / way / "deep" / "file") for way in ("real", "link")]
    argv, environment = confine(["cat", *names], sight, folder=tmp_path / "work", variables={})
    assert subprocess.run(argv, env=environment, capture_output=True, check=True, timeout=60).stdout == b"xx"


def test_variables_do_not_show_on_the_command_line(tmp_path: Path) -> None:
    for level in LEVELS:
        argv, environment = confine(["true"], Confinement(level=level), folder=tmp_path, variables={"KEY": "s3cret"})
        assert "s3cret" not in " ".join(argv)
        assert environment["KEY"] == "s3cret"


# -- which level -------------------------------------------------------------------------------------------------------


def test_every_level_is_tried_out_and_says_what_it_leaves_open() -> None:
    states = probe_levels()
    assert [one.level for one in states] == ["bubblewrap", "landlock", "none"]
    assert all(one.works or (one.why and one.fix) for one in states)
    assert "UDP" in states[1].unconfined
    assert states[2].unconfined == ("files", "network", "processes")


def test_nothing_falls_back_silently() -> None:
    with pytest.raises(BadInput, match="without a sandbox"):
        choose_level("none", allow_unsandboxed=False)
    assert choose_level("none", allow_unsandboxed=True) == "none"
    with pytest.raises(BadInput, match="no sandbox level 'docker'"):
        choose_level("docker", allow_unsandboxed=True)
    for level in ("bubblewrap", "landlock"):
        if level_state(level).works:
            assert choose_level(level, allow_unsandboxed=False) == level
            assert choose_level("auto", allow_unsandboxed=True) in ("bubblewrap", "landlock")


NO_SANDBOX = """
import sys
from trued.errors import BadInput
from trued.workspace.sandbox.levels import choose_level
for wanted in ("bubblewrap", "auto"):
    try: print(choose_level(wanted, False))
    except BadInput as error: print(error)
"""


def test_a_machine_without_bubblewrap_says_how_to_get_it(tmp_path: Path) -> None:
    """A search path without bwrap stands for a machine without it; then Landlock is the best level."""
    source = str(Path(__file__).parents[2] / "src")
    ran = subprocess.run(
        [sys.executable, "-c", NO_SANDBOX],
        env={"PATH": str(tmp_path), "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    refused, chosen = ran.stdout.splitlines()
    assert "bubblewrap is not installed" in refused
    assert "apt install bubblewrap" in refused
    assert chosen == "landlock" or "no sandbox works" in chosen


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("bwrap: Unknown option --disable-userns", "bubblewrap 0.8 or newer"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths=unconfined"),
        ("bwrap: Creating new namespace failed: Operation not permitted", "user namespaces"),
    ],
)
def test_what_bubblewrap_complains_of_becomes_something_to_do(said: str, fix: str) -> None:
    from trued.workspace.sandbox.levels import _fix

    assert fix in _fix("bubblewrap", said)


# -- folders -----------------------------------------------------------------------------------------------------------


def test_cutting_out_leaves_everything_else(tmp_path: Path) -> None:
    for path in ("a/b/secret", "a/b/other", "a/c", "d"):
        (tmp_path / path).mkdir(parents=True)
    top = str(tmp_path)
    left = parts_without(top, [f"{top}/a/b/secret"])
    assert left == [f"{top}/a/b/other", f"{top}/a/c", f"{top}/d"]
    assert parts_without(f"{top}/d", [top]) == [f"{top}/d"]
    assert parts_without(top, [top]) == []
    assert parts_without(top, ["/elsewhere"]) == [top]


def test_an_interpreter_names_what_it_needs_and_never_a_whole_home(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True, timeout=120)
    folders = interpreter_folders(str(tmp_path / "env" / "bin" / "python"))
    assert str(tmp_path / "env") in folders
    assert str(Path.home()) not in folders
    assert "/usr" not in folders
    level = choose_level("auto", allow_unsandboxed=True)
    (tmp_path / "work").mkdir()
    script = [str(tmp_path / "env" / "bin" / "python"), "-c", "import sys, json, ssl; print(sys.prefix)"]
    argv, environment = confine(
        script, Confinement(level=level, readable=folders), folder=tmp_path / "work", variables={}
    )
    ran = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == str(tmp_path / "env")


def test_a_confinement_crosses_the_process_border_whole() -> None:
    sight = Confinement(level="landlock", writable=("/a",), readable=("/b", "/c"), network="host", hidden=("/d",))
    assert from_json(Confinement, to_json(sight)) == sight


def test_the_sandbox_starts_without_pydantic() -> None:
    code = "import sys, trued.workspace.sandbox.levels; print('pydantic' in sys.modules)"
    source = str(Path(__file__).parents[2] / "src")
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": source}, capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.strip() == "False"


def test_landlock_withholds_what_each_version_knows() -> None:
    assert landlock.rights(1) == (1 << 13) - 1
    assert landlock.rights(2) == (1 << 14) - 1
    assert landlock.rights(3) == landlock.rights(4) == (1 << 15) - 1
    assert landlock.rights(5) == landlock.rights(7) == (1 << 16) - 1


# -- held out means unreadable -----------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
async def test_agents_cannot_read_private_state_or_the_users_files(begin: Begin, tmp_path: Path, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    other, home = await workspace.clone("examiner", workspace.base, token="1")
    (home / "transcript").write_text("the held-out cases")
    (other / "cases.json").write_text("the held-out cases")
    held_out = tmp_path / "requirements.toml"
    held_out.write_text("the user's own cases")
    private = [held_out, other / "cases.json", home / "transcript", workspace.store.folder / "config"]
    for path in private:
        assert await workspace.can_agents_read(path) is False, path
    assert await workspace.can_agents_read(Path("/etc/passwd")) is True


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
async def test_a_readable_folder_of_the_users_does_not_uncover_private_state(
    begin: Begin, tmp_path: Path, level: str
) -> None:
    (tmp_path / "shared.txt").write_text("for agents")
    workspace = begin(level, readable=(str(tmp_path),))
    await workspace.begin()
    _, home = await workspace.clone("examiner", workspace.base, token="1")
    (home / "transcript").write_text("the held-out cases")
    assert await workspace.can_agents_read(tmp_path / "shared.txt") is True
    assert await workspace.can_agents_read(home / "transcript") is False
    assert await workspace.can_agents_read(workspace.store.folder / "config") is False


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
async def test_a_hidden_file_stays_hidden_in_a_readable_folder(begin: Begin, tmp_path: Path, level: str) -> None:
    (tmp_path / "shared").mkdir()
    for name in ("requirements.toml", "open.txt"):
        (tmp_path / "shared" / name).write_text("x")
    hidden = tmp_path / "shared" / "requirements.toml"
    workspace = begin(level, readable=(str(tmp_path / "shared"),), hidden=(str(hidden),))
    await workspace.begin()
    assert await workspace.can_agents_read(hidden) is False
    assert await workspace.can_agents_read(tmp_path / "shared" / "open.txt") is True


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_without_a_sandbox_the_probe_says_that_agents_can_read(begin: Begin, tmp_path: Path) -> None:
    workspace = begin("none")
    await workspace.begin()
    (tmp_path / "held-out").write_text("x")
    assert await workspace.can_agents_read(tmp_path / "held-out") is True
    assert await workspace.can_agents_read(tmp_path / "missing") is False
