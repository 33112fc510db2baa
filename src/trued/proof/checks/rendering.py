"""When an answer is the value that a person wrote down: compared here, in the engine's process, as data.

A list in a requirements file stands for a list or a tuple, a number for the same number as int or float (true is no
number), an object for a dict (JSON's way: its keys as text). {"$tuple": …}, {"$set": …}, {"$frozenset": …},
{"$bytes": "text"}, {"$float": "nan"}, {"$iterator": …} and {"$object": "module.Class"} ask for exactly that. Of Node's
values null stands for undefined, too, and a field that is undefined is none, as JSON has it; {"$object": "undefined"}
asks for exactly that, {"$object": "Date 2020-01-01T00:00:00.000Z"} for a date.
"""

import re
from collections.abc import Iterable
from typing import Any

_TAGS = {"$tuple": "t", "$iterator": "g"}
DEEPEST = 80  # deeper than the script in the sandbox goes
DEEPEST_WISH = 50  # an answer is never shown deeper than a little more than that
LONGEST_KEY = 2000  # hexadecimal digits: Python refuses to write longer numbers as decimals
_SCALARS = {
    "i": re.compile(r"-?[0-9a-f]+"),
    "f": re.compile(r"-?(inf|nan|[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?)"),
    "b": re.compile(r"([0-9a-f]{2})*"),
    "o": re.compile(r".*", re.DOTALL),
}
UNDEFINED = ["o", "undefined"]  # only Node says so: every name in Python has a module before it
_BAGS = {"$set": "s", "$frozenset": "z"}


def equal(expected: Any, node: Any) -> bool:
    """Does the rendered answer `node` say what `expected` says?"""
    if expected is None:
        return node is None or node == UNDEFINED
    if isinstance(expected, bool | str):
        return type(node) is type(expected) and node == expected
    if isinstance(expected, int | float):
        return _same_number(expected, node)
    if isinstance(expected, list | tuple):
        return _is(node, "l", "t", "r") and _in_order(list(expected), node[1:])
    if isinstance(expected, dict):
        tagged = _tagged(expected, node)
        return _same_mapping(expected, node) if tagged is None else tagged
    return False


def shown(node: Any, most: int = 300) -> str:
    """An answer for people."""
    text = _shown(node)
    return text if len(text) <= most else f"{text[:most]}…"


def parsed(data: Any) -> Any:
    """Parsed JSON as a rendered answer."""
    if isinstance(data, bool) or data is None or isinstance(data, str):
        return data
    if isinstance(data, int):
        return ["i", f"{data:x}"]
    if isinstance(data, float):
        return ["f", repr(data)]
    if isinstance(data, list):
        return ["l", *map(parsed, data)]
    return ["d", *([key, parsed(value)] for key, value in data.items())]


def _is(node: Any, *tags: str) -> bool:
    return isinstance(node, list) and bool(node) and node[0] in tags


def _number(node: Any) -> int | float | None:
    if _is(node, "i"):
        return int(node[1], 16)
    return float(node[1]) if _is(node, "f") else None


def _same_number(expected: int | float, node: Any) -> bool:
    found = _number(node)
    if found is None:
        return False
    return found == expected or (found != found and expected != expected)  # only NaN differs from itself


def _in_order(expected: list[Any], nodes: list[Any]) -> bool:
    return len(expected) == len(nodes) and all(map(equal, expected, nodes))


def _as_bag(expected: list[Any], nodes: list[Any]) -> bool:
    left = list(nodes) if len(nodes) == len(expected) else []
    for one in expected:
        match = next((place for place, node in enumerate(left) if equal(one, node)), None)
        if match is None:
            return False
        del left[match]
    return len(nodes) == len(expected)


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
    if not _is(node, "d") or len(node) - 1 < len(expected):
        return False
    found = {_key(pair[0]): pair[1] for pair in node[1:]}
    lost = [key for key, value in found.items() if value == UNDEFINED and key not in expected]
    found = {key: value for key, value in found.items() if key not in lost}
    return found.keys() == expected.keys() and all(equal(value, found[key]) for key, value in expected.items())


def _key(node: Any) -> str | None:
    if isinstance(node, bool):
        return "true" if node else "false"
    if node is None:
        return "null"
    if isinstance(node, str):
        return node
    if _number(node) is None or len(node[1]) > LONGEST_KEY:
        return None
    return str(_number(node))


def _shown(node: Any) -> str:
    if not isinstance(node, list):
        return repr(node)
    tag, rest = str(node[0]), node[1:]
    if tag in ("i", "f"):
        return _digits(node)
    if tag == "d":
        return "{" + ", ".join(f"{_shown(key)}: {_shown(value)}" for key, value in rest[:50]) + "}"
    if tag == "b":
        return repr(bytes.fromhex(rest[0]))
    if tag == "o":
        return f"<{rest[0]}>"
    marks = {"t": ("(", ")"), "s": ("{", "}"), "z": ("frozenset({", "})"), "g": ("iterator(", ")")}.get(tag, ("[", "]"))
    return marks[0] + ", ".join(_shown(one) for one in rest[:50]) + marks[1]


def _digits(node: list[Any]) -> str:
    return str(_number(node)) if len(node[1]) < 100 else f"0x{node[1][:100]}…"


# -- is it a value that can be expected at all? An agent may have written it -------------------------------------------


def flaw(expected: Any, depth: int = 0) -> str:
    """What is wrong with a value that is written down, or "". After that, comparing it cannot fail."""
    if expected is None or isinstance(expected, bool | str | int | float):
        return ""
    if depth > DEEPEST_WISH:
        return f"it is nested more than {DEEPEST_WISH} deep"
    if isinstance(expected, list | tuple):
        return _first_flaw(expected, depth)
    if not isinstance(expected, dict) or not all(isinstance(key, str) for key in expected):
        return f"{type(expected).__name__} is no kind of data here"
    tag = next(iter(expected)) if len(expected) == 1 else ""
    wrong = _tag_flaw(tag, expected.get(tag))
    return wrong or _first_flaw(expected.values(), depth)


def _first_flaw(values: Iterable[Any], depth: int) -> str:
    return next((wrong for wrong in (flaw(one, depth + 1) for one in values) if wrong), "")


def _tag_flaw(tag: str, inner: Any) -> str:
    if tag in _TAGS or tag in _BAGS:
        return "" if isinstance(inner, list | tuple) else f"{tag} needs a list"
    try:
        if tag == "$float":
            float(inner)
        if tag in ("$bytes", "$object"):
            str.encode(inner)
    except (TypeError, ValueError, OverflowError):
        return f"{tag} cannot be made of {str(inner)[:50]!r}" if isinstance(inner, str) else f"{tag} needs text"
    return ""


# -- is it an answer at all? The head's process may say anything -------------------------------------------------------


def sound(node: Any, depth: int = 0) -> bool:
    """A rendering as the engine's own script writes it, and nothing else."""
    if node is None or isinstance(node, bool | str):
        return True
    if depth > DEEPEST or not isinstance(node, list) or not node or not isinstance(node[0], str):
        return False
    tag, rest = node[0], node[1:]
    if tag in _SCALARS:
        return len(rest) == 1 and isinstance(rest[0], str) and _SCALARS[tag].fullmatch(rest[0]) is not None
    if tag == "d":
        return all(isinstance(one, list) and len(one) == 2 and _all_sound(one, depth) for one in rest)
    return tag in "ltszgr" and len(tag) == 1 and _all_sound(rest, depth)


def _all_sound(nodes: list[Any], depth: int) -> bool:
    return all(sound(one, depth + 1) for one in nodes)
