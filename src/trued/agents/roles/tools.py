"""Our neutral names for tools, the names that agent programs have for them, and sizes of models."""

import re
from collections.abc import Iterable, Mapping

TOOLS = ("read", "edit", "search", "execute", "web", "browser")
UNNAMED = ("read", "edit", "search", "execute")  # for a file without `tools`: enough to work on code
ALL = "*"

# tool → its names in Claude Code, GitHub Copilot, VS Code and OpenCode, in lower case
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
# names that stand for a part of a tool: a role that may not use the part still has the tool
_PART_NAMES = {
    "read": """
        notebookread ls problems changes testfailure terminallastcommand terminalselection getnotebooksummary
        readnotebookcelloutput readcelloutput viewimage""",
    "edit": "multiedit notebookedit createdirectory editnotebook createjupyternotebook",
    "execute": """
        bashoutput killshell killbash powershell monitor getterminaloutput gettaskoutput awaitterminal runtests
        runnotebooks runnotebookcell""",
}
_PARTS = frozenset(name for names in _PART_NAMES.values() for name in names.split())
_AGENTS = frozenset(["agent", "task", "custom-agent", "runsubagent", "subagent"])

# tool → its names in exported files, for Claude Code, GitHub Copilot and OpenCode
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
    """The size of the model that a role names: small, medium or large; "" if it is unknown."""
    sizes = {_SIZE[word] for word in re.findall(r"[a-z]+", model.lower()) if word in _SIZE}
    return next((size for size in _SIZES if size in sizes), "")


def neutral_tool(name: str) -> str:
    """Our name for a tool of another program; "" if trued has no such tool."""
    word = name.partition("(")[0].strip().lower()
    if word in _NEUTRAL:
        return _NEUTRAL[word]
    server, mark, inner = word.removeprefix("mcp__").partition("__" if word.startswith("mcp__") else "/")
    if _NEUTRAL.get(server) == "browser" or server.partition("_")[0] == "playwright":
        return "browser"
    if word.startswith("mcp__") or not mark:
        return ""
    # In `edit/editFiles`, VS Code's tool group `edit` precedes one of its tools. Any other prefix is an MCP server,
    # whose tools have no meaning here.
    return _NEUTRAL.get(inner, _NEUTRAL.get(server, "")) if server in _NEUTRAL or server == "vscode" else ""


def is_denied(tool: str, names: Iterable[str]) -> bool:
    """Whether a role loses our `tool` because it may not use the tools called `names`. Each name stands for `tool` or
    for a part of it. Our tool `search` is lost if `names` deny every way to search. Any other tool is lost unless all
    names stand for parts of it."""
    denied = {_word(name) for name in names}
    if tool == "search":
        return {"glob", "grep"} <= denied or "search" in denied
    return not denied <= _PARTS


def is_denied_beyond(tool: str, names: Iterable[str]) -> bool:
    """Whether the denial of `names` costs a role more than was meant, because our `tool` is lost as a whole. False if
    `names` contains `tool`, or every name that Claude Code or OpenCode has for `tool`."""
    denied = {_word(name) for name in names}
    return tool not in denied and not any(
        {_word(name) for name in program[tool]} <= denied for program in (CLAUDE, OPENCODE)
    )


def _word(name: str) -> str:
    """The bare name of a tool, in lower case: `grep` for `files/Grep(src/*)`."""
    return name.partition("(")[0].rpartition("/")[2].strip().lower()


def why_left_out(name: str) -> str:
    """The note that says why this tool of another program is left out."""
    word = name.partition("(")[0].strip().lower()
    if word in _AGENTS or word.startswith("agent/"):
        return f"the tool {name} is left out: only the workflow starts agents"
    return f"the tool {name} is left out: trued has no such tool"


def in_order(tools: Iterable[str]) -> tuple[str, ...]:
    """These tools in our usual order, each once."""
    chosen = set(tools)
    return tuple(tool for tool in TOOLS if tool in chosen)


def names_of_tools(tools: Iterable[str], names: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The names that another program has for these tools."""
    return [name for tool in tools for name in names[tool]]
