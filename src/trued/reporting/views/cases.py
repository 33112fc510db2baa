"""A case in words: what is done, and what must come of it."""

import shlex
from collections.abc import Mapping

from trued.model import CallCase, Case, HttpCase
from trued.support.plurals import counted

ANSWERS = ("status", "headers", "json", "body")  # of an exchange: what must come back


def stood(cases: Mapping[str, int]) -> str:
    """How cases stood on the base: `14 red, 2 guards`."""
    return ", ".join(counted(number, name, "" if name == "guard" else name) for name, number in cases.items())


def described(one: Case) -> str:
    """As a person would write it down, on one line. Its texts may be hostile: whoever shows it makes them safe."""
    if isinstance(one, CallCase):
        given = [*map(repr, one.args), *(f"{name}={value!r}" for name, value in one.kwargs.items())]
        wanted = f"raises {one.raises}" if one.raises else repr(one.returns)
        return f"{one.call}({', '.join(given)}) → {wanted}"
    if isinstance(one, HttpCase):
        asked = f"{one.http.method} {one.http.path}{f' {one.http.body!r}' if one.http.body else ''}"
        wanted = ", ".join(f"{name} {value!r}" for name, value in one.model_dump().items() if name in ANSWERS)
        return f"{asked} → {wanted}"
    wanted = f"prints {one.stdout!r}" if one.stdout is not None else f"prints {one.stdout_json!r} as JSON"
    nothing = one.stdout is None and "stdout_json" not in one.model_fields_set
    fed = f" < {one.stdin!r}" if one.stdin else ""
    return f"$ {shlex.join(one.run)}{fed} → {'' if nothing else f'{wanted}, '}exit code {one.exit}"
