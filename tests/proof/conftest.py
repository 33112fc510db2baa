"""Checks in these tests run in an empty virtual environment, so every machine is alike; the engine supplies pytest."""

from collections.abc import Iterator

import pytest

from tests.proof.trial import bare_interpreter


@pytest.fixture(scope="session", autouse=True)
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", str(bare_interpreter(tmp_path_factory.mktemp("bare"))))
        yield
