"""A bench: what a command printed of the place at which it saw the room."""

import shlex
from dataclasses import replace
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


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("python -m app.main", "api"),
        ("python -m app.main worker jobs worker/src", "api"),
        ("python3.11 -Im app.main jobs", "api"),
        ("python -mapp.main jobs", "api"),
        ("python -W jobs -X dev -u api/run.py worker", "api"),
        ("python -c 'from app import jobs; print(worker)' jobs", "api"),
        ("python -c 'import runpy; runpy.run_path(\"api/run.py\")'", "api"),
        ("python -c 'import app, jobs'", "api worker"),
        ("api/run.py jobs", "api"),
        ("sh api/run.sh worker/src", "api"),
        ("uv run python -m app.main jobs", "api"),
        ("celery -A app worker", "api"),
        ("uvicorn --reload-dir worker app.main:app", "api"),
        ("sh -c 'cd api && python -m jobs'", "api worker"),
        ("python other.py worker", "api worker"),
        ("python", "api worker"),
        ("true", "api worker"),
    ],
)
def test_the_arguments_of_a_program_open_no_other_project(line: str, seen: str) -> None:
    _, bench, _ = place()
    roots = {folder: str(bench.room / folder) for folder in ("api", "worker")}
    bench = replace(
        bench,
        roots=(str(bench.room), *roots.values()),
        project_roots=(*roots.values(),),
        projects={folder: frozenset((folder,)) for folder in roots},
        owners={"app": "api", "jobs": "worker"},
    )
    assert bench.starting(shlex.split(line)).roots == (str(bench.room), *(roots[one] for one in seen.split()))
