"""What is marked `agents` needs real agent programs: `make test-agents` installs them."""

from pathlib import Path

import pytest

from tests.gate.yard import Yard, yard_in
from tests.real_agents.claude import PROGRAM


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    assert PROGRAM.exists(), "Claude Code is not installed: make test-agents, or tools/agents.sh"
    return yard_in(tmp_path)
