"""Reads role files in our own format: a few fields, all of them used."""

from collections.abc import Mapping
from typing import Any

from trued.agents.roles.front_matter import read_strict
from trued.agents.roles.tools import TOOLS
from trued.errors import BadInput
from trued.model import Role
from trued.support.located import Located, nearest

KEYS = ("name", "description", "tools", "model")


def parse_role(text: str, file: str, stem: str) -> Role:
    """Parse one role file; `stem` is the role's name unless the file has a field `name`. Raises BadInput if the file
    cannot be used."""
    matter = read_strict(text, file)
    located, fields = matter.fields, matter.fields.value
    for key in fields:
        if key not in KEYS:
            raise BadInput(f"unknown field {key}", located.where(key), nearest(str(key), KEYS))
    name = _text_value(fields, "name", located) or stem
    if not all(char.isalnum() or char in "-_" for char in name) or len(name) > 60:
        raise BadInput(f"{name!r} is not a valid role name", located.where("name"), "use letters, digits, '-' and '_'")
    if not matter.body.strip():
        what, where = f"role {name} has no prompt", f"{file}:{matter.line}"
        raise BadInput(what, where, "add its prompt below the second ---")
    tools = _tools(fields.get("tools"), name, located)
    return Role(
        name=name,
        description=_text_value(fields, "description", located),
        tools=tools,
        model=_text_value(fields, "model", located),
        prompt=matter.body.strip(),
        writes="edit" in tools,
    )


def _text_value(fields: Mapping[str, Any], key: str, located: Located) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{key} is not text", located.where(key), "put it in quotation marks")
    return value.strip()


def _tools(value: Any, name: str, located: Located) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list) or not value:
        raise BadInput(f"role {name} has no tools", located.where("tools"), f"choose from {', '.join(TOOLS)}")
    for number, tool in enumerate(value):
        if tool not in TOOLS:
            where = located.where("tools", number)
            raise BadInput(f"unknown tool {tool}", where, f"known are {', '.join(TOOLS)}")
    return tuple(dict.fromkeys(value))
