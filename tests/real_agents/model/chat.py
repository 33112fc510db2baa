"""OpenAI's Chat Completions, which nearly every other provider speaks too: OpenCode, Qwen Code, raw models."""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

from .responses import failure
from .turn import RESULT, USER, Act, Called, Reply, Said, Turn, Usage, bits, in_events, in_json, plain, turn_of

__all__ = ["NAME", "failure", "fits", "read", "reply"]

NAME = "chat"
_numbers = itertools.count(1)


def fits(path: str) -> bool:
    return path.endswith("/chat/completions")


def read(_path: str, body: dict[str, Any]) -> Turn:
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    functions = [one["function"] for one in body.get("tools") or [] if one.get("type") == "function"]
    return turn_of(
        _said(body["messages"]),
        tools={one["name"]: one.get("parameters") or {} for one in functions},
        streams=bool(body.get("stream")),
        model=body.get("model", ""),
        system="\n".join(plain(one["content"]) for one in body["messages"] if one["role"] in ("system", "developer")),
        schema=wanted.get("schema"),
    )


def _said(messages: list[dict[str, Any]]) -> Iterator[Said]:
    for message in messages:
        if message["role"] == "tool":
            yield RESULT, plain(message.get("content"))
        elif message["role"] == "user":
            yield USER, plain(message.get("content"))


def reply(turn: Turn, act: Act, usage: Usage) -> Reply:
    base = {"id": f"chatcmpl_{next(_numbers):06d}", "created": int(time.time()), "model": turn.model}
    counted = {"prompt_tokens": usage.sent, "completion_tokens": usage.said, "total_tokens": usage.both}
    ends = "tool_calls" if isinstance(act, Called) else "stop"
    if not turn.streams:
        message = {"role": "assistant", "content": None, "tool_calls": [_call(act)]} if isinstance(act, Called) else {}
        choice = {"index": 0, "message": message or {"role": "assistant", "content": act.text}, "finish_reason": ends}
        return in_json({**base, "object": "chat.completion", "choices": [choice], "usage": counted})
    chunk = {**base, "object": "chat.completion.chunk"}
    deltas = ({"index": 0, "delta": one, "finish_reason": None} for one in _deltas(act))
    choices = [*deltas, {"index": 0, "delta": {}, "finish_reason": ends}]
    events = [{**chunk, "choices": [one]} for one in choices]
    return in_events([*events, {**chunk, "choices": [], "usage": counted}], named=False, last=b"data: [DONE]\n\n")


def _call(act: Called) -> dict[str, Any]:
    arguments = act.arguments if isinstance(act.arguments, str) else json.dumps(act.arguments)
    function = {"name": act.name, "arguments": arguments}
    return {"id": f"call_{next(_numbers):06d}", "type": "function", "function": function}


def _deltas(act: Act) -> Iterator[dict[str, Any]]:
    if not isinstance(act, Called):
        yield {"role": "assistant", "content": ""}
        for bit in bits(act.text):
            yield {"content": bit}
        return
    call = _call(act)
    begun = {**call, "index": 0, "function": {"name": act.name, "arguments": ""}}
    yield {"role": "assistant", "content": None, "tool_calls": [begun]}
    for bit in bits(call["function"]["arguments"]):
        yield {"tool_calls": [{"index": 0, "function": {"arguments": bit}}]}
