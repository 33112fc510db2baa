"""Gemini CLI: its command line, and what is read from its recorded streams."""

import json
import os
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.adapters.replay import STREAMS, Replay, recorded, replayed, soon
from tests.agents.supervisor.world import World
from trued.agents.adapters import load_agent
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program
from trued.wire import Amount

SESSION = "22222222-2222-4333-8444-555555555555"
KEY = {"GEMINI_API_KEY": "k"}
ANSWER = {"success": True, "files_changed": ["hello.py"], "summary": "added add()"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return World(tmp_path / "world", level="bubblewrap")


def begun(world: World, given: dict[str, str] | None = None, **changes: object) -> Program:
    begin = load_agent("gemini").build_program
    assert begin is not None
    order = replace(world.order("gemini", session=SESSION, tools=("read", "edit")), **changes)  # type: ignore[arg-type]
    program = begin(order, InstalledProgram("/opt/bin/gemini"))
    assert program.adapt is not None
    return program.adapt(KEY if given is None else given)


def settings(program: Program) -> dict[str, dict[str, object]]:
    read: dict[str, dict[str, object]] = json.loads(program.files[".gemini/settings.json"])
    return read


# -- the beginning -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("AGT-2")
def test_a_role_has_its_tools_and_may_use_them_unasked(world: World) -> None:
    program = begun(world, tools=("read", "execute"))
    tools = ["read_file", "read_many_files", "list_directory", "run_shell_command"]
    assert settings(program)["tools"]["core"] == tools
    (rule,) = tomllib.loads(program.files[".gemini/of-the-role.toml"].decode())["rule"]
    assert (rule["toolName"], rule["decision"], rule["allowRedirection"]) == (tools, "allow", True)
    assert program.argv[program.argv.index("--policy") + 1] == str(world.top / "home/.gemini/of-the-role.toml")


@pytest.mark.spec("AGT-4", "PUR-4")
def test_nothing_of_the_project_is_loaded_and_no_agent_can_be_started(world: World) -> None:
    program = begun(world)
    assert program.variables["GEMINI_CLI_TRUST_WORKSPACE"] == "false"
    told = settings(program)
    assert told["context"]["fileName"] == ["no-such-file.md"]
    assert told["advanced"]["ignoreLocalEnv"] is True
    assert told["experimental"]["enableAgents"] is False
    for name in ("hooksConfig", "skills", "telemetry", "ide"):
        assert told[name] == {"enabled": False}
    assert told["privacy"]["usageStatisticsEnabled"] is False


def test_its_session_is_chosen_and_goes_on_by_the_same_name(world: World) -> None:
    words = begun(world).argv
    assert words[words.index("--session-id") + 1] == SESSION
    words = begun(world, resume=True).argv
    assert words[words.index("--resume") + 1] == SESSION


@pytest.mark.spec("AGT-1")
@pytest.mark.parametrize(
    ("given", "lent", "way"),
    [
        (KEY, False, "gemini-api-key"),
        ({"GOOGLE_API_KEY": "k", "GOOGLE_GENAI_USE_VERTEXAI": "true"}, False, "vertex-ai"),
        ({}, True, "oauth-personal"),
    ],
)
def test_it_logs_in_as_the_user_does(world: World, given: dict[str, str], lent: bool, way: str) -> None:
    if lent:
        (world.top / "home/.gemini").mkdir()
        (world.top / "home/.gemini/oauth_creds.json").write_text("{}")
    assert settings(begun(world, given))["security"]["auth"] == {"selectedType": way}


def test_an_at_sign_in_a_brief_brings_in_no_file(world: World) -> None:
    assert begun(world).stdin == b"Build it."
    told = begun(world, brief="Mail a@b.org, keep \\@x, use @src.").stdin.decode()
    assert told.startswith("Mail a\\@b.org, keep \\@x, use \\@src.\n")
    assert "plain at sign" in told


# -- recorded streams --------------------------------------------------------------------------------------------------


@pytest.mark.spec("AGT-1", "AGT-6")
def test_a_turn_is_told_with_its_tools_its_answer_and_its_usage(world: World) -> None:
    report = replayed(world, "gemini", Replay(recorded("gemini.stream")))
    assert (report.state, report.reply, report.native) == ("done", ANSWER, SESSION)
    assert (report.usage.tokens_in, report.usage.tokens_out, report.usage.estimated) == (38275, 99, False)
    assert [data["failed"] for kind, data in world.told if kind == "tool ended"] == [True, False]
    assert world.kinds().count("says") == 1


def test_an_answer_that_comes_in_pieces_is_one_and_what_was_said_before_a_tool_is_none(world: World) -> None:
    *before, said, end = recorded("gemini.stream")
    text = json.loads(said)["content"]
    pieces = [json.dumps({"type": "message", "role": "assistant", "content": part}) for part in (text[:9], text[9:])]
    first = json.dumps({"type": "message", "role": "assistant", "content": '{"success": false}'})
    report = replayed(world, "gemini", Replay([*before[:2], first, *before[2:], *pieces, end]))
    assert report.reply == ANSWER


def failing(message: str) -> list[str]:
    result = {"type": "result", "status": "error", "error": {"type": "Error", "message": message}, "stats": {}}
    return [recorded("gemini.stream")[0], json.dumps(result)]


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("[API Error: terminated]", "overloaded"),
        ("[API Error: API key not valid. Please pass a valid API key.]", "auth"),
        ("[API Error: x]\nPlease wait. To increase your limits, request a quota increase through AI Studio", "rate"),
        ("Operation cancelled.", "crashed"),
    ],
)
def test_a_result_that_is_an_error_is_told_as_what_it_is(world: World, message: str, kind: str) -> None:
    report = replayed(world, "gemini", Replay(failing(message), code=1))
    assert (report.state, report.kind) == ("failed", kind)


