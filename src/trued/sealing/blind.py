"""The second examiner: answers what comes of each input, and is held against the first. Pure."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ..types import BrowserCheck, CallCase, Case, HttpCase, RunCase
from .replies import Asked, Blind, Proposed


def questions(proposed: Sequence[Proposed]) -> list[Asked]:
    """The inputs of all cases, numbered; no result, no argument for one, no code."""
    listed = [(one.requirement, shown) for one in proposed for shown in shown_by(one)]
    return [
        Asked(number=number, requirement=requirement, clause=shown.quotes, input=_input(shown))
        for number, (requirement, shown) in enumerate(listed, 1)
    ]


def alike(proposed: Sequence[Proposed], answers: Iterable[Blind]) -> list[bool]:
    """For each proposal: was every case of it answered as its author did?"""
    given = {one.number: one for one in answers}
    found, number = list[bool](), 0
    for one in proposed:
        same = True
        for shown in shown_by(one):
            number += 1
            answer = given.get(number)
            same = same and answer is not None and not answer.unsure and _same(shown, answer)
        found.append(same)
    return found


def shown_by(proposed: Proposed) -> tuple[Case | BrowserCheck, ...]:
    return (*proposed.cases, *([proposed.page] if proposed.page else []))


def _same(shown: Case | BrowserCheck, answer: Blind) -> bool:
    if isinstance(shown, BrowserCheck):
        seen = [one.casefold() for one in answer.sees]
        return all(any(one.casefold() in other or other in one.casefold() for other in seen) for one in shown.sees)
    if isinstance(shown, CallCase):
        if shown.raises is not None:
            return (answer.raises or "").rpartition(".")[2] == shown.raises.rpartition(".")[2]
        return "returns" in answer.model_fields_set and answer.raises is None and equal(shown.returns, answer.returns)
    if isinstance(shown, RunCase):
        printed = shown.stdout is None or shown.stdout.rstrip("\n") == (answer.stdout or "").rstrip("\n")
        as_json = shown.stdout_json is None or equal(shown.stdout_json, answer.stdout_json)
        return shown.exit == answer.exit and printed and as_json
    status = shown.status is None or answer.status is None or shown.status == answer.status
    body = shown.body is None or shown.body.strip() == (answer.body or "").strip()
    return status and body and (shown.json_ is None or equal(shown.json_, answer.body_json))


def equal(one: Any, two: Any) -> bool:
    """The same JSON; 2 and 2.0 are one number, 1 and true are not one thing."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, int | float) and isinstance(two, int | float):
        return one == two
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(equal, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(equal(one[key], two[key]) for key in one)
    return type(one) is type(two) and bool(one == two)


def _input(shown: Case | BrowserCheck) -> str:
    if isinstance(shown, BrowserCheck):
        return f"open the page {shown.page}: what must a person be able to read there (sees)?"
    if isinstance(shown, CallCase):
        given = f" and {_json(shown.kwargs)} by name" if shown.kwargs else ""
        return f"call {shown.call} with {_json(list(shown.args))}{given}: what does it return or raise?"
    if isinstance(shown, HttpCase):
        sent = f" with body {shown.http.body}" if shown.http.body else ""
        return f"{shown.http.method} {shown.http.path}{sent}, after the exchanges above it: status, body or body_json?"
    fed = f", stdin {_json(shown.stdin)}" if shown.stdin else ""
    files = f", with files {_json(shown.files)}" if shown.files else ""
    kind = "stdout_json" if shown.stdout is None and shown.stdout_json is not None else "stdout"
    return f"run {_json(list(shown.run))}{fed}{files}: {kind} and exit?"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
