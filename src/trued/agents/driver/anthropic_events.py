"""Folds events in the style of Anthropic's messages, as Claude Code and Qwen Code stream them."""

import json
from collections.abc import Collection
from typing import Any

from trued.agents.driver.transcript import Transcript
from trued.wire import Usage


def fold_content(
    message: dict[str, Any], transcript: Transcript, starters: Collection[str], *, keep_text: bool = False
) -> None:
    """Fold text and tool calls of one message of the agent. `starters` are tools that would start another agent;
    `keep_text` makes the newest text the agent's answer."""
    for block in message["content"]:
        if block["type"] == "text":
            transcript.text = block["text"] if keep_text else transcript.text
            transcript.add_text(block["text"])
        elif block["type"] == "tool_use":
            what = json.dumps(block["input"], ensure_ascii=False)
            if block["name"] in starters:
                transcript.report_started_agent(f"{block['name']} {what}")
            transcript.start_tool(block["name"], block["id"], what)


def count_message(message: dict[str, Any], usage: Usage, transcript: Transcript) -> None:
    """Count the usage of each message once. A message comes in several events with the same id, and each event has the
    usage of the whole message."""
    if usage.tokens_in and message["id"] != transcript.last:
        transcript.last = message["id"]
        transcript.add_request(usage)


def fold_tool_results(message: dict[str, Any], transcript: Transcript) -> None:
    """Record the tools that have ended: this message brings their results to the model. A message of plain text has no
    results."""
    for block in message["content"] if isinstance(message["content"], list) else ():
        if block.get("type") == "tool_result":
            transcript.end_tool(block.get("tool_use_id", ""), failed=bool(block.get("is_error")))


def fold_denials(result: dict[str, Any], transcript: Transcript) -> None:
    """Record the tools that the agent was not allowed to use, from the event that ends its turn."""
    for denial in result.get("permission_denials") or ():
        transcript.deny_tool(str(denial.get("tool_name")), json.dumps(denial.get("tool_input"), ensure_ascii=False))
