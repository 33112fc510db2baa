"""Limits and prices as people write them: in files, in variables, on the command line."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from trued.errors import BadInput
from trued.model import Limit, Rate, Spending
from trued.support.located import Located, nearest

WHAT = ("usd", "tokens", "calls", "time")
QUOTA = "quota"
USERS_OWN = ("call_usd", "call_tokens", "ceiling")  # with these a repository could make its own limits wider
MONEY, WHOLE = ("usd", "call_usd"), ("tokens", "calls", "call_tokens", QUOTA)
FEATURE, TASK = PARTS = ("feature", "task")
_COUNT = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_NUMBER = r"\d[\d_]*(?:\.\d+)?"

Given: TypeAlias = tuple[str, str, float]  # scope ("", "feature", "task" or a role), what, amount


# -- flags and variables ----------------------------------------------------------------------------------------------


def changes(given: Iterable[str], where: str = "--limit") -> list[Given]:
    """`usd=5`, `tokens=2M`, `time=2h`, `feature:usd=9`, `task:usd=1`, `purple-team-a:calls=9`."""
    return [_change(one.strip(), where) for one in given]


def _change(text: str, where: str) -> Given:
    name, equals, value = text.partition("=")
    scope, _, what = name.strip().rpartition(":")
    if not equals or not value.strip():
        raise BadInput(f"{text!r} is no limit", where, "write usd=5, tokens=2M, calls=20 or time=2h")
    if what not in (*WHAT, QUOTA) or (what == QUOTA and scope):
        raise BadInput(f"there is no limit of {name.strip()!r}", where, nearest(what, (*WHAT, QUOTA)))
    number = amount(what, value.strip(), where)
    if not number:
        raise BadInput(f"{text!r} would let nobody work", where, "name more, or leave it out for no limit")
    return scope, what, number


def amount(what: str, value: Any, where: str) -> float:
    """A number, or one with a unit: 2M tokens, 90 min."""
    units = _SECONDS if what == "time" else _COUNT if what in WHOLE else {"": 1}
    found: float = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    elif isinstance(value, str):
        parts = re.findall(rf"({_NUMBER})\s*([a-z]*)\s*", text := value.strip().lstrip("$").lower())
        whole = "".join(re.split(rf"{_NUMBER}\s*[a-z]*\s*", text)) == "" and bool(parts)
        known = all((unit or ("s" if what == "time" else "")) in units for _, unit in parts)
        if whole and known and (len(parts) == 1 or what == "time"):
            found = sum(
                float(number.replace("_", "")) * units[unit or ("s" if what == "time" else "")]
                for number, unit in parts
            )
    if what == QUOTA and found > 100:
        raise BadInput(f"quota cannot be {value!r}", where, "it is per cent of a subscription's window")
    if not math.isfinite(found) or found < 0 or (what in WHOLE and found != int(found)) or found > 1e15:
        then = {"time": 'write 7200, "90 min" or "2h"', "tokens": 'write 5_000_000 or "5M"'}.get(what, "write a number")
        raise BadInput(f"{what} cannot be {value!r}", where, then)
    return found


def changed(limits: Spending, given: Iterable[Given]) -> Spending:
    """With what a person said last."""
    for scope, what, number in given:
        value = int(number) if what in WHOLE else number
        if not scope:
            limits = limits.model_copy(update={what: value})
        elif scope in PARTS:
            limits = limits.model_copy(update={scope: limit_of(limits, scope).model_copy(update={what: value})})
        else:
            role = limits.roles.get(scope, Limit()).model_copy(update={what: value})
            limits = limits.model_copy(update={"roles": {**limits.roles, scope: role}})
    return limits


def limit_of(limits: Spending, scope: str) -> Limit:
    """Of the run (""), of each feature or task, or of a role."""
    parts = {"": limits, FEATURE: limits.feature, TASK: limits.task}
    return parts[scope] if scope in parts else limits.roles.get(scope, Limit())


# -- files ------------------------------------------------------------------------------------------------------------


def theirs(table: Mapping[str, Any], located: Located, at: tuple[str, ...]) -> None:
    """A repository may say how much, and not how it is counted."""
    for key in USERS_OWN:
        if key in table:
            raise BadInput(
                f"limits.{key} in a project's settings", located.where(*at, key), "it belongs in your own settings"
            )


def limits_in(value: Any, located: Located, at: tuple[str, ...]) -> Spending:
    """The table [limits]."""
    table = _table(value, located, at, (*WHAT, QUOTA, *PARTS, "roles", *USERS_OWN))
    found: dict[str, Any] = {}
    for key, given in table.items():
        here = (*at, key)
        if key in PARTS:
            found[key] = _limit(given, located, here)
        elif key == "roles":
            roles = _table(given, located, here)
            found[key] = {role: _limit(one, located, (*here, role)) for role, one in roles.items()}
        elif key == "ceiling":
            found[key] = rate_in(given, located, here)
        else:
            found[key] = _number(key, given, located.where(*here), least=0.0 if key in (*WHAT, QUOTA) else 1e-9)
    return Spending(**found)


def rate_in(value: Any, located: Located, at: tuple[str, ...]) -> Rate:
    """`{in = 3, out = 15, cached = 0.3}`: dollars for a million tokens."""
    table = _table(value, located, at, ("in", "out", "cached"))
    for key in ("in", "out"):
        if key not in table:
            raise BadInput(f"{'.'.join(at)} has no {key}", located.where(*at), "write {in = 3.0, out = 15.0}")
    rates = {key: amount("usd", one, located.where(*at, key)) for key, one in table.items()}
    return Rate(usd_in=rates["in"], usd_out=rates["out"], usd_cached=rates.get("cached", rates["in"]))


def prices_in(value: Any, located: Located, at: tuple[str, ...]) -> dict[str, Rate]:
    return {model: rate_in(one, located, (*at, model)) for model, one in _table(value, located, at).items()}


def lowered(mine: Spending, project: Spending) -> Spending:
    """A repository may lower the user's own limits, and never raise one: it is not its money."""
    roles = {
        name: _lower(mine.roles.get(name, Limit()), project.roles.get(name, Limit()))
        for name in {**mine.roles, **project.roles}
    }
    lower = _lower(mine, project).model_dump()
    lower[QUOTA] = min((one for one in (mine.quota, project.quota) if one), default=0)
    parts = {name: _lower(limit_of(mine, name), limit_of(project, name)) for name in PARTS}
    return mine.model_copy(update={**lower, **parts, "roles": roles})


def _lower(one: Limit, two: Limit) -> Limit:
    both = {what: [each for each in (getattr(one, what), getattr(two, what)) if each] for what in WHAT}
    return Limit(**{what: min(values, default=0) for what, values in both.items()})


def _limit(value: Any, located: Located, at: tuple[str, ...]) -> Limit:
    table = _table(value, located, at, WHAT)
    return Limit(**{key: _number(key, one, located.where(*at, key)) for key, one in table.items()})


def _number(key: str, value: Any, where: str, least: float = 0.0) -> float | int:
    number = amount(key, value, where)
    if number < least:
        raise BadInput(f"{key} should be greater than 0", where, "mend the value")
    return int(number) if key in WHOLE else number


def _table(value: Any, located: Located, at: tuple[str, ...], known: tuple[str, ...] = ()) -> Mapping[str, Any]:
    name = ".".join(at)
    if not isinstance(value, dict):
        raise BadInput(f"{name} is no table", located.where(*at), f"write [{name}] and keys below it")
    for key in value:
        if known and key not in known:
            raise BadInput(f"unknown setting {name}.{key}", located.where(*at, key), nearest(key, known))
    return value
