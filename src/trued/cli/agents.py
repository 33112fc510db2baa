"""`trued agents`: what can play a role here, how it would log in, and what it lacks."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from trued.cli.context import AsJson, top_of
from trued.cli.format import line
from trued.cli.terminal import hint, home, out, print_json
from trued.engine import agent_selection as engine
from trued.engine.agent_selection import Seen
from trued.engine.trust import found, is_trusted
from trued.inputs.settings import loader as config
from trued.model import Settings

app = typer.Typer(rich_markup_mode=None)

SIZES = ("small", "medium", "large")
WIDTH = 25


@app.command()
def agents(as_json: AsJson = False) -> None:
    """What can play a role here: found by looking, without a request to anybody.

    Nothing of a login is read but whether it is there, what shape it has and when it ends.
    """
    settings = settings_here()
    seen = engine.look(settings, os.environ, versions=True)
    cast = engine.cast_here(seen, settings, os.environ)
    if as_json:
        print_json([_as_json(one, settings, cast) for one in seen])
        return
    console = out()
    for one in seen:
        for text in _lines(one, cast):
            console.print(text, soft_wrap=True)
    who = engine.played(cast)
    named = "trued.toml names" if settings.agents else "nobody is named; a run would take"
    hint(
        f"{named} {who}"
        if who
        else "nobody could play yet; `trued verify`, `trued gate` and `trued demo` need no agent"
    )
    hint("choose with --agent AGENT or --agent ROLE=AGENT, or in trued.toml under [agents]")


def settings_here() -> Settings:
    """As a run in this folder would have them; a repository that is not trusted has no say."""
    top = top_of(Path.cwd())
    if top and (what := found(top)).files and not is_trusted(home(), top, what.digest):
        if config.FILE in what.files:
            hint(f"{config.FILE} of this repository is left out, since you have not trusted it: `trued trust`")
        top = None
    return config.load_settings({}, os.environ, top, config.user_config(os.environ))


def _lines(one: Seen, cast: Mapping[str, str]) -> Iterator[Text]:
    mark, style = ("✓", "green") if one.ready else ("·", "yellow" if not one.missing else "dim")
    named = f"{one.name}{one.agent.argument}"
    yield Text.assemble((f"{mark} ", style), (f"{named:<{WIDTH}} ", "bold"), line(_head(one)))
    if not one.ready:
        yield Text(f"  {'':<{WIDTH}} → {line(one.to_do)}", "yellow" if not one.missing else "dim")
        return
    facts = {
        "plays": ", ".join(engine.roles_of(one.name, cast)),
        "models": ", ".join(f"{size}: {one.agent.models[size]}" for size in SIZES if size in one.agent.models),
        "note": "; ".join(one.agent.capabilities.lacks) if one.agent.program else "",
    }
    for name, text in facts.items():
        if text:
            yield Text.assemble(f"  {'':<{WIDTH}} ", (f"{name:<7}", "dim"), line(text))


def _head(one: Seen) -> str:
    title = f"{one.agent.title}{f' {_number(one.version)}' if one.version else ''}"
    if one.missing:
        return f"{title} {one.missing}"
    return f"{title}: {one.login.says}" if one.agent.login.how else title


def _number(version: str) -> str:
    """`2.1.197 (Claude Code)`, `codex-cli 0.166.0`: the part that is a version."""
    return next((word for word in version.split() if word[:1].isdigit()), version)


def _as_json(one: Seen, settings: Settings, cast: Mapping[str, str]) -> dict[str, Any]:
    return {
        "agent": one.name,
        "title": one.agent.title,
        "argument": one.agent.argument,
        "ready": one.ready,
        "found": one.path or None,
        "version": _number(one.version),
        "says": line(_head(one)),
        "to_do": one.to_do,
        "login": {
            "policy": settings.login_of(one.name),
            "how": one.login.how,
            "says": one.login.says,
            "ready": one.login.ready,
            "variables": list(one.login.variables),
            "files": list(one.login.files),
        },
        "models": dict(one.agent.models),
        "vendor": one.vendor,
        "can": asdict(one.agent.capabilities),
        "lacks": list(one.agent.capabilities.lacks),
        "roles": list(engine.roles_of(one.name, cast)),
    }
