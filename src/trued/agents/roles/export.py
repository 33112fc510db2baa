"""Writes roles as role files for other tools, so that the tools' agents can play the roles without trued."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trued.agents.roles.other_tools import RoleFormat
from trued.agents.roles.tools import CLAUDE, GITHUB, OPENCODE, names_of_tools, size_of
from trued.agents.roles.without_engine import adapt_role, answer_instructions
from trued.errors import BadInput
from trued.model import Role
from trued.support import atomic_files
from trued.support.lazy_regex import lazy_regex

MARK = lazy_regex(r"^# exported by trued; unchanged while this fits: ([0-9a-f]{16})\n", re.M)
LONGEST = {"github": 30_000}  # tool → maximum characters of a prompt
MODELS = {"small": "haiku", "medium": "sonnet", "large": "opus"}


@dataclass(frozen=True, slots=True)
class Export:
    """A file to write. Its state is "new" (there is no file, or only an old export), "same" (nothing to do) or
    "differs" (trued did not write the existing file, or somebody changed it)."""

    role: str
    path: Path
    text: str
    state: str


def export_text(role: Role, form: RoleFormat) -> str:
    """The role as a file of that format. Its prompt ends with instructions for answering without the engine. Raises
    BadInput if the prompt is too long for the tool."""
    role = adapt_role(role)
    prompt = f"{role.prompt}\n\n{answer_instructions(role.name)}\n"
    if len(prompt) > LONGEST.get(form.name, len(prompt)):
        raise BadInput(
            f"role {role.name} has {len(prompt)} characters; {form.title} accepts at most {LONGEST[form.name]}",
            then="shorten it, or export it to another tool",
        )
    return with_mark(fields_of(role, form), prompt)


def with_mark(fields: Iterable[str], text: str) -> str:
    """The content of a file: front matter with these fields and a mark, then this text. The mark is a hash, by which
    `is_unchanged` recognises later whether the file was changed."""
    head = "".join(f"{line}\n" for line in fields)
    plain = f"---\n{head}---\n\n{text}"
    return f"---\n{head}{_mark(plain)}---\n\n{text}"


def is_unchanged(text: str) -> bool:
    """Whether the text is an unchanged export, by any version of trued."""
    text = text.replace("\r\n", "\n")  # git can check files out with CRLF
    mark = MARK.search(text)
    return mark is not None and mark[0] == _mark(MARK.sub("", text, count=1))


def plan_exports(roles: Iterable[Role], form: RoleFormat, top: Path) -> list[Export]:
    """The files to write below a folder; nothing is written yet."""
    return [
        plan_export(role.name, top / form.folder / f"{role.name}{form.ending}", export_text(role, form), top)
        for role in roles
    ]


def write_exports(exports: Iterable[Export], *, force: bool = False) -> None:
    """Write the files. Without `force`, raise BadInput and write no file if an existing file was not written by trued
    or was changed. Raises BadInput also if a file cannot be written."""
    todo = [export for export in exports if export.state != "same"]
    if differing := [str(export.path) for export in todo if export.state == "differs" and not force]:
        raise BadInput(f"{', '.join(differing)} would be overwritten", then="look at the difference, then use --force")
    for export in todo:
        try:
            export.path.parent.mkdir(parents=True, exist_ok=True)
            atomic_files.write(export.path, export.text)
        except OSError as error:
            raise BadInput(f"cannot write {export.path}: {error.strerror}", then="make the folder writable") from error


def plan_export(role: str, path: Path, text: str, top: Path) -> Export:
    """One file to write below a folder, compared with the existing file. Raises BadInput if a link leads out of the
    folder."""
    if not path.resolve().is_relative_to(top.resolve()):
        raise BadInput(f"{path} is a link that leads out of {top}", then="remove that link")
    if not path.exists():
        return Export(role, path, text, "new")
    existing = read_existing(path)
    if existing == text:
        return Export(role, path, text, "same")
    old = is_unchanged(existing)  # exported by another version: overwriting it loses no work
    return Export(role, path, text, "new" if old else "differs")


def read_existing(path: Path) -> str:
    """The content of a file, with its line ends unchanged; "" if there is no such file. Raises BadInput if it cannot be
    read."""
    try:
        return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", then="make it readable, or remove it") from error


def fields_of(role: Role, form: RoleFormat, *, starts_agents: bool = False) -> Iterator[str]:
    """The lines of the front matter for a file of that format. `starts_agents`: the role may start other agents."""
    if form.name != "opencode":
        yield f"name: {_quoted(role.name)}"
    yield f"description: {_quoted(role.description or role.name)}"
    if form.name == "claude":
        yield f"tools: {', '.join([*names_of_tools(role.tools, CLAUDE), *(['Task'] if starts_agents else [])])}"
        yield f"model: {MODELS.get(size_of(role.model), 'inherit')}"
    elif form.name == "github":
        yield f"tools: {json.dumps([*names_of_tools(role.tools, GITHUB), *(['agent'] if starts_agents else [])])}"
    else:
        yield f"mode: {'primary' if starts_agents else 'all'}"
        yield "permission:"
        yield '  "*": deny'
        yield from (f'  "{name}": allow' for name in names_of_tools(role.tools, OPENCODE) if name != "read")
        if starts_agents:
            yield '  "task": allow'
        if "read" in role.tools:  # not a plain `allow`: that would override OpenCode's own questions about .env files
            yield '  "read": {"*": allow, "*.env": ask, "*.env.*": ask, "*.env.example": allow}'


def _mark(text: str) -> str:
    return f"# exported by trued; unchanged while this fits: {hashlib.sha256(text.encode()).hexdigest()[:16]}\n"


def _quoted(text: str) -> str:
    """The text as a YAML string that every parser reads alike."""
    if re.fullmatch(r"[A-Za-z][\w-]*", text) and text.lower() not in (
        "true",
        "false",
        "null",
        "yes",
        "no",
        "on",
        "off",
    ):
        return text
    inner = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else _escaped(char) for char in inner)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
