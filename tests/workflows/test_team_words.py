"""What a member of a team says against itself counts, whoever else is content."""

from typing import cast

import pytest

from trued import Run, Status
from trued.desk import Desk
from trued.session import Session
from trued.workflows import team_replies
from trued.workflows.team_replies import Developed


@pytest.mark.spec("TEAM-5")
def test_a_developer_that_says_it_is_not_done_is_not_done() -> None:
    nobody = cast("Run", None)
    desk = Desk[Developed, team_replies.Tested]("F1-T1", nobody, nobody, cast("Session[Developed]", None), None)
    for said, gaps in ((None, []), (Developed(), [])):
        desk.said = said
        assert [*desk.given_up()] == gaps
    for status in (Status.ERROR, Status.NEEDS_REVISION):
        desk.said = Developed(status=status, summary="no way in")
        assert [one.what for one in desk.given_up()] == [f"the developer says {status}: no way in"]
