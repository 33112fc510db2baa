"""Settings: flag > environment > project file > user file > default. The environment is read here and nowhere else."""

import json
import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trued.errors import BadInput
from trued.inputs.settings.integrations import TABLES as REACHED
from trued.inputs.settings.integrations import reach_in, reached
from trued.inputs.settings.integrations import theirs as reach_of_theirs
from trued.inputs.settings.limits import changed, changes, limits_in, lowered, prices_in, theirs
from trued.inputs.settings.team import commands_in, team_in
from trued.model import Environment, Grade, Settings, Spending
from trued.support.located import Located, nearest, read_text, read_toml

FILE = "trued.toml"
SHARED = (
    *(
        "workflow",
        "agents",
        "roles",
        "rounds",
        "progress",
        "coverage_target",
        "cap",
        "parallel",
        "sandbox",
        "readable",
        "network",
        "idle_s",
        "wall_s",
        "variables",
        "login",
        "prompts",
        "wait",
        "limits",
    ),
    "environment",
    "serve",
    "team",
    "commands",
    *REACHED,
)
USERS_OWN = ("accept", "allow_unsandboxed", "bring", "prices")  # what a repository could otherwise grant itself
FLAGS_ONLY = ("yes", "plan_only", "draft")  # of one run, not of a project or a person
_TABLED = ("agents", "roles", "login", "environment", "serve", "limits", "team", "commands", *REACHED)
ENVIRONMENT = tuple(key for key in SHARED if key not in _TABLED)
ACCEPTABLE = (Grade.TESTED, Grade.EXAMINED, Grade.ATTESTED, Grade.PROVEN)
LOGINS = ("auto", "key", "subscription", "none")
ALL_ROLES = "*"
NETWORKS = ("none", "loopback", "host")  # the narrowest first


def home(environ: Mapping[str, str]) -> Path:
    """The folder of all private state."""
    if given := environ.get("TRUED_HOME"):
        return _expanded(given, "TRUED_HOME").absolute()
    state = environ.get("XDG_STATE_HOME") or str(_home(environ) / ".local" / "state")
    return Path(state) / "trued"


def user_config(environ: Mapping[str, str]) -> Path:
    """The folder of the user's own settings and roles."""
    config = environ.get("XDG_CONFIG_HOME") or str(_home(environ) / ".config")
    return Path(config) / "trued"


def user_home(environ: Mapping[str, str]) -> Path:
    """Where other tools keep what is the user's own."""
    return _home(environ)


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else _expanded("~", "HOME")


