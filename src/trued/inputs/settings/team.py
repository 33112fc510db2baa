"""`[team]` and `[commands]` as people write them: nested words and switches become settings."""

from typing import Any

from pydantic import ValidationError

from trued.errors import BadInput
from trued.model import Commands, TeamSettings
from trued.support.located import Located, nearest

ROLES = ("pm", "techlead", "dev", "qa", "uat")
NEEDED = ("pm", "dev")  # nobody else plans, and nobody else works
UAT = {"after_feature": "uat_after_feature", "after_all": "uat_after_all", "cycles": "cycles"}
TEAM = ("attempts", "heal", "uat", "roles")


def team_in(value: Any, located: Located, at: tuple[str, ...]) -> dict[str, Any]:
    """attempts, heal, uat.after_feature, uat.after_all, uat.cycles, roles.<name> = false."""
    _table(value, located, at, TEAM)
    found = {key: value[key] for key in ("attempts", "heal") if key in value}
    uat, roles = value.get("uat", {}), value.get("roles", {})
    _table(uat, located, (*at, "uat"), tuple(UAT))
    found |= {UAT[key]: one for key, one in uat.items()}
    _table(roles, located, (*at, "roles"), ROLES)
    for name, plays in roles.items():
        where = located.where(*at, "roles", name)
        if not isinstance(plays, bool):
            raise BadInput(f"team.roles.{name} should be true or false", where, "mend the value")
        if not plays and name in NEEDED:
            raise BadInput(f"a team without its {name} does nothing", where, f"leave {name} on")
    off = tuple(name for name, plays in roles.items() if not plays)
    return _valid(TeamSettings, {**found, **({"off": off} if roles else {})}, located, at)


def commands_in(value: Any, located: Located, at: tuple[str, ...]) -> dict[str, Any]:
    _table(value, located, at, tuple(Commands.model_fields))
    return _valid(Commands, value, located, at)


def _table(value: Any, located: Located, at: tuple[str, ...], known: tuple[str, ...]) -> None:
    name = ".".join(at)
    if not isinstance(value, dict):
        raise BadInput(f"{name} is no table", located.where(*at), f"write [{name}] and keys below it")
    for key in value:
        if key not in known:
            raise BadInput(f"unknown setting {name}.{key}", located.where(*at, key), nearest(key, known))


def _valid(
    kind: type[TeamSettings] | type[Commands], value: dict[str, Any], located: Located, at: tuple[str, ...]
) -> dict[str, Any]:
    try:
        kind.model_validate(value, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        key = str(problem["loc"][0])
        path = next((("uat", one) for one, name in UAT.items() if name == key), (key,))
        said = problem["msg"].replace("Input should", "it should")
        raise BadInput(f"{'.'.join((*at, *path))}: {said}", located.where(*at, *path), "mend the value") from error
    return value
