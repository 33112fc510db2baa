"""The tree of a run, as lines, without a terminal."""

import io
import json
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from tests.cli.conftest import Trued
from tests.stored_events import writer
from trued.cli.event_lines import event_line
from trued.cli.format import line, spent, tokens
from trued.cli.live import Lines
from trued.cli.tree import footer, row_lines, scope_lines, waiting
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import CallCase, Event, RunCase, RunRecord
from trued.reporting.views.cases import described
from trued.reporting.views.progress import Progress
from trued.support.durations import duration

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]not bold[/bold]\nnext \u202etfel"


def event(kind: str, key: str = "", at: float = 1000.0, **data: object) -> Event:
    return Event(id=0, at=at, key=key, kind=kind, data=data)


@pytest.mark.spec("USE-4", "PUR-11")
def test_a_call_shows_agent_time_tokens_cost_and_claim() -> None:
    key = "chunk 1A/purple-team-b#2"
    used = {"in": 1100, "out": 400, "cached": 0, "peak": 1500, "estimated": True}
    seen = Progress(
        [
            event("asked", key, role="purple-team-b", agent="scripted:/somewhere/agents.py"),
            event(
                "answered",
                key,
                state="done",
                reply={"result": "PASS"},
                tokens=used,
                cost_usd=0.25,
                began=10,
                ended=12.5,
            ),
        ]
    )
    (text,) = row_lines(seen.rows[key], now=20)
    assert text.plain == "✓ purple-team-b#2    scripted:agents.py  2.5s  ~1.5k tokens  $0.25  claims PASS"


@pytest.mark.spec("USE-4")
def test_what_a_run_waits_for_is_said() -> None:
    key = "chunk 1A/purple-team-a#1"
    seen = Progress([event("run began", at=990.0), event("asked", key, role="purple-team-a", agent="command:x")])
    assert waiting(seen, 1004.0) == "waiting for purple-team-a#1 (4.0s)"
    assert [one.plain for one in footer(seen, 1004.0)][-1] == "14s"
    seen.add(event("answered", key, state="failed", why="it broke"))
    assert waiting(seen, 1004.0) == "waiting for the engine's checks"
    seen.add(event("question", "chunk 1A/confirm#1", text="Go on?"))
    assert waiting(seen, 1004.0) == "waiting for you: Go on?"
    seen.add(event("ended", state="waiting", code=3))
    assert [row.plain for row in row_lines(seen.rows[key], 0)] == ["✗ purple-team-a#1    command:x  0.0s  it broke"]


@pytest.mark.spec("USE-4", "LAW-8")
def test_what_is_not_met_stands_under_its_checks_with_the_reason() -> None:
    judged = [
        {"id": "a", "grade": "refuted", "why": ["case 2: another value"]},
        {"id": "b", "grade": "proven"},
    ]
    seen = Progress(
        [event("proven", "chunk 1A/prove", grade="refuted", holds=False, gaps=["a gap"], requirements=judged)]
    )
    lines = [one.plain for one in row_lines(seen.rows["chunk 1A/prove 1"], 0)]
    assert lines == [
        "✗ checks             engine  0.0s  refuted, 1 gap",
        "    a refuted  case 2: another value",
    ]


@pytest.mark.parametrize(("accept", "met", "lines"), [("tested", "1/1", 1), ("attested", "0/1", 2), (None, "0/1", 2)])
def test_the_tree_counts_as_met_what_the_runs_bar_accepts(accept: str | None, met: str, lines: int) -> None:
    judged = [{"id": "a", "grade": "tested", "why": ["its tests pass"]}]
    bar: dict[str, Any] = {"accept": accept} if accept else {}
    seen = Progress([event("run began", **bar), event("proven", "finish#1", grade="tested", requirements=judged)])
    assert f"{met} requirements met" in footer(seen, 1004.0)[-1].plain
    assert len(scope_lines("finish", [seen.rows["finish#1 1"]], 1004.0, accept=seen.accept)) == lines + 1


