"""Describes a case: what it does, and the result that it expects."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from trued.support.plurals import counted
from trued.support.visible_text import visible

if TYPE_CHECKING:
    from trued.model import Case, Evidence, Tried

CaseNumbers: TypeAlias = Mapping[tuple[str, str], int]  # hash of a check and id of a case → the case's number
LAST = ("skipped", "passed")  # outcomes that are listed last, in this order
_OBJECT = re.compile(r"returned <([\w.]+\.\w+)>")  # an answer that is an object of a class, in a module of Python's
ANSWERS = ("status", "headers", "json", "body")  # the fields of an HTTP exchange that describe the expected response


def base_outcomes(cases: Mapping[str, int]) -> str:
    """The outcomes of cases on the base: `14 red, 2 guards`."""
    return ", ".join(counted(number, name, "" if name == "guard" else name) for name, number in cases.items())


def case_numbers(facts: "Iterable[Evidence]") -> CaseNumbers:
    """The cases of each check, numbered from 1 in the order of its first run. Later runs have another order: the engine
    reverses it to find cases that depend on others."""
    found, counts = dict[tuple[str, str], int](), Counter[str]()
    for fact in facts:
        for one in fact.tried:
            if (fact.check, one.id) not in found:
                counts[fact.check] += 1
                found[fact.check, one.id] = counts[fact.check]
    return found


def in_order(fact: "Evidence", numbers: CaseNumbers) -> "list[Tried]":
    """The results of a check run in the order in which every view lists them: failed cases first, then skipped ones,
    then those that passed; within each group by number."""

    def place(one: "Tried") -> tuple[int, int]:
        return LAST.index(one.outcome) if one.outcome in LAST else -1, numbers[fact.check, one.id]

    return sorted(fact.tried, key=place)


def described(one: "Case") -> str:
    """The complete case as a person would write it, on one line. Nothing in it is invisible or looks like something
    else: a person approves what they see."""
    limit = f", within {one.within_s:g} s" if "within_s" in one.model_fields_set else ""
    return f"{visible(case_action(one))} → {visible(expected(one))}{limit}"


def case_action(one: "Case") -> str:
    """What a case does: a call with its arguments, an exchange, a command line with its input and files."""
    from trued.model import CallCase, HttpCase  # imported here, because `logs` shows no case

    if isinstance(one, CallCase):
        given = [*map(repr, one.args), *(f"{name}={value!r}" for name, value in one.kwargs.items())]
        return f"{one.call}({', '.join(given)})"
    if isinstance(one, HttpCase):
        sent = [f"{name}: {value!r}" for name, value in one.http.headers.items()]
        sent += [repr(one.http.body)] if one.http.body else []
        first = "first, " if one.setup else ""
        return f"{first}{one.http.method} {one.http.path}{' ' if sent else ''}{', '.join(sent)}"
    fed = f" < {one.stdin!r}" if one.stdin else ""
    files = ", ".join(f"{name} is {text!r}" for name, text in one.files.items())
    return f"$ {shlex.join(one.run)}{fed}{f', where {files}' if files else ''}"


def expected(one: "Case") -> str:
    """The result that a case expects."""
    from trued.model import CallCase, HttpCase

    if isinstance(one, CallCase):
        after = f", and its arguments are then {[*one.args_after]!r}" if one.args_after is not None else ""
        return f"{f'raises {one.raises}' if one.raises else repr(one.returns)}{after}"
    if isinstance(one, HttpCase):
        answers = {name: value for name, value in one.model_dump().items() if name in ANSWERS}
        return ", ".join(
            f"{name} {_as_json(value) if name == 'json' else repr(value)}" for name, value in answers.items()
        )
    wanted = f"prints {one.stdout!r}" if one.stdout is not None else f"prints {_as_json(one.stdout_json)} as JSON"
    nothing = one.stdout is None and "stdout_json" not in one.model_fields_set
    return f"{'' if nothing else f'{wanted}, '}exit code {one.exit}"


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case that failed: what was asked, and the expected and the actual result side by side."""

    name: str  # `case 2`, a test's id, a page and what it must show
    asked: str = ""  # "" if the name says it
    expected: str = ""  # "" for tests, commands and pages, whose texts say what they expect
    got: str = ""


def failed_case(name: str, detail: str, kind: str, cases: "Sequence[Case]") -> FailedCase:
    """The failed case with this name, with its input and expected result if `cases` contains the case."""
    number = name.removeprefix("case ")
    if name == number or not number.isdigit() or not 0 < int(number) <= len(cases):
        return FailedCase(name, got=detail or kind)
    one = cases[int(number) - 1]
    return FailedCase(
        name, case_action(one), expected(one), f"{detail.removeprefix('returned ') or kind}{_way_out(one, detail)}"
    )


def _way_out(one: "Case", detail: str) -> str:
    """How to expect an object of a class of Python's, which data cannot express; "" if the answer is none."""
    match = _OBJECT.fullmatch(detail)
    if match is None or "$object" in repr(getattr(one, "returns", None)):
        return ""
    return f" (to expect its class, write {{$object: {match[1]}}}; for its value, use a `run` case that prints it)"
