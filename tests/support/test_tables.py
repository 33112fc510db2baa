"""Tables that somebody else wrote are read without errors, whatever is in them."""

import pytest

from trued.proof.room.frozen_files import configured_test_names, configures_pytest
from trued.proof.room.generated_files import files_of_builds
from trued.support.money import money
from trued.support.tables import ini_tables, json_table, parse_toml, table_at, toml_table

DEEP = "a = " + "[" * 5000 + "]" * 5000


@pytest.mark.parametrize("text", ["= no", "[a", DEEP, "[a]\n[a]\n"])
def test_what_is_no_toml_is_an_empty_table(text: str) -> None:
    assert parse_toml(text) is None
    assert toml_table(text) == {}
    assert not configures_pytest("pyproject.toml", text)
    assert files_of_builds(text, "") == {}


def test_other_values_in_the_place_of_tables_are_passed_over() -> None:
    assert table_at({"a": {"b": 1}}, "a") == {"b": 1}
    assert table_at({"a": {"b": 1}}, "a", "b") == table_at([], "a") == table_at(None) == {}
    assert json_table("[1]") == json_table(b"\xff") == json_table("[" * 100_000) == {}
    assert ini_tables("[a]\nb = 1\n") == {"a": {"b": "1"}}
    assert ini_tables("b = 1\n") == {}
    for text in ("tool = 3", "[tool]\npytest = 3"):
        assert not configures_pytest("pyproject.toml", text)
        assert configured_test_names("pyproject.toml", text) == []


@pytest.mark.parametrize(
    ("usd", "known", "expected"),
    [(0, "", "$0.00"), (0.0012, "ceiling", "≤$0.0012"), (0.25, "computed", "~$0.25"), (1234.5, "reported", "$1234.50")],
)
def test_a_sum_is_written_with_its_mark(usd: float, known: str, expected: str) -> None:
    assert money(usd, known) == expected
