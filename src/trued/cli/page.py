"""The command `page`: serves the live page of all runs on this machine until Ctrl-C."""

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from trued.cli.browser import find_opener, has_desktop, open_file
from trued.cli.context import AsJson, open_store
from trued.cli.notify import users_settings
from trued.cli.terminal import (
    complain,
    err,
    hint,
    home,
    is_interactive,
    keep_traceback,
    out,
    outside_agents,
    print_json,
    read_line,
    whoami,
)
from trued.errors import BadInput
from trued.support.plain_text import plain

if TYPE_CHECKING:
    from trued.page.server import PageServer

app = typer.Typer(rich_markup_mode=None)
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2): sets the signal that a process gets when its parent dies


@app.command()
def page(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port on this machine.", show_default="a free one")
    ] = 0,
    look: Annotated[bool, typer.Option("--look", help="Only look: nothing can be changed from this page.")] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="127.0.0.1, if the browser does not know names under localhost; only with --look.",
            show_default="a random name under localhost",
        ),
    ] = "",
    no_open: Annotated[
        bool,
        typer.Option(
            "--no-open", help="Do not open a browser; print the address of the file that logs your browser in."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve the live page of all runs: watch them, judge them, steer them. Ctrl-C ends the page; runs continue.

    The page listens on this machine only; from another machine, use ssh -L with the same port. The browser logs in
    with a file that only your account can read; it works once, within a minute. Press Enter here to open the page
    again. Decisions that need your approval are confirmed in this terminal.
    """
    outside_agents("page")
    if host and host != "127.0.0.1":
        raise BadInput(f"the page cannot be served as {host!r}", "--host", "pass 127.0.0.1, or leave out --host")
    if host and not look:
        what = "at 127.0.0.1 a browser also sends the page's cookie to every other server on that address"
        raise BadInput(what, "--host", "add --look: then whoever gets the cookie can change nothing")
    with open_store():  # converts a journal of an earlier version, which the page, a reader, could not do
        pass
    from trued.page.server import PageOptions, PageServer  # imported here, because it loads a web server

    options = PageOptions(
        home=home(),
        environ=os.environ,
        warn=complain,
        report=report_bug,
        who=whoami(),
        terminal=_terminal(),
        again=partial(_open, no_open),
        port=port,
        host=host,
        look=look,
        notify=users_settings(),
    )
    asyncio.run(_serve(PageServer(options), no_open, as_json))


async def _serve(server: "PageServer", no_open: bool, as_json: bool) -> None:
    def ready() -> None:
        path = server.entry_path()
        if as_json:
            address, look = server.address, server.options.look
            facts = {"url": address.origin, "host": address.host, "port": address.port, "look": look}
            print_json({**facts, "enter": str(path)})
        else:
            out().print(server.address.origin, soft_wrap=True)
        sys.stdout.flush()  # a program that reads our output waits for this line
        _open(no_open, path)
        hint("Ctrl-C ends the page; runs continue")

    await server.serve(ready)


@contextlib.contextmanager
def page_beside(wanted: bool) -> Iterator[None]:
    """If `wanted`, serve the page from a separate process for one `with` block. The run in that block uses this
    terminal, so the page cannot ask for confirmation here. Instead, the page shows a command to run for each
    decision."""
    if not wanted:
        yield
        return

    def end_with_us() -> None:
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)

    with subprocess.Popen(
        [sys.executable, "-P", "-m", "trued", "page"],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),  # stdout is for the run's data only
        start_new_session=True,  # so that Ctrl-C reaches only the run: the page stays and shows how the run ends
        preexec_fn=end_with_us,
    ) as child:
        try:
            yield
        finally:
            child.terminate()


class TerminalHere:
    """The terminal of the person who started the page."""

    def say(self, text: str) -> None:
        err().print(Text(plain(text)), soft_wrap=True)

    def forget_typed(self) -> None:
        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)

    async def line(self) -> str | None:
        return await read_line("")


def _terminal() -> TerminalHere | None:
    """The terminal, if it is interactive and this process is in its foreground; else None."""
    with contextlib.suppress(OSError):
        if is_interactive() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():
            return TerminalHere()
    return None


def _open(no_open: bool, path: Path) -> None:
    """Open the entry file, which logs the browser in to the page. With `no_open`, or if no program can open it, print
    the file's address instead."""
    opener = find_opener()
    # Other users can read the browser's command line. The file's name is no secret; the login code in the file is.
    if no_open or not has_desktop() or opener is None or not open_file(opener, path):
        sentence = f"open this file in your browser within a minute: {path.as_uri()}"
        # not wrapped: an address that is cut in two cannot be opened
        err().print(Text(plain(sentence), style="dim"), soft_wrap=True)


def report_bug(error: BaseException) -> None:
    """Report a bug of the page without the error's text: a visitor who may only look could have written that text to
    deceive the person who confirms decisions in this terminal."""
    complain(f"the page had an unexpected {type(error).__name__}; its traceback is in {keep_traceback(error)}")
