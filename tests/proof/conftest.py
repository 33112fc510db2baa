"""A cellar for each test module."""

import pytest

from tests.proof.trial import Cellar


@pytest.fixture(scope="module")
def cellar(tmp_path_factory: pytest.TempPathFactory) -> Cellar:
    return Cellar(tmp_path_factory)
