"""Codex, driven by its stream of JSON events and its session log."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from trued.agents.driver.agent import Agent, Login, mcp_server, model_of
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program, Stop
from trued.agents.driver.reply_format import BrokenReply, parse_final_reply
from trued.agents.driver.session_log import SessionLog, count_request, usage_since
from trued.agents.driver.strict_schema import from_strict, to_strict
from trued.agents.driver.transcript import SHOWN, Transcript
from trued.support.lazy_regex import lazy_regex
from trued.wire import Capabilities, Order, Usage

AUTH, SCHEMA = ".codex/auth.json", ".codex/answer.schema.json"
ROLLOUT = ".codex/sessions/*/*/*/rollout-*{}.jsonl"
FLAGS = ("--json", "--skip-git-repo-check", "--ignore-user-config", "--ignore-rules")
SETTINGS = (
    "agents.enabled=false",  # for some models, disabling the feature `multi_agent` is not enough
    "project_doc_max_bytes=0",  # reads no AGENTS.md: the brief contains the project's instructions
    "shell_environment_policy.ignore_default_excludes=false",  # so that Codex's tools do not see its keys
    *('approval_policy="never"', "analytics.enabled=false", "check_for_update_on_startup=false"),
    *('otel.exporter="none"', "skills.bundled.enabled=false", "skills.include_instructions=false"),
)
# Features to disable: each costs thousands of tokens per request, loads what is not the project's, or waits for ever.
FEATURES = (
    *("apps", "browser_use", "computer_use", "goals", "hooks", "image_generation", "memories", "multi_agent"),
    *("plugins", "skill_mcp_dependency_install", "skill_search", "sleep_tool", "tool_suggest"),
    *("unbounded_connection_retries", "workspace_dependencies"),
)
AGAIN = lazy_regex(r"Reconnecting\.\.\. \d+/\d+ \((.*)\)", re.DOTALL)
TOOLS = {"command_execution": "shell", "file_change": "apply_patch"}
STARTERS = ("collab_tool_call", "collab_agent_tool_call")


def build_program(order: Order, installed: InstalledProgram) -> Program:
    """Codex's command line, schema file and session log for this order."""
    sandbox = "danger-full-access"  # Codex's own sandbox is off: it could not start inside ours
    if order.confinement.level == "none":
        sandbox = "workspace-write" if {"edit", "execute"} & set(order.tools) else "read-only"
    web = "live" if "web" in order.tools else "disabled"
    argv = [os.path.realpath(installed.path), "exec", *FLAGS]
    for setting in (*SETTINGS, f'sandbox_mode="{sandbox}"', f'web_search="{web}"'):
        argv += ["-c", setting]
    if order.browser:
        server = mcp_server(order)
        for name in ("command", "args"):
            argv += ["-c", f"mcp_servers.browser.{name}={json.dumps(server[name])}"]
    for feature in FEATURES:
        argv += ["--disable", feature]
    if model := model_of(order, {}):
        argv += ["--model", model]
    files = {SCHEMA: json.dumps(schema).encode()} if (schema := to_strict(order.schema)) else {}
    argv += ["--output-schema", str(Path(order.home, SCHEMA))] if files else []
    session = order.native if order.resume else ""
    argv += ["resume", session] if session else []
    log = SessionLog(order, ROLLOUT, _fold_rollout_line, session)
    program = Program((*argv, "-"), order.brief.encode(), files=files, poll=log)
    borrowed = Path(order.home, AUTH).exists()
    return replace(program, adapt=lambda login_variables: program if borrowed else _with_key(program, login_variables))


def _with_key(program: Program, login_variables: Mapping[str, str]) -> Program:
    """Pass the user's API key and base URL in the form that Codex reads. Codex ignores the variables OPENAI_API_KEY and
    OPENAI_BASE_URL."""
    key, url = (
        login_variables.get("CODEX_API_KEY") or login_variables.get("OPENAI_API_KEY"),
        login_variables.get("OPENAI_BASE_URL"),
    )
    base_url = ("-c", f"openai_base_url={json.dumps(url)}") if url else ()
    variables = {"CODEX_API_KEY": key} if key else {}
    return replace(program, argv=(*program.argv[:2], *base_url, *program.argv[2:]), variables=variables)


