"""Translates a schema to OpenAI's strict mode, and translates replies back. In strict mode, an object has exactly the
properties that its schema lists; null stands for an optional property that is missing."""

from typing import Any

KEPT = (
    *("description", "enum", "const", "minItems", "maxItems"),
    *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
)
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
NULL = {"type": "null"}


class NotStrict(ValueError):
    """A part of the schema cannot be expressed in strict mode: it allows any value or any property name, or lists items
    by position."""


def to_strict(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The schema for strict mode, without the keywords that strict mode lacks; None if a part cannot be expressed, or
    if the schema is not for an object.

    Replies are still checked against the original schema.
    """
    definitions = schema.get("$defs", {})
    root = _resolved(schema, schema)
    try:
        node_schema = _node(root, schema)
        named = {name: _node(node, schema) for name, node in definitions.items()}
    except NotStrict:
        return None
    if node_schema.get("type") != "object":
        return None
    return {**node_schema, "$defs": named} if named else node_schema


def from_strict(value: Any, schema: dict[str, Any]) -> Any:
    """Convert a reply from the strict schema to the original: remove each null that stands for a missing property."""
    return _loose(value, schema, schema)


# -- to strict mode ---------------------------------------------------------------------------------------------------


def _node(node: Any, root: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise NotStrict
    if "$ref" in node:
        return {"$ref": node["$ref"]}  # strict mode allows nothing beside a $ref
    if len(node.get("allOf", ())) == 1:
        return _node(node["allOf"][0], root)
    node_schema = {key: node[key] for key in KEPT if key in node}
    if choices := node.get("anyOf") or node.get("oneOf"):
        return {**node_schema, "anyOf": [_node(choice, root) for choice in choices]}
    if "type" not in node:
        if "enum" in node or "const" in node:
            return node_schema
        raise NotStrict
    node_schema["type"] = node["type"]
    kinds = [node["type"]] if isinstance(node["type"], str) else node["type"]
    if node.get("format") in FORMATS:
        node_schema["format"] = node["format"]
    if "pattern" in node and "(?" not in node["pattern"]:  # strict mode has no lookaround
        node_schema["pattern"] = node["pattern"]
    node_schema |= _object(node, root) if "object" in kinds else {}
    if "array" in kinds:
        if "prefixItems" in node:
            raise NotStrict
        node_schema["items"] = _node(node.get("items"), root)
    return node_schema


def _object(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    if node.get("additionalProperties") or "patternProperties" in node or "properties" not in node:
        raise NotStrict
    needed = node.get("required", ())
    properties = {
        name: child if name in needed or _takes_null(node["properties"][name], root) else {"anyOf": [child, NULL]}
        for name, child in ((name, _node(inner, root)) for name, inner in node["properties"].items())
    }
    return {"properties": properties, "required": list(properties), "additionalProperties": False}


# -- and back ---------------------------------------------------------------------------------------------------------


def _loose(value: Any, node: Any, root: dict[str, Any]) -> Any:
    node = _resolved(node, root)
    if choices := node.get("anyOf") or node.get("oneOf") or node.get("allOf"):
        node = next((choice for choice in (_resolved(choice, root) for choice in choices) if _is_of(value, choice)), {})
    if isinstance(value, list):
        return [_loose(item, node.get("items", {}), root) for item in value]
    if not isinstance(value, dict):
        return value
    properties, needed = node.get("properties", {}), node.get("required", ())
    return {
        name: _loose(item, properties.get(name, {}), root)
        for name, item in value.items()
        if item is not None or name in needed or name not in properties or _takes_null(properties[name], root)
    }


def _is_of(value: Any, node: dict[str, Any]) -> bool:
    """Whether the value can belong to `node`, one alternative of a schema. A list fits if the alternative has `items`.
    An object fits if it has exactly the alternative's properties, with the values that the alternative fixes."""
    if isinstance(value, list):
        return "items" in node
    if not isinstance(value, dict) or set(value) != set(node.get("properties", {})):
        return False
    return all(value[name] == child["const"] for name, child in node["properties"].items() if "const" in child)


def _takes_null(node: dict[str, Any], root: dict[str, Any]) -> bool:
    node = _resolved(node, root)
    kinds = node.get("type", ())
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    return any(_takes_null(choice, root) for choice in node.get("anyOf") or node.get("oneOf") or ())


def _resolved(node: Any, root: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(node, dict):
        return {}
    name = node.get("$ref", "").removeprefix("#/$defs/")
    return _resolved(root.get("$defs", {}).get(name), root) if name else node
