"""The section about exported roles and commands in CLAUDE.md or AGENTS.md; the rest of the file is never touched."""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from trued.agents.roles.export import Export, read_existing
from trued.agents.roles.other_tools import RoleFormat
from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex

FILES = {"claude": "CLAUDE.md", "github": "AGENTS.md", "opencode": "AGENTS.md"}
COMMANDS = {  # tool → pattern for the path of a command's file; its group is the command's name
    "claude": lazy_regex(r"/\.claude/commands/([^/]+)\.md$"),
    "github": lazy_regex(r"/\.github/prompts/([^/]+)\.prompt\.md$"),
    "opencode": lazy_regex(r"/\.opencode/command/([^/]+)\.md$"),
}
DESCRIPTION = lazy_regex(r'^description: "?(.*?)"?$', re.M)
BEGIN, END = "<!-- trued roles: begin", "<!-- trued roles: end -->"
SECTION = lazy_regex(
    rf"^{re.escape(BEGIN)}; unchanged while this fits: ([0-9a-f]{{16}}) -->\n(.*?)^{re.escape(END)}$", re.M | re.S
)


def plan_section(exports: Iterable[Export], form: RoleFormat, top: Path) -> Export:
    """Plan the tool's instructions file, with a section about these exports. An older section is replaced; otherwise
    the section is added at the end.

    Raises BadInput if the file cannot be read, is a link that leads out of `top`, or has the beginning of a section
    without its end.
    """
    path = top / FILES[form.name]
    if not path.resolve().is_relative_to(top.resolve()):
        raise BadInput(f"{path} is a link that leads out of {top}", then="remove that link")
    existing = read_existing(path)
    section = _section(list(exports), COMMANDS[form.name])
    match = SECTION.search(existing)
    if match is None and BEGIN in existing:
        line = existing[: existing.index(BEGIN)].count("\n") + 1
        raise BadInput("this section has no end, or its first line was changed", f"{path}:{line}", "remove the section")
    if match is None:
        gap = "" if not existing else "\n" if existing.endswith("\n") else "\n\n"
        return Export("instructions", path, f"{existing}{gap}{section}\n", "new")
    text = f"{existing[: match.start()]}{section}{existing[match.end() :]}"
    ours = match[1] == _digest(match[2])
    return Export("instructions", path, text, "same" if text == existing else "new" if ours else "differs")


def _section(exports: list[Export], command: re.Pattern[str]) -> str:
    commands = [(match[1], export) for export in exports if (match := command.search(export.path.as_posix()))]
    known = {id(export) for _, export in commands}
    agents = [export for export in exports if id(export) not in known and "/agent" in export.path.as_posix()]
    body = _template().render(
        commands=[(name, _description_line(export)) for name, export in commands],
        agents=[(export.role, _description_line(export)) for export in agents],
    )
    return f"{BEGIN}; unchanged while this fits: {_digest(body)} -->\n{body}{END}"


def _description_line(export: Export) -> str:
    match = DESCRIPTION.search(export.text)
    return match[1].replace("|", "/") if match else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent / "outside")
    environment = Environment(loader=folder, undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)  # noqa: S701 (Markdown)
    return environment.get_template("section.md.j2")
