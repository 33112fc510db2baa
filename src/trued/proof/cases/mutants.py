"""Mutants: finds cases that a trivial program would pass, as judged by the engine's own comparison. Pure.

A mutant returns nothing, one of its inputs, or a constant. It is assumed to know when an error, an empty result or a
certain status is expected, and how results are wrapped. A case that a mutant passes cannot tell working code from the
mutant. A lookup table of all answers is not tried, because only somebody who knows the held-out data could write it.
"""

import builtins
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from trued.model import BrowserCheck, CallCase, Case, HttpCase, Outcomes, RunCase, is_node
from trued.proof.cases.entry_points import started_program
from trued.proof.checks.command_lines import difference
from trued.proof.checks.function_calls import compare_call
from trued.proof.checks.http import HttpAnswer, compare_answer

Shown: TypeAlias = Case | BrowserCheck

CONSTANT = "no entry point has two different expected results: a program that returns a constant passes all its cases"
ECHO = "every result is one of the inputs: a program that echoes its input passes them"
STUB = "no case expects a result: a stub passes all of them"
NOTHING: tuple[Any, ...] = (None, "", [], {}, {"$set": []}, {"$frozenset": []}, {"$iterator": []}, {"$bytes": ""})
SEQUENCES = {"$tuple": "t", "$set": "s", "$frozenset": "z", "$iterator": "g"}  # tag in a case → letter in an answer
JOINED = (" ", "", ",", ", ", "\n")
BRACKETS = "()[]{}'\","
LONGEST = 20_000  # characters; longer results are tried only as they are, without other wrappings
_EVERY_ANSWER_HAS = "content-type content-length date server connection keep-alive transfer-encoding"
PLAIN_HEADERS = frozenset(_EVERY_ANSWER_HAS.split())


def passing_mutant(cases: Sequence[Shown]) -> str:
    """The mutant that passes all these cases of one entry point. "" if no mutant does: then the cases can tell working
    code from a mutant."""
    left, echoed = list[Case](), False
    for one in cases:
        if isinstance(one, BrowserCheck):
            given = (unquote(one.page), *(each.type or each.choose or "" for each in one.actions))
            if any(word.strip() and not any(word in text for text in given) for word in (*one.sees, *one.tree)):
                return ""  # the page must show a text that was not typed into it, so no mutant knows that text
        elif _passes(one, NOTHING):
            continue
        elif _passes(one, _inputs(one)) or _only_wraps(one):
            echoed = True
        else:
            left.append(one)
    if not left:
        return ECHO if echoed else STUB
    return CONSTANT if any(all(_passes(one, _result(other), like=other) for one in left) for other in left) else ""


# -- one mutant's answer, and the engine's own comparison --------------------------------------------------------------


def _passes(case: Case, values: Iterable[Any], like: Case | None = None) -> bool:
    """Whether a program passes the case if it returns one of these values, in any wrapping. `like`: another case. The
    program may also change its arguments and send headers as that case expects it to."""
    if isinstance(case, CallCase):
        return any(_passes_call(case, record) for record in _records(case, values, like))
    every = {text: None for value in values for text in _texts(_json(value), 2 if like else 1)}
    if isinstance(case, RunCase):
        return any(not difference(case, case.exit, one) for one in every)
    return any(_passes_exchange(case, headers, one) for headers in _headers(case, like) for one in every)


def _passes_call(case: CallCase, record: dict[str, Any]) -> bool:
    return compare_call(case, record)[0] is Outcomes.PASSED


def _passes_exchange(case: HttpCase, headers: dict[str, str], body: bytes) -> bool:
    answer = HttpAnswer(case.status or 200, tuple(headers.items()), body)
    return compare_answer(case, answer)[0] is Outcomes.PASSED


