"""When an answer is the value that a person wrote down: compared here, in the engine's process, as data.

A list in a requirements file stands for a list or a tuple, a number for the same number as int or float (true is no
number), an object for a dict (JSON's way: its keys as text). {"$tuple": …}, {"$set": …}, {"$frozenset": …},
{"$bytes": "text"}, {"$float": "nan"}, {"$iterator": …} and {"$object": "module.Class"} ask for exactly that.
"""

import math
from typing import Any

_TAGS = {"$tuple": "t", "$iterator": "g"}
_BAGS = {"$set": "s", "$frozenset": "z"}


def equal(expected: Any, node: Any) -> bool:
    """Does the rendered answer `node` say what `expected` says?"""
    if expected is None or isinstance(expected, bool | str):
        return type(node) is type(expected) and node == expected
    if isinstance(expected, int | float):
        return _same_number(expected, node)
    if isinstance(expected, list | tuple):
        return _is(node, "l", "t", "r") and _in_order(list(expected), _items(node))
    if isinstance(expected, dict):
        tagged = _tagged(expected, node)
        return _same_mapping(expected, node) if tagged is None else tagged
    return False


def shown(node: Any, most: int = 300) -> str:
    """An answer for people."""
    text = _shown(node)
    return text if len(text) <= most else f"{text[:most]}…"


def _is(node: Any, *tags: str) -> bool:
    return isinstance(node, list) and bool(node) and node[0] in tags


def _items(node: list[Any]) -> list[Any]:
    if node[0] == "r":
        return [["i", f"{one:x}"] for one in range(*node[1:4])][:20_000]
    return node[1:]


def _number(node: Any) -> int | float | None:
    if _is(node, "i"):
        return int(node[1], 16)
    return float(node[1]) if _is(node, "f") else None


def _same_number(expected: int | float, node: Any) -> bool:
    found = _number(node)
    if found is None:
        return False
    return found == expected or (isinstance(found, float) and math.isnan(found) and math.isnan(expected))


def _in_order(expected: list[Any], nodes: list[Any]) -> bool:
    return len(expected) == len(nodes) and all(map(equal, expected, nodes))


def _as_bag(expected: list[Any], nodes: list[Any]) -> bool:
    left = list(nodes)
    for one in expected:
        match = next((place for place, node in enumerate(left) if equal(one, node)), None)
        if match is None:
            return False
        del left[match]
    return not left


def _tagged(expected: dict[str, Any], node: Any) -> bool | None:
    """None: a plain object."""
    if len(expected) != 1:
        return None
    tag, inner = next(iter(expected.items()))
    if tag in _TAGS:
        return _is(node, _TAGS[tag]) and _in_order(list(inner), node[1:])
    if tag in _BAGS:
        return _is(node, _BAGS[tag]) and _as_bag(list(inner), node[1:])
    if tag == "$bytes":
        return _is(node, "b") and node[1] == str(inner).encode().hex()
    if tag == "$float":
        return _is(node, "f") and _same_number(float(inner), node)
    return (_is(node, "o") and node[1] == inner) if tag == "$object" else None


def _same_mapping(expected: dict[str, Any], node: Any) -> bool:
    if not _is(node, "d") or len(node) - 1 != len(expected):
        return False
    found = {_key(pair[0]): pair[1] for pair in node[1:]}
    return found.keys() == expected.keys() and all(equal(value, found[key]) for key, value in expected.items())


def _key(node: Any) -> str | None:
    if isinstance(node, bool):
        return "true" if node else "false"
    if node is None:
        return "null"
    number = _number(node)
    return node if isinstance(node, str) else str(number) if number is not None else None


def _shown(node: Any) -> str:
    if not isinstance(node, list):
        return repr(node)
    tag, rest = (node[0], node[1:]) if node else ("o", ["nothing"])
    if tag in ("i", "f"):
        return str(_number(node))
    if tag == "d":
        return "{" + ", ".join(f"{_shown(key)}: {_shown(value)}" for key, value in rest[:50]) + "}"
    if tag == "b":
        return repr(bytes.fromhex(rest[0]))
    if tag == "o":
        return f"<{rest[0]}>"
    if tag == "r":
        return f"range({', '.join(map(str, rest))})"
    opening, closing = {"l": "[]", "t": "()", "s": "{}"}.get(tag, "[]")
    return opening + ", ".join(_shown(one) for one in rest[:50]) + closing
