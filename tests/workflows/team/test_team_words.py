"""If a member of a team says that its own work is not done, that counts, whatever the others say."""

from typing import cast

import pytest

from trued import Run, Status
from trued.run.session import Session
from trued.workflows.team import replies as team_replies
from trued.workflows.team.replies import Developed
from trued.workflows.team.reply_parts import Query
from trued.workflows.team.task_in_progress import TaskInProgress


@pytest.mark.spec("TEAM-5")
def test_a_developer_that_says_it_is_not_done_is_not_done() -> None:
    nobody = cast("Run", None)
    work = TaskInProgress("F1-T1", nobody, nobody, cast("Session[Developed]", None), None)
    for said, gaps in ((None, []), (Developed(), [])):
        work.developed = said
        assert [*work.developer_doubts()] == gaps
    for status in (Status.ERROR, Status.NEEDS_REVISION):
        work.developed = Developed(status=status, summary="no way in")
        assert [one.what for one in work.developer_doubts()] == [f"the developer says {status}: no way in"]


@pytest.mark.spec("TEAM-5", "TEAM-7")
@pytest.mark.parametrize("tried", [("",), (" ", "\n")])
def test_a_yes_of_somebody_who_tried_nothing_is_none(tried: tuple[str, ...]) -> None:
    for said in (
        team_replies.Tested(result="PASS", tried=tried),
        team_replies.Validated(decision="passed", tried=tried),
    ):
        assert [one.what.partition(" ")[2] for one in said.objections] == ["found nothing wrong, and tried nothing"]
        assert said.model_copy(update={"tried": (*tried, "ran it")}).objections == ()


@pytest.mark.spec("TEAM-6")
def test_a_pass_with_an_open_question_is_an_objection() -> None:
    said = team_replies.Tested(result="PASS", tried=("ran it",), asks=Query(text="is zero a number?"))
    assert [one.what for one in said.objections] == ["QA's question is not answered: is zero a number?"]