def _records(case: CallCase, values: Iterable[Any], like: Case | None) -> Iterator[dict[str, Any]]:
    """What the probe in the sandbox would write about a call with these results."""
    other = like.args_after if isinstance(like, CallCase) else None
    left = [list(case.args), *([] if other is None else [list(other)])]
    for after in left:
        rest = {"args": _node(after), "kwargs": _node(dict(case.kwargs))}
        if case.raises is not None:
            yield {"raised": [_lineage(case)], "stage": "call", "text": "", **rest}
            continue
        for value in values:
            yield from ({"returned": one, **rest} for one in _nodes(_json(value), 2 if like else 1))


def _lineage(case: CallCase) -> str:
    name = (case.raises or "").replace(":", ".")
    if "." in name or is_node(case.call):
        return name
    return f"builtins.{name}" if isinstance(getattr(builtins, name, None), type) else f"project.{name}"


def _headers(case: HttpCase, like: Case | None) -> Iterator[dict[str, str]]:
    """The sets of headers that a mutant's answer is tried with. Common headers are as the case expects; every other
    expected header is missing, has a text of the request, or is as in the case `like`."""
    telling = [name for name in case.headers if name.lower() not in PLAIN_HEADERS]
    plain = {name: value for name, value in case.headers.items() if name not in telling}
    yield plain
    if telling:
        yield from ({**plain, **dict.fromkeys(telling, text)} for text in _sent_texts(case))
        if isinstance(like, HttpCase):
            yield {**plain, **like.headers}


# -- what a mutant can return ------------------------------------------------------------------------------------------


def _result(case: Case) -> list[Any]:
    """A list of one value: the result that the case expects, or None if it expects only an error, an exit code or a
    status."""
    if isinstance(case, CallCase):
        return [case.returns]
    if isinstance(case, RunCase):
        return [case.stdout_json if case.stdout is None else case.stdout]
    return [case.json_ if case.body is None else case.body]


def _inputs(case: Case) -> list[Any]:
    """Everything that a program could return by only copying its inputs."""
    if isinstance(case, CallCase):
        given = [*case.args, *case.kwargs.values()]
        return [*given, given, dict(case.kwargs), *_joined(given)]
    if isinstance(case, RunCase):
        words = list(case.run[started_program(case.run).words :])
        rests = [words[place:] for place in range(len(words))]
        texts = [*words, *case.run, case.stdin, *case.files.values(), *case.files]
        return [*texts, *rests, *(text for rest in rests for text in _joined(rest)), *_parsed(texts)]
    texts = _sent_texts(case)
    pairs = parse_qsl(urlsplit(case.http.path).query, keep_blank_values=True)
    values = [value for _, value in pairs]
    return [*texts, dict(pairs), values, *_joined(values), *_parsed(texts)]


def _sent_texts(case: HttpCase) -> list[str]:
    url = urlsplit(case.http.path)
    pairs = [part for pair in parse_qsl(url.query, keep_blank_values=True) for part in pair]
    parts = [unquote(one) for one in url.path.split("/") if one]
    whole = [case.http.body, url.query, unquote(url.query), case.http.path, url.path, unquote(url.path)]
    fields = [part for pair in parse_qsl(case.http.body) for part in pair]
    return [*whole, *pairs, *parts, *fields, *_members(case.http.body)]


def _members(body: str) -> list[str]:
    """The strings among the values of a JSON object."""
    found = [one for one in _parsed([body]) if isinstance(one, dict)]
    return [value for one in found for value in one.values() if isinstance(value, str)]


def _joined(values: Sequence[Any]) -> list[str]:
    texts = [one if isinstance(one, str) else _json(one) for one in values]
    return [between.join(texts) for between in JOINED] if len(texts) > 1 else []


def _parsed(texts: Iterable[str]) -> list[Any]:
    found: list[Any] = []
    for text in texts:
        try:
            found.append(json.loads(text))
        except (ValueError, RecursionError):
            continue
    return found


