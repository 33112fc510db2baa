"""`trued preview` shows a run's work to a person, and leaves nothing behind."""

import asyncio
import json
import os
import signal
import sys

import pytest

from tests.workflows.conftest import Ground, ground  # noqa: F401  (a fixture)
from tests.workflows.ticket.test_found_server import contract_of, run, shop
from tests.workflows.ticket.test_ticket_preview import fetched


@pytest.mark.slow
@pytest.mark.spec("DAY-3", "DAY-6")
async def test_a_preview_shows_the_runs_commit_and_ends_with_ctrl_c_and_all_its_processes(
    ground: Ground,  # noqa: F811
) -> None:
    engine, record = await run(shop(ground), "", plan_only=True)
    assert contract_of(engine, record).serve
    variables = {**os.environ, "TRUED_HOME": str(ground.home)}
    command = [sys.executable, "-m", "trued", "preview", record.id, "--json"]
    shown = await asyncio.create_subprocess_exec(
        *command, cwd=ground.repository, env=variables, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert shown.stdout
    said = json.loads(await asyncio.wait_for(shown.stdout.readuntil(b"\n}\n"), 60))
    assert (said["run"], said["commit"], said["command"]) == (record.id, record.base, ["python", "shop.py"])
    assert "loyalty points" in await asyncio.to_thread(fetched, said["url"])
    shown.send_signal(signal.SIGINT)
    _, told = await asyncio.wait_for(shown.communicate(), 60)
    assert shown.returncode == 0, told
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(fetched, said["url"])


@pytest.mark.spec("USE-7")
async def test_what_cannot_be_started_is_said_in_a_sentence_that_tells_what_to_write(
    ground: Ground,  # noqa: F811
) -> None:
    _, record = await run(shop(ground, "raise SystemExit\n"), "", plan_only=True)
    variables = {**os.environ, "TRUED_HOME": str(ground.home)}
    command = [sys.executable, "-m", "trued", "preview", record.id]
    ended = await asyncio.create_subprocess_exec(
        *command, cwd=ground.repository, env=variables, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, told = await asyncio.wait_for(ended.communicate(), 60)
    assert (ended.returncode, said) == (2, b"")
    assert "cannot be shown: no file of the base says how the project is started; write" in " ".join(
        told.decode().split()
    )


def _joined(told: bytes) -> str:
    return " ".join(told.decode().split())
