"""`trued init`: a commented trued.toml, with the agents that are installed in the roles that suit them."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trued.cli.context import top_of
from trued.cli.format import line
from trued.cli.project_kind import kind_here
from trued.cli.terminal import hint, out
from trued.engine import agent_selection as agents
from trued.engine.agent_selection import Seen
from trued.errors import BadInput
from trued.inputs.settings import loader as config
from trued.inputs.settings.template import AGENTS, starter

app = typer.Typer(rich_markup_mode=None)

WHY = {
    "*": "builds, and plays every role that is not named below",
    "purple-team-b": "checks what was built: of another vendor, it has other blind spots",
    "examiner": "writes the held-out cases: of another vendor than whoever builds",
}


@app.command()
def init(
    repo: Annotated[Path, typer.Option(metavar="DIR", help="The repository.", show_default="this folder")] = Path(),
) -> None:
    """Write a commented trued.toml, with the agents that are installed here. One that is there is left as it is."""
    top = top_of(repo)
    if top is None:
        raise BadInput(f"{repo.resolve()} is not in a git repository", then="`git init`, or name one with --repo")
    settings = config.load_settings({}, os.environ, None, config.user_config(os.environ))
    seen = agents.look(settings, os.environ)
    able = agents.ready(seen, settings, os.environ)
    cast = agents.proposed(able)
    path = top / config.FILE
    try:
        with path.open("x") as file:
            file.write(starter(section(cast)))
    except FileExistsError:
        raise BadInput(f"{path} is there already", then="edit it; it was left as it is") from None
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}", then="make the folder writable") from error
    out().print(Text(str(path)), soft_wrap=True)
    _say(seen, able, cast)
    hint(f"the project: {line(kind_here(top, settings).said)}; what is wrong of it [commands] corrects")
    hint("`trued trust` it before the next run")


def section(cast: Mapping[str, str]) -> str:
    """The settings of agents: live lines for what was found, the rest as comments. Empty where nothing was."""
    if not cast:
        return ""
    lines = ["[agents]                     # found when this file was written; `trued agents` tells more"]
    for role, agent in cast.items():
        name = "default" if role == "*" else role
        written = f'{name} = "{agent}"'
        lines.append(f"{written:<29}# {WHY.get(role, '')}".rstrip())
    return "\n".join([*lines, "", AGENTS.partition("\n\n")[2]])


def _say(seen: Sequence[Seen], able: Sequence[Seen], cast: Mapping[str, str]) -> None:
    for one in able:
        hint(f"found {one.agent.title}: {one.login.says}")
    for one in seen:
        if one.name in agents.PREFERRED and not one.missing and not one.login.ready:
            hint(f"found {one.agent.title}, which {one.login.says}: {one.to_do}")
    if cast:
        hint(f"it proposes {agents.played(cast)}; every other line is a default, commented out")
    else:
        hint(f"no agent was found; {agents.shortest(seen)}")
