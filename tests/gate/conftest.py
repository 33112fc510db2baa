"""A yard for every test, with a bare interpreter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gate.yard import Yard, yard_in
from tests.proof.trial import bare_interpreter
from tests.warm import Warm


@pytest.fixture(scope="session", autouse=True)
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", str(bare_interpreter(tmp_path_factory.mktemp("bare"))))
        yield


@pytest.fixture
def yard(tmp_path: Path, waiting: Warm) -> Yard:
    return yard_in(tmp_path, waiting)
