"""Compares an answer with the expected value, as data, in the engine's process.

A value in a requirements file stands for:

- a list: a list, a tuple or a range
- a number: the same number as int or float (true is not a number)
- one of these also stands for a value of an installed package that counts as it, such as `numpy.float64`
- an object: a dict, whose keys are compared as text (1 as "1"), because JSON has no other keys
- `{"$tuple": …}`, `{"$set": …}`, `{"$frozenset": …}`, `{"$bytes": "text"}`, `{"$float": "nan"}`, `{"$iterator": …}` and
  `{"$object": "module.Class"}`: exactly that

For values from Node, null also stands for undefined, and an undefined field counts as missing, as in JSON;
`{"$object": "undefined"}` stands for exactly undefined, `{"$object": "Date 2020-01-01T00:00:00.000Z"}` for a date,
`{"$object": "BigInt 5"}` for a BigInt, which is no number, and `{"$object": "Float64Array 1,2.5"}` for a typed array,
which is no list. A whole number that no number in Node can hold stands for the BigInt.
"""

import json
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from trued.support.lazy_regex import lazy_regex

_TAGS = {"$tuple": "t", "$iterator": "g"}
DEEPEST_WISH = 100  # the most levels of nesting in an expected value; deeper JSON could not be parsed again
MOST_WISHED = 24 << 20  # the most bytes of JSON in a case; an answer that equals it always fits through the channel
MOST_ANSWERED = 128 << 20  # the most bytes that a program may print or a server may answer; five times MOST_WISHED
MOST_DRAWN = 1_000_000  # the most members of {"$iterator": …}; the probe in the sandbox reads no more
LONGEST_NUMBER = 4000  # decimal digits; Python refuses to parse and print longer numbers
DEEPEST_SHOWN = 20
DEEPEST_HINT = 3
SHOWN = 300  # people are shown at most this many characters of an answer
# answer.py and answer.mjs use the same numbers. "n": the name of a class, and what its instance counts as.
_CONTAINERS = {1: "l", 2: "t", 3: "s", 4: "z", 5: "d", 6: "r", 7: "g", 8: "n"}
_NUMBERED = {10: "i", 11: "f", 12: "b", 13: "o"}
LONGEST_KEY = 2000  # hexadecimal digits; Python refuses to print longer numbers as decimals
_SCALARS = {
    "i": lazy_regex(r"-?[0-9a-f]+"),
    "f": lazy_regex(r"-?(inf|nan|[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?)"),
    "b": lazy_regex(r"[0-9a-f]*"),  # whether the digits come in pairs is checked when they are parsed
    "o": lazy_regex(r".*", re.DOTALL),
}
UNDEFINED = ["o", "undefined"]  # only Node can answer this: the name of a Python object's class includes its module
_BAGS = {"$set": "s", "$frozenset": "z"}


@dataclass(frozen=True, slots=True)
class UnfitAnswer:
    """An answer that could not be rendered, because it contains itself, is endless or is too large. It equals no
    expected value."""

    why: str

    @property
    def reason(self) -> str:
        """Why the answer was not compared, as part of a sentence."""
        return _UNFIT.get(self.why, "a value that could not be represented: not compared")


_UNFIT = {
    "cycle": "a value that contains itself (a cycle), which no expected value does",
    "endless": f"an iterator with more than {MOST_DRAWN:,} members: not compared",
    "large": f"more than {MOST_ANSWERED >> 20} MiB: not compared",
}


class UnsoundRendering(ValueError):
    """The data from the channel does not have the format that the engine's own probe writes."""


