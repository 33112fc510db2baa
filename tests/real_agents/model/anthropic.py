"""Anthropic's Messages API: what Claude Code speaks."""

import itertools
from collections.abc import Iterator
from typing import Any

from .turn import ERROR, RESULT, USER, Act, Called, Reply, Said, Turn, Usage, bits, in_events, in_json, plain, turn_of

NAME = "anthropic"
_numbers = itertools.count(1)
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def fits(path: str) -> bool:
    return path.endswith("/messages")


def read(_path: str, body: dict[str, Any]) -> Turn:
    wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return turn_of(
        _said(body["messages"]),
        tools={one["name"]: one.get("input_schema") or {} for one in body.get("tools") or [] if "name" in one},
        streams=bool(body.get("stream")),
        model=body.get("model", ""),
        system=plain(body.get("system")),
        schema=wanted.get("schema"),
    )


def _said(messages: list[dict[str, Any]]) -> Iterator[Said]:
    for message in messages:
        content = message["content"] if message["role"] == "user" else []
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                yield USER, block["text"]
            elif block["type"] == "tool_result":
                yield ERROR if block.get("is_error") else RESULT, plain(block.get("content"))


def reply(turn: Turn, act: Act, usage: Usage) -> Reply:
    message = {
        "id": f"msg_{next(_numbers):06d}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": _blocks(act),
        "stop_reason": "tool_use" if isinstance(act, Called) else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.sent,
            "output_tokens": usage.said,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }
    return in_events(_events(message), named=True) if turn.streams else in_json(message)


def _blocks(act: Act) -> list[dict[str, Any]]:
    if not isinstance(act, Called):
        return [{"type": "text", "text": act.text}]
    use = {"type": "tool_use", "id": f"toolu_{next(_numbers):06d}", "name": act.name, "input": act.arguments}
    return [{"type": "text", "text": f"I call {act.name}."}, use]


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for at, block in enumerate(message["content"]):
        if block["type"] == "text":
            yield {"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": ""}}
            deltas = [{"type": "text_delta", "text": bit} for bit in bits(block["text"])]
        else:
            yield {"type": "content_block_start", "index": at, "content_block": {**block, "input": {}}}
            arguments = in_json(block["input"]).pieces[0].decode()
            deltas = [{"type": "input_json_delta", "partial_json": bit} for bit in bits(arguments)]
        for delta in deltas:
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def failure(status: int, message: str, _wait: float | None) -> dict[str, Any]:
    return {"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}}
