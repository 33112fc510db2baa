"""A real `trued page` in a process of its own, spoken to over plain sockets."""

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.bare_inputs import BARE_INPUTS
from tests.cli.conftest import clean_environment
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import RunRecord
from trued.model.events.people import QuestionAsked

RUN = "r-abcde"
WITHIN_S = 60.0


@dataclass(frozen=True)
class Answer:
    """What the server sent back to one request."""

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass
class Served:
    """One running page."""

    process: subprocess.Popen[bytes]
    home: Path
    url: str
    host: str
    port: int
    enter_file: Path
    terminal: int = -1  # our end of its terminal, if it has one
    errors: Path = Path()
    session: dict[str, str] = field(default_factory=dict)

    @property
    def authority(self) -> str:
        return f"{self.host}:{self.port}"

    def code(self) -> str:
        """The code in the entry file, as the browser that opens it would learn it."""
        found = re.search(r"/#([\w-]+)", self.enter_file.read_text())
        assert found
        return found[1]

    def enter(self, code: str = "") -> dict[str, str]:
        """Enter as a browser does: headers with the cookie and the tab key."""
        answer = self.post("/enter", {"code": code or self.code()}, session={})
        assert answer.status == 200, answer
        cookie = answer.headers["set-cookie"].partition(";")[0]
        self.session = {"Cookie": cookie, "X-Tab-Key": json.loads(answer.body)["key"]}
        return self.session

    def get(
        self, path: str, headers: Mapping[str, str] | None = None, *, session: Mapping[str, str] | None = None
    ) -> Answer:
        cookie = self.session if session is None else session
        return self.send("GET", path, {"Host": self.authority, **cookie, **(headers or {})})

    def post(
        self,
        path: str,
        value: object,
        headers: Mapping[str, str] | None = None,
        *,
        session: Mapping[str, str] | None = None,
    ) -> Answer:
        own = {"Host": self.authority, "Origin": self.url, "Content-Type": "application/json"}
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        given = {**own, **(self.session if session is None else session), **(headers or {})}
        return self.send("POST", path, {name: text for name, text in given.items() if text}, body)

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items())]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return self.raw("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)

    def reads(self, words: str) -> str:
        """What the terminal shows, up to these words."""
        shown = ""
        while words not in shown:
            shown += os.read(self.terminal, 65536).decode()
        return shown

    def types(self, line: str) -> None:
        os.write(self.terminal, f"{line}\n".encode())

    def raw(self, sent: bytes) -> Answer:
        """Send these bytes and read the first answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WITHIN_S) as connection:
            with contextlib.suppress(OSError):  # it may have refused before all was sent
                connection.sendall(sent)
            return answered(received(connection))


def received(connection: socket.socket) -> bytes:
    """Everything until the server ends the connection."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            found += part
    return found


def answered(raw: bytes) -> Answer:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = b"".join(_chunks(body))
    return Answer(int(first.split(" ")[1]) if first else 0, headers, body.decode("utf-8", "replace"))


def _chunks(body: bytes) -> Iterator[bytes]:
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        if not length:
            return
        yield body[:length]
        body = body[length + 2 :]


def with_run(home: Path, *, question: str = "Go on with the plan?") -> SqliteJournal:
    """A journal with one run that asks a person something."""
    journal = SqliteJournal(home / "journal.db")
    journal.add(
        RunRecord(id=RUN, workflow="purple", title="Slugs", repository=str(home), base="b" * 40, branch=f"trued/{RUN}"),
        BARE_INPUTS,
    )
    writer = journal.of(RUN)
    writer.question("go on#1", question, ("yes", "stop"))
    writer.emit(QuestionAsked(text=question, options=("yes", "stop")), "go on#1")
    return journal


@contextlib.contextmanager
def page(home: Path, *flags: str, terminal: bool = False, hub: str = "") -> Iterator[Served]:
    """`trued page`, until the test ends; with a terminal of its own if asked for, and the journal on a hub if named."""
    environment = {**clean_environment(), "TRUED_HOME": str(home), "HOME": str(home)}
    environment |= {"TRUED_HUB": hub} if hub else {}
    environment.pop("DISPLAY", None)
    ours, theirs = os.openpty() if terminal else (-1, -1)
    errors = home.parent / f"{home.name}.stderr"
    command = [sys.executable, "-m", "trued", "page", "--no-open", "--json", *flags]
    with errors.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=theirs if terminal else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs if terminal else log,
            env=environment,
            cwd=home,
            start_new_session=True,
            preexec_fn=_take_terminal if terminal else None,
        )
    if terminal:
        os.close(theirs)
    try:
        yield _announced(process, home, ours, errors)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(WITHIN_S)
        if process.stdout:
            process.stdout.close()
        if terminal:
            os.close(ours)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _announced(process: subprocess.Popen[bytes], home: Path, terminal: int, errors: Path) -> Served:
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        line = process.stdout.readline().decode()
        assert line, errors.read_text()
        text += line
    told = json.loads(text)
    return Served(process, home, told["url"], told["host"], told["port"], Path(told["enter"]), terminal, errors)
