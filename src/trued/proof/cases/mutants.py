"""Mutants: finds cases that a trivial program would pass, as judged by the engine's own comparison. Does no I/O.

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
from trued.proof.checks.function_calls import compare_call
from trued.proof.checks.http import compare_answer
from trued.proof.checks.http_client import HttpAnswer
from trued.proof.checks.program_calls import difference

Shown: TypeAlias = Case | BrowserCheck

CONSTANT = "no entry point has two different expected results: a program that returns a constant passes all its cases"
ECHO = "every result is one of the inputs: a program that echoes its input passes them"
STUB = "no case expects a result: a stub passes all of them"
NOTHING: tuple[Any, ...] = (None, "", [], {}, {"$set": []}, {"$frozenset": []}, {"$iterator": []}, {"$bytes": ""})
SEQUENCES = {"$tuple": "t", "$set": "s", "$frozenset": "z", "$iterator": "g"}  # tag in a case → letter of the probe
JOINED = (" ", "", ",", ", ", "\n")
BRACKETS = "()[]{}'\","
LONGEST = 20_000  # characters; longer results are tried only as they are, without other wrappings
_EVERY_ANSWER_HAS = "content-type content-length date server connection keep-alive transfer-encoding"
PLAIN_HEADERS = frozenset(_EVERY_ANSWER_HAS.split())


def passing_mutant(cases: Sequence[Shown]) -> str:
    """A sentence about a mutant that passes all these cases of one entry point; "" if each mutant fails at least one of
    the cases."""
    unexplained, echoed = list[Case](), False
    for case in cases:
        if isinstance(case, BrowserCheck):
            typed = (unquote(case.page), *(action.type or action.choose or "" for action in case.actions))
            if any(word.strip() and not any(word in text for text in typed) for word in (*case.sees, *case.tree)):
                return ""  # the page must show a text that was not typed into it, so no mutant knows that text
        elif _passes(case, NOTHING):
            continue
        elif _passes(case, _inputs(case)) or _only_wraps(case):
            echoed = True
        else:
            unexplained.append(case)
    if not unexplained:
        return ECHO if echoed else STUB
    return (
        CONSTANT
        if any(
            all(_passes(case, _expected_values(example), like=example) for case in unexplained)
            for example in unexplained
        )
        else ""
    )


# -- one mutant's answer, and the engine's own comparison --------------------------------------------------------------


def _passes(case: Case, values: Iterable[Any], like: Case | None = None) -> bool:
    """Whether a program that returns one of these values, in any wrapping, passes the case.

    `like`: another case. If given, the program may also do what `like` expects besides the result: change its
    arguments, or send headers.
    """
    if isinstance(case, CallCase):
        return any(_passes_call(case, record) for record in _records(case, values, like))
    every = {text: None for value in values for text in _texts(_json(value), 2 if like else 1)}
    if isinstance(case, RunCase):
        return any(not difference(case, case.exit, text) for text in every)
    return any(_passes_exchange(case, headers, text) for headers in _headers(case, like) for text in every)


def _passes_call(case: CallCase, record: dict[str, Any]) -> bool:
    return compare_call(case, record)[0] is Outcomes.PASSED


def _passes_exchange(case: HttpCase, headers: dict[str, str], body: bytes) -> bool:
    answer = HttpAnswer(case.status or 200, tuple(headers.items()), body)
    return compare_answer(case, answer)[0] is Outcomes.PASSED


def _records(case: CallCase, values: Iterable[Any], like: Case | None) -> Iterator[dict[str, Any]]:
    """What the probe in the sandbox would write about a call with these results."""
    example_arguments = like.args_after if isinstance(like, CallCase) else None
    final_arguments = [list(case.args), *([] if example_arguments is None else [list(example_arguments)])]
    for after in final_arguments:
        arguments = {"args": _in_probe_format(after), "kwargs": _in_probe_format(dict(case.kwargs))}
        if case.raises is not None:
            yield {"raised": [_lineage(case)], "stage": "call", "text": "", **arguments}
            continue
        for value in values:
            yield from (
                {"returned": node, **arguments} for node in _all_in_probe_format(_json(value), 2 if like else 1)
            )


def _lineage(case: CallCase) -> str:
    name = (case.raises or "").replace(":", ".")
    if "." in name or is_node(case.call):
        return name
    return f"builtins.{name}" if isinstance(getattr(builtins, name, None), type) else f"project.{name}"


def _headers(case: HttpCase, like: Case | None) -> Iterator[dict[str, str]]:
    """The sets of headers with which a mutant's answer is tried.

    Each set has the common headers (`PLAIN_HEADERS`) that the case expects. The first set has no other header. In
    further sets, the case's other headers all have one text of the request as their value, or have the values that
    `like` expects.
    """
    telling = [name for name in case.headers if name.lower() not in PLAIN_HEADERS]
    plain = {name: value for name, value in case.headers.items() if name not in telling}
    yield plain
    if telling:
        yield from ({**plain, **dict.fromkeys(telling, text)} for text in _sent_texts(case))
        if isinstance(like, HttpCase):
            yield {**plain, **like.headers}


# -- what a mutant can return ------------------------------------------------------------------------------------------


def _expected_values(case: Case) -> list[Any]:
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
        arguments = [*case.args, *case.kwargs.values()]
        return [*arguments, arguments, dict(case.kwargs), *_joined(arguments)]
    if isinstance(case, RunCase):
        words = list(case.run[started_program(case.run).words :])
        rests = [words[start:] for start in range(len(words))]
        texts = [*words, *case.run, case.stdin, *case.files.values(), *case.files]
        return [*texts, *rests, *(text for words_left in rests for text in _joined(words_left)), *_json_values(texts)]
    texts = _sent_texts(case)
    pairs = parse_qsl(urlsplit(case.http.path).query, keep_blank_values=True)
    values = [value for _, value in pairs]
    return [*texts, dict(pairs), values, *_joined(values), *_json_values(texts)]


def _sent_texts(case: HttpCase) -> list[str]:
    url = urlsplit(case.http.path)
    pairs = [text for pair in parse_qsl(url.query, keep_blank_values=True) for text in pair]
    segments = [unquote(segment) for segment in url.path.split("/") if segment]
    whole_texts = [case.http.body, url.query, unquote(url.query), case.http.path, url.path, unquote(url.path)]
    fields = [text for pair in parse_qsl(case.http.body) for text in pair]
    return [*whole_texts, *pairs, *segments, *fields, *_strings_in_object(case.http.body)]


def _strings_in_object(body: str) -> list[str]:
    """The strings among the values of a JSON object."""
    objects = [data for data in _json_values([body]) if isinstance(data, dict)]
    return [value for data in objects for value in data.values() if isinstance(value, str)]


def _joined(values: Sequence[Any]) -> list[str]:
    texts = [value if isinstance(value, str) else _json(value) for value in values]
    return [between.join(texts) for between in JOINED] if len(texts) > 1 else []


def _json_values(texts: Iterable[str]) -> list[Any]:
    values: list[Any] = []
    for text in texts:
        try:
            values.append(json.loads(text))
        except (ValueError, RecursionError):
            continue
    return values


def _only_wraps(case: Case) -> bool:
    """Whether the result is only the input, in the same order, with brackets, keys and quotes around it."""
    if isinstance(case, CallCase):
        arguments = [*case.args, *case.kwargs.values()]
        return case.raises is None and _leaves(case.returns) in [_leaves(arguments), *map(_leaves, arguments)]
    if isinstance(case, RunCase):
        result = case.stdout if case.stdout is not None else _json(case.stdout_json)
        words = case.run[started_program(case.run).words :]
        texts = [*("".join(words[start:]) for start in range(len(words))), case.stdin, *case.files.values()]
        return _without_brackets(result) in {_without_brackets(text) for text in texts}
    pairs = parse_qsl(urlsplit(case.http.path).query, keep_blank_values=True)
    bodies = [_leaves(body) for body in _json_values([case.http.body])]
    values = [[value for _, value in pairs], *([text] for text in _sent_texts(case)), *bodies]
    return case.json_ is not None and _leaves(case.json_) in values


def _leaves(value: Any) -> list[str]:
    """The values inside nested lists, tuples and dicts, flattened and as text."""
    members = _members_of(value)
    if members is not None:
        return [leaf for member in members for leaf in _leaves(member)]
    if isinstance(value, dict):
        return [leaf for member in value.values() for leaf in _leaves(member)]
    return [value if isinstance(value, str) else _json(value)]


def _without_brackets(text: str) -> str:
    return "".join(char for char in text if char not in BRACKETS and not char.isspace())


# -- the same value in other wrappings ---------------------------------------------------------------------------------


def _wrappings(value: Any, times: int) -> list[Any]:
    """The value, and every value that can be made of it in at most `times` steps.

    One step puts a value into a list, takes the only value out of a list, changes the kind of a sequence, or converts a
    value to or from text or bytes.
    """
    by_text, waiting = {_json(value): value}, [value]
    for _ in range(times):
        fresh = {_json(again): again for waiting_value in waiting for again in _wrappings_of_one_step(waiting_value)}
        waiting = [wrapped for name, wrapped in fresh.items() if name not in by_text]
        by_text |= fresh
    return list(by_text.values())


def _wrappings_of_one_step(value: Any) -> Iterator[Any]:
    text = value if isinstance(value, str) else _json(value)
    if len(text) > LONGEST:
        return
    members = _members_of(value)
    if members is not None:
        yield from (members, *({tag: members} for tag in SEQUENCES), *(members if len(members) == 1 else ()))
    elif isinstance(value, str):
        yield from (f"{value}\n", value.rstrip("\n"), {"$bytes": value}, *_json_values([value]))
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
    texts: dict[str, None] = {}
    for wrapped in _wrappings(json.loads(value), times):
        text, data = wrapped if isinstance(wrapped, str) else _json(wrapped), _json(wrapped)
        texts |= dict.fromkeys((text, f"{text}\n", text.rstrip("\n"), data, f"{data}\n"))
    return tuple(text.encode("utf-8", "surrogatepass") for text in texts)


@lru_cache(maxsize=4096)
def _all_in_probe_format(value: str, times: int) -> tuple[Any, ...]:
    """What a call may return for this value, which is given as JSON. The result is in the probe's format."""
    return tuple(map(_in_probe_format, _wrappings(json.loads(value), times)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _in_probe_format(value: Any) -> Any:
    """The value as the probe in the sandbox writes it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return ["i", f"{value:x}"]
    if isinstance(value, float):
        return ["f", repr(value)]
    if isinstance(value, list | tuple):
        return ["l", *map(_in_probe_format, value)]
    tag, content = next(iter(value.items())) if len(value) == 1 else ("", "")
    if tag in SEQUENCES:
        return [SEQUENCES[tag], *map(_in_probe_format, content)]
    if tag == "$bytes":
        return ["b", str(content).encode("utf-8", "surrogatepass").hex()]
    if tag == "$float":
        return ["f", repr(float(content))]
    if tag == "$object":
        return ["o", content]
    return ["d", *([key, _in_probe_format(part)] for key, part in value.items())]
