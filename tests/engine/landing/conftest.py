"""A finished run that can be landed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.landing.landable import Landable, landable_in


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Landable]:
    with landable_in(tmp_path) as one:
        yield one
