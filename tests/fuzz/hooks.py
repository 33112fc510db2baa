"""What Claude Code and git say to their hooks, and the settings files beside: garbage is refused in one sentence."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.fuzz.mutation import Mutator
from trued.errors import BadInput
from trued.gate import claude
from trued.gate.claude_stop import EVENTS, parse_hook_call
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
    """Hooks put in and taken out again leave the file as it was, byte for byte; put in, all else is what it was."""
    data = chance.text([SETTINGS])
    with TemporaryDirectory() as folder:
        file = Path(folder, claude.LOCAL)
        file.parent.mkdir()
        file.write_bytes(data)
        try:
            installed = claude.install(Path(folder), "trued gate hook claude", 600, None)
        except BadInput:
            assert file.read_bytes() == data, "a file that was refused was changed"
            return b"refused"
        before, after = json.loads(data.decode("utf-8-sig")), json.loads(file.read_bytes())
        assert {**before, "hooks": None} == {**after, "hooks": None}
        for event in EVENTS:
            assert after["hooks"][event][:-1] == before.get("hooks", {}).get(event, [])
        claude.remove(installed)
        assert file.read_bytes() == data
    return b"taken"
