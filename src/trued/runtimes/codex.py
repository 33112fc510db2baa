"""Codex, by its stream of JSON events."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..protocols import Capabilities
from ..wire import Order, Usage
from .driving.agent import Agent, Login, model_of
from .driving.contract import Broken, parsed_at_end
from .driving.diary import Diary, counted
from .driving.heard import Heard
from .driving.installed import Found
from .driving.program import Program, Stop
from .driving.strict import loose, strict

AUTH, SCHEMA = ".codex/auth.json", ".codex/answer.schema.json"
ROLLOUT = ".codex/sessions/*/*/*/rollout-*{}.jsonl"
OFF = (  # what costs thousands of tokens a request, brings in what is not the project's, or waits without end
    *("apps", "browser_use", "computer_use", "goals", "hooks", "image_generation", "memories", "multi_agent"),
    *("plugins", "skill_mcp_dependency_install", "skill_search", "sleep_tool", "tool_suggest"),
    *("unbounded_connection_retries", "workspace_dependencies"),
)
QUIET = {
    "agents.enabled": "false",  # for some models `multi_agent` alone is not enough
    "analytics.enabled": "false",
    "approval_policy": '"never"',
    "check_for_update_on_startup": "false",
    "project_doc_max_bytes": "0",  # the project's instructions come with the brief, as text
    "otel.exporter": '"none"',
    "shell_environment_policy.ignore_default_excludes": "false",  # keys are its own, and not its tools'
    "skills.bundled.enabled": "false",
    "skills.include_instructions": "false",
}
TOOLS = {"command_execution": "shell", "file_change": "apply_patch", "web_search": "web_search"}
AGAIN = re.compile(r"Reconnecting\.\.\. \d+/\d+ \((.*)\)", re.DOTALL)
STARTERS = ("collab_tool_call", "collab_agent_tool_call")


def begin(order: Order, found: Found) -> Program:
    words = [
        os.path.realpath(found.path),
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--ignore-user-config",
        "--ignore-rules",
    ]
    settings = {**QUIET, "sandbox_mode": f'"{_sandbox(order)}"', "web_search": '"disabled"'}
    if "web" in order.tools:
        settings["web_search"] = '"live"'
    words += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    words += [word for feature in OFF for word in ("--disable", feature)]
    if model := model_of(order, {}):
        words += ["--model", model]
    files = {}
    if order.schema and (schema := strict(order.schema)):
        files[SCHEMA] = json.dumps(schema).encode()
        words += ["--output-schema", str(Path(order.home, SCHEMA))]
    words += ["resume", order.native] if order.resume and order.native else []
    diary = Diary(order, ROLLOUT, _recorded, order.native if order.resume else "")
    program = Program((*words, "-"), order.brief.encode(), files=files, look=diary)
    lent = Path(order.home, AUTH).exists()
    return replace(program, adapted=lambda given: program if lent else _with_key(program, given))


def _sandbox(order: Order) -> str:
    """Ours is around it, and its own cannot begin in there."""
    if order.confinement.level != "none":
        return "danger-full-access"
    return "workspace-write" if {"edit", "execute"} & set(order.tools) else "read-only"


def _with_key(program: Program, given: Mapping[str, str]) -> Program:
    """By itself it takes neither the key nor the address that all other programs of its vendor take."""
    first, *rest = program.argv
    key, url = given.get("CODEX_API_KEY") or given.get("OPENAI_API_KEY"), given.get("OPENAI_BASE_URL")
    return replace(
        program,
        argv=(first, "-c", f"openai_base_url={json.dumps(url)}", *rest) if url else program.argv,
        variables={**program.variables, "CODEX_API_KEY": key} if key else program.variables,
    )


def fold(event: dict[str, Any], heard: Heard) -> None:
    kind = event["type"]
    if kind == "thread.started":
        heard.session(event["thread_id"])
    elif kind in ("item.started", "item.completed"):
        _item(event["item"], heard, ended=kind == "item.completed")
    elif kind == "error":
        _refused(event["message"], heard)
    elif kind == "turn.failed":
        heard.refused(event["error"]["message"])
    elif kind == "turn.completed":
        _ended(event["usage"], heard)


def _refused(message: str, heard: Heard) -> None:
    """It tries again by itself; only that it would wait in silence for as long as a rate limit says."""
    again = AGAIN.fullmatch(message)
    why = again[1] if again else message
    heard.refused(why, final=not again)
    if again and " 429 " in why:
        heard.stop = heard.stop or Stop("rate", why)


def _item(item: dict[str, Any], heard: Heard, *, ended: bool) -> None:
    kind = item["type"]
    if kind == "agent_message":
        heard.text = item["text"]
        heard.says(item["text"])
    elif kind in ("reasoning", "todo_list", "error"):
        heard.tell("log", text=str(item.get("text") or item.get("message") or item.get("items"))[:2000])
    elif kind == "context_compaction":
        heard.compacted()
    else:
        if not ended and kind in STARTERS:
            heard.started_agent(str(item.get("tool")))
        if item["id"] not in heard.running:
            what = item.get("command") or item.get("query") or item.get("changes") or item.get("arguments") or ""
            name = TOOLS.get(kind) or str(item.get("tool", kind))
            heard.tool(name, item["id"], what if isinstance(what, str) else json.dumps(what))
        if ended:
            heard.tool_ended(item["id"], failed=item.get("status") in ("failed", "declined"))


def _recorded(line: dict[str, Any], heard: Heard) -> None:
    if line["type"] == "event_msg" and line["payload"]["type"] == "token_count":
        counted(_usage(line["payload"]["info"]["last_token_usage"]), heard)


def _ended(told: dict[str, Any], heard: Heard) -> None:
    """It counts the whole thread; what was used before is known."""
    all_of_it, before = _usage(told), heard.order.before if heard.order.resume else Usage()
    used = Usage(
        tokens_in=max(0, all_of_it.tokens_in - before.tokens_in),
        tokens_out=max(0, all_of_it.tokens_out - before.tokens_out),
        tokens_cached=max(0, all_of_it.tokens_cached - before.tokens_cached),
    )
    heard.used(replace(used, peak=heard.usage.peak, requests=heard.usage.requests, estimated=False))
    heard.finished = True
    with suppress(Broken):
        heard.structured = loose(parsed_at_end(heard.text), heard.order.schema)


def _usage(told: dict[str, Any]) -> Usage:
    return Usage(told["input_tokens"], told["output_tokens"], told.get("cached_input_tokens") or 0)


AGENT = Agent(
    title="Codex",
    program="codex",
    install="npm install -g @openai/codex",
    capabilities=Capabilities(
        resume=True,
        early_session=True,
        native_schema=True,
        reports_usage=True,
        running_usage=True,
        cumulative_usage=True,
        vendor="openai",
    ),
    login=Login(
        keys=("CODEX_API_KEY", "OPENAI_API_KEY"),
        weak=("OPENAI_API_KEY",),
        files=(AUTH,),
        along=("OPENAI_BASE_URL",),
        how="run `codex login`, or set OPENAI_API_KEY",
    ),
    begin=begin,
    fold=fold,
    lost=("no rollout found for thread id",),
)
