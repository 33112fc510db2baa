"""Checks every request before any route of the page: host, origin, session, tab key. Adds headers to each response."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate

from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trued.page.sessions import Guesses, PageSession, Sessions

COOKIE = "trued"
KEY = b"x-tab-key"
ENTER = "/enter"
# Files that are served without a login, because they are the same for everybody and reveal nothing.
BEFORE_LOGIN = ("/static/enter.js", "/static/page.css")
MOST_HEADERS = 100
MOST_BODY = 64 * 1024
BODY_S = 10.0  # timeout for the whole body of a request
SLEEPERS = 16  # wrong guesses that are delayed at the same time; more are refused without delay

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types trued"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}

ENTRY = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>trued</title>
<link rel="stylesheet" href="/static/page.css">
<script type="module" src="/static/enter.js"></script>
</head>
<body>
<main>
<h1>trued</h1>
<p id="entry" role="status">This browser has not logged in. Press Enter in the terminal where <code>trued page</code> runs.</p>
<p><a href="">Continue if this browser has logged in before</a></p>
</main>
</body>
</html>
"""  # noqa: E501


@dataclass(frozen=True)
class PageAddress:
    """The only host name and port under which the page answers."""

    host: str
    port: int

    @property
    def authority(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.authority}"


class BrowserRequest:
    """What `PageGate` reads of a request: its method, path and headers."""

    def __init__(self, scope: Scope) -> None:
        self.method, self.path = str(scope["method"]), str(scope["path"])
        self.headers: list[tuple[bytes, bytes]] = list(scope["headers"])

    def every(self, name: bytes) -> list[str]:
        return [value.decode("latin-1") for key, value in self.headers if key == name]

    def one(self, name: bytes) -> str:
        """The header's value; "" if it is absent. Repeated headers are joined, so that they match no expected value."""
        return ", ".join(self.every(name))

    @property
    def cookie(self) -> str:
        pairs = [pair.strip().partition("=") for line in self.every(b"cookie") for pair in line.split(";")]
        return next((value for name, _, value in pairs if name == COOKIE), "")

    @property
    def opens_a_page(self) -> bool:
        """Whether the browser asks for a page to show in a tab, not for a frame, image, script or fetch."""
        return self.method == "GET" and self.one(b"sec-fetch-dest") in ("", "document")


class BodyRefused(Exception):
    """A request's body is not accepted: it is too large, too slow or incomplete."""

    def __init__(self, status: int) -> None:
        self.status = status


