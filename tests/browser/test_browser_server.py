"""The browser that the verify-agent gets: an MCP server on the preview and no other address."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.browser.test_browser_check import needs_chromium
from tests.browser.test_page_actions import SHOP
from trued.run.browser_tool import browser_on


@asynccontextmanager
async def asked(folder: Path) -> AsyncIterator[Any]:
    """A function that sends a request to a server on a preview of these files, and returns its result."""
    preview = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder)))
    Thread(target=preview.serve_forever, daemon=True).start()
    command = browser_on(f"http://127.0.0.1:{preview.server_port}").browser
    work = folder / "clone"
    work.mkdir()
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*command, cwd=work, limit=2**24, stdin=pipe, stdout=pipe)
    assert server.stdin
    assert server.stdout
    to, back = server.stdin, server.stdout

    async def ask(method: str, **given: Any) -> dict[str, Any]:
        to.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": given}).encode() + b"\n")
        found: dict[str, Any] = json.loads(await asyncio.wait_for(back.readline(), 60))
        answer: dict[str, Any] = found.get("result") or found["error"]
        return answer

    try:
        yield ask
    finally:
        to.close()
        await asyncio.wait_for(server.wait(), 30)
        preview.shutdown()
        preview.server_close()


@pytest.mark.slow
@needs_chromium
@pytest.mark.spec("DAY-3", "TIC-4")
async def test_an_agent_drives_the_preview_leaves_a_picture_and_reaches_no_other_address(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(SHOP)
    async with asked(tmp_path) as ask:

        async def use(name: str, /, **given: str) -> tuple[str, bool]:
            got = await ask("tools/call", name=name, arguments=given)
            return got["content"][0]["text"], bool(got.get("isError"))

        begun = await ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={})
        assert begun["protocolVersion"] == "2025-03-26"
        assert "screenshot" in [one["name"] for one in (await ask("tools/list"))["tools"]]
        assert "Your cart is empty" in (await use("open", path="/"))[0]
        assert "1 item in your cart" in (await use("click", what="Add to cart"))[0]
        assert await use("click", what="Buy") == ("there is no such button, link or text", True)
        assert await use("screenshot", name="cart.png") == ("saved as cart.png: name it in your reply", False)
        assert (await use("screenshot", name="../cart.png"))[1]
        assert (tmp_path / "clone" / "cart.png").read_bytes().startswith(b"\x89PNG")
        assert (await use("open", path="//example.org/"))[0].startswith("http://127.0.0.1:")
        assert "no method" in (await ask("resources/list"))["message"]


def test_without_an_address_there_is_no_browser() -> None:
    assert browser_on("").browser == ()
