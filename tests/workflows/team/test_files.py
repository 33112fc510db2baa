"""The files of a team are complete, readable and bounded, and the same records give the same bytes."""

import json
import tomllib

import pytest
from markdown_it import MarkdownIt

from trued.model import TeamSettings
from trued.workflows.team.backlog.items import Backlog
from trued.workflows.team.backlog.reading import parse_backlog
from trued.workflows.team.files import FOLDER, LOGS, Records, changed, feature_status
from trued.workflows.team.log import PAGE
from trued.workflows.team.reply_parts import Failure

WHEN = 1767323045.0


def _shop(features: int = 2, tasks: int = 2) -> Backlog:
    backlog = Backlog()
    for number in range(1, features + 1):
        backlog, own = backlog.with_new_feature(f"Feature {number}", [f"it does {number}"])
        backlog, story = backlog.with_new_story(own, "Story")
        for task in range(1, tasks + 1):
            backlog, _ = backlog.with_new_task(story, f"Task {task}")
    return backlog


def _worked(records: Records, words: str = "well") -> Records:
    feature = _shop().features[0]
    failure = Failure(what=f"{words}: 500", where="a.py:1", reproduction=("open /",), expected="200", actual="500")
    records = records.with_project("Python", {"test": "pytest -q"}, [words]).with_plan(_shop().features, [words], WHEN)
    records = records.with_spec(feature, f"# Spec\n{words}", ["pytest -q"], [words, "use SQLite"], WHEN)
    records = records.with_attempt("F1-T1", words, 1, 10, WHEN).with_message("techlead", "dev, F1-T1", words, WHEN)
    records = records.with_answer("techlead", words, WHEN).with_test(
        "F1-T1", (1, 10), [failure, words], WHEN, tried=[words]
    )
    records = records.with_test("F1-T1", (2, 10), [], WHEN, tried=["pytest"])
    records = records.with_completed("F1-T1", words, 2, WHEN, summary=words, files=["a.py"])
    records = records.with_validation("F1", "failed", WHEN, tried=[words], issues=[failure], not_met=[words])
    return records.with_fix_tasks("F1", [words], [words], WHEN).with_validation("", "passed", WHEN, tried=[words])


PATHS = """goal.md backlog.md feature-status.md config.toml history.jsonl context.md
pm/inbox.md pm/decisions.md pm/feature-breakdown.md techlead/inbox.md techlead/specs.md techlead/architecture.md
dev/inbox.md dev/progress.md dev/completed.md qa/inbox.md qa/results.md qa/test-history.md
uat/inbox.md uat/results.md uat/integration-uat.md"""


@pytest.mark.spec("TEAM-2")
def test_the_set_is_whole_from_the_first_step_and_all_of_it_is_in_one_folder() -> None:
    for records in (Records(), _worked(Records())):
        files = records.files("Build a shop", _shop(), TeamSettings())
        assert {*files} == {f"{FOLDER}{path}" for path in PATHS.split()}
        assert all(text.endswith("\n") for text in files.values() if text)
    assert files[f"{FOLDER}goal.md"] == "Build a shop\n"
    assert parse_backlog(files[f"{FOLDER}backlog.md"]) == _shop()
    assert tomllib.loads(files[f"{FOLDER}config.toml"])["team"]["attempts"] == 10


@pytest.mark.spec("TEAM-2", "TEAM-5", "TEAM-7")
def test_failures_decisions_and_results_are_there_to_be_read() -> None:
    records = _worked(Records())
    files = {path.removeprefix(FOLDER): text for path, text in records.files("g", _shop(), TeamSettings()).items()}
    assert "## ADR-001: F1, Feature 1\n" in files["techlead/architecture.md"]
    assert "## ADR-002: F1, Feature 1\n" in files["techlead/architecture.md"]
    assert "## F1-T1, attempt 2 of 10: passed" in files["qa/results.md"]
    assert "**F1-T1** 1/10 failed: well: 500\n" in files["qa/test-history.md"]
    failed = records.with_test("F1-T2", (10, 10), [Failure(what="no", expected="a", actual="b")], WHEN, ended=True)
    text = failed.files("g", _shop(), TeamSettings())[f"{FOLDER}qa/results.md"]
    assert "## F1-T2, attempt 10 of 10: failed for good" in text
    assert "- **Failure**: no\n  - expected: a\n  - actual: b\n" in text
    assert "Not met:\n\n- well\n" in files["uat/results.md"]
    assert "## All features: passed" in files["uat/integration-uat.md"]
    assert "- **test**: `pytest -q`" in files["context.md"]


