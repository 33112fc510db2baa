"""Every value has its line, in TOML, JSON and YAML."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.errors import BadInput
from trued.support.located import read_json, read_toml, read_yaml

TOML = r'''
# a remark with [brackets] = and "quotes"
title = "a # b"
"quoted key" = 'x'
a.b . "c.d" = 1
long = """
one \
"" two
"""""
raw = \'\'\'
[not.a.table]
\'\'\'
list = [
  1, # one
  [2,
   3],
  { x = 1, y = [
    4 ] },
]
when = "2026-01-05"

[table]
key = { deep = { er = true } }

[table.sub]
k = 1

[[things]]
id = 1
[[things.parts]]
id = 2
[[things.parts]]
id = 3
[things.parts.inner]
id = 4
[[things]]
id = 5
[[things.parts]]
id = 6
'''.replace("\\'", "'")


@pytest.mark.spec("USE-7")
def test_parts_of_a_toml_file_know_their_lines() -> None:
    located = read_toml(TOML, "x.toml")
    assert located.value == tomllib.loads(TOML)
    lines = TOML.split("\n")

    def line(text: str, nth: int = 0) -> int:
        return [number for number, one in enumerate(lines, 1) if one.strip().startswith(text)][nth]

    assert located.line("title") == line("title")
    assert located.line("quoted key") == line('"quoted')
    assert located.line("a", "b", "c.d") == line("a.b")
    assert located.line("list", 0) == line("1, # one")
    assert located.line("list", 1, 1) == line("3],")
    assert located.line("list", 2, "y", 0) == line("4 ]")
    assert located.line("when") == line("when")
    assert located.line("table", "key", "deep", "er") == line("key =")
    assert located.line("table", "sub", "k") == line("k = 1")
    assert located.line("things", 0, "parts", 1, "id") == line("id = 3")
    assert located.line("things", 0, "parts", 1, "inner", "id") == line("id = 4")
    assert located.line("things", 1) == line("[[things]]", 1)
    assert located.line("things", 1, "parts", 0, "id") == line("id = 6")
    assert located.line("things", 1, "parts", 0, "nothing") == line("[[things.parts]]", 2)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def spots(value: Any, spot: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [spot, *(one for key, part in below for one in spots(part, (*spot, key)))]


@pytest.mark.spec("USE-7")
@settings(max_examples=120, deadline=None)
@given(value=values)
def test_every_part_of_a_json_text_has_its_own_line(value: Any) -> None:
    text = json.dumps(value, indent=1)
    located = read_json(text, "x.json")
    assert located.value == value
    assert set(located.lines) == set(spots(value))
    shown = [located.lines[spot] for spot in spots(value)]
    assert shown == sorted(shown)
    if isinstance(value, dict):
        lines = text.split("\n")
        for key in value:
            assert lines[located.line(key) - 1].startswith(f" {json.dumps(key)}:")


@pytest.mark.spec("USE-7")
@settings(max_examples=120, deadline=None)
@given(value=values)
def test_json_is_yaml_and_reads_the_same(value: Any) -> None:
    text = json.dumps(value, indent=1)
    located = read_yaml(text, "x.yaml")
    assert located.value == value
    assert set(located.lines) == set(spots(value))


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"\\ud800": 1}', "[1e999]", "[-Infinity]"])
def test_what_cannot_be_stored_is_refused(text: str) -> None:
    for read in (read_json, read_yaml):
        if read is read_json or "ud800" in text:
            with pytest.raises(BadInput):
                read(text, "x")


broken = st.text(st.sampled_from(list("[]{}=\"'#\n ab1.,:-&*!|>%\\")), max_size=40) | st.text(max_size=30)


@pytest.mark.spec("USE-7")
@settings(max_examples=300, deadline=None)
@given(text=broken)
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    for read in (read_toml, read_json, read_yaml):
        try:
            located = read(text, "x")
        except BadInput as error:
            name, _, line = error.where.rpartition(":")
            known = name == "x" and 1 <= int(line) <= text.count("\n") + text.count("\r") + 2
            if not known:
                raise
        else:
            json.dumps(located.value)


@pytest.mark.parametrize(
    "text",
    ["!!bool maybe", "!!python/object:map {a: b}", "!!str {a: b}", "!!map [a]", "{!!python/object:os.system a: b}"],
)
def test_no_tag_makes_a_value_of_yaml_something_else(text: str) -> None:
    with pytest.raises(BadInput, match=r"asked\.yaml:1"):
        read_yaml(text, "asked.yaml")


def test_a_complaint_is_one_line_whatever_a_name_holds() -> None:
    assert "\n" not in str(BadInput("unknown key a\nb", "file\n:1", "leave\r\nit out"))


def test_an_anchor_that_is_there_twice_is_the_later_one_without_a_word() -> None:
    assert read_yaml("a: &x 1\nb: &x 2\nc: *x\n", "f").value == {"a": 1, "b": 2, "c": 2}
