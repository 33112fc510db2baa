"""Values as data: what the sandbox says of them, and when that is what a person wrote down."""

import collections
import enum
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trued.proof.checks.rendering import equal, shown, sound
from trued.proof.inside.answer import Malformed, Rendering, build

Point = collections.namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    RED = 1


class Word(enum.StrEnum):
    A = "a"


class Name(str):
    """Nothing of its own."""

    __slots__ = ()


class Liar(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Vain(list[int]):
    def __len__(self) -> int:
        return 3


SAME: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (0, 0),
    (1, 1.0),
    (1.5, 1.5),
    (2**100, 2**100),
    ("é\ud800", "é\ud800"),
    ([1, [2]], [1, [2]]),
    ([1, 2], (1, 2)),
    ([0, 1, 2], range(3)),
    ({"$tuple": [1]}, (1,)),
    ({"$set": [1, "a"]}, {"a", 1}),
    ({"$frozenset": [1]}, frozenset({1})),
    ({"$bytes": "é"}, "é".encode()),
    ({"$float": "nan"}, math.nan),
    ({"$float": "inf"}, math.inf),
    ({"$iterator": [0, 1]}, (one for one in range(2))),
    ({"$object": "decimal.Decimal"}, __import__("decimal").Decimal(1)),
    ({"a": [1], "b": None}, {"b": None, "a": [1]}),
    ({"1": "x"}, {1: "x"}),
    ({"a": 1}, collections.Counter("a")),
    ([1, 2], Point(1, 2)),
    (1, Colour.RED),
    ("a", Word.A),
    ("bob", Name("bob")),
]
OTHER: list[tuple[Any, Any]] = [
    (None, False),
    (0, False),
    (True, 1),
    (1, True),
    (1, "1"),
    ("1", 1),
    ("", None),
    ([], None),
    ([], {}),
    ({}, []),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ([1, 2], {1, 2}),
    ([0, 1], (one for one in range(2))),
    ({"$tuple": [1]}, [1]),
    ({"$set": [1, 2]}, {1}),
    ({"$bytes": "a"}, "a"),
    ("a", b"a"),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"1": "x", "2": "y"}, {1: "x", "1": "y"}),
    (math.nan, 1.0),
    ("x", Liar("x")),
    ("", Liar("")),
    ([1, 2, 3], Vain([1, 2, 3])),
    (1, object()),
    (None, object()),
]


@pytest.mark.parametrize(("expected", "value"), SAME, ids=[repr(one) for one, _ in SAME])
def test_an_answer_is_what_was_written_down(expected: Any, value: Any) -> None:
    node = Rendering()(value)
    assert sound(node)
    assert equal(expected, node)


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(
    ("expected", "value"), OTHER, ids=[f"{one!r}, {place}" for place, (one, _) in enumerate(OTHER)]
)
def test_an_answer_that_only_looks_alike_is_another_one(expected: Any, value: Any) -> None:
    node = Rendering()(value)
    assert sound(node)
    assert not equal(expected, node)
    assert shown(node)


data = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
plain = data.filter(lambda one: "$" not in repr(one))


@given(plain)
def test_data_that_goes_in_is_the_data_that_comes_out(value: Any) -> None:
    node = Rendering()(build(value))
    assert sound(node)
    assert equal(value, node)


@given(some.recursive(some.none() | some.integers() | some.text(max_size=3), lambda one: some.lists(one, max_size=4)))
def test_whatever_a_head_says_is_either_unsound_or_comparable(forged: Any) -> None:
    if sound(forged):
        shown(forged)
        wishes: list[Any] = [None, 1, "a", [1], {"a": 1}, {"$set": [1]}, {"$tuple": []}]
        for expected in wishes:
            equal(expected, forged)


@pytest.mark.parametrize(
    "forged", [["i"], ["i", "zz"], ["f", "x"], ["b", "0"], ["d", 5], ["d", [1]], ["l", [[]]], [], 7]
)
def test_a_forged_answer_is_not_sound(forged: Any) -> None:
    assert not sound(forged)


def test_a_value_that_contains_itself_is_cut_off() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert not equal([[]], Rendering()(endless))


def test_arguments_can_say_what_json_cannot() -> None:
    assert build([{"$tuple": [1, {"$set": [2]}]}, {"$bytes": "x"}, {"a": 1}]) == [(1, {2}), b"x", {"a": 1}]
    with pytest.raises(Malformed, match=r"\$tupel is no tag"):
        build({"$tupel": [1]})
