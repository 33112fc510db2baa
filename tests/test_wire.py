"""Records that cross a process boundary come back as they were."""

import json
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_args, get_origin

import pytest

from trued import wire
from trued.wire import Order, from_json, to_json

RECORDS = [kind for kind in vars(wire).values() if isinstance(kind, type) and is_dataclass(kind)]
PLAIN: dict[Any, Any] = {str: "text", int: 3, float: 1.5, bool: True}


def filled(kind: Any) -> Any:
    """A value of this type with something in every field."""
    if is_dataclass(kind):
        return kind(**{one.name: filled(one.type) for one in fields(kind)})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        return (filled(get_args(kind)[0]),) * 2
    return PLAIN.get(kind, {"key": ["a list", {"deep": 1}]})


@pytest.mark.spec("RUN-2")
@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_a_record_comes_back_as_it_was(kind: type[Any]) -> None:
    record = filled(kind)
    assert from_json(kind, to_json(record)) == record


def test_an_order_of_an_earlier_version_has_its_defaults() -> None:
    needed = {one.name: "x" for one in fields(Order) if one.default is one.default_factory is MISSING}
    order = from_json(Order, json.dumps(needed))
    assert (order.browser, order.confinement.ports) == ((), ())
    with pytest.raises(ValueError, match="has no field later"):
        from_json(Order, json.dumps({**needed, "later": 1}))
