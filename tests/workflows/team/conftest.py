"""Repositories for teams, with cases for `double` and `triple`, or for `double` alone."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.workflows.team.team_agents import Teams


@pytest.fixture
def teams(tmp_path: Path, stack: ExitStack) -> Teams:
    return Teams(tmp_path, stack)


@pytest.fixture
def one(tmp_path: Path, stack: ExitStack) -> Teams:
    return Teams(tmp_path, stack, ["double"])
