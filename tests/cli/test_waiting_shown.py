"""How a call that waits for its provider is shown."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Trued
from tests.reporting.html.sample import START, call, material
from tests.reporting.html.sample import told as happened
from trued.cli.event_lines import event_line
from trued.cli.format import until
from trued.cli.tree import row_lines, waiting
from trued.inputs.settings.loader import load_settings
from trued.model import Event, RunRecord
from trued.model.events.call import CallWaits
from trued.reporting.html.calls import calls
from trued.reporting.html.page import page
from trued.reporting.html.render import rendered
from trued.reporting.html.timeline import timeline
from trued.reporting.views.progress import Progress
from trued.reporting.views.run_rows import run_data

KEY = "chunk 1A/purple-team-a#1"
NOW = 1_794_744_000.0
WAITS: dict[str, Any] = {
    "until": NOW + 720,
    "why": "claude: You've hit your limit",
    "failure": "rate",
    "agent": "claude:opus",
}


def event(kind: str, at: float = NOW, **data: Any) -> Event:
    return Event(id=0, at=at, key=KEY, kind=kind, data=data)


def clock(at: float) -> str:
    return time.strftime("%H:%M", time.localtime(at))


def a_wait() -> list[Event]:
    return [event("asked", NOW - 60, role="purple-team-a", agent="claude:opus"), event("waits", **WAITS)]


@pytest.mark.spec("RUN-7", "USE-4")
def test_the_tree_says_until_when_and_for_what_a_call_waits() -> None:
    seen = Progress(a_wait())
    (text,) = row_lines(seen.rows[KEY], NOW)
    wanted = f"waiting until {clock(NOW + 720)} (in 12m00s): rate limit of claude"
    assert text.plain == f"◌ purple-team-a#1    claude:opus  1m00s  {wanted}"
    assert waiting(seen, NOW) == (
        f"waiting for purple-team-a#1, from {clock(NOW + 720)} (in 12m00s): rate limit of claude"
    )


def test_after_the_wait_it_is_at_work_again_and_the_waiting_is_counted() -> None:
    seen = Progress([*a_wait(), event("waited", NOW + 723, seconds=723.0)])
    (text,) = row_lines(seen.rows[KEY], NOW + 725)
    assert text.plain == "● purple-team-a#1    claude:opus  13m05s  waited 12m03s for its provider"
    seen.add(event("answered", NOW + 800, state="done", began=NOW + 724, ended=NOW + 800, reply={}))
    (text,) = row_lines(seen.rows[KEY], NOW + 900)
    assert text.plain == "✓ purple-team-a#1    claude:opus  14m20s  waited 12m03s for its provider"


def test_a_wait_that_is_over_is_not_shown_as_one() -> None:
    (text,) = row_lines(Progress(a_wait()).rows[KEY], NOW + 721)
    assert "waits" not in text.plain


@pytest.mark.spec("USE-4")
def test_plain_lines_say_it_too() -> None:
    line = event_line(event("waits", **WAITS)).partition(" ")[2]
    until_when = f"{clock(NOW + 720)} (in 12m00s)"
    assert line == f"waits {KEY}: until {until_when}: rate limit of claude; claude: You've hit your limit"
    assert event_line(event("waited", seconds=723.0)).endswith(f"waited {KEY}: 12m03s")


@pytest.mark.spec("USE-9")
def test_show_has_it_as_data() -> None:
    record = RunRecord(id="r", workflow="solo", title="t", repository="/r", base="0", branch="b")
    (row,) = run_data(record, a_wait())["calls"]
    assert (row["waits_until"], row["waits_for"], row["waited_s"]) == (NOW + 720, "rate limit of claude", 0.0)
    (row,) = run_data(record, [*a_wait(), event("waited", seconds=723.04)])["calls"]
    assert (row["waits_until"], row["waits_for"], row["waited_s"]) == (0.0, "", 723.0)


@pytest.mark.parametrize(
    ("agent", "failure", "says"),
    [
        ("claude", "rate", "rate limit of claude"),
        ("codex:gpt-5", "rate", "rate limit of codex"),
        ("coder:anthropic:claude-sonnet-4-5", "rate", "rate limit of anthropic"),
        ("acp:opencode acp", "rate", "rate limit of opencode"),
        ("gemini", "overloaded", "gemini is overloaded or out of reach"),
        ("", "rate", "rate limit of its provider"),
    ],
)
def test_whose_limit_it_is(agent: str, failure: str, says: str) -> None:
    assert CallWaits(until=0.0, why="", agent=agent, failure=failure).waits_for == says


def test_a_time_on_another_day_has_its_day() -> None:
    assert until(NOW + 40 * 3600, NOW).startswith(time.strftime("%a %d %b", time.localtime(NOW + 40 * 3600)))


@pytest.mark.spec("RUN-7", "USE-4")
def test_the_report_draws_a_wait_as_waiting_and_not_as_work() -> None:
    asked, started, done = call(KEY, 100.0, 60.0, {"result": "DONE"})
    waits = happened(120.0, KEY, "waits", **{**WAITS, "until": START + 8117})
    waited = happened(8120.0, KEY, "waited", seconds=8000.0)
    last = {**done.data, "began": START + 8120, "ended": START + 8160}
    answered = done.model_copy(update={"at": START + 8160, "data": last})
    one = replace(material(), events=[asked, started, waits, waited, answered], now=START + 9000)
    (made,) = calls(one)
    assert [(wait.began, wait.ended) for wait in made.waits] == [(START + 120, START + 8120)]
    bars = [bar for lane in timeline(one, [made]).lanes if lane.kind == "agent" for bar in lane.bars]
    assert [bar.kind for bar in bars if bar.ended - bar.began > 1] == ["work", "wait", "work"]
    assert "waited 2h13m: rate limit of claude" in rendered(page(one))


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize(
    ("flags", "environ", "file", "waits"),
    [
        ({}, {}, "", True),
        ({"wait": False}, {}, "", False),
        ({}, {"TRUED_WAIT": "false"}, "", False),
        ({}, {}, "wait = false\n", False),
        ({"wait": True}, {"TRUED_WAIT": "false"}, "wait = false\n", True),
    ],
)
def test_waiting_can_be_switched_off(
    flags: dict[str, Any], environ: dict[str, str], file: str, waits: bool, tmp_path: Path
) -> None:
    (tmp_path / "trued.toml").write_text(file)
    assert load_settings(flags, environ, tmp_path, None).wait is waits


@pytest.mark.parametrize("command", ["run", "resume"])
def test_both_commands_have_the_switch(command: str, trued: Trued) -> None:
    assert "--no-wait" in trued(command, "--help").stdout
