"""Schemas are translated to OpenAI's strict mode, and replies back."""

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field

from trued.agents.driver.strict_schema import FORMATS, KEPT, from_strict, to_strict
from trued.run.run import ProposedPlan

KNOWN = {*KEPT, "type", "format", "pattern", "properties", "required", "additionalProperties"}
KNOWN |= {"items", "anyOf", "$ref", "$defs"}


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Circle(Shape):
    kind: Literal["circle"] = "circle"
    radius: float = Field(1.0, gt=0)
    label: str = ""


class Square(Shape):
    kind: Literal["square"] = "square"
    side: float
    tags: list[str] = Field(default_factory=list, max_length=3)


class Drawing(Shape):
    title: str = Field(min_length=1, max_length=80)
    note: str | None = None
    size: int = Field(3, ge=1)
    shapes: list[Circle | Square] = []
    main: Circle = Circle()
    inner: "Drawing | None" = None


def nodes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    below = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    below += [schema["items"]] if "items" in schema else []
    return [schema, *(node for one in below for node in nodes(one))]


@pytest.mark.parametrize("kind", [Drawing, ProposedPlan])
def test_every_object_is_closed_every_property_required_and_every_keyword_known(kind: type[BaseModel]) -> None:
    told = to_strict(kind.model_json_schema())
    assert told is not None
    assert told["type"] == "object"
    Draft202012Validator.check_schema(told)
    for node in nodes(told):
        assert set(node) <= KNOWN
        assert node.get("format") in (None, *FORMATS)
        if "$ref" in node:
            assert set(node) == {"$ref"}
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


def test_an_optional_property_is_null_in_the_strict_answer_and_absent_in_ours() -> None:
    schema = Drawing.model_json_schema()
    circle = {"kind": "circle", "radius": None, "label": "x"}
    square = {"kind": "square", "side": 2.0, "tags": None}
    inner = {"title": "i", "note": None, "size": None, "shapes": None, "main": None, "inner": None}
    said = {"title": "t", "note": None, "size": 4, "shapes": [circle, square], "main": circle, "inner": inner}
    assert list(Draft202012Validator(to_strict(schema) or False).iter_errors(said)) == []
    assert from_strict(said, schema) == {
        "title": "t",
        "note": None,  # here null is an ordinary value
        "size": 4,
        "shapes": [{"kind": "circle", "label": "x"}, {"kind": "square", "side": 2.0}],
        "main": {"kind": "circle", "label": "x"},
        "inner": {"title": "i", "note": None, "inner": None},
    }
    assert Drawing.model_validate(from_strict(said, schema)).main.label == "x"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"any": {}}},
        {"type": "object", "properties": {"any": True}},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}},
        {"type": "object", "properties": {"pair": {"type": "array", "prefixItems": [{"type": "string"}]}}},
        {"type": "object", "properties": {"list": {"type": "array"}}},
        {"type": "array", "items": {"type": "string"}},
        {"anyOf": [{"type": "string"}]},
    ],
)
def test_what_strict_mode_cannot_say_is_not_said(schema: dict[str, Any]) -> None:
    assert to_strict(schema) is None


def test_a_pattern_that_looks_around_and_a_strange_format_are_left_to_our_own_check() -> None:
    properties = {
        "a": {"type": "string", "pattern": "^(?!x)", "format": "uri"},
        "b": {"type": "string", "pattern": "^x"},
    }
    told = to_strict({"type": "object", "properties": properties, "required": ["a", "b"]})
    assert told is not None
    assert told["properties"] == {"a": {"type": "string"}, "b": {"type": "string", "pattern": "^x"}}


LEAVES = st.sampled_from(
    [{"type": "string"}, {"type": "integer"}, {"type": ["string", "null"]}, {"enum": ["a", None]}, {"type": "boolean"}]
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def built(properties: dict[str, Any], needed: list[str]) -> dict[str, Any]:
        required = [name for name in properties if name in needed]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    names = st.sampled_from(["a", "b", "c"])
    return st.builds(built, st.dictionaries(names, inner, min_size=1), st.lists(names))


SCHEMAS = objects(
    st.recursive(
        LEAVES, lambda inner: objects(inner) | inner.map(lambda one: {"type": "array", "items": one}), max_leaves=8
    )
)


def answers(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A strategy for small values that fit a strict schema."""
    if "anyOf" in schema:
        return st.one_of(*(answers(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "object":
        return st.fixed_dictionaries({name: answers(one) for name, one in schema["properties"].items()})
    if schema["type"] == "array":
        return st.lists(answers(schema["items"]), max_size=2)
    simple = {"string": st.text(max_size=2), "integer": st.integers(), "boolean": st.booleans(), "null": st.none()}
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return st.one_of(*(simple[kind] for kind in kinds))


@given(SCHEMAS, st.data())
def test_whatever_keeps_the_strict_schema_keeps_ours_when_it_is_read_back(
    schema: dict[str, Any], data: st.DataObject
) -> None:
    told = to_strict(schema)
    assert told is not None
    said = data.draw(answers(told))
    assert list(Draft202012Validator(schema).iter_errors(from_strict(said, schema))) == []
