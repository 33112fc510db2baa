"""How a runtime has its agent started: it names a program, somebody else confines it, watches it and ends its tree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from trued.wire import Order, Report, Usage


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a program is to be ended at once."""

    kind: str
    why: str


class Listener(Protocol):
    """Hears a program's stdout line by line, while it works."""

    def hear(self, line: str) -> Stop | None: ...

    @property
    def stop(self) -> Stop | None:
        """Why it is to be ended, whoever said it."""
        ...

    @property
    def busy(self) -> bool:
        """It waits for something of its own, a long test run perhaps: silence is then no sign of a hang."""
        ...


@dataclass(frozen=True, slots=True)
class Program:
    argv: tuple[str, ...]
    stdin: bytes = b""
    readable: tuple[str, ...] = ()  # beyond what the order's confinement shows already
    variables: Mapping[str, str] = field(default_factory=dict)
    listener: Listener | None = None  # with one, stdout is transcript and not kept
    files: Mapping[str, bytes] = field(default_factory=dict)  # below HOME, there before it starts
    adapt: "Callable[[Mapping[str, str]], Program] | None" = None  # to the user's variables, when these are known
    on_stderr_line: Callable[[str, Any], None] | None = None  # a line of its stderr
    poll: Callable[[Any], None] | None = None  # at what it writes down elsewhere: before every line, and at the end


@dataclass(frozen=True, slots=True)
class ProgramExit:
    """How a program ended. With a `kind` it was ended from outside, or never began."""

    code: int | None
    stdout: bytes = b""
    stderr: str = ""  # the last lines, plain and redacted
    kind: str = ""  # idle | wall | output | missing, or that of the listener's stop
    why: str = ""
    reaped: int = 0


LogLine = Callable[[str], None]


class ProgramLauncher(Protocol):
    """Starts a program for an order and returns when its whole process tree is gone."""

    async def __call__(self, order: Order, program: Program, log: LogLine) -> ProgramExit: ...


def failed_report(order: Order, kind: str, why: str, *, reaped: int = 0, usage: Usage | None = None) -> Report:
    return Report(
        call=order.call,
        attempt=order.attempt,
        state="failed",
        kind=kind,
        why=why,
        session=order.session,
        reaped=reaped,
        usage=usage or Usage(),
    )


def done_report(
    order: Order, reply: dict[str, Any], *, resumed: bool = False, reaped: int = 0, usage: Usage | None = None
) -> Report:
    return Report(
        call=order.call,
        attempt=order.attempt,
        state="done",
        reply=reply,
        session=order.session,
        resumed=resumed,
        reaped=reaped,
        usage=usage or Usage(),
    )


def report_if_failed(order: Order, ended: ProgramExit) -> Report | None:
    """The report on a program that did not end by itself with exit code 0."""
    if ended.kind:
        return failed_report(order, ended.kind, ended.why, reaped=ended.reaped)
    if ended.code != 0:
        said = f": {ended.stderr}" if ended.stderr else " and said nothing on stderr"
        code = ended.code or 0
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        how += f" (signal {code - 128})" if 128 < code < 160 else ""
        return failed_report(order, "crashed", f"{order.agent} {how}{said}", reaped=ended.reaped)
    return None


def estimate_usage(order: Order, said: int) -> Usage:
    """Four characters are about one token; nobody counted better."""
    tokens_in, tokens_out = -(-len(order.brief) // 4), -(-said // 4)
    return Usage(tokens_in=tokens_in, tokens_out=tokens_out, peak=tokens_in + tokens_out)
