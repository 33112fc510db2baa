"""What the report shows of a pipeline and of a team."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import git
from tests.reporting.html.reading import Read
from tests.reporting.html.sample import material
from tests.reporting.views.recorded import Recorder, pipeline, team
from trued.model import Event
from trued.reporting.html.documents import MOST, papers
from trued.reporting.html.page import page
from trued.reporting.html.render import rendered

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31mred\u202e'


def report(events: Iterable[Event]) -> Read:
    return Read(rendered(page(replace(material(), events=tuple(events)))))


@pytest.mark.spec("PIPE-4", "PIPE-5", "RUN-10")
def test_the_report_has_every_step_with_its_agents_and_every_decision_with_its_reasons() -> None:
    read = report(pipeline())
    assert (read.unbalanced, read.open) == ([], [])
    for wanted in (
        "researcher-impact",
        "ct-security: NEEDS_REVISION, High",
        "3 of 3 tasks merged in 2 waves, 1 conflict; 2 rounds of verification; 1 revision.",
        "shop/search.py",
        "tasks merged",
    ):
        assert wanted in read.text


@pytest.mark.spec("TEAM-10", "RUN-10")
def test_the_report_has_every_feature_with_uat_attempts_and_recoveries() -> None:
    tape = Recorder()
    failed = {"feature": "F2", "task": "F2-T9", "task_name": "Pay", "attempt": 10, "attempts": 10, "state": "failed"}
    last = tape.event("team", "feature F2/team", kind="task", qa="failed", **failed)
    read = report([*team(), last])
    assert (read.unbalanced, read.open) == ([], [])
    for wanted in (
        "A project of the kind Python: test uv run pytest.",
        "2 of 2 features and 4 of 4 tasks done, 2 of them after QA had sent them back; integration UAT passed.",
        "after 2 cycles",
        "F2-T9 Pay after 10 attempts; what QA found last is in .trued/team/qa/results.md",
        "features accepted",
    ):
        assert wanted in read.text


@pytest.mark.spec("USE-6")
def test_no_name_of_a_feature_a_step_or_a_finding_becomes_part_of_the_page() -> None:
    tape = Recorder()
    work = {"feature": EVIL, "feature_name": EVIL, "task": EVIL, "task_name": EVIL, "state": "failed", "attempt": 1}
    events = [
        tape.event("run began", workflow="pipeline"),
        tape.event("step", step=EVIL, agents=[EVIL], result=EVIL, why=[EVIL]),
        tape.event("wave", number=1, tasks=[EVIL]),
        tape.event("conflict", part=EVIL, files=[EVIL]),
        tape.event("decided", cluster=EVIL, result=EVIL, why=[EVIL]),
        tape.event("team", project=EVIL, commands={EVIL: EVIL}, found=[EVIL], qa=EVIL, uat=EVIL, why=[EVIL], **work),
    ]
    html = rendered(page(replace(material(), events=tuple(events))))
    assert "<script" not in html
    assert "<img src=x" not in html
    assert not set(html) & set("\x1b\u202e")
    assert EVIL[:20].replace('"', "&#34;").replace(">", "&gt;").replace("<", "&lt;") in html


@pytest.mark.spec("TEAM-15")
def test_a_thousand_tasks_do_not_make_the_page_long() -> None:
    tape = Recorder()
    events = [
        tape.event("run began", workflow="pipeline"),
        tape.event("wave", number=1, tasks=[str(n) for n in range(1000)]),
    ]
    events += [tape.event("step", step="implementation", agents=[f"implementer-{n}" for n in range(1000)])]
    few, many = report(pipeline()), report(events)
    assert many.text.count("implementer-") < 20
    assert "and 992 more" in many.text
    assert len(many.text) < 2 * len(few.text)


@pytest.mark.spec("TEAM-2", "PIPE-2")
def test_the_documents_on_the_branch_are_read_as_they_stand_there(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    committed(tmp_path, {"docs/feature/old/plan.md": "another run's", "README.md": "x"})
    base = git(tmp_path, "rev-parse", "HEAD")
    files = {name: f"# {name}\n" for name in ("history.jsonl", "backlog.md", "qa/results.md")}
    files |= {f"many/{number}.md": "" for number in range(60)}
    committed(tmp_path, {**{f".trued/team/{name}": text for name, text in files.items()}, "shop.py": ""})
    head = git(tmp_path, "rev-parse", "HEAD")
    record = material().record.model_copy(
        update={"workflow": "team", "repository": str(tmp_path), "base": base, "head": head}
    )
    found = papers(record)
    assert list(found)[:2] == [".trued/team/backlog.md", ".trued/team/qa/results.md"]
    assert found[".trued/team/backlog.md"] == "# backlog.md\n"
    assert len(found) == MOST
    assert "docs/feature/old/plan.md" not in found
    assert papers(record.model_copy(update={"repository": str(tmp_path / "gone")})) == {}
    assert papers(record.model_copy(update={"workflow": "purple"})) == {}


def committed(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "files")