def matches(expected: Any, node: Any) -> bool:
    """Whether the rendered answer `node` equals the value `expected`, by the rules in the docstring of this module."""
    if isinstance(node, UnfitAnswer):
        return False
    if _has_tag(node, "n"):
        asks_for_class = isinstance(expected, dict) and expected.keys() == {"$object"}
        return bool(node[1] == expected["$object"]) if asks_for_class else matches(expected, node[2])
    if expected is None:
        return node is None or node == UNDEFINED
    if isinstance(expected, bool | str):
        return type(node) is type(expected) and node == expected
    if isinstance(expected, int | float):
        return _same_number(expected, node)
    if isinstance(expected, list | tuple):
        return _has_tag(node, "l", "t", "r") and _in_order(list(expected), node[1:])
    if isinstance(expected, dict):
        tagged = _matches_tagged(expected, node)
        return _same_mapping(expected, node) if tagged is None else tagged
    return False


def show_value(node: Any) -> str:
    """A rendered answer as text for people, cut if it is long."""
    text = node.reason if isinstance(node, UnfitAnswer) else _in_words(node)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def matches_json(expected: Any, text: bytes) -> bool:
    """Whether the text is JSON with the value `expected`. It must be UTF-8 without a byte order mark, which is what
    clients read (RFC 8259). An object that has a key twice equals no expected value."""
    try:
        return matches(expected, render_json(json.loads(text.decode(), object_pairs_hook=_with_each_key_once)))
    except (ValueError, RecursionError):
        return False


