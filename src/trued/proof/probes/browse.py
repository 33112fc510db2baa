"""Runs inside a sandbox of its own: opens one page in a real Chromium and reports what it showed.

The interpreter is the engine's. No expectation ever reaches it, and its only way out is to the server under proof: what
connects to that port here is handed to the sandbox in which the server runs. The text is read in a world of its own,
where no script of the page can change what reading means.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import secrets
import socket
import sys
import threading
import time
from typing import Any

from playwright.async_api import Error, Page, async_playwright

QUIET_S = 0.8  # nothing loads and nothing changes for so long: the page is what it is
LOOK_S = 0.1
OLD_S = 3.0  # a request that is not answered for so long is one that waits for news
MOST_TEXT = 400_000
MOST_PNG = 8 * 2**20
MOST_TRACE = 4 * 2**20
MOST_SAID = 50
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio"]
VIEW: Any = {"width": 1280, "height": 800}
HERE = os.path.dirname(os.path.abspath(__file__))


def script(name: str) -> str:
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


class Watched:
    """A page, and what it did."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page, self.origin = page, origin
        self.loading: dict[Any, float] = {}
        self.errors: list[str] = []
        self.key = f"_{secrets.token_hex(8)}"
        self.reading = script("reading.js")
        page.on("request", self.asked)
        page.on("requestfinished", self.answered)
        page.on("requestfailed", self.failed)
        page.on("pageerror", lambda error: self.wrong(f"error: {error}"))
        page.on("console", self.printed)
        page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.dismiss()))

    def wrong(self, what: str) -> None:
        if len(self.errors) < MOST_SAID:
            self.errors.append(what[:500])

    def asked(self, request: Any) -> None:
        self.loading[request] = time.monotonic()

    def answered(self, request: Any) -> None:
        self.loading.pop(request, None)

    def failed(self, request: Any) -> None:
        self.loading.pop(request, None)
        if request.url.startswith(self.origin) and "ERR_ABORTED" not in str(request.failure):
            self.wrong(f"failed: {request.url} {request.failure}")

    def printed(self, message: Any) -> None:
        url = str((message.location or {}).get("url", ""))
        elsewhere = url.startswith("http") and not url.startswith(self.origin)
        if message.type == "error" and not elsewhere and not url.endswith("/favicon.ico"):
            self.wrong(f"console: {message.text}")

    def busy(self) -> bool:
        now = time.monotonic()
        return any(now - since < OLD_S for since in self.loading.values())


async def read(session: Any, reading: str) -> dict[str, Any]:
    """The text of the page, read where its own scripts cannot interfere."""
    frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "trued"})
    asked = {"expression": reading, "contextId": world["executionContextId"], "returnByValue": True}
    found = await session.send("Runtime.evaluate", asked)
    value = found.get("result", {}).get("value")
    if not isinstance(value, dict):
        raise Error(str(found.get("exceptionDetails"))[:300])
    return {name: str(text)[:MOST_TEXT] for name, text in value.items()}


async def settled(watched: Watched, until: float) -> dict[str, Any]:
    """The text when the page has come to rest, or when its time is over."""
    text: dict[str, Any] = {}
    since = time.monotonic()
    session = await watched.page.context.new_cdp_session(watched.page)
    while time.monotonic() < until:
        now: dict[str, Any] = {}
        waiting = None
        with contextlib.suppress(Error, TimeoutError):  # it may be on its way to another page, or never pause
            async with asyncio.timeout(max(until - time.monotonic(), LOOK_S)):
                now = await read(session, watched.reading)
                waiting = await watched.page.evaluate(f"window[{json.dumps(watched.key)}]")
        if not now or now != text or watched.busy() or (isinstance(waiting, int) and waiting > 0):
            text, since = now or text, time.monotonic()
        elif time.monotonic() - since >= QUIET_S:
            break
        await asyncio.sleep(LOOK_S)
    return text


async def look(order: dict[str, Any]) -> dict[str, Any]:
    origin = f"http://localhost:{order['port']}"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=order["chromium"], args=FLAGS)
        context = await browser.new_context(viewport=VIEW, accept_downloads=False, reduced_motion="reduce")
        watched = Watched(await context.new_page(), origin)
        await watched.page.add_init_script(f"{script('timers.js')}({json.dumps(watched.key)})")
        await context.tracing.start(screenshots=True, snapshots=True)
        try:  # from here on it is the page's doing, not the machine's
            found = await opened(watched, order)
        except (Error, OSError, TimeoutError) as error:
            found = {"failed": f"{error}".partition("\n")[0][:500]}
        return {"version": browser.version, **found, "trace": await traced(context)}


async def opened(watched: Watched, order: dict[str, Any]) -> dict[str, Any]:
    page, within_s = watched.page, order["within_s"]
    until = time.monotonic() + within_s
    response = await page.goto(watched.origin + order["page"], wait_until="commit", timeout=within_s * 1000)
    text = await settled(watched, until)
    if not text:
        return {"failed": "the page could not be read"}
    found = {**text, "status": response.status if response else 0, "url": page.url, "errors": watched.errors}
    return {**found, "viewport": f"{VIEW['width']}x{VIEW['height']}", **await kept(page)}


async def kept(page: Page) -> dict[str, Any]:
    """What is looked at and kept, but decides nothing by itself if it fails."""
    found: dict[str, Any] = {"tree": "", "screenshot": ""}
    with contextlib.suppress(Error):
        found["tree"] = (await page.locator("body").aria_snapshot(timeout=10_000))[:MOST_TEXT]
    with contextlib.suppress(Error):
        png = await page.screenshot(animations="disabled", timeout=10_000)
        found["screenshot"] = base64.b64encode(png).decode() if len(png) <= MOST_PNG else ""
    return found


async def traced(context: Any) -> str:
    """The recording of all that the browser did, if there is one of bearable size: `playwright show-trace`."""
    place = os.path.join(os.environ["TMPDIR"], "trace.zip")
    with contextlib.suppress(Error, OSError, TimeoutError):
        async with asyncio.timeout(10):
            await context.tracing.stop(path=place)
        return encoded(place)
    return ""


def encoded(place: str) -> str:
    with open(place, "rb") as file:
        zipped = file.read(MOST_TRACE + 1)
    return base64.b64encode(zipped).decode() if len(zipped) <= MOST_TRACE else ""


def lead(port: int, dialer: int) -> None:
    """What connects to the port here is handed to the server's sandbox; where both share a network, it is there."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        return
    listener.listen(64)
    orders = socket.socket(fileno=dialer)

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                socket.send_fds(orders, [b"+"], [connection.fileno()])

    threading.Thread(target=accept, daemon=True).start()


def main() -> None:
    channel = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(channel, False)
    order = json.loads(sys.stdin.buffer.read())
    os.set_inheritable(order["dialer"], False)
    lead(order["port"], order["dialer"])
    try:
        record = asyncio.run(look(order))
    except (Error, OSError, TimeoutError) as error:
        record = {"unable": f"{type(error).__name__}: {error}"[:2000]}
    line = f"{order['nonce']} {json.dumps(record)}\n".encode()
    while line:
        line = line[os.write(channel, line) :]
    os._exit(0)


if __name__ == "__main__":
    main()
