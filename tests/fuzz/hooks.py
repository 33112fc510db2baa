"""What Claude Code and git say to their hooks, and the settings files beside: garbage is refused in one sentence."""

import json
from typing import Any

from tests.fuzz.mutation import Mutator
from trued.errors import BadInput
from trued.gate.claude_stop import EVENTS, parse_hook_call
from trued.gate.json_edit import JsonText
from trued.gate.pushed_refs import parse_pushed_refs

QUESTION: dict[str, Any] = {
    "session_id": "abc-123",
    "transcript_path": "/home/ada/.claude/projects/x.jsonl",
    "cwd": "/home/ada/project",
    "permission_mode": "default",
    "hook_event_name": "Stop",
    "stop_hook_active": False,
    "last_assistant_message": "Everything is done, all tests pass.",
}
SUBAGENT = {**QUESTION, "hook_event_name": "SubagentStop", "agent_id": "agent-7", "stop_hook_active": True}
PUSH = b"refs/heads/main " + b"a" * 40 + b" refs/heads/main " + b"0" * 40 + b"\n"
SETTINGS = b"""{
  "model": "opus",
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
  },
  "permissions": {"allow": ["Bash(ls)"]}
}
"""


def feed(chance: Mutator) -> bytes:
    return chance.random.choice((_stop, _stop, _push, _settings))(chance)


def _stop(chance: Mutator) -> bytes:
    if chance.random.random() < 0.6:
        data = json.dumps(chance.value([QUESTION, SUBAGENT])).encode()
    else:
        data = chance.text([json.dumps(QUESTION).encode(), json.dumps(SUBAGENT).encode()])
    try:
        found = parse_hook_call(data)
    except BadInput:
        return b"refused"
    said = json.loads(data)
    assert found.event in EVENTS
    assert found.event == said["hook_event_name"]
    assert found.session.startswith(said["session_id"])
    assert found.active is (said.get("stop_hook_active") is True), "a stop that is no second one was taken for one"
    assert found.folder in (said.get("cwd"), "")
    return b"taken"


def _push(chance: Mutator) -> bytes:
    data = chance.text([PUSH, PUSH * 3, PUSH.replace(b"a", b"0")])
    try:
        found = parse_pushed_refs(data)
    except BadInput:
        return b"refused"
    told = [line for line in data.decode(errors="replace").splitlines() if line.strip()]
    assert len(found) == len(told), "a ref that is pushed was overlooked"
    for one, line in zip(found, told, strict=True):
        commit = line.split(" ")[1]
        assert one.commit == ("" if set(commit) == {"0"} else commit)
    return b"taken"


def _settings(chance: Mutator) -> bytes:
    """A hook put in and taken out again leaves the file as it was, byte for byte; put in, all else is what it was."""
    data = chance.text([SETTINGS])
    try:
        text = JsonText.read(data, "settings.json")
    except BadInput:
        return b"refused"
    before = json.loads(data.decode().removeprefix("\ufeff"))
    if "trued" in before or len(set(_names(data))) != len(_names(data)):
        return b"left out"
    put = text.append((), "trued", {"a": ["\u2028", 1]})
    after = json.loads(put.bytes().decode().removeprefix("\ufeff"))
    assert after.pop("trued") == {"a": ["\u2028", 1]}
    assert after == before or before != before
    dropped = json.loads(put.drop("trued").bytes().decode().removeprefix("\ufeff"))
    assert dropped == before
    return b"taken"


def _names(data: bytes) -> list[str]:
    pairs: list[str] = []
    json.loads(
        data.decode().removeprefix("\ufeff"), object_pairs_hook=lambda found: pairs.extend(key for key, _ in found)
    )
    return pairs
