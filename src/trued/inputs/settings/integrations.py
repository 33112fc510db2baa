"""`[forge]` and `[tickets]` as people write them: what a project may say, and what is its user's own."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from trued.errors import BadInput
from trued.integrations.github import named
from trued.integrations.http import checked
from trued.model import ForgeSettings, TicketSettings
from trued.support.located import Located, nearest

TABLES: dict[str, type[ForgeSettings] | type[TicketSettings]] = {"forge": ForgeSettings, "tickets": TicketSettings}
# With these a repository could have its user's token sent elsewhere, or have work pushed there.
USERS_OWN = {"forge": ("url", "token_env", "remote"), "tickets": ("url", "token_env", "user_env")}


def reach_in(value: Any, located: Located, at: tuple[str, ...]) -> dict[str, Any]:
    """The keys that are given, checked."""
    name = at[-1]
    if not isinstance(value, dict):
        raise BadInput(f"{name} is no table", located.where(*at), f"write [{name}] and keys below it")
    known = tuple(TABLES[name].model_fields)
    for key in value:
        where = located.where(*at, key)
        if key not in known:
            raise BadInput(f"unknown setting {name}.{key}", where, nearest(key, known))
        _valid(name, key, value[key], where)
    return value


def theirs(value: Mapping[str, Any], located: Located, at: tuple[str, ...]) -> None:
    """Refuse what a repository may not say."""
    for key in value:
        if key in USERS_OWN[at[-1]]:
            what = f"{at[-1]}.{key} in a project's settings"
            raise BadInput(what, located.where(*at, key), "it decides who gets your token: write it in your own")


def reached(
    name: str, user: Mapping[str, Any], project: Mapping[str, Any], *above: Mapping[str, Any]
) -> dict[str, Any]:
    """All layers in one; who keeps pull requests on their own machine is not overruled by a repository."""
    found: dict[str, Any] = {}
    for layer in (user, project, *above):
        given = layer.get(name, {})
        found |= dict(given) if isinstance(given, Mapping) else given.model_dump(exclude_unset=True)
        if layer is project and name == "forge" and user.get(name, {}).get("kind") == "local":
            found["kind"] = "local"
    return found


def _valid(name: str, key: str, value: Any, where: str) -> None:
    try:
        TABLES[name].model_validate({key: value}, strict=key != "acceptance")
    except ValidationError as error:
        said = error.errors()[0]["msg"].replace("Input should", "it should")
        raise BadInput(f"{name}.{key}: {said}", where, "mend the value") from error
    if key == "url" and value:
        try:
            checked(value, name)
        except BadInput as error:
            raise BadInput(error.what, where, error.then) from None
    if key == "repository" and value:
        named(value, where)
    if key in ("token_env", "user_env") and not value.replace("_", "a").isalnum():
        raise BadInput(f"{name}.{key} is no name of a variable", where, "the token itself belongs in no file")
