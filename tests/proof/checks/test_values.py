"""How values are rendered in the sandbox, and when a rendering matches the value in a requirements file."""

import collections
import decimal
import enum
import http
import itertools
import json
import math
from typing import Any, NamedTuple

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as some

from trued.proof.checks.values import (
    DEEPEST_WISH,
    UnfitAnswer,
    UnsoundRendering,
    matches,
    matches_json,
    read_rendering,
    show_value,
    value_flaw,
)
from trued.proof.probes.answer import MOST_DRAWN, Malformed, Rendering, build

Point = collections.namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    RED = 1


class Word(enum.StrEnum):
    A = "a"


class Name(str):
    """A subclass of str that adds nothing."""

    __slots__ = ()


class Liar(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Vain(list[int]):
    def __len__(self) -> int:
        return 3


class Level(str, enum.Enum):  # noqa: UP042  (it is printed as `Level.HIGH`)
    HIGH = "high"


class Rank(int, enum.Enum):
    HIGH = 1


class Printed(str, enum.Enum):  # noqa: UP042
    HIGH = "high"

    def __str__(self) -> str:
        return self.value


class Field(enum.StrEnum):
    title = "title"  # type: ignore[assignment]


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Vector(NamedTuple):
    count: int  # type: ignore[assignment]
    y: int

    def __add__(self, other: object) -> Any:
        return self

    def __str__(self) -> str:
        return "a vector"


class Attributes(dict[str, Any]):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__

    def __hash__(self) -> int:  # type: ignore[override]
        return 1


class Grid(list[int]):
    def append(self, one: int) -> None:
        super().append(one)

    def __str__(self) -> str:
        return "a grid"


class Lists(collections.defaultdict[str, list[int]]):
    pass


class Ordered(collections.OrderedDict[str, int]):
    pass


def heir(kind: type, value: Any, **methods: Any) -> Any:
    """A value of a subclass that has these methods."""
    return type("Heir", (kind,), methods)(value)


def patched(value: Any, **own: Any) -> Any:
    """A value of a subclass that has these attributes of its own."""
    found = heir(type(value), value)
    vars(found).update(own)
    return found


def nothing(*_: Any) -> Any:
    return None


class Hidden(dict[str, Any]):
    """A dict whose values may have attributes of their own."""


class Hider(Hidden):
    __dict__ = property(lambda self: {})


def hider() -> Any:
    found = Hider(a=1)
    found.keys = nothing  # type: ignore[method-assign]
    return found


class Empty(dict[str, Any]):
    def __bool__(self) -> bool:
        return False


def with_attributes_that_look_empty() -> Any:
    found = Hidden(a=1)
    found.__dict__ = Empty(keys=nothing)
    return found


class Answering(str):
    """A text that is also a function, and stands for its own methods."""

    __slots__ = ()

    def __call__(self, *_: Any) -> Any:
        return True


def answering(name: str) -> Any:
    kind: Any = type("Heir", (Answering,), {})
    setattr(kind, name, kind("x"))
    return kind("x")


class Disguise(str):
    """The name of a method, which could choose when it is equal to that name."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, str(other))

    __hash__ = str.__hash__


def torn() -> Any:
    """An OrderedDict that prints without one of its keys."""
    found = collections.OrderedDict(a=1)
    dict.__setitem__(found, "b", 2)
    return found


def impostor(claimed: type, kind: type, *value: Any, **methods: Any) -> Any:
    """A value of a class that claims the name of another one."""
    return type(claimed.__name__, (kind,), {"__module__": claimed.__module__, **methods})(*value)


def answered(value: Any) -> Any:
    """The value as the script in the sandbox writes it and the engine reads it."""
    return read_rendering(json.loads(Rendering()(value)))


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
    ({"$object": "decimal.Decimal"}, decimal.Decimal(1)),
    ({"a": [1], "b": None}, {"b": None, "a": [1]}),
    ({"1": "x"}, {1: "x"}),
    ({"a": 1}, collections.Counter("a")),
    ({"a": 1}, heir(collections.Counter, "a")),
    ({"a": 1}, collections.defaultdict(int, a=1)),
    ([1, 2], Point(1, 2)),
    (1, Colour.RED),
    ("a", Word.A),
    ("bob", Name("bob")),
    ("high", Printed.HIGH),
    ("title", Field.title),
    (3, Flags.A | Flags.B),
    (200, http.HTTPStatus.OK),
    ([1, 2], Vector(1, 2)),
    ({"a": 1}, Attributes(a=1)),
    ([1], Grid([1])),
    ({"a": [1]}, Lists(list, a=[1])),
    ({"a": 1}, Ordered(a=1)),
    ("a", heir(str, "a", __repr__=lambda self: "<a>", label=nothing)),
    (1.5, heir(float, 1.5, __str__=lambda self: "1.5")),
    *(({"$iterator": [1, 2]}, one) for one in (itertools.chain([1], [2]), iter({1, 2}), iter(range(1, 3)))),
    *(({"$iterator": [1, 2]}, one) for one in ({1: 0, 2: 0}.keys(), {0: 1, 3: 2}.values(), reversed([2, 1]))),
    ({"$iterator": [1, 2]}, itertools.islice(itertools.count(1), 2)),
    ({"$iterator": []}, iter("")),
    ({"$iterator": [{"$tuple": ["a", 1]}]}, collections.OrderedDict(a=1).items()),
    ({"$object": "itertools.chain"}, itertools.chain()),
    (1, tomlkit.item(1)),
    (1.5, tomlkit.item(1.5)),
    ("a", tomlkit.item("a")),
    ([1, "a"], tomlkit.item([1, "a"])),
    ({"a": {"b": [1]}}, tomlkit.parse("[a]\nb = [1]")),
    ({"$object": "tomlkit.items.Integer"}, tomlkit.item(1)),
    ({"$set": [1, 2]}, {tomlkit.item(1), 2}),
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
    ({"$bytes": "a"}, bytearray(b"a")),
    ({"$bytes": "a"}, memoryview(b"a")),
    ("a", b"a"),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"1": "x", "2": "y"}, {1: "x", "1": "y"}),
    ({"1": "y"}, {1: "x", "1": "y"}),
    ({"1": "x"}, {1: "x", "1": "x"}),
    ({"true": 1}, {True: 0, "true": 1}),
    ({"null": 1}, {None: 0, "null": 1}),
    ({"a": 1}, {"a": 1, (1,): 2, (2,): 3}),
    (math.nan, 1.0),
    ("x", Liar("x")),
    ("", Liar("")),
    ([1, 2, 3], Vain([1, 2, 3])),
    ("high", Level.HIGH),
    (1, Rank.HIGH),
    ("a", heir(str, "a", __str__=lambda self: "<a>")),
    ("a", heir(str, "a", __str__=nothing)),
    ("a", heir(str, "a", __format__=lambda self, how: "<a>")),
    ("a", heir(str, "a", upper=nothing)),
    ("a", heir(str, "a", __radd__=nothing)),
    (1, heir(int, 1, __repr__=lambda self: "2")),
    (1, heir(int, 1, __add__=nothing)),
    (1.5, heir(float, 1.5, __format__=lambda self, how: "2")),
    ({"a": 1}, heir(dict, {"a": 1}, get=nothing)),
    ({"a": 1}, heir(dict, {"a": 1}, items=dict.keys)),
    ({"a": 1}, heir(dict, {"a": 1}, pop=nothing)),
    ({"a": 1}, heir(dict, {"a": 1}, __missing__=nothing)),
    ({"a": 1}, heir(collections.OrderedDict, {"a": 1}, __missing__=nothing)),
    ({"a": 1}, heir(collections.Counter, {"a": 1}, __missing__=nothing)),
    ({"a": 1}, heir(dict, {"a": 1}, __getattribute__=nothing)),
    ({"a": 1}, patched({"a": 1}, keys=nothing)),
    ({"a": 1}, heir(collections.OrderedDict, {"a": 1}, values=nothing)),
    ([1], heir(list, [1], index=nothing)),
    ([1], heir(list, [1], __reversed__=nothing)),
    ([1], heir(list, [1], __bool__=lambda self: False)),
    ([1], heir(tuple, [1], count=nothing)),
    ({"$set": [1]}, heir(set, {1}, issubset=nothing)),
    (1, object()),
    (None, object()),
    ({"a": 1}, hider()),
    ({"a": 1}, with_attributes_that_look_empty()),
    ("x", answering("__eq__")),
    ("x", answering("upper")),
    ("a", type("Heir", (str,), {Disguise("upper"): nothing})("a")),
    ({"a": 1, "b": 2}, torn()),
    ("a", heir(str, "a", __str__=lambda self: "a", __format__=lambda self, how: "b" if how else "a")),
    (1.5, heir(float, 1.5, __complex__=lambda self: 2j)),
    ("a", heir(str, "a", __call__=nothing)),
    (1, impostor(tomlkit.items.Integer, int, 1, __eq__=lambda self, other: True, __hash__=int.__hash__)),
    ({"$object": "decimal.Decimal"}, impostor(decimal.Decimal, object)),
    ({"$object": "tests.proof.checks.test_values.Grid"}, impostor(Grid, object)),
    ([1, 2], itertools.chain([1], [2])),
    ({"$tuple": ["a"]}, {"a": 1}.keys()),
    (2, tomlkit.item(1)),
    ({"a": 1}, tomlkit.parse("a = 2")),
    ([1], tomlkit.item([1, 2])),
]


@pytest.mark.parametrize(("expected", "value"), SAME, ids=[repr(one) for one, _ in SAME])
def test_an_answer_is_what_was_written_down(expected: Any, value: Any) -> None:
    node = answered(value)
    assert matches(expected, node)


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(
    ("expected", "value"), OTHER, ids=[f"{one!r}, {place}" for place, (one, _) in enumerate(OTHER)]
)
def test_an_answer_that_only_looks_alike_is_another_one(expected: Any, value: Any) -> None:
    node = answered(value)
    assert not matches(expected, node)
    assert show_value(node)


UNDEFINED, AN_OBJECT = [13, "undefined"], [13, "Thing"]


@pytest.mark.spec("LAW-7")
def test_an_entry_of_a_map_is_not_hidden_by_one_whose_key_is_the_same_text() -> None:
    """In Node, a Map may have the keys 1 and "1", or objects as keys; a field that is undefined counts as missing."""
    for flat in (
        ["a", "y", 10, "1", "z", "1", "x"],
        ["1", "x", 10, "1", *UNDEFINED, "a", "y"],
        ["a", "y", "1", "x", *AN_OBJECT, "z", *AN_OBJECT, *UNDEFINED],
        ["a", "y", "1", "x", *AN_OBJECT, *UNDEFINED],
    ):
        assert not matches({"a": "y", "1": "x"}, read_rendering([5, *flat, 0])), flat
    for flat in (["a", "y", 10, "1", "x"], ["a", "y", "1", "x", "b", *UNDEFINED]):
        assert matches({"a": "y", "1": "x"}, read_rendering([5, *flat, 0])), flat


def test_a_set_may_contain_exactly_undefined() -> None:
    expected = {"$set": [{"$object": "undefined"}, 1]}
    assert matches(expected, read_rendering([3, 10, "1", *UNDEFINED, 0]))
    assert not matches(expected, read_rendering([3, 10, "1", None, 0]))


@pytest.mark.spec("LAW-7")
def test_printed_json_with_a_key_twice_equals_nothing() -> None:
    """`json.dumps({1: "x", "1": "y"})` prints such an object."""
    assert matches_json({"a": {"1": "y"}}, b'{"a": {"1": "y"}}')
    assert not matches_json({"a": {"1": "y"}}, b'{"a": {"1": "x", "1": "y"}}')
    assert not matches_json({"a": 1}, b'{"a": 1, "a": 1}')


@pytest.mark.spec("LAW-7")
def test_json_is_utf_8_without_a_byte_order_mark() -> None:
    text = '{"a": "é"}'
    assert matches_json({"a": "é"}, text.encode())
    for other in ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1"):
        assert not matches_json({"a": "é"}, text.encode(other)), other


data = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
plain = data.filter(lambda one: "$" not in repr(one))


@given(plain)
def test_data_that_goes_in_is_the_data_that_comes_out(value: Any) -> None:
    node = answered(build(value))
    assert matches(value, node)


words = some.none() | some.booleans() | some.integers(-1, 14) | some.text(max_size=3) | some.sampled_from(["a", "1f"])


@given(some.lists(words, max_size=12))
def test_whatever_a_head_says_is_either_unsound_or_comparable(forged: Any) -> None:
    try:
        node = read_rendering(forged)
    except UnsoundRendering:
        return
    show_value(node)
    wishes: list[Any] = [None, 1, "a", [1], {"a": 1}, {"$set": [1]}, {"$tuple": []}]
    for expected in wishes:
        matches(expected, node)


FORGED: list[Any] = [
    *([10], [10, "zz"], [11, "x"], [12, "0"], [10, None], [99, "a"], [1.0], [["l"]], [{}], [], 7, {"unfit": 1}, {}),
    *([1], [0], [1, 0, 0], [None, None], [5, "a", 0], [5, "a"], [1, 1, 0], [13, 1], [float("nan")]),
]


@pytest.mark.parametrize("forged", FORGED, ids=[repr(one) for one in FORGED])
def test_a_forged_answer_is_not_sound(forged: Any) -> None:
    with pytest.raises(UnsoundRendering):
        read_rendering(forged)


# -- large, deep and endless values ------------------------------------------------------------------------------------

MANY = list(range(30_000))


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(
    ("expected", "lie"),
    [
        (MANY, [*MANY[:-1], -1]),
        (MANY, MANY[:-1]),
        (MANY, [*MANY, 0]),
        ([one / 7 for one in MANY], [one / 7 for one in MANY[:-1]] + [math.nan]),
        ({str(one): one for one in MANY}, {str(one): one for one in MANY} | {"29999": 0}),
        ({"$set": MANY}, {*MANY[:-1], -1}),
        ({"$set": [[one, str(one)] for one in MANY]}, {(one, str(one + (one == 25_000))) for one in MANY}),
        ("x" * 2_000_000, "x" * 1_999_999 + "y"),
        ({"$bytes": "x" * 2_000_000}, b"x" * 1_999_999 + b"y"),
        (10**3000, 10**3000 + 1),
        ([[one] * 20 for one in range(2_000)], [[one] * 20 for one in range(1_999)] + [[1_999] * 19 + [0]]),
    ],
    ids=["last", "shorter", "longer", "nan", "dict", "set", "set of tuples", "text", "bytes", "number", "nested"],
)
@pytest.mark.many(2)
def test_large_values_are_compared_to_the_last_element(expected: Any, lie: Any) -> None:
    honest = build(expected) if not isinstance(lie, set) else {_hashable(one) for one in expected["$set"]}
    assert matches(expected, answered(honest))
    assert not matches(expected, answered(lie))


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.spec("LAW-7")
def test_depth_neither_ends_the_comparison_nor_makes_values_alike() -> None:
    deepest = nested(DEEPEST_WISH - 1)
    assert not value_flaw(deepest)
    assert matches(deepest, answered(deepest))
    for depth in (DEEPEST_WISH - 2, DEEPEST_WISH, 10_000, 100_000):
        node = answered(nested(depth))
        assert not matches(deepest, node)
        assert show_value(node)
    assert not matches({"$set": [[1]]}, answered({(((((1,),),),),)}))
    assert "nested more than" in value_flaw(nested(DEEPEST_WISH + 1))


@pytest.mark.spec("LAW-7")
def test_a_value_that_contains_itself_is_told_and_equals_nothing() -> None:
    endless: list[Any] = []
    endless.append({"a": (endless,)})
    heir = type("Heir", (list,), {})()
    heir.append(heir)
    for value in (endless, heir):
        node = answered(value)
        assert node == UnfitAnswer("cycle")
        assert "contains itself" in show_value(node)
        wishes: list[Any] = [None, [], [[]], {"$object": "cycle"}]
        assert not any(matches(one, node) for one in wishes)


def test_a_value_that_is_in_another_twice_contains_no_cycle() -> None:
    inner = [1]
    assert matches([[1], [1], {"a": [1]}], answered([inner, inner, {"a": inner}]))
    fresh = ([one] for one in range(1000))  # each list may get the id() of the list before it
    assert matches({"$iterator": [[one] for one in range(1000)]}, answered(fresh))


def test_what_has_no_end_is_told_and_equals_nothing() -> None:
    node = answered(map(abs, itertools.count()))
    assert node == UnfitAnswer("endless")
    assert f"{MOST_DRAWN:,}" in show_value(node)
    branches: Any = 0
    for _ in range(60):
        branches = [branches, branches]
    render = Rendering()
    render.room = 100_000
    assert read_rendering(json.loads(render(branches))) == UnfitAnswer("large")
    assert "MiB: not compared" in show_value(UnfitAnswer("large"))


def test_minus_zero_is_asked_for_by_its_sign_alone() -> None:
    assert matches(-0.0, answered(-0.0))
    assert matches(0, answered(-0.0))
    assert not matches(-0.0, answered(0.0))
    assert not matches([-0.0], answered([0]))


def test_arguments_can_say_what_json_cannot() -> None:
    assert build([{"$tuple": [1, {"$set": [2]}]}, {"$bytes": "x"}, {"a": 1}]) == [(1, {2}), b"x", {"a": 1}]
    with pytest.raises(Malformed, match=r"\$tupel is not a tag"):
        build({"$tupel": [1]})
