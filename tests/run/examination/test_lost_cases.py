"""What a requirement lost since its contract was sealed, and which cases are known from a disclosed one."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from trued.inputs.clauses import quoted_clauses
from trued.model import Case
from trued.run.examination.second_examiner import is_known_from

BOTH = "`double(x)` returns twice its argument, and `triple(x)` returns three times its argument."


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    ("quote", "touched"),
    [
        ("`double(x)` returns twice its argument", (0,)),
        ("three times", (1,)),
        (BOTH, (0, 1)),
        ("twice its argument, and  `triple(x)`", (0, 1)),
    ],
)
def test_a_quotation_belongs_to_every_clause_that_it_touches(quote: str, touched: tuple[int, ...]) -> None:
    both = ("`double(x)` returns twice its argument", "`triple(x)` returns three times its argument.")
    assert quoted_clauses(BOTH, quote) == tuple(both[one] for one in touched)


def test_a_quotation_of_nothing_stands_for_itself() -> None:
    assert quoted_clauses(BOTH, "four times") == ("four times",)


def read(written: dict[str, Any]) -> Any:
    return TypeAdapter(Case).validate_python(written)


CALL = {"call": "tiny:double", "args": [5], "returns": 10, "quotes": "twice"}
TWO = {"call": "tiny:add", "kwargs": {"a": 1, "b": 2}, "returns": 3}
RUN = {"run": ["python", "-m", "tiny", "5"], "stdout": "10"}
EXCHANGE = {"http": {"method": "GET", "path": "/items"}, "json": ["nail"]}


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(
    ("disclosed", "shown", "known"),
    [
        (CALL, {**CALL, "quotes": "another clause", "within_s": 3}, True),
        (CALL, {"call": "tiny:double", "kwargs": {"x": 5.0}, "returns": 10}, True),
        (CALL, {**CALL, "returns": 11}, True),
        (CALL, {**CALL, "args": [6], "returns": 12}, False),
        (CALL, {**CALL, "call": "tiny:triple"}, False),
        (CALL, RUN, False),
        (RUN, {**RUN, "exit": 0}, True),
        (RUN, {**RUN, "stdin": "6"}, False),
        (EXCHANGE, {"http": {"path": "/items"}, "json": ["nail"], "quotes": "lists"}, True),
        (TWO, {"call": "tiny:add", "kwargs": {"b": 2, "a": 1}, "returns": 3}, True),
        (TWO, {"call": "tiny:add", "args": [1], "kwargs": {"b": 2}, "returns": 3}, True),
        (TWO, {"call": "tiny:add", "args": [1, 2], "returns": 3}, True),
        (TWO, {"call": "tiny:add", "kwargs": {"a": 2, "b": 1}, "returns": 3}, False),
        (TWO, {"call": "tiny:add", "kwargs": {"a": 1, "b": 2, "c": 3}, "returns": 6}, False),
        (TWO, {"call": "tiny:add", "args": [1, 3], "returns": 4}, False),
        (EXCHANGE, {**EXCHANGE, "headers": {"content-type": "application/json"}}, True),
        (EXCHANGE, {**EXCHANGE, "status": 200}, True),
        (EXCHANGE, {**EXCHANGE, "http": {"method": "GET", "path": "/items/1"}}, False),
        (EXCHANGE, {**EXCHANGE, "json": ["nail", "screw"]}, False),  # there was another exchange before it
    ],
)
def test_whoever_saw_a_case_knows_the_result_of_every_case_with_the_same_input(
    disclosed: dict[str, Any], shown: dict[str, Any], *, known: bool
) -> None:
    assert is_known_from(read(disclosed), read(shown)) is known
