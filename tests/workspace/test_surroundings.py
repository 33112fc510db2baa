"""The second run of a check has other folders, another user and another day; and the limits on its resources."""

import json
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from tests.workspace.conftest import Begin
from trued.protocols import Command, CommandResult
from trued.workspace.git.workspace import GitWorkspace
from trued.workspace.sandbox import cgroup, surroundings

LOOK = """
import getpass, json, os, pwd, socket, tempfile, time
open("written", "w").write("in the room")
open(os.path.join(os.environ["HOME"], "x"), "w").close()
print(json.dumps({"host": socket.gethostname(), "uid": os.getuid(), "name": pwd.getpwuid(os.getuid()).pw_name,
    "user": getpass.getuser() if os.environ.get("USER") else "", "home": os.path.basename(os.environ["HOME"]),
    "scratch": tempfile.gettempdir(), "day": time.strftime("%Y-%m-%d"),
    "owner": os.stat("written").st_uid}))
"""
FORKS = """
import os, sys, time
made = 0
for _ in range(120):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    except OSError:
        break
    made += 1
print(made)
"""
BOTH_ENDS = """
import os, socket, sys
port = int(os.environ["TRUED_PORTS"].split()[0])
server = socket.create_server(("127.0.0.1", port))
client = socket.create_connection(("127.0.0.1", port), timeout=60)
client.sendall(b"hello")
print(server.accept()[0].recv(5).decode(), end=" ")
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=2)
    print("got out")
except OSError:
    print("alone")
"""
LEVELS = ["bubblewrap", "landlock"]


async def ran(workspace: GitWorkspace, script: str, *arguments: str, **more: object) -> CommandResult:
    async with workspace.room(workspace.base) as room:
        command = Command((sys.executable, "-I", "-c", script, *arguments), room, **more)  # type: ignore[arg-type]
        return await workspace.execute(command)


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("level", LEVELS)
async def test_the_second_time_is_elsewhere_as_somebody_else_on_another_day(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    first = json.loads((await ran(workspace, LOOK)).stdout)
    second = json.loads((await ran(workspace, LOOK, second=True)).stdout)
    differing = {"user", "home", "scratch", "day"} | (
        {"host", "uid", "name", "owner"} if level == "bubblewrap" else set()
    )
    assert {name for name in first if first[name] != second[name]} == differing
    assert second["uid"] == second["owner"]  # the files in the room belong to that user
    for word in ("HOME", "TMPDIR", "time zone", *(("host name",) if level == "bubblewrap" else ())):
        assert word in workspace.describe_second_surroundings()


@pytest.mark.spec("LAW-6")
def test_it_is_another_day_there_at_every_hour_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for here in ("UTC", "Asia/Tokyo", "America/Los_Angeles", "Pacific/Auckland"):
        for hour in range(24):
            now = 1_700_000_000.0 + hour * 3600
            monkeypatch.setenv("TZ", here)
            time.tzset()
            today, zone = time.localtime(now)[:3], surroundings.other_zone(now)
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            assert time.localtime(now)[:3] != today
    monkeypatch.undo()
    time.tzset()


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("level", LEVELS)
async def test_a_check_has_a_loopback_of_its_own_and_reaches_nobody_elses(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        answer = await ran(workspace, BOTH_ENDS, port, network="loopback")
    assert answer.stdout.decode().strip() == "hello alone", answer.stderr
    assert ("TCP ports" in answer.isolation) == (level == "landlock")


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("level", LEVELS)
async def test_the_number_of_processes_is_bounded_or_said_not_to_be(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    answer = await ran(workspace, FORKS, processes=30)
    if "number of processes" in answer.isolation:
        pytest.skip("nothing here counts the processes of a sandbox")
    assert int(answer.stdout) < 40


@pytest.mark.spec("LAW-4")
async def test_no_group_of_processes_is_left(workspace: GitWorkspace) -> None:
    place = cgroup.cgroup_parent()
    if place is None:
        pytest.skip("no groups can be made here")
    await ran(workspace, FORKS, processes=20)
    assert not list(place.folder.glob(f"{cgroup.PREFIX}{os.getpid()}-*"))


def test_groups_of_a_killed_engine_are_swept() -> None:
    place = cgroup.cgroup_parent()
    if place is None:
        pytest.skip("no groups can be made here")
    left = place.folder / f"{cgroup.PREFIX}4194305-dead"  # no process can have this number
    left.mkdir()
    cgroup.remove_stale_groups()
    assert not left.exists()


async def test_a_command_writes_beyond_its_room_only_where_it_was_let(workspace: GitWorkspace, tmp_path: Path) -> None:
    (tmp_path / "let").mkdir()
    script = "import sys; open(sys.argv[1] + '/x', 'w').close()"
    allowed = await ran(workspace, script, str(tmp_path / "let"), writable=(str(tmp_path / "let"),))
    forbidden = await ran(workspace, script, str(tmp_path / "let"))
    assert (allowed.exit_code, forbidden.exit_code) == (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("repository", "shown", "place"),
    [
        ("/opt/none/project", [], "/srv/project"),  # /opt is shown read-only, so that no folder can be made in it
        ("/home/nobody/project", [], "/home/nobody/project"),
        ("/home/nobody/project", ["/home/nobody"], "/srv/project"),
        ("/home/nobody/project", ["/home/nobody/project/.venv"], "/srv/project"),
    ],
)
def test_a_checkout_is_shown_at_the_users_path_if_something_can_be_mounted_there(
    repository: str, shown: list[str], place: str
) -> None:
    assert surroundings.usual_place(repository, shown, copy=False) == place
