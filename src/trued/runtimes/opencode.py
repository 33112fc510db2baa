"""OpenCode, over ACP: its own stream of JSON names the session only after the first paid request."""

import json
from dataclasses import replace

from ..wire import Order
from .driving import acp
from .driving.agent import Agent, Login, model_of
from .driving.installed import Found
from .driving.program import Program

TOOLS = {
    "read": ("read", "list"),
    "edit": ("edit", "write", "patch", "multiedit"),
    "search": ("glob", "grep"),
    "execute": ("bash",),
    "web": ("webfetch", "websearch"),
    "browser": (),
}
QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",  # the project's instructions come with the brief, as text
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
}


def begin(order: Order, found: Found) -> Program:
    allowed = {name for tool in order.tools for name in TOOLS[tool]}
    permission = {name: "allow" if name in allowed else "deny" for names in TOOLS.values() for name in names}
    config = {
        "permission": {"*": "deny", **permission, "doom_loop": "deny", "external_directory": "allow"},
        "share": "disabled",
        "autoupdate": False,
        "snapshot": False,
        "instructions": [],
    }
    variables = {**QUIET, "OPENCODE_CONFIG_CONTENT": json.dumps(config)}
    argv = (found.path, "acp", "--pure")
    return acp.spoken(order, acp.Choice(argv, model=model_of(order, {}), variables=variables))


AGENT = Agent(
    title="OpenCode",
    program="opencode",
    install="npm install -g opencode-ai",
    capabilities=replace(acp.CAPABILITIES, reports_cost=True, withholds_tools=True),
    login=Login(
        keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"),
        files=(".local/share/opencode/auth.json",),
        together=True,
        along=("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"),
        how="run `opencode auth login` once, or set the key of a provider that it knows",
    ),
    argument="[:PROVIDER/MODEL]",
    begin=begin,
    fold=acp.fold,
    lost=acp.LOST,
)
