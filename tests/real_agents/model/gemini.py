"""Google's Gemini API: what Gemini CLI speaks."""

import itertools
from collections.abc import Iterator
from typing import Any

from .turn import ERROR, RESULT, USER, Act, Called, Reply, Said, Turn, Usage, bits, in_events, in_json, plain, turn_of

NAME = "gemini"
_numbers = itertools.count(1)
_ERRORS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}


def fits(path: str) -> bool:
    return path.endswith((":generateContent", ":streamGenerateContent"))


def read(path: str, body: dict[str, Any]) -> Turn:
    model, _, method = path.rpartition("/")[2].partition(":")
    asked = body.get("generationConfig") or {}
    return turn_of(
        _said(body["contents"]),
        tools=dict(_tools(body.get("tools") or [])),
        streams=method.startswith("stream"),
        model=model,
        system=plain((body.get("systemInstruction") or {}).get("parts")),
        schema=asked.get("responseJsonSchema") or asked.get("responseSchema"),
    )


def _said(contents: list[dict[str, Any]]) -> Iterator[Said]:
    for content in contents:
        for part in content.get("parts") or [] if content.get("role") != "model" else []:
            if "functionResponse" in part:
                answer = part["functionResponse"].get("response") or {}
                yield ERROR if "error" in answer else RESULT, plain(answer)
            elif "text" in part:
                yield USER, part["text"]


def _tools(offered: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in offered:
        for function in one.get("functionDeclarations") or []:
            spelled = ("parametersJsonSchema", "parameters_json_schema", "parameters")  # the library mixes them
            yield function["name"], next((function[one] for one in spelled if function.get(one)), {})


def reply(turn: Turn, act: Act, usage: Usage) -> Reply:
    counted = {"promptTokenCount": usage.sent, "candidatesTokenCount": usage.said, "totalTokenCount": usage.both}
    base = {"modelVersion": turn.model, "responseId": f"r{next(_numbers):06d}"}
    if not turn.streams:
        return in_json({**base, "candidates": [_candidate(_part(act), ends=True)], "usageMetadata": counted})
    parts = [_part(act)] if isinstance(act, Called) else [{"text": bit} for bit in bits(act.text)]
    chunks: list[dict[str, Any]] = [{**base, "candidates": [_candidate(one, ends=one is parts[-1])]} for one in parts]
    chunks[-1]["usageMetadata"] = counted
    return in_events(chunks, named=False)


def _part(act: Act) -> dict[str, Any]:
    if isinstance(act, Called):
        return {"functionCall": {"id": f"call{next(_numbers):06d}", "name": act.name, "args": act.arguments}}
    return {"text": act.text}


def _candidate(part: dict[str, Any], *, ends: bool) -> dict[str, Any]:
    finish = {"finishReason": "STOP"} if ends else {}
    return {"content": {"role": "model", "parts": [part]}, "index": 0, **finish}


def failure(status: int, message: str, wait: float | None) -> dict[str, Any]:
    name = _ERRORS.get(status, "UNAVAILABLE" if status in (503, 529) else "INTERNAL")
    retry = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wait:g}s"}] if wait else []
    return {"error": {"code": status, "message": message, "status": name, "details": retry}}
