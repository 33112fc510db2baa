"""Anthropic's Messages API: what Claude Code speaks."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from .script import Edit, Read, Run, Say, Script, Step, Turn, Write

PATHS = ("/v1/messages",)
_numbers = itertools.count(1)
_ASIDE = ("<system-reminder>", "<session_context>", "<environment")
_FROM_A_HOOK = ("Stop hook feedback", "SubagentStop hook feedback", "Stop hook blocking error")
_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


def read(body: dict[str, Any]) -> Turn:
    number, texts = 0, list[str]()
    for message in body["messages"]:
        if message["role"] != "user":
            continue
        for kind, text in _said(message["content"]):
            texts.append(text)
            if kind == "result" or text.startswith(_FROM_A_HOOK):
                number += 1
            elif not text.startswith(_ASIDE):
                number = 0
    tools = {one["name"]: one.get("input_schema", {}) for one in body.get("tools") or [] if "name" in one}
    return Turn(number, tools, bool(body.get("stream")), body.get("model", ""), tuple(texts))


def _said(content: Any) -> Iterator[tuple[str, str]]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "text":
            yield "text", block["text"]
        elif block["type"] == "tool_result":
            inner = block.get("content") or ""
            yield "result", inner if isinstance(inner, str) else json.dumps(inner)


def answer(turn: Turn, script: Script) -> tuple[str, bytes]:
    """Content type and body."""
    # without tools it is asked on the side: for a title, a topic
    step = script.step(turn.number) if turn.tools else Say("ok")
    blocks, stop = _blocks(step, turn, script)
    message = {
        "id": f"msg_{next(_numbers):06d}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }
    if not turn.streams:
        return "application/json", json.dumps(message).encode()
    events = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in _events(message))
    return "text/event-stream", events.encode()


def failure(status: int) -> bytes:
    error = {"type": _ERRORS.get(status, "api_error"), "message": f"scripted {status}"}
    return json.dumps({"type": "error", "error": error}).encode()


def _blocks(step: Step, turn: Turn, script: Script) -> tuple[list[dict[str, Any]], str]:
    if isinstance(step, Say):
        return [{"type": "text", "text": step.text}], "end_turn"
    name, arguments = _call(step, script)
    assert name in turn.tools, f"the agent offers no tool {name}: {sorted(turn.tools)}"
    use = {"type": "tool_use", "id": f"toolu_{next(_numbers):06d}", "name": name, "input": arguments}
    return [{"type": "text", "text": f"I call {name}."}, use], "tool_use"


def _call(step: Read | Write | Edit | Run, script: Script) -> tuple[str, dict[str, str]]:
    match step:
        case Read(path):
            return "Read", {"file_path": script.absolute(path)}
        case Write(path, content):
            return "Write", {"file_path": script.absolute(path), "content": content}
        case Edit(path, old, new):
            return "Edit", {"file_path": script.absolute(path), "old_string": old, "new_string": new}
        case Run(command):
            return "Bash", {"command": command, "description": "as the script says"}


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for at, block in enumerate(message["content"]):
        begun: dict[str, Any]
        if block["type"] == "text":
            begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": at, "content_block": begun}
        yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}
