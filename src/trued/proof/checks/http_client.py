"""The client by which the engine asks a server under test: it sends requests as people's clients do, and reads answers
strictly.

An answer counts only if every client reads the same from it. So what RFC 9112 calls invalid is refused, even if most
clients tolerate it. There is one exception, because no client minds it: without a reason, a status line may lack its
last blank.
"""

import asyncio
import contextlib
import http
import re
import socket
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import quote

import h11

from trued.model import HttpRequest
from trued.proof.checks.values import MOST_ANSWERED
from trued.protocols import Server

ASCII = "".join(map(chr, range(33, 127)))  # characters of a path that are sent as written, escapes included
# A server must not be able to tell a check from a user's own client by its headers. So each turn sends what a client
# that people use sends: curl in the first, a script in Chromium in the second, with everything that every browser sends
# with each request of a script. What only some requests of a browser have (Origin, Referer, Upgrade-Insecure-Requests,
# an Accept for pages) is left out, because a server may honestly refuse or answer otherwise because of it. Bodies are
# decoded as the answer says. If you change a header, change `ROOM` in `proof/room/bench.py`, too.
CURL = {"User-Agent": "curl/8.5.0", "Accept": "*/*"}
BROWSER = {
    "Connection": "keep-alive",
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36",
    "Accept": "*/*",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Dest": "empty",
    "Accept-Encoding": "gzip, deflate",
    "Accept-Language": "en-US,en;q=0.9",
}
MOST_LAYERS = 8  # encodings of one body; people use one or two
MOST_MEMBERS = 500  # of one gzip body; most bodies have one, and each further member costs a copy of what follows it
_UNREADABLE = ("br", "zstd")  # encodings that browsers decode, but the standard library does not
MOST_HEADER_BYTES = 256 << 10  # as in Chromium; other clients accept less or more
PIECE_BYTES = 1 << 16
PARTING_S = 0.25  # seconds in which a server ends a connection after its client did; most do so at once
CONNECTION = "connection"
BODILESS = (http.HTTPStatus.NO_CONTENT, http.HTTPStatus.NOT_MODIFIED)
MORE = "more bytes follow the answer"
TOO_LONG = f"the answer is longer than {MOST_ANSWERED >> 20} MiB: not compared"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What the server answered to one request."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes  # without its content encoding
    garbled: str = ""  # why the body cannot be decoded as the headers say; then `body` is as it was sent

    def lines(self, name: str) -> list[str]:
        """The values of a header, one for each of its lines."""
        return [value.strip() for header, value in self.headers if header.lower() == name.lower()]


class NoAnswer(Exception):
    """The connection ended, or the server's answer is not valid HTTP, is incomplete or is too long."""


class InvalidAnswer(NoAnswer):
    """The answer is not valid HTTP, so clients may read different things from it."""


class Unanswered(NoAnswer):
    """The connection ended before the first byte of an answer."""


class HttpClient:
    """Sends requests to a server, one after the other. Use it as a context: leaving it closes the connection.

    In the first turn it is like curl, and each request has a connection of its own. In the second turn it is like a
    browser, calls the server `localhost`, and uses a connection again if the server offers that. A server must answer
    alike in both."""

    def __init__(self, serving: Server, *, second: bool = False) -> None:
        self._serving, self._keeps, self._usual = serving, second, BROWSER if second else CURL
        self._host = f"{'localhost' if second else '127.0.0.1'}:{serving.port}"
        self._kept: socket.socket | None = None  # a connection that the server offered to use again

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._kept is not None:
            _close(self._kept)

    async def send(self, request: HttpRequest, within_s: float) -> HttpAnswer:
        """Send one request and return the answer; a redirect is an answer, and is not followed. Raises NoAnswer or
        TimeoutError."""
        until = asyncio.get_running_loop().time() + within_s
        connection, self._kept = self._kept, None
        if connection is not None and not _has_ended(connection):
            with contextlib.suppress(Unanswered):  # every client sends such a request again, on a new connection
                return await self._send_over(connection, request, until)
        return await self._send_over(self._serving.connect(), request, until)

    async def _send_over(self, connection: socket.socket, request: HttpRequest, until: float) -> HttpAnswer:
        message, is_kept = _as_bytes(request, self._host, self._usual), False
        connection.setblocking(True)
        try:
            async with asyncio.timeout_at(until):
                answer, reader = await asyncio.to_thread(_exchange, connection, message, request)
            is_kept = reader.is_kept and self._keeps
            if not is_kept and not reader.may_be_followed:
                await asyncio.to_thread(_await_end, connection)
        finally:
            if is_kept:
                self._kept = connection
            else:
                _close(connection)
        return answer


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that is still waiting
    connection.close()


