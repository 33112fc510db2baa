"""OpenAI's Responses API: what Codex speaks."""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

from .turn import (
    FREEFORM,
    RESULT,
    USER,
    Act,
    Called,
    Reply,
    Said,
    Turn,
    Usage,
    bits,
    in_events,
    in_json,
    plain,
    turn_of,
)

NAME = "responses"
_numbers = itertools.count(1)
_ERRORS = {401: "invalid_api_key", 429: "rate_limit_exceeded", 500: "server_error", 503: "server_is_overloaded"}
_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def fits(path: str) -> bool:
    return path.endswith("/responses")


def read(_path: str, body: dict[str, Any]) -> Turn:
    wanted = (body.get("text") or {}).get("format") or {}
    given = body["input"]
    return turn_of(
        _said([{"role": "user", "content": given}] if isinstance(given, str) else given),
        tools=dict(_tools([*(body.get("tools") or []), *_more(given)])),
        streams=bool(body.get("stream")),
        model=body.get("model", ""),
        system="\n".join([body.get("instructions") or "", *_developer(given)]),
        schema=wanted.get("schema"),
    )


def _said(items: list[dict[str, Any]]) -> Iterator[Said]:
    for item in items:
        kind = item.get("type", "message")
        if kind in _RESULTS:
            yield RESULT, plain(item.get("output"))
        elif kind == "message" and item.get("role") == "user":
            yield USER, plain(item.get("content"))


def _developer(items: Any) -> Iterator[str]:
    for item in items if isinstance(items, list) else []:
        if item.get("role") in ("developer", "system"):
            yield plain(item.get("content"))


def _more(items: Any) -> Iterator[dict[str, Any]]:
    """Newer models are told of their tools among the messages."""
    for item in items if isinstance(items, list) else []:
        if item.get("type") == "additional_tools":
            yield from item.get("tools") or []


def _tools(offered: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in offered:
        if one["type"] == "function":
            yield one["name"], one.get("parameters") or {}
        elif one["type"] == "custom":
            yield one["name"], {FREEFORM: True, "about": one.get("description", "")}
        elif one["type"] == "namespace":
            yield from _tools(one.get("tools") or [])
        else:  # what the provider does itself, such as searching the web
            yield one.get("name") or one["type"], {}


def reply(turn: Turn, act: Act, usage: Usage) -> Reply:
    response = {
        "id": f"resp_{next(_numbers):06d}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": turn.model,
        "output": [_item(act)],
        "usage": {
            "input_tokens": usage.sent,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage.said,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.both,
        },
        "error": None,
        "incomplete_details": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
    }
    if not turn.streams:
        return in_json(response)
    events = ({**event, "sequence_number": number} for number, event in enumerate(_events(response)))
    return in_events(events, named=True)


def _item(act: Act) -> dict[str, Any]:
    number = f"{next(_numbers):06d}"
    if not isinstance(act, Called):
        content = [{"type": "output_text", "text": act.text, "annotations": []}]
        done = {"id": f"msg_{number}", "status": "completed"}
        return {"type": "message", "role": "assistant", "content": content, **done}
    called = {"call_id": f"call_{number}", "name": act.name, "status": "completed"}
    if isinstance(act.arguments, str):
        return {"type": "custom_tool_call", "id": f"ctc_{number}", "input": act.arguments, **called}
    return {"type": "function_call", "id": f"fc_{number}", "arguments": json.dumps(act.arguments), **called}


def _events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {
        "type": "response.created",
        "response": {**response, "status": "in_progress", "output": [], "usage": None},
    }
    for at, item in enumerate(response["output"]):
        begun = {**item, "status": "in_progress"}
        where = {"item_id": item["id"], "output_index": at}
        if item["type"] == "message":
            yield {"type": "response.output_item.added", "output_index": at, "item": {**begun, "content": []}}
            yield from _text(item["content"][0], {**where, "content_index": 0})
        elif item["type"] == "function_call":
            yield {"type": "response.output_item.added", "output_index": at, "item": {**begun, "arguments": ""}}
            for bit in bits(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **where, "delta": bit}
            yield {"type": "response.function_call_arguments.done", **where, "arguments": item["arguments"]}
        else:
            yield {"type": "response.output_item.added", "output_index": at, "item": {**begun, "input": ""}}
            for bit in bits(item["input"]):
                yield {"type": "response.custom_tool_call_input.delta", **where, "delta": bit}
            yield {"type": "response.custom_tool_call_input.done", **where, "input": item["input"]}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": response}


def _text(part: dict[str, Any], where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
    for bit in bits(part["text"]):
        yield {"type": "response.output_text.delta", **where, "delta": bit}
    yield {"type": "response.output_text.done", **where, "text": part["text"]}
    yield {"type": "response.content_part.done", **where, "part": part}


def failure(status: int, message: str, _wait: float | None) -> dict[str, Any]:
    code = _ERRORS.get(status, "invalid_request_error")
    return {"error": {"message": message, "type": code, "code": code, "param": None}}
