"""The quick look at replies: it says yes only where `jsonschema` finds nothing wrong, and it knows our own schemas."""

import subprocess
import sys
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from trued.agents.driver.quick_schema import surely_fits
from trued.agents.driver.reply_format import schema_errors
from trued.model import Finding, Reply

NAMES = st.sampled_from(["a", "b", "status"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.0, 1.0, 1.5]) | st.text("aé1", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
COUNTS = st.integers(0, 3)


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A schema of some keywords, also of some that the quick look does not know."""
    known = {
        "type": st.sampled_from(["object", "array", "string", "boolean", "null", "integer", "number"]),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "pattern": st.sampled_from(["a", "^a$", "[1é]"]),
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "items": inner,
        "properties": st.dictionaries(NAMES, inner, max_size=2),
        "additionalProperties": inner,
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
        "title": st.just("a title"),
    }
    unknown = {
        "not": inner,
        "oneOf": st.lists(inner, min_size=1, max_size=2),
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "patternProperties": st.dictionaries(st.just("^a"), inner, max_size=1),
        "propertyNames": st.just({"maxLength": 1}),
        "minimum": COUNTS,
        "uniqueItems": st.just(True),
        "type": st.just(["string", "null"]),
    }
    return st.booleans() | st.fixed_dictionaries({}, optional=known) | st.fixed_dictionaries({}, optional=unknown)


PARTS: st.SearchStrategy[Any] = st.recursive(st.just({}), keywords, max_leaves=5)


@given(value=VALUES, schema=PARTS, one=PARTS, two=st.just({"type": "string"}))
def test_a_yes_is_never_wrong(value: Any, schema: Any, one: Any, two: Any) -> None:
    whole = {**(schema if isinstance(schema, dict) else {}), "$defs": {"one": one, "two": two}}
    try:
        wrong = list(Draft202012Validator(whole).iter_errors(value))
    except RecursionError:
        wrong = ["it refers to itself"]
    assert not (surely_fits(value, whole) and wrong)


class Told(Reply):
    """A reply with most of what replies have."""

    findings: tuple[Finding, ...] = ()
    counts: dict[str, int | None] = {}  # noqa: RUF012
    way: Literal["this", "that"] = "this"


def told(**changed: Any) -> dict[str, Any]:
    finding = {"severity": "major", "what": "x"}
    return {"status": "DONE", "summary": "é", "findings": [finding], "counts": {"a": 1, "b": None}, **changed}


def test_a_good_reply_is_known_at_once() -> None:
    assert surely_fits(told(), Told.model_json_schema())
    assert surely_fits({}, Reply.model_json_schema())


@pytest.mark.parametrize(
    "changed",
    [
        {"status": "FINE"},
        {"summary": None},
        {"findings": [{"severity": "major"}]},
        {"findings": {}},
        {"counts": {"a": True}},
        {"counts": {"a": "1"}},
        {"way": "neither"},
        {"more": 1},
    ],
)
def test_a_reply_that_does_not_fit_is_told_why(changed: dict[str, Any]) -> None:
    schema = Told.model_json_schema()
    assert not surely_fits(told(**changed), schema)
    assert schema_errors(told(**changed), schema)


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert not surely_fits(1, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})


def test_a_supervisor_loads_no_validator_for_a_good_reply() -> None:
    lines = (
        "import sys",
        "import trued.agents.supervisor.__main__",
        "from trued.agents.driver.reply_format import schema_errors",
        "assert not schema_errors({'a': 'b'}, {'type': 'object', 'properties': {'a': {'type': 'string'}}})",
        "print(*{'jsonschema', 'pydantic', 'trued.protocols', 'trued.model'} & set(sys.modules))",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
