"""A repository for a pipeline."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.workflows.pipeline.pipeline_agents import Line


@pytest.fixture
def line(tmp_path: Path, stack: ExitStack) -> Line:
    return Line(tmp_path, stack)