def _has_ended(connection: socket.socket) -> bool:
    """Whether the server ended this connection, which is then closed. Raises InvalidAnswer if the server sent more than
    its last answer."""
    connection.setblocking(False)
    try:
        more = connection.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        more = b""
    _close(connection)
    if more:
        raise InvalidAnswer(MORE)
    return True


def _as_bytes(request: HttpRequest, host: str, usual: Mapping[str, str]) -> bytes:
    """The request as it is sent. `usual`: headers that are sent, too, except those that the request itself sets."""
    body, method = request.body.encode(), request.method.upper()
    own = {name.lower() for name in request.headers}
    headers = [("Host", host), *usual.items()]
    headers = [(name, value) for name, value in headers if name.lower() not in own] + [*request.headers.items()]
    if "content-length" not in own and (body or method in ("POST", "PUT", "PATCH")):
        headers.append(("Content-Length", str(len(body))))
    lines = [f"{method} {quote(request.path, safe=ASCII)} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1") + body


def _exchange(connection: socket.socket, message: bytes, request: HttpRequest) -> "tuple[HttpAnswer, _AnswerReader]":
    """The answer to this message, and its reader, which knows what may become of the connection."""
    reader = _AnswerReader(connection, request)
    try:
        connection.sendall(message)
        answer = reader.read()
    except OSError as error:
        raise (NoAnswer if reader.has_begun else Unanswered)(f"{type(error).__name__}: {error}") from error
    return decoded(answer), reader


def _await_end(connection: socket.socket) -> None:
    """End this side of the connection, and wait a moment until the server has ended its own. Raises InvalidAnswer if
    the server sends anything else."""
    more = b""
    with contextlib.suppress(OSError):
        connection.settimeout(PARTING_S)
        connection.shutdown(socket.SHUT_WR)
        more = connection.recv(1)
    if more:
        raise InvalidAnswer(MORE)


class _AnswerReader:
    """Reads one answer with h11. What h11 tolerates and RFC 9112 does not is refused here."""

    def __init__(self, connection: socket.socket, request: HttpRequest) -> None:
        self._connection, self._parser = connection, h11.Connection(h11.CLIENT, MOST_HEADER_BYTES)
        # h11 must know what the answer depends on: whether it has no body, and whether it may change the protocol
        method = "HEAD" if request.method.upper() == "HEAD" else "GET"
        upgrade = [("Upgrade", "any")] if "upgrade" in map(str.lower, request.headers) else []
        self._parser.send(h11.Request(method=method, target="/", headers=[("Host", "any"), *upgrade]))
        self._parser.send(h11.EndOfMessage())
        self._is_head = method == "HEAD"
        self._closes = "close" in _tokens(
            value for name, value in request.headers.items() if name.lower() == CONNECTION
        )
        self._unread = b""  # received, but in no event so far
        self._has_ended = False  # the server has ended the connection
        self.has_begun = False
        self.is_kept = False  # the server offers to use the connection again
        self.may_be_followed = False  # no client reads as HTTP what follows the answer

    def read(self) -> HttpAnswer:
        """Wait for the answer. Informational answers before it are left out, as clients do."""
        head, body = h11.Response(status_code=200, headers=[]), bytearray()
        while True:
            event, framing = self._next_event()
            _check_lines(framing)
            if (
                isinstance(event, h11.InformationalResponse)
                and event.status_code == http.HTTPStatus.SWITCHING_PROTOCOLS
            ):
                self.may_be_followed = True
                return _as_answer(event, body)
            if isinstance(event, h11.Response):
                _check_lengths(event, framing)
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MOST_ANSWERED:
                    raise NoAnswer(TOO_LONG)
            elif isinstance(event, h11.EndOfMessage):
                break
        # Some servers send the end of a body, or a whole one, after an answer that has none. If the answer says that
        # it is the last on its connection, every client stops reading there.
        self.may_be_followed = (self._is_head or head.status_code in BODILESS) and not _offers_reuse(head)
        if self._unread and not self.may_be_followed:
            raise InvalidAnswer(MORE)
        self.is_kept = not (self._has_ended or self._closes) and _offers_reuse(head)
        return _as_answer(head, body)

    def _next_event(self) -> tuple[h11.Event, bytes]:
        """The next part of the answer, and the bytes in it that are not of the body."""
        while True:
            try:
                event = self._parser.next_event()
            except h11.RemoteProtocolError as error:
                if self._has_ended:
                    raise NoAnswer(f"the answer is not complete: {error}") from error
                raise InvalidAnswer(str(error)) from error
            if isinstance(event, h11.Event):
                break
            received = self._connection.recv(PIECE_BYTES)
            if not received and not self.has_begun:
                raise Unanswered("the connection ended without an answer")
            self.has_begun, self._has_ended = True, not received
            self._unread += received
            self._parser.receive_data(received)
        rest, _ = self._parser.trailing_data
        read, self._unread = self._unread[: len(self._unread) - len(rest)], rest
        return event, read.removesuffix(bytes(event.data)) if isinstance(event, h11.Data) else read


