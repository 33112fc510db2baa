"""Qwen Code, driven by its stream of JSON events. It uses any model behind an OpenAI-compatible address, or Qwen's own
login."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trued.agents.driver.agent import Agent, Login, model_of
from trued.agents.driver.anthropic_events import count_message, fold_content, fold_denials, fold_tool_results
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program
from trued.agents.driver.transcript import Transcript
from trued.wire import Capabilities, Order, Usage

TOOLS = {
    "read": ("read_file", "list_directory"),
    "edit": ("edit", "write_file"),
    "search": ("glob", "grep_search"),
    "execute": ("run_shell_command",),
    "web": ("web_fetch",),
    "browser": (),
}
ANSWER = "structured_output"
STARTERS = ("agent", "send_message")  # tools that would start another agent
NEVER = (*STARTERS, "task_stop", "skill", "tool_search", "ask_user_question", "exit_plan_mode")
SETTINGS, TRUST = ".qwen/ours.json", ".qwen/trustedFolders.json"  # the file SETTINGS overrules all other settings
KEPT_OUT = {
    "context": {"fileName": ["none"]},  # reads no file: the brief contains the project's instructions
    "disableAllHooks": True,
    "general": {"enableAutoUpdate": False, "gitCoAuthor": {"commit": False, "pr": False}},
    "memory": {"enableManagedAutoMemory": False},
    "model": {"generationConfig": {"maxRetries": 0}},  # waits are left to the engine, which frees the slot
    "privacy": {"usageStatisticsEnabled": False},
    # Without this, Qwen ignores TRUST and loads the project's settings, which could send the key elsewhere.
    "security": {"folderTrust": {"enabled": True}},
    "tools": {"shell": {"enableInteractiveShell": False}},  # a terminal is slower, and not every sandbox has one
}
FAILED = "[API Error:"  # the start of an error that Qwen prints in place of the model's text
# Qwen's error if the model did not call the reply tool. This is no failure, because we parse the text.
PLAIN = "Model produced plain text"
CAN = Capabilities(resume=True, chosen_session=True, native_schema=True, reports_usage=True, running_usage=True)


def build_program(order: Order, installed: InstalledProgram) -> Program:
    """Qwen Code's command line and settings files for this order."""
    tools = [*(name for tool in order.tools for name in TOOLS[tool]), ANSWER]
    argv = [installed.path, "--output-format", "stream-json", "--core-tools", *tools, "--allowed-tools", *tools]
    argv += ["--exclude-tools", *NEVER, "--allowed-mcp-server-names", "none", "--extensions", "none"]
    argv += ["--resume" if order.resume else "--session-id", order.session]
    argv += ["--json-schema", json.dumps(order.schema)] if order.schema else []
    argv += ["--model", model] if (model := model_of(order, {})) else []
    quiet = {"QWEN_CODE_SYSTEM_SETTINGS_PATH": f"{order.home}/{SETTINGS}"}
    trust = {os.path.realpath(order.folder): "DO_NOT_TRUST"}
    files = {SETTINGS: json.dumps(KEPT_OUT).encode(), TRUST: json.dumps(trust).encode()}
    program = Program(tuple(argv), order.brief.encode(), variables=quiet, files=files)

    def adapt(login_variables: Mapping[str, str]) -> Program:
        login = ("--auth-type", "openai" if "OPENAI_API_KEY" in login_variables else "qwen-oauth")
        return replace(program, argv=(*program.argv, *login))

    return replace(program, adapt=adapt)


def fold(event: dict[str, Any], transcript: Transcript) -> None:
    """Fold one event of Qwen Code into the transcript."""
    kind = event["type"]
    transcript.set_session(event.get("session_id", ""))
    if kind == "assistant":
        fold_content(event["message"], transcript, STARTERS, keep_text=True)
        count_message(event["message"], _usage(event["message"].get("usage") or {}), transcript)
    elif kind == "user":
        fold_tool_results(event["message"], transcript)
    elif kind == "result":
        _fold_result(event, transcript)


def _usage(reported: dict[str, Any]) -> Usage:
    """The usage in an event. Qwen's input tokens already include the cached tokens, so nothing is added."""
    cached = reported.get("cache_read_input_tokens") or 0
    return Usage(reported.get("input_tokens") or 0, reported.get("output_tokens") or 0, cached)


def _fold_result(event: dict[str, Any], transcript: Transcript) -> None:
    """Fold the end of a turn. The event's usage is ignored: it covers the whole session, and each message has already
    reported its own usage."""
    transcript.finished, transcript.structured = True, event.get("structured_result")
    transcript.text = event.get("result") or transcript.text
    fold_denials(event, transcript)
    message = str((event.get("error") or {}).get("message") or event.get("subtype"))
    if transcript.text.startswith(FAILED):
        transcript.refuse(transcript.text.strip("[]"))
    elif event.get("is_error") and PLAIN not in message:
        transcript.refuse(message)


AGENT = Agent(
    title="Qwen Code",
    program="qwen",
    install="npm install -g @qwen-code/qwen-code",
    capabilities=replace(CAN, withholds_tools=True),
    login=Login(
        keys=("OPENAI_API_KEY",),
        files=(".qwen/oauth_creds.json",),
        along=("OPENAI_BASE_URL", "OPENAI_MODEL"),
        how="set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or run `qwen` once and log in",
    ),
    build_program=build_program,
    fold=fold,
    lost=("No saved session found with ID",),
    taken=("is already in use",),
)
