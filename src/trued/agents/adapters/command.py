"""Any program as an agent: the order as JSON on stdin, the reply as JSON on stdout, its log on stderr."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from trued.agents.driver.agent import Agent
from trued.agents.driver.program import Program, ProgramLauncher, estimate_usage, failed_report, report_if_failed
from trued.agents.driver.reply_contract import BrokenReply, parse_reply
from trued.protocols import Capabilities, Tell
from trued.wire import Order, Report

ASK = "import json, sys; print(json.dumps([sys.executable, sys.prefix, sys.base_prefix]))"
CAPABILITIES = Capabilities()  # it is given the session's id, and may keep what it likes under its HOME


class CommandRuntime:
    """`command:PROGRAM ARGS`."""

    def __init__(self, launch: ProgramLauncher) -> None:
        self._launch = launch

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    async def work(self, order: Order, tell: Tell) -> Report:
        try:
            words = shlex.split(order.agent.partition(":")[2])
        except ValueError as error:
            return failed_report(order, "missing", f"{order.agent} is no command line: {error}; mind its quotes")
        found = _find_program(words[0], Path(order.folder)) if any(words[:1]) else ""
        if not found:
            return failed_report(order, "missing", _missing(words, order))
        found, shown = visible_files(found, words[1:], Path(order.folder))
        program = Program((found, *words[1:]), _order_json(order), shown)
        ended = await self._launch(order, program, lambda line: tell("log", text=line))
        if report := report_if_failed(order, ended):
            return report
        usage = estimate_usage(order, len(ended.stdout))
        try:
            reply = parse_reply(ended.stdout)
        except BrokenReply as error:
            return failed_report(
                order, "contract", f"the answer cannot be read: {error}", reaped=ended.reaped, usage=usage
            )
        return Report(
            order.call,
            order.attempt,
            "done",
            reply=reply,
            session=order.session,
            reaped=ended.reaped,
            usage=usage,
        )


def _order_json(order: Order) -> bytes:
    names = ("role", "brief", "schema", "session", "attempt", "run", "key")
    return json.dumps({name: getattr(order, name) for name in names}, ensure_ascii=False).encode() + b"\n"


def _find_program(program: str, folder: Path) -> str:
    """With a slash it is a path, seen from the clone; without one it is looked up on PATH."""
    if "/" not in program:
        return shutil.which(program) or ""
    path = folder / program
    return str(path) if path.is_file() else ""


def _missing(words: list[str], order: Order) -> str:
    if not any(words[:1]):
        return f"{order.agent} names no program; write command:PROGRAM ARGS"
    if "/" in words[0]:
        return f"there is no program {words[0]} in the agent's folder; write an absolute path, or commit the file"
    return f"there is no program {words[0]} on PATH; install it, or write an absolute path"


def visible_files(program: str, arguments: list[str], clone: Path) -> tuple[str, tuple[str, ...]]:
    """What to start, and what it may see: itself and every file or folder that the user's command line names.

    What lies in the clone is the agent's to write: it is neither run here, outside the sandbox, nor followed anywhere.
    """
    values = [word.rpartition("=")[2] if word.startswith("-") else word for word in arguments]
    named = [
        value for value in values if value.startswith("/") and Path(value).exists() and not _is_within(value, clone)
    ]
    if _is_within(program, clone):
        return program, tuple(named)
    program, folders = _resolve_python(program)
    return program, (*folders, program, str(Path(program).resolve()), *named)


def _is_within(path: str, clone: Path) -> bool:
    written, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))  # noqa: PTH100 (links stay as written)
    return written.is_relative_to(clone) or real.is_relative_to(Path(os.path.realpath(clone)))


def _resolve_python(program: str) -> tuple[str, tuple[str, ...]]:
    """A Python that is not the system's: itself, behind a version manager's shim, and the folders that it lives in."""
    if not Path(program).name.startswith("python") or program.startswith(("/usr/", "/bin/")):
        return program, ()
    try:
        asked = subprocess.run([program, "-I", "-c", ASK], capture_output=True, check=True, timeout=20, cwd="/")
        executable, *folders = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return program, ()  # started as it is, it will say itself what is wrong
    return executable, tuple(folders)


AGENT = Agent(
    title="any program: the order as JSON on stdin, its reply as JSON on stdout",
    capabilities=CAPABILITIES,
    argument=":PROGRAM ARGS",
    runtime=CommandRuntime,
)
