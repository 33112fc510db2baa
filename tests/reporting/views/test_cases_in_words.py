"""A case that a person approves is shown completely."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from trued.model import Case
from trued.reporting.views.cases import described

CASES: list[dict[str, Any]] = [
    {"call": "kit:f", "args": ["arg-1"], "kwargs": {"key-1": "value-1"}, "returns": "result-1", "within_s": 1.5},
    {"call": "kit:f", "args": [["arg-2"]], "raises": "Odd", "args_after": [["after-2"]]},
    {"run": ["python", "kit.py", "{files}/n.txt"], "files": {"n.txt": "a  b\n"}, "stdin": "fed-3", "stdout": "out-3\n"},
    {"run": ["python", "kit.py"], "files": {"x": "y" * 2_000}, "stdout_json": {"json-4": 1}, "exit": 7},
    {
        "http": {"method": "PUT", "path": "/path-5", "headers": {"x-sent": "sent-5"}, "body": "body-5"},
        "status": 201,
        "json": {"json-5": 1},
        "headers": {"x-back": "back-5"},
        "setup": True,
    },
]


def texts_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [one for key, each in value.items() for one in (*texts_in(key), *texts_in(each))]
    return [one for each in value for one in texts_in(each)] if isinstance(value, list) else [str(value)]


@pytest.mark.spec("LAW-7", "USE-10")
@pytest.mark.parametrize("data", CASES)
def test_every_value_of_a_case_is_in_its_words(data: dict[str, Any]) -> None:
    shown = described(TypeAdapter(Case).validate_python(data))
    assert "\n" not in shown
    for value in data.values():
        for text in texts_in(value):
            known = (
                "method",
                "path",
                "headers",
                "body",
                "True",
            )  # names of fields, and a flag that is described in words
            assert text in known or repr(text)[1:-1] in shown, text
    assert ("first, " in shown) is data.get("setup", False)


@pytest.mark.spec("DAY-9", "DAY-12")
def test_json_is_shown_as_json() -> None:
    data = {"http": {"path": "/books"}, "status": 200, "json": [{"title": "Emma", "sold": None, "new": True}]}
    shown = described(TypeAdapter(Case).validate_python(data))
    assert shown == 'GET /books → status 200, json [{"title": "Emma", "sold": null, "new": true}]'
    data = {"run": ["books"], "stdout_json": {"new": True}}
    assert 'prints {"new": true} as JSON' in described(TypeAdapter(Case).validate_python(data))