@pytest.mark.spec("RUN-7")
def test_a_long_wait_that_it_mentions_on_stderr_ends_it_with_the_time(world: World) -> None:
    said = ("Attempt 1 failed: Quota exceeded.", "Suggested retry after 180s.. Retrying after 206001ms...")
    report = replayed(world, "gemini", Replay(failing("Operation cancelled."), stderr=said))
    assert (report.state, report.kind) == ("failed", "rate")
    assert soon(report.until)


def test_a_short_wait_is_its_own(world: World) -> None:
    said = ("Attempt 1 failed: Quota exceeded. Retrying after 1200ms...",)
    assert replayed(world, "gemini", Replay(recorded("gemini.stream"), stderr=said)).state == "done"


@pytest.mark.spec("AGT-5")
def test_a_tool_that_nobody_allowed_becomes_a_question_where_the_user_wants_that(world: World) -> None:
    refused = {"type": "tool_result", "tool_id": "run_shell_command__1", "status": "error"}
    refused["output"] = 'Tool execution for "Shell" requires user confirmation, which is not supported'
    lines = [recorded("gemini.stream")[0], json.dumps(refused), *recorded("gemini.stream")[-2:]]
    assert replayed(world, "gemini", Replay(lines)).state == "done"
    asks = replayed(world, "gemini", Replay(lines), prompts="ask")
    assert asks.state == "asks"
    assert "run_shell_command" in asks.question


@pytest.mark.parametrize(
    ("said", "resume", "then"),
    [
        ("Error resuming session: No previous sessions found for this project.", True, "--session-id"),
        ('Error starting session: Session ID "X" already exists. Use --resume to resume it', False, "--resume"),
    ],
)
def test_a_session_that_is_lost_begins_afresh_and_one_that_was_begun_goes_on(
    world: World, said: str, resume: bool, then: str
) -> None:
    replay = Replay([], code=42, stderr=(said,))
    replayed(world, "gemini", replay, resume=resume, session=SESSION)
    assert len(replay.programs) == 2
    assert then in replay.programs[1].argv


# -- the record of its session -----------------------------------------------------------------------------------------


def chat(world: World, content: str) -> None:
    place = world.top / "home/.gemini/tmp/clone/chats" / f"session-2026-11-15T09-06-{SESSION[:8]}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a") as file:
        file.write(content)


@pytest.mark.spec("AGT-6")
def test_each_request_is_read_once_from_its_record_while_it_works(world: World) -> None:
    lines = (STREAMS / "gemini.chat.jsonl").read_text().splitlines(keepends=True)
    half = len(lines) // 2
    chat(world, "".join(lines[:half]))  # written by an earlier turn

    def grows(number: int) -> None:
        if number == 2:
            chat(world, "".join(lines[half:]))

    replay = Replay(recorded("gemini.stream"), between=grows)
    report = replayed(world, "gemini", replay, session=SESSION)
    told = [json.loads(line) for line in lines[half:]]
    ids = {line["id"] for line in told if line.get("type") == "gemini"}
    assert report.usage.requests == len(ids) == 3
    assert report.usage.peak == max(line["tokens"]["total"] for line in told if line.get("type") == "gemini")
    assert report.usage.tokens_in == 38275  # of the whole turn, as Gemini reports it


@pytest.mark.spec("RUN-6")
def test_more_than_was_reserved_ends_it_in_mid_turn(world: World) -> None:
    def grows(number: int) -> None:
        if number == 2:
            chat(world, (STREAMS / "gemini.chat.jsonl").read_text())

    replay = Replay(recorded("gemini.stream"), between=grows)
    report = replayed(world, "gemini", replay, session=SESSION, allowance=Amount(tokens=20_000))
    assert (report.state, report.kind) == ("failed", "budget")
