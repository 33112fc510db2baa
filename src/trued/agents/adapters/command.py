"""Any program as an agent: it reads the order as JSON from stdin, and writes its reply as JSON to stdout and its log to
stderr."""

import json
import shlex
import shutil
from pathlib import Path

from trued.agents.driver.agent import Agent
from trued.agents.driver.program import (
    Program,
    ProgramLauncher,
    done_report,
    estimate_usage,
    failed_report,
    report_if_failed,
)
from trued.agents.driver.program_files import visible_files
from trued.agents.driver.reply_format import BrokenReply, parse_reply
from trued.wire import Capabilities, EmitAgentEvent, Order, Report

# No capabilities are declared. A program that wants to continue a session can do that itself: it gets the session's id,
# and can store what it needs in its HOME.
CAPABILITIES = Capabilities()


class CommandRuntime:
    """The runtime of `command:PROGRAM ARGS`."""

    def __init__(self, launch: ProgramLauncher) -> None:
        self._launch = launch

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        """Run the program with the order on its stdin; its stdout is the reply."""
        try:
            argv = shlex.split(order.agent.partition(":")[2])
        except ValueError as error:
            return failed_report(order, "missing", f"{order.agent} is not a command line: {error}; check its quotes")
        path = _find_program(argv[0], Path(order.folder)) if any(argv[:1]) else ""
        if not path:
            return failed_report(order, "missing", _missing_program(argv, order))
        path, shown = visible_files(path, argv[1:], Path(order.folder))
        program = Program((path, *argv[1:]), _order_json(order), shown)
        ended = await self._launch(order, program, lambda line: emit("log", text=line))
        if report := report_if_failed(order, ended):
            return report
        usage = estimate_usage(order, len(ended.stdout))
        try:
            reply = parse_reply(ended.stdout)
        except BrokenReply as error:
            return failed_report(
                order, "contract", f"the reply cannot be read: {error}", reaped=ended.reaped, usage=usage
            )
        return done_report(order, reply, reaped=ended.reaped, usage=usage)


def _order_json(order: Order) -> bytes:
    names = ("role", "brief", "schema", "session", "attempt", "run", "key")
    return json.dumps({name: getattr(order, name) for name in names}, ensure_ascii=False).encode() + b"\n"


def _find_program(program: str, folder: Path) -> str:
    """The program's path; "" if there is no such program. A name without a slash is looked up on PATH. A relative path
    with a slash is resolved against `folder`, the clone."""
    if "/" not in program:
        return shutil.which(program) or ""
    path = folder / program
    return str(path) if path.is_file() else ""


def _missing_program(argv: list[str], order: Order) -> str:
    if not any(argv[:1]):
        return f"{order.agent} has no program; use command:PROGRAM ARGS"
    if "/" in argv[0]:
        return f"there is no program {argv[0]} in the agent's folder; use an absolute path, or commit the file"
    return f"there is no program {argv[0]} on PATH; install it, or use an absolute path"


AGENT = Agent(
    title="any program: the order as JSON on stdin, its reply as JSON on stdout",
    capabilities=CAPABILITIES,
    argument=":PROGRAM ARGS",
    runtime=CommandRuntime,
)
