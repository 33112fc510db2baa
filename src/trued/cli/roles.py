"""Commands about roles: list them, export them to other tools, look for mistakes in their files."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from trued.agents.roles import Shelf, shelf, size_of
from trued.agents.roles.export import Export, is_unchanged, planned, write
from trued.agents.roles.other_tools import FORMS
from trued.cli.context import AsJson, top_of
from trued.cli.format import line
from trued.cli.terminal import hint, home, out, outside_agents, print_json
from trued.engine.trust import found, trusted_files
from trued.errors import BadInput
from trued.inputs.settings import loader as config
from trued.model import Role
from trued.support.redaction import plain
from trued.workflows.pipeline.lint import Kind, Look, looked, named, packaged, repository

SHOW = "show"
SHOWN = 8  # of files that are left out: a catalogue is not listed whole


class Names(TyperGroup):
    """`trued roles NAME` is the role of that name; `trued roles export` is a command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else [SHOW, *args])


app = typer.Typer(rich_markup_mode=None)
group = typer.Typer(rich_markup_mode=None, no_args_is_help=False, cls=Names)
app.add_typer(group, name="roles", help="The roles, and where each comes from", subcommand_metavar="[NAME | export]")


@group.callback(invoke_without_command=True)
def roles(context: typer.Context, as_json: AsJson = False) -> None:
    """The roles, and where each comes from: the project's go before yours, yours before the packaged ones.

    `trued roles NAME` prints one whole. Agents of Claude Code, GitHub Copilot and OpenCode are roles, too.
    """
    context.obj = as_json
    if context.invoked_subcommand:
        return
    known = _known()
    rows = [known.roles[one] for one in sorted(known.roles)]
    if as_json:
        print_json([_as_json(one) for one in rows])
        return
    width = max(len(line(one.name)) for one in rows)
    for one in rows:
        words = (f"{line(one.description)}  ", (f"{_from(one)}, {', '.join(one.tools)}", "dim"))
        out().print(Text.assemble((f"{line(one.name):<{width}} ", "bold"), *words), soft_wrap=True)


@group.command(SHOW, hidden=True)
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Print this one whole.")],
    as_json: AsJson = False,
) -> None:
    """One role: where it comes from, what it may, what of its file is not used, and its prompt."""
    role = _known().role(name)
    if as_json or context.obj:
        print_json(_as_json(role))
        return
    head = [_from(role), f"tools: {', '.join(role.tools)}"]
    head += [f"model: {role.model}{_size(role)}"] if role.model else []
    text = "\n".join([f"# {'; '.join(head)}", *(f"# {note}" for note in role.notes), "", role.prompt])
    out().print(Text(plain(text)), soft_wrap=True)


@group.command()
def export(
    names: Annotated[list[str] | None, typer.Argument(metavar="[ROLE]...", help="These; else all of ours.")] = None,
    to: Annotated[str, typer.Option(metavar="|".join(FORMS), help="Whose files.", show_default=False)] = "",
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Write below this folder.", show_default="the repository"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that somebody changed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write roles as files of Claude Code, GitHub Copilot or OpenCode, where they work without trued.

    With them, or by the name `orchestrator`, come the files by which the pipeline can be followed by hand.

    A file that is there and that nobody exported, or that was changed since, is left alone, unless you say --force.
    """
    outside_agents("roles export")
    if to not in FORMS:
        raise BadInput(f"{to!r} is no tool to export to" if to else "where to?", "--to", f"say {', '.join(FORMS)}")
    top = folder or top_of(Path.cwd())
    if top is None:
        raise BadInput("this folder is in no git repository", then="go to one, or name a folder with --dir")
    from trued.workflows.pipeline.handbook import (  # it brings the workflow along, which no other command here needs
        ORCHESTRATOR,
        handbook,
    )

    known = _known()
    chosen = [known.role(one) for one in dict.fromkeys(names or []) if one != ORCHESTRATOR]
    ours = [] if names else [one for _, one in sorted(known.roles.items()) if one.form == "trued"]
    leads = handbook(FORMS[to], top) if not names or ORCHESTRATOR in names else []
    exports = [*planned(chosen or ours, FORMS[to], top), *leads]
    write(exports, force=force)
    _exported(exports, as_json=as_json)


@app.command()
def lint(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE | DIR]...", help="Else all role files of this repository.")
    ] = None,
    kind: Annotated[
        Kind, typer.Option("--as", help="What the files are: a pipeline, roles of our convention, or just files.")
    ] = Kind.AUTO,
    ours: Annotated[bool, typer.Option("--packaged", help="Look at the roles that come with trued.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look for mistakes in role files, ours and those of other tools: fields, sections, pipelines. Nothing is run.

    A folder with three agents of the pipeline's clusters, or with an orchestrator that names so many, is a pipeline.
    """
    top = None if paths or ours else top_of(Path.cwd())
    if not paths and not ours and top is None:
        raise BadInput("this folder is in no git repository", then="go to one, or name files")
    sets = repository(top) if top else named(paths or ())
    look = looked([*sets, *(packaged() if ours else ())], kind)
    if as_json:
        print_json([{"where": one.where, **asdict(one)} for one in look.found])
    for one in () if as_json else look.found:
        style = "bold red" if one.wrong else "dim"
        out().print(
            Text.assemble(f"{line(one.where)}: ", (f"{one.rule} ", "bold"), (line(one.says), style)), soft_wrap=True
        )
    wrong = sum(one.wrong for one in look.found)
    notes = len(look.found) - wrong
    hint(f"{_counted(look)}: {wrong} wrong, {notes} note{'' if notes == 1 else 's'}")
    raise typer.Exit(BadInput.code if wrong else 0)


def _counted(look: Look) -> str:
    files = f"{look.files} file{'' if look.files == 1 else 's'}"
    judged = f", {look.pipelines} pipeline{'' if look.pipelines == 1 else 's'}" if look.pipelines else ""
    return f"{files}{judged}{f', {look.unjudged} read for their fields alone' if look.unjudged else ''}"


def _known() -> Shelf:
    """The roles that a run would find here; what is not trusted is left out, and said."""
    top, user, own = top_of(Path.cwd()), config.user_config(os.environ), config.user_home(os.environ)
    if top is None:
        return _told(shelf(None, user, own))
    what = found(top)
    agreed = trusted_files(home(), top, what)
    files = [name for name in what.files if name.endswith(".md") and name not in agreed]
    if left := [name for name in files if not is_unchanged((top / name).read_bytes().decode("utf-8", "replace"))]:
        more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
        said = f"{', '.join(left[:SHOWN])}{more}"
        hint(f"left out, since you have not trusted this repository: {said}; look with `trued trust`")
    return _told(shelf(top, user, own, allowed=lambda path: path.relative_to(top).as_posix() in agreed))


def _told(known: Shelf) -> Shelf:
    for error in known.troubles.values():
        hint(f"left out: {error}")
    return known


def _as_json(role: Role) -> dict[str, Any]:
    return {**role.model_dump(mode="json"), "size": size_of(role.model)}


def _from(role: Role) -> str:
    return role.origin if role.form == "trued" else f"{role.origin} ({FORMS[role.form].title})"


def _size(role: Role) -> str:
    size = size_of(role.model)
    return f" ({size})" if size and size != role.model else ""


def _exported(exports: list[Export], *, as_json: bool) -> None:
    if as_json:
        print_json([{"role": one.role, "file": str(one.path), "written": one.state != "same"} for one in exports])
        return
    for one in exports:
        out().print(Text(f"{plain(str(one.path))}{'' if one.state != 'same' else '  (as it was)'}"), soft_wrap=True)
