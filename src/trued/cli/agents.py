"""`trued agents`: the agents on this machine, how each would log in, and what each lacks."""

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
from trued.engine import agent_selection
from trued.engine.agent_selection import AgentStatus
from trued.engine.trust import files_to_trust, is_trusted
from trued.inputs.settings.folders import FILE, user_config
from trued.inputs.settings.loader import load_settings
from trued.model import Settings

app = typer.Typer(rich_markup_mode=None)

SIZES = ("small", "medium", "large")
WIDTH = 25
FEW = 8  # at most this many roles are named on a line


@app.command()
def agents(as_json: AsJson = False) -> None:
    """List the agents on this machine and how each would log in. Makes no network request.

    trued reads only whether a login exists, its kind and when it expires.
    """
    settings = settings_here()
    seen = agent_selection.installed_agents(settings, os.environ, versions=True)
    cast = agent_selection.default_agents(seen, settings, os.environ)
    if as_json:
        print_json([_as_json(one, settings, cast) for one in seen])
        return
    console = out()
    for one in seen:
        for text in _agent_lines(one, cast):
            console.print(text, soft_wrap=True)
    who = agent_selection.describe_agents(cast)
    named = "trued.toml selects" if settings.agents else "none selected; a run would use"
    hint(f"{named} {who}" if who else "no agent is ready; `trued verify`, `trued gate` and `trued demo` need no agent")
    hint("select with --agent AGENT or --agent ROLE=AGENT, or in trued.toml under [agents]")


def settings_here() -> Settings:
    """The settings of a run in this folder. An untrusted repository's settings are left out."""
    top = top_of(Path.cwd())
    if top and (what := files_to_trust(top)).files and not is_trusted(home(), top, what.digest):
        if FILE in what.files:
            hint(f"ignoring this repository's {FILE}, which you have not trusted; review it with `trued trust`")
        top = None
    return load_settings({}, os.environ, top, user_config(os.environ))


def _agent_lines(one: AgentStatus, cast: Mapping[str, str]) -> Iterator[Text]:
    mark, style = ("✓", "green") if one.ready else ("·", "yellow" if not one.missing else "dim")
    named = f"{one.name}{one.agent.argument}"
    yield Text.assemble((f"{mark} ", style), (f"{named:<{WIDTH}} ", "bold"), line(_head(one)))
    if not one.ready:
        yield Text(f"  {'':<{WIDTH}} → {line(one.to_do)}", "yellow" if not one.missing else "dim")
        return
    facts = {
        "plays": _roles(one.name, cast),
        "models": ", ".join(f"{size}: {one.agent.models[size]}" for size in SIZES if size in one.agent.models),
        "note": "; ".join(one.agent.capabilities.limitations) if one.agent.program else "",
    }
    for name, text in facts.items():
        if text:
            yield Text.assemble(f"  {'':<{WIDTH}} ", (f"{name:<7}", "dim"), line(text))


def _roles(name: str, cast: Mapping[str, str]) -> str:
    """The roles that a run would give to the agent, as text. A long list becomes "every role but …", or a number."""
    own = agent_selection.roles_of_agent(name, cast)
    others = [role for role in agent_selection.every_role(cast) if role not in own]
    if len(own) <= FEW:
        return ", ".join(own)
    if len(others) <= FEW:
        return f"every role but {', '.join(others)}" if others else "every role"
    return f"{len(own)} roles; `trued agents --json` lists them"


def _head(one: AgentStatus) -> str:
    title = f"{one.agent.title}{f' {_version_number(one.version)}' if one.version else ''}"
    if one.missing:
        return f"{title} {one.missing}"
    return f"{title}: {one.login.says}" if one.agent.login.how else title


def _version_number(version: str) -> str:
    """The version number in `2.1.197 (Claude Code)` or `codex-cli 0.166.0`."""
    return next((word for word in version.split() if word[:1].isdigit()), version)


def _as_json(one: AgentStatus, settings: Settings, cast: Mapping[str, str]) -> dict[str, Any]:
    return {
        "agent": one.name,
        "title": one.agent.title,
        "argument": one.agent.argument,
        "ready": one.ready,
        "found": one.path or None,
        "version": _version_number(one.version),
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
        "lacks": list(one.agent.capabilities.limitations),
        "roles": list(agent_selection.roles_of_agent(one.name, cast)),
    }
