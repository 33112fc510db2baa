"""How Qwen Code and OpenCode are started and read. The conformance suite tests the real programs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trued.agents.adapters import opencode, qwen
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.transcript import Transcript
from trued.wire import Order, Usage

STREAMS = Path(__file__).with_name("streams")
ORDER = Order(
    "r", "one#1", "one", 1, "builder", "qwen:a-model", "Build it.", {"type": "object"}, "s-1", False, "/clone", "/home"
)
FOUND = InstalledProgram("/bin/agent")


def transcript(*events: dict[str, Any]) -> tuple[Transcript, list[str]]:
    told: list[str] = []
    ear = Transcript(ORDER, lambda kind, **_: told.append(kind))
    for event in events:
        qwen.fold(event, ear)
    return ear, told


def qwens(order: Order, **given: str) -> list[str]:
    program = qwen.build_program(order, FOUND)
    assert program.adapt is not None
    return list(program.adapt(given).argv)


@pytest.mark.spec("AGT-2", "PUR-4")
def test_qwen_has_the_tools_of_its_role_and_none_that_starts_agents() -> None:
    words = qwens(replace(ORDER, tools=("read", "execute")))
    start, middle, end = (words.index(f"--{which}-tools") for which in ("core", "allowed", "exclude"))
    assert words[start + 1 : middle] == ["read_file", "list_directory", "run_shell_command", "structured_output"]
    assert words[middle + 1 : end] == words[start + 1 : middle]
    assert {"agent", "send_message"} <= set(words[end + 1 : words.index("--allowed-mcp-server-names")])


@pytest.mark.spec("RUN-2")
def test_qwen_begins_a_session_by_our_name_and_goes_on_with_it() -> None:
    assert qwens(ORDER)[-8:] == [
        *("--session-id", "s-1", "--json-schema", '{"type": "object"}', "--model", "a-model"),
        *("--auth-type", "qwen-oauth"),
    ]
    again = qwens(replace(ORDER, resume=True), OPENAI_API_KEY="k")
    assert again[again.index("--resume") + 1] == "s-1"
    assert again[-1] == "openai"


@pytest.mark.spec("AGT-4")
def test_settings_above_all_others_keep_hooks_and_instructions_out_of_qwen() -> None:
    program = qwen.build_program(ORDER, FOUND)
    (name, content), (_, trust) = program.files.items()
    assert json.loads(trust) == {ORDER.folder: "DO_NOT_TRUST"}  # its settings and .env could send the key elsewhere
    assert program.variables["QWEN_CODE_SYSTEM_SETTINGS_PATH"] == f"/home/{name}"
    settings = json.loads(content)
    assert settings["disableAllHooks"] is True
    assert settings["security"]["folderTrust"]["enabled"] is True
    assert settings["context"]["fileName"] == ["none"]


@pytest.mark.spec("AGT-6")
def test_of_qwen_each_request_is_counted_once() -> None:
    lines = (STREAMS / "qwen.stream.jsonl").read_text().splitlines()
    ear, told = transcript(*map(json.loads, lines))
    assert (ear.finished, ear.text, ear.native) == (
        True,
        'Done {"success":true}',
        "e92650ba-944e-44fa-812f-dd9edac8f136",
    )
    assert ear.usage == Usage(59898, 145, 0, peak=20098, estimated=False, requests=3)
    assert (told.count("tool"), told.count("tool ended"), ear.running) == (2, 2, set())


@pytest.mark.spec("AGT-3", "RUN-7")
def test_qwens_typed_answer_its_plain_one_and_its_errors_are_told_apart() -> None:
    text = {"type": "assistant", "message": {"id": "1", "content": [{"type": "text", "text": '{"a": 1}'}]}}
    typed, _ = transcript({"type": "result", "is_error": False, "result": "{}", "structured_result": {"a": 1}})
    assert typed.structured == {"a": 1}
    plain, _ = transcript(
        text, {"type": "result", "is_error": True, "error": {"message": f"{qwen.PLAIN} instead of …"}}
    )
    assert (plain.finished, plain.text, plain.refusal) == (True, '{"a": 1}', None)
    refused, _ = transcript(
        {"type": "result", "is_error": False, "result": "[API Error: 401 Incorrect API key provided]"}
    )
    assert refused.refusal is not None
    assert refused.refusal.kind == "auth"
    broken, _ = transcript({"type": "result", "is_error": True, "subtype": "error_during_execution"})
    assert broken.refusal is not None


def told_to(order: Order) -> tuple[dict[str, Any], dict[str, Any], set[str]]:
    program = opencode.build_program(order, FOUND)
    config = json.loads(program.variables["OPENCODE_CONFIG_CONTENT"])
    return json.loads(program.stdin), config, set(program.files)


@pytest.mark.spec("AGT-2", "PUR-4")
def test_opencode_may_do_what_its_role_may_and_nothing_else() -> None:
    told, config, _ = told_to(replace(ORDER, agent="opencode:openai/gpt-5", tools=("read", "edit")))
    permission = config["permission"]
    assert next(iter(permission)) == "*", "the last rule that fits is the one that holds"
    assert permission == {
        "*": "deny",
        "read": "allow",
        "list": "allow",
        "edit": "allow",
        "external_directory": "allow",
    }
    assert (told["model"], told["argv"], told["session"], told["resume"]) == (
        "openai/gpt-5",
        ["/bin/agent", "acp"],
        "",
        False,
    )


@pytest.mark.spec("AGT-4", "RUN-2")
def test_opencode_takes_no_settings_but_ours_and_goes_on_with_its_own_session() -> None:
    told, config, files = told_to(replace(ORDER, agent="opencode", resume=True, native="ses_1"))
    assert (told["model"], told["session"], told["resume"]) == ("", "ses_1", True)
    assert config["agent"]["title"] == {"disable": True}
    assert ".config/opencode/plugin/told.js" in files
    variables = opencode.build_program(ORDER, FOUND).variables
    assert variables["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    assert (
        variables["OPENCODE_SERVER_PASSWORD"]
        != opencode.build_program(ORDER, FOUND).variables["OPENCODE_SERVER_PASSWORD"]
    )


@pytest.mark.spec("AGT-1")
def test_a_whole_agent_is_one_file_of_at_most_120_lines() -> None:
    folder = Path(__file__).parents[3] / "src" / "trued" / "agents" / "adapters"
    for name in ("qwen", "opencode", "acp"):
        assert len((folder / f"{name}.py").read_text().splitlines()) <= 120
