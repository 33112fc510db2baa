"""From a goal in words to work that is proven: what a team plans, builds, tests, validates and gives up."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.workflows.team_agents import Members, Teams


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Teams]:
    with ExitStack() as stack:
        yield Teams(tmp_path, stack)


@pytest.mark.spec("TEAM-1", "TEAM-2", "TEAM-4", "TEAM-9")
async def test_a_goal_in_words_becomes_features_that_are_built_validated_and_proven(teams: Teams) -> None:
    members = Members()
    engine = teams.played(members)
    record = await teams.teamed(engine)
    print(members.asked, record)
    print(engine.verdict(record.id).requirements)
    assert (record.state, record.code, str(record.grade)) == ("done", 0, "proven")
    assert teams.states(record) == {"F1-T1": "done 1/10", "F2-T1": "done 1/10"}
