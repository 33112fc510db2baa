"""Front matter of a few plain lines is read without a YAML parser, with the same result."""

from hypothesis import given, settings
from hypothesis import strategies as st

from trued.agents.roles.front_matter import read_simple
from trued.agents.roles.places import packaged_files
from trued.support.located import read_yaml

PIECES = (
    "name|description|tools|a|Yes|no|null|True|x-1|it's|'|,|, |; |.|(|)|-|--| |: |:|[|]|[read, edit]|1|e|_|#|\n|\n\n"
)
heads = st.lists(st.sampled_from(PIECES.split("|")), max_size=14).map("".join)
likely = st.lists(st.tuples(st.sampled_from(("name", "tools", "no", "x")), heads), max_size=3).map(
    lambda rows: "\n".join(f"{key}: {value}" for key, value in rows)
)


def test_every_packaged_role_is_read_so_and_as_yaml_would() -> None:
    for path in packaged_files():
        head = path.read_text().split("---\n")[1].removesuffix("\n")
        assert read_simple(head, "f") == read_yaml(head, "f", first=2), path


@given(heads | likely)
@settings(max_examples=300, deadline=None)
def test_whatever_is_taken_as_simple_is_what_yaml_makes_of_it(head: str) -> None:
    found = read_simple(head, "f")
    assert found is None or found == read_yaml(head, "f", first=2)


def test_what_only_looks_simple_is_left_to_yaml() -> None:
    for head in (
        "",
        "a: b: c",
        "a: b #c",
        "a: null",
        "a: [no]",
        "a: b\na: c",
        "a: b ",
        "a:  b",
        "on: x",
        "a: [b,c]",
        "a: 1",
    ):
        assert read_simple(head, "f") is None, head
