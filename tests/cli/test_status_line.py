"""The status of a pipeline or a team, on a terminal and without one."""

import io
import json
from collections.abc import Iterable

import pytest
from rich.console import Console
from rich.text import Text

from tests.cli.conftest import Trued
from tests.reporting.views.recorded import Recorder, pipeline, team
from tests.stored_events import writer
from trued.cli.event_lines import event_line
from trued.cli.live import AT_ONCE, LiveTree, wrap_indented
from trued.cli.status_line import ending, status_lines
from trued.cli.tree import footer
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import Event, RunRecord
from trued.reporting.views.progress import Progress

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]not bold[/bold]\nnext \u202etfel"


def until(events: Iterable[Event], kind: str, times: int = 1) -> Progress:
    """The progress after the last of `times` events of this kind."""
    seen = Progress()
    for event in events:
        seen.add(event)
        times -= event.kind == kind
        if not times:
            break
    return seen


@pytest.mark.spec("USE-4")
def test_the_steps_are_one_line_that_fits_and_says_how_far_each_is() -> None:
    seen = until(pipeline(), "decided", 2)
    steps = status_lines(seen)[0].plain
    assert steps == "✓ research  ✓ spec  ✓ design  ↻ critique  · plan  · implement  · verify  · review"
    seen = until(pipeline(), "merged", 1)
    assert "✓ design ×2  ✓ critique ×2  ✓ plan  ● implement 1/2  · verify" in status_lines(seen)[0].plain
    assert [one.plain for one in footer(seen, seen.last)][1] == "wave 1, 1/2 tasks merged · 1 revision"


@pytest.mark.spec("USE-4")
def test_of_a_cluster_at_work_those_who_have_ended_are_counted() -> None:
    seen = Progress()
    for event in pipeline():
        seen.add(event)
        if event.kind == "answered" and event.key == "verification/v-tasks#1":
            break
    assert "● verify 2/4" in status_lines(seen)[0].plain


@pytest.mark.spec("USE-4")
def test_a_step_that_was_broken_off_is_neither_done_nor_at_work() -> None:
    seen = until(pipeline(), "merged", 1)
    seen.add(Recorder().event("ended", state="interrupted", code=130))
    assert "… implement 1/2  · verify" in status_lines(seen)[0].plain


@pytest.mark.spec("TEAM-10")
def test_the_foot_of_the_tree_says_what_a_team_works_on_and_how_much_is_left() -> None:
    seen = until(team(), "team", 7)
    lines = [one.plain for one in footer(seen, seen.last)]
    assert lines[0] == "feature 1/2 F1: Feature 1 · task F1-T2: Do F1-T2, attempt 2/10"
    assert lines[-1].startswith("0/2 features · 1/4 tasks · ")
    assert "77.4k tokens · $0.24" in lines[-1]


@pytest.mark.spec("TEAM-10")
def test_at_the_end_features_tasks_recoveries_tokens_cost_and_time_are_one_line() -> None:
    (last,) = ending(Progress(team()))
    assert last.plain == "2/2 features · 4/4 tasks · 2 recoveries · 232.2k tokens · $0.72 · 33s"
    assert not status_lines(Progress(team()))  # the run has ended, so nothing is in progress


@pytest.mark.spec("TEAM-5", "TEAM-10")
def test_at_the_end_failed_tasks_are_named_with_the_file_of_their_results() -> None:
    tape = Recorder()
    failed = {"feature": "F1", "attempt": 10, "attempts": 10, "qa": "failed", "state": "failed"}
    events = [tape.event("team", "team", kind="task", task=f"T{n}", task_name="Index", **failed) for n in range(10)]
    lines = [one.plain for one in ending(Progress(events, "team"))]
    assert lines[0] == "task T0: Index failed after 10 attempts; QA's last findings: .trued/team/qa/results.md"
    assert lines[8] == "and 2 more tasks failed"


@pytest.mark.spec("PIPE-5", "PIPE-7")
def test_at_the_end_a_pipeline_says_what_each_step_came_to_and_why() -> None:
    tape = Recorder()
    objects = tape.event("decided", cluster="review", result="NEEDS_REVISION", why=["r-quality: DONE, Major"])
    lines = [one.plain for one in ending(Progress([*pipeline(), objects]))]
    assert lines[0].endswith("✓ plan  ✓ implement, 2 waves  ✓ verify ×2  ↻ review")
    assert lines[1] == "review ended as NEEDS_REVISION: r-quality: DONE, Major"
    assert lines[2].startswith("3/3 tasks merged in 2 waves · 1 conflict · 2 rounds of verification · 2 revisions · ")


