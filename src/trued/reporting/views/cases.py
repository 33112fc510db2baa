"""Describes a case: what it does, and the result that it expects."""

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import counted
from trued.support.visible_text import visible

if TYPE_CHECKING:
    from trued.model import Case, Evidence, Tried

CaseNumbers: TypeAlias = Mapping[tuple[str, str], int]  # hash of a check and id of a case → the case's number
LAST = ("skipped", "passed")  # outcomes that are listed last, in this order
_OBJECT = lazy_regex(r"returned <([\w.]+\.\w+)>")  # the actual result is an object of this Python class
ANSWERS = ("status", "headers", "json", "body")  # the fields of an HTTP exchange that describe the expected response


def base_outcomes(cases: Mapping[str, int]) -> str:
    """How many cases had each outcome on the base: `14 red, 2 guards`. `cases`: outcome → number of cases."""
    return ", ".join(counted(number, name, "" if name == "guard" else name) for name, number in cases.items())


def case_numbers(facts: "Iterable[Evidence]") -> CaseNumbers:
    """The number of each case: the cases of a check are numbered from 1, in the order of the check's first run. (In
    later runs, the engine reverses the order, to find cases that depend on other cases.)"""
    numbers, counts = dict[tuple[str, str], int](), Counter[str]()
    for fact in facts:
        for tried in fact.tried:
            if (fact.check, tried.id) not in numbers:
                counts[fact.check] += 1
                numbers[fact.check, tried.id] = counts[fact.check]
    return numbers


def in_order(fact: "Evidence", numbers: CaseNumbers) -> "list[Tried]":
    """The results of a check run in the order in which every view lists them: failed cases first, then skipped ones,
    then those that passed; within each group by number."""

    def place(tried: "Tried") -> tuple[int, int]:
        return LAST.index(tried.outcome) if tried.outcome in LAST else -1, numbers[fact.check, tried.id]

    return sorted(fact.tried, key=place)


def described(case: "Case") -> str:
    """The complete case as a person would write it, on one line. Characters that are invisible, or that look like
    others, are made visible, because a person approves what they see."""
    limit = f", within {case.within_s:g} s" if "within_s" in case.model_fields_set else ""
    return f"{visible(case_action(case))} → {visible(expected(case))}{limit}"


def case_action(case: "Case") -> str:
    """What a case does: a call with its arguments, an exchange, a command line with its input and files."""
    from trued.model import CallCase, HttpCase  # imported here, because `logs` shows no case

    if isinstance(case, CallCase):
        arguments = [*map(repr, case.args), *(f"{name}={value!r}" for name, value in case.kwargs.items())]
        return f"{case.call}({', '.join(arguments)})"
    if isinstance(case, HttpCase):
        sent = [f"{name}: {value!r}" for name, value in case.http.headers.items()]
        sent += [repr(case.http.body)] if case.http.body else []
        first = "first, " if case.setup else ""
        return f"{first}{case.http.method} {case.http.path}{' ' if sent else ''}{', '.join(sent)}"
    fed = f" < {case.stdin!r}" if case.stdin else ""
    files = ", ".join(f"{name} is {text!r}" for name, text in case.files.items())
    return f"$ {shlex.join(case.run)}{fed}{f', where {files}' if files else ''}"


def expected(case: "Case") -> str:
    """The result that a case expects."""
    from trued.model import CallCase, HttpCase

    if isinstance(case, CallCase):
        after = f", and its arguments are then {[*case.args_after]!r}" if case.args_after is not None else ""
        return f"{f'raises {case.raises}' if case.raises else repr(case.returns)}{after}"
    if isinstance(case, HttpCase):
        answers = {name: value for name, value in case.model_dump().items() if name in ANSWERS}
        return ", ".join(
            f"{name} {_as_json(value) if name == 'json' else repr(value)}" for name, value in answers.items()
        )
    wanted = f"prints {case.stdout!r}" if case.stdout is not None else f"prints {_as_json(case.stdout_json)} as JSON"
    nothing = case.stdout is None and "stdout_json" not in case.model_fields_set
    return f"{'' if nothing else f'{wanted}, '}exit code {case.exit}"


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case that failed: what was asked, and the expected and the actual result side by side."""

    name: str  # `case 2`, a test's id, a page and what it must show
    asked: str = ""  # "" if the name says what was asked
    expected: str = ""  # "" for tests, commands and pages, whose texts say what they expect
    got: str = ""


def failed_case(name: str, detail: str, kind: str, cases: "Sequence[Case]") -> FailedCase:
    """The failed case with this name, with its input and expected result if `cases` contains the case."""
    number = name.removeprefix("case ")
    if name == number or not number.isdigit() or not 0 < int(number) <= len(cases):
        return FailedCase(name, got=detail or kind)
    case = cases[int(number) - 1]
    return FailedCase(
        name, case_action(case), expected(case), f"{detail.removeprefix('returned ') or kind}{_way_out(case, detail)}"
    )


def _way_out(case: "Case", detail: str) -> str:
    """Advice for a case that returned an object of a Python class, because a case cannot contain such an object. "" if
    the case returned something else, or already expects an object of a class."""
    match = _OBJECT.fullmatch(detail)
    if match is None or "$object" in repr(getattr(case, "returns", None)):
        return ""
    return f" (to expect its class, write {{$object: {match[1]}}}; for its value, use a `run` case that prints it)"
