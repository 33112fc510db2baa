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
    statuses = agent_selection.installed_agents(settings, os.environ, versions=True)
    cast = agent_selection.default_agents(statuses, settings, os.environ)
    if as_json:
        print_json([_as_json(status, settings, cast) for status in statuses])
        return
    console = out()
    for status in statuses:
        for text in _agent_lines(status, cast):
            console.print(text, soft_wrap=True)
    who = agent_selection.describe_agents(cast)
    named = "trued.toml selects" if settings.agents else "none selected; a run would use"
    hint(f"{named} {who}" if who else "no agent is ready; `trued verify`, `trued gate` and `trued demo` need no agent")
    hint("select with --agent AGENT or --agent ROLE=AGENT, or in trued.toml under [agents]")


def settings_here() -> Settings:
    """The settings that a run in this folder would have. If the repository is not trusted, its settings are left out,
    with a hint."""
    top = top_of(Path.cwd())
    if top and (what := files_to_trust(top)).files and not is_trusted(home(), top, what.digest):
        if FILE in what.files:
            hint(f"ignoring this repository's {FILE}, which you have not trusted; review it with `trued trust`")
        top = None
    return load_settings({}, os.environ, top, user_config(os.environ))


def _agent_lines(status: AgentStatus, cast: Mapping[str, str]) -> Iterator[Text]:
    mark, style = ("✓", "green") if status.ready else ("·", "yellow" if not status.missing else "dim")
    named = f"{status.name}{status.agent.argument}"
    yield Text.assemble((f"{mark} ", style), (f"{named:<{WIDTH}} ", "bold"), line(_head(status)))
    if not status.ready:
        yield Text(f"  {'':<{WIDTH}} → {line(status.to_do)}", "yellow" if not status.missing else "dim")
        return
    facts = {
        "plays": _roles(status.name, cast),
        "models": ", ".join(f"{size}: {status.agent.models[size]}" for size in SIZES if size in status.agent.models),
        "note": "; ".join(status.agent.capabilities.limitations) if status.agent.program else "",
    }
    for name, text in facts.items():
        if text:
            yield Text.assemble(f"  {'':<{WIDTH}} ", (f"{name:<7}", "dim"), line(text))


def _roles(name: str, cast: Mapping[str, str]) -> str:
    """The roles that a run would give to the agent, as text. A long list becomes "every role but …", or only says how
    many roles there are."""
    roles = agent_selection.roles_of_agent(name, cast)
    others = [role for role in agent_selection.every_role(cast) if role not in roles]
    if len(roles) <= FEW:
        return ", ".join(roles)
    if len(others) <= FEW:
        return f"every role but {', '.join(others)}" if others else "every role"
    return f"{len(roles)} roles; `trued agents --json` lists them"


def _head(status: AgentStatus) -> str:
    title = f"{status.agent.title}{f' {_version_number(status.version)}' if status.version else ''}"
    if status.missing:
        return f"{title} {status.missing}"
    return f"{title}: {status.login.says}" if status.agent.login.how else title


def _version_number(version: str) -> str:
    """The version number in `2.1.197 (Claude Code)` or `codex-cli 0.166.0`."""
    return next((word for word in version.split() if word[:1].isdigit()), version)


def _as_json(status: AgentStatus, settings: Settings, cast: Mapping[str, str]) -> dict[str, Any]:
    return {
        "agent": status.name,
        "title": status.agent.title,
        "argument": status.agent.argument,
        "ready": status.ready,
        "found": status.path or None,
        "version": _version_number(status.version),
        "says": line(_head(status)),
        "to_do": status.to_do,
        "login": {
            "policy": settings.login_of(status.name),
            "how": status.login.how,
            "says": status.login.says,
            "ready": status.login.ready,
            "variables": list(status.login.variables),
            "files": list(status.login.files),
        },
        "models": dict(status.agent.models),
        "vendor": status.vendor,
        "can": asdict(status.agent.capabilities),
        "lacks": list(status.agent.capabilities.limitations),
        "roles": list(agent_selection.roles_of_agent(status.name, cast)),
    }
