"""The commands `roles` and `lint`: list roles, export them to other tools, find mistakes in role files."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from trued.agents.roles import RoleSet, find_roles
from trued.agents.roles.export import Export, is_unchanged, plan_exports, write_exports
from trued.agents.roles.instructions_section import plan_section
from trued.agents.roles.other_tools import FORMS, RoleFormat
from trued.agents.roles.places import packaged_files
from trued.agents.roles.tools import size_of
from trued.cli.context import AsJson, repository_here, top_of
from trued.cli.format import line
from trued.cli.terminal import hint, home, out, outside_agents, print_json
from trued.engine.trust import files_to_trust, trusted_files
from trued.errors import BadInput
from trued.inputs.settings.folders import user_config, user_home
from trued.model import Role
from trued.support.plain_text import plain
from trued.support.plurals import counted, few
from trued.workflows.descriptor import WorkflowDescriptor
from trued.workflows.pipeline.lint.select import Kind, LintResult, lint_sets, named_sets, packaged_sets, repository_sets
from trued.workflows.registry import descriptor, descriptors, problems

SHOW = "show"
SHOWN = 8  # at most this many ignored files are listed; the others are counted


class RoleGroup(TyperGroup):
    """Makes `trued roles NAME` show that role, unless NAME is a command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else [SHOW, *args])


app = typer.Typer(rich_markup_mode=None)
group = typer.Typer(rich_markup_mode=None, no_args_is_help=False, cls=RoleGroup)
app.add_typer(
    group, name="roles", help="List the roles and where each comes from", subcommand_metavar="[NAME | export]"
)


@group.callback(invoke_without_command=True)
def roles(context: typer.Context, as_json: AsJson = False) -> None:
    """List the roles and where each comes from. The project's roles replace yours, and yours replace the packaged ones.

    `trued roles NAME` prints one in full. Agent files of Claude Code, GitHub Copilot and OpenCode are also roles.
    """
    context.obj = as_json
    if context.invoked_subcommand:
        return
    known = _find_roles_here()
    rows = [known.roles[name] for name in sorted(known.roles)]
    if as_json:
        print_json([_as_json(role) for role in rows])
        return
    width = max(len(line(role.name)) for role in rows)
    for role in rows:
        details = (f"{line(role.description)}  ", (f"{_origin(role)}, {', '.join(role.tools)}", "dim"))
        out().print(Text.assemble((f"{line(role.name):<{width}} ", "bold"), *details), soft_wrap=True)


@group.command(SHOW, hidden=True)
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The role to print.")],
    as_json: AsJson = False,
) -> None:
    """Print one role: its origin, tools, model, unused fields and prompt."""
    role = _find_roles_here().role(name)
    if as_json or context.obj:
        print_json(_as_json(role))
        return
    head = [_origin(role), f"tools: {', '.join(role.tools)}"]
    head += [f"model: {role.model}{_size(role)}"] if role.model else []
    text = "\n".join([f"# {'; '.join(head)}", *(f"# {note}" for note in role.notes), "", role.prompt])
    out().print(Text(plain(text)), soft_wrap=True)