class PageGate:
    """ASGI middleware: lets a request pass to the app, or answers it with a refusal that reveals nothing about any run.

    `look`: whether the page only shows runs and changes nothing. Then the only POST that passes is the login.
    """

    def __init__(
        self, app: ASGIApp, address: PageAddress, sessions: Sessions, *, look: bool, within_s: float = BODY_S
    ) -> None:
        self.app, self.address, self.sessions, self.look, self.within_s = app, address, sessions, look, within_s
        self.guesses = Guesses(sessions.warn)
        self._sleeping = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # websockets and lifespan events get no answer
        request, send = BrowserRequest(scope), _with_headers(send)
        refusal = self._refuse_foreign(request) or self._refuse_unexpected(request)
        if refusal is None:
            session = self.sessions.session(request.cookie) if request.cookie else None
            refusal = await self._refuse_without_session(request, session)
            scope["session"], scope["gate"] = session, self
        if refusal is None and request.method == "POST":
            try:
                receive = _receive_once(await _body(request, receive, self.within_s))
            except BodyRefused as error:
                refusal = _refusal(error.status)
        await (refusal or self.app)(scope, receive, send)

    def _refuse_foreign(self, request: BrowserRequest) -> Response | None:
        """Refuse a request for another host name or port, or from another origin; None if it may pass."""
        if request.every(b"host") != [self.address.authority]:
            return _refusal(421)
        if request.every(b"origin") not in ([], [self.address.origin]):
            return _refusal(403)
        site = request.one(b"sec-fetch-site")
        if site in ("", "same-origin") or (site == "none" and request.opens_a_page):
            return None
        if request.opens_a_page and site in ("same-site", "cross-site"):
            # The person followed a link on another site, so the browser sent no cookie. It sends the cookie when they
            # click the link in ENTRY, because that link is same-origin.
            return HTMLResponse(ENTRY, 401)
        return _refusal(403)

    def _refuse_unexpected(self, request: BrowserRequest) -> Response | None:
        """Refuse a request that the page's own script would not send; None if it may pass.

        Refused are methods other than GET and POST, bad paths, too many headers, a POST that is not JSON from this
        origin, and with `look` any POST but the login.
        """
        if request.method not in ("GET", "POST"):
            return _refusal(405)
        if not request.path.startswith("/"):
            return _refusal(400)
        if len(request.headers) > MOST_HEADERS:
            return _refusal(431)
        if request.method != "POST":
            return None
        if self.look and request.path != ENTER:
            return _refusal(404)
        if request.every(b"origin") != [self.address.origin]:
            return _refusal(403)
        if request.one(b"content-type").replace(" ", "").lower() not in _JSON:
            return _refusal(415)
        return None

    async def _refuse_without_session(self, request: BrowserRequest, session: PageSession | None) -> Response | None:
        """Refuse a request without a session, or a POST without the session's tab key; None if it may pass."""
        if request.path == ENTER and request.method == "POST":
            return None
        if session is None:
            if request.cookie and (refusal := await self.delay_guess()):
                return refusal
            if request.method != "POST" and request.path in BEFORE_LOGIN:
                return None
            return HTMLResponse(ENTRY, 401) if request.opens_a_page else _refusal(401)
        if request.method == "POST" and not self.sessions.has_key(session, request.one(KEY)):
            return await self.delay_guess() or _refusal(403)
        return None

    async def delay_guess(self) -> Response | None:
        """Count a wrong secret and delay the answer. Returns a refusal if too many answers are delayed already."""
        seconds = self.guesses.delay()
        if self._sleeping >= SLEEPERS:
            return _refusal(429)
        self._sleeping += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._sleeping -= 1
        return None


_JSON = ("application/json", "application/json;charset=utf-8")


def _refusal(status: int) -> Response:
    words = {
        400: "bad request",
        401: "not logged in: open this page from the terminal where `trued page` runs",
        403: "refused",
        404: "not found",
        405: "no such method",
        408: "the request took too long",
        413: "the request is too large",
        415: "send application/json",
        421: "this server does not answer under that name",
        429: "too many wrong guesses",
        431: "too many headers",
    }
    return PlainTextResponse(f"trued: {words[status]}\n", status)


async def _body(request: BrowserRequest, receive: Receive, within_s: float) -> bytes:
    """The whole body of a request. Raises BodyRefused if it is too large, incomplete or too slow."""
    length = request.one(b"content-length")
    if length.isdigit() and int(length) > MOST_BODY:
        raise BodyRefused(413)
    found: bytes = b""
    try:
        async with asyncio.timeout(within_s):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise BodyRefused(400)
                found += bytes(message.get("body", b""))
                if len(found) > MOST_BODY:
                    raise BodyRefused(413)
                if not message.get("more_body"):
                    return found
    except TimeoutError:
        raise BodyRefused(408) from None


def _receive_once(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _with_headers(send: Send) -> Send:
    """Add the page's headers to every response; a header that the route has set stays."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own: Iterable[tuple[bytes, bytes]] = message.get("headers", [])
            names = {name.lower() for name, _ in own}
            wanted = {**HEADERS, "date": formatdate(usegmt=True)}
            more = [(name.encode(), value.encode()) for name, value in wanted.items() if name.encode() not in names]
            message = {**message, "headers": [*own, *more]}
        await send(message)

    return sent
