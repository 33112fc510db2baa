"""The server of the live page: its sockets, its routes, and its lifetime from start to Ctrl-C."""

import asyncio
import contextlib
import errno
import gc
import logging
import re
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, compile_path
from starlette.types import ASGIApp

from trued.engine.run_store import RunStore
from trued.errors import BadInput, TruedError
from trued.inputs.settings.hub import hub_address
from trued.model.settings import NotifySettings
from trued.page.confirmation import Confirmations, PersonTerminal, ProposedDecision
from trued.page.entry_file import EntryFile
from trued.page.guard import COOKIE, ENTER, BrowserRequest, PageAddress, PageGate
from trued.page.live import ALL_STREAMS, STREAMS, JournalFiles, Live, Painting, ReaderThread, Watcher
from trued.page.pages import PAGES
from trued.page.pages.opening import viewed
from trued.page.reader import Reader
from trued.page.render import document, missing
from trued.page.run_notifications import RunNotifications
from trued.page.sessions import CODE_S, Sessions
from trued.page.view import PageView
from trued.reporting.notifications.notification import notifications
from trued.support.foreign_json import parse_json
from trued.support.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from trued.page.actions import Actions

Result = TypeVar("Result")
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# at most this many events are folded for one request, in a quarter of a second; the next request continues
AT_ONCE = 8_000
LAST_S = 5.0  # timeout for sending the final state to open pages
TRIES = 20  # random ports that are tried: each may be taken on one of the two addresses
NEWS = 5  # a tab shows at most this many notifications at the same time
ID = lazy_regex("[0-9]{1,15}", re.ASCII)
NO_PAGES = ("/live", "/pieces", "/waits")  # addresses that the script requests; no person reads their error messages
# Errors of a machine without IPv6. They are ignored, because no other process can listen there, either.
NO_IPV6 = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)


@dataclass(frozen=True)
class PageOptions:
    """How the page is served, and who started it."""

    home: Path
    environ: Mapping[str, str]
    warn: Callable[[str], None]  # prints a sentence for the person at the terminal
    report: Callable[[BaseException], None]  # saves the traceback of a bug
    who: str = ""  # name of the person who started the page
    terminal: PersonTerminal | None = None  # where decisions are confirmed
    again: Callable[[Path], None] = lambda path: None  # opens the browser again with this entry file
    port: int = 0
    host: str = ""  # "": a random name under localhost
    look: bool = False  # nothing can be changed
    notify: NotifySettings = field(default_factory=NotifySettings)  # how to notify the person who started the page


def open_sockets(port: int) -> tuple[int, list[socket.socket]]:
    """A port, and sockets that listen there on 127.0.0.1 and, unless the machine has no IPv6, on ::1.

    If the page did not listen on ::1, another process could listen there and pose as this page. Raises BadInput if
    there is no free port.
    """
    for _ in range(1 if port else TRIES):
        sockets: list[socket.socket] = []
        try:
            sockets.append(_bind(socket.AF_INET, "127.0.0.1", port))
            number = int(sockets[0].getsockname()[1])
            with _without_ipv6():
                sockets.append(_bind(socket.AF_INET6, "::1", number))
            return number, sockets
        except OSError as error:
            for open_socket in sockets:
                open_socket.close()
            if error.errno != errno.EADDRINUSE:
                raise BadInput(f"cannot listen on this machine: {error.strerror}") from error
    what = f"port {port}" if port else f"each of {TRIES} ports"
    raise BadInput(f"{what} is in use on 127.0.0.1 or ::1", then="choose another port with --port, or leave --port out")


@contextlib.contextmanager
def _without_ipv6() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in NO_IPV6:
            raise


