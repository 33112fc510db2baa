"""A long run reads only its new spending, and everything again if the numbers of its rows have changed."""

from typing import Any

import pytest

from trued.engine.journals.rows import KnownSpends, spend_columns
from trued.wire import Spend


class Table:
    """The spending of one run: number → spend. Counts the rows that were read."""

    def __init__(self) -> None:
        self.rows: dict[int, Spend] = {}
        self.read = 0

    def write(self, call: str, state: str = "open") -> None:
        number = max(self.rows, default=0) + 1
        self.rows = {n: row for n, row in self.rows.items() if row.call != call}
        self.rows[number] = Spend(call, 1, call, "", "dev", "claude", state)

    def newer(self, number: int) -> list[dict[str, Any]]:
        both = {"size": len(self.rows), "total": sum(self.rows) or None}
        found = [{**both, "n": n, **spend_columns(row)} for n, row in sorted(self.rows.items()) if n > number]
        self.read += len(found)
        return found or [{**both, "n": None}]


@pytest.mark.spec("RUN-6")
def test_each_row_is_read_once_and_all_are_known() -> None:
    table, known = Table(), KnownSpends()
    assert known.read(table.newer) == []
    for number in range(100):
        table.write(f"call {number}")
        table.write(f"call {number // 2}", "done")
        assert known.read(table.newer) == list(table.rows.values())
    assert table.read <= 200
    assert all(one in known for one in table.rows.values())
    assert Spend("call 1", 1, "call 1", "", "dev", "claude", "open") not in known


@pytest.mark.spec("RUN-6")
def test_rows_that_were_removed_or_numbered_anew_are_read_again() -> None:
    table, known = Table(), KnownSpends()
    for call in ("a", "b", "c"):
        table.write(call)
    table.write("a", "done")
    known.read(table.newer)
    table.rows = dict(enumerate(table.rows.values(), 1))
    assert known.read(table.newer) == list(table.rows.values())
    table.write("b", "done")
    assert known.read(table.newer) == list(table.rows.values())
    table.rows.popitem()
    assert known.read(table.newer) == list(table.rows.values())
