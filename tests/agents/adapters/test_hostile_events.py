"""Impossible figures, times and names in an agent's stream are rejected: a tool or the agent may have made them up."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.adapters.replay import Replay, replayed
from tests.agents.supervisor.world import World
from trued.wire import Amount, Report

ODD_FIGURES = [-1_000_000, float("nan"), float("inf"), 10**30, 10**400]
AGENTS = ("claude", "codex", "gemini")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in AGENTS:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return World(tmp_path / "world")


def said(world: World, *events: dict[str, Any], agent: str = "claude", **changes: Any) -> Report:
    return replayed(world, agent, Replay([json.dumps(event) for event in events]), **changes)


def message(sent: object, id: str = "m1") -> dict[str, Any]:
    content = [{"type": "text", "text": "Well."}]
    return {
        "type": "assistant",
        "message": {"id": id, "content": content, "usage": {"input_tokens": sent, "output_tokens": 10}},
    }


def result(sent: object = 100, cost: object = 0.01, **more: object) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "result": '{"summary": "done"}',
        "usage": {"input_tokens": sent, "output_tokens": 10},
        "total_cost_usd": cost,
        **more,
    }


@pytest.mark.spec("RUN-6", "AGT-6")
@pytest.mark.parametrize("figure", ODD_FIGURES, ids=lambda figure: f"{str(figure)[:12]}")
def test_figures_that_cannot_be_pay_nothing_back_and_switch_no_limit_off(world: World, figure: float) -> None:
    for events in ([message(figure), result()], [message(100), result(cost=figure)]):
        usage = said(world, *events, allowance=Amount(usd=5.0)).usage
        assert 100 <= usage.tokens_in < 10**12
        assert 0 <= usage.cost_usd < 10**6
        assert isinstance(usage.tokens_in, int)


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("until", [1e18, float("inf"), float("nan"), 10**400], ids=lambda until: f"{str(until)[:12]}")
def test_a_window_that_never_opens_again_is_not_waited_for(world: World, until: float) -> None:
    window = {"type": "rate_limit_event", "rate_limit_info": {"rateLimitType": "five_hour", "status": "rejected"}}
    window["rate_limit_info"]["resetsAt"] = until  # type: ignore[index]
    report = said(world, window, result(is_error=True, api_error_status=429))
    assert (report.kind, report.until) == ("rate", 0.0)
    assert not report.quota.get("until")


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("digits", ["9" * 30, "9" * 5000], ids=["many", "too many"])
def test_gemini_is_not_believed_that_it_waits_for_ever(world: World, digits: str) -> None:
    line = f"Attempt 1 failed: quota exceeded. Retrying after {digits}ms..."
    report = replayed(world, "gemini", Replay([], 1, (line,)))
    assert report.state == "failed"
    assert report.until < 1e11


@pytest.mark.spec("AGT-3")
def test_a_line_that_is_nested_too_deeply_is_log(world: World) -> None:
    deep = '{"type": ' * 200_000
    lines = [deep, json.dumps({"type": [], "session_id": json.loads("[" * 400 + "]" * 400)}), json.dumps(result())]
    report = replayed(world, "claude", Replay(lines))
    assert (report.state, report.reply) == ("done", {"summary": "done"})


@pytest.mark.spec("AGT-2")
@pytest.mark.parametrize("thread", ["--last", "/../../*", "**/*", "../other", "a b", "x" * 1000])
def test_a_thread_is_known_by_a_plain_name_and_no_other(world: World, thread: str) -> None:
    report = said(world, {"type": "thread.started", "thread_id": thread}, agent="codex")
    assert report.native == ""
