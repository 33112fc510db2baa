"""What a server of the head may say to a request: garbage is never the answer that was asked for, and never a crash."""

import json
import socket
from typing import Any, cast

from tests.fuzz.answers import same
from tests.fuzz.mutation import Mutator
from tests.fuzz.rooms import run
from trued.model import HttpCase, Outcomes
from trued.proof.checks.http import try_exchange
from trued.proof.checks.http_client import HttpClient
from trued.protocols import Server

EXPECTED = {"slug": "a-b", "n": [1, 2.5, None]}
BODY = json.dumps(EXPECTED).encode()
SEEDS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Kind: slug\r\nContent-Length: %d\r\n\r\n%s"
    % (len(BODY), BODY),
    b"HTTP/1.0 200 OK\r\nX-Kind: slug\r\n\r\n" + BODY,
    b"HTTP/1.1 200 OK\r\nX-Kind: slug\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
)
CASE = HttpCase.model_validate(
    {"http": {"path": "/slug"}, "status": 200, "json": EXPECTED, "headers": {"X-Kind": "slug"}, "within_s": 2}
)


class Saying:
    """A server that has said it all already."""

    port = 80

    def __init__(self, data: bytes) -> None:
        self.data = data

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.sendall(self.data[:60_000])  # more than a socket holds would never be sent
        theirs.shutdown(socket.SHUT_WR)
        self.other = theirs
        return ours


def feed(chance: Mutator) -> bytes:
    data = chance.text(SEEDS)
    saying = Saying(data)
    shown = run(try_exchange("case 1", CASE, HttpClient(cast(Server, saying))))
    saying.other.close()
    if shown.outcome is Outcomes.PASSED:
        assert b"200" in data, "another status passed"
        assert b"slug" in data.lower().partition(b"x-kind")[2], "without its header"
        assert _holds(data), "without its body"
    shown.model_dump_json()
    return str(shown.outcome).encode()


def _holds(data: bytes) -> bool:
    """The expected data stand somewhere in what was said."""
    text = data.decode("utf-8", "replace")
    places = [at for at, char in enumerate(text) if char == "{"]
    return any(same(EXPECTED, _from(text[at:])) for at in places)


def _from(text: str) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
