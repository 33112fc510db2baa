"""Drives agents that speak the Agent Client Protocol: starts our client beside the agent in the sandbox, and folds the
client's events."""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trued.agents.driver.inside import acp_client
from trued.agents.driver.program import Program, Stop
from trued.agents.driver.provider_errors import parse_refusal
from trued.agents.driver.transcript import Transcript
from trued.wire import Capabilities, Order, Usage

# Our names of tools → the protocol's kinds of tools. The kind `think` is not listed, because every role may use it.
KINDS = {
    "read": ("read",),
    "edit": ("edit", "delete", "move"),
    "search": ("search",),
    "execute": ("execute",),
    "web": ("fetch",),
    "browser": (),
}
# What the protocol offers. If an agent cannot resume a session, our client reports the session as lost.
CAPABILITIES = Capabilities(resume=True, early_session=True, reports_usage=True)
LOST = (acp_client.LOST,)
STARTERS = {"task", "agent", "delegate", "subagent"}  # names of tools that would start another agent
# Reasons for the end of a turn that are not failures. A reply that was cut off breaks the reply contract anyway.
WELL = ("end_turn", "max_tokens", "max_turn_requests")
AUTH_REQUIRED = -32000


@dataclass(frozen=True, slots=True)
class AcpAgent:
    """How one ACP agent is started, and the mode and model to choose in its session."""

    argv: tuple[str, ...]
    model: str = ""
    mode: str = ""
    readable: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    told: str = ""  # file for events that the protocol lacks, written by our plugin in the agent


def client_program(order: Order, choice: AcpAgent) -> Program:
    """The program to start: our client, with the order on its stdin. The client then starts the agent."""
    kinds = ["think", *(kind for tool in order.tools for kind in KINDS[tool])]
    settings = {
        "argv": choice.argv,
        "folder": order.folder,
        "prompt": order.brief,
        "session": order.native if order.resume else "",
        "resume": order.resume,
        "model": choice.model,
        "mode": choice.mode,
        "kinds": kinds,
        "told": choice.told,
    }
    client = str(Path(acp_client.__file__).resolve())
    return Program(
        # Started by path, with -P and -s, so that no file in the clone can replace a module.
        (sys.executable, "-P", "-s", "-B", client),
        json.dumps(settings, ensure_ascii=False).encode(),
        (sys.prefix, sys.base_prefix, client, *choice.readable),
        choice.variables,
        files=choice.files,
    )


def fold(event: dict[str, Any], transcript: Transcript) -> None:
    """Fold one event of our client into the transcript."""
    kind = event["event"]
    if kind == "session":
        transcript.set_session(event["id"])
    elif kind == "update":
        _fold_update(event["update"], transcript)
    elif kind == "request":
        _fold_request(event, transcript)
    elif kind == "compacted":
        transcript.count_compaction()
    elif kind == "permission":
        _fold_permission(event, transcript)
    elif kind == "answered":
        _fold_answer(event["response"], transcript)
    elif kind == "refused":
        _fold_refusal(event, transcript)


def _fold_update(update: dict[str, Any], transcript: Transcript) -> None:
    kind = update["sessionUpdate"]
    if kind == "agent_message_chunk":
        _fold_message_chunk(update, transcript)
    elif kind in ("tool_call", "tool_call_update"):
        _fold_tool(update, transcript)
    elif kind == "usage_update":
        _fold_usage_update(update, transcript)


def _fold_message_chunk(update: dict[str, Any], transcript: Transcript) -> None:
    if (message := update.get("messageId") or "") != transcript.last:
        _end_message(transcript)
        transcript.last = message
    transcript.text += (update.get("content") or {}).get("text") or ""
    if len(transcript.text) > (most := transcript.order.limits.output_bytes):
        transcript.stop = Stop("output", f"it wrote more than {most} characters in one message and was ended")
    if usage := (update.get("_meta") or {}).get("usage"):
        transcript.add_request(_usage(usage))


def _end_message(transcript: Transcript) -> None:
    """Record the message that has ended, and empty `transcript.text`: only the agent's last message is its answer."""
    transcript.add_text(transcript.text)
    transcript.text = ""


