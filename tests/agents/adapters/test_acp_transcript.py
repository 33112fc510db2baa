"""Recordings of five real agents over ACP are folded correctly."""

import json
from pathlib import Path
from typing import Any

import pytest

from trued.agents.driver.acp import fold
from trued.agents.driver.transcript import Transcript
from trued.wire import Order, Usage

STREAMS = Path(__file__).with_name("streams")
SAID = 'Done.\n```json\n{"success": true, "files_changed": ["hello.py"], "summary": "added add()"}\n```'


def transcript_for(told: list[tuple[str, dict[str, Any]]], *, prompts: str = "policy") -> Transcript:
    order = Order("r", "one#1", "one", 1, "builder", "acp:x", "", {}, "s", False, "/clone", "/home", prompts=prompts)
    return Transcript(order, lambda kind, **data: told.append((kind, data)))


def events(name: str) -> list[dict[str, Any]]:
    """The events that our client would emit for a recording."""
    found = []
    for line in (STREAMS / f"acp.{name}.jsonl").read_text().splitlines():
        kind, data = (record := json.loads(line))["kind"], record["data"]
        if kind.startswith("update:"):
            found.append({"event": "update", "update": data})
        elif kind == "new_session":
            found.append({"event": "session", "id": data["sessionId"]})
        elif kind == "request_permission":
            found.append({"event": "permission", "allowed": True, "tool": data["tool"]})
        elif kind == "prompt_response":
            found.append({"event": "answered", "response": data})
    return found


@pytest.mark.spec("AGT-1", "AGT-6")
@pytest.mark.parametrize(
    ("name", "text", "tools", "usage"),
    [
        ("claude", SAID, 2, Usage(61762, 150, 0, 20734, 0.31256, estimated=False, cost="reported")),
        ("codex", SAID, 2, Usage(peak=12428)),
        ("gemini", SAID, 2, Usage(38825, 110, 0, 38935, estimated=False)),
        ("opencode", SAID, 2, Usage(7957, 35, 0, 7957, 0.02395, estimated=False, cost="reported")),
        ("qwen", 'Done {"success":true}', 2, Usage(60091, 145, 0, 20177, estimated=False, requests=3)),
    ],
)
def test_of_each_agent_its_answer_its_tools_and_its_usage_are_heard(
    name: str, text: str, tools: int, usage: Usage
) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    transcript = transcript_for(told)
    for event in events(name):
        fold(event, transcript)
    assert (transcript.finished, transcript.text, transcript.refusal) == (True, text, None)
    assert transcript.native
    assert transcript.usage == usage
    assert transcript.running == set()
    kinds = [kind for kind, _ in told]
    assert (kinds.count("tool"), kinds.count("tool ended")) == (tools, tools)
    assert kinds[0] == "session"


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"why": "invalid x-api-key", "code": 401}, "auth"),
        ({"why": "Authentication required", "code": -32000}, "auth"),
        ({"why": "Internal error", "code": -32603, "data": {"message": "429 Too Many Requests"}}, "rate"),
        ({"why": "Internal error: no", "code": -32603, "status": 401, "headers": {"date": "now"}}, "auth"),
        ({"why": "out of patience", "waits": True, "headers": {"retry-after": "60"}}, "overloaded"),
        ({"why": "the disk is on fire", "code": -32603}, "other"),
        ({"why": "pip install 'trued[acp]'", "kind": "missing"}, "missing"),
    ],
)
@pytest.mark.spec("RUN-7")
def test_what_an_agent_refuses_is_understood(event: dict[str, Any], kind: str) -> None:
    transcript = transcript_for([])
    fold({"event": "refused", **event}, transcript)
    assert transcript.refusal is not None
    assert transcript.refusal.kind == kind
    assert (transcript.refusal.until > 0) == (event.get("waits", False))


def test_a_tool_is_at_work_when_its_input_is_whole() -> None:
    transcript = transcript_for([])
    update = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "bash", "kind": "execute"}
    fold({"event": "update", "update": {**update, "status": "pending", "rawInput": {"cwd": "/clone"}}}, transcript)
    assert not transcript.running, "the model is still talking: silence would be a hang"
    later = {**update, "sessionUpdate": "tool_call_update", "status": "in_progress", "rawInput": {"command": "make"}}
    fold({"event": "update", "update": later}, transcript)
    assert transcript.running == {"1"}


@pytest.mark.spec("PUR-4")
def test_an_agent_that_tries_to_start_another_is_told_of() -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    call = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "task", "kind": "other", "status": "in_progress"}
    fold({"event": "update", "update": call}, transcript_for(told))
    assert "tried to start an agent" in [kind for kind, _ in told]


@pytest.mark.spec("AGT-5")
def test_a_refused_permission_becomes_a_question_where_a_person_wants_to_be_asked() -> None:
    event = {"event": "permission", "allowed": False, "tool": {"kind": "execute", "title": "make", "rawInput": None}}
    transcript = transcript_for([], prompts="ask")
    fold(event, transcript)
    assert transcript.question == "builder wants to use execute: make. Allow this?"
    transcript = transcript_for([])
    fold(event, transcript)
    assert (transcript.question, transcript.stop) == ("", None)