def _with_each_key_once(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    by_key = dict(entries)
    if len(by_key) < len(entries):
        raise ValueError("a key occurs twice")
    return by_key


def render_json(data: Any) -> Any:
    """Parsed JSON as a rendered answer, for `matches`."""
    if isinstance(data, bool) or data is None or isinstance(data, str):
        return data
    if isinstance(data, int):
        return ["i", f"{data:x}"]
    if isinstance(data, float):
        return ["f", repr(data)]
    if isinstance(data, list):
        return ["l", *map(render_json, data)]
    return ["d", *([key, render_json(value)] for key, value in data.items())]


def _has_tag(node: Any, *tags: str) -> bool:
    return isinstance(node, list) and bool(node) and node[0] in tags


def _number(node: Any) -> int | float | None:
    if _has_tag(node, "i"):
        return int(node[1], 16)
    return float(node[1]) if _has_tag(node, "f") else None


def _same_number(expected: int | float, node: Any) -> bool:
    number = _number(node)
    if number is None:  # an expected number that no number in Node can hold means a BigInt
        return isinstance(expected, int) and not is_exact(expected) and node == ["o", f"BigInt {expected}"]
    if _is_minus_zero(expected):
        return _is_minus_zero(number)  # an expected -0.0 equals only -0.0; an expected 0 equals both zeros
    return number == expected or (number != number and expected != expected)  # only NaN differs from itself


def is_exact(number: int) -> bool:
    """Whether a number in Node, where every number is a float, can be exactly this number."""
    try:
        return float(number) == number
    except OverflowError:
        return False


def _is_minus_zero(number: int | float) -> bool:
    return isinstance(number, float) and number == 0 and math.copysign(1, number) < 0


def _in_order(expected: list[Any], nodes: list[Any]) -> bool:
    return len(expected) == len(nodes) and all(map(matches, expected, nodes))


def _as_bag(expected: list[Any], nodes: list[Any]) -> bool:
    nodes_by_hint: dict[Any, list[Any]] = {}
    for node in nodes:
        nodes_by_hint.setdefault(_node_hint(node), []).append(node)
    for value in expected:
        candidates = nodes_by_hint.get(_hint(value), [])
        match = next((at for at, node in enumerate(candidates) if matches(value, node)), None)
        if match is None:
            return False
        del candidates[match]
    return len(nodes) == len(expected)


def _hint(expected: Any, depth: int = 0) -> Any:
    """A lookup key for a value. Equal values have equal keys; equal keys do not mean equal values."""
    if isinstance(expected, list | tuple):
        return _hints("q", expected, depth, _hint)
    if isinstance(expected, dict):
        tag = next(iter(expected)) if len(expected) == 1 else ""
        content: Any = expected.get(tag)
        if tag == "$float":
            return _hint(float(content))
        if [tag, content] == ["$object", "undefined"]:
            return None
        return _hints("q", content, depth, _hint) if tag in _TAGS else ""
    return None if expected != expected else expected


def _node_hint(node: Any, depth: int = 0) -> Any:
    node = node[2] if _has_tag(node, "n") else node
    if _has_tag(node, "l", "t", "r", "g"):
        return _hints("q", node[1:], depth, _node_hint)
    if _has_tag(node, "i", "f"):
        return _hint(_number(node))
    return ("" if node != UNDEFINED else None) if isinstance(node, list) else node


def _hints(kind: str, values: Sequence[Any], depth: int, hint: Any) -> Any:
    return (
        (kind, len(values), *(hint(value, depth + 1) for value in values[:DEEPEST_HINT]))
        if depth < DEEPEST_HINT
        else kind
    )


def _matches_tagged(expected: dict[str, Any], node: Any) -> bool | None:
    """Whether the answer matches a tagged value such as `{"$set": …}`; None if `expected` is a plain object."""
    if len(expected) != 1:
        return None
    tag, content = next(iter(expected.items()))
    if tag in _TAGS:
        return _has_tag(node, _TAGS[tag]) and _in_order(list(content), node[1:])
    if tag in _BAGS:
        return _has_tag(node, _BAGS[tag]) and _as_bag(list(content), node[1:])
    if tag == "$bytes":
        return _has_tag(node, "b") and node[1] == str(content).encode().hex()
    if tag == "$float":
        return _has_tag(node, "f") and _same_number(float(content), node)
    return (_has_tag(node, "o") and node[1] == content) if tag == "$object" else None


def _same_mapping(expected: dict[str, Any], node: Any) -> bool:
    if not _has_tag(node, "d"):
        return False
    entries = [(_key(key), value) for key, value in node[1:]]
    entries = [entry for entry in entries if entry[1] != UNDEFINED or entry[0] is None or entry[0] in expected]
    by_key = dict(entries)
    if len(by_key) < len(entries):  # two keys are the same text, such as 1 and "1"; no JSON object has a key twice
        return False
    return by_key.keys() == expected.keys() and all(matches(value, by_key[key]) for key, value in expected.items())


def _key(node: Any) -> str | None:
    node = node[2] if _has_tag(node, "n") else node
    if isinstance(node, bool):
        return "true" if node else "false"
    if node is None:
        return "null"
    if isinstance(node, str):
        return node
    if _number(node) is None or len(node[1]) > LONGEST_KEY:
        return None
    return str(_number(node))


def _in_words(node: Any, depth: int = 0) -> str:
    if not isinstance(node, list):
        return repr(node if not isinstance(node, str) else node[:1000])
    if depth > DEEPEST_SHOWN:
        return "…"
    tag, parts = str(node[0]), node[1:]
    if tag in ("i", "f"):
        return _digits(node)
    if tag == "d":
        return (
            "{"
            + ", ".join(f"{_in_words(key, depth + 1)}: {_in_words(value, depth + 1)}" for key, value in parts[:50])
            + "}"
        )
    if tag == "b":
        return repr(bytes.fromhex(parts[0][:2000]))
    if tag == "o":
        return f"<{parts[0]}>"
    if tag == "n":
        return f"{parts[0]}({_in_words(parts[1], depth)})"
    brackets = {"t": ("(", ")"), "s": ("{", "}"), "z": ("frozenset({", "})"), "g": ("iterator(", ")")}.get(
        tag, ("[", "]")
    )
    return brackets[0] + ", ".join(_in_words(part, depth + 1) for part in parts[:50]) + brackets[1]


def _digits(node: list[Any]) -> str:
    return str(_number(node)) if len(node[1]) < 100 else f"0x{node[1][:100]}…"


# -- can answers be compared with the expected value? An agent may have written that value -----------------------------


def value_flaw(expected: Any, depth: int = 0) -> str:
    """What is wrong with a value that a case expects, or "". A value without a flaw can always be compared."""
    if isinstance(expected, int) and expected.bit_length() > LONGEST_NUMBER * 3.3:
        return f"it contains a number with more than {LONGEST_NUMBER} digits"
    if expected is None or isinstance(expected, bool | str | int | float):
        return ""
    if depth > DEEPEST_WISH:
        return f"it is nested more than {DEEPEST_WISH} levels deep"
    if isinstance(expected, list | tuple):
        return _first_flaw(expected, depth)
    if not isinstance(expected, dict) or not all(isinstance(key, str) for key in expected):
        return f"{type(expected).__name__} is not a kind of data that can be compared"
    tag = next(iter(expected)) if len(expected) == 1 else ""
    wrong = _tag_flaw(tag, expected.get(tag))
    return wrong or _first_flaw(expected.values(), depth)


def _first_flaw(values: Collection[Any], depth: int) -> str:
    if set(map(type, values)) <= {str, float, bool}:
        return ""  # a shortcut for long lists of plain values
    return next((wrong for wrong in (value_flaw(value, depth + 1) for value in values) if wrong), "")


def _tag_flaw(tag: str, content: Any) -> str:
    if tag in _TAGS or tag in _BAGS:
        if tag == "$iterator" and isinstance(content, list | tuple) and len(content) > MOST_DRAWN:
            return f"$iterator may have at most {MOST_DRAWN:,} members"
        return "" if isinstance(content, list | tuple) else f"{tag} needs a list"
    try:
        if tag == "$float":
            float(content)
        if tag in ("$bytes", "$object"):
            str.encode(content)
    except (TypeError, ValueError, OverflowError):
        return f"{tag} cannot be made of {str(content)[:50]!r}" if isinstance(content, str) else f"{tag} needs text"
    return ""


def size_flaw(*expected: Any) -> str:
    """Why the data of a case is too large to be compared, or ""."""
    size = sum(len(json.dumps(value, separators=(",", ":"), default=str)) for value in expected)
    return f"it contains more than {MOST_WISHED >> 20} MiB of data" if size > MOST_WISHED else ""


# -- is the answer well formed? The head's process may write anything --------------------------------------------------


def read_rendering(rendering: Any) -> Any:
    """The rendering that a probe in the sandbox wrote, as nested lists. Returns an UnfitAnswer if the probe could not
    render the value. Raises UnsoundRendering if the rendering is malformed.

    The probe writes a flat list, so that no value is nested too deep to be written: a container begins with a number
    and ends with 0.
    """
    if isinstance(rendering, dict) and rendering.keys() == {"unfit"} and isinstance(rendering["unfit"], str):
        return UnfitAnswer(rendering["unfit"])
    if not isinstance(rendering, list):
        raise UnsoundRendering
    top: list[Any] = []
    open_containers, words = [top], iter(rendering)
    for word in words:
        if word is None or isinstance(word, bool | str):
            open_containers[-1].append(word)
        elif type(word) is not int:
            raise UnsoundRendering
        elif word == 0:
            _close(open_containers)
        elif word in _CONTAINERS:
            container: list[Any] = [_CONTAINERS[word]]
            open_containers[-1].append(container)
            open_containers.append(container)
        else:
            open_containers[-1].append(_scalar(_NUMBERED.get(word, ""), next(words, None)))
    if len(open_containers) != 1 or len(top) != 1:
        raise UnsoundRendering
    return top[0]


def _close(open_containers: list[list[Any]]) -> None:
    ended = open_containers.pop()
    if not open_containers:
        raise UnsoundRendering
    if ended[0] == "n" and (len(ended) != 3 or not isinstance(ended[1], str) or ended[2] in (None, True, False)):
        raise UnsoundRendering
    if ended[0] == "d":
        if len(ended) % 2 == 0:
            raise UnsoundRendering
        ended[1:] = map(list, zip(ended[1::2], ended[2::2], strict=True))


def _scalar(tag: str, text: Any) -> list[str]:
    if not tag or not isinstance(text, str) or _SCALARS[tag].fullmatch(text) is None:
        raise UnsoundRendering
    if tag == "b" and len(text) % 2:
        raise UnsoundRendering
    return [tag, text]
