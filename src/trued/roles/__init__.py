"""Roles: Markdown files with front matter; the project's stand over the user's, the user's over the packaged ones."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..located import Located, nearest, read_text, read_yaml
from ..types import Role

TOOLS = ("read", "edit", "search", "execute", "web", "browser")
KEYS = ("name", "description", "tools", "model")
PACKAGED = Path(__file__).parent
BEGIN = "begin the file with --- , name, description and tools, and a second ---"


def load_roles(project: Path | None, user: Path | None) -> dict[str, Role]:
    """All roles by name. `project` is the repository's folder, `user` that of the user's own settings."""
    roles = dict(_folder(PACKAGED, "packaged"))
    if user is not None:
        roles |= dict(_folder(user / "roles", "user"))
    if project is not None:
        roles |= dict(_folder(project / ".trued" / "roles", "project", inside=project))
    return roles


def _folder(folder: Path, origin: str, inside: Path | None = None) -> Iterator[tuple[str, Role]]:
    seen: dict[str, Path] = {}
    for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        if inside is not None and not path.resolve().is_relative_to(inside.resolve()):
            raise BadInput(f"{path} leads out of the repository", then="put the file itself there")
        role = parse_role(read_text(path), str(path), path.stem)
        if role.name in seen:
            raise BadInput(f"role {role.name} is in {seen[role.name].name}, too", f"{path}:1", "keep one of them")
        seen[role.name] = path
        yield role.name, role.model_copy(update={"origin": origin if origin == "packaged" else f"{origin}: {path}"})


def parse_role(text: str, file: str, stem: str) -> Role:
    """One role file; `stem` is its name unless it says another."""
    head, body, body_line = _front_matter(text, file)
    located = read_yaml(head, file, first=2)
    fields = located.value
    if not isinstance(fields, dict):
        raise BadInput("the front matter holds no fields", f"{file}:2", BEGIN)
    for key in fields:
        if key not in KEYS:
            raise BadInput(f"unknown field {key}", located.where(key), nearest(str(key), KEYS))
    name = _text(fields, "name", located) or stem
    if not all(char.isalnum() or char in "-_" for char in name) or len(name) > 60:
        raise BadInput(f"{name!r} is no role name", located.where("name"), "use letters, digits, '-' and '_'")
    if not body.strip():
        raise BadInput(f"role {name} has nothing to say", f"{file}:{body_line}", "write how it must work below the ---")
    tools = _tools(fields.get("tools"), name, located)
    return Role(
        name=name,
        description=_text(fields, "description", located),
        tools=tools,
        model=_text(fields, "model", located),
        prompt=body.strip(),
        writes="edit" in tools,
    )


def _front_matter(text: str, file: str) -> tuple[str, str, int]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise BadInput("a role file without front matter", f"{file}:1", BEGIN)
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    raise BadInput("the front matter does not end", f"{file}:1", BEGIN)


def _text(fields: Mapping[str, Any], key: str, located: Located) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{key} is no text", located.where(key), "put it in quotation marks")
    return value.strip()


def _tools(value: Any, name: str, located: Located) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list) or not value:
        raise BadInput(f"role {name} names no tools", located.where("tools"), f"choose from {', '.join(TOOLS)}")
    for number, tool in enumerate(value):
        if tool not in TOOLS:
            where = located.where("tools", number)
            raise BadInput(f"unknown tool {tool}", where, f"known are {', '.join(TOOLS)}")
    return tuple(dict.fromkeys(value))
