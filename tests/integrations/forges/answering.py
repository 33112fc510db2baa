"""A server on the loopback that records what it is asked, checks it, and fails on demand."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it was received."""

    verb: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(slots=True)
class Fault:
    """A failure to return in place of an answer, `times` times, to requests whose verb and path begin as given."""

    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None  # a text is sent unchanged, anything else as JSON
    hangs: bool = False
    times: int = 99
    verb: str = ""
    path: str = ""


def bad_token(**more: Any) -> Fault:
    return Fault(401, body={"message": "Bad credentials", "status": "401"}, **more)


def forbidden(words: str = "Resource not accessible by personal access token", **more: Any) -> Fault:
    return Fault(403, body={"message": words, "status": "403"}, **more)


def unknown(**more: Any) -> Fault:
    return Fault(404, body={"message": "Not Found", "status": "404"}, **more)


def rate_limited(in_s: float = 1800, status: int = 403, **more: Any) -> Fault:
    """GitHub's primary rate limit."""
    reset = str(int(time.time() + in_s))
    headers = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    return Fault(status, headers, {"message": "API rate limit exceeded for user ID 1."}, **more)


def too_quick(after_s: int = 60, status: int = 403, **more: Any) -> Fault:
    """GitHub's secondary rate limit; with 429 also Jira's."""
    words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return Fault(status, {"retry-after": str(after_s)}, {"message": words}, **more)


def broken(status: int = 500, **more: Any) -> Fault:
    return Fault(status, body="<html><body>Unicorn!</body></html>", **more)


def garbage(**more: Any) -> Fault:
    return Fault(200, body="\x1b[2J<html>not JSON", **more)


def elsewhere(address: str, status: int = 302, **more: Any) -> Fault:
    return Fault(status, {"location": address}, {"message": "Moved"}, **more)


def hanging(**more: Any) -> Fault:
    return Fault(hangs=True, **more)


class Answering:
    """The servers' base class: `url`, received requests, planned faults, and violations of the vendor's description."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.wrong: list[str] = []
        self.closed = threading.Event()
        self.lock = threading.Lock()

    def answer(self, request: Request) -> Response:
        raise NotImplementedError

    def check(self, request: Request) -> str:
        """How a request violates the vendor's own description; "" if it does not."""
        raise NotImplementedError

    def asked_for(self, verb: str, part: str = "") -> list[Asked]:
        return [one for one in self.asked if one.verb == verb and part in one.path]

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        request = Request(environ)
        with self.lock:
            said = request.get_data()
            body = json.loads(said) if said else None
            headers = {name.lower(): value for name, value in request.headers.items()}
            self.asked.append(Asked(request.method, request.path, dict(request.args), headers, body))
            if wrong := self.check(request):
                self.wrong.append(wrong)
            fault = self._fault(request)
        if fault:
            return self._failed(fault)(environ, start)
        with self.lock:
            return self.answer(request)(environ, start)

    def _fault(self, request: Request) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and fault.verb in ("", request.method) and request.path.startswith(fault.path):
                fault.times -= 1
                return fault
        return None

    def _failed(self, fault: Fault) -> Response:
        if fault.hangs:
            self.closed.wait(60)
        text = fault.body if isinstance(fault.body, str) else json.dumps(fault.body)
        kind = "text/html" if isinstance(fault.body, str) else "application/json"
        return Response(text, fault.status, dict(fault.headers), content_type=f"{kind}; charset=utf-8")


class _Silent(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Log nothing: tests read `asked`."""


@contextmanager
def serving(server: Answering) -> Iterator[None]:
    """Serve during the `with` block; then fail the test if a request violated the vendor's description."""
    http = make_server("127.0.0.1", 0, server, threaded=True, request_handler=_Silent)
    http.daemon_threads = True  # type: ignore[attr-defined]
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.closed.set()
        http.shutdown()
        http.server_close()
        thread.join(10)
    assert server.wrong == []
