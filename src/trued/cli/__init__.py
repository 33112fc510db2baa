"""The command line. Each module holds a few commands and is loaded only when one of them runs, so help is instant."""

import gc
import io
import os
import shlex
import sys
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_command_from_info, get_command_name, get_group

from trued.errors import BadInput, TruedError

# command → (section of the help, module, what it does)
COMMANDS = {
    "demo": ("Start", "demo", "Watch a whole run in about a minute: no key, no agent, no network"),
    "doctor": ("Start", "doctor", "Check this machine and project, with a fix for each problem"),
    "init": ("Start", "init", "Write a commented trued.toml with the agents found here"),
    "agents": ("Start", "agents", "List the agents on this machine and how each would log in"),
    "roles": ("Start", "roles", "List the roles and where each comes from; export them to other tools"),
    "lint": ("Start", "roles", "Find mistakes in role files"),
    "hub": ("Start", "hub", "Prepare a Postgres database that keeps the runs of several machines"),
    "worker": ("Start", "worker", "Make this machine a worker: it takes runs from a hub's queue"),
    "trust": ("Start", "people", "Review and trust what this repository tells agents"),
    "verify": ("Work", "verify", "Check any commit against requirements: no agent, no key"),
    "requirements": ("Work", "requirements", "Write a requirements file: a scaffold, or a run's approved cases"),
    "gate": ("Work", "gate", "Block agents, pushes and CI until requirements are met"),
    "run": ("Work", "run", "Let agents work on a goal or a plan until it is proven"),
    "resume": ("Work", "run", "Continue a run; finished calls are not made again"),
    "compare": ("Work", "compare", "Run one goal with several workflows or agents and compare them in a table"),
    "cancel": ("Work", "run", "End a run for good; its work stays on its branch"),
    "comment": ("Work", "steer", "Give a comment to the agents of a run while it works"),
    "limit": ("Work", "steer", "Raise or lower a run's limits, even while it works"),
    "answer": ("Work", "answer", "Answer a run's question: yes, stop or redo"),
    "approve": ("Work", "people", "Approve a contract, or accept a requirement yourself"),
    "reject": ("Work", "people", "Reject a requirement, with a reason"),
    "amend": ("Work", "people", "Change a run's contract (recorded with your name and reason)"),
    "land": ("Work", "land", "Merge a finished run into your branch, or open a pull request"),
    "page": ("Look", "page", "Watch, judge and steer all runs in a browser, live"),
    "ls": ("Look", "look", "List the runs, with grade, cost and tokens"),
    "stats": ("Look", "stats", "Add up runs by week, agent and role: what was proven, and what it cost"),
    "show": ("Look", "look", "Show one run: calls, checks, tokens, cost, and what it waits for"),
    "watch": ("Look", "look", "Watch a run that another terminal drives, until it ends"),
    "logs": ("Look", "look", "Show a run's events, or the transcript of one call"),
    "ledger": ("Look", "ledger", "List every requirement with its grade and reasons"),
    "why": ("Look", "ledger", "Explain a requirement's grade, with all evidence"),
    "diff": ("Look", "look", "Show what the run changed"),
    "preview": ("Look", "preview", "Start the project at a run's commit, to look at it yourself"),
    "report": ("Look", "look", "Write the whole run as one HTML file"),
    "receipt": ("Look", "receipt", "Write a run's verdict as a file that anyone can check"),
    "key": ("Look", "receipt", "Show the public key for this machine's receipts"),
}

EPILOG = (
    "Exit codes: 0 success, 1 not proven, 2 usage, 3 waiting for you, 4 limit reached, 5 agent failed,"
    " 6 could not judge, 130 interrupted (can be resumed)."
)
# How many new objects Python may create before its garbage collector runs. The modules that a command loads are not
# garbage, and collecting after every 700 objects (Python's default) takes a tenth of a short command's time.
GARBAGE = 50_000


class CommandGroup(TyperGroup):
    """Lists every command in the help, but loads a command's module only when that command runs."""

    def __init__(self, **options: Any) -> None:
        known = {
            name: TyperCommand(name, help=does, rich_help_panel=section, rich_markup_mode=None)
            for name, (section, _, does) in COMMANDS.items()
        }
        super().__init__(**{**options, "commands": known})

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if " " in args[0].strip() and args[0] not in self.commands:
            ctx.fail(f"{args[0]!r} is not a command. For a goal in words: trued run {shlex.quote(args[0])}")
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name in COMMANDS else command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for section in dict.fromkeys(section for section, _, _ in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl([(name, does) for name, (of, _, does) in COMMANDS.items() if of == section])


def load(name: str) -> Any:
    """Import the command's module and return the command."""
    module = import_module(f"{__name__}.{COMMANDS[name][1]}")
    gc.freeze()  # loaded modules stay in memory, so later garbage collections need not scan them
    module_app: typer.Typer = module.app
    for command in module_app.registered_commands:  # build only the wanted command, not the module's others
        if command.callback and name == (command.name or get_command_name(command.callback.__name__)):
            short, markup = module_app.pretty_exceptions_short, module_app.rich_markup_mode
            return get_command_from_info(command, pretty_exceptions_short=short, rich_markup_mode=markup)
    return get_group(module_app).commands[name]


app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"trued {version('trued')}")
        raise typer.Exit


@app.callback()
def trued(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Let coding agents work in this repository, and check every result instead of trusting them.

    Start with `trued demo`, then `trued run "what you want"`. You can kill a run at any moment and continue it with
    `trued resume`.
    """
    for argument in sys.argv[1:]:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise BadInput(f"the argument {argument!a} is not UTF-8", then="write it in UTF-8") from None
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        raise BadInput("the current folder no longer exists", then="change to another one") from None


def _repair_streams() -> None:
    """Replace closed streams by /dev/null, and escape characters that a stream cannot show."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            # otherwise the next file that we open would get this number, and our output would go into it
            os.dup2(nowhere, number)
            if nowhere != number:
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _clean_path() -> None:
    """Remove relative and empty entries from PATH: with them, a program in the repository could run instead of git."""
    if path := os.environ.get("PATH", ""):
        os.environ["PATH"] = ":".join(entry for entry in path.split(":") if entry.startswith("/")) or os.defpath


def _disable_plugins() -> None:
    """Turn off pydantic plugins that happen to be installed: none may see or change what we read.

    The environment variable is for processes that we start. In this process, an empty module replaces pydantic's plugin
    loader. The loader is slow even without plugins: it imports a quarter as much code as pydantic itself.
    """
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    none = ModuleType("pydantic.plugin._loader")
    vars(none)["get_plugins"] = tuple
    sys.modules.setdefault(none.__name__, none)


def main() -> None:
    """Run the command line. Every error becomes one sentence and an exit code."""
    gc.set_threshold(GARBAGE)
    try:
        _repair_streams()
        _clean_path()
        _disable_plugins()
        get_command(app).main(prog_name="trued")
    except TruedError as error:
        from trued.cli.terminal import complain

        complain(str(error))
        sys.exit(error.code)
    except Exception as error:  # noqa: BLE001  the outermost boundary: the traceback goes to a file
        from trued.cli.terminal import complain, keep_traceback

        message = " ".join(f"{type(error).__name__}: {error}".split())
        complain(f"unexpected {message[:300]}; this is a bug in trued, its traceback is in {keep_traceback(error)}")
        sys.exit(1)
    finally:
        gc.freeze()  # skip the last garbage collection: the process ends anyway
