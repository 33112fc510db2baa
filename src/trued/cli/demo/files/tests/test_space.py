"""What squeeze promises."""

from textkit.space import squeeze


def test_runs_of_white_space_become_one_space() -> None:
    assert squeeze("  too \t many\nspaces ") == "too many spaces"


def test_a_tidy_text_stays_as_it_is() -> None:
    assert squeeze("a b") == "a b"
