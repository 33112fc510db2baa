"""A page that every test of a module shares, one that somebody has entered, and the journal of a run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.served import Served, page, with_run
from trued.engine.journals.sqlite import SqliteJournal


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("page") / "state"
    home.mkdir()
    with_run(home).close()
    with page(home) as one:
        one.enter()
        yield one


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    """The journal of one run, in `tmp_path / "state"`."""
    home = tmp_path / "state"
    home.mkdir()
    opened = with_run(home)
    yield opened
    opened.close()
