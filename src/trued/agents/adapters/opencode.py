"""OpenCode, driven over ACP, because its own JSON stream contains the session's id only after the first paid
request."""

import json
import secrets
from dataclasses import replace
from pathlib import Path

from trued.agents.driver import acp, inside
from trued.agents.driver.agent import Agent, Login, model_of
from trued.agents.driver.discovery import InstalledProgram
from trued.agents.driver.program import Program
from trued.wire import Order

PERMISSIONS = {
    "read": ("read", "list"),
    "edit": ("edit",),
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
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",  # not read, because the brief contains the project's instructions
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
}


# With these two files OpenCode does not download the dependencies of plugins. Our plugin needs none.
FILES = {
    ".config/opencode/node_modules/none": b"",
    ".config/opencode/package-lock.json": b'{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}',
}


def build_program(order: Order, installed: InstalledProgram) -> Program:
    """OpenCode's command line and settings for this order, with our plugin."""
    allowed = {name: "allow" for tool in order.tools for name in PERMISSIONS[tool]}
    config = {
        "permission": {"*": "deny", **allowed, "external_directory": "allow"},  # any folder: the sandbox limits access
        "agent": {"title": {"disable": True}},  # saves a request for a title that is not used
        "share": "disabled",
        "autoupdate": False,
        "snapshot": False,
    }
    told = f"{order.home}/told.jsonl"
    plugin = {".config/opencode/plugin/told.js": Path(inside.__file__).with_name("opencode.js").read_bytes()}
    settings = {
        "TRUED_TOLD": told,
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_SERVER_PASSWORD": secrets.token_hex(16),
    }
    return acp.client_program(
        order,
        acp.AcpAgent(
            (installed.path, "acp"),
            model=model_of(order, {}),
            variables={**QUIET, **settings},
            files={**FILES, **plugin},
            told=told,
        ),
    )


AGENT = Agent(
    title="OpenCode",
    program="opencode",
    install="npm install -g opencode-ai",
    capabilities=replace(acp.CAPABILITIES, reports_cost=True, running_usage=True, withholds_tools=True),
    login=Login(
        keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"),
        files=(".local/share/opencode/auth.json",),
        together=True,
        along=("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"),
        how="run `opencode auth login` once, or set the key of a provider that it knows",
    ),
    argument="[:PROVIDER/MODEL]",
    build_program=build_program,
    fold=acp.fold,
    lost=acp.LOST,
    extra="acp",
    modules=("acp",),
)
