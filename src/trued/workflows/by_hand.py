"""Exports a workflow as a command for another tool. With this command and the exported roles, an agent of that tool can
follow the workflow without the engine."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from trued.agents.roles.export import Export, plan_export, with_mark
from trued.agents.roles.other_tools import RoleFormat

COMMANDS = {  # tool → path of a command's file; {} is the command's name
    "claude": ".claude/commands/{}.md",
    "github": ".github/prompts/{}.prompt.md",
    "opencode": ".opencode/command/{}.md",
}
ARGUMENT = {"claude": "$ARGUMENTS", "github": "${input:request}", "opencode": "$ARGUMENTS"}
FIELDS = {"github": ("agent: agent",)}  # more front matter that a tool needs


def plan_command(form: RoleFormat, top: Path, name: str, about: str, template: Path, **facts: object) -> list[Export]:
    """The file with the command `name` for a tool: `template`, rendered with `facts` and with `argument`, the
    tool's placeholder for what the user types after the command."""
    text = templates_in(template.parent).get_template(template.name).render(argument=ARGUMENT[form.name], **facts)
    fields = (f'description: "{about}"', *FIELDS.get(form.name, ()))
    return [plan_export(name, top / COMMANDS[form.name].format(name), with_mark(fields, text), top)]


@cache
def templates_in(folder: Path) -> Environment:
    """A Jinja environment for the templates of a folder. A template that uses an undefined name raises an error."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=select_autoescape(["html"]),
        keep_trailing_newline=True,
    )
