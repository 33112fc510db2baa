"""Commands of checks are confined and limited, and leave no process behind."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace.conftest import Begin, git_in
from trued.errors import CannotJudge
from trued.protocols import Command, CommandResult
from trued.workspace.git.workspace import GitWorkspace

LEVELS = ("bubblewrap", "landlock", "none")
leveled = pytest.mark.parametrize("level", LEVELS)


async def python(workspace: GitWorkspace, code: str, **more: object) -> CommandResult:
    async with workspace.room(workspace.base) as room:
        return await workspace.execute(Command([sys.executable, "-c", code], room, **more))  # type: ignore[arg-type]


def alive(marker: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if marker in line and "ps -eo" not in line]


async def started(marker: str, number: int) -> None:
    for _ in range(2000):
        if len([line for line in alive(marker) if line.split()[1:] == ["sleep", marker]]) == number:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"never saw {number} of {marker}: {alive(marker)}")


async def gone(marker: str) -> bool:
    for _ in range(1000):
        if not alive(marker):
            return True
        await asyncio.sleep(0.05)
    return False


@leveled
async def test_a_command_is_fed_and_answers_on_three_ways(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    code = (
        "import os, sys; print(sys.stdin.read()[::-1]); print('oops', file=sys.stderr);"
        "os.write(int(os.environ['TRUED_CHANNEL']), b'42'); sys.exit(3)"
    )
    ran = await python(workspace, code, stdin=b"abc", channel=True)
    assert (ran.exit_code, ran.stdout, ran.stderr, ran.answers) == (3, b"cba\n", b"oops\n", b"42")
    assert (ran.timed_out, ran.flooded) == (False, False)


@pytest.mark.spec("LAW-1")
@leveled
async def test_every_record_names_its_isolation_and_what_that_leaves_open(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    ran = await python(workspace, "pass")
    assert ran.isolation.startswith(level)
    if level == "landlock":
        assert "UDP" in ran.isolation
    if level == "none":
        assert "not confined: files, network, processes" in ran.isolation


@pytest.mark.spec("LAW-4")
@leveled
async def test_home_and_scratch_are_fresh_for_every_command(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    code = (
        "import os, pathlib, tempfile; h = pathlib.Path.home(); t = pathlib.Path(tempfile.gettempdir());"
        "print(sum(one.is_file() for place in (h, t) for one in place.iterdir()));"  # folders lead to what it may read
        "[(one / 'left').write_text('x') for one in (h, t)]"
    )
    assert [(await python(workspace, code)).stdout for _ in range(2)] == [b"0\n", b"0\n"]
    assert list((workspace.folder / "rooms").iterdir()) == []


@pytest.mark.spec("LAW-4")
@leveled
async def test_the_environment_is_what_the_command_names(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    os.environ["TRUED_TEST_SECRET"] = "of the engine"
    try:
        ran = await python(workspace, "import os; print(sorted(os.environ))", variables={"LANG": "C", "MINE": "1"})
    finally:
        del os.environ["TRUED_TEST_SECRET"]
    names = set(eval(ran.stdout))
    assert {"HOME", "TMPDIR", "PATH", "LANG", "MINE"} <= names
    assert names <= {"HOME", "TMPDIR", "PATH", "LANG", "MINE", "PWD", "LC_CTYPE", "USER", "LOGNAME"}


@leveled
async def test_time_ends_the_whole_tree(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    marker = f"{9_000_000 + os.getpid()}.{LEVELS.index(level)}"
    script = f"echo started; (setsid env -i sleep {marker} &) ; sleep {marker} & trap '' TERM HUP; sleep {marker}"
    for within_s in (1.0, 10.0, 60.0):
        async with workspace.room(workspace.base) as room:
            ran = await workspace.execute(Command(["sh", "-c", script], room, within_s=within_s))
        assert (ran.exit_code, ran.timed_out) == (None, True)
        if ran.stdout:  # otherwise the machine was so busy that the command never began
            break
    assert ran.stdout == b"started\n"
    assert await gone(marker)


@leveled
async def test_a_daemon_ends_with_the_command_that_started_it(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    marker = f"{8_000_000 + os.getpid()}.{LEVELS.index(level)}"
    async with workspace.room(workspace.base) as room:
        script = f"(setsid env -i sleep {marker} >/dev/null 2>&1 </dev/null &); exit 0"
        ran = await workspace.execute(Command(["sh", "-c", script], room, within_s=120.0))
    assert ran.exit_code == 0
    assert await gone(marker)


@leveled
async def test_a_flood_is_stopped_and_cut(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    for where in ("1", "2", "int(os.environ['TRUED_CHANNEL'])"):
        code = f"import os\nwhile True: os.write({where}, b'x' * 65536)"
        ran = await python(workspace, code, output_bytes=200_000, channel=True, within_s=300.0)
        assert ran.flooded
        assert (ran.exit_code, ran.timed_out) == (None, False)
        assert len(ran.stdout) + len(ran.stderr) + len(ran.answers) == 200_000


@leveled
async def test_memory_is_bounded(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    code = "x = bytearray(600 * 1024 * 1024); print('had it')"
    ran = await python(workspace, code, memory_bytes=256 * 1024**2)
    assert ran.exit_code == 1
    assert b"MemoryError" in ran.stderr
    assert (await python(workspace, "print('small')", memory_bytes=256 * 1024**2)).stdout == b"small\n"


@leveled
async def test_a_cancelled_check_leaves_nothing(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    marker = f"{7_000_000 + os.getpid()}.{LEVELS.index(level)}"
    async with workspace.room(workspace.base) as room:
        task = asyncio.create_task(workspace.execute(Command(["sleep", marker], room)))
        await started(marker, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await gone(marker)
    assert list((workspace.folder / "rooms").iterdir()) == []


KILLED = """
import asyncio, sys
from pathlib import Path
from trued.protocols import Command
from trued.wire import Confinement
from trued.workspace.git.workspace import GitWorkspace
async def main(repo, home, base, level, marker):
    w = GitWorkspace(Path(repo), Path(home), "r1", "trued/r1", base, Confinement(level=level))
    await w.begin()
    async with w.room(base) as room:
        await w.execute(Command(["sh", "-c", f"(setsid env -i sleep {marker} &); sleep {marker}"], room))
