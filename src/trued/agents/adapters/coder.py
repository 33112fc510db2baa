"""`coder:PROVIDER:MODEL`: our own small agent program, which gives a raw model a few coding tools. It needs only the
provider's key."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trued.agents.driver.agent import Agent, Login
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program
from trued.agents.driver.providers import PROVIDERS, vendor_of
from trued.agents.driver.transcript import Transcript
from trued.errors import BadInput
from trued.wire import Capabilities, Order, Usage

DRIVER = Path(__file__).resolve().parents[1] / "driver"
INSIDE = str(DRIVER / "inside" / "coder_agent.py")
ORDER_FIELDS = ("brief", "schema", "session", "resume", "tools")


def build_program(order: Order, _found: InstalledProgram) -> Program:
    """The command line of our own agent program, with the order on its stdin."""
    provider, _, model = order.agent.partition(":")[2].partition(":")
    known = PROVIDERS[provider]
    instructions = (DRIVER / "coder.md").read_text(encoding="utf-8").replace("{{folder}}", order.folder)
    options: dict[str, Any] = {
        "model": f"{known.known_as or provider}:{model}",
        "instructions": instructions.replace("{{how}}", ", by the tool `final_result`" if order.schema else ""),
        "tokens": order.allowance.tokens,
        **{name: getattr(order, name) for name in ORDER_FIELDS},
    }

    def with_keys(variables: Mapping[str, str]) -> Program:
        """The program, with the keys from `variables` on its stdin. In its environment, processes that the model starts
        could read the keys."""
        keys = {name: variables[name] for name in (*known.keys, *known.along) if variables.get(name)}
        return Program(
            (sys.executable, "-PsB", INSIDE),
            json.dumps({**options, "keys": keys}).encode(),
            (sys.prefix, sys.base_prefix, INSIDE),
            dict.fromkeys(keys, ""),
        )

    return replace(with_keys({}), adapt=with_keys)


def fold(event: dict[str, Any], transcript: Transcript) -> None:
    """Fold one event of our own program into the transcript. For most kinds of event this calls one method of
    `Transcript`, with the event's fields as arguments."""
    methods: dict[str, Callable[..., None]] = {
        "session": transcript.set_session,
        "says": transcript.add_text,
        "tool": transcript.start_tool,
        "tool ended": transcript.end_tool,
        "denied": transcript.deny_tool,
        "compacted": transcript.count_compaction,
        "refused": transcript.refuse,
    }
    kind = event.pop("type")
    if kind in methods:
        methods[kind](**event)
    elif kind == "usage":
        transcript.add_request(Usage(event["sent"], event["said"], event["cached"]))
    elif kind == "finished":
        transcript.structured, transcript.text, transcript.finished = event.get("reply"), event.get("text", ""), True


def agent_for_model(rest: str) -> Agent:
    """The agent for PROVIDER:MODEL, with the model's vendor in its capabilities. It gets only the keys of this
    provider. Raises BadInput for an unknown provider or a missing model."""
    provider, _, model = rest.partition(":")
    if provider not in PROVIDERS or not model.strip():
        what = f"the agent coder:{rest} has no model" if provider in PROVIDERS else f"no provider {provider!r} is known"
        raise BadInput(what, then=f"use coder:PROVIDER:MODEL, with one of {', '.join(PROVIDERS)}")
    known = PROVIDERS[provider]
    login = Login(keys=known.keys, along=known.along, how=f"set {' or '.join(known.keys)}")
    return replace(
        AGENT, login=login, capabilities=replace(AGENT.capabilities, vendor=vendor_of(provider, model)), specify=None
    )


AGENT = Agent(
    title="a raw model of any provider",
    program=sys.executable,
    install="pip install 'trued[models]'",
    extra="models",
    modules=("pydantic_ai", "pydantic_ai_harness"),
    argument=":PROVIDER:MODEL",
    capabilities=Capabilities(
        resume=True,
        chosen_session=True,
        native_schema=True,
        reports_usage=True,
        running_usage=True,
        withholds_tools=True,
    ),
    login=Login(
        keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
        how="set the key of a provider, ANTHROPIC_API_KEY or OPENAI_API_KEY for example",
    ),
    build_program=build_program,
    fold=fold,
    lost=("there is no session",),
    taken=("there is already a session",),
    specify=agent_for_model,
)
