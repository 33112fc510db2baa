"""The command that judges anybody's work: verify."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from .. import config
from ..engine.verify import VerifyRequest
from ..engine.verify import verify as judged
from ..views.verdict import verification
from .house import AsJson
from .terminal import hint, home, print_json

app = typer.Typer(rich_markup_mode=None)


@app.command()
def verify(
    base: Annotated[str, typer.Option(metavar="REPO[@REV]", help="What the work started from.")] = "",
    head: Annotated[str, typer.Option(metavar="REPO[@REV]", help="The work.")] = "HEAD",
    requirements: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What must hold: TOML, YAML or JSON.", show_default=False)
    ] = None,
    accept: Annotated[
        str | None, typer.Option(metavar="GRADE", help="The lowest grade that counts as met.", show_default=False)
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="auto, bubblewrap, landlock or none.", show_default=False)
    ] = None,
    allow_unsandboxed: Annotated[
        bool, typer.Option("--allow-unsandboxed", help="Where no sandbox works, go on without.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Judge any commit against any other, whoever made it. No agent, no key, nothing written in either repository."""
    flags = {"accept": accept, "sandbox": sandbox, "allow_unsandboxed": allow_unsandboxed or None}
    settings = config.load_settings(flags, os.environ, None, config.user_config(os.environ))
    request = VerifyRequest(
        base=base,
        head=head,
        requirements_file=requirements,
        accept=settings.accept,
        sandbox=settings.sandbox,
        allow_unsandboxed=settings.allow_unsandboxed,
    )
    done = asyncio.run(judged(request, home=home(), environ=os.environ, tell=_tell))
    data = verification(done.contract, done.verdict, done.outcome, settings.accept)
    if as_json:
        print_json(data)
    raise typer.Exit(done.code)


def _tell(kind: str, **data: object) -> None:
    hint(f"{kind} {data}")
