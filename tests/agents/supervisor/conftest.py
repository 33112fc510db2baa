"""A run for each test; no process of it may be left afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.supervisor.world import LEVELS, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    assert not world.left(), "processes of a call outlived it"


@pytest.fixture(params=LEVELS)
def confined(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    world = World(tmp_path, level=request.param)
    yield world
    assert not world.left(), "processes of a call outlived it"
