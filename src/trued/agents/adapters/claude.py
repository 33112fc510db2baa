"""Claude Code, driven by its stream of JSON events."""

import json
from typing import Any

from trued.agents.driver.agent import Agent, Login, mcp_server, model_of
from trued.agents.driver.anthropic_events import count_message, fold_content, fold_denials, fold_tool_results
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program
from trued.agents.driver.transcript import Transcript
from trued.wire import Capabilities, Order, Usage

TOOLS = {
    "read": ("Read",),
    "edit": ("Edit", "Write", "NotebookEdit"),
    "search": ("Glob", "Grep"),
    "execute": ("Bash",),
    "web": ("WebFetch", "WebSearch"),
    "browser": (),  # none are built in: an order with a browser adds an MCP server
}
STARTERS = ("Task", "Agent", "Workflow", "SendMessage")  # tools that would start another agent
MODELS = {"small": "haiku", "medium": "sonnet", "large": "opus", "haiku": "haiku", "sonnet": "sonnet", "opus": "opus"}
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",  # few: long waits are left to the engine, which frees the slot
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",  # reads no CLAUDE.md: the brief contains the project's instructions
    "MAX_STRUCTURED_OUTPUT_RETRIES": "3",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
}
ERRORS = {"error_max_budget_usd": "budget", "error_max_structured_output_retries": "contract"}


def build_program(order: Order, installed: InstalledProgram) -> Program:
    """Claude Code's command line for this order."""
    tools = [name for tool in order.tools for name in TOOLS[tool]]
    argv = [installed.path, "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"]
    browser = ["mcp__browser"] if order.browser else []  # all tools of the browser's server
    argv += ["--tools", ",".join(tools), "--allowedTools", ",".join((*tools, *browser))]
    if order.browser:
        argv += ["--mcp-config", json.dumps({"mcpServers": {"browser": mcp_server(order)}})]
    if order.bring:
        argv += ["--setting-sources", "project"]
    else:
        argv += ["--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands"]
    argv += ["--resume", order.session] if order.resume else ["--session-id", order.session]
    argv += ["--json-schema", json.dumps(order.schema)] if order.schema else []
    if model := model_of(order, MODELS):
        argv += ["--model", model]
    if order.allowance.usd:
        argv += ["--max-budget-usd", f"{order.allowance.usd:.4f}"]
    return Program(tuple(argv), order.brief.encode(), variables=QUIET)


def fold(event: dict[str, Any], transcript: Transcript) -> None:
    """Fold one event of Claude Code into the transcript."""
    kind, sub = event["type"], event.get("subtype", "")
    transcript.set_session(event.get("session_id", ""))
    if kind == "system" and sub == "api_retry":
        transcript.refuse(str(event.get("error")), status=event.get("error_status") or 0, final=False)
    elif kind == "system" and sub == "compact_boundary":
        transcript.count_compaction((event.get("compact_metadata") or {}).get("pre_tokens", 0))
    elif kind == "rate_limit_event":
        _fold_quota(event["rate_limit_info"], transcript)
    elif kind == "assistant":
        fold_content(event["message"], transcript, STARTERS)
        count_message(event["message"], _usage(event["message"]["usage"]), transcript)
    elif kind == "user":
        fold_tool_results(event["message"], transcript)
    elif kind == "result":
        _fold_result(event, transcript)


def _fold_quota(reported: dict[str, Any], transcript: Transcript) -> None:
    """Fold the quota windows of a subscription. An event reports one window, and can list several more."""
    name, until, used = (
        reported.get("rateLimitType") or "",
        reported.get("resetsAt") or 0.0,
        reported.get("utilization"),
    )
    transcript.set_quota(
        name, until, used=None if used is None else 100 * used, closed=reported.get("status") == "rejected"
    )
    for window_name, window in (reported.get("unifiedWindows") or {}).items():
        transcript.set_quota(window_name, window.get("resetsAt") or 0.0, used=100 * (window.get("utilization") or 0.0))


def _fold_result(event: dict[str, Any], transcript: Transcript) -> None:
    usage = _usage(event["usage"])
    peak, requests = transcript.usage.peak, transcript.usage.requests
    cost = event.get("total_cost_usd")
    transcript.set_usage(
        Usage(
            max(usage.tokens_in, transcript.usage.tokens_in),  # Claude Code's own sum omits replies that it gave up on
            max(usage.tokens_out, transcript.usage.tokens_out),
            usage.tokens_cached,
            peak or usage.tokens_in + usage.tokens_out,
            cost or 0.0,
            estimated=False,
            cost="reported" if cost else "",  # 0 means that Claude Code does not know the price
            requests=requests,
        )
    )
    transcript.text, transcript.finished = event.get("result") or "", True
    transcript.structured = event.get("structured_output")
    fold_denials(event, transcript)
    if event.get("is_error"):
        message = transcript.text or "; ".join(map(str, event.get("errors") or ())) or event.get("subtype", "")
        transcript.refuse(
            message, kind=ERRORS.get(event.get("subtype", ""), ""), status=event.get("api_error_status") or 0
        )


def _usage(reported: dict[str, Any]) -> Usage:
    cached = reported.get("cache_read_input_tokens") or 0
    sent = (reported.get("input_tokens") or 0) + (reported.get("cache_creation_input_tokens") or 0) + cached
    return Usage(sent, reported.get("output_tokens") or 0, cached)


AGENT = Agent(
    title="Claude Code",
    program="claude",
    install="npm install -g @anthropic-ai/claude-code",
    capabilities=Capabilities(
        resume=True,
        chosen_session=True,
        native_schema=True,
        native_budget=True,
        reports_usage=True,
        reports_cost=True,
        running_usage=True,
        withholds_tools=True,
        vendor="anthropic",
    ),
    login=Login(
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        tokens=("CLAUDE_CODE_OAUTH_TOKEN",),
        files=(".claude/.credentials.json",),
        along=("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL"),
        how="run `claude` once and log in, or set ANTHROPIC_API_KEY",
    ),
    models=MODELS,
    build_program=build_program,
    fold=fold,
    brings=True,
    lost=("No conversation found with session ID",),
    taken=("is already in use",),
)
