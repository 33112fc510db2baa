"""A yard for every test."""

from pathlib import Path

import pytest

from tests.gate.yard import Yard, yard_in
from tests.warm import Warm


@pytest.fixture
def yard(tmp_path: Path, waiting: Warm) -> Yard:
    return yard_in(tmp_path, waiting)
