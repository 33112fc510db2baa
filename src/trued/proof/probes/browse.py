"""Runs inside a sandbox of its own: opens one page in a real Chromium and reports what it showed.

The interpreter is the engine's. No expectation reaches this process, except a text that an action waits for. The
process can reach only the server under proof: connections to the server's port are forwarded to the server's sandbox.
The page's text is read in an isolated JavaScript world, where no script of the page can tamper with it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import secrets
import socket
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error, Page, async_playwright

QUIET_S = 0.8  # the page has settled if nothing has loaded or changed for this long
LOOK_S = 0.1
OLD_S = 3.0  # a request without an answer after this time counts as long polling, and is not waited for
MOST_TEXT = 400_000
MOST_PNG = 8 * 2**20
MOST_TRACE = 4 * 2**20
MOST_SAID = 50
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio"]
VIEW: Any = {"width": 1280, "height": 800}
# In the second turn, page and server see an ordinary browser, so that a page cannot show more to a test than to people.
ORDINARY_FLAGS = ["--disable-blink-features=AutomationControlled"]
ORDINARY = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%s.0.0.0 Safari/537.36"
FIND_S = 2.0  # seconds in which an element may appear after the page has settled
ACT_MS = 3000  # milliseconds in which an element may become enabled and uncovered
MOST_ALIKE = 20  # at most this many elements of one name are checked
CLICKED = ("button", "link", "tab", "menuitem", "checkbox", "radio", "switch", "option", "treeitem", "cell", "row")
FIELDS = ("textbox", "searchbox", "spinbutton", "combobox", "listbox", "slider")
# Types of fields that are typed key by key. Other fields get their value at once.
TYPED = (None, "", "text", "search", "email", "url", "tel", "password", "number")
HERE = os.path.dirname(os.path.abspath(__file__))


def script(name: str) -> str:
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


class Watched:
    """A page, with its open requests and errors."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page, self.origin = page, origin
        self.loading: dict[Any, float] = {}
        self.errors: list[str] = []
        self.key = f"_{secrets.token_hex(8)}"
        self.reading = script("reading.js")
        self.status = 0  # HTTP status of the shown page
        self.printed: list[tuple[str, str, bool]] = []  # error in the console: text, address, whether a script wrote it
        self.excused: set[tuple[str, str]] = set()  # text and address of what other hosts did not send, and of icons
        self.loaded_elsewhere: set[str] = set()  # scripts and documents that other hosts sent
        page.on("request", self.on_request)
        page.on("requestfinished", self.on_finished)
        page.on("requestfailed", self.on_failed)
        page.on("pageerror", lambda error: self.add_error(f"error: {error}"))
        page.on("console", self.on_console)
        page.on("response", self.on_response)
        page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.dismiss()))

    def add_error(self, what: str) -> None:
        if len(self.errors) < MOST_SAID:
            self.errors.append(what[:500])

    def on_request(self, request: Any) -> None:
        self.loading[request] = time.monotonic()

    def on_finished(self, request: Any) -> None:
        self.loading.pop(request, None)

    def is_elsewhere(self, url: str) -> bool:
        """Whether this is an address of another server."""
        return server_of(url) not in (None, server_of(self.origin))

    async def watch_losses(self) -> None:
        """Learn from the browser itself what could not be loaded. What a script says of itself does not count."""
        session = await self.page.context.new_cdp_session(self.page)
        session.on("Log.entryAdded", lambda event: self.on_entry(event["entry"]))
        await session.send("Log.enable")

    def on_entry(self, entry: dict[str, Any]) -> None:
        url = entry.get("url", "")
        if entry.get("networkRequestId") and (self.is_elsewhere(url) or url.endswith("/favicon.ico")):
            self.excused.add((entry["text"], url))

    def all_errors(self) -> list[str]:
        """The page's own errors. Not among them: what other hosts did not send, errors of scripts that they did send,
        and a missing icon."""
        mine = []
        for words, url, is_of_script in self.printed:
            if url not in self.loaded_elsewhere if is_of_script else (words, url) not in self.excused:
                mine.append(f"console: {words}"[:500])
        return [*self.errors, *mine][:MOST_SAID]

    def on_response(self, response: Any) -> None:
        if response.request.resource_type in ("script", "document") and not response.from_service_worker:
            self.loaded_elsewhere |= {response.url} if response.ok and self.is_elsewhere(response.url) else set()
        with contextlib.suppress(Error):  # the frame may be gone
            if response.request.is_navigation_request() and response.frame == self.page.main_frame:
                self.status = response.status

    def on_failed(self, request: Any) -> None:
        self.loading.pop(request, None)
        if server_of(request.url) == server_of(self.origin) and "ERR_ABORTED" not in str(request.failure):
            self.add_error(f"failed: {request.url} {request.failure}")

    def on_console(self, message: Any) -> None:
        """Keep an error. One of a script has values, or no text at all; every other one is the browser's."""
        if message.type == "error" and len(self.printed) < MOST_SAID:
            url = str((message.location or {}).get("url", ""))
            self.printed.append((message.text, url, bool(message.args) or not message.text))

    def busy(self) -> bool:
        now = time.monotonic()
        return any(now - since < OLD_S for since in self.loading.values())


