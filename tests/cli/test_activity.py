"""The current activity of agents, and watching a run from another terminal."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import World
from trued.cli.tree import scope_lines
from trued.model import Grade
from trued.page.transcript import CallTranscript
from trued.reporting.views.activity import RunActivity, describe_activity
from trued.reporting.views.rows import Call
from trued.support.hashing import folder_name

KEY = "chunk 1A/purple-team-a#1"


@pytest.mark.spec("DAY-12")
@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            {"kind": "tool", "name": "Bash", "what": '{"command": "pytest -q", "description": "Run tests"}'},
            "Bash: pytest -q",
        ),
        ({"kind": "tool", "name": "Edit", "what": '{"file_path": "/s/clones/c1/shelf/app.py"}'}, "Edit: shelf/app.py"),
        ({"kind": "tool", "name": "shell", "what": "npm test"}, "shell: npm test"),
        ({"kind": "tool", "name": "edit", "what": '[{"path": "a.py", "kind": "update"}]'}, "edit: a.py"),
        ({"kind": "tool", "name": "Todo", "what": "{}"}, "Todo"),
        ({"kind": "says", "text": "\n  I read the code.\nThen"}, "I read the code."),
        ({"kind": "log", "text": "running the tests"}, "running the tests"),
        ({"kind": "usage", "tokens_in": 3}, ""),
    ],
)
def test_an_event_of_a_transcript_in_a_few_words(row: dict[str, object], says: str) -> None:
    assert describe_activity(row) == says


@pytest.mark.spec("DAY-12", "RUN-7")
def test_a_call_that_went_on_after_a_wait_shows_what_it_does_now_and_not_what_it_did_before(tmp_path: Path) -> None:
    for number, (end, text) in enumerate((("1", "first"), ("2", "second"), ("w1.1", "after the wait"))):
        attempt = tmp_path / f"{folder_name(KEY)}.{end}"
        attempt.mkdir()
        (attempt / "starts").write_text(f"{100 + number}.5 4711\n")
        (attempt / "events.jsonl").write_text(json.dumps({"kind": "says", "text": text}) + "\n")
    assert RunActivity(tmp_path).of_call(KEY) == "after the wait"
    assert [line.text for line in CallTranscript(tmp_path, KEY).window().lines] == ["first", "second", "after the wait"]


@pytest.mark.spec("DAY-12", "USE-6")
def test_a_running_call_shows_its_last_activity_and_a_finished_one_does_not(tmp_path: Path) -> None:
    activity = RunActivity(tmp_path)
    assert activity.of_call(KEY) == ""
    for attempt in (1, 10, 2):
        (tmp_path / f"{folder_name(KEY)}.{attempt}").mkdir()
    file = tmp_path / f"{folder_name(KEY)}.10" / "events.jsonl"
    row = {"kind": "tool", "name": "Bash", "what": json.dumps({"command": "echo \x1b[31mred"})}
    file.write_text("x" * 50_000 + "\n" + json.dumps(row) + "\n" + json.dumps({"kind": "usage"}) + '\n{"kind": "to')
    running = [
        one.plain
        for one in scope_lines("s", [Call(KEY, agent="claude")], 9.0, accept=Grade.ATTESTED, doing=activity.of_call)
    ]
    assert running[-1].strip() == "Bash: echo red"
    done = scope_lines(
        "s", [Call(KEY, agent="claude", state="done")], 9.0, accept=Grade.ATTESTED, doing=activity.of_call
    )
    assert len(done) == len(running) - 1


@pytest.mark.slow
@pytest.mark.spec("DAY-12", "USE-3")
def test_a_run_is_watched_from_another_process_until_it_ends_with_its_exit_code(world: World) -> None:
    run = [sys.executable, "-m", "trued", "run", *world.work, "--yes"]
    with subprocess.Popen(
        run, cwd=world.repository, env=world.variables, stdin=subprocess.DEVNULL, stdout=-3, stderr=-3
    ) as driver:
        until = time.monotonic() + 300
        while not world.data("ls"):
            assert time.monotonic() < until
            time.sleep(0.1)
        watched = world.trued("watch")
        assert driver.wait(300) == 0
    assert watched.returncode == 0, watched.stderr
    assert "done: proven, 2 of 2 requirements met" in watched.stdout
    assert "ended: done" in watched.stderr
    again = world.trued("watch", "--json")  # nobody drives the run, so it is printed as it is
    assert (again.returncode, json.loads(again.stdout)["state"]) == (0, "done")
