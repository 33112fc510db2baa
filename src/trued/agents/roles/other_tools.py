"""Reads role files of other tools. Fields that have a meaning in trued are used. Each other field becomes a note."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trued.agents.roles.front_matter import FrontMatter, read_lenient
from trued.agents.roles.tools import (
    ALL,
    TOOLS,
    UNNAMED,
    in_order,
    is_denied,
    is_denied_beyond,
    neutral_tool,
    why_left_out,
)
from trued.agents.roles.without_engine import without_instructions
from trued.errors import BadInput
from trued.model import Role
from trued.support.located import Located, nearest

MEANT = (
    *("name", "description", "tools", "disallowedTools", "permission", "permissionMode", "model"),
    *("disable", "disabled"),
)
ALLOWED = ("allow", "ask", True)


@dataclass(frozen=True, slots=True)
class RoleFormat:
    """The format of role files of one tool."""

    name: str
    title: str
    folder: str  # inside a project
    ending: str
    fields: tuple[str, ...]  # fields that the tool documents, and that have no meaning here
    names_itself: bool = True  # the field `name` is the role's name; if False, the file's name is
    bare: bool = True  # a file without front matter is also a role


CLAUDE = RoleFormat(
    "claude",
    "Claude Code",
    ".claude/agents",
    ".md",
    (
        *("hooks", "mcpServers", "skills", "memory", "maxTurns", "background", "isolation", "effort", "initialPrompt"),
        *("color", "permissions", "version", "metadata"),
    ),
    bare=False,
)
GITHUB = RoleFormat(
    "github",
    "GitHub Copilot",
    ".github/agents",
    ".agent.md",
    (
        *("target", "infer", "disable-model-invocation", "user-invocable", "user-invokable", "mcp-servers", "metadata"),
        *("handoffs", "argument-hint", "agents", "hooks", "mode", "title", "version"),
    ),
    names_itself=False,
)
OPENCODE = RoleFormat(
    "opencode",
    "OpenCode",
    ".opencode/agent",
    ".md",
    (
        *("mode", "temperature", "top_p", "variant", "steps", "maxSteps", "options", "color", "hidden", "prompt"),
        *("reasoningEffort", "textVerbosity", "thinking", "mcp"),
    ),
)
FORMS = {form.name: form for form in (CLAUDE, GITHUB, OPENCODE)}
KNOWN = frozenset((*MEANT, *(name for form in FORMS.values() for name in form.fields)))


@dataclass
class RoleReading:
    """The role in a file, and notes about the file. A note is a line number and a sentence."""

    role: Role | None = None
    notes: list[tuple[int, str]] = field(default_factory=list)


def read_other(text: str, file: str, stem: str, form: RoleFormat) -> RoleReading:
    """Read one file. The result contains no role if the file switches its role off, or if the other tool does not treat
    the file as an agent. Raises BadInput if the file cannot be used. `stem`: the role's name if the file contains
    none."""
    matter = read_lenient(text, file, KNOWN)
    if matter is None:
        if not form.bare:
            return RoleReading(notes=[(1, f"no front matter: {form.title} does not treat it as an agent, either")])
        matter = FrontMatter(Located(file, {}), text.removeprefix("\ufeff"), 1)
    reading = RoleReading()
    _note_unused_fields(matter, form, reading)
    for key in ("disable", "disabled"):
        if matter.fields.value.get(key) is True:
            reading.notes.append((matter.fields.line(key), "the role is switched off"))
            return reading
    name = _checked_name(matter, stem, form, reading)
    prompt = without_instructions(matter.body, name)
    if not prompt:
        what, where = f"role {name} has no prompt", f"{file}:{matter.line}"
        raise BadInput(what, where, "add its prompt below the front matter")
    tools = _Tools(matter, reading).names()
    reading.role = Role(
        name=name,
        description=_text_field(matter, "description"),
        tools=tools,
        model=_model(matter, reading),
        prompt=prompt,
        writes="edit" in tools,
        form=form.name,
        notes=tuple(note for _, note in reading.notes),
    )
    return reading


def role_name(text: str) -> str:
    """The text, changed to a name that commands and step keys can contain; "" if nothing is left of it."""
    return re.sub(r"[^\w-]+", "-", text).strip("-")[:60]


def _checked_name(matter: FrontMatter, stem: str, form: RoleFormat, reading: RoleReading) -> str:
    written = _text_field(matter, "name") if form.names_itself else ""
    name = role_name(written or stem)
    if not name:
        where = matter.fields.where("name")
        raise BadInput(f"{written or stem!r} is not a valid role name", where, "use letters, digits, '-' and '_'")
    if name != (written or stem):
        reading.notes.append((matter.fields.line("name"), f"{form.title} calls it {written or stem}"))
    return name


def _text_field(matter: FrontMatter, key: str) -> str:
    value = matter.fields.value.get(key)
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _model(matter: FrontMatter, reading: RoleReading) -> str:
    """The model as written in the file; the first if there are several."""
    value = matter.fields.value.get("model")
    if isinstance(value, list) and value:
        reading.notes.append((matter.fields.line("model"), f"model: {value[0]}, the first of {len(value)}"))
        return str(value[0])
    word = _text_field(matter, "model")
    return "" if word.lower() in ("inherit", "default") else word


def _note_unused_fields(matter: FrontMatter, form: RoleFormat, reading: RoleReading) -> None:
    for key, value in matter.fields.value.items():
        if key in MEANT or value is None:
            continue
        note = f"{key}: not used here"
        if key not in KNOWN:
            close = nearest(key, (*MEANT, *form.fields))
            note = f"unknown field {key}: not used here" + (f" ({close})" if close.startswith("did") else "")
        reading.notes.append((matter.fields.line(key), note))


class _Tools:
    """Reads which tools one file allows, from its list of names or its table of permissions."""

    def __init__(self, matter: FrontMatter, reading: RoleReading) -> None:
        self.fields, self.reading = matter.fields, reading
        self.value = matter.fields.value

    def names(self) -> tuple[str, ...]:
        tools_field = self.value.get("tools")
        rules = [*self._rules("tools", tools_field), *self._rules("permission", self.value.get("permission"))]
        if isinstance(tools_field, dict) or tools_field is None:
            tools = set(UNNAMED) if not rules else self._allowed(rules)
            if tools_field is None and not rules:
                self._add_note("tools", f"no tools are named: it has {', '.join(UNNAMED)}")
        else:
            denied = {name.lower() for name in _names(self.value.get("disallowedTools"))}
            remaining = [name for name in _names(tools_field) if name.lower() not in denied]
            tools = self._tools_from("tools", remaining) & (self._allowed(rules) if rules else set(TOOLS))
        tools -= self._denied()
        if not tools:
            self._add_note("tools", "no tool is left, so it gets `read`: without any tool it could not work")
        return in_order(tools or {"read"})

    def _tools_from(self, key: str, tools_field: Any) -> set[str]:
        tools: set[str] = set()
        for name in _names(tools_field):
            if name == ALL:
                tools |= {*UNNAMED, "web"}
            elif tool := neutral_tool(name):
                tools.add(tool)
                if "(" in name:
                    limit = "the limit in parentheses is not applied"
                    self._add_note(key, f"{name}: {limit}: the role gets all of `{tool}`, within the sandbox")
            else:
                self._add_note(key, why_left_out(name))
        return tools | {"read"} if tools else tools  # searching and editing imply reading

    def _denied(self) -> set[str]:
        """Tools that the role loses because its file denies them completely. A pattern such as `Bash(rm *)` denies no
        tool."""
        names = list[str]()
        for name in _names(self.value.get("disallowedTools")):
            if "(" in name:
                unlimited = "the limit in parentheses is not applied: only the sandbox limits the tool"
                self._add_note("disallowedTools", f"disallowedTools {name}: {unlimited}")
            else:
                names.append(name)
        denied = self._denied_by("disallowedTools", names)
        if self.value.get("permissionMode") == "plan":
            denied.add("edit")
            self._add_note("permissionMode", "permissionMode plan: it may not edit")
        elif self.value.get("permissionMode") is not None:
            self._add_note("permissionMode", "permissionMode: not used here")
        return denied

    def _rules(self, key: str, rules: Any) -> Iterator[tuple[str, bool]]:
        """Each tool that the field `key` names, and whether `rules` allow the tool. A tool that is allowed only in part
        counts as allowed, and a note says so."""
        if key == "permission" and isinstance(rules, str):
            rules = {ALL: rules}
        for name, rule in rules.items() if isinstance(rules, dict) else ():
            if isinstance(rule, dict):
                may = any(access in ALLOWED for access in rule.values())
                if may and len(set(map(str, rule.values()))) > 1:
                    self._add_note(key, f"{name}: limits by pattern are not applied: only the sandbox limits the tool")
            else:
                may = rule in ALLOWED
            if name != ALL and may and not neutral_tool(name):
                self._add_note(key, why_left_out(name))
            yield name, may

    def _allowed(self, rules: list[tuple[str, bool]]) -> set[str]:
        last = dict(rules)
        every = last.pop(ALL, None)
        usual = set(UNNAMED) if every is None else {*UNNAMED, "web"} if every else set[str]()
        allowed = {neutral_tool(name) for name, may in last.items() if may} - {""}
        key = "permission" if isinstance(self.value.get("permission"), dict) else "tools"
        denied = self._denied_by(key, [name for name in last if neutral_tool(name) in usual - allowed])
        return allowed | (usual - denied)

    def _denied_by(self, key: str, names: list[str]) -> set[str]:
        """The tools that a role loses because its field `key` denies the tools called `names`. In trued, a tool is
        denied completely or not at all. A note says if `names` deny only a part of a tool, or if more is denied than
        they name."""
        denied = set[str]()
        for tool in TOOLS:
            same_tool = [name for name in names if neutral_tool(name) == tool]
            if not same_tool:
                continue
            if not is_denied(tool, same_tool):
                self._add_note(
                    key,
                    f"{key} {', '.join(same_tool)} is not applied: in trued, {tool} is one tool, "
                    "and only a part of it is denied",
                )
                continue
            denied.add(tool)
            if is_denied_beyond(tool, same_tool):
                whole = f"in trued, {tool} is one tool, and all of it is left out"
                self._add_note(key, f"{key} {', '.join(same_tool)}: {whole}")
        return denied

    def _add_note(self, key: str, text: str) -> None:
        if text not in (noted for _, noted in self.reading.notes):
            self.reading.notes.append((self.fields.line(key), text))


def _names(listed: Any) -> list[str]:
    """The names in `Read, Bash(git add, git diff)`, or in a list of such texts."""
    parts = listed if isinstance(listed, list) else [listed] if isinstance(listed, str) else []
    matches = [word for part in parts for word in re.findall(r"(?:[^,(]|\([^)]*\)?)+", str(part))]
    return [stripped for word in matches if (stripped := word.strip().strip("\"'[]").strip())]
