"""The second examiner answers the inputs of cases blind; its answers are compared with the author's. Pure."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from trued.model import BrowserCheck, CallCase, Case, HttpCase, RunCase, Value
from trued.proof.cases.mutants import PLAIN_HEADERS
from trued.run.examination.replies import Asked, Blind, Proposed


def questions(proposed: Sequence[Proposed]) -> list[Asked]:
    """The inputs of all cases, numbered, without results."""
    listed = [(one.requirement, shown) for one in proposed for shown in cases_of(one)]
    return [
        Asked(number=number, requirement=requirement, clause=shown.quotes, input=_input(shown))
        for number, (requirement, shown) in enumerate(listed, 1)
    ]


class Doubt(Value):
    """The second examiner's doubt about one case of a proposal."""

    of: Proposed  # the proposal in its original form
    number: int  # index of the case in `of`
    what: Literal["otherwise", "unsure"]
    why: str = ""


STATUS = "another status"  # a doubt about a set-up exchange: its status is no longer checked, and no new case is needed
SecondOpinion: TypeAlias = Literal["alike", "otherwise", "unsure"]


def compare_answers(proposed: Sequence[Proposed], answers: Iterable[Blind]) -> list[list[tuple[SecondOpinion, str]]]:
    """For each case of each proposal: whether the answer is like the author's, differs, or is unsure; and why."""
    given = {one.number: one for one in answers}
    found, number = list[list[tuple[SecondOpinion, str]]](), 0
    for one in proposed:
        found.append([])
        for shown in cases_of(one):
            number += 1
            found[-1].append(_second_opinion(shown, given.get(number)))
    return found


def _second_opinion(shown: Case | BrowserCheck, answer: Blind | None) -> tuple[SecondOpinion, str]:
    if isinstance(shown, HttpCase) and shown.setup:  # it only prepares others: only its status could be wrong
        other = answer is not None and None not in (shown.status, answer.status) and answer.status != shown.status
        return ("otherwise", STATUS) if other else ("alike", "")
    if answer is None:
        return "unsure", "no answer"
    if answer.unsure:
        return "unsure", answer.unsure
    return "alike" if _same(shown, answer) else "otherwise", ""


def cases_of(proposed: Proposed) -> tuple[Case | BrowserCheck, ...]:
    """The cases of a proposal, or its page."""
    return (*proposed.cases, *([proposed.page] if proposed.page else []))


def proving_cases(proposed: Proposed) -> list[tuple[int, Case | BrowserCheck]]:
    """The cases that show something, with their indexes; the others only prepare them."""
    return [(place, one) for place, one in enumerate(cases_of(proposed)) if not getattr(one, "setup", False)]


def as_setup(case: HttpCase, *, status: bool = True) -> HttpCase:
    """The exchange as set-up for others: only its expected status is checked, and with `status=False` nothing."""
    kept = {"status": case.status} if status and case.status is not None else {}
    return HttpCase(http=case.http, within_s=case.within_s, setup=True, **kept)


def _same(shown: Case | BrowserCheck, answer: Blind) -> bool:
    if isinstance(shown, BrowserCheck):
        seen = [one.casefold() for one in answer.sees]
        return all(any(one.casefold() in other or other in one.casefold() for other in seen) for one in shown.sees)
    if isinstance(shown, CallCase):
        if shown.raises is not None:
            return (answer.raises or "").rpartition(".")[2] == shown.raises.rpartition(".")[2]
        after = shown.args_after is None or is_same_json(shown.args_after, answer.args_after)
        returned = "returns" in answer.model_fields_set or shown.args_after is not None
        return returned and after and answer.raises is None and is_same_json(shown.returns, answer.returns)
    if isinstance(shown, RunCase):
        printed = shown.stdout is None or shown.stdout.rstrip("\n") == (answer.stdout or "").rstrip("\n")
        as_json = shown.stdout_json is None or is_same_json(shown.stdout_json, answer.stdout_json)
        return shown.exit == answer.exit and printed and as_json
    status = shown.status is None or answer.status is None or shown.status == answer.status
    body = shown.body is None or shown.body.strip() == (answer.body or "").strip()
    answered = {name.lower(): value.strip() for name, value in answer.headers.items()}
    wanted = {name.lower(): value for name, value in shown.headers.items() if name.lower() not in PLAIN_HEADERS}
    headers = all(answered.get(name) == value for name, value in wanted.items())
    return status and body and headers and (shown.json_ is None or is_same_json(shown.json_, answer.body_json))