def _fold_tool(update: dict[str, Any], transcript: Transcript) -> None:
    """Record when a tool starts and ends. A tool counts as started when its input is complete: before that, the model
    is still writing the input. Some tools are reported only when they end."""
    status, id = update.get("status"), update["toolCallId"]
    if update["sessionUpdate"] == "tool_call":
        _end_message(transcript)
    whole = status in ("in_progress", "completed", "failed") or set(update.get("rawInput") or {}) - {"cwd"}
    if whole and id not in transcript.running:
        _start_tool(update, transcript)
    if status in ("completed", "failed"):
        transcript.end_tool(id, failed=status == "failed")


def _start_tool(update: dict[str, Any], transcript: Transcript) -> None:
    _end_message(transcript)
    title, kind = str(update.get("title") or ""), update.get("kind") or "other"
    name = str((update.get("_meta") or {}).get("toolName") or (title if kind == "other" else kind))
    what = json.dumps(update.get("rawInput") or title, ensure_ascii=False)
    if {name.lower(), title.lower()} & STARTERS:
        transcript.report_started_agent(f"{name} {what}")
    transcript.start_tool(name, update["toolCallId"], what)


def _fold_permission(event: dict[str, Any], transcript: Transcript) -> None:
    tool = event["tool"]
    name = f"{tool.get('kind') or 'an unknown kind of tool'}"
    what = str(tool.get("title") or json.dumps(tool.get("rawInput") or {}, ensure_ascii=False))
    if event["allowed"]:
        transcript.emit("permission", tool=name, what=what[:500], answer="allowed")
    else:
        transcript.deny_tool(name, what)


def _fold_request(event: dict[str, Any], transcript: Transcript) -> None:
    if event["sent"] or event["said"]:
        cost = float(event["cost"] or 0.0)
        kind = "reported" if cost else ""
        transcript.add_request(Usage(event["sent"], event["said"], event["cached"], cost_usd=cost, cost=kind))


def _fold_usage_update(update: dict[str, Any], transcript: Transcript) -> None:
    """Update the context's size and this call's cost. The agent reports the cost of the whole session, so the cost of
    earlier calls is subtracted."""
    usage = replace(transcript.usage, peak=max(transcript.usage.peak, update.get("used") or 0))
    cost = update.get("cost") or {}
    if cost.get("currency") == "USD" and cost.get("amount"):
        spent = max(0.0, float(cost["amount"]) - transcript.order.before.cost_usd)
        usage = replace(usage, cost_usd=spent, cost="reported")
    transcript.set_usage(usage)


def _fold_answer(response: dict[str, Any], transcript: Transcript) -> None:
    quota = ((response.get("_meta") or {}).get("quota") or {}).get("token_count") or {}
    reported = _usage(response.get("usage") or {})
    if quota:
        reported = Usage(quota.get("input_tokens") or 0, quota.get("output_tokens") or 0)
    if reported.tokens_in and not transcript.usage.requests:
        known = transcript.usage
        peak = known.peak or reported.tokens_in + reported.tokens_out
        transcript.set_usage(replace(reported, peak=peak, cost_usd=known.cost_usd, cost=known.cost, estimated=False))
    transcript.add_text(transcript.text)
    transcript.finished = True
    if (reason := response.get("stopReason")) not in WELL:
        transcript.refuse(f"the agent ended its turn: {reason}", kind="other")


def _fold_refusal(event: dict[str, Any], transcript: Transcript) -> None:
    data, code = event.get("data"), event.get("code") or 0
    why = f"{event['why']}{f': {json.dumps(data, ensure_ascii=False)}' if data else ''}"
    status, headers = event.get("status") or (code if 400 <= code < 600 else 0), event.get("headers") or {}
    kind = event.get("kind") or ("auth" if code == AUTH_REQUIRED else "")
    if event.get("waits") and not parse_refusal(why, now=time.time(), headers=headers):
        status = 429 if "429" in why else 503  # counts as temporary, because the agent itself would retry
    transcript.refuse(why, kind=kind, status=status, headers=headers)


def _usage(reported: dict[str, Any]) -> Usage:
    """The usage in an event. Some agents count cached tokens as input and thoughts as output, others do not. How this
    agent counts follows from the event's total."""
    total, output = reported.get("totalTokens") or 0, reported.get("outputTokens") or 0
    cached = reported.get("cachedReadTokens") or 0
    sent = max(reported.get("inputTokens") or 0, total - output - (reported.get("thoughtTokens") or 0))
    return Usage(sent, max(output, total - sent), cached)
