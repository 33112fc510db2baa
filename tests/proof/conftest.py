"""Checks of these tests run in a bare interpreter, the same on every machine: pytest comes from the engine."""

from collections.abc import Iterator

import pytest

from tests.proof.trial import bare_interpreter


@pytest.fixture(scope="session", autouse=True)
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", str(bare_interpreter(tmp_path_factory.mktemp("bare"))))
        yield
