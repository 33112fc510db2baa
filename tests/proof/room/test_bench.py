"""A bench: what a command printed of the place at which it saw the room."""

from pathlib import Path
from typing import Any, cast

import pytest

from tests.fuzz.rooms import place, said
from trued.protocols import CommandResult


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("backend/app/tests/test_a.py::test_x", "backend/app/tests/test_a.py::test_x"),
        ("github.com/acme/app/x", "github.com/acme/app/x"),
        ("/application/a.py and /app.py", "/application/a.py and /app.py"),
        ("in /app/a.py:3, in '/app', file:///app/b.mjs", "in ROOM/a.py:3, in 'ROOM', file://ROOM/b.mjs"),
    ],
)
def test_only_whole_paths_of_the_room_are_read_as_its_own(
    monkeypatch: pytest.MonkeyPatch, printed: str, read: str
) -> None:
    workspace, bench, _ = place()
    monkeypatch.setattr(workspace, "shown_at", lambda room: ("/app",))
    ran = cast("Any", bench)._with_own_paths(said(printed.encode(), stdout=printed.encode()))
    assert isinstance(ran, CommandResult)
    assert ran.stdout.decode() == ran.answers.decode() == read.replace("ROOM", str(Path(bench.room)))
