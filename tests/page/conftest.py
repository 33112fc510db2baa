"""A page that every test of a module shares, and one that somebody has entered."""

from collections.abc import Iterator

import pytest

from tests.page.served import Served, page, with_run


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("page") / "state"
    home.mkdir()
    with_run(home).close()
    with page(home) as one:
        one.enter()
        yield one
