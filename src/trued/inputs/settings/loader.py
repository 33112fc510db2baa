"""Loads the settings of a run. If a key has several values, the first in this order counts: flag, environment variable,
project file, user file, default. A project file cannot loosen what the user's own file restricts: login, network,
limits, publishing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from trued.errors import BadInput
from trued.inputs.settings.file_format import (
    ALL_ROLES,
    CONVERSIONS,
    TABLES,
    HubTable,
    check_agent,
    expand_home,
    file_model,
)
from trued.inputs.settings.folders import FILE
from trued.inputs.settings.limits import apply_limits, lower_limits, parse_limits
from trued.inputs.validation import RuleBroken, explain, validate
from trued.model import RunLimits, Settings
from trued.support.located import Located, nearest, read_text, read_toml
from trued.support.located.spots import Spot

T = TypeVar("T")

# Keys that a repository may set; it cannot set any other.
SHARED = (
    "workflow",
    "agents",
    "roles",
    "rounds",
    "progress",
    "coverage_target",
    "commit_author",
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
    "environment",
    "serve",
    "preview",
    "team",
    "commands",
    "forge",
    "tickets",
)
# Permissions that a repository must not grant itself.
USERS_OWN = (
    "accept",
    "allow_unsandboxed",
    "bring",
    "prices",
    "notify",
    "hub",
)
# Keys of shared tables that a repository may not set: it could raise its own limits, or have the user's token or the
# work sent elsewhere.
USERS_OWN_KEYS = {
    "limits": ("call_usd", "call_tokens", "ceiling"),
    "forge": ("url", "token_env", "remote"),
    "preview": ("push",),
    "tickets": ("url", "token_env", "user_env"),
}
# Settings for one run, not for a project or a person: only flags set them.
FLAGS_ONLY = (
    "yes",
    "plan_only",
    "draft",
    "without_cases",
    "chunks",
    "phases",
)
ENVIRONMENT = tuple(key for key in SHARED if key not in (*TABLES, "roles", "login", "serve", "preview"))
MERGED_BY_KEY = ("roles", "team", "commands", "preview", "forge", "tickets")
NETWORKS = ("none", "loopback", "host")  # the narrowest first


def load_settings(
    flags: Mapping[str, Any], environ: Mapping[str, str], project: Path | None, user: Path | None
) -> Settings:
    """Merge flags, environment variables and both settings files into the settings of a run.

    `project` is the repository's folder, `user` the folder of the user's own settings. Raises BadInput for a wrong key
    or value.
    """
    # The addresses of the hub are left out: no run stores them.
    own = {key: value for key, value in (_user_file(user) if user else {}).items() if key != "hub"}
    shared = _project_file(project) if project else {}
    above = [_environment_layer(environ), _flag_layer(flags)]
    merged: dict[str, Any] = {}
    for layer in (own, shared, *above):
        by_key = {name: {**merged.get(name, {}), **_explicit_keys(layer.get(name, {}))} for name in MERGED_BY_KEY}
        merged = {**merged, **layer, **by_key}
    merged["agents"] = _by_role("agents", own, shared, *above)
    merged["login"] = _by_role("login", shared, own, *above)  # a repository cannot override how its user logs in
    merged["limits"] = _limits(own, shared, *above)
    merged["network"] = _network(own, shared, *above)
    if own.get("forge", {}).get("kind") == "local" and not any(
        "kind" in _explicit_keys(settings.get("forge", {})) for settings in above
    ):
        merged["forge"]["kind"] = "local"  # a repository cannot override a user who publishes nothing
    if checks := merged.get("environment"):
        merged["environment"] = {**checks, "variables": _resolve_variables(checks.get("variables", {}), environ)}
    return Settings.model_validate(merged)


def user_hub(user: Path) -> HubTable:
    """The hub that the user's settings file names; without one, a table whose addresses are "". `user`: the folder of
    that file. Raises BadInput if the file is invalid."""
    hub: HubTable = _user_file(user).get("hub", HubTable())
    return hub


def _explicit_keys(table: Any) -> dict[str, Any]:
    """The keys that are set in a table. A table from a file is a dictionary, a table from flags is a model."""
    return table.model_dump(exclude_unset=True) if isinstance(table, BaseModel) else dict(table)


def _by_role(key: str, *layers: Mapping[str, Any]) -> dict[str, str]:
    """Merge the layers role by role; a later layer overrides an earlier one. If a layer has a value for all roles,
    everything from earlier layers is dropped."""
    merged: dict[str, str] = {}
    for layer in layers:
        given = layer.get(key, {})
        merged = given if ALL_ROLES in given else {**merged, **given}
    return merged


def _network(user: Mapping[str, Any], project: Mapping[str, Any], *above: Mapping[str, Any]) -> str:
    """The network that flags or the environment set. If they set none, the narrower network of the user's file and the
    project's file, because a repository cannot allow what its user has forbidden."""
    files = [layer["network"] for layer in (user, project) if "network" in layer]
    named = [layer["network"] for layer in above if "network" in layer]
    return str(named[-1] if named else min(files, key=NETWORKS.index, default="host"))