@pytest.mark.spec("TEAM-10", "TEAM-15", "USE-4")
@pytest.mark.parametrize("scope", ["feature F1/task T{}", "feature F1"])
def test_a_thousand_tasks_leave_only_what_is_current_on_the_screen(scope: str) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=100, height=30)
    tape, tree, most = Recorder(), LiveTree("r-many", console=screen), 0
    for number in range(1000):
        key = f"{scope.format(number)}/dev#{number}"
        tree.listen(tape.asked(key, "dev"))
        drawn = [name for _, names in tree._unprinted_rows() for name in names]
        most = max(most, len(drawn))
        tree.listen(tape.answered(key, "dev"))
    assert most <= AT_ONCE + 2
    assert len(tree._alive) <= 2


@pytest.mark.spec("USE-4")
@pytest.mark.parametrize("width", [30, 80, 100])
def test_a_long_row_goes_on_below_itself(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    row = Text("  ⚠ QA failed, attempt 1/10: " + "the index is not rebuilt, and " * 8)
    lines = [one.plain for one in wrap_indented(row, console)]
    assert " ".join(" ".join(lines).split()) == " ".join(row.plain.split())
    if width > 30:
        assert all(len(one) <= width for one in lines)
        assert all(one.startswith("      ") for one in lines[1:])


@pytest.mark.parametrize("workflow", ["pipeline", "team"])
@pytest.mark.spec("USE-6")
def test_nothing_that_a_feature_or_a_finding_is_called_steers_the_terminal(workflow: str) -> None:
    tape = Recorder()
    work = {"feature": HOSTILE, "feature_name": HOSTILE, "task": HOSTILE, "task_name": HOSTILE, "state": "failed"}
    events = [
        tape.event("run began", workflow=workflow, title=HOSTILE),
        tape.event("step", HOSTILE, step=HOSTILE, agents=[HOSTILE], result=HOSTILE, why=[HOSTILE]),
        tape.event("wave", HOSTILE, number=1, tasks=[HOSTILE]),
        tape.event("conflict", HOSTILE, part=HOSTILE, files=[HOSTILE]),
        tape.event("decided", HOSTILE, cluster=HOSTILE, result="ERROR", why=[HOSTILE]),
        tape.event("merged", HOSTILE, part=HOSTILE, commit=HOSTILE),
        tape.event("team", HOSTILE, project=HOSTILE, commands={HOSTILE: HOSTILE}, found=[HOSTILE], **work),
        tape.event("team", HOSTILE, qa=HOSTILE, uat=HOSTILE, attempt=1, attempts=1, why=[HOSTILE], **work),
    ]
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=False, width=900)
    with LiveTree("r-evil", console=console) as tree:
        for event in events:
            tree.listen(event)
    seen = Progress(events)
    for one in (*footer(seen, 0.0), *ending(seen), *(Text(event_line(event, seen.view)) for event in events)):
        console.print(one)
    assert "red [bold]not bold[/bold] next tfel" in screen.getvalue()
    assert not set(screen.getvalue()) & set("\x1b\x07\u202e")


@pytest.mark.spec("USE-9", "TEAM-10", "RUN-10")
@pytest.mark.parametrize("name", ["pipeline", "team"])
def test_show_tells_the_same_story_as_lines_and_as_data(
    trued: Trued, journal: SqliteJournal, record: RunRecord, name: str
) -> None:
    recorded = {"pipeline": pipeline, "team": team}[name]()
    tell = writer(journal.of(record.id))
    for event in recorded:
        tell(event.kind, event.key, **event.data)
    data = json.loads(trued("show", record.id, "--json").stdout)
    assert {"id", "workflow", "state", "grade", "calls", name} <= data.keys()
    assert {"key", "role", "agent", "state", "attempts", "tokens", "cost_usd"} <= data["calls"][0].keys()
    shown = trued("show", record.id).stdout
    wanted = "✓ research" if name == "pipeline" else "2/2 features · 4/4 tasks · 2 recoveries"
    assert wanted in shown
