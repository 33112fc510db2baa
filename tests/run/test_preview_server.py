"""A preview serves the head by the contract's command, on a port of this machine, and is gone afterwards."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.proof.checks.test_http import BASE, SERVE, asks
from tests.proof.trial import Trial
from trued.model import Contract, Ready, Serve
from trued.run.preview_server import HOST, PreviewAddress, PreviewRequest, PreviewServer, free_port

CASES = asks({"http": {"path": "/page"}, "status": 200})
HEAD = "def answer(method, path, body, headers):\n    return 200, b'new ' + path.encode(), {}\n"


async def fetched(port: int, path: str) -> str:
    said, ask = await asyncio.open_connection(HOST, port)
    ask.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    await ask.drain()
    answer = await asyncio.wait_for(said.read(), 60)
    ask.close()
    return answer.decode().rpartition("\r\n\r\n")[2]


async def listens(port: int) -> bool:
    with contextlib.suppress(OSError):
        _, ask = await asyncio.open_connection(HOST, port)
        ask.close()
        return True
    return False


@contextlib.asynccontextmanager
async def shown(trial: Trial, contract: Contract, commit: str) -> AsyncIterator[PreviewServer]:
    async with PreviewServer(PreviewRequest(trial.workspace, contract, commit, free_port(), 60.0)) as server:
        yield server


async def sealed(tmp_path: Path) -> tuple[Trial, Contract]:
    trial = Trial(tmp_path, BASE, CASES, serve=SERVE)
    return trial, await trial.seal()


@pytest.mark.spec("TIC-5")
async def test_a_preview_shows_the_head_by_the_contracts_command_and_is_gone_afterwards(tmp_path: Path) -> None:
    trial, contract = await sealed(tmp_path)
    commit = await trial.head({"shop/pages.py": HEAD, "shop/other.py": ""})
    async with shown(trial, contract, commit) as server:
        port = server.request.port
        assert not await listens(port), "nothing is started before it is needed"
        assert await server.start() == ""
        assert await server.start() == "", "asking again starts nothing"
        assert await fetched(port, "/page") == "new /page"
        both = await asyncio.gather(*(fetched(port, f"/{number}") for number in range(8)))
        assert both == [f"new /{number}" for number in range(8)]
    assert not await listens(port)
    again = PreviewRequest(trial.workspace, contract, commit, port, 60.0)
    async with PreviewServer(again) as server:
        assert await server.start() == "", "the same port again, as after a restart"


@pytest.mark.slow
@pytest.mark.spec("TIC-5")
async def test_a_preview_has_the_product_that_lies_among_tests(tmp_path: Path) -> None:
    trial, contract = await sealed(tmp_path)
    contract = contract.model_copy(update={"frozen": {"tests/test_pages.py": ""}})  # as if a suite guarded the base
    commit = await trial.head({"shop/pages.py": f"import shop.tests.panel\n{HEAD}", "shop/tests/panel.py": ""})
    async with shown(trial, contract, commit) as showing:
        assert await showing.start() == ""
        assert await fetched(showing.request.port, "/page") == "new /page"


@pytest.mark.spec("TIC-5")
async def test_a_server_that_never_answers_is_one_sentence(tmp_path: Path) -> None:
    trial, contract = await sealed(tmp_path)
    broken = await trial.head({"shop/pages.py": "raise SystemExit('no pages today')\n"})
    async with shown(trial, contract, broken) as server:
        assert await server.start() == "the server ended; its output ends with: no pages today"
    silent = Serve(command=("sleep", "60"), ready=Ready(within_s=0.5))
    async with shown(trial, contract.model_copy(update={"serve": silent}), contract.base) as server:
        assert await server.start() == "the server did not answer within 0.5 s"
    async with shown(trial, contract.model_copy(update={"serve": None}), contract.base) as server:
        why = await server.start()
    assert why == "no command that serves the project is known"
    assert PreviewAddress(why=why).description == f"there is no preview: {why}"
