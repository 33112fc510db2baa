"""Tools by neutral names, and the names that other tools have for the same; sizes of models likewise."""

import re
from collections.abc import Iterable, Mapping

TOOLS = ("read", "edit", "search", "execute", "web", "browser")
UNNAMED = ("read", "edit", "search", "execute")  # of a file that names no tools: what work on code takes, and no more
ALL = "*"

# what Claude Code, GitHub Copilot, VS Code and OpenCode call them, in small letters
_NAMES = {
    "read": """
        read notebookread view readfile ls problems changes testfailure terminallastcommand terminalselection
        getnotebooksummary readnotebookcelloutput readcelloutput viewimage""",
    "edit": """
        edit multiedit write notebookedit editfiles createfile createdirectory editnotebook createjupyternotebook patch
        apply_patch applypatch str_replace str_replace_editor""",
    "search": """
        search grep glob list lsp codebase usages findtestfiles searchresults filesearch textsearch listdirectory
        codesearch""",
    "execute": """
        execute bash bashoutput killshell killbash shell powershell monitor runcommands runincommand runinterminal
        getterminaloutput terminalcommand runtasks runtask runtests runnotebooks runnotebookcell createandruntask
        gettaskoutput awaitterminal terminal""",
    "web": "web webfetch websearch fetch githubrepo",
    "browser": "browser opensimplebrowser playwright puppeteer chrome-devtools claude-in-chrome chrome-mcp",
}
_NEUTRAL = {name: tool for tool, names in _NAMES.items() for name in names.split()}
_AGENTS = frozenset(["agent", "task", "custom-agent", "runsubagent", "subagent"])

# what is written into an exported file
CLAUDE = {
    "read": ("Read",),
    "edit": ("Edit", "Write"),
    "search": ("Grep", "Glob"),
    "execute": ("Bash",),
    "web": ("WebFetch", "WebSearch"),
    "browser": ("mcp__playwright",),
}
GITHUB = {tool: (tool,) for tool in TOOLS[:-1]} | {"browser": ("playwright/*",)}
OPENCODE = {
    "read": ("read",),
    "edit": ("edit",),
    "search": ("glob", "grep", "list"),
    "execute": ("bash",),
    "web": ("webfetch", "websearch"),
    "browser": ("playwright_*",),
}

_SIZES = {"small": "small haiku mini nano flash lite", "medium": "medium sonnet", "large": "large opus pro"}
_SIZE = {word: size for size, words in _SIZES.items() for word in words.split()}


def size_of(model: str) -> str:
    """small, medium or large for what a role calls its model; empty where that cannot be told."""
    found = {_SIZE[word] for word in re.findall(r"[a-z]+", model.lower()) if word in _SIZE}
    return next((size for size in _SIZES if size in found), "")


def neutral_tool(name: str) -> str:
    """Our name for another's tool; empty for what has no meaning here."""
    word = name.partition("(")[0].strip().lower()
    if word in _NEUTRAL:
        return _NEUTRAL[word]
    server, mark, inner = word.removeprefix("mcp__").partition("__" if word.startswith("mcp__") else "/")
    if _NEUTRAL.get(server) == "browser" or server.partition("_")[0] == "playwright":
        return "browser"
    if word.startswith("mcp__") or not mark:
        return ""
    # `edit/editFiles`: a group of VS Code's and one of its tools; of any other server it is an MCP tool
    return _NEUTRAL.get(inner, _NEUTRAL.get(server, "")) if server in _NEUTRAL or server == "vscode" else ""


def why_left_out(name: str) -> str:
    """What is said of a tool that is left out."""
    word = name.partition("(")[0].strip().lower()
    if word in _AGENTS or word.startswith("agent/"):
        return f"the tool {name} is left out: only the workflow starts agents"
    return f"the tool {name} is left out: it means nothing here"


def in_order(tools: Iterable[str]) -> tuple[str, ...]:
    found = set(tools)
    return tuple(tool for tool in TOOLS if tool in found)


def names_of_tools(tools: Iterable[str], names: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [name for tool in tools for name in names[tool]]
