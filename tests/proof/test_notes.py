"""Notes of a verdict: what was done is told from what was not checked."""

import base64

import pytest

from trued.proof.notes import files_used, is_fact, not_run, worst_counts
from trued.proof.quick_verdict import QUICK_NOTE
from trued.proof.room.clean_room import Graft


@pytest.mark.spec("LAW-11")
def test_every_note_about_the_files_that_were_used_is_a_fact() -> None:
    graft = Graft(restored=("a",), removed=("b",), added=("c",), merged=("d",), made_up=("e",))
    notes = files_used(graft, {"f": base64.b64encode(b"x").decode()}, {"f": "another blob"})
    assert sorted(one.partition(":")[0] for one in notes) == ["a", "b", "c", "d", "e", "f"]
    assert all(map(is_fact, (*notes, worst_counts(), QUICK_NOTE)))


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    "note",
    [
        not_run("tests by cargo test: no runner that is known here"),
        "no check covers: it is fast",
        "no check runs src/a.py, which was changed",
        "r rests on ordinary tests, which the code under test could influence",
    ],
)
def test_what_no_check_covers_is_not_a_fact(note: str) -> None:
    assert not is_fact(note)
