"""Where commands speak: data on stdout, everything else on stderr, questions only to a person at a terminal."""

import json
import os
import pwd
import sys
import termios
import time
import traceback
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from trued.errors import BadInput, StateFailed
from trued.inputs.settings import loader as config
from trued.model import Question
from trued.support.processes import inside_agent
from trued.support.redaction import plain

DECISIONS = ("accept", "reject")  # of somebody who looked: they go with a name and a reason


def home() -> Path:
    """The folder of all private state."""
    return config.home(os.environ)


def out() -> Console:
    """For data that a person reads. Nothing in it is markup: it may come from an agent."""
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def err() -> Console:
    return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=not sys.stderr.isatty())


def quiet_place() -> bool:
    """No live picture here: a pipe, a file, a build server, a terminal that cannot."""
    return not sys.stderr.isatty() or bool(os.environ.get("CI")) or os.environ.get("TERM") == "dumb"


def person_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def print_json(value: Any) -> None:
    print(as_json(value, indent=2))


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON that steers no terminal: there, and where they cannot be written, letters beyond ASCII are escaped."""
    escaped = sys.stdout.isatty() or (sys.stdout.encoding or "").lower() != "utf-8"
    return json.dumps(value, indent=indent, ensure_ascii=escaped).replace("\x7f", "\\u007f")


def complain(sentence: str) -> None:
    err().print(Text.assemble(("trued: ", "bold red"), plain(sentence)))


def hint(sentence: str) -> None:
    err().print(Text(plain(sentence), style="dim"))


def keep_traceback(error: BaseException) -> str:
    """The whole story of a mistake of ours, for whoever mends it."""
    text = "".join(traceback.format_exception(error))
    try:
        path = home() / "tracebacks" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text)
    except (OSError, StateFailed) as failure:
        return f"not kept, {failure}"
    return str(path)


def outside_agents(command: str) -> None:
    """Only the workflow starts agents, and no agent speaks for a person."""
    if call := inside_agent():
        raise BadInput(f"`trued {command}` is refused inside an agent (call {call})", then="only a person may do this")


def whoami() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container, often
        return f"user {os.getuid()}"


async def typed(prompt: str) -> str | None:
    """One line from the person. The loop goes on meanwhile, so Ctrl-C works; None at the end of input."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    import asyncio

    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not line.done():
            line.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin, read)
    try:
        text = await line
    finally:
        loop.remove_reader(sys.stdin)
    return text.strip() if text else None


async def asked(question: Question) -> tuple[str, str, str] | None:
    """A run's question, put to the person at the terminal. Whoever is not there, or leaves, is asked later."""
    if not person_there():
        return None
    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before the question was seen is no answer to it
    err().print(Text(f"\n{plain(question.text)}", style="bold"))
    while True:
        answer = await typed(f"{' / '.join(question.options) or 'your answer'}: ")
        if answer is None:
            return None
        if not question.options and answer:
            return (answer, "", whoami())
        fitting = [one for one in question.options if answer and one.startswith(answer.lower())]
        if len(fitting) == 1:
            break
        options = f"one of {', '.join(question.options)}" if question.options else "it in your own words"
        hint(f"say {options}; Ctrl-C leaves the question for later")
    if fitting[0] in DECISIONS:
        return await _signed(fitting[0])
    comment = await typed("what is missing? ") if fitting[0] == "redo" else ""
    return (fitting[0], comment or "", whoami())


async def _signed(decision: str) -> tuple[str, str, str] | None:
    """Somebody who judged by hand says why, and who they are; no reason, no decision."""
    why = await typed("why? (empty: decide later) ")
    name = await typed(f"who are you? [{whoami()}] ") if why else None
    return (decision, why, name or whoami()) if why and name is not None else None
