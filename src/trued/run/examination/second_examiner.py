"""Words the inputs of cases as questions to a second examiner, and compares its answers with the author's."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from trued.model import BrowserCheck, CallCase, Case, HttpCase, RunCase, Value
from trued.proof.cases.mutants import PLAIN_HEADERS
from trued.run.examination.replies import Asked, Blind, Proposed


def questions(proposed: Sequence[Proposed]) -> list[Asked]:
    """The inputs of all cases, numbered, without results."""
    listed = [(proposal.requirement, shown) for proposal in proposed for shown in cases_of(proposal)]
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


# Why a set-up exchange is doubted. Its status is then no longer checked, and the examiner writes no new case for it.
STATUS = "another status"
SecondOpinion: TypeAlias = Literal["alike", "otherwise", "unsure"]


def compare_answers(proposed: Sequence[Proposed], answers: Iterable[Blind]) -> list[list[tuple[SecondOpinion, str]]]:
    """For each case of each proposal: whether the answer is like the author's, differs, or is unsure; and why."""
    answers_by_number = {answer.number: answer for answer in answers}
    opinions, number = list[list[tuple[SecondOpinion, str]]](), 0
    for proposal in proposed:
        opinions.append([])
        for shown in cases_of(proposal):
            number += 1
            opinions[-1].append(_second_opinion(shown, answers_by_number.get(number)))
    return opinions


def _second_opinion(shown: Case | BrowserCheck, answer: Blind | None) -> tuple[SecondOpinion, str]:
    if isinstance(shown, HttpCase) and shown.setup:  # set-up only prepares other cases: only its status could be wrong
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
    """The cases of a proposal that show something, with their indexes. Set-up, which only prepares other cases, is left
    out."""
    return [(place, case) for place, case in enumerate(cases_of(proposed)) if not getattr(case, "setup", False)]


def as_setup(case: HttpCase, *, status: bool = True) -> HttpCase:
    """The exchange as set-up for other exchanges. It expects only a status; with `status=False`, nothing."""
    kept = {"status": case.status} if status and case.status is not None else {}
    return HttpCase(http=case.http, within_s=case.within_s, setup=True, **kept)


def _same(shown: Case | BrowserCheck, answer: Blind) -> bool:
    if isinstance(shown, BrowserCheck):
        texts = [text.casefold() for text in answer.sees]
        return all(
            any(expected.casefold() in text or text in expected.casefold() for text in texts) for expected in shown.sees
        )
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
    answered_headers = {name.lower(): value.strip() for name, value in answer.headers.items()}
    expected_headers = {
        name.lower(): value for name, value in shown.headers.items() if name.lower() not in PLAIN_HEADERS
    }
    headers = all(answered_headers.get(name) == value for name, value in expected_headers.items())
    return status and body and headers and (shown.json_ is None or is_same_json(shown.json_, answer.body_json))


def is_same_json(left: Any, right: Any) -> bool:
    """Whether both are the same JSON: 2 equals 2.0, but 1 does not equal true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(is_same_json, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same_json(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)


def is_known_from(disclosed: Case, shown: Case | BrowserCheck) -> bool:
    """Whether somebody who was shown the case `disclosed` knows the result of the case `shown`.

    Cases with the same call or command line have the same result, whichever words of the requirement they quote. So do
    exchanges with equal requests, unless their expectations contradict each other. (A contradiction means that the
    exchanges before them differ.)
    """
    if isinstance(disclosed, CallCase) and isinstance(shown, CallCase):
        return disclosed.call == shown.call and _may_be_one_call(disclosed, shown)
    if isinstance(disclosed, RunCase) and isinstance(shown, RunCase):
        inputs = [(case.run, case.stdin, case.files) for case in (disclosed, shown)]
        return inputs[0] == inputs[1]
    if isinstance(disclosed, HttpCase) and isinstance(shown, HttpCase):
        requests = [(case.http.method.upper(), case.http.path, case.http.body) for case in (disclosed, shown)]
        return requests[0] == requests[1] and _may_be_one_response(disclosed, shown)
    return False


def _may_be_one_call(first: CallCase, second: CallCase) -> bool:
    """Whether both cases may pass the same arguments, although one case passes some by name and the other by position.
    Parameter names are unknown here, so an argument by name matches any extra positional argument of the same value."""
    fewer, more = sorted((first, second), key=lambda case: len(case.args))
    number = len(fewer.args)
    only_named = {name: value for name, value in fewer.kwargs.items() if name not in more.kwargs}
    in_both = {name: value for name, value in fewer.kwargs.items() if name in more.kwargs}
    if not (is_same_json(fewer.args, more.args[:number]) and is_same_json(in_both, dict(more.kwargs))):
        return False
    unmatched = [*more.args[number:]]
    for value in only_named.values():
        place = next((place for place, argument in enumerate(unmatched) if is_same_json(value, argument)), None)
        if place is None:
            return False
        del unmatched[place]
    return not unmatched


def _may_be_one_response(first: HttpCase, second: HttpCase) -> bool:
    """Whether one response could meet the expectations of both cases. Compares only what both cases mention."""
    pairs: list[tuple[Any, Any]] = [
        (first.status, second.status),
        (first.json_, second.json_),
        (first.body, second.body),
    ]
    headers = [{name.lower(): value for name, value in case.headers.items()} for case in (first, second)]
    pairs += [(headers[0][name], headers[1][name]) for name in headers[0].keys() & headers[1].keys()]
    return all(any(value is None for value in pair) or is_same_json(*pair) for pair in pairs)


def _input(shown: Case | BrowserCheck) -> str:
    if isinstance(shown, BrowserCheck):
        done = f", then {', '.join(map(str, shown.actions))}" if shown.actions else ""
        return f"open the page {shown.page}{done}: what must a person be able to read there (sees)?"
    if isinstance(shown, CallCase):
        given = f" and the keyword arguments {_json(shown.kwargs)}" if shown.kwargs else ""
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
