"""Answers of example calls and command lines: garbage in any place is never a pass, and never a crash."""

import json
from dataclasses import replace
from typing import Any

from tests.fuzz.mutation import Mutator
from tests.fuzz.rooms import heard, lines, place, run, said
from trued.model import CallCase, ExamplesCheck, Outcomes, RunCase, Tried
from trued.proof.checks import examples
from trued.proof.room.bench import CaseSelection
from trued.protocols import Command, CommandResult

CALLS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"args": [4], "returns": 8}, {"returned": [10, "8"], "args": [1, 10, "4", 0]}),
    ({"args": ["A b"], "returns": "a-b"}, {"returned": ["a-b"], "args": [1, "A b", 0]}),
    ({"args": [], "returns": None}, {"returned": [None], "args": [1, 0]}),
    ({"args": [], "returns": True}, {"returned": [True], "args": [1, 0]}),
    (
        {"args": [[1, 2.5]], "returns": {"a": [1, None], "b": {}}},
        {
            "returned": [5, "a", 1, 10, "1", None, 0, "b", 5, 0, 0],
            "args": [1, 1, 10, "1", 11, "2.5", 0, 0],
        },
    ),
    (
        {"args": [7], "raises": "TypeError"},
        {
            "raised": ["builtins.TypeError", "builtins.Exception"],
            "stage": "call",
            "text": "no",
            "args": [1, 10, "7", 0],
        },
    ),
]
RUNS: list[tuple[dict[str, Any], bytes]] = [
    ({"stdout": "a-b\n"}, b"a-b\n"),
    ({"stdout_json": {"a": [1, 2.5, None, True]}}, b'{"a": [1, 2.5, null, true]}\n'),
    ({"exit": 3}, b""),
]


def feed(chance: Mutator) -> bytes:
    return _call(chance) if chance.random.random() < 0.8 else _run(chance)


def _call(chance: Mutator) -> bytes:
    given, answer = chance.random.choice(CALLS)
    case = CallCase.model_validate({"call": "kit:f", **given})
    speaking, bench, _ = place()
    spoken: list[tuple[CommandResult, str]] = []

    def respond(command: Command) -> CommandResult:
        token = str(json.loads(command.stdin.partition(b"\n")[2])["nonce"])
        ran = _garbled(chance, token, {"kwargs": [5, 0], "ran": [], **answer})
        spoken.append((ran, token))
        return ran

    speaking.answer = respond
    fact = run(examples.run_examples(ExamplesCheck(cases=(case,)), bench, CaseSelection()))
    (tried,) = fact.tried
    if tried.outcome is Outcomes.PASSED:
        assert all(_really(given, ran, token) for ran, token in spoken), "passed by an answer that does not say so"
    assert Tried.model_validate_json(tried.model_dump_json()) == tried
    return str(tried.outcome).encode()


def _garbled(chance: Mutator, token: str, answer: dict[str, Any]) -> CommandResult:
    """Changed inside, around, on the channel, or in how the process ended."""
    level = chance.random.randrange(10)
    inner = chance.value([answer]) if 1 <= level <= 5 else answer
    record: Any = {"said": json.dumps(inner) + "\n", "exit": 0, "late": False, "large": False, "seconds": 0.1}
    if level == 6:
        record["said"] = chance.text([record["said"].encode()]).decode("utf-8", "replace")
    if level == 7:
        record = chance.value([record])
    data = lines(token, record)
    if level == 8:
        data = chance.text([data, lines(token, [record, record])])
    ran = said(data)
    if level == 9:
        odd: dict[str, Any] = chance.random.choice(
            [{"exit_code": 1}, {"exit_code": None}, {"timed_out": True}, {"flooded": True}]
        )
        ran = replace(ran, **odd)
    return ran


def _really(given: dict[str, Any], ran: CommandResult, token: str) -> bool:
    """Does the answer say what was asked for? Read anew, by other code than the engine's."""
    records = heard(ran.answers, token)
    if records is None or len(records) != 1 or ran.exit_code != 0 or ran.timed_out or ran.flooded:
        return False
    told = [one for one in str(records[0].get("said")).split("\n") if one]
    answer = json.loads(told[0]) if len(told) == 1 else {}
    if records[0].get("late") or records[0].get("large") or "missing" in answer:
        return False
    if not same(given["args"], _decoded(answer.get("args"))) or not same({}, _decoded(answer.get("kwargs"))):
        return False
    if "raises" in given:
        return f"builtins.{given['raises']}" in answer["raised"] and answer.get("stage") != "import"
    return "raised" not in answer and "returned" in answer and same(given["returns"], _decoded(answer["returned"]))


class Odd:
    """Equal to nothing."""


def _decoded(words: Any) -> Any:
    left = list(words) if isinstance(words, list) else []
    found = _one(left)
    return Odd() if left else found


def _one(left: list[Any]) -> Any:
    """The value that the words begin with; they are used up by it."""
    match left.pop(0) if left else Odd():
        case None | bool() | str() as plain:
            return plain
        case 10:
            return int(left.pop(0), 16)
        case 11:
            return float(left.pop(0))
        case 1 | 2 | 6:
            return _until_its_end(left)
        case 5:
            parts = _until_its_end(left)
            if any(isinstance(one, list | dict) for one in parts[::2]):
                return Odd()
            return dict(zip(parts[::2], parts[1::2], strict=True))
    return Odd()


def _until_its_end(left: list[Any]) -> list[Any]:
    parts = []
    while (left and left[0] != 0) or (left and isinstance(left[0], bool)):
        parts.append(_one(left))
    del left[:1]
    return parts


def same(expected: Any, found: Any) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool) or expected is None or isinstance(expected, str):
        return type(expected) is type(found) and bool(expected == found)
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, expected, found))
    if isinstance(expected, dict):
        names = {str(key): value for key, value in found.items()} if isinstance(found, dict) else None
        return (
            names is not None
            and names.keys() == expected.keys()
            and all(same(value, names[key]) for key, value in expected.items())
        )
    return isinstance(found, int | float) and found == expected


def _run(chance: Mutator) -> bytes:
    given, stdout = chance.random.choice(RUNS)
    case = RunCase.model_validate({"run": ["tool"], **given})
    speaking, bench, _ = place()
    code = chance.random.choice((case.exit, case.exit, case.exit, 1, 127, None, -9))
    out = chance.text([stdout]) if chance.random.random() < 0.8 else stdout
    ran = said(b"", stdout=out, stderr=chance.text([b"No module named 'x'"]), exit_code=code)
    ran = replace(ran, timed_out=chance.random.random() < 0.05, flooded=chance.random.random() < 0.05)
    speaking.answer = lambda command: ran
    fact = run(examples.run_examples(ExamplesCheck(cases=(case,)), bench, CaseSelection()))
    (tried,) = fact.tried
    if tried.outcome is Outcomes.PASSED:
        assert code == case.exit
        assert not ran.timed_out
        assert not ran.flooded
        assert case.stdout is None or out == case.stdout.encode()
        assert "stdout_json" not in given or same(given["stdout_json"], json.loads(out))
    return str(tried.outcome).encode()
