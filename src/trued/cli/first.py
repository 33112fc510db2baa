"""Commands of the first five minutes: demo, doctor, init, agents."""

import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from .. import config
from ..errors import BadInput
from ..redact import plain
from .house import AsJson, top_of
from .terminal import hint, home, out, print_json
from .words import line

app = typer.Typer(rich_markup_mode=None)

LATER = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "OpenCode"}


@app.command()
def demo(
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to put it.", show_default="a new folder")
    ] = None,
) -> None:
    """See the whole product in about a minute: scripted agents (labelled as such) work through a small plan.

    One of them lies and is refuted; the program is killed and goes on; a ledger and a report are left at the end.
    """
    from ..demo import show

    raise typer.Exit(show(keep))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look at this machine: what works, what does not, and the exact fix."""
    from .doctor import findings

    seen = findings(home())
    if as_json:
        print_json([one.as_json() for one in seen])
    else:
        console = out()
        for one in seen:
            mark, style = {"ok": ("✓", "green"), "missing": ("·", "yellow"), "broken": ("✗", "bold red")}[one.state]
            console.print(
                Text.assemble((f"{mark} ", style), (f"{one.name:<12} ", "bold"), plain(one.says)), soft_wrap=True
            )
            if one.fix:
                console.print(Text(f"  {'':<12} → {plain(one.fix)}", "yellow"), soft_wrap=True)
    raise typer.Exit(6 if any(one.state == "broken" for one in seen) else 0)


@app.command()
def init(
    repo: Annotated[Path, typer.Option(metavar="DIR", help="The repository.", show_default="this folder")] = Path(),
) -> None:
    """Write a commented trued.toml. One that is there is left as it is."""
    top = top_of(repo)
    if top is None:
        raise BadInput(f"{repo.resolve()} is not in a git repository", then="`git init`, or name one with --repo")
    path = top / config.FILE
    try:
        with path.open("x") as file:
            file.write(config.starter())
    except FileExistsError:
        raise BadInput(f"{path} is there already", then="edit it; it was left as it is") from None
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}", then="make the folder writable") from error
    out().print(Text(str(path)), soft_wrap=True)
    hint("every line in it is a default, commented out; `trued trust` it before the next run")


@app.command()
def agents(as_json: AsJson = False) -> None:
    """What can play a role here."""
    rows = [
        {
            "agent": "command:PROGRAM ARGS",
            "ready": True,
            "says": "any program: the order as JSON on stdin, its reply as JSON on stdout",
        },
        {
            "agent": "scripted:FILE",
            "ready": True,
            "says": "a script of replies, for tests and demonstrations; it is no model",
        },
    ]
    for name, title in LATER.items():
        where = shutil.which(name)
        says = f"{title} is at {where}; it" if where else f"{title} is not on PATH; it"
        rows.append(
            {
                "agent": name,
                "ready": False,
                "found": where,
                "says": f"{says} comes with a later version, until then wrap it as command:",
            }
        )
    if as_json:
        print_json(rows)
        return
    console = out()
    for row in rows:
        mark, style = ("✓", "green") if row["ready"] else ("·", "dim")
        console.print(
            Text.assemble((f"{mark} ", style), (f"{row['agent']:<22} ", "bold"), line(row["says"])), soft_wrap=True
        )
    hint("choose with --agent AGENT or --agent ROLE=AGENT, or in trued.toml under [agents]")