def _check_lines(framing: bytes) -> None:
    """Raise InvalidAnswer unless these are lines as HTTP has them. They are of a head, between chunks, or trailers."""
    for line in framing.split(b"\r\n"):
        if re.search(rb"[\r\n]", line):
            raise InvalidAnswer("a line ends with CR or LF alone")
        if re.match(rb"[0-9A-Fa-f]*[ \t]", line):
            raise InvalidAnswer("a line begins with a blank, or has one after the size of a chunk")
        if re.search(rb"[^\t\x20-\x7e\x80-\xff]", line):
            raise InvalidAnswer("a line has a control character")


def _check_lengths(head: h11.Response, framing: bytes) -> None:
    """Raise InvalidAnswer if the head does not say in one way only how long the body is."""
    # h11 has merged equal lengths, so they are counted here
    names = [line.partition(b":")[0].lower() for line in framing.split(b"\r\n")[1:]]
    lengths, codings = names.count(b"content-length"), names.count(b"transfer-encoding")
    if head.http_version not in (b"1.0", b"1.1"):
        raise InvalidAnswer(f"the version is {head.http_version.decode()}, not 1.0 or 1.1")
    if lengths + codings > 1 or re.search(rb"(?im)^content-length:[^\r]*,", framing):
        raise InvalidAnswer("the head says more than once how long the body is")
    if codings and head.http_version == b"1.0":
        raise InvalidAnswer("HTTP/1.0 has no Transfer-Encoding")


def _tokens(values: Iterable[str]) -> list[str]:
    return [token.strip().lower() for value in values for token in value.split(",")]


def _offers_reuse(head: h11.Response) -> bool:
    """Whether the server offers to use the connection again."""
    tokens = _tokens(value.decode("latin-1") for name, value in head.headers if name.decode("latin-1") == CONNECTION)
    return "close" not in tokens and (head.http_version == b"1.1" or "keep-alive" in tokens)


def _as_answer(head: h11.Response | h11.InformationalResponse, body: bytearray) -> HttpAnswer:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers.raw_items())
    return HttpAnswer(head.status_code, headers, bytes(body))


def decoded(answer: HttpAnswer) -> HttpAnswer:
    """The answer with its body decoded as Content-Encoding says. A body in an unknown encoding is left as it is, as
    clients do. `garbled` says why a body could not be decoded. Raises NoAnswer if the decoded body is too long."""
    codings = [coding.strip().lower() for coding in ",".join(answer.lines("Content-Encoding")).split(",")]
    body = answer.body
    if len(codings) > MOST_LAYERS:
        return replace(answer, garbled=f"the body is encoded more than {MOST_LAYERS} times")
    for coding in reversed(codings):
        if body and coding in _UNREADABLE:
            return replace(answer, garbled=f"the body is encoded with {coding}, which trued cannot decode")
        try:
            body = _without_encoding(body, coding)
        except (zlib.error, EOFError):
            return replace(answer, garbled=f"the body is not {coding}, as Content-Encoding says")
    return replace(answer, body=body)


def _without_encoding(body: bytes, coding: str) -> bytes:
    """The body, decoded once. An empty body, or one with an encoding other than gzip and deflate, stays as it is.
    Raises zlib.error or EOFError if the body is not encoded in this way, NoAnswer if the result is too long."""
    if not body or coding not in ("gzip", "x-gzip", "deflate"):
        return body
    wbits = 16 + zlib.MAX_WBITS
    if coding == "deflate":  # some servers leave out the header of zlib; clients accept both
        has_header = body[0] & 15 == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0
        wbits = zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
    decompressed = bytearray()
    for _ in range(MOST_MEMBERS):
        inflating = zlib.decompressobj(wbits)
        decompressed += inflating.decompress(body, MOST_ANSWERED + 1 - len(decompressed))
        if len(decompressed) > MOST_ANSWERED:
            raise NoAnswer(TOO_LONG)
        if not inflating.eof:
            raise EOFError
        if not (body := inflating.unused_data):
            return bytes(decompressed)
    raise EOFError
