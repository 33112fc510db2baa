"""Commands by which a person steers a run that is at work."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Each
from tests.cli.test_command_line import one_sentence
from tests.engine.ended_run import RUN, ended_run
from trued.support.processes import MARKER


@pytest.mark.spec("PAGE-4", "RUN-6", "USE-7")
def test_limits_are_shown_set_raised_and_lowered_by_a_person_only(each: Each, tmp_path: Path) -> None:
    with ended_run(tmp_path):
        pass
    none, first, higher, lower, shown = each(
        ["limit", RUN],
        ["limit", RUN, "usd=5", "task:calls=3"],
        ["limit", RUN, "usd=9"],
        ["limit", RUN, "usd=2", "--json"],
        ["limit", RUN, "--json"],
    )
    assert (none.returncode, none.stdout) == (0, "")
    assert f"trued limit {RUN} usd=5" in none.stderr
    assert first.stdout.splitlines() == [f"{RUN}: usd: no limit → 5", f"{RUN}: task:calls: no limit → 3"]
    assert f"trued resume {RUN}" in first.stderr
    assert higher.stdout == f"{RUN}: usd: 5 → 9\n"
    assert json.loads(lower.stdout)["changed"] == [
        {"scope": "", "what": "usd", "before": 9.0, "to": 2.0, "raised": False}
    ]
    assert json.loads(shown.stdout)["limits"] == [
        {"scope": "", "what": "usd", "limit": 2.0},
        {"scope": "task", "what": "calls", "limit": 3},
    ]
    same, role, word = each(["limit", RUN, "usd=2"], ["limit", RUN, "nobody:usd=2"], ["limit", RUN, "money=3"])
    for done, says in (
        (same, "is already 2"),
        (role, "has no role 'nobody'"),
        (word, "there is no limit called 'money'"),
    ):
        assert says in one_sentence(done)
    (inside,) = each(["limit", RUN, "usd=99"], variables={MARKER: "r/x@1"})
    assert "is refused inside an agent" in one_sentence(inside)


@pytest.mark.spec("PAGE-7", "USE-7")
def test_a_comment_is_recorded_by_a_person_only_and_listed_with_whom_it_reached(each: Each, tmp_path: Path) -> None:
    with ended_run(tmp_path):
        pass
    none, given, listed, data, shown = each(
        ["comment", RUN],
        ["comment", RUN, "Keep it \x1b[31msmall."],
        ["comment", RUN],
        ["comment", RUN, "--json"],
        ["logs", RUN],
    )
    assert (none.returncode, none.stdout) == (0, "")
    assert "to every role: Keep it small. [given to: nobody yet]" in given.stdout
    assert f"trued resume {RUN}" in given.stderr
    assert listed.stdout == given.stdout
    (one,) = json.loads(data.stdout)
    assert json.loads(each(["show", RUN, "--json"])[0].stdout)["comments"] == [one]
    assert (one["text"], one["to"], one["way"], one["given"]) == ("Keep it small.", "", "command", [])
    assert "to every role: Keep it small." in shown.stdout
    many, whom, now, empty = each(
        ["comment", RUN, "a", "b"],
        ["comment", RUN, "a", "--to", "nobody"],
        ["comment", RUN, "a", "--now"],
        ["comment", RUN, "--now"],
    )
    for done, says in (
        (many, "one argument"),
        (whom, "no role or call"),
        (now, "is running"),
        (empty, "text is missing"),
    ):
        assert says in one_sentence(done)
    (inside,) = each(["comment", RUN, "I am a person"], variables={MARKER: "r/x@1"})
    assert "is refused inside an agent" in one_sentence(inside)
