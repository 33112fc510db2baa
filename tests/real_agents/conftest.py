"""What is marked `agents` needs real agent programs: `make test-agents` installs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gate.yard import Yard, yard_in
from tests.proof.trial import bare_interpreter
from tests.real_agents.claude import PROGRAM


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    assert PROGRAM.exists(), "Claude Code is not installed: make test-agents, or tools/agents.sh"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", str(bare_interpreter(tmp_path_factory.mktemp("bare"))))
        yield


@pytest.fixture
def yard(tmp_path: Path, bare: None) -> Yard:
    return yard_in(tmp_path)
