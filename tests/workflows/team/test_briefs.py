"""The briefs of a team do not grow with the backlog, the goal or the specification."""

import pytest

from trued.model import Goal, TeamSettings
from trued.workflows.team.briefs import for_answer, for_dev, for_fixes, for_qa, for_techlead, for_uat, shortened
from trued.workflows.team.files import FOLDER
from trued.workflows.team.reply_parts import PlannedFeature, PlannedStory, PlannedTask, Query
from trued.workflows.team.state import Crew

LONG = "words of a long specification\n" * 3000


def crew(tasks: int) -> Crew:
    """A crew with this many tasks, ten in each feature."""
    many = range(max(1, tasks // 10))
    features = [
        PlannedFeature(
            name=f"feature {number:04}",
            criteria=("it works as it should",) * 3,
            stories=(PlannedStory(name="all", tasks=tuple(PlannedTask(title=f"task {one:04}") for one in range(10))),),
        )
        for number in many
    ]
    team = Crew(goal=Goal(text=LONG)).with_features(features)
    return team.model_copy(update={"specs": {"F1": LONG}})


def sizes(team: Crew) -> list[int]:
    subject = team.feature_task("F1")
    told = [for_dev(team, "F1-T5"), for_qa(team, "F1-T5", ["done"] * 5000), for_techlead(team, "F1")]
    told += [for_uat(team, subject), for_uat(team, team.plan()), for_fixes(team, "F1"), for_fixes(team, "")]
    told += [for_answer(team, ("dev", "F1-T5"), Query(text=LONG))]
    return [sum(map(len, one.values())) for one in told]


@pytest.mark.spec("TEAM-15")
def test_a_thousand_tasks_are_told_in_as_many_words_as_a_hundred() -> None:
    few, many = sizes(crew(100)), sizes(crew(1000))
    assert all(two <= one * 1.2 for one, two in zip(few[:4], many[:4], strict=True))
    assert max(many) < 40_000


@pytest.mark.spec("TEAM-15")
def test_a_cut_validation_names_the_file_that_has_all_of_it() -> None:
    team = crew(10)
    tried = [f"step {number} of a long validation" for number in range(1000)]
    records = team.records.with_validation("F1", "failed", 0.0, tried=tried)
    team = team.with_records(records := records.with_validation("", "failed", 0.0, tried=tried))
    files = records.files("", team.backlog, team.settings)
    for subject, path in ((team.feature_task("F1"), "uat/results.md"), (team.plan(), "uat/integration-uat.md")):
        before = for_uat(team, subject)["the_last_validation"]
        assert before.endswith(f"see {FOLDER}{path})")
        assert before.partition("\n(… ")[0] in files[f"{FOLDER}{path}"]


@pytest.mark.spec("TEAM-15")
@pytest.mark.parametrize(("off", "role"), [((), "techlead"), (("techlead",), "pm")])
def test_a_cut_question_names_the_inbox_of_the_role_that_answers(off: tuple[str, ...], role: str) -> None:
    team = crew(10).model_copy(update={"settings": TeamSettings(off=off)})
    question = for_answer(team, ("dev", "F1-T5"), Query(to="techlead", text=LONG))["question"]
    assert question.endswith(f"see {FOLDER}{role}/inbox.md)")


@pytest.mark.spec("TEAM-15")
def test_what_is_cut_says_where_the_rest_is() -> None:
    told = shortened(LONG, "goal.md")
    assert len(told) < 8_200
    assert told.endswith("see .trued/team/goal.md)")
    assert shortened("short", "goal.md") == "short"