def fold(event: dict[str, Any], transcript: Transcript) -> None:
    """Fold one event of Codex into the transcript."""
    kind = event["type"]
    if kind == "thread.started":
        transcript.set_session(event["thread_id"])
    elif kind in ("item.started", "item.completed"):
        _fold_item(event["item"], transcript, ended=kind == "item.completed")
    elif kind == "error" and (again := AGAIN.fullmatch(event["message"])):
        transcript.refuse(again[1], final=" 429 " in again[1])
        if transcript.refusal:  # without a stop, Codex would wait silently, for as long as the provider asks
            transcript.stop = transcript.stop or Stop(transcript.refusal.kind, again[1])
    elif kind in ("error", "turn.failed"):
        transcript.refuse(event["error"]["message"] if kind == "turn.failed" else event["message"])
    elif kind == "turn.completed":  # the event has the usage of the whole thread: earlier turns are subtracted
        used = usage_since(_usage(event["usage"]), transcript.order.before if transcript.order.resume else Usage())
        transcript.set_usage(
            replace(used, peak=transcript.usage.peak, requests=transcript.usage.requests, estimated=False)
        )
        transcript.finished = True
        with suppress(BrokenReply):
            transcript.structured = from_strict(parse_final_reply(transcript.text), transcript.order.schema)


def _fold_item(item: dict[str, Any], transcript: Transcript, *, ended: bool) -> None:
    kind = item["type"]
    if kind == "agent_message":
        transcript.text = item["text"]
        transcript.add_text(item["text"])
    elif kind in ("reasoning", "todo_list", "error"):  # an item of type "error" is only a warning
        transcript.emit("log", text=str(item.get("text") or item.get("message") or item.get("items"))[:SHOWN])
    else:
        if kind in STARTERS and not ended:
            transcript.report_started_agent(str(item.get("tool")))
        if item["id"] not in transcript.running:
            what = item.get("command") or item.get("query") or item.get("changes") or item.get("arguments") or ""
            name = TOOLS.get(kind) or item.get("tool") or kind
            transcript.start_tool(str(name), item["id"], what if isinstance(what, str) else json.dumps(what))
        if ended:
            transcript.end_tool(item["id"], failed=item.get("status") in ("failed", "declined"))


def _fold_rollout_line(line: dict[str, Any], transcript: Transcript) -> None:
    if line["type"] == "compacted":
        transcript.count_compaction()
    elif line["type"] == "event_msg" and line["payload"]["type"] == "token_count":
        for window in map((line["payload"].get("rate_limits") or {}).get, ("primary", "secondary")):
            if window:  # the quota of a subscription
                name = f"{window.get('window_minutes')} min"
                transcript.set_quota(name, window.get("resets_at") or 0.0, used=window.get("used_percent"))
        count_request(_usage(line["payload"]["info"]["last_token_usage"]), transcript)


def _usage(reported: dict[str, Any]) -> Usage:
    return Usage(reported["input_tokens"], reported["output_tokens"], reported.get("cached_input_tokens") or 0)


CAN = Capabilities(resume=True, early_session=True, native_schema=True, vendor="openai")
AGENT = Agent(
    title="Codex",
    program="codex",
    install="npm install -g @openai/codex",
    capabilities=replace(CAN, reports_usage=True, running_usage=True),
    login=Login(
        keys=("CODEX_API_KEY", "OPENAI_API_KEY"),
        weak=("OPENAI_API_KEY",),
        files=(AUTH,),
        along=("OPENAI_BASE_URL",),
        how="run `codex login`, or set OPENAI_API_KEY",
    ),
    build_program=build_program,
    fold=fold,
    lost=("no rollout found for thread id",),
)
