"""An MCP server inside an agent's sandbox: lets the agent use a real Chromium, which can load only the preview.

The agent's own program starts it: browser_server.py ADDRESS CHROMIUM PROBES. ADDRESS is the preview's address, CHROMIUM
the browser's path, and PROBES the folder with the probe of browser checks. The server speaks JSON-RPC, one message per
line, on stdin and stdout. Pictures are written into the current folder, which is the agent's clone. Nothing here is
evidence: the agent reports what it saw, and the engine checks it separately.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

WITHIN_S = 20.0
MOST_TEXT = 20_000  # characters of one answer; more would only fill the agent's context
VERSION = "2025-06-18"
TEXT = {"type": "string"}


def tool(name: str, does: str, /, **parameters: str) -> dict[str, Any]:
    properties = {word: {**TEXT, "description": about} for word, about in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters), "additionalProperties": False}
    return {"name": name, "description": does, "inputSchema": schema}


def tools(address: str) -> list[dict[str, Any]]:
    return [
        tool("open", f"Open a page of the preview ({address}) and read it.", path="the path on the preview, such as /"),
        tool("read", "Read the page that is open: its address, what a person sees, and its accessibility tree."),
        tool("click", "Click a button, link or other element.", what='the words on it, or button "Buy"'),
        tool("type", "Type into a field.", text="what to type", field="the field's label, placeholder or name"),
        tool("choose", "Choose an option of a list.", option="the option's words", field="the list's label"),
        tool("press", "Press a key.", key="such as Enter, Tab or Control+A"),
        tool("wait", "Wait until a text can be seen.", text="the text"),
        tool("screenshot", "Save a picture of the page in the current folder.", name="a file name that ends in .png"),
    ]


class Browser:
    """One page of Chromium. The browser is started when the agent first uses a tool."""

    def __init__(self, address: str, chromium: str) -> None:
        self.address, self.chromium = address, chromium
        self.watched: Any = None

    async def page(self) -> Any:
        if self.watched is None:
            # the probe of browser checks, so that agents read and use a page as the checks do
            import browse  # type: ignore[import-not-found]
            from playwright.async_api import async_playwright

            os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="b", dir="/tmp" if os.access("/tmp", os.W_OK) else None)  # noqa: S108
            playwright = await async_playwright().start()
            browser = await playwright.chromium.launch(executable_path=self.chromium, args=browse.FLAGS)
            context = await browser.new_context(viewport=browse.VIEW, accept_downloads=False)
            await context.route("**/*", partial(stay_on, self.address))
            self.watched = browse.Watched(await context.new_page(), origin(self.address))
            key = json.dumps(self.watched.key)
            await self.watched.page.add_init_script(f"{browse.script('timers.js')}({key})")
        return self.watched

    async def use(self, name: str, arguments: dict[str, str]) -> list[dict[str, Any]]:
        import browse

        watched = await self.page()
        if name == "screenshot":
            return await picture(watched.page, arguments["name"])
        if name == "open":
            url = urljoin(self.address.rstrip("/") + "/", arguments["path"].lstrip("/"))
            await watched.page.goto(url, wait_until="commit", timeout=WITHIN_S * 1000)
        elif name != "read":
            await browse.act_once(watched, action(name, arguments), time.monotonic() + WITHIN_S)
        text = await browse.settled(watched, time.monotonic() + WITHIN_S)
        tree = (await browse.kept(watched.page))["tree"]
        page_text = f"{watched.page.url} (status {watched.status})\n\n{text.get('shown', '').strip()}\n\n{tree}"
        errors = "".join(f"\n{error}" for error in watched.errors[-5:])
        return [{"type": "text", "text": page_text[:MOST_TEXT] + (f"\n\nerrors:{errors}" if errors else "")}]


def action(name: str, arguments: dict[str, str]) -> dict[str, str]:
    argument = {"click": "what", "type": "text", "choose": "option", "press": "key", "wait": "text"}[name]
    return {name: arguments[argument], **({"field": arguments["field"]} if "field" in arguments else {})}


async def stay_on(address: str, route: Any) -> None:
    """Let a request through if it goes to the origin of `address`, or is a `data:` or `blob:` URL; abort any other."""
    url = route.request.url
    same_site = origin(url) == origin(address) or url.startswith(("data:", "blob:"))
    await (route.continue_() if same_site else route.abort())


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


async def picture(page: Any, name: str) -> list[dict[str, Any]]:
    if not re.fullmatch(r"[\w.-]{1,80}\.png", name) or name.startswith("."):
        raise ValueError("name it with letters, digits, dots and dashes, ending in .png")
    png = await page.screenshot(animations="disabled", timeout=WITHIN_S * 1000)
    await asyncio.to_thread(Path(name).write_bytes, png)
    note = {"type": "text", "text": f"saved as {name}: name it in your reply"}
    return [note, {"type": "image", "data": base64.b64encode(png).decode(), "mimeType": "image/png"}]


async def answer(browser: Browser, request: dict[str, Any]) -> dict[str, Any] | None:
    """The result of one request; None for a notification. A tool's error is a result, too. Raises LookupError for an
    unknown method."""
    method, params = request.get("method", ""), request.get("params") or {}
    if "id" not in request:
        return None
    if method == "initialize":
        about = {"name": "browser", "version": "1"}
        return {
            "protocolVersion": params.get("protocolVersion", VERSION),
            "capabilities": {"tools": {}},
            "serverInfo": about,
        }
    if method == "tools/list":
        return {"tools": tools(browser.address)}
    if method == "ping":
        return {}
    if method != "tools/call":
        raise LookupError(f"there is no method {method}")
    try:
        return {"content": await browser.use(params["name"], params.get("arguments") or {})}
    except Exception as error:  # noqa: BLE001  every error is reported to the agent, which continues
        why = f"{type(error).__name__}: {error}" if not str(error) else str(error).partition("\n")[0]
        return {"content": [{"type": "text", "text": why[:2000]}], "isError": True}


async def main() -> None:
    address, chromium, probes = sys.argv[1:4]
    sys.path.insert(0, probes)
    browser, loop = Browser(address, chromium), asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            request = json.loads(line)
            result = await answer(browser, request)
            response = {"result": result}
        except (ValueError, AttributeError):
            continue
        except LookupError as error:
            response = {"error": {"code": -32601, "message": str(error)}}
            result = {}
        if result is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **response}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
