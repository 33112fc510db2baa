"""Parse limits as people write them, and merge them."""

import math
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from trued.errors import BadInput
from trued.inputs.validation import RuleBroken
from trued.model import Limit, RunLimits
from trued.support.located import nearest

WHAT = ("usd", "tokens", "calls", "time")
QUOTA = "quota"
WHOLE_NUMBERS = ("tokens", "calls", "call_tokens", QUOTA)
FEATURE, TASK = PARTS = ("feature", "task")
_COUNT = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_NUMBER = r"\d[\d_]*(?:\.\d+)?"

LimitChange: TypeAlias = tuple[str, str, float]  # scope ("", "feature", "task" or a role), what, amount


# -- flags and variables


def parse_limits(given: Iterable[str], where: str = "--limit") -> list[LimitChange]:
    """Parse limits such as `usd=5`, `tokens=2M`, `time=2h`, `feature:usd=9` or `purple-team-a:calls=9`. Raises BadInput
    for any other text."""
    return [_change(text.strip(), where) for text in given]


def _change(text: str, where: str) -> LimitChange:
    name, equals, value = text.partition("=")
    scope, _, what = name.strip().rpartition(":")
    if not equals or not value.strip():
        raise BadInput(f"{text!r} is not a limit", where, "use usd=5, tokens=2M, calls=20 or time=2h")
    if what not in (*WHAT, QUOTA) or (what == QUOTA and scope):
        raise BadInput(f"there is no limit called {name.strip()!r}", where, nearest(what, (*WHAT, QUOTA)))
    try:
        number = read_amount(what, value.strip())
    except RuleBroken as broken:
        raise BadInput(f"{what}: {broken.what}", where, broken.then) from None
    if not number:
        raise BadInput(f"{text!r} would stop all work", where, "set a larger number, or leave it out for no limit")
    return scope, what, float(number)


def read_amount(what: str, value: Any) -> float:
    """The amount that a number, or a text such as "2M" or "90 min", stands for. It is an int if `what` is one of
    WHOLE_NUMBERS. Raises RuleBroken for any other value, and for an amount out of range."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if isinstance(value, str):
        number = _with_units(what, value.strip().lstrip("$").lower())
    if what == QUOTA and number > 100:
        raise RuleBroken(f"it cannot be {value!r}", "write a percentage of a subscription's window, such as 90")
    if not math.isfinite(number) or number < 0 or (what in WHOLE_NUMBERS and number != int(number)) or number > 1e15:
        then = {"time": 'write 7200, "90 min" or "2h"', "tokens": 'write 5_000_000 or "5M"'}.get(what, "write a number")
        raise RuleBroken(f"it cannot be {value!r}", then)
    return int(number) if what in WHOLE_NUMBERS else number


def _with_units(what: str, text: str) -> float:
    """The number in `1h 30m`, `2m` or `2.50`; NaN for any other text."""
    units = _SECONDS if what == "time" else _COUNT if what in WHOLE_NUMBERS else {"": 1}
    parts = re.findall(part := rf"({_NUMBER})\s*([a-z]*)\s*", text)
    whole = bool(parts) and not re.sub(part, "", text) and all(unit in units for _, unit in parts)
    if not whole or (len(parts) > 1 and what != "time"):
        return math.nan
    return sum(float(number.replace("_", "")) * units[unit] for number, unit in parts)


def apply_limits(limits: RunLimits, given: Iterable[LimitChange]) -> RunLimits:
    """The limits with these changes applied in order."""
    for scope, what, number in given:
        value = int(number) if what in WHOLE_NUMBERS else number
        if not scope:
            limits = limits.model_copy(update={what: value})
        elif scope in PARTS:
            limits = limits.model_copy(update={scope: limit_of(limits, scope).model_copy(update={what: value})})
        else:
            role = limits.roles.get(scope, Limit()).model_copy(update={what: value})
            limits = limits.model_copy(update={"roles": {**limits.roles, scope: role}})
    return limits


def limit_of(limits: RunLimits, scope: str) -> Limit:
    """The limit for a scope: the run (""), each feature, each task, or a role."""
    parts = {"": limits, FEATURE: limits.feature, TASK: limits.task}
    return parts[scope] if scope in parts else limits.roles.get(scope, Limit())


# -- layers


def lower_limits(mine: RunLimits, project: RunLimits) -> RunLimits:
    """For every scope, the lower of both limits: a repository may lower its user's limits, but never raise one."""
    roles = {
        name: _lower(mine.roles.get(name, Limit()), project.roles.get(name, Limit()))
        for name in {**mine.roles, **project.roles}
    }
    lower = _lower(mine, project).model_dump()
    lower[QUOTA] = min((quota for quota in (mine.quota, project.quota) if quota), default=0)
    parts = {name: _lower(limit_of(mine, name), limit_of(project, name)) for name in PARTS}
    return mine.model_copy(update={**lower, **parts, "roles": roles})


def _lower(first: Limit, second: Limit) -> Limit:
    both = {what: [amount for amount in (getattr(first, what), getattr(second, what)) if amount] for what in WHAT}
    return Limit(**{what: min(values, default=0) for what, values in both.items()})
