"""Gemini CLI, driven by its stream of JSON events."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trued.agents.driver.agent import Agent, Login, model_of
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program, Stop
from trued.agents.driver.provider_errors import Refusal
from trued.agents.driver.session_log import SessionLog, count_request
from trued.agents.driver.transcript import Transcript
from trued.support.lazy_regex import lazy_regex
from trued.wire import Capabilities, Order, Usage

SETTINGS, POLICY, OAUTH = ".gemini/settings.json", ".gemini/of-the-role.toml", ".gemini/oauth_creds.json"
CHAT = ".gemini/tmp/*/chats/session-*-{:.8}.jsonl"
TOOLS = {
    "read": ("read_file", "read_many_files", "list_directory"),
    "edit": ("replace", "write_file"),
    "search": ("glob", "grep_search"),
    "execute": ("run_shell_command",),
    "web": ("google_web_search", "web_fetch"),
    "browser": (),
}
STARTERS = ("invoke_agent",)
FAILED, WAITS = lazy_regex(r"Attempt \d+ failed"), lazy_regex(r"Retrying after (\d{1,12})ms")
LONGEST_WAIT_MS = 20_000  # Gemini is stopped before a longer wait, so that the engine frees the slot
AT_SIGN = lazy_regex(r"(?<!\\)@")
MODELS = {"small": "flash-lite", "medium": "flash", "large": "pro"}
OFF = {"enabled": False}
QUIET: dict[str, Any] = {
    "general": {
        "enableAutoUpdate": False,
        "checkpointing": OFF,
        "plan": OFF,
        "sessionRetention": OFF,
        "maxAttempts": 2,
    },
    "admin": {"mcp": OFF, "extensions": OFF, "skills": OFF},
    "advanced": {"ignoreLocalEnv": True},
    "context": {"fileName": ["no-such-file.md"]},  # reads no file: the brief contains the project's instructions
    "privacy": {"usageStatisticsEnabled": False},
    "experimental": {"enableAgents": False},
    "useWriteTodos": False,
    **dict.fromkeys(("hooksConfig", "ide", "skills", "telemetry"), OFF),
}
ALLOWED = "[[rule]]\ntoolName = {}\ndecision = 'allow'\npriority = 900\nallowRedirection = true\n"


def build_program(order: Order, installed: InstalledProgram) -> Program:
    """Gemini's command line, settings and policy files for this order."""
    tools = [name for tool in order.tools for name in TOOLS[tool]]
    argv = [os.path.realpath(installed.path), "--output-format", "stream-json", "--extensions", "none"]
    argv += ["--policy", str(Path(order.home, POLICY))]
    argv += ["--resume" if order.resume else "--session-id", order.session]
    if model := model_of(order, MODELS):
        argv += ["--model", model]
    # The folder is not trusted, so that settings, commands, servers and .env of the project are not loaded.
    variables = {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "false"}
    log = SessionLog(order, CHAT, _fold_chat_line, order.session)
    brief = _escape_at_signs(order.brief).encode()
    program = Program(tuple(argv), brief, variables=variables, on_stderr_line=_fold_stderr_line, poll=log)
    borrowed = Path(order.home, OAUTH).exists()

    def adapt(login_variables: Mapping[str, str]) -> Program:
        login = (
            "oauth-personal" if borrowed else "gemini-api-key" if login_variables.get("GEMINI_API_KEY") else "vertex-ai"
        )
        files = {SETTINGS: json.dumps(_settings(tools, login)), POLICY: ALLOWED.format(json.dumps(tools))}
        return replace(program, files={name: content.encode() for name, content in files.items()})

    return replace(program, adapt=adapt)


def _settings(tools: list[str], login: str) -> dict[str, Any]:
    security = {"folderTrust": OFF, "auth": {"selectedType": login}, "environmentVariableRedaction": {"enabled": True}}
    shell = {"enableInteractiveShell": False}
    return {**QUIET, "tools": {"core": tools, "sandbox": False, "shell": shell}, "security": security}


def _escape_at_signs(brief: str) -> str:
    """Escape at signs, because Gemini reads `@NAME` as a file or folder to load, even within an e-mail address."""
    template = (Path(__file__).parents[1] / "driver" / "at_signs.md").read_text(encoding="utf-8")
    return template.replace("{{brief}}", AT_SIGN.sub(r"\\@", brief)) if AT_SIGN.search(brief) else brief


def fold(event: dict[str, Any], transcript: Transcript) -> None:
    """Fold one event of Gemini into the transcript."""
    kind = event["type"]
    if kind == "init":
        transcript.set_session(event["session_id"])
    elif kind == "message" and event["role"] == "assistant":
        transcript.text += event["content"]
    elif kind == "tool_use":
        transcript.add_text(transcript.text)
        transcript.text = ""  # text before a tool call is not the answer
        what = json.dumps(event["parameters"], ensure_ascii=False)
        if event["tool_name"] in STARTERS:
            transcript.report_started_agent(f"{event['tool_name']} {what}")
        transcript.start_tool(event["tool_name"], event["tool_id"], what)
    elif kind == "tool_result":
        if "requires user confirmation" in str(event.get("output")):
            transcript.deny_tool(event["tool_id"].partition("__")[0])
        transcript.end_tool(event["tool_id"], failed=event["status"] != "success")
    elif kind == "error":
        transcript.refuse(str(event["message"]), final=False)
    elif kind == "result":
        _fold_result(event, transcript)


def _fold_stderr_line(line: str, transcript: Transcript) -> None:
    """Fold a line of stderr. When Gemini's provider asks Gemini to wait, only stderr reports it. If the wait is long,
    stop Gemini."""
    if FAILED.match(line):
        transcript.refuse(line, final=False)
    if (wait := WAITS.search(line)) and int(wait[1]) > LONGEST_WAIT_MS:
        transcript.refusal = Refusal("rate", time.time() + int(wait[1]) / 1000, line)
        transcript.stop = transcript.stop or Stop("rate", line)


def _fold_chat_line(line: dict[str, Any], transcript: Transcript) -> None:
    # A message is written again, with the same id, when its tools have run. It must be counted only once.
    if line["type"] == "gemini" and line["id"] != transcript.last:
        transcript.last, counts = line["id"], line["tokens"]
        count_request(Usage(counts["input"], counts["total"] - counts["input"], counts.get("cached") or 0), transcript)


def _fold_result(event: dict[str, Any], transcript: Transcript) -> None:
    counts = event.get("stats") or {}
    if counts.get("total_tokens"):
        used = Usage(counts["input_tokens"], counts["total_tokens"] - counts["input_tokens"], counts.get("cached") or 0)
        transcript.set_usage(
            replace(used, peak=transcript.usage.peak, requests=transcript.usage.requests, estimated=False)
        )
    transcript.add_text(transcript.text)
    transcript.finished = True
    if event["status"] != "success" and not transcript.stop:
        transcript.refuse(str((event.get("error") or {}).get("message")))


CAN = Capabilities(resume=True, chosen_session=True, withholds_tools=True, vendor="google")
PLACE = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
AGENT = Agent(
    title="Gemini CLI",
    program="gemini",
    install="npm install -g @google/gemini-cli",
    capabilities=replace(CAN, reports_usage=True, running_usage=True),
    login=Login(
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        files=(OAUTH, ".gemini/google_accounts.json"),
        along=("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", *PLACE),
        how="run `gemini` once and log in, or set GEMINI_API_KEY",
    ),
    models=MODELS,
    build_program=build_program,
    fold=fold,
    lost=("Invalid session identifier", "No previous sessions found"),
    taken=("already exists",),
)
