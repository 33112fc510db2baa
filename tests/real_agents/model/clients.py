"""The least that a client of each dialect says and understands: what the scripted model is tested with."""

import http.client
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

PATH = {"type": "object", "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}}}
COMMAND = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "why": {"type": "string"}},
    "required": ["command", "why"],
}
TOOLS = {"Write": PATH, "Bash": COMMAND}


@dataclass(frozen=True)
class Heard:
    """What a client made of an answer."""

    status: int
    text: str = ""
    tool: str = ""
    arguments: Any = None
    sent: int = 0
    said: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes = b""


@dataclass(frozen=True)
class Client:
    name: str
    path: str
    body: Callable[[Sequence[str], dict[str, Any], bool], dict[str, Any]]  # (what users and tools said, tools, streams)
    understood: Callable[[list[dict[str, Any]]], dict[str, Any]]  # of all events, or of the one answer

    def asks(self, url: str, said: Sequence[str], *, tools: dict[str, Any] = TOOLS, streams: bool = True) -> Heard:
        """`said`: what users said; what begins with `>` is the result of a tool."""
        path = self.path.replace("generateContent", "streamGenerateContent?alt=sse") if streams else self.path
        return self._heard(*post(url, path, self.body(said, tools, streams)))

    def _heard(self, status: int, headers: list[tuple[str, str]], raw: bytes) -> Heard:
        if status != 200:
            return Heard(status, headers=tuple(headers), raw=raw)
        lines = [line[6:] for line in raw.splitlines() if line.startswith(b"data: ") and line != b"data: [DONE]"]
        events = [json.loads(line) for line in lines] or [json.loads(raw)]
        return Heard(status, **self.understood(events), headers=tuple(headers), raw=raw)


def post(url: str, path: str, body: dict[str, Any], within_s: float = 60.0) -> tuple[int, list[tuple[str, str]], bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=within_s)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, response.getheaders(), response.read()
    finally:
        connection.close()


def _anthropic(said: Sequence[str], tools: dict[str, Any], streams: bool) -> dict[str, Any]:
    messages = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": one}]}
        if one.startswith(">")
        else {"role": "user", "content": one}
        for one in said
    ]
    offered = [{"name": name, "input_schema": schema} for name, schema in tools.items()]
    return {"model": "m", "system": "You are it.", "messages": messages, "tools": offered, "stream": streams}


def _from_anthropic(events: list[dict[str, Any]]) -> dict[str, Any]:
    if events[0]["type"] == "message":
        usage, blocks = events[0]["usage"], events[0]["content"]
        use = next((one for one in blocks if one["type"] == "tool_use"), {"name": "", "input": None})
        text = "" if use["name"] else blocks[0]["text"]
        arguments = use["input"]
    else:
        usage = {**events[0]["message"]["usage"], **events[-2]["usage"]}
        started = [one["content_block"] for one in events if one["type"] == "content_block_start"]
        use = next((one for one in started if one["type"] == "tool_use"), {"name": ""})
        deltas = [one["delta"] for one in events if one["type"] == "content_block_delta"]
        text = "" if use["name"] else "".join(one["text"] for one in deltas)
        arguments = json.loads("".join(one.get("partial_json", "") for one in deltas) or "null")
    return {
        "text": text,
        "tool": use["name"],
        "arguments": arguments,
        "sent": usage["input_tokens"],
        "said": usage["output_tokens"],
    }


def _responses(said: Sequence[str], tools: dict[str, Any], streams: bool) -> dict[str, Any]:
    items = [
        {"type": "function_call_output", "call_id": "c", "output": one}
        if one.startswith(">")
        else {"type": "message", "role": "user", "content": [{"type": "input_text", "text": one}]}
        for one in said
    ]
    offered = [{"type": "function", "name": name, "parameters": schema} for name, schema in tools.items()]
    return {"model": "m", "instructions": "You are it.", "input": items, "tools": offered, "stream": streams}


def _from_responses(events: list[dict[str, Any]]) -> dict[str, Any]:
    last = events[-1].get("response") or events[-1]
    item, usage = last["output"][0], last["usage"]
    called = item["type"] == "function_call"
    if len(events) > 1 and not called:
        spoken = "".join(one["delta"] for one in events if one["type"].endswith("output_text.delta"))
        assert spoken == item["content"][0]["text"]
    return {
        "text": "" if called else item["content"][0]["text"],
        "tool": item.get("name", ""),
        "arguments": json.loads(item["arguments"]) if called else None,
        "sent": usage["input_tokens"],
        "said": usage["output_tokens"],
    }


def _chat(said: Sequence[str], tools: dict[str, Any], streams: bool) -> dict[str, Any]:
    messages = [
        {"role": "tool", "tool_call_id": "c", "content": one}
        if one.startswith(">")
        else {"role": "user", "content": one}
        for one in said
    ]
    offered = [{"type": "function", "function": {"name": name, "parameters": one}} for name, one in tools.items()]
    system = {"role": "system", "content": "You are it."}
    return {"model": "m", "messages": [system, *messages], "tools": offered, "stream": streams}


def _from_chat(events: list[dict[str, Any]]) -> dict[str, Any]:
    choices = [one["choices"][0] for one in events if one["choices"]]
    parts = [one.get("message") or one["delta"] for one in choices]
    calls = [call["function"] for part in parts for call in part.get("tool_calls") or []]
    usage = events[-1]["usage"]
    return {
        "text": "".join(part.get("content") or "" for part in parts),
        "tool": "".join(call.get("name", "") for call in calls),
        "arguments": json.loads("".join(call.get("arguments", "") for call in calls) or "null"),
        "sent": usage["prompt_tokens"],
        "said": usage["completion_tokens"],
    }


def _gemini(said: Sequence[str], tools: dict[str, Any], streams: bool) -> dict[str, Any]:
    contents = [
        {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"output": one}}}]}
        if one.startswith(">")
        else {"role": "user", "parts": [{"text": one}]}
        for one in said
    ]
    declared = [{"name": name, "parametersJsonSchema": schema} for name, schema in tools.items()]
    system = {"parts": [{"text": "You are it."}]}
    return {"contents": contents, "systemInstruction": system, "tools": [{"functionDeclarations": declared}]}


def _from_gemini(events: list[dict[str, Any]]) -> dict[str, Any]:
    parts = [part for one in events for part in one["candidates"][0]["content"]["parts"]]
    call = next((part["functionCall"] for part in parts if "functionCall" in part), {"name": "", "args": None})
    usage = events[-1]["usageMetadata"]
    return {
        "text": "".join(part.get("text", "") for part in parts),
        "tool": call["name"],
        "arguments": call["args"],
        "sent": usage["promptTokenCount"],
        "said": usage["candidatesTokenCount"],
    }


CLIENTS: Iterable[Client] = (
    Client("anthropic", "/v1/messages", _anthropic, _from_anthropic),
    Client("responses", "/v1/responses", _responses, _from_responses),
    Client("chat", "/v1/chat/completions", _chat, _from_chat),
    Client("gemini", "/v1beta/models/m:generateContent", _gemini, _from_gemini),
)