def is_same_json(one: Any, two: Any) -> bool:
    """Whether both are the same JSON: 2 equals 2.0, but 1 does not equal true."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, int | float) and isinstance(two, int | float):
        return one == two
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(is_same_json, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(is_same_json(one[key], two[key]) for key in one)
    return type(one) is type(two) and bool(one == two)


def is_known_from(disclosed: Case, shown: Case | BrowserCheck) -> bool:
    """Whether somebody who was shown the case `disclosed` knows the result of the case `shown`: the same call or
    command line, whatever it quotes; or the same exchange, if nothing that one expects contradicts the other. (Another
    exchange may have the same request, and another result, because of the exchanges before it.)"""
    if isinstance(disclosed, CallCase) and isinstance(shown, CallCase):
        return disclosed.call == shown.call and _may_be_one_call(disclosed, shown)
    if isinstance(disclosed, RunCase) and isinstance(shown, RunCase):
        inputs = [(one.run, one.stdin, one.files) for one in (disclosed, shown)]
        return inputs[0] == inputs[1]
    if isinstance(disclosed, HttpCase) and isinstance(shown, HttpCase):
        requests = [(one.http.method.upper(), one.http.path, one.http.body) for one in (disclosed, shown)]
        return requests[0] == requests[1] and _may_be_one_response(disclosed, shown)
    return False


def _may_be_one_call(one: CallCase, other: CallCase) -> bool:
    """Whether both give the same arguments, as far as can be told without the names of the parameters: one may give
    some by name, in any order, that the other gives by position."""
    fewer, more = sorted((one, other), key=lambda case: len(case.args))
    number = len(fewer.args)
    named = {name: value for name, value in fewer.kwargs.items() if name not in more.kwargs}
    both = {name: value for name, value in fewer.kwargs.items() if name in more.kwargs}
    if not (is_same_json(fewer.args, more.args[:number]) and is_same_json(both, dict(more.kwargs))):
        return False
    left = [*more.args[number:]]
    for value in named.values():
        place = next((place for place, each in enumerate(left) if is_same_json(value, each)), None)
        if place is None:
            return False
        del left[place]
    return not left


def _may_be_one_response(one: HttpCase, other: HttpCase) -> bool:
    """Whether no expectation of one contradicts the other's. What only one of them expects contradicts nothing."""
    pairs: list[tuple[Any, Any]] = [(one.status, other.status), (one.json_, other.json_), (one.body, other.body)]
    headers = [{name.lower(): value for name, value in case.headers.items()} for case in (one, other)]
    pairs += [(headers[0][name], headers[1][name]) for name in headers[0].keys() & headers[1].keys()]
    return all(any(each is None for each in pair) or is_same_json(*pair) for pair in pairs)


def _input(shown: Case | BrowserCheck) -> str:
    if isinstance(shown, BrowserCheck):
        done = f", then {', '.join(map(str, shown.actions))}" if shown.actions else ""
        return f"open the page {shown.page}{done}: what must a person be able to read there (sees)?"
    if isinstance(shown, CallCase):
        given = f" and {_json(shown.kwargs)} by name" if shown.kwargs else ""
        after = " And what are its arguments afterwards (args_after)?" if shown.args_after is not None else ""
        return f"call {shown.call} with {_json(list(shown.args))}{given}: what does it return or raise?{after}"
    if isinstance(shown, HttpCase):
        sent = f" with body {shown.http.body}" if shown.http.body else ""
        asked = [name for name in shown.headers if name.lower() not in PLAIN_HEADERS]
        more = f" And the headers {', '.join(asked)}?" if asked else ""
        place = f"{shown.http.method} {shown.http.path}{sent}, after the exchanges above it"
        return f"{place}: status, body or body_json?{more}"
    fed = f", stdin {_json(shown.stdin)}" if shown.stdin else ""
    files = f", with files {_json(shown.files)}" if shown.files else ""
    kind = "stdout_json" if shown.stdout is None and shown.stdout_json is not None else "stdout"
    return f"run {_json(list(shown.run))}{fed}{files}: {kind} and exit?"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
