"""Raw models of any provider, with a few tools of a coder: no program of the provider's is needed."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..protocols import Capabilities
from ..wire import Order, Usage
from .driving.agent import Agent, Login
from .driving.heard import Heard
from .driving.installed import Found
from .driving.program import Program

DRIVING = Path(__file__).resolve().parent / "driving"
INSIDE = DRIVING / "inside" / "coder_agent.py"


@dataclass(frozen=True, slots=True)
class Provider:
    keys: tuple[str, ...]
    along: tuple[str, ...] = ()
    vendor: str = ""  # of its models; empty: it passes on those of others, and a model's name may tell whose it is
    known_as: str = ""  # to the library


OPENAI = Provider(("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"), "openai")
GOOGLE = Provider(("GOOGLE_API_KEY", "GEMINI_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",), "google", "google")
PROVIDERS = {
    "alibaba": Provider(("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"), (), "alibaba"),
    "anthropic": Provider(("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",), "anthropic"),
    "cerebras": Provider(("CEREBRAS_API_KEY",)),
    "deepseek": Provider(("DEEPSEEK_API_KEY",), (), "deepseek"),
    "fireworks": Provider(("FIREWORKS_API_KEY",)),
    "google": GOOGLE,
    "google-gla": GOOGLE,
    "moonshotai": Provider(("MOONSHOTAI_API_KEY",), ("MOONSHOTAI_BASE_URL",), "moonshotai"),
    "ollama": Provider(("OLLAMA_API_KEY",), ("OLLAMA_BASE_URL",)),
    "openai": OPENAI,
    "openai-chat": replace(OPENAI, vendor=""),  # whatever speaks its dialect, at OPENAI_BASE_URL
    "openrouter": Provider(("OPENROUTER_API_KEY",)),
    "together": Provider(("TOGETHER_API_KEY",)),
    "vllm": Provider(("VLLM_API_KEY",), ("VLLM_BASE_URL",)),
    "zai": Provider(("ZAI_API_KEY",), (), "zai"),
}
VENDORS = {"anthropic", "openai", "google", "deepseek", "mistralai", "qwen", "x-ai", "meta-llama", "moonshotai", "z-ai"}


def begin(order: Order, _found: Found) -> Program:
    provider, _, model = order.agent.partition(":")[2].partition(":")
    known = PROVIDERS[provider]
    how = ": by the tool `final_result`" if order.schema else ""
    words = (DRIVING / "coder.md").read_text(encoding="utf-8")
    told: dict[str, Any] = {
        "model": f"{known.known_as or provider}:{model}",
        "instructions": words.replace("{{folder}}", order.folder).replace("{{how}}", how),
        "tokens": order.allowance.tokens,
        **{name: getattr(order, name) for name in ("brief", "schema", "session", "resume", "tools")},
    }

    def with_keys(variables: Mapping[str, str]) -> Program:
        """By stdin: what is in an environment can be read by whatever the model starts."""
        keys = {name: variables[name] for name in (*known.keys, *known.along) if variables.get(name)}
        return Program(
            (sys.executable, "-PsB", str(INSIDE)),
            json.dumps({**told, "keys": keys}, ensure_ascii=False).encode("utf-8", "surrogatepass"),
            (sys.prefix, sys.base_prefix, str(INSIDE)),
            dict.fromkeys(keys, ""),
        )

    return replace(with_keys({}), adapted=with_keys)


def fold(event: dict[str, Any], heard: Heard) -> None:
    match event["type"]:
        case "session":
            heard.session(event["id"])
        case "says":
            heard.says(event["text"])
        case "tool":
            heard.tool(event["name"], event["id"], event["what"])
        case "tool ended":
            heard.tool_ended(event["id"], failed=event["failed"])
        case "usage":
            heard.request(Usage(event["sent"], event["said"], event["cached"]))
        case "compacted":
            heard.compacted()
        case "refused":
            del event["type"]
            heard.refused(event.pop("message"), **event)
        case "finished":
            heard.structured, heard.text, heard.finished = event.get("reply"), event.get("text", ""), True


def named(rest: str) -> Agent:
    """The agent by its provider: only that one's key is let through, and its vendor is known."""
    provider, _, model = rest.partition(":")
    if provider not in PROVIDERS or not model.strip():
        what = f"there is no provider {provider!r}" if provider not in PROVIDERS else f"coder:{rest} names no model"
        raise BadInput(what, then=f"write coder:PROVIDER:MODEL, with one of {', '.join(PROVIDERS)}")
    known, maker = PROVIDERS[provider], model.partition("/")[0].lower()
    vendor = known.vendor or (maker if maker in VENDORS else "")
    how = (
        f"set {' or '.join(known.keys)}{''.join(f', and {name} for a server of your own' for name in known.along[:1])}"
    )
    login = Login(keys=known.keys, along=known.along, how=how)
    return replace(AGENT, login=login, capabilities=replace(AGENT.capabilities, vendor=vendor))


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
    login=Login(keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"), how="set the key of a provider"),
    begin=begin,
    fold=fold,
    lost=("there is no session",),
    taken=("there is already a session",),
    named=named,
)
