"""A pipeline from the request to proven work, and what it leaves in the feature's folder."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.workflows.pipeline_agents import Crew, Line


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    with ExitStack() as stack:
        yield Line(tmp_path, stack)


@pytest.mark.spec("PIPE-1", "PIPE-8", "PIPE-12")
async def test_a_request_is_researched_specified_designed_built_verified_and_proven(line: Line) -> None:
    crew = Crew()
    engine = line.played(crew)
    record = await line.piped(engine)
    print(record.why, crew.asked)
    assert (record.state, record.code, str(record.grade)) == ("done", 0, "proven")