@group.command()
def export(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ROLE]...", help="The roles or commands to export. Default: all of trued's own."),
    ] = None,
    to: Annotated[str, typer.Option(metavar="|".join(FORMS), help="The tool to write for.", show_default=False)] = "",
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Write below this folder.", show_default="the repository"),
    ] = None,
    workflow: Annotated[
        list[str] | None,
        typer.Option(
            "-w", "--workflow", metavar="NAME", help="Only this workflow's roles and commands.", show_default="all"
        ),
    ] = None,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions", help="Also describe them in a section of CLAUDE.md (Claude Code) or AGENTS.md (others)."
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that trued did not write, or that were changed since.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write roles as agent files of Claude Code, GitHub Copilot or OpenCode, which work without trued.

    The export includes commands that follow a workflow by hand: `purple`, `ticket`, `handoff`, and the pipeline's
    `orchestrator`. Pass such a name to export it alone.

    Files that trued did not write, or that were changed since, are kept unless you pass --force.
    """
    outside_agents("roles export")
    if to not in FORMS:
        what = f"cannot export to {to!r}" if to else "no tool is given"
        raise BadInput(what, "--to", f"choose {', '.join(FORMS)}")
    top = folder or repository_here(Path.cwd(), then="change into one, or pass --dir DIR")
    exports = _plan(FORMS[to], top, names or [], [descriptor(name) for name in workflow or ()])
    exports += [plan_section(exports, FORMS[to], top)] if instructions else []
    write_exports(exports, force=force)
    _write_and_list(exports, as_json=as_json)


def _plan(form: RoleFormat, top: Path, names: list[str], chosen: list[WorkflowDescriptor]) -> list[Export]:
    """The files of the named roles and commands, and those of the chosen workflows. Without names and workflows: all
    files."""
    known = _find_roles_here()
    ours = [role for _, role in sorted(known.roles.items()) if role.form == "trued"]
    if not names and not chosen:
        return [
            *plan_exports(ours, form, top),
            *(file for workflow in descriptors() for file in workflow.handbook_files(form, top)),
        ]
    commands = [file for workflow in descriptors() for file in workflow.handbook_files(form, top)] if names else []
    leads = [file for file in commands if file.role in names]
    leads += [file for workflow in chosen for file in workflow.handbook_files(form, top) if file not in leads]
    wanted = [*names, *(role for workflow in chosen for role in workflow.roles)]
    roles = [known.role(name) for name in dict.fromkeys(wanted) if name not in {file.role for file in commands}]
    return [*plan_exports(roles, form, top), *leads]


@app.command()
def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE | DIR]...", help="What to check. Default: all role files of this repository."),
    ] = None,
    kind: Annotated[
        Kind,
        typer.Option(
            "--as",
            help="Rules to apply: files (front matter only), roles (also the sections of trued's roles), pipeline "
            "(also the rules of a pipeline); auto chooses by the files.",
        ),
    ] = Kind.AUTO,
    ours: Annotated[bool, typer.Option("--packaged", help="Check the roles that come with trued.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find mistakes in role files of trued and of other tools: in fields, sections and pipelines. Runs nothing.

    A folder counts as a pipeline if it has three agents of the pipeline's clusters, or an orchestrator that names
    three.
    """
    top = None if paths or ours else repository_here(Path.cwd(), then="change into one, or pass files")
    sets = repository_sets(top) if top else named_sets(paths or ())
    result = lint_sets([*sets, *(packaged_sets() if ours else ())], kind)
    if as_json:
        print_json([{"where": finding.where, **asdict(finding)} for finding in result.found])
    for finding in () if as_json else result.found:
        style = "bold red" if finding.wrong else "dim"
        out().print(
            Text.assemble(f"{line(finding.where)}: ", (f"{finding.rule} ", "bold"), (line(finding.says), style)),
            soft_wrap=True,
        )
    wrong = sum(finding.wrong for finding in result.found)
    notes = len(result.found) - wrong
    hint(f"{_lint_summary(result)}: {wrong} wrong, {counted(notes, 'note')}")
    raise typer.Exit(BadInput.code if wrong else 0)


def _lint_summary(look: LintResult) -> str:
    files = counted(look.files, "file")
    judged = f", {look.pipelines} pipeline{'' if look.pipelines == 1 else 's'}" if look.pipelines else ""
    return f"{files}{judged}{f', {look.unjudged} checked for their fields only' if look.unjudged else ''}"


def _find_roles_here() -> RoleSet:
    """The roles that a run would find here. Role files that the user has not trusted are left out, with a hint."""
    top, user, home_folder = top_of(Path.cwd()), user_config(os.environ), user_home(os.environ)
    if top is None:
        return _report_ignored(find_roles(None, user, home_folder, workflow=_role_files()))
    what = files_to_trust(top)
    agreed = trusted_files(home(), top, what)
    files = [name for name in what.files if name.endswith(".md") and name not in agreed]
    if untrusted := [name for name in files if not is_unchanged((top / name).read_bytes().decode("utf-8", "replace"))]:
        names = few(untrusted, SHOWN)
        hint(f"ignored, because you have not trusted this repository: {names}; look at them with `trued trust`")
    return _report_ignored(
        find_roles(
            top,
            user,
            home_folder,
            workflow=_role_files(),
            allowed=lambda path: path.relative_to(top).as_posix() in agreed,
        )
    )


def _role_files() -> list[Path]:
    """The role files of installed workflows. A workflow that is broken, or has a role whose name is taken, is reported
    and left out."""
    for error in problems():
        hint(f"left out: {error}")
    ours, files = packaged_files(), list[Path]()
    for workflow in descriptors():
        try:
            added = [path for path in workflow.role_files() if path not in {*ours, *files}]
            if added:
                find_roles(None, None, workflow=[*files, *added])
        except BadInput as error:
            hint(f"left out: roles of the workflow {workflow.name}: {error}")
        else:
            files += added
    return files


def _report_ignored(known: RoleSet) -> RoleSet:
    for error in known.troubles.values():
        hint(f"ignored: {error}")
    return known


def _as_json(role: Role) -> dict[str, Any]:
    return {**role.model_dump(mode="json"), "size": size_of(role.model)}


def _origin(role: Role) -> str:
    return role.origin if role.form == "trued" else f"{role.origin} ({FORMS[role.form].title})"


def _size(role: Role) -> str:
    size = size_of(role.model)
    return f" ({size})" if size and size != role.model else ""


def _write_and_list(exports: list[Export], *, as_json: bool) -> None:
    if as_json:
        print_json([{"role": file.role, "file": str(file.path), "written": file.state != "same"} for file in exports])
        return
    for file in exports:
        out().print(Text(f"{plain(str(file.path))}{'' if file.state != 'same' else '  (unchanged)'}"), soft_wrap=True)
