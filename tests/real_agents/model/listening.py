"""HTTP on loopback as the scripted model needs it: streams that stop in the middle, and threads that end with it."""

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias, cast

from .script import CUT, DROP, HANG, STALL, Fault
from .turn import Reply, in_json

JOINED = 10.0  # seconds in which a thread is over once its connection is


@dataclass(frozen=True)
class Sending:
    """What goes out for a request, and how."""

    reply: Reply
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    fault: Fault | None = None


Answers: TypeAlias = Callable[[str, bytes, dict[str, str]], Sending]


class Listening(ThreadingHTTPServer):
    daemon_threads = True  # they are joined below, each with a limit

    def __init__(self, answers: Answers) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answers, self.ended = answers, threading.Event()
        self._lock, self._open = threading.Lock(), dict[threading.Thread, socket.socket]()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def begun(self, connection: socket.socket) -> None:
        with self._lock:
            self._open[threading.current_thread()] = connection

    def over(self) -> None:
        with self._lock:
            self._open.pop(threading.current_thread(), None)

    def end(self) -> None:
        self.ended.set()
        self.shutdown()
        with self._lock:
            left = dict(self._open)
        for connection in left.values():
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the other side was quicker
        for thread in (self._thread, *left):
            thread.join(JOINED)
        self.server_close()


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def listening(self) -> Listening:
        return cast(Listening, self.server)

    def setup(self) -> None:
        super().setup()
        self.listening.begun(self.connection)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # an agent that is killed says no goodbye

    def finish(self) -> None:
        try:
            super().finish()
        except OSError:
            self.close_connection = True
        finally:
            self.listening.over()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.listening.answers(self.path.partition("?")[0], raw, headers))

    def do_GET(self) -> None:
        """Which models there are, mostly: nobody needs to know. Web sockets are refused, so that plain HTTP is used."""
        if self.headers.get("upgrade"):
            self._send(Sending(in_json({}), status=426))
            return
        self._send(Sending(in_json({"object": "list", "data": [], "models": []})))

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def _send(self, sending: Sending) -> None:
        how, seconds = (sending.fault.how, sending.fault.seconds) if sending.fault else ("", 0.0)
        if how == HANG:
            self._leave(seconds)
            return
        self.send_response(sending.status)
        for name, value in {"content-type": sending.reply.kind, **sending.headers}.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in _pieces(sending.reply.pieces, how):
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if how in (STALL, DROP):
            self._leave(seconds if how == STALL else 0.0)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _leave(self, seconds: float) -> None:
        """Without another word, after so long; or when the server ends."""
        self.listening.ended.wait(seconds)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


def _pieces(pieces: list[bytes], how: str) -> list[bytes]:
    middle, whole = len(pieces) // 2, len(pieces) == 1
    if how in (STALL, DROP):
        return [pieces[0][: len(pieces[0]) // 2]] if whole else pieces[:middle]
    if how == CUT:  # in the middle of the JSON of the piece in the middle; nothing after it
        half = pieces[middle][: len(pieces[middle]) // 2]
        return [half] if whole else [*pieces[:middle], half + b"\n\n"]
    return pieces
