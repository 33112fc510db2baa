"""The scripted model on 127.0.0.1, on a port that is free."""

import json
import threading
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, TracebackType
from typing import Any, Self

from . import anthropic
from .script import Script, Turn

DIALECTS: tuple[ModuleType, ...] = (anthropic,)  # each has PATHS, read, answer and failure


@dataclass(frozen=True)
class Seen:
    """One request that came in."""

    path: str
    body: dict[str, Any]
    turn: Turn
    failed: int = 0


@dataclass
class ModelServer:
    """`with ModelServer(script) as model:` answers at `model.url` until the block ends."""

    script: Script
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> Self:
        model = self

        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                status, kind, answer, headers = model.answer(self.path.partition("?")[0], body)
                self.send_response(status)
                for name, value in {"content-type": kind, "content-length": str(len(answer)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def asked(self) -> list[Turn]:
        """What the agent asked of its model, without questions on the side."""
        return [one.turn for one in self.seen if one.turn.tools and not one.failed]

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, str, bytes, dict[str, str]]:
        dialect = next((one for one in DIALECTS if path in one.PATHS), None)
        if dialect is None:
            counted = {"input_tokens": 100} if path.endswith("/count_tokens") else {}
            return 200, "application/json", json.dumps(counted).encode(), {}
        turn = dialect.read(body)
        if self.script.faults and turn.tools:
            return self._failed(dialect, path, body, turn)
        self.seen.append(Seen(path, body, turn))
        kind, answer = dialect.answer(turn, self.script)
        return 200, kind, answer, {}

    def _failed(
        self, dialect: ModuleType, path: str, body: dict[str, Any], turn: Turn
    ) -> tuple[int, str, bytes, dict[str, str]]:
        fault, *rest = self.script.faults
        self.script.faults[:] = ([] if fault.times <= 1 else [replace(fault, times=fault.times - 1)]) + rest
        self.seen.append(Seen(path, body, turn, failed=fault.status))
        wait = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
        return fault.status, "application/json", dialect.failure(fault.status), wait