def _limits(user: Mapping[str, Any], project: Mapping[str, Any], *above: Mapping[str, Any]) -> RunLimits:
    """The merged limits. A repository may lower its user's limits, but not raise them. Limits from the environment or
    flags override the limits of both files."""
    limits = lower_limits(user.get("limits", RunLimits()), project.get("limits", RunLimits()))
    for layer in above:
        limits = apply_limits(limits, layer.get("limits", ()))
    return limits


def _resolve_variables(variables: Mapping[str, str | None], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables with their values. A variable without a value gets its value from the environment. If it is not set
    there either, it is left out."""
    values = {name: environ.get(name) if value is None else value for name, value in variables.items()}
    return {name: value for name, value in values.items() if value is not None}


# -- files


def _user_file(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.exists():
        return {}
    return _layer(read_toml(read_text(path), str(path)), (), (*SHARED, *USERS_OWN), folder)


def _project_file(root: Path) -> dict[str, Any]:
    own, shared = root / FILE, _tool_table(root / "pyproject.toml")
    if own.exists() and shared is not None:
        where = shared.where("tool", "trued")
        raise BadInput(f"settings are in {FILE} and in [tool.trued]", where, f"keep them in {FILE}")
    if not own.exists() and shared is None:
        return {}
    located, at = (shared, ("tool", "trued")) if shared else (read_toml(read_text(own), FILE), ())
    _refuse_users_own(located, at)
    return _layer(located, at, SHARED, root)


def _tool_table(path: Path) -> Located | None:
    """The project's pyproject.toml if it has settings for trued; else None. A file that does not mention trued is not
    parsed, so a mistake in it does no harm."""
    if not path.is_file():
        return None
    text = path.read_bytes().decode("utf-8", "replace")
    if "trued" not in text:
        return None
    located = read_toml(text, path.name)
    tool = located.value.get("tool")
    return located if isinstance(tool, dict) and "trued" in tool else None


def _table(located: Located, at: Spot) -> dict[str, Any]:
    table = located.value
    for key in at:
        table = table[key]
    if not isinstance(table, dict):
        name = ".".join(map(str, at))
        raise BadInput(f"{name} is not a table", located.where(*at), f"write [{name}] and keys below it")
    return table


def _refuse_users_own(located: Located, at: Spot) -> None:
    """Raise BadInput if a project's file sets keys that only the user may set."""
    table = _table(located, at)
    forbidden = [((*at, key), key) for key in USERS_OWN if key in table]
    for name, keys in USERS_OWN_KEYS.items():
        given = table.get(name)
        forbidden += [((*at, name, key), f"{name}.{key}") for key in keys if isinstance(given, dict) and key in given]
    for spot, name in forbidden:
        what = f"a project's settings cannot set {name}"
        raise BadInput(what, located.where(*spot), "set it in your own settings, or by a flag if there is one")


def _layer(located: Located, at: Spot, keys: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """The settings in the table `at` of a file, converted for Settings. Paths in them are relative to `folder`."""
    for key in FLAGS_ONLY:
        if key in _table(located, at):
            raise BadInput(
                f"{key} is not a setting", located.where(*at, key), f"use the flag --{key.replace('_', '-')}"
            )
    given = validate(file_model(keys), located, at, noun="setting")
    layer = {key: getattr(given, key) for key in given.model_fields_set}
    layer |= {key: CONVERSIONS[key](value) for key, value in layer.items() if key in CONVERSIONS}
    if "readable" in layer:
        where = located.where(*at, "readable")
        layer["readable"] = tuple(str(folder / _at(where, expand_home, path)) for path in layer["readable"])
    return layer


# -- environment and flags


def _environment_layer(environ: Mapping[str, str]) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for key in ENVIRONMENT:
        name = f"TRUED_{key.upper()}"
        if not (text := environ.get(name, "")):
            continue
        value: Any = [part for part in text.split(":" if key == "readable" else ",") if part]
        layer[key] = _setting(key, value if key in ("readable", "variables") else text, name)
    if limits := environ.get("TRUED_LIMIT", ""):
        layer["limits"] = parse_limits(limits.split(","), "TRUED_LIMIT")
    if agent := environ.get("TRUED_AGENT", ""):
        layer["agents"] = {ALL_ROLES: _at("TRUED_AGENT", check_agent, agent)}
    return layer


def _flag_layer(flags: Mapping[str, Any]) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for key, value in flags.items():
        if value is None or (key in ("agents", "roles", "login") and not value):
            continue
        if key not in Settings.model_fields:
            raise BadInput(f"unknown setting {key}", then=nearest(key, Settings.model_fields))
        layer[key] = parse_limits(value) if key == "limits" else _setting(key, value, f"--{key.replace('_', '-')}")
    for agent in layer.get("agents", {}).values():
        _at("--agent", check_agent, agent)
    return layer


def _setting(key: str, value: Any, where: str) -> Any:
    """Validate one value that comes from a flag or the environment; a number may be given as text."""
    try:
        return getattr(Settings.model_validate({key: value}), key)
    except ValidationError as error:
        what, then = explain(error)
        raise BadInput(what, where, then) from error


def _at(where: str, rule: Callable[[str], T], text: str) -> T:
    """The rule's result for the text. Raises BadInput with the place `where` if the rule refuses it."""
    try:
        return rule(text)
    except RuleBroken as broken:
        raise BadInput(broken.what, where, broken.then) from None