asyncio.run(main(*sys.argv[1:]))
"""


@leveled
async def test_a_check_ends_with_a_killed_engine(begin: Begin, repo: Path, tmp_path: Path, level: str) -> None:
    begin(level)
    marker = f"{6_000_000 + os.getpid()}.{LEVELS.index(level)}"
    base = git_in(repo, "rev-parse", "HEAD")
    source = str(Path(__file__).parents[2] / "src")
    engine = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(repo), str(tmp_path / "state"), base, level, marker),
        env={**os.environ, "PYTHONPATH": source},
    )
    await started(marker, 2)
    engine.send_signal(signal.SIGKILL)
    await engine.wait()
    assert await gone(marker)


@leveled
async def test_a_program_that_is_missing_is_an_exit_code_and_not_an_error(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        ran = await workspace.execute(Command(["no-such-program"], room))
    assert ran.exit_code == 127


async def test_a_sandbox_that_does_not_start_is_no_result(workspace: GitWorkspace) -> None:
    async with workspace.room(workspace.base) as room:
        (room / "lib" / "größe.py").unlink()
        (room / "lib").rmdir()
        with pytest.raises(CannotJudge):
            await workspace.execute(Command(["true"], room / "lib"))


@leveled
async def test_a_command_may_write_in_all_of_its_room(begin: Begin, level: str) -> None:
    workspace = begin(level)
    await workspace.begin()
    async with workspace.room(workspace.base) as room:
        ran = await workspace.execute(Command(["sh", "-c", "pwd; echo x > ../made"], room / "lib"))
        assert (ran.exit_code, ran.stdout.decode().strip()) == (0, f"{(*workspace.shown_at(room), room)[0]}/lib")
        assert (room / "made").read_text() == "x\n"


@leveled
@pytest.mark.spec("LAW-6")
async def test_a_command_cannot_pass_its_failure_off_as_the_sandboxes(begin: Begin, level: str) -> None:
    """Otherwise a failed check would be retried until it passes."""
    workspace = begin(level)
    await workspace.begin()
    words = "import sys; print('bwrap: cannot mount', file=sys.stderr); sys.exit(1)"
    assert (await python(workspace, words)).exit_code == 1
    words = "import sys; print('trued: cannot confine x: y', file=sys.stderr); sys.exit(126)"
    assert (await python(workspace, words)).exit_code == 126
