"""The folders in which other tools keep role files in a repository."""

# tool → folders, with the pattern of the files in each
TOOL_FOLDERS = {
    "claude": ((".claude/agents", "**/*.md"),),
    "github": ((".github/agents", "**/*.md"), (".github/chatmodes", "*.chatmode.md")),
    "opencode": ((".opencode/agent", "**/*.md"), (".opencode/agents", "**/*.md")),
}
