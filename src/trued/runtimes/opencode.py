"""OpenCode, over ACP: its own stream of JSON names the session only after the first paid request."""

import json
import secrets
from dataclasses import replace

from ..wire import Order
from .driving import acp
from .driving.agent import Agent, Login, model_of
from .driving.installed import Found
from .driving.program import Program

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
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",  # the project's instructions come with the brief, as text
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
}


# With these it finds nothing to install: it takes no plugins here, and would fetch what those need.
FILES = {
    ".config/opencode/node_modules/none": b"",
    ".config/opencode/package-lock.json": b'{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}',
}
# Over ACP it tells the tokens of its last request only.
BOOKS = {
    "file": ".local/share/opencode/opencode.db",
    "query": """
        SELECT id, data ->> '$.tokens.input' + data ->> '$.tokens.cache.read' + data ->> '$.tokens.cache.write',
               data ->> '$.tokens.output' + data ->> '$.tokens.reasoning', data ->> '$.tokens.cache.read',
               data ->> '$.cost'
          FROM message
         WHERE session_id = ? AND data ->> '$.role' = 'assistant' AND data ->> '$.time.completed' IS NOT NULL
         ORDER BY time_created""",
}


def begin(order: Order, found: Found) -> Program:
    allowed = {name: "allow" for tool in order.tools for name in PERMISSIONS[tool]}
    config = {
        "permission": {"*": "deny", **allowed, "external_directory": "allow"},  # the sandbox says what is outside
        "agent": {"title": {"disable": True}},  # a request of its own, for a name that nobody reads
        "share": "disabled",
        "autoupdate": False,
        "snapshot": False,
    }
    own = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_SERVER_PASSWORD": secrets.token_hex(16)}
    return acp.spoken(
        order,
        acp.Choice(
            (found.path, "acp", "--pure"),
            model=model_of(order, {}),
            variables={**QUIET, **own},
            files=FILES,
            books=BOOKS,
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
    begin=begin,
    fold=acp.fold,
    lost=acp.LOST,
    extra="acp",
    modules=("acp",),
)
