"""Full disks, folders that cannot be written, and corrupted files."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.supervisor.world import DONE, World, wait_for
from trued.agents.spool.spool import SUPERVISOR
from trued.errors import Diverged, StateFailed
from trued.wire import to_json

needs_mount = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[World]:
    """A run with its spool on a disk of half a megabyte."""
    world = World(tmp_path)
    world.spool.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", world.spool], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine does not let us mount a small disk")
    try:
        yield world
        assert not world.left()
    finally:
        subprocess.run(["umount", "-l", world.spool], check=True)


def fill(world: World) -> Path:
    ballast = world.spool / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            return ballast
    raise AssertionError("the disk has no end")


@needs_mount
async def test_a_full_disk_stops_a_call_before_anything_is_paid(small_disk: World) -> None:
    ballast = fill(small_disk)
    order = small_disk.order(small_disk.program('Path("paid").touch()\n' + DONE))
    with pytest.raises(StateFailed, match="No space left"):
        await small_disk.runtime().work(order, small_disk.tell)
    assert not (small_disk.clone / "paid").exists()
    ballast.unlink()
    assert (await small_disk.runtime().work(order, small_disk.tell)).state == "done"


@needs_mount
@pytest.mark.spec("RUN-2")
async def test_a_disk_that_fills_while_the_agent_works_still_takes_the_report(small_disk: World) -> None:
    body = 'Path("began").touch()\nwhile not Path("filled").exists():\n    time.sleep(0.02)\n'
    work = asyncio.create_task(
        small_disk.runtime().work(small_disk.order(small_disk.program(body + DONE)), small_disk.tell)
    )
    await asyncio.to_thread(wait_for, (small_disk.clone / "began").exists, "the agent's start")
    fill(small_disk)
    (small_disk.clone / "filled").touch()
    assert (await work).reply == {"summary": "done"}


BIG = 'Path("began").touch()\nwhile not Path("filled").exists():\n    time.sleep(0.02)\n'
BIG += 'print(json.dumps({"summary": "x" * 200_000}))\n'


@needs_mount
@pytest.mark.spec("RUN-2")
async def test_a_report_that_finds_no_room_waits_for_some(small_disk: World) -> None:
    order = small_disk.order(small_disk.program(BIG))
    work = asyncio.create_task(small_disk.runtime().work(order, small_disk.tell))
    await asyncio.to_thread(wait_for, (small_disk.clone / "began").exists, "the agent's start")
    ballast = fill(small_disk)
    (small_disk.clone / "filled").touch()
    await asyncio.to_thread(wait_for, lambda: not (small_disk.folder() / "reserve").exists(), "the first try")
    await asyncio.sleep(0.2)
    assert not work.done()
    ballast.unlink()
    assert len(((await work).reply or {})["summary"]) == 200_000


@needs_mount
async def test_a_report_that_can_never_be_written_is_said(small_disk: World) -> None:
    order = small_disk.order(small_disk.program(BIG))
    runtime = small_disk.runtime(supervisor=[*SUPERVISOR, "--retry", "0.5"])
    work = asyncio.create_task(runtime.work(order, small_disk.tell))
    await asyncio.to_thread(wait_for, (small_disk.clone / "began").exists, "the agent's start")
    fill(small_disk)
    (small_disk.clone / "filled").touch()
    with pytest.raises(StateFailed, match="could not be written"):
        await work
    assert not (small_disk.folder() / "report.json").exists()


@pytest.fixture
def read_only_disk(small_disk: World) -> World:
    subprocess.run(["mount", "-o", "remount,ro", small_disk.spool], check=True)
    return small_disk


@needs_mount
async def test_a_folder_that_cannot_be_written_is_said(read_only_disk: World) -> None:
    order = read_only_disk.order(read_only_disk.program(DONE))
    with pytest.raises(StateFailed, match="Read-only"):
        await read_only_disk.runtime().work(order, read_only_disk.tell)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_without_permission_is_said(world: World) -> None:
    world.spool.mkdir(parents=True)
    world.spool.chmod(0o500)
    with pytest.raises(StateFailed, match="Permission denied"):
        await world.runtime().work(world.order(world.program(DONE)), world.tell)


@pytest.mark.spec("RUN-2")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"call": "other", "attempt": 1, "state": "done"}', b"\xff\0"])
async def test_a_corrupted_report_is_kept_aside_and_the_call_has_died(world: World, content: bytes) -> None:
    order = world.order(world.program(DONE))
    world.folder().mkdir(parents=True)
    (world.folder() / "order.json").write_text(to_json(order))
    (world.folder() / "starts").write_text("1 1\n")
    (world.folder() / "report.json").write_bytes(content)
    for _ in range(2):
        report = await world.runtime().work(order, world.tell)
        assert report.state == "died"
        assert "corrupted" in report.why
    assert (world.folder() / "report.json.corrupt").read_bytes() == content
    assert world.kinds().count("corrupted") == 1


@pytest.mark.parametrize("content", [b"", b"{}", b"\0\0\0"])
async def test_a_corrupted_order_never_hides_what_was_begun(world: World, content: bytes) -> None:
    order = world.order(world.program(DONE))
    world.folder().mkdir(parents=True)
    (world.folder() / "order.json").write_bytes(content)
    (world.folder() / "starts").write_text("1 1\n")
    assert (await world.runtime().work(order, world.tell)).state == "died"
    assert (world.folder() / "order.json.corrupt").read_bytes() == content


async def test_an_order_of_another_run_is_refused_before_anything_starts(world: World) -> None:
    world.folder().mkdir(parents=True)
    (world.folder() / "order.json").write_text(to_json(world.order(world.program(DONE))))
    with pytest.raises(Diverged):
        await world.runtime().work(world.order(world.program("os._exit(1)")), world.tell)


async def test_a_clone_that_is_gone_is_a_failed_call(world: World) -> None:
    order = world.order(world.program(DONE), folder=str(world.top / "nowhere"))
    report = await world.runtime().work(order, world.tell)
    assert report.state == "failed"


@pytest.mark.spec("AGT-1")
async def test_an_unknown_agent_is_refused_with_what_to_write(world: World) -> None:
    report = await world.runtime().work(world.order("clade"), world.tell)
    assert (report.state, report.kind) == ("failed", "refused")
    assert "claude" in report.why
