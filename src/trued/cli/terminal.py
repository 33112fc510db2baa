"""Output and input: data on stdout, everything else on stderr, questions only to a person at a terminal."""

import contextlib
import json
import os
import pwd
import sys
import termios
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from trued.errors import BadInput, Interrupted, StateFailed
from trued.inputs.settings.folders import state_folder
from trued.model import PersonAnswer, Question
from trued.support.plain_text import plain, plain_line
from trued.support.processes import inside_agent
from trued.support.user_git import ask_git

if TYPE_CHECKING:  # at run time, only the functions that print colours import it: `logs` and --json do without
    from rich.console import Console

GO_ON = "yes"  # Enter gives this answer if it is the first option. That is safe: "yes" approves no requirement
DECISIONS = ("accept", "reject")  # answers that need a name and a reason


def home() -> Path:
    """The folder of all private state."""
    return state_folder(os.environ)


def out() -> "Console":
    """The console for data. Markup is off, because the text may come from an agent."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def err() -> "Console":
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=not sys.stderr.isatty())


def is_plain_output() -> bool:
    """Whether to print plain lines instead of a live tree: on a pipe, in a file, in CI, on a dumb terminal."""
    return not sys.stderr.isatty() or bool(os.environ.get("CI")) or os.environ.get("TERM") == "dumb"


def is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def print_json(value: Any) -> None:
    print(as_json(value, indent=2))


def as_json(value: Any, indent: int | None = None) -> str:
    """The value as JSON. On a terminal, or a stream that is not UTF-8, characters beyond ASCII are escaped: a terminal
    could obey or hide some of them."""
    escaped = sys.stdout.isatty() or (sys.stdout.encoding or "").lower() != "utf-8"
    return json.dumps(value, indent=indent, ensure_ascii=escaped).replace("\x7f", "\\u007f")


def complain(sentence: str) -> None:
    from rich.text import Text

    err().print(Text.assemble(("trued: ", "bold red"), plain(sentence)))


def hint(sentence: str) -> None:
    from rich.text import Text

    err().print(Text(plain(sentence), style="dim"))


@contextlib.contextmanager
def exit_on_interrupt(sentence: str) -> Iterator[None]:
    """On Ctrl-C, print the sentence and exit with the code for an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        hint(sentence)
        raise typer.Exit(Interrupted.code) from None


def keep_traceback(error: BaseException) -> str:
    """Save the traceback of a bug in trued; return its path, or why it could not be saved."""
    text = "".join(traceback.format_exception(error))
    try:
        path = home() / "tracebacks" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text)
    except (OSError, StateFailed) as failure:
        return f"nowhere: {failure}"
    return str(path)


def outside_agents(command: str) -> None:
    """Raise BadInput if an agent runs this command: agents may neither start agents nor act as a person."""
    if call := inside_agent():
        then = "run it in your own terminal"
        raise BadInput(f"`trued {command}` is refused inside an agent (call {call})", then=then)


def whoami() -> str:
    """The person's name from git's settings, else the name of the account."""
    if name := plain_line((ask_git(".", "config", "--get", "user.name") or b"").decode("utf-8", "replace")):
        return name
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # the user id has no account, which is common in containers
        return f"user {os.getuid()}"


async def read_line(prompt: str) -> str | None:
    """Read one line from the person; None at the end of input. The event loop keeps running, so Ctrl-C works."""
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


def ask_name_and_reason(who: str, reason: str) -> tuple[str, str]:
    """A person's name and reason. If one of them is not given, ask for it. Raises BadInput if the reason is empty, the
    input ends, or the name is an answer such as "yes"."""
    import asyncio  # imported here, because only asking at a terminal needs it

    name = who or asyncio.run(read_line(f"Your name [{whoami()}]: "))
    if name and name.casefold() in ("y", "yes", "n", "no"):
        raise BadInput(
            f"{name!r} is an answer, not a name",
            then="nothing was changed; run it again, and press Enter at the prompt to use the name in brackets",
        )
    why = reason or asyncio.run(read_line("Reason (leave empty to cancel): "))
    if name is None or not why:
        raise BadInput("nothing was changed", then="give a reason")
    return name or whoami(), why


async def ask_person(question: Question) -> PersonAnswer | None:
    """Ask the person at the terminal a run's question and return the answer. None without a terminal, at the end of
    input, and for a decision without a reason."""
    if not is_interactive():
        return None
    from rich.text import Text

    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # drop keys typed before the question appeared: they do not answer it
    err().print(Text(f"\n{plain(question.text)}", style="bold"))
    default = question.options[0] if question.options[:1] == (GO_ON,) else ""
    prompt = f"{' / '.join(question.options) or 'your answer'}{f' [{default}]' if default else ''}: "
    while True:
        answer = await read_line(prompt)
        if answer is None:
            return None
        answer = answer or default
        if not question.options and answer:
            return PersonAnswer(answer, "", whoami())
        fitting = [option for option in question.options if answer and option.startswith(answer.lower())]
        if len(fitting) == 1:
            break
        options = f"with {', '.join(question.options)}" if question.options else "in your own words"
        hint(f"answer {options}; Ctrl-C leaves the question for later")
    if fitting[0] in DECISIONS:
        return await _ask_reason_and_name(fitting[0])
    comment = await read_line("what should change? ") if fitting[0] == "redo" else ""
    return PersonAnswer(fitting[0], comment or "", whoami())


async def _ask_reason_and_name(decision: str) -> PersonAnswer | None:
    """Ask for the reason and name that a manual decision needs; None without a reason, or if the input ends."""
    why = await read_line("reason (leave empty to decide later): ")
    name = await read_line(f"your name: [{whoami()}] ") if why else None
    return PersonAnswer(decision, why, name or whoami()) if why and name is not None else None
