"""Codex: its command line, and what is read from its recorded streams."""

import json
import os
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.adapters.replay import STREAMS, Replay, recorded, replayed
from tests.agents.supervisor.world import World
from trued.agents.adapters import load_agent
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program
from trued.wire import Amount, Confinement, Usage

THREAD = "01a1dc8a-6fa0-7532-b3ae-92fdf6824e0f"
SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}, "more": {"type": "string"}}}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return World(tmp_path / "world", level="bubblewrap")


def begun(world: World, given: dict[str, str] | None = None, **changes: object) -> Program:
    begin = load_agent("codex").build_program
    assert begin is not None
    order = replace(world.order("codex", tools=("read", "edit")), **changes)  # type: ignore[arg-type]
    program = begin(order, InstalledProgram("/opt/bin/codex"))
    assert program.adapt is not None
    return program.adapt(given or {})


def settings(program: Program) -> dict[str, object]:
    """The settings after `-c`, as Codex reads them."""
    pairs = [program.argv[place + 1] for place, word in enumerate(program.argv) if word == "-c"]
    read: dict[str, object] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        read[name] = tomllib.loads(f"x = {value}")["x"]
    return read


# -- the beginning -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("AGT-4")
def test_the_brief_is_its_input_and_nothing_of_the_users_or_the_project_is_read(world: World) -> None:
    program = begun(world)
    assert program.stdin == b"Build it."
    assert program.argv[1] == "exec"
    assert program.argv[-1] == "-"
    assert {"--json", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"} <= set(program.argv)
    assert settings(program)["project_doc_max_bytes"] == 0


@pytest.mark.spec("PUR-4", "AGT-5")
def test_it_can_start_no_agents_and_asks_for_no_permission(world: World) -> None:
    program = begun(world)
    off = {program.argv[place + 1] for place, word in enumerate(program.argv) if word == "--disable"}
    assert {"multi_agent", "hooks", "plugins", "apps", "unbounded_connection_retries"} <= off
    assert settings(program)["agents.enabled"] is False
    assert settings(program)["approval_policy"] == "never"


@pytest.mark.spec("AGT-2")
@pytest.mark.parametrize(
    ("level", "tools", "mode", "web"),
    [
        ("bubblewrap", ("read",), "danger-full-access", "disabled"),
        ("landlock", ("read", "web"), "danger-full-access", "live"),
        ("none", ("read", "search"), "read-only", "disabled"),
        ("none", ("read", "execute"), "workspace-write", "disabled"),
    ],
)
def test_its_own_sandbox_is_off_inside_ours_and_on_where_there_is_none(
    world: World, level: str, tools: tuple[str, ...], mode: str, web: str
) -> None:
    program = begun(world, tools=tools, confinement=Confinement(level=level))
    assert (settings(program)["sandbox_mode"], settings(program)["web_search"]) == (mode, web)


def test_a_session_goes_on_by_the_name_that_it_gave_itself(world: World) -> None:
    assert begun(world, resume=True, native=THREAD).argv[-3:] == ("resume", THREAD, "-")
    assert "resume" not in begun(world, resume=True, native="").argv
    assert "resume" not in begun(world, native=THREAD).argv


@pytest.mark.spec("AGT-3")
def test_the_contract_lies_in_its_home_in_the_form_that_the_vendor_takes(world: World) -> None:
    program = begun(world, schema=SCHEMA | {"required": ["summary"]})
    (name,) = program.files
    assert str(Path(world.top, "home", name)) == program.argv[program.argv.index("--output-schema") + 1]
    assert json.loads(program.files[name])["required"] == ["summary", "more"]


def test_a_contract_that_the_vendor_cannot_say_is_left_to_the_brief(world: World) -> None:
    program = begun(world, schema={"type": "object", "additionalProperties": True})
    assert program.files == {}
    assert "--output-schema" not in program.argv


@pytest.mark.spec("AGT-1")
def test_a_key_and_an_address_of_the_vendors_other_programs_are_told_in_its_own_words(world: World) -> None:
    program = begun(world, {"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": 'http://x/"v1'})
    assert program.variables["CODEX_API_KEY"] == "k1"
    assert settings(program)["openai_base_url"] == 'http://x/"v1'
    assert begun(world, {"OPENAI_API_KEY": "k1", "CODEX_API_KEY": "k2"}).variables["CODEX_API_KEY"] == "k2"
    assert "k1" not in " ".join(program.argv)


def test_a_subscription_is_sent_to_nobody_but_its_vendor(world: World) -> None:
    lent = world.top / "home" / ".codex" / "auth.json"
    lent.parent.mkdir()
    lent.write_text("{}")
    program = begun(world, {"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": "http://elsewhere"})
    assert program.variables == {}
    assert "openai_base_url" not in settings(program)


# -- recorded streams --------------------------------------------------------------------------------------------------


@pytest.mark.spec("AGT-1", "AGT-6")
def test_a_turn_is_told_with_its_tools_its_answer_and_its_usage(world: World) -> None:
    report = replayed(world, "codex", Replay(recorded("codex.exec")))
    assert report.state == "done"
    assert report.reply == {"success": True, "files_changed": ["hello.py"], "summary": "added add()"}
    assert report.native == THREAD
    assert (report.usage.tokens_in, report.usage.tokens_out, report.usage.estimated) == (31475, 184, False)
    assert world.kinds().count("tool") == world.kinds().count("tool ended") == 2
    assert world.kinds()[0] == "session"  # before anything is paid for


@pytest.mark.spec("AGT-6")
def test_what_the_thread_used_before_is_not_charged_again(world: World) -> None:
    before = Usage(30612, 189, estimated=False)
    report = replayed(world, "codex", Replay(recorded("codex.resume")), resume=True, native=THREAD, before=before)
    assert (report.usage.tokens_in, report.usage.tokens_out) == (63875 - 30612, 373 - 189)
    afresh = replayed(world, "codex", Replay(recorded("codex.resume")), before=before)
    assert afresh.usage.tokens_in == 63875


@pytest.mark.spec("RUN-7")
def test_a_refused_key_ends_it_at_its_first_word(world: World) -> None:
    report = replayed(world, "codex", Replay(recorded("codex.401"), code=1))
    assert (report.state, report.kind) == ("failed", "auth")
    assert "Reconnecting" not in report.why
    assert world.kinds().count("refused") == 1


@pytest.mark.spec("RUN-7")
def test_a_rate_limit_is_one_whether_it_gives_up_or_would_wait(world: World) -> None:
    gave_up = replayed(world, "codex", Replay(recorded("codex.429all"), code=1))
    again = "Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"
    waits = Replay([json.dumps({"type": "error", "message": again})])
    assert gave_up.kind == replayed(world, "codex", waits).kind == "rate"


def test_a_port_that_looks_like_a_status_is_none(world: World) -> None:
    message = "Reconnecting... 1/5 (unexpected status 404 Not Found: no model, url: http://127.0.0.1:42999/v1)"
    lines = [json.dumps({"type": "error", "message": message}), *recorded("codex.exec")]
    assert replayed(world, "codex", Replay(lines)).state == "done"


def test_a_stream_that_was_taken_up_again_is_no_refusal(world: World) -> None:
    assert replayed(world, "codex", Replay(recorded("codex.drop"))).state == "done"


def test_a_failed_command_is_told_and_a_warning_is_no_error(world: World) -> None:
    report = replayed(world, "codex", Replay(recorded("codex.readonly")))
    assert report.state == "done"
    assert [data["failed"] for kind, data in world.told if kind == "tool ended"] == [True]
    assert any("Model metadata" in str(data) for kind, data in world.told if kind == "log")


@pytest.mark.spec("PUR-4")
def test_an_agent_that_it_starts_is_told(world: World) -> None:
    item = {"id": "item_1", "type": "collab_tool_call", "tool": "spawn_agent", "status": "in_progress"}
    replayed(world, "codex", Replay([json.dumps({"type": "item.started", "item": item})]))
    assert ("tried to start an agent", {"program": "spawn_agent"}) in world.told


def test_a_session_that_is_lost_begins_afresh_with_all_facts(world: World) -> None:
    said = ("Error: thread/resume: thread/resume failed: no rollout found for thread id X (code -32600)",)
    replay = Replay([], code=1, stderr=said)
    replayed(world, "codex", replay, resume=True, native=THREAD, anew="All facts.")
    assert [program.stdin for program in replay.programs] == [b"Build it.", b"All facts."]
    assert "resume" not in replay.programs[1].argv


# -- the record of its session -----------------------------------------------------------------------------------------


def rollout(world: World, lines: int | None = None) -> Path:
    place = world.top / "home/.codex/sessions/2026/11/15" / f"rollout-2026-11-15T09-07-20-{THREAD}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join((STREAMS / "codex.rollout.jsonl").read_text().splitlines(keepends=True)[:lines]))
    return place


@pytest.mark.spec("AGT-6")
def test_the_largest_request_and_their_number_are_read_from_its_record(world: World) -> None:
    rollout(world)
    report = replayed(world, "codex", Replay(recorded("codex.exec")))
    assert (report.usage.peak, report.usage.requests) == (13984 + 8, 6)
    assert report.usage.tokens_in == 31475  # of the whole turn, as Codex reports it


@pytest.mark.spec("RUN-6")
def test_more_than_was_reserved_ends_it_in_mid_turn(world: World) -> None:
    rollout(world)
    report = replayed(world, "codex", Replay(recorded("codex.exec")), allowance=Amount(tokens=20_000))
    assert (report.state, report.kind) == ("failed", "budget")


def test_what_its_record_holds_of_earlier_turns_is_no_news(world: World) -> None:
    rollout(world)
    replay = Replay(recorded("codex.exec"))
    report = replayed(world, "codex", replay, resume=True, native=THREAD, allowance=Amount(tokens=50_000))
    assert (report.state, report.usage.requests) == ("done", 0)


def test_a_failed_turn_is_charged_with_what_it_used(world: World) -> None:
    rollout(world)
    lines = [recorded("codex.exec")[0], *recorded("codex.429all")[1:]]
    report = replayed(world, "codex", Replay(lines, code=1))
    assert (report.kind, report.usage.estimated, report.usage.requests) == ("rate", False, 6)
    assert report.usage.tokens_in > 70_000


@pytest.mark.spec("RUN-6")
def test_the_windows_of_a_subscription_are_told(world: World) -> None:
    place = rollout(world, 1)
    used = {"input_tokens": 5, "output_tokens": 1}
    limits = {
        "primary": {"used_percent": 12.5, "window_minutes": 300, "resets_at": 1794740000},
        "secondary": {"used_percent": 61.0, "window_minutes": 10080, "resets_at": 1795000000},
    }
    payload = {"type": "token_count", "info": {"last_token_usage": used}, "rate_limits": limits}
    place.write_text(json.dumps({"type": "event_msg", "payload": payload}) + "\n")
    report = replayed(world, "codex", Replay(recorded("codex.exec")))
    assert report.quota == {"window": "10080 min", "used": 61.0, "until": 1795000000}


def test_a_record_that_is_a_link_a_pipe_or_nonsense_tells_nothing(world: World) -> None:
    place = rollout(world)
    there = shutil.move(place, world.top / "elsewhere.jsonl")
    for make in (lambda: place.symlink_to(there), lambda: os.mkfifo(place), lambda: place.write_text('{"type": 7}\n[')):
        place.unlink(missing_ok=True)
        make()
        assert replayed(world, "codex", Replay(recorded("codex.exec"))).usage.requests == 0
