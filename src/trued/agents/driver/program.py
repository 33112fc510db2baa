"""The interface for starting an agent's program: the program, the listener to its output, and how it ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from trued.wire import Order, Report, Usage


@dataclass(frozen=True, slots=True)
class Stop:
    """The reason to end a program at once."""

    kind: str
    why: str


class Listener(Protocol):
    """Reads a program's stdout line by line while it works."""

    def handle_line(self, line: str) -> Stop | None:
        """Process one line; return why the program has to be ended, or None."""
        ...

    @property
    def stop(self) -> Stop | None:
        """Why the program must be ended; None while it may continue."""
        ...

    @property
    def busy(self) -> bool:
        """Whether the program waits for one of its tools, such as a long test run: then silence is not a hang."""
        ...


@dataclass(frozen=True, slots=True)
class Program:
    """A program to start for an order: command line, input, and the files that it needs to see."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    readable: tuple[str, ...] = ()  # paths that the program may read, besides those of the order's confinement
    variables: Mapping[str, str] = field(default_factory=dict)
    listener: Listener | None = None  # if set, the listener gets stdout, which is then not kept
    files: Mapping[str, bytes] = field(default_factory=dict)  # path below HOME → content, written before the start
    # Takes the user's variables, and returns the program changed to fit them.
    adapt: "Callable[[Mapping[str, str]], Program] | None" = None
    on_stderr_line: Callable[[str, Any], None] | None = None  # gets each line of stderr and the transcript
    poll: Callable[[Any], None] | None = None  # reads a log file; called before every line of stdout and at the end


@dataclass(frozen=True, slots=True)
class ProgramExit:
    """How a program ended. If `kind` is set, the program was ended from outside or never started."""

    code: int | None
    stdout: bytes = b""
    stderr: str = ""  # the last lines, plain and redacted
    kind: str = ""  # idle | wall | output | missing, or the kind of the listener's stop
    why: str = ""
    reaped: int = 0


LogLine = Callable[[str], None]


class ProgramLauncher(Protocol):
    """Starts a program for an order; returns when the program and all processes that it started are gone."""

    async def __call__(self, order: Order, program: Program, log: LogLine) -> ProgramExit: ...


def failed_report(order: Order, kind: str, why: str, *, reaped: int = 0, usage: Usage | None = None) -> Report:
    """The report of a failed call. `reaped`: how many processes outlived the agent and were ended."""
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
    """The report of a call that gave a reply. `reaped`: how many processes outlived the agent and were ended."""
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
    """The report on a program that failed: it was ended from outside, was never started, or did not exit with code 0.
    None if the program succeeded."""
    if ended.kind:
        return failed_report(order, ended.kind, ended.why, reaped=ended.reaped)
    if ended.code != 0:
        stderr = f": {ended.stderr}" if ended.stderr else " and printed nothing on stderr"
        code = ended.code or 0
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        how += f" (signal {code - 128})" if 128 < code < 160 else ""
        return failed_report(order, "crashed", f"{order.agent} {how}{stderr}", reaped=ended.reaped)
    return None


def estimate_usage(order: Order, characters: int) -> Usage:
    """Guess the usage of an agent that reports none: four characters are about one token."""
    tokens_in, tokens_out = -(-len(order.brief) // 4), -(-characters // 4)
    return Usage(tokens_in=tokens_in, tokens_out=tokens_out, peak=tokens_in + tokens_out)
