"""The command line. A group of commands is a module, loaded when one of them is used, so that help is instant."""

import io
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from trued.errors import BadInput, TruedError

# command → (section of the help, module, what it does)
COMMANDS = {
    "demo": ("Begin", "demo_doctor", "See it all in a minute: no key, no agent, no network"),
    "doctor": (
        "Begin",
        "demo_doctor",
        "What works on this machine, and how to mend what does not",
    ),
    "init": ("Begin", "init", "Write a commented trued.toml, with the agents that are here"),
    "agents": ("Begin", "agents", "What can play a role here, and how it would log in"),
    "roles": ("Begin", "roles", "The roles, and where each comes from; export them to other tools"),
    "lint": ("Begin", "roles", "Look for mistakes in role files"),
    "trust": ("Begin", "people", "See what this repository would tell agents, and trust it"),
    "verify": ("Work", "verify", "Judge any commit against any other, whoever made it: no agent, no key"),
    "gate": ("Work", "gate", "Let nobody say that it is done while a requirement is not met"),
    "run": ("Work", "run", "Let agents work on a goal or a plan until it is proven"),
    "resume": ("Work", "run", "Go on where a run stands; no finished call is paid for twice"),
    "compare": ("Work", "compare", "One goal by several workflows or agents, side by side in one table"),
    "cancel": ("Work", "run", "End a run for good; its work stays on its branch"),
    "answer": ("Work", "people", "Answer what a run asks: yes, stop or redo"),
    "approve": ("Work", "people", "Give your word for a contract or a requirement"),
    "reject": ("Work", "people", "Say that a requirement does not hold, and why"),
    "amend": ("Work", "people", "Change the contract of a run, by your word"),
    "land": ("Work", "land", "Bring a finished run home: onto your branch, or as a pull request"),
    "ls": ("Look", "look", "The runs"),
    "show": ("Look", "look", "One run: its calls, checks, tokens, cost, and what it waits for"),
    "logs": ("Look", "look", "The events of a run, or the transcript of one call"),
    "ledger": ("Look", "ledger", "Every requirement with its grade and reasons"),
    "why": ("Look", "ledger", "Why a requirement has its grade, with all evidence"),
    "diff": ("Look", "look", "What the run changed"),
    "report": ("Look", "look", "The whole run as one HTML file"),
    "receipt": ("Look", "receipt", "A run's verdict as a file that anyone can check"),
    "key": ("Look", "receipt", "The public key that signs receipts here"),
}

EPILOG = (
    "Exit codes: 0 success, 1 not proven, 2 usage, 3 waits for you, 4 limit reached, 5 agent failed, 6 could not judge,"
    " 130 interrupted and can be resumed."
)


class Commands(TyperGroup):
    """Knows every command by name and sentence, and loads only the one that is asked for."""

    def __init__(self, **options: Any) -> None:
        known = {
            name: TyperCommand(name, help=does, rich_help_panel=section, rich_markup_mode=None)
            for name, (section, _, does) in COMMANDS.items()
        }
        super().__init__(**{**options, "commands": known})

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        return name, load(name) if name in COMMANDS else found, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for section in dict.fromkeys(section for section, _, _ in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl([(name, does) for name, (of, _, does) in COMMANDS.items() if of == section])


def load(name: str) -> Any:
    """The command itself, with its module."""
    module = import_module(f"{__name__}.{COMMANDS[name][1]}")
    return get_group(module.app).commands[name]


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"trued {version('trued')}")
        raise typer.Exit


@app.callback()
def trued(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Let coding agents finish real work in this repository, and believe none of them.

    `trued demo` shows it; `trued run PLAN.md --agent 'command:PROGRAM'` does it. A run can be killed at any moment:
    `trued resume` goes on.
    """
    for one in sys.argv[1:]:
        try:
            one.encode()
        except UnicodeEncodeError:
            raise BadInput(f"the argument {one!a} is not UTF-8", then="write it in UTF-8") from None
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        raise BadInput("the current folder does not exist any more", then="go to another one") from None


def _streams() -> None:
    """A stream that is closed says nothing and is nobody; what a stream cannot show is spelled out."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, number)  # so that no file of ours ends up under this number
            if nowhere != number:
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _path() -> None:
    """Without entries that mean the working folder: a repository would bring its own git, and its own agents."""
    if path := os.environ.get("PATH", ""):
        os.environ["PATH"] = ":".join(entry for entry in path.split(":") if entry.startswith("/")) or os.defpath


def main() -> None:
    """The process: whatever goes wrong becomes one sentence and an exit code."""
    try:
        _streams()
        _path()
        get_command(app).main(prog_name="trued")
    except TruedError as error:
        from trued.cli.terminal import complain

        complain(str(error))
        sys.exit(error.code)
    except Exception as error:  # noqa: BLE001  the outermost boundary: the whole story goes to a file
        from trued.cli.terminal import complain, keep_traceback

        said = " ".join(f"{type(error).__name__}: {error}".split())
        complain(f"unexpected {said[:300]}; this is a mistake in trued, its story is in {keep_traceback(error)}")
        sys.exit(1)