def _only_wraps(case: Case) -> bool:
    """Whether the result is only the input, in the same order, with brackets, keys and quotes around it."""
    if isinstance(case, CallCase):
        given = [*case.args, *case.kwargs.values()]
        return case.raises is None and _leaves(case.returns) in [_leaves(given), *map(_leaves, given)]
    if isinstance(case, RunCase):
        result = case.stdout if case.stdout is not None else _json(case.stdout_json)
        words = case.run[started_program(case.run).words :]
        texts = [*("".join(words[place:]) for place in range(len(words))), case.stdin, *case.files.values()]
        return _bare(result) in {_bare(text) for text in texts}
    pairs = parse_qsl(urlsplit(case.http.path).query, keep_blank_values=True)
    bodies = [_leaves(one) for one in _parsed([case.http.body])]
    values = [[value for _, value in pairs], *([text] for text in _sent_texts(case)), *bodies]
    return case.json_ is not None and _leaves(case.json_) in values


def _leaves(value: Any) -> list[str]:
    """The values inside nested lists, tuples and dicts, flattened and as text."""
    inner = _members_of(value)
    if inner is not None:
        return [leaf for one in inner for leaf in _leaves(one)]
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in _leaves(one)]
    return [value if isinstance(value, str) else _json(value)]


def _bare(text: str) -> str:
    return "".join(char for char in text if char not in BRACKETS and not char.isspace())


# -- the same value in other wrappings ---------------------------------------------------------------------------------


def _wrapped(value: Any, times: int) -> list[Any]:
    """The value, and everything that up to `times` steps turn it into. A step puts it into a list or tuple, takes it
    out of one, or prints it."""
    found, waiting = {_json(value): value}, [value]
    for _ in range(times):
        fresh = {_json(again): again for one in waiting for again in _around(one)}
        waiting = [one for name, one in fresh.items() if name not in found]
        found |= fresh
    return list(found.values())


def _around(value: Any) -> Iterator[Any]:
    text = value if isinstance(value, str) else _json(value)
    if len(text) > LONGEST:
        return
    inner = _members_of(value)
    if inner is not None:
        yield from (inner, *({tag: inner} for tag in SEQUENCES), *(inner if len(inner) == 1 else ()))
    elif isinstance(value, str):
        yield from (f"{value}\n", value.rstrip("\n"), {"$bytes": value}, *_parsed([value]))
    elif isinstance(value, dict) and value.keys() == {"$bytes"}:
        yield value["$bytes"]
    yield from ([value], text, str(value), f"{text}\n")


def _members_of(value: Any) -> list[Any] | None:
    if isinstance(value, list | tuple):
        return list(value)
    tag = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else ""
    return list(value[tag]) if tag in SEQUENCES else None


@lru_cache(maxsize=4096)  # the same arguments and results recur
def _texts(value: str, times: int) -> tuple[bytes, ...]:
    """The texts that a program may print or send for this value, which is given as JSON."""
    found: dict[str, None] = {}
    for one in _wrapped(json.loads(value), times):
        text, data = one if isinstance(one, str) else _json(one), _json(one)
        found |= dict.fromkeys((text, f"{text}\n", text.rstrip("\n"), data, f"{data}\n"))
    return tuple(one.encode("utf-8", "surrogatepass") for one in found)


@lru_cache(maxsize=4096)
def _nodes(value: str, times: int) -> tuple[Any, ...]:
    """What a call may return for this value, which is given as JSON. The result is in the probe's format."""
    return tuple(map(_node, _wrapped(json.loads(value), times)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _node(value: Any) -> Any:
    """The value as the probe in the sandbox writes it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return ["i", f"{value:x}"]
    if isinstance(value, float):
        return ["f", repr(value)]
    if isinstance(value, list | tuple):
        return ["l", *map(_node, value)]
    tag, inner = next(iter(value.items())) if len(value) == 1 else ("", "")
    if tag in SEQUENCES:
        return [SEQUENCES[tag], *map(_node, inner)]
    if tag == "$bytes":
        return ["b", str(inner).encode("utf-8", "surrogatepass").hex()]
    if tag == "$float":
        return ["f", repr(float(inner))]
    if tag == "$object":
        return ["o", inner]
    return ["d", *([key, _node(one)] for key, one in value.items())]
