"""The client of a server under test: which answers it refuses, and when it uses a connection again."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.proof.checks.test_http import BASE, SERVE, START, asks, kinds
from tests.proof.trial import Trial, only
from trued.model import Grade, HttpCase, HttpRequest, Outcomes, Ready, Tried
from trued.proof.checks.http import try_exchange, wait_until_up
from trued.proof.checks.http_client import BROWSER, CURL, HttpClient
from trued.protocols import Server

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
FOUR = HttpCase.model_validate({"http": {"path": "/"}, "status": 200, "body": "four", "within_s": 20})
EMPTY = HttpCase.model_validate({"http": {"path": "/", "method": "HEAD"}, "status": 200, "within_s": 20})
NONE = HttpCase.model_validate({"http": {"path": "/"}, "status": 204, "within_s": 20})
SAME = HttpCase.model_validate({"http": {"path": "/"}, "status": 304, "within_s": 20})

Talk = Callable[[int, int, bytes], bytes | None]


class Talking:
    """A server that answers each request with what `talk` returns for the number of the connection, the number of the
    request on it, and the request; it ends the connection after None, or after an answer that ends with `END`."""

    port = 80
    END = b"<end>"

    def __init__(self, talk: Talk) -> None:
        self._talk, self.requests = talk, list[int]()  # of each connection, how many requests it got

    def has_ended(self) -> bool:
        return False

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self.requests.append(0)
        threading.Thread(target=self._serve, args=(theirs, len(self.requests)), daemon=True).start()
        return ours

    def _serve(self, link: socket.socket, number: int) -> None:
        with link, contextlib.suppress(OSError):
            while request := _request(link):
                self.requests[number - 1] += 1
                said = self._talk(number, self.requests[number - 1], request)
                link.sendall((said or b"").removesuffix(self.END))
                if said is None or said.endswith(self.END):
                    return


def _request(link: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        if not (piece := link.recv(1 << 16)):
            return b""
        head += piece
    return head


@contextmanager
def talking(talk: Talk, *, second: bool = False) -> Iterator[tuple[HttpClient, Talking]]:
    server = Talking(talk)
    with HttpClient(cast(Server, server), second=second) as client:
        yield client, server


async def answered(said: bytes, case: HttpCase = FOUR) -> Tried:
    """The result of a case whose answer is exactly this, after which the server ends the connection."""
    with talking(lambda *_: said + Talking.END) as (client, _):
        return await try_exchange("case 1", case, client)


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(
    "said",
    [
        OK + b"Content-Length: 4\r\n\r\nfour",
        OK + b"content-length:4 \r\nX-Empty:\r\n\r\nfour",
        OK + b"\r\nfour",
        b"HTTP/1.0 200 OK\r\n\r\nfour",
        b"HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfour",
        b"HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nfour",
        b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nfour",  # not as RFC 9112 wants it, but every client reads it alike
        "HTTP/1.1 200 Très bien\r\nContent-Length: 4\r\n\r\nfour".encode(),
        CHUNKED + b"4\r\nfour\r\n0\r\n\r\n",
        CHUNKED + b"02\r\nfo\r\n2;name=value\r\nur\r\n000\r\nX-Sum: 1\r\n\r\n",
        CHUNKED + b"1\r\nf\r\n3\r\nour\r\n0\r\n\r\n",
        OK + b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 4\r\n\r\nfour",
    ],
)
async def test_an_answer_that_every_client_reads_alike_counts(said: bytes) -> None:
    assert (await answered(said)).outcome is Outcomes.PASSED


LONG = OK + b"Content-Length: 4\r\n"


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(
    "said",
    [
        # lines
        OK.replace(b"\r\n", b"\n") + b"Content-Length: 4\r\n\r\nfour",
        LONG + b"X-One: a\nX-Two: b\r\n\r\nfour",
        LONG + b"\nfour",
        LONG + b"X-One: a\r\n folded\r\n\r\nfour",
        LONG + b"X-One: a\rX-Two: b\r\n\r\nfour",
        LONG + b"X-One: a\x01\r\n\r\nfour",
        LONG + b"X-One: a\0b\r\n\r\nfour",
        b"\r\n" + LONG + b"\r\nfour",
        # the status line
        LONG.replace(b"HTTP", b"http") + b"\r\nfour",
        LONG.replace(b"1.1", b"2.0") + b"\r\nfour",
        LONG.replace(b"1.1", b"1.2") + b"\r\nfour",
        LONG.replace(b"1.1", b"1.10") + b"\r\nfour",
        LONG.replace(b" 200", b"  200") + b"\r\nfour",
        LONG.replace(b"200", b"0200") + b"\r\nfour",
        LONG.replace(b"200", b"+200") + b"\r\nfour",
        # names of headers
        LONG + b"X One: a\r\n\r\nfour",
        LONG + b"X-One : a\r\n\r\nfour",
        LONG + b"no header\r\n\r\nfour",
        LONG + b": a\r\n\r\nfour",
        # lengths
        OK + b"Content-Length: +4\r\n\r\nfour",
        OK + b"Content-Length: -4\r\n\r\nfour",
        OK + b"Content-Length: 4, 4\r\n\r\nfour",
        OK + b"Content-Length: 4,\r\n\r\nfour",
        OK + b"Content-Length: 0x4\r\n\r\nfour",
        OK + b"Content-Length: \r\n\r\nfour",
        OK + b"Content-Length : 4\r\n\r\nfour",
        LONG + b"Content-Length: 4\r\n\r\nfour",
        LONG + b"Content-Length: 5\r\n\r\nfour",
        LONG + b"\r\nfour and more",
        LONG + b"\r\nfour\r\n",
        # chunks
        OK + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
        CHUNKED.replace(b"1.1", b"1.0") + b"4\r\nfour\r\n0\r\n\r\n",
        CHUNKED.replace(b"chunked", b"xchunked") + b"four",
        CHUNKED.replace(b"chunked", b"identity") + b"four",
        CHUNKED.replace(b"chunked", b"gzip, chunked") + b"4\r\nfour\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
        CHUNKED + b"4\r\nfour0\r\n\r\n",
        CHUNKED + b"4\r\nfour\n0\r\n\r\n",
        CHUNKED + b"4\r\nfourXX0\r\n\r\n",
        CHUNKED + b"+4\r\nfour\r\n0\r\n\r\n",
        CHUNKED + b"0x4\r\nfour\r\n0\r\n\r\n",
        CHUNKED + b" 4\r\nfour\r\n0\r\n\r\n",
        CHUNKED + b"4 \r\nfour\r\n0\r\n\r\n",
        CHUNKED + b"4;a\rb\r\nfour\r\n0\r\n\r\n",
        CHUNKED + b"4\r\nfour\r\n0 \r\n\r\n",
        CHUNKED + b"4\r\nfour\r\n0\r\n\n",
        CHUNKED + b"4\r\nfour\r\n0\r\nX-Sum: 1\n\r\n",
        CHUNKED + b"4\r\nfour\r\n0\r\nno header\r\n\r\n",
        CHUNKED + b"4\r\nfour\r\n0\r\n\r\nmore",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + LONG + b"\r\nfour",
    ],
)
async def test_an_answer_that_some_clients_read_in_another_way_is_refused(said: bytes) -> None:
    tried = await answered(said)
    assert (tried.outcome, tried.kind) == (Outcomes.FAILED, "framing"), tried.detail


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 O",
        LONG + b"\r\nfo",
        CHUNKED + b"four",
        CHUNKED + b"4\nfour\n0\n\n",  # without CR, the size of the first chunk never ends
        CHUNKED + b"4\r\nfour\r\n",
        CHUNKED + b"4\r\nfour\r\n0\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
async def test_an_answer_that_ends_too_early_is_none(said: bytes) -> None:
    tried = await answered(said)
    assert (tried.outcome, tried.kind) == (Outcomes.FAILED, "no answer"), tried.detail


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("case", "head"),
    [(EMPTY, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"), (NONE, b"HTTP/1.1 204 No Content\r\n\r\n"),
     (SAME, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n")],
)  # fmt: skip
async def test_an_answer_without_a_body_has_none(case: HttpCase, head: bytes, *, late: bool) -> None:
    """Also if the body follows when the answer is complete, because some clients would read it as the next answer."""
    assert (await answered(head, case)).outcome is Outcomes.PASSED
    sent = threading.Event()

    class Late(Talking):
        def _serve(self, link: socket.socket, number: int) -> None:
            with link:
                _request(link)
                link.sendall(head)
                _request(link) if late else None  # the client has ended its side: it has read the answer
                with contextlib.suppress(OSError):
                    link.sendall(b"four")
            sent.set()

    with HttpClient(cast(Server, Late(lambda *_: b""))) as client:
        tried = await try_exchange("case 1", case, client)
    assert sent.wait(20)
    assert (tried.outcome, tried.kind) == (Outcomes.FAILED, "framing"), tried.detail


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(
    ("case", "head", "deserved"),
    [
        (EMPTY, CHUNKED.replace(b"Transfer", b"Connection: close\r\nTransfer"), Outcomes.PASSED),
        (EMPTY, b"HTTP/1.0 200 OK\r\n\r\n", Outcomes.PASSED),
        (NONE, b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", Outcomes.PASSED),
        (SAME, b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n", Outcomes.PASSED),
        (EMPTY, CHUNKED, Outcomes.FAILED),
        (EMPTY, b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", Outcomes.FAILED),
        (FOUR, OK + b"Connection: close\r\nContent-Length: 4\r\n\r\nfour", Outcomes.FAILED),
    ],
)
async def test_what_follows_an_answer_without_a_body_counts_unless_the_answer_ends_its_connection(
    case: HttpCase, head: bytes, deserved: Outcomes, *, second: bool
) -> None:
    with talking(lambda *_: head + b"0\r\n\r\n" + Talking.END, second=second) as (client, _):
        tried = await try_exchange("case 1", case, client)
    assert tried.outcome is deserved, tried.detail


@pytest.mark.spec("LAW-7")
async def test_informational_answers_are_not_the_answer() -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    more = b"HTTP/1.1 100 Continue\r\n\r\n" + b"HTTP/1.1 102 Processing\r\n\r\n"
    for before in (hints, more, hints + more + hints):
        assert (await answered(before + LONG + b"\r\nfour")).outcome is Outcomes.PASSED
    linked = FOUR.model_copy(update={"headers": {"Link": "</a.css>; rel=preload"}})
    assert (await answered(hints + LONG + b"\r\nfour", linked)).kind == "header"  # the hint's, not the answer's
    assert (await answered(hints.replace(b"\r\n", b"\n") + LONG + b"\r\nfour")).kind == "framing"


async def test_a_change_of_protocol_is_the_answer_if_the_request_asks_for_it() -> None:
    request = HttpRequest(path="/", headers={"Upgrade": "websocket", "Connection": "Upgrade"})
    case = HttpCase(http=request, status=101, headers={"Upgrade": "websocket"}, within_s=20)
    said = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    assert (await answered(said, case)).outcome is Outcomes.PASSED
    assert (await answered(said + b"\x81\x02hi", case)).outcome is Outcomes.PASSED  # what follows is no HTTP


def _told(how: bytes) -> Talk:
    return lambda *_: b"HTTP/1.%s\r\nContent-Length: 4\r\n\r\nfour" % how


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("talk", "requests"),
    [
        (_told(b"1 200 OK"), [4]),
        (_told(b"1 200 OK\r\nConnection: Keep-Alive"), [4]),
        (_told(b"0 200 OK\r\nConnection: keep-alive"), [4]),
        (_told(b"0 200 OK"), [1, 1, 1, 1]),
        (_told(b"1 200 OK\r\nConnection: x, Close"), [1, 1, 1, 1]),
        (lambda *_: CHUNKED + b"4\r\nfour\r\n0\r\n\r\n", [4]),
        (lambda *_: OK + b"\r\nfour" + Talking.END, [1, 1, 1, 1]),
        # it ends the connection without saying so: before the next request, or when it has got the request
        (lambda *_: LONG + b"\r\nfour" + Talking.END, [1, 1, 1, 1]),
        (lambda _connection, request, _: LONG + b"\r\nfour" if request == 1 else None, [2, 2, 2, 1]),
    ],
)
async def test_a_connection_is_used_again_in_the_second_turn_if_the_server_offers_it(
    talk: Talk, requests: list[int]
) -> None:
    with talking(talk, second=True) as (client, server):
        assert not await wait_until_up(cast(Server, server), Ready(within_s=20), client)
        for _ in range(3):
            assert (await try_exchange("case 1", FOUR, client)).outcome is Outcomes.PASSED
        assert server.requests == requests
    with talking(talk) as (client, server):
        assert not await wait_until_up(cast(Server, server), Ready(within_s=20), client)
        for _ in range(3):
            assert (await try_exchange("case 1", FOUR, client)).outcome is Outcomes.PASSED
        assert server.requests == [1, 1, 1, 1]


@pytest.mark.parametrize("said", [LONG + b"\r\nfo", LONG + b"\r\nfour and more"])
async def test_a_server_whose_answers_have_a_wrong_length_is_up_and_its_case_says_what_is_wrong(said: bytes) -> None:
    with talking(lambda *_: said + Talking.END) as (client, server):
        assert not await wait_until_up(cast(Server, server), Ready(within_s=1), client)
        assert (await try_exchange("case 1", FOUR, client)).kind in ("no answer", "framing")


async def test_a_server_that_ends_connections_without_an_answer_is_not_up() -> None:
    with talking(lambda connection, *_: LONG + b"\r\nfour" if connection > 2 else None) as (client, server):
        assert not await wait_until_up(cast(Server, server), Ready(within_s=20), client)
        assert len(server.requests) == 3


async def test_a_request_that_closes_its_connection_is_the_last_on_it() -> None:
    closing = FOUR.model_copy(update={"http": HttpRequest(path="/", headers={"connection": "Close"})})
    with talking(_told(b"1 200 OK"), second=True) as (client, server):
        for case in (closing, FOUR, FOUR):
            assert (await try_exchange("case 1", case, client)).outcome is Outcomes.PASSED
        assert server.requests == [1, 2]


@pytest.mark.spec("LAW-7")
async def test_a_new_connection_that_ends_without_an_answer_is_not_tried_again() -> None:
    with talking(lambda *_: None, second=True) as (client, server):
        assert (await try_exchange("case 1", FOUR, client)).kind == "no answer"
        assert server.requests == [1]


async def test_each_turn_sends_the_headers_of_its_client_and_those_of_the_case() -> None:
    seen: list[bytes] = []

    def talk(_connection: int, _request: int, request: bytes) -> bytes:
        seen.append(request)
        return LONG + b"\r\nfour"

    plain = HttpRequest(path="/é?q=%20", method="post", headers={"accept": "x/y", "X-U": "ü"})
    case = FOUR.model_copy(update={"http": plain})
    for second, usual, host in ((False, CURL, "127.0.0.1"), (True, BROWSER, "localhost")):
        with talking(talk, second=second) as (client, _):
            await try_exchange("case 1", case, client)
        lines = seen[-1].decode("latin-1").split("\r\n")
        kept = [f"{name}: {value}" for name, value in usual.items() if name != "Accept"]
        assert lines[:2] == ["POST /%C3%A9?q=%20 HTTP/1.1", f"Host: {host}:80"]
        assert lines[2:] == [*kept, "accept: x/y", "X-U: ü", "Content-Length: 0", "", ""]


# -- whole verdicts ----------------------------------------------------------------------------------------------------

ONE = asks({"http": {"path": "/price"}, "status": 200, "body": "3"})


def _start(how: str) -> str:
    """A server like `START` that does this before it answers; `used`: the requests on its connection so far."""
    line = "        status, content, headers = answer(self.command, self.path, body, self.headers)\n"
    assert line in START
    return START.replace(line, f"        used = self.used = getattr(self, 'used', 0) + 1\n{line}        {how}\n")


PRICE = BASE["shop/pages.py"] or ""
PRICE = PRICE.replace("(404", '(200, b"3", {}) if path == "/price" else (404')


@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.parametrize(
    ("how", "deserved"),
    [
        ("if used > 1: content = b'4'", Grade.REFUTED),
        ("if used > 1: self.close_connection = True; return", Grade.PROVEN),
        ("self.close_connection = True", Grade.PROVEN),
        ("self.close_connection = True; headers = {**headers, 'Connection': 'close'}", Grade.PROVEN),
        ("self.protocol_version = 'HTTP/1.0'", Grade.PROVEN),
        ("self.wfile.write(b'HTTP/1.1 103 Early Hints\\r\\nLink: </a>\\r\\n\\r\\n')", Grade.PROVEN),
        (
            "headers = {**headers, 'Transfer-Encoding': 'chunked'}; content = b'1\\r\\n3\\r\\n0\\r\\n\\r\\n'",
            Grade.REFUTED,
        ),
        ("if not self.headers['Host'].startswith('127.0.0.1:'): content = b'4'", Grade.REFUTED),
        ("if self.headers['Host'].split(':')[0] not in ('127.0.0.1', 'localhost'): status = 400", Grade.PROVEN),
        ("headers = {**headers, 'X-Folded': 'a\\r\\n b'}", Grade.REFUTED),
    ],
)
@pytest.mark.many(3)
async def test_a_server_must_answer_alike_whatever_client_asks(tmp_path: Path, how: str, deserved: Grade) -> None:
    trial = Trial(tmp_path, BASE, ONE, serve=SERVE)
    verdict = await trial.verdict({"shop/__main__.py": _start(how), "shop/pages.py": PRICE})
    assert only(verdict).grade is deserved, (only(verdict).why, verdict.evidence)


BARE = "self.wfile.write(b'HTTP/1.1 200 OK\\nContent-Length: 1\\n\\n' + content[:1]); return"


@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.slow
async def test_invalid_answers_of_the_base_are_not_the_heads_fault(tmp_path: Path) -> None:
    """They prove nothing either. A head that answers in another invalid way is refuted, and one that repairs the
    server is proven."""
    trial = Trial(tmp_path, {**BASE, "shop/__main__.py": _start(BARE)}, ONE, serve=SERVE)
    contract = await trial.seal()
    assert {one.kind for fact in contract.base_facts for one in fact.tried} == {"framing"}
    other = BARE.replace("\\nContent", "\\r\\nX-Folded: a\\r\\n b\\r\\nContent").replace("1\\n\\n", "1\\r\\n\\r\\n")
    for start, deserved in ((BARE, Grade.UNJUDGED), (other, Grade.REFUTED), ("pass", Grade.PROVEN)):
        verdict = await trial.prove(
            contract, await trial.head({"shop/__main__.py": _start(start) + "#", "shop/pages.py": PRICE})
        )
        assert only(verdict).grade is deserved, (start, only(verdict).why, verdict.evidence)


@pytest.mark.spec("LAW-6")
@pytest.mark.slow
async def test_a_base_that_fails_on_a_used_connection_is_not_the_heads_fault(tmp_path: Path) -> None:
    """It is the same with an exchange that passes on the base: it is not counted if it fails there on a used
    connection, too."""
    both: list[dict[str, Any]] = [
        *asks({"http": {"path": "/health"}, "status": 200, "body": "ok"}),
        *ONE,
    ]
    both = [{**one, "id": f"it{number}"} for number, one in enumerate(both)]
    wrong = "if used > 1 and self.path == '/health': content = b'no'"
    trial = Trial(tmp_path, {**BASE, "shop/__main__.py": _start(wrong)}, both, serve=SERVE)
    verdict = await trial.verdict({"shop/pages.py": PRICE})
    assert not [one for one in verdict.requirements if one.grade is Grade.REFUTED], verdict.requirements
    assert "missing" not in kinds(verdict).values()