def server_of(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port; None if it is not an address of a web server. All names of this machine are the same."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    is_this_machine = host in ("localhost", "127.0.0.1", "::1") or host.endswith(".localhost")
    return (parts.scheme, "localhost" if is_this_machine else host, port) if parts.scheme in ("http", "https") else None


async def read(session: Any, reading: str) -> dict[str, Any]:
    """The text of the page, read where the page's own scripts cannot interfere. `reading`: the JavaScript expression
    that reads it."""
    frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "trued"})
    evaluation = {"expression": reading, "contextId": world["executionContextId"], "returnByValue": True}
    result = await session.send("Runtime.evaluate", evaluation)
    value = result.get("result", {}).get("value")
    if not isinstance(value, dict):
        raise Error(str(result.get("exceptionDetails"))[:300])
    return {name: str(text)[:MOST_TEXT] for name, text in value.items()}


async def settled(watched: Watched, deadline: float) -> dict[str, Any]:
    """The text of the page when it has settled, or when its time is up; {} if the page could never be read."""
    text: dict[str, Any] = {}
    unchanged_since = time.monotonic()
    session = await watched.page.context.new_cdp_session(watched.page)
    while time.monotonic() < deadline:
        text_now: dict[str, Any] = {}
        timers = None
        with contextlib.suppress(Error, TimeoutError):  # the page may be navigating, or never pause
            async with asyncio.timeout(max(deadline - time.monotonic(), LOOK_S)):
                text_now = await read(session, watched.reading)
                timers = await watched.page.evaluate(f"window[{json.dumps(watched.key)}]")
        if not text_now or text_now != text or watched.busy() or (isinstance(timers, int) and timers > 0):
            text, unchanged_since = text_now or text, time.monotonic()
        elif time.monotonic() - unchanged_since >= QUIET_S:
            break
        await asyncio.sleep(LOOK_S)
    return text


async def look(order: dict[str, Any]) -> dict[str, Any]:
    origin, second = order["origin"], order.get("second", False)
    flags = [*FLAGS, *ORDINARY_FLAGS] if second else FLAGS
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=order["chromium"], args=flags)
        user_agent = ORDINARY % browser.version.partition(".")[0] if second else None
        context = await browser.new_context(
            viewport=VIEW, accept_downloads=False, reduced_motion="reduce", user_agent=user_agent
        )
        watched = Watched(await context.new_page(), origin)
        await watched.watch_losses()
        await watched.page.add_init_script(f"{script('timers.js')}({json.dumps(watched.key)})")
        await context.tracing.start(screenshots=True, snapshots=True)
        try:  # errors from here on are the page's fault, not the machine's
            record = await open_page(watched, order)
        except (Error, OSError, TimeoutError) as error:
            record = {"failed": f"{error}".partition("\n")[0][:500]}
        return {"version": browser.version, **record, "trace": await save_recording(context)}


async def open_page(watched: Watched, order: dict[str, Any]) -> dict[str, Any]:
    page, within_s = watched.page, order["within_s"]
    deadline = time.monotonic() + within_s
    response = await page.goto(watched.origin + order["page"], wait_until="commit", timeout=within_s * 1000)
    text = await settled(watched, deadline)
    if not text:
        return {"failed": "the page could not be read"}
    record: dict[str, Any] = {}
    if order.get("actions"):
        record = {"before": text, **await act(watched, order["actions"], within_s)}
        text = await settled(watched, time.monotonic() + within_s) or text
    status = watched.status or (response.status if response else 0)
    record |= {**text, "status": status, "url": page.url, "errors": watched.all_errors()}
    return {**record, "viewport": f"{VIEW['width']}x{VIEW['height']}", **await kept(page)}


# -- actions of a person on the page -----------------------------------------------------------------------------------


class Stuck(Exception):
    """An action cannot be done; the reason is for people."""


async def act(watched: Watched, actions: list[dict[str, Any]], within_s: float) -> dict[str, Any]:
    """Do the actions in order. Returns {}, or which action cannot be done and why."""
    for number, action in enumerate(actions):
        deadline = time.monotonic() + within_s
        try:
            await act_once(watched, action, deadline)
        except Stuck as stuck:
            return {"stuck": number, "why": str(stuck)}
        except Error as error:
            return {"stuck": number, "why": refusal(error)}
        await settled(watched, deadline)
    return {}