def _expanded(path: str, where: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise BadInput(f"nobody knows the home folder that {path!r} means", where, "write the whole path") from None


def load_settings(
    flags: Mapping[str, Any], environ: Mapping[str, str], project: Path | None, user: Path | None
) -> Settings:
    """What a run is started with. `project` is the repository's folder, `user` that of the user's own settings."""
    layers = [
        _user_file(user) if user else {},
        _project_file(project) if project else {},
        _from_environment(environ),
        _from_flags(flags),
    ]
    merged: dict[str, Any] = {}
    for layer in layers:
        agents = layer.get("agents", {})
        if ALL_ROLES not in agents:  # one agent for all roles leaves nothing of the layers below
            agents = {**merged.get("agents", {}), **agents}
        roles = {**merged.get("roles", {}), **layer.get("roles", {})}
        nested = {name: {**merged.get(name, {}), **_said(layer.get(name, {}))} for name in ("team", "commands")}
        merged = {**merged, **layer, "agents": agents, "roles": roles, **nested}
    merged["login"], merged["limits"] = _logins(*layers), _limits(*layers)
    merged["network"] = _network(*layers)
    merged |= {name: reached(name, *layers) for name in REACHED}
    if checks := merged.get("environment"):
        merged["environment"] = {**checks, "variables": _given(checks.get("variables", {}), environ)}
    return Settings.model_validate(merged)


def _said(table: Any) -> dict[str, Any]:
    """What somebody wrote of it: a flag's is checked already, and says no more than that."""
    return dict(table) if isinstance(table, Mapping) else table.model_dump(exclude_unset=True)


def _network(user: Mapping[str, Any], project: Mapping[str, Any], *above: Mapping[str, Any]) -> str:
    """The narrower of both files: a repository does not open what its user has closed."""
    files = [layer["network"] for layer in (user, project) if "network" in layer]
    named = [layer["network"] for layer in above if "network" in layer]
    return str(named[-1] if named else min(files, key=NETWORKS.index, default="host"))


def _logins(user: Mapping[str, Any], project: Mapping[str, Any], *above: Mapping[str, Any]) -> dict[str, str]:
    """A repository does not say how its user logs in where the user has said so."""
    found: dict[str, str] = {}
    for layer in (project, user, *above):
        given = layer.get("login", {})
        found = given if ALL_ROLES in given else {**found, **given}
    return found


def _limits(user: Mapping[str, Any], project: Mapping[str, Any], *above: Mapping[str, Any]) -> Spending:
    """A repository may lower what its user spends; the user's own word of today stands above both files."""
    found = lowered(user.get("limits", Spending()), project.get("limits", Spending()))
    for layer in above:
        found = changed(found, layer.get("limits", ()))
    return found


# -- files


def _user_file(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.exists():
        return {}
    return _checked(read_toml(read_text(path), str(path)), (), (*SHARED, *USERS_OWN), folder)


def _project_file(root: Path) -> dict[str, Any]:
    own, shared = root / FILE, _tool_table(root / "pyproject.toml")
    if own.exists() and shared is not None:
        where = shared.where("tool", "trued")
        raise BadInput(f"settings are in {FILE} and in [tool.trued]", where, f"keep them in {FILE}")
    if shared is not None:
        return _checked(shared, ("tool", "trued"), SHARED, root)
    return _checked(read_toml(read_text(own), FILE), (), SHARED, root) if own.exists() else {}


def _tool_table(path: Path) -> Located | None:
    """The project's pyproject.toml where it has something for us; a broken one without it is none of our business."""
    if not path.is_file():
        return None
    text = path.read_bytes().decode("utf-8", "replace")
    if "trued" not in text:
        return None
    located = read_toml(text, path.name)
    tool = located.value.get("tool")
    return located if isinstance(tool, dict) and "trued" in tool else None


def _checked(located: Located, at: tuple[str, ...], known: tuple[str, ...], folder: Path) -> dict[str, Any]:
    table = located.value
    for key in at:
        table = table[key]
    if not isinstance(table, dict):
        raise BadInput(f"{'.'.join(at)} is no table", located.where(*at), f"write [{'.'.join(at)}] and keys below it")
    found: dict[str, Any] = {}
    for key, value in table.items():
        where = located.where(*at, key)
        if key in USERS_OWN and key not in known:
            raise BadInput(f"{key} in a project's settings", where, "it belongs in your own settings, or is a flag")
        if key in FLAGS_ONLY:
            raise BadInput(f"{key} is no setting", where, f"use the flag --{key.replace('_', '-')}")
        if key not in known:
            raise BadInput(f"unknown setting {key}", where, nearest(key, known))
        read = TABLES.get(key)
        found[key] = read(value, located, (*at, key)) if read else _valid(key, value, where)
    if "prices" not in known:  # a project's own file
        if "limits" in found:
            theirs(table["limits"], located, (*at, "limits"))
        for name in set(REACHED) & set(found):
            reach_of_theirs(found[name], located, (*at, name))
    if "readable" in found:
        found["readable"] = tuple(
            str(folder / _expanded(path, located.where(*at, "readable"))) for path in found["readable"]
        )
    return found


def _agents(value: Any, located: Located, at: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadInput("agents is no table", located.where(*at), 'write [agents] and below it default = "command:…"')
    for role, agent in value.items():
        if not isinstance(agent, str) or not agent.strip():
            raise BadInput(f"the agent of {role} is no name", located.where(*at, role), 'write "command:PROGRAM ARGS"')
        _agent(agent, located.where(*at, role))
    return {ALL_ROLES if role == "default" else role: agent for role, agent in value.items()}


def _login(value: Any, located: Located, at: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadInput("login is no table", located.where(*at), 'write [login] and below it claude = "key"')
    for agent, policy in value.items():
        if policy not in LOGINS:
            where = located.where(*at, agent)
            raise BadInput(f"the login of {agent} is {policy!r}", where, nearest(str(policy), LOGINS))
    return {ALL_ROLES if agent == "default" else agent: policy for agent, policy in value.items()}


def _environment(value: Any, located: Located, at: tuple[str, ...]) -> dict[str, Any]:
    """Of checks: how it is prepared, what is up beside them, and which variables they may see."""
    if not isinstance(value, dict):
        raise BadInput("environment is no table", located.where(*at), "write [environment] and keys below it")
    known = tuple(Environment.model_fields)
    for key in value:
        if key not in known:
            raise BadInput(f"unknown setting environment.{key}", located.where(*at, key), nearest(key, known))
    names = value.get("variables", {})
    listed = isinstance(names, list) and all(isinstance(one, str) and one for one in names)
    checked = {**value, "variables": dict.fromkeys(names, "") if listed else names}
    try:
        Environment.model_validate_json(json.dumps(checked), strict=True)
    except ValidationError as error:
        place = [str(one) for one in error.errors()[0]["loc"]]
        what = _sentence(".".join(("environment", *place)), error)
        raise BadInput(what, located.where(*at, *place[:1]), "mend the value") from error
    return value


TABLES = {
    "agents": _agents,
    "login": _login,
    "limits": limits_in,
    "prices": prices_in,
    "environment": _environment,
    "team": team_in,
    "commands": commands_in,
    **dict.fromkeys(REACHED, reach_in),
}


def _given(variables: Any, environ: Mapping[str, str]) -> dict[str, str]:
    """Names alone mean the caller's own values."""
    return {one: environ[one] for one in variables if one in environ} if isinstance(variables, list) else variables


def _agent(agent: str, where: str) -> str:
    """An agent that could be begun: found out before a run is stored that nobody could work on."""
    kind, _, rest = agent.partition(":")
    try:
        agent.encode()
        words = shlex.split(rest) if kind == "command" else [rest]
    except ValueError as error:
        what = "is not UTF-8" if isinstance(error, UnicodeError) else "has a quotation mark that is never closed"
        raise BadInput(f"the agent {agent!a} {what}", where, "write command:PROGRAM ARGS") from None
    if "\0" in rest or (kind == "command" and not (words and words[0])):
        raise BadInput(f"the agent {agent!a} names no program", where, "write command:PROGRAM ARGS")
    if kind == "scripted":
        _expanded(rest, where)
    return agent


def _valid(key: str, value: Any, where: str) -> Any:
    try:
        settings = Settings.model_validate_json(json.dumps({key: value}), strict=True)
    except ValidationError as error:
        raise BadInput(_sentence(key, error), where, "mend the value") from error
    _bounds(key, getattr(settings, key), where)
    return getattr(settings, key)


def _bounds(key: str, value: Any, where: str) -> None:
    if key in ("idle_s", "wall_s") and not (math.isfinite(value) and value > 0):
        raise BadInput(f"{key} should be a number greater than 0", where, "give a time in seconds")
    if key == "accept" and value not in ACCEPTABLE:
        raise BadInput(f"{value} can never be enough", where, f"accept one of {', '.join(ACCEPTABLE)}")


def _sentence(key: str, error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{key}: {problem['msg'].replace('Input should', 'it should')}"


# -- environment and flags


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in ENVIRONMENT:
        name = f"TRUED_{key.upper()}"
        if not (text := environ.get(name, "")):
            continue
        value: Any = [part for part in text.split(":" if key == "readable" else ",") if part]
        found[key] = _lax(key, value if key in ("readable", "variables") else text, name)
    if limits := environ.get("TRUED_LIMIT", ""):
        found["limits"] = changes(limits.split(","), "TRUED_LIMIT")
    if agent := environ.get("TRUED_AGENT", ""):
        found["agents"] = {ALL_ROLES: _agent(agent, "TRUED_AGENT")}
    return found


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in flags.items():
        if value is None or (key in ("agents", "roles", "login") and not value):
            continue
        if key not in Settings.model_fields:
            raise BadInput(f"unknown setting {key}", then=nearest(key, Settings.model_fields))
        if key == "limits":
            found[key] = changes(value)
            continue
        found[key] = _lax(key, value, f"--{key.replace('_', '-')}")
        if key == "agents":
            for agent in found[key].values():
                _agent(agent, "--agent")
    return found


def _lax(key: str, value: Any, where: str) -> Any:
    try:
        settings = Settings.model_validate({key: value})
    except ValidationError as error:
        raise BadInput(_sentence(key, error), where, "mend the value") from error
    _bounds(key, getattr(settings, key), where)
    return getattr(settings, key)
