"""A quick check whether a reply fits its schema. It never accepts a wrong reply. What it does not accept is left to
`jsonschema`.

`jsonschema` takes longer to load than all of the supervisor's own code. Most replies fit, and the schemas that pydantic
writes use few keywords, so the few lines here are usually enough.
"""

import re
from collections.abc import Callable
from typing import Any

from trued.support.lazy_regex import lazy_regex

DEPTH = 60  # a reply that is nested deeper, or a schema that refers to itself, is left to `jsonschema`
DEFINITION = lazy_regex(r"#/\$defs/([\w.-]+)")
SAYS_NOTHING = frozenset({"$defs", "title", "description", "default"})  # keywords that do not restrict the value

# `True` and `1` are equal in Python and not in JSON, so the exact type is compared.
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}

# Keyword → a function of a value and the keyword's argument: whether the value surely meets the keyword.
SIMPLE: dict[str, Callable[[Any, Any], bool]] = {
    "type": lambda value, name: isinstance(name, str) and type(value) in TYPES.get(name, ()),
    "enum": lambda value, listed: isinstance(value, str) and value in listed,
    "const": lambda value, wanted: isinstance(value, str) and value == wanted,
    "minLength": lambda value, least: isinstance(value, str) and len(value) >= least,
    "maxLength": lambda value, most: isinstance(value, str) and len(value) <= most,
    "pattern": lambda value, pattern: isinstance(value, str) and re.search(pattern, value) is not None,
    "minItems": lambda value, least: isinstance(value, list) and len(value) >= least,
    "maxItems": lambda value, most: isinstance(value, list) and len(value) <= most,
    "required": lambda value, names: isinstance(value, dict) and all(name in value for name in names),
}


def surely_fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether the value certainly fits the schema. False means: ask `jsonschema`."""
    return _fits(value, schema, schema.get("$defs", {}), DEPTH)


def _fits(value: Any, schema: Any, definitions: dict[str, Any], depth: int) -> bool:
    if schema is True or not isinstance(schema, dict) or not depth:
        return schema is True

    def fits(inner: Any, by: Any) -> bool:
        return _fits(inner, by, definitions, depth - 1)

    def meets(keyword: str, argument: Any) -> bool:
        if keyword in SIMPLE:
            return SIMPLE[keyword](value, argument)
        if keyword == "$ref":
            name = DEFINITION.fullmatch(argument)
            return name is not None and fits(value, definitions.get(name[1]))
        if keyword == "anyOf":
            return any(fits(value, choice) for choice in argument)
        if keyword == "items":
            return isinstance(value, list) and all(fits(item, argument) for item in value)
        if keyword in ("properties", "additionalProperties") and isinstance(value, dict):
            named = schema.get("properties", {})
            if keyword == "properties":
                return all(fits(value[name], by) for name, by in named.items() if name in value)
            return all(fits(inner, argument) for name, inner in value.items() if name not in named)
        return keyword in SAYS_NOTHING

    return all(meets(keyword, argument) for keyword, argument in schema.items())