def test_lines_leave_out_steps_whose_result_another_line_has(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines("purple")
    lines.listen(event("started", "chunk 1A/purple-team-a#1", pid=1))
    lines.listen(event("checked", "chunk 1A/prove", check="k", sort="tests", turn=1, void=""))
    lines.listen(event("judged", "chunk 1A/prove", requirement="a", grade="proven", why=["it does"]))
    assert capsys.readouterr().err == ""
    lines.listen(event("checked", "chunk 1A/prove", check="k", sort="tests", turn=1, void="no test ran"))
    lines.listen(event("proven", "chunk 1A/prove", grade="proven", requirements=[{"id": "a", "grade": "proven"}]))
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.spec("USE-6")
def test_nothing_from_outside_steers_the_terminal_or_is_taken_for_markup() -> None:
    seen = Progress(
        [
            event("run began", title=HOSTILE, workflow="purple", branch="b", level="l"),
            event("asked", f"chunk {HOSTILE}/a#1", role=HOSTILE, agent=HOSTILE),
            event("answered", f"chunk {HOSTILE}/a#1", state="failed", why=HOSTILE, reply={"result": HOSTILE}),
            event("said", "q", answer="redo", comment=HOSTILE, who=HOSTILE),
            event("proven", "p", grade="refuted", requirements=[{"id": HOSTILE, "grade": "refuted", "why": [HOSTILE]}]),
        ]
    )
    texts = [one for row in seen.rows.values() for one in row_lines(row, 0)]
    texts += [
        Text(event_line(event("something else", HOSTILE, what=HOSTILE))),
        Text(event_line(event("ended", why=HOSTILE))),
    ]
    screen = io.StringIO()
    for one in texts:
        Console(file=screen, force_terminal=False, width=500).print(one)
    shown = screen.getvalue()
    assert "red [bold]not bold[/bold] next tfel" in shown
    assert not set(shown) & set("\x1b\x07\u202e")
    assert shown.count("\n") == len(texts)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (duration(0.04), "40ms"),
        (duration(9.94), "9.9s"),
        (duration(59.6), "1m00s"),
        (duration(3720), "1h02m"),
        (duration(-5), "0.0s"),
        (tokens(0, estimated=True), ""),
        (tokens(999, estimated=False), "999 tokens"),
        (tokens(2_340_000, estimated=True), "~2.34M tokens"),
        (spent(0), ""),
        (spent(0.0012), "$0.0012"),
        (line("a\n b\t c", 0), "a b c"),
        (line("abcdef", 4), "abc…"),
        (described(CallCase(call="m:f", args=(1, "x"), kwargs={"k": None}, returns=[1])), "m:f(1, 'x', k=None) → [1]"),
        (described(CallCase(call="m:f", raises="TypeError")), "m:f() → raises TypeError"),
        (described(RunCase(run=("echo", "a b"), stdout="a b\n")), "$ echo 'a b' → prints 'a b\\n', exit code 0"),
        (described(RunCase(run=("false",), exit=1)), "$ false → exit code 1"),
    ],
)
def test_numbers_and_cases_are_short(said: str, wanted: str) -> None:
    assert said == wanted


@pytest.mark.spec("RUN-10", "USE-4")
def test_a_run_of_a_thousand_chunks_can_still_be_looked_at(
    trued: Trued, journal: SqliteJournal, record: RunRecord
) -> None:
    tell = writer(journal.of(record.id))
    for number in range(1000):
        key = f"chunk {number}/purple-team-a#1"
        tell("asked", key, role="purple-team-a", agent="command:x", brief="b" * 100)
        tell("answered", key, role="purple-team-a", agent="command:x", state="done", tokens={"in": 1, "out": 1})
    shown = trued("show", record.id)
    assert shown.returncode == 0
    assert len(shown.stdout.splitlines()) < 70
    assert "chunk 999" in shown.stdout
    assert len(json.loads(trued("show", record.id, "--json").stdout)["calls"]) == 1000


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("features", {"features": [{"id": HOSTILE}], "feature": HOSTILE, "attempt": 1, "of": 3}),
        ("checked", {"requirement": "a", "sort": "tests", "void": HOSTILE}),
        ("question", {"text": "Go on?", "options": [HOSTILE]}),
        ("sealed", {"serves": ["a"], "cases": {HOSTILE: 1}}),
        ("something", {"what": HOSTILE, HOSTILE: "name"}),
    ],
)
def test_an_event_is_one_harmless_line_whatever_is_in_it(kind: str, data: dict[str, Any]) -> None:
    said = event_line(event(kind, f"part/{HOSTILE}", **data))
    assert "red" in said
    assert said.isprintable()