async def act_once(watched: Watched, action: dict[str, Any], deadline: float) -> None:
    page = watched.page
    if "click" in action:
        target = await find(page, action["click"], clickable, deadline)
        if target is None:
            raise Stuck("there is no such button, link or text")
        await target.click(timeout=ACT_MS)
    elif "press" in action:
        try:
            await page.keyboard.press(action["press"])
        except Error:
            raise Stuck("there is no such key") from None
    elif "wait" in action:
        await wait_for(watched, action["wait"], deadline)
    else:
        field = await find(page, action["field"], fields, deadline)
        if field is None:
            raise Stuck("there is no such field")
        if "choose" in action:
            await choose(field, action["choose"])
        elif await field.get_attribute("type") in TYPED:
            await field.fill("", timeout=ACT_MS)
            await field.press_sequentially(action["type"], timeout=ACT_MS + 50 * len(action["type"]))
        else:
            await field.fill(action["type"], timeout=ACT_MS)


async def choose(field: Any, words: str) -> None:
    try:
        await field.select_option(label=words, timeout=ACT_MS)
    except Error as error:
        raise Stuck(
            "the field is no drop-down list" if "not a <select>" in str(error) else "it has no such option"
        ) from None


async def wait_for(watched: Watched, words: str, deadline: float) -> None:
    session, expected = await watched.page.context.new_cdp_session(watched.page), with_single_spaces(words)
    while time.monotonic() < deadline:
        with contextlib.suppress(Error):  # the page may be navigating
            text = await read(session, watched.reading)
            if expected in with_single_spaces(text["shown"]) or expected in with_single_spaces(text["meant"]):
                return
        await asyncio.sleep(LOOK_S)
    raise Stuck("it did not appear in time")


async def find(page: Page, words: str, locators: Any, deadline: float) -> Any:
    """The first visible element that a person would call by these words, or None."""
    deadline = min(deadline, time.monotonic() + FIND_S)
    while True:
        for locator in locators(page, words):
            for number in range(min(await locator.count(), MOST_ALIKE)):
                if await locator.nth(number).is_visible():
                    return locator.nth(number)
        if time.monotonic() >= deadline:
            return None
        await asyncio.sleep(LOOK_S)


def clickable(page: Any, words: str) -> list[Any]:
    if role_and_name := re.fullmatch(r'([a-z]+) "(.*)"', words):
        return [page.get_by_role(role_and_name[1], name=role_and_name[2], exact=True)]
    exact = [page.get_by_role(role, name=words, exact=True) for role in CLICKED]
    exact += [page.get_by_label(words, exact=True), page.get_by_text(words, exact=True)]
    return [*exact, *(page.get_by_role(role, name=words) for role in CLICKED[:2])]


def fields(page: Any, words: str) -> list[Any]:
    if role_and_name := re.fullmatch(r'([a-z]+) "(.*)"', words):
        return [page.get_by_role(role_and_name[1], name=role_and_name[2], exact=True)]
    exact = [page.get_by_role(role, name=words, exact=True) for role in FIELDS]
    exact += [page.get_by_label(words, exact=True), page.get_by_placeholder(words, exact=True)]
    return [*exact, page.get_by_label(words), page.get_by_placeholder(words)]


def refusal(error: Error) -> str:
    message = str(error)
    if "not enabled" in message:
        return "it is disabled"
    if "intercepts pointer events" in message:
        return "something else covers it"
    return message.partition("\n")[0][:300]


def with_single_spaces(text: str) -> str:
    return " ".join(text.split())


async def kept(page: Page) -> dict[str, Any]:
    """The accessibility tree and a picture of the page; each is "" if taking it fails."""
    pictures: dict[str, Any] = {"tree": "", "screenshot": ""}
    with contextlib.suppress(Error):
        pictures["tree"] = (await page.locator("body").aria_snapshot(timeout=10_000))[:MOST_TEXT]
    with contextlib.suppress(Error):
        png = await page.screenshot(animations="disabled", timeout=10_000)
        pictures["screenshot"] = base64.b64encode(png).decode() if len(png) <= MOST_PNG else ""
    return pictures


async def save_recording(context: Any) -> str:
    """The recording of everything that the browser did, for `playwright show-trace`; "" if missing or too large."""
    place = os.path.join(os.environ["TMPDIR"], "trace.zip")
    with contextlib.suppress(Error, OSError, TimeoutError):
        async with asyncio.timeout(10):
            await context.tracing.stop(path=place)
        return read_recording(place)
    return ""


def read_recording(place: str) -> str:
    with open(place, "rb") as file:
        zipped = file.read(MOST_TRACE + 1)
    return base64.b64encode(zipped).decode() if len(zipped) <= MOST_TRACE else ""


def forward_connections(port: int, dialer: int) -> None:
    """Forward connections to this port to the server's sandbox. Does nothing if browser and server share a network."""
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
    if "dialer" in order:
        os.set_inheritable(order["dialer"], False)
        forward_connections(order["port"], order["dialer"])
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
