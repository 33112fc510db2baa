"""A feature's folder: its name, its documents, and which agent writes each."""

import pytest

from trued.model import Goal, Source
from trued.support.markdown import Table, parse
from trued.workflows.pipeline.feature_folder import (
    Acceptance,
    FeatureFolder,
    artifact_of,
    folder_for,
    initial_request,
    plan_files,
    slug_of,
    with_distinct_ids,
)
from trued.workflows.pipeline.task_plan import Work

FOLDER = FeatureFolder(slug="slug")


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("Add a dark mode to the settings page, please.", "add-dark-mode-settings-page"),
        ("\n\n# Überprüfe den Zähler\nmore", "uberprufe-den-zahler"),
        ("../../etc/passwd", "etc-passwd"),
        ("做一个页面", "feature"),
        ("   ", "feature"),
        ("x" * 200, "x" * 40),
        ("a b c d e f g h i j k l m n o p q r s t u v w x y z one two", "b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u"),
    ],
)
def test_a_folder_is_called_by_the_first_words_of_the_request(words: str, slug: str) -> None:
    assert slug_of(words) == slug


def test_a_folder_that_is_there_is_not_written_into() -> None:
    there = ["docs/feature/add-login/notes.md", "Docs/Feature/ADD-LOGIN-2/x", "docs/feature/add-login-4"]
    assert folder_for(Goal(text="Add login"), there).root == "docs/feature/add-login-3/"
    assert folder_for(Goal(text="Add login"), []).root == "docs/feature/add-login/"


@pytest.mark.spec("PIPE-1")
def test_every_agent_has_one_document_of_its_own() -> None:
    assert artifact_of("researcher-impact") == "research/impact.md"
    assert artifact_of("ct-security") == "ct-review/ct-security.md"
    assert artifact_of("v-tests") == "verification/v-tests.md"
    assert artifact_of("r-knowledge") == "review/r-knowledge.md"
    assert (artifact_of("spec"), artifact_of("designer")) == ("feature.md", "design.md")
    assert artifact_of("implementer-T01") == ""
    assert FOLDER.own("planner") == ("docs/feature/slug/plan.md", "docs/feature/slug/tasks/")
    assert FOLDER.own("implementer-T01") == ()


def test_the_request_stands_there_word_for_word() -> None:
    goal = Goal(text="# A\n\n*b*\n", source=Source(file="goal.md", line=1))
    page = initial_request(goal, "0123456789abcdef")
    assert page.endswith(f"---\n\n{goal.text}\n")
    assert "`goal.md`, at commit 0123456789" in page


def test_a_plan_is_a_table_whatever_its_planner_calls_things() -> None:
    evil = Work(id="T01", title="a | b\n| c | <img src=x> [x](y)", brief="```\n# x\n```", files=("a`|b.py",), tests="x")
    works = (evil, Work(id="T02", title="b", depends_on=("T01",), criteria=("AC-1",)))
    criteria = (Acceptance(id="AC-1", text="it | holds"), Acceptance(id="AC-2", text="so"))
    files = plan_files(FOLDER, "t\n# u", works, criteria, {"Notes": ["# x\ny"]})
    assert set(files) == {f"docs/feature/slug/{name}" for name in ("plan.md", "tasks/T01.md", "tasks/T02.md")}
    (table,) = [one for one in parse(files["docs/feature/slug/plan.md"]) if isinstance(one, Table)]
    assert [row.cells[0].raw for row in table.rows] == ["T01", "T02"]
    assert {len(row.cells) for row in table.rows} == {6}
    assert "\n# x" not in files["docs/feature/slug/plan.md"]
    page = files["docs/feature/slug/tasks/T01.md"]
    assert "````text\n```\n# x\n```\n````" in page
    assert "- Wave: 2" in files["docs/feature/slug/tasks/T02.md"]
    assert "- Serves AC-1: it \\| holds" in files["docs/feature/slug/tasks/T02.md"]
    assert "AC-2: so" in files["docs/feature/slug/plan.md"]


def test_two_criteria_of_one_name_are_two_criteria() -> None:
    three = [Acceptance(id=name, text=f"{name}{number}") for number, name in enumerate(("A", "A", "A-2"))]
    assert [one.id for one in with_distinct_ids(three)] == ["A", "A-2", "A-2-2"]
