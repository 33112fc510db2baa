"""`trued init`: writes a commented trued.toml that gives the installed agents suitable roles."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
from rich.text import Text

from trued.cli.context import repository_here
from trued.cli.format import line
from trued.cli.options import RepositoryOption
from trued.cli.project_kind import kind_here
from trued.cli.terminal import hint, home, out, whoami
from trued.engine import agent_selection as agents
from trued.engine.agent_selection import AgentStatus
from trued.engine.trust import record_own_file
from trued.errors import BadInput
from trued.inputs.settings.folders import FILE, user_config
from trued.inputs.settings.loader import load_settings
from trued.inputs.settings.template import starter_settings
from trued.support.processes import agent_around

app = typer.Typer(rich_markup_mode=None)

WHY = {
    "*": "builds, and plays every role not listed below",
    "purple-team-b": "checks the work; another vendor has other blind spots",
    "examiner": "writes the held-out cases; not from the builder's vendor",
}


@app.command()
def init(
    repo: RepositoryOption = Path(),
) -> None:
    """Write a commented trued.toml with the agents installed here. An existing file is not changed."""
    top = repository_here(repo, then="run `git init`, or pass --repo DIR")
    settings = load_settings({}, os.environ, None, user_config(os.environ))
    statuses = agents.installed_agents(settings, os.environ)
    able = agents.ready_agents(statuses, settings, os.environ)
    cast = agents.propose_agents(able)
    path, content = top / FILE, starter_settings(section(cast)).encode()
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise BadInput(f"{path} already exists", then="edit it; it was not changed") from None
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}", then="make the folder writable") from error
    out().print(Text(str(path)), soft_wrap=True)
    _print_detected_agents(statuses, able, cast)
    hint(f"detected: {line(kind_here(top, settings).summary)}; correct it under [commands]")
    if agent_around():  # an agent runs this command: it may write the file, but only a person may trust the file
        hint("run `trued trust` before the next run")
        return
    record_own_file(home(), top, FILE, content, whoami())
    hint("the file is trusted as it was written; after a change `trued trust` asks again")


def section(cast: Mapping[str, str]) -> str:
    """The [agents] table of trued.toml with these agents, as text; "" without agents."""
    if not cast:
        return ""
    lines = ["[agents]                     # found when this file was written; see `trued agents`"]
    for role, agent in cast.items():
        name = "default" if role == "*" else role
        written = f'{name} = "{agent}"'
        lines.append(f"{written:<29}# {WHY.get(role, '')}".rstrip())
    return "\n".join(lines)


def _print_detected_agents(
    statuses: Sequence[AgentStatus], able: Sequence[AgentStatus], cast: Mapping[str, str]
) -> None:
    for status in able:
        hint(f"found {status.agent.title}: {status.login.says}")
    for status in statuses:
        if status.name in agents.PREFERRED and not status.missing and not status.login.ready:
            hint(f"found {status.agent.title}, which {status.login.says}: {status.to_do}")
    if cast:
        hint(f"selected {agents.describe_agents(cast)}; all other lines are defaults, commented out")
    else:
        hint(f"no agent was found; {agents.shortest_setup(statuses)}")
