"""Reads `.sheen/config.json`, the configuration of an older tool, into team settings."""

from typing import Any

from trued.errors import BadInput
from trued.support.located import Located, read_json

NAME = ".sheen/config.json"
ROLES = ("pm", "techlead", "dev", "qa", "uat")
NEEDED = ("pm", "dev")
SWITCHES = {
    ("uatTriggers", "afterEachFeature"): "uat_after_feature",
    ("uatTriggers", "afterAllFeatures"): "uat_after_all",
    ("autoHeal", "enabled"): "heal",
}
COUNTS = (("multiAgent", "maxTaskAttempts"), ("autoHeal", "maxAttempts"))
KNOWN: dict[tuple[str, ...], tuple[str, ...]] = {
    (): ("version", "multiAgent", "uatTriggers", "autoHeal"),
    ("multiAgent",): ("enabled", "maxTaskAttempts", "roles"),
    ("multiAgent", "roles"): ROLES,
    ("uatTriggers",): ("afterEachFeature", "afterAllFeatures"),
    ("autoHeal",): ("enabled", "maxAttempts"),
    **{("multiAgent", "roles", role): ("enabled",) for role in ROLES},
}


def team_settings(text: str, file: str = NAME) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fields of `TeamSettings`, and a sentence for each setting that is not taken over."""
    located = read_json(text, file)
    notes: list[str] = []
    for spot, known in KNOWN.items():
        table = _at(located, spot)
        if not isinstance(table, dict):
            raise BadInput(f"{'.'.join(spot) or 'the file'} is not an object", located.where(*spot), "write { … }")
        notes += [
            f"{located.where(*spot, key)}: {'.'.join((*spot, key))} is not used here"
            for key in table
            if key not in known
        ]
    settings: dict[str, Any] = {}
    for spot, name in SWITCHES.items():
        if (value := _at(located, spot, None)) is not None:
            settings[name] = _bool(value, located, spot)
    counts = [_count(value, located, spot) for spot in COUNTS if (value := _at(located, spot, None)) is not None]
    if counts:
        settings["attempts"] = counts[-1]
        notes += [f"{file}: {COUNTS[0][1]} and {COUNTS[1][1]} differ, the latter counts"] * (len({*counts}) > 1)
    off, more = _off(located)
    return {**settings, **({"off": off} if off else {})}, (*notes, *more)


def _off(located: Located) -> tuple[tuple[str, ...], list[str]]:
    """Roles that are switched off, and notes for people."""
    notes: list[str] = []
    off: list[str] = []
    for role in ROLES:
        spot = ("multiAgent", "roles", role, "enabled")
        if _bool(_at(located, spot, True), located, spot):
            continue
        if role in NEEDED:
            notes.append(f"{located.where(*spot)}: a team without its {role} does nothing, so it stays on")
        else:
            off.append(role)
    if not _bool(_at(located, ("multiAgent", "enabled"), True), located, ("multiAgent", "enabled")):
        notes.append(f"{located.where('multiAgent', 'enabled')}: this setting is ignored, because you started the team")
    return tuple(off), notes


def _at(located: Located, spot: tuple[str, ...], default: Any = ...) -> Any:
    value = located.value
    for key in spot:
        if not isinstance(value, dict) or key not in value:
            return {} if default is ... else default
        value = value[key]
    return value


def _bool(value: Any, located: Located, spot: tuple[str, ...]) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{'.'.join(spot)} is neither true nor false", located.where(*spot), "fix the value")
    return value


def _count(value: Any, located: Located, spot: tuple[str, ...]) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadInput(f"{'.'.join(spot)} is not a number of attempts", located.where(*spot), "write 1 or more")
    return value