def _bind(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    bound_socket = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound_socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound_socket.bind((host, port))
        bound_socket.listen(128)
    except OSError:
        bound_socket.close()
        raise
    return bound_socket


class PageServer:
    """The page while one process serves it: host name, port, keys and open streams. Nothing of it outlives the
    process."""

    def __init__(self, options: PageOptions) -> None:
        self.options = options
        port, self._sockets = open_sockets(options.port)
        self.address = PageAddress(options.host or f"t-{secrets.token_hex(4)}.localhost", port)
        self.sessions = Sessions(options.warn)
        self.entry = EntryFile(options.home)
        self.reader = ReaderThread(
            partial(Reader, options.home, options.environ, can_steer=not options.look, at_once=AT_ONCE)
        )
        files = None if hub_address(options.environ) else JournalFiles(options.home)
        self.live = Live(self.reader, files, options.report)
        self.confirmations = Confirmations(options.terminal, lambda: options.again(self.entry_path()), options.report)
        self.notifications = RunNotifications(options.home, options.environ, options.notify)
        self._acting = ThreadPoolExecutor(1, thread_name_prefix="acting")

    @cached_property
    def actions(self) -> "Actions":
        """The actions, imported at their first use, because they need half of the engine and a viewed page does not."""
        from trued.page.actions import Actions

        return Actions(self.options.home, self.options.environ, self.options.who)

    # -- lifetime ------------------------------------------------------------------------------------------------------

    def entry_path(self) -> Path:
        """A new entry file, with which a browser can log in once, within a minute."""
        return self.entry.write(self.address.origin, self.sessions.new_code())

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serve until SIGINT, SIGTERM or SIGHUP. Calls `ready` when the page answers."""
        _collect_garbage_less_often()
        config = uvicorn.Config(
            self.app(),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,  # `PageGate` adds the date: uvicorn would wake up every second to update it
            proxy_headers=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=500,
        )
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        server = QuietServer(config)
        loop = asyncio.get_running_loop()

        async def finish() -> None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.live.finish(), LAST_S)
            server.end()

        ending: list[asyncio.Task[None]] = []

        def end() -> None:
            if ending:  # second signal: exit now
                server.end()
            ending.append(loop.create_task(finish()))

        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(signal_number, end)
        self.notifications.start()
        beside = [asyncio.create_task(self._forget_entry()), asyncio.create_task(self.confirmations.listen())]
        try:
            served = asyncio.create_task(server.serve(sockets=self._sockets))
            ready()
            await served
        finally:
            for task in beside:
                task.cancel()
            self.close()

    async def _forget_entry(self) -> None:
        """Remove an unused entry file once its code has expired."""
        while True:
            await asyncio.sleep(CODE_S)
            if self.entry.age() > CODE_S:
                self.entry.remove()

    def close(self) -> None:
        self.notifications.close()
        self.entry.remove()
        self.live.close()
        self.reader.close()
        self._acting.shutdown(wait=False)
        for open_socket in self._sockets:
            open_socket.close()

    # -- routes --------------------------------------------------------------------------------------------------------

    def app(self) -> ASGIApp:
        """The application: all routes, behind one `PageGate`."""
        return PageGate(self.routes(), self.address, self.sessions, look=self.options.look)

    def routes(self) -> Starlette:
        routes = [
            Route(ENTER, self.enter, methods=["POST"]),
            Route("/live", self.stream),
            Route("/pieces", self.pieces),
            Route("/waits", self.waits),
            Route("/picture/{sha256}", self.picture),
            *([] if self.options.look else self._changing_routes()),
            *(Route(f"/static/{name}", partial(_constant, body, kind)) for name, body, kind in _static()),
            *(Route(page.path, self.page) for page in PAGES),
        ]
        app = Starlette(
            routes=routes, exception_handlers={TruedError: _error_response, HTTPException: _not_found, 500: self._bug}
        )
        app.router.redirect_slashes = False
        return app

    def _changing_routes(self) -> list[Route]:
        """The routes for actions and their confirmation. A page that was started with `--look` has none of them."""
        return [
            Route("/do/{action}", self.act, methods=["POST"]),
            Route("/pending", self.pending, methods=["POST"]),  # POST, because only a POST needs the tab key
            Route("/withdraw", self.withdraw, methods=["POST"]),
            Route("/proposal/{id}", self.proposal),
        ]

    async def act(self, request: Request) -> Response:
        """Do an action at once, or, if it needs confirmation, propose it in the terminal."""
        name, fields = request.path_params["action"], await _json(request)
        action = await self._with_store(lambda store: self.actions.prepare(store, name, fields))
        if not action.needs_confirmation:
            return JSONResponse({"said": await self._with_store(action.do)})
        if not self.confirmations.has_terminal:
            message = "this page was started without a terminal: run this command in a terminal of your own"
            return JSONResponse({"said": message, "command": action.command_line}, 409)
        session = request.scope["session"].number
        proposal = self.confirmations.propose(action.words, lambda: self._with_store(action.do), session)
        return JSONResponse({**_proposal_data(proposal), "command": action.command_line}, 202)

    async def pending(self, request: Request) -> Response:
        """The open decision that this session has proposed, so that a newly opened page can show it again."""
        proposal = self.confirmations.pending(request.scope["session"].number)
        return JSONResponse(_proposal_data(proposal) if proposal else {})

    async def withdraw(self, request: Request) -> Response:
        self.confirmations.withdraw(request.scope["session"].number)
        return JSONResponse({"said": "withdrawn: nothing was recorded"})

    async def proposal(self, request: Request) -> Response:
        """The state of a decision that was proposed in the terminal."""
        proposal = self.confirmations.proposal(request.path_params["id"])
        return JSONResponse({"state": proposal.state, "said": proposal.said})

    async def _with_store(self, what: Callable[[RunStore], Result]) -> Result:
        """Call `what` in the thread for actions, with a store of its own, so that pages can be read meanwhile."""

        def called() -> Result:
            with RunStore(self.options.home, self.options.environ) as store:
                return what(store)

        return await asyncio.get_running_loop().run_in_executor(self._acting, called)

    async def enter(self, request: Request) -> Response:
        """Log in: exchange an entry code for a session cookie, and for the key that every tab of this browser must
        send along."""
        code = await _json(request)
        entered = self.sessions.enter(str(code.get("code", "")))
        if entered is None:
            gate = request.scope["gate"]
            return await gate.delay_guess() or JSONResponse(
                {"said": "this code is unknown, has expired or was used before"}, 403
            )
        self.entry.remove()
        response = JSONResponse({"key": entered.key})
        response.set_cookie(COOKIE, entered.cookie, path="/", httponly=True, samesite="strict")
        return response

    async def page(self, request: Request) -> Response:
        # quoted, as the browser sent it: a call's key contains `#`
        address = quote(request.scope["path"]) + (f"?{request.url.query}" if request.url.query else "")
        view = await self.reader.read(self._render(address))
        return HTMLResponse(document(view, address, can_act=not self.options.look))

    async def pieces(self, request: Request) -> Response:
        """All pieces of a page, for a tab that gets no stream. If other tabs have a stream of this page, this tab gets
        the pieces that they show."""
        address = request.query_params.get("address", "")
        painting = self.live.picture(address) or Painting.whole(await self.reader.read(self._render(address)))
        return Response(painting.message, media_type="application/json")

    async def stream(self, request: Request) -> Response:
        """Server-sent events: the newest pieces of one page, whenever they change."""
        session, address = request.scope["session"], request.query_params.get("address", "")
        if session.streams >= STREAMS or self.live.streams >= ALL_STREAMS:
            return JSONResponse({"said": "too many open streams: ask for /pieces"}, 429)
        session.streams += 1
        try:
            watcher = await self.live.join(address, self._render(address))
        except BaseException:
            session.streams -= 1
            raise

        def left() -> None:
            session.streams -= 1
            self.live.leave(watcher)

        return EventStream(_events(watcher, left), ping=15)

    async def waits(self, request: Request) -> Response:
        """For hidden tabs: how many things wait for a person, and which events after the id `after` the browser should
        notify the person of."""
        after = request.query_params.get("after", "")
        return JSONResponse(await self.reader.read(partial(_news, int(after) if ID.fullmatch(after) else None)))

    async def picture(self, request: Request) -> Response:
        """A screenshot of the engine's own browser, by its hash. It may show hostile work, but is sent as an image
        only, so nothing in it can run."""
        name = request.path_params["sha256"]
        content = await self.reader.read(lambda reader: reader.picture(name))
        if content is None:
            raise HTTPException(404)
        return Response(
            content, media_type="image/png", headers={"Content-Security-Policy": "sandbox; default-src 'none'"}
        )

    def _render(self, address: str) -> Callable[[Reader], PageView]:
        """The function that makes the page of this address. Raises BadInput if there is none."""
        try:
            parts = urlsplit(address)
        except ValueError as error:
            raise BadInput("this is not a valid address", then="begin at /") from error
        for route, pattern in _PATTERNS:
            if match := pattern.match(unquote(parts.path)):
                params = {**dict(parse_qsl(parts.query)), **match.groupdict()}
                return partial(viewed, route, params)
        raise BadInput(f"there is no page {parts.path!r}", then="begin at /")

    async def _bug(self, request: Request, error: Exception) -> Response:
        self.options.report(error)
        return PlainTextResponse(
            "trued: this page could not be rendered; the terminal shows where the traceback is\n", 500
        )


class QuietServer(uvicorn.Server):
    """uvicorn without its own signal handlers, and without its loop that checks ten times a second whether to end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ended = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._ended.set()

    async def main_loop(self) -> None:
        await self._ended.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class EventStream(EventSourceResponse):
    """Server-sent events that end when `Live` ends them. The base class would check twice a second whether uvicorn has
    received a signal. We turn this off, because our server handles all signals itself."""

    @staticmethod
    async def _listen_for_exit_signal() -> None:
        await asyncio.Event().wait()


def _collect_garbage_less_often() -> None:
    """Let the garbage collector run less often: a long run has a hundred thousand rows that are kept, and a collection
    after every 700 objects took a quarter of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _proposal_data(proposal: ProposedDecision) -> dict[str, object]:
    """A proposal as its own session sees it."""
    return {
        "proposal": proposal.id,
        "number": proposal.number,
        "words": proposal.words,
        "until": round(proposal.until * 1000),
    }


_PATTERNS = [(page, compile_path(page.path)[0]) for page in PAGES]


def _news(after: int | None, reader: Reader) -> dict[str, object]:
    with reader.at_one_moment():
        newest = reader.newest_event()
        news = notifications(reader.store, after)[-NEWS:] if after is not None and after < newest else []
        return {
            "waits": reader.wait_count(),
            "event": newest,
            "news": [
                {"id": notification.id, "run": notification.run, "text": notification.text} for notification in news
            ],
        }


async def _events(watcher: Watcher, left: Callable[[], None]) -> AsyncIterator[bytes]:
    try:
        async for frame in watcher.frames():
            yield frame
    finally:
        left()


def _static() -> Iterator[tuple[str, bytes, str]]:
    """Name, content and media type of each file that every page loads."""
    for static_file in sorted(files("trued.page").joinpath("static").iterdir(), key=lambda file: file.name):
        if kind := TYPES.get(Path(static_file.name).suffix):
            yield static_file.name, static_file.read_bytes(), kind


async def _constant(body: bytes, kind: str, request: Request) -> Response:
    return Response(body, media_type=kind)


async def _json(request: Request) -> dict[str, object]:
    """The request's body. Raises BadInput if it is not a JSON object."""
    body = parse_json(await request.body())
    if not isinstance(body, dict):
        raise BadInput("the body is not a JSON object")
    return body


async def _error_response(request: Request, error: Exception) -> Response:
    """A response with one sentence about the error: as JSON for a POST, as HTML if a page was requested, else as plain
    text."""
    if request.method == "POST":
        return JSONResponse({"said": str(error)}, 409)
    return _sentence(request, str(error), 404 if isinstance(error, BadInput) else 503)


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return _sentence(request, "there is nothing here", status)


def _sentence(request: Request, sentence: str, status: int) -> Response:
    if BrowserRequest(request.scope).opens_a_page and request.url.path not in NO_PAGES:
        return HTMLResponse(missing(sentence, is_there=status != 404), status)
    return PlainTextResponse(f"trued: {sentence}\n", status)