@pytest.mark.spec("TEAM-3")
def test_the_status_of_features_says_what_is_completed_current_and_pending() -> None:
    backlog = _shop(4).with_feature("F1", status="completed", uat="passed").with_feature("F2", status="in_progress")
    backlog = backlog.with_task("F2-T1", state="done").with_feature("F3", status="failed", uat="failed")
    assert feature_status(backlog, ["F2-T2"]) == (
        "# Feature status\n\n1 of 4 features are completed; 1 of 8 tasks are done.\n\n"
        "## Completed\n\n- **F1**: Feature 1 (UAT: passed)\n\n"
        "## In progress\n\n- **F2**: Feature 2 (UAT: pending)\n  - stories: 0/1\n  - current: F2-T2, Task 2\n\n"
        "## Pending\n\n- **F4**: Feature 4 (UAT: pending)\n\n"
        "## Failed\n\n- **F3**: Feature 3 (UAT: failed)\n  - stories: 0/1\n"
    )


@pytest.mark.spec("TEAM-2")
def test_the_history_is_one_json_line_a_step_and_the_same_every_time() -> None:
    path = f"{FOLDER}history.jsonl"
    once, again = (_worked(Records()).files("g", _shop(), TeamSettings())[path] for _ in range(2))
    assert once == again
    rows = [json.loads(row) for row in once.splitlines()]
    assert [row["n"] for row in rows] == [*range(1, len(rows) + 1)]
    assert {"n": 5, "time": "2026-01-02T03:04:05Z", "step": "tested"}.items() <= rows[4].items()


@pytest.mark.spec("TEAM-2", "TEAM-15")
def test_what_only_grows_is_cut_into_pages_and_nothing_is_lost() -> None:
    records, seen = Records(), dict[str, str]()
    before = dict[str, str]()
    for number in range(1, 3 * PAGE + 8):
        records = records.with_test(f"F1-T{number}", (1, 10), ["no"] if number % 3 else [], WHEN)
        files = records.files("g", _shop(), TeamSettings())
        assert len(changed(before or files, files)) <= 6
        before = files
        seen |= files
    history = [name for name in seen if name.startswith(f"{FOLDER}history")]
    rows = [json.loads(row)["n"] for name in history for row in seen[name].splitlines()]
    assert sorted(rows) == [*range(1, 3 * PAGE + 8)]
    assert len(history) == 4
    assert max(len(files[name]) for name in files) < 20_000
    assert "Older results are in test-history.md" in files[f"{FOLDER}qa/results.md"]


HOSTILE = ["x\n## Fake\n\n- **Status**: completed", "[x](http://h) <img src=x>", "```\n", "<!-- ", "# h", "- [x] done"]


@pytest.mark.spec("TEAM-2", "USE-6")
@pytest.mark.parametrize("words", HOSTILE)
def test_no_words_make_a_heading_or_a_link_outside_a_quotation(words: str) -> None:
    def outline(said: str) -> dict[str, list[str]]:
        files = _worked(Records(), said).files("g", _shop(), TeamSettings())
        tokens = {path: MarkdownIt("commonmark").parse(text) for path, text in files.items() if path.endswith(".md")}
        return {
            path: [one.type + one.tag for one in found if one.level == 0 and one.type != "inline"]
            for path, found in tokens.items()
        }

    assert outline(words) == outline("well")


@pytest.mark.spec("TEAM-2")
def test_a_later_run_leaves_the_pages_of_an_earlier_one_as_they_are() -> None:
    def pages(records: Records) -> dict[str, str]:
        files = records.files("", _shop(), TeamSettings())
        return {path: files[f"{FOLDER}{path}"] for path, _ in LOGS.values()}

    before = pages(_worked(Records()))
    assert any("\n\n" in text.partition("\n\n")[2] for text in before.values())
    assert pages(Records().continued(before)) == before
    after = pages(_worked(Records().continued(before), "better"))
    assert all(after[path].startswith(text) and after[path] != text for path, text in before.items())
    full = Records()
    for _ in range(PAGE + 1):
        full = full.with_validation("F1", "failed", WHEN, tried=["all"], issues=["slow"])
    names = {path.removeprefix(FOLDER): text for path, text in full.files("", _shop(), TeamSettings()).items()}
    assert "Earlier entries are in results-001.md" in names["uat/results.md"]
    assert pages(Records().continued(names))["uat/results.md"] == names["uat/results.md"]
