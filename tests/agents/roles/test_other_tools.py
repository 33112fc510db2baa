"""Role files of other tools are read unchanged, with a note for each unused field."""

import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.agents.roles import RoleSet, apply_role_choices, find_roles
from trued.agents.roles.other_tools import FORMS, RoleReading, read_other
from trued.agents.roles.tools import TOOLS, UNNAMED, size_of
from trued.errors import BadInput
from trued.model import Role

pytestmark = pytest.mark.spec("AGT-2")


def read(form: str, text: str, stem: str = "x") -> RoleReading:
    return read_other(textwrap.dedent(text).lstrip("\n"), f"{stem}.md", stem, FORMS[form])


def role(form: str, fields: str, stem: str = "x") -> Role:
    found = read(form, f"---\n{textwrap.dedent(fields).strip()}\n---\nBody.\n", stem).role
    assert found is not None
    return found


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# -- Claude Code


def test_an_agent_of_claude_code_is_a_role_and_what_means_nothing_here_is_said() -> None:
    found = role(
        "claude",
        """
        name: code-reviewer
        description: Looks at code
        tools: Read, Grep, Glob, Bash(git diff:*, git log:*), Task, mcp__linear__list, mcp__playwright__click
        model: sonnet
        color: purple
        permissionMode: acceptEdits
        maxTurns: 12
        hooks:
          PreToolUse: [{matcher: Bash, hooks: [{type: command, command: ./check.sh}]}]
        mcpServers: [linear]
        skills: [style]
        """,
    )
    assert (found.name, found.description, found.model) == ("code-reviewer", "Looks at code", "sonnet")
    assert found.tools == ("read", "search", "execute", "browser")
    assert not found.writes
    assert found.form == "claude"
    for field in ("color", "maxTurns", "hooks", "mcpServers", "skills", "permissionMode"):
        assert f"{field}: not used here" in found.notes
    assert "the tool Task is left out: only the workflow starts agents" in found.notes
    assert "the tool mcp__linear__list is left out: trued has no such tool" in found.notes
    assert any(
        note.startswith("Bash(git diff:*, git log:*): the limit in parentheses is not applied") for note in found.notes
    )


def test_a_description_that_is_no_yaml_is_taken_as_the_text_that_it_is() -> None:
    found = read(
        "claude",
        r"""
        ---
        name: helper
        description: Use this agent when: code was written.\n\n<example>\nuser: "hi: there"\n</example>
        user: "this line belongs to the description: still"
        tools: Read, Edit
        model: inherit
        ---

        You help.
        """,
    ).role
    assert found is not None
    assert found.description.startswith(r"Use this agent when: code was written.\n\n<example>")
    assert found.description.endswith('still"')
    assert (found.tools, found.model, found.prompt) == (("read", "edit"), "", "You help.")


@pytest.mark.parametrize(
    ("fields", "tools"),
    [
        ("name: x", UNNAMED),
        ("tools: '*'", ("read", "edit", "search", "execute", "web")),
        ("tools: *", ("read", "edit", "search", "execute", "web")),
        ("tools: Read, Write, NotebookEdit, LS, WebFetch, WebSearch", ("read", "edit", "web")),
        ("tools: [Read, Grep]", ("read", "search")),
        ("tools:\n  - Bash\n  - Glob", ("read", "search", "execute")),
        ("disallowedTools: Write, Edit, Bash(rm *)", ("read", "search", "execute")),
        ("disallowedTools: NotebookEdit, KillShell, Grep", UNNAMED),
        ("disallowedTools: Glob, Grep", ("read", "edit", "execute")),
        ("disallowedTools: Write", ("read", "search", "execute")),
        ("disallowedTools: Bash, KillShell", ("read", "edit", "search")),
        ("tools: Read, Grep, NotebookEdit\ndisallowedTools: Grep, NotebookEdit", ("read",)),
        ("tools: {Glob: false, Grep: false}", ("read", "edit", "execute")),
        ("permissionMode: plan", ("read", "search", "execute")),
        ("tools: []", ("read",)),
        ("tools: Task, TodoWrite", ("read",)),
    ],
)
def test_tools_of_claude_code_are_mapped(fields: str, tools: tuple[str, ...]) -> None:
    assert role("claude", fields).tools == tools


@pytest.mark.parametrize(
    ("denied", "tool"),
    [
        *(("NotebookEdit", "edit"), ("KillShell", "execute"), ("Grep", "search"), ("Write", "edit")),
        *(("WebFetch", "web"), ("Write, Edit", ""), ("Bash", ""), ("Grep, Glob", ""), ("Read", "")),
    ],
)
def test_a_denied_name_that_is_not_a_whole_tool_here_is_noted(denied: str, tool: str) -> None:
    noted = [one for one in role("claude", f"disallowedTools: {denied}").notes if one.startswith("disallowedTools")]
    assert len(noted) == bool(tool)
    assert all(denied in one and f"{tool} is one tool" in one for one in noted)


def test_a_word_to_people_in_claude_codes_folder_is_no_role() -> None:
    assert read("claude", "# Our agents\n\nAsk Ann.\n").role is None


# -- GitHub


def test_a_custom_agent_of_github_is_called_as_its_file() -> None:
    found = role(
        "github",
        """
        name: 'API Architect'
        description: 'Designs APIs: all of them'
        target: github-copilot
        tools: [read, Search, edit/editFiles, 'execute/runInTerminal', 'custom-agent', 'azure-mcp/*', 'playwright/*']
        model: ['Claude Sonnet 4.5 (copilot)', 'GPT-5']
        infer: false
        argument-hint: what to design
        mcp-servers: {azure-mcp: {type: local, command: azure}}
        handoffs: [{label: Build, agent: builder, prompt: Go on.}]
        """,
        "api-architect",
    )
    assert (found.name, found.tools) == ("api-architect", ("read", "edit", "search", "execute", "browser"))
    assert (found.model, size_of(found.model)) == ("Claude Sonnet 4.5 (copilot)", "medium")
    for field in ("target", "infer", "argument-hint", "mcp-servers", "handoffs"):
        assert f"{field}: not used here" in found.notes
    assert "the tool custom-agent is left out: only the workflow starts agents" in found.notes
    assert "the tool azure-mcp/* is left out: trued has no such tool" in found.notes


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ("['codebase', 'usages', 'problems']", ("read", "search")),
        ("['editFiles', 'runCommands', 'fetch', 'openSimpleBrowser']", ("read", "edit", "execute", "web", "browser")),
        ('["*"]', ("read", "edit", "search", "execute", "web")),
        ("shell, Grep, WebSearch", ("read", "search", "execute", "web")),
        ("['vscode/openSimpleBrowser', 'runCommands/terminalLastCommand']", ("read", "browser")),
    ],
)
def test_tools_of_github_and_vs_code_are_mapped(tools: str, expected: tuple[str, ...]) -> None:
    assert role("github", f"tools: {tools}").tools == expected


def test_a_custom_agent_of_github_needs_no_front_matter() -> None:
    found = read("github", "\ufeffYou write tests.\n", "4.1-tester").role
    assert found is not None
    assert (found.name, found.prompt, found.tools) == ("4-1-tester", "You write tests.", UNNAMED)
    assert "GitHub Copilot calls it 4.1-tester" in found.notes


# -- OpenCode


@pytest.mark.parametrize(
    ("fields", "tools"),
    [
        ("mode: subagent", UNNAMED),
        ("tools: {write: false, edit: false, bash: true}", ("read", "search", "execute")),
        ("tools: {write: false, edit: true}", UNNAMED),
        ("tools: {'*': false, read: true, grep: true}", ("read", "search")),
        ("tools: {list: false, webfetch: true}", ("read", "edit", "search", "execute", "web")),
        ("tools: {glob: false, grep: false}", ("read", "edit", "execute")),
        ("permission: {edit: deny, bash: {'*': ask, 'git *': allow}}", ("read", "search", "execute")),
        ("permission: {bash: deny, webfetch: ask}", ("read", "edit", "search", "web")),
        ("permission: {bash: {'*': deny}}", ("read", "edit", "search")),
        ("permission: deny", ("read",)),
        ("permission: {bash: {a: [1]}, edit: [deny]}", ("read", "search")),
        ("permission: allow", ("read", "edit", "search", "execute", "web")),
        ("tools: {bash: true}\npermission: {bash: deny}", ("read", "edit", "search")),
        ("permission: {'*': deny, read: allow, playwright_*: allow, linear_*: allow}", ("read", "browser")),
    ],
)
def test_tools_and_permissions_of_opencode_are_mapped(fields: str, tools: tuple[str, ...]) -> None:
    assert role("opencode", fields).tools == tools


def test_an_agent_of_opencode_says_what_is_not_used_and_may_be_switched_off() -> None:
    found = role("opencode", "mode: subagent\ntemperature: 0.1\nsteps: 9\nlayer: deep\ntemperatur: 1", "review/deep")
    assert found.name == "review-deep"
    assert {"mode: not used here", "temperature: not used here", "steps: not used here"} <= set(found.notes)
    assert "unknown field layer: not used here" in found.notes
    assert any(note.startswith("unknown field temperatur:") and "temperature?" in note for note in found.notes)
    for field in ("disable", "disabled"):
        reading = read("opencode", f"---\nmode: all\n{field}: true\n---\nBody.\n")
        assert reading.role is None
        assert reading.notes[-1] == (3, "the role is switched off")


# -- all


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("---\nname: x\n", 1, "has no closing ---"),
        ("---\nname: x\n---\n \n", 4, "no prompt"),
        ("---\nname: '!'\n---\nBody.", 2, "not a valid role name"),
        ("---\njust: [words\nname: x\nname: y\n---\nBody.", 4, "twice"),
        ("---\n- a: [\n---\nBody.", 2, "is not a field"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_other(text, "agents/x.md", "x", FORMS["claude"])
    assert caught.value.where == f"agents/x.md:{line}", caught.value
    assert what in str(caught.value)
    assert caught.value.then


@pytest.mark.parametrize(
    ("word", "size"),
    [
        *(("small", "small"), ("medium", "medium"), ("large", "large"), ("", ""), ("inherit", "")),
        *(("haiku", "small"), ("sonnet", "medium"), ("opus", "large"), ("claude-opus-4-8", "large")),
        *(("Claude Sonnet 4.5 (copilot)", "medium"), ("anthropic/claude-haiku-4", "small"), ("GPT-5", "")),
        *(("gpt-5-mini", "small"), ("gemini-2.5-flash-lite", "small"), ("gemini-3-pro", "large"), ("profile", "")),
    ],
)
def test_a_models_name_has_a_size_or_none(word: str, size: str) -> None:
    assert size_of(word) == size


# -- places


def text(name: str, says: str = "Body.") -> str:
    return f"---\nname: {name}\ndescription: d\n---\n{says}\n"


def test_at_each_level_our_own_files_go_before_others_and_one_of_two_is_used_and_said(tmp_path: Path) -> None:
    project, home = tmp_path / "p", tmp_path / "h"
    user = home / ".config" / "trued"
    put(home, ".claude/agents/solo.md", text("solo", "user's, of Claude Code"))
    put(home, ".config/opencode/agent/solo.md", text("solo", "user's, of OpenCode"))
    put(home, ".copilot/agents/mine.agent.md", text("Mine"))
    found = find_roles(project, user, home).roles
    assert found["solo"].prompt == "user's, of Claude Code"
    assert any(".config/opencode/agent/solo.md also defines the role solo" in note for note in found["solo"].notes)
    assert found["mine"].form == "github"
    put(user, "roles/solo.md", "---\nname: solo\ntools: [read]\n---\nuser's own\n")
    assert find_roles(project, user, home).roles["solo"].prompt == "user's own"
    put(project, ".opencode/agents/deep/solo.md", text("solo", "project's, of OpenCode"))
    put(project, ".github/agents/solo.agent.md", text("Solo!", "project's, of GitHub"))
    put(project, ".github/chatmodes/plan.chatmode.md", text("Plan"))
    put(project, ".github/agents/README.md", "# For people\n")
    found = find_roles(project, user, home).roles
    assert found["solo"].prompt == "project's, of GitHub"
    assert found["solo"].origin == f"project: {project / '.github/agents/solo.agent.md'}"
    assert "plan" in found
    assert "README" not in found
    put(project, ".trued/roles/solo.md", "---\nname: solo\ntools: [read]\n---\nproject's own\n")
    assert find_roles(project, user, home).roles["solo"].prompt == "project's own"
    assert found["purple-team-a"].origin == "packaged"


@pytest.mark.spec("USE-6")
def test_a_broken_file_is_nobodys_trouble_until_its_role_is_asked_for(tmp_path: Path) -> None:
    put(tmp_path, ".claude/agents/solo.md", "---\nname: solo\n")
    put(tmp_path, ".claude/agents/good.md", text("good"))
    elsewhere = put(tmp_path.parent, f"{tmp_path.name}-elsewhere.md", text("planner"))
    (tmp_path / ".claude/agents/planner.md").symlink_to(elsewhere)
    found = find_roles(tmp_path, None)
    assert found.role("good").prompt == "Body."
    with pytest.raises(BadInput, match=r"solo\.md:1: the front matter has no closing ---"):
        found.role("solo")
    with pytest.raises(BadInput, match="leads out of the repository"):
        found.role("planner")
    put(tmp_path, ".trued/roles/solo.md", "---\ntools: read\n---\nours\n")
    assert find_roles(tmp_path, None).role("solo").prompt == "ours"


def test_another_role_takes_a_place_in_the_workflow_under_the_name_of_the_place(tmp_path: Path) -> None:
    put(tmp_path, ".claude/agents/builder.md", text("my-builder", "Build well."))
    found: RoleSet = find_roles(tmp_path, None)
    roles = apply_role_choices(found, {"purple-team-a": "my-builder"})
    assert (roles["purple-team-a"].name, roles["purple-team-a"].prompt) == ("purple-team-a", "Build well.")
    assert roles["my-builder"].name == "my-builder"
    with pytest.raises(BadInput, match="no role 'nobody'"):
        apply_role_choices(found, {"purple-team-a": "nobody"})
    with pytest.raises(BadInput, match="no role 'nowhere' to replace"):
        apply_role_choices(found, {"nowhere": "my-builder"})


WORDS = st.sampled_from(
    [
        *(
            "---",
            "name:",
            "tools:",
            "permission:",
            "model:",
            "disable: true",
            "description: a: b",
            "- x",
            "{",
            "}",
            "[",
            "]",
        ),
        *(
            "*",
            "Read",
            "Bash(git *",
            "'*': deny",
            "bash: {a: b}",
            "&a",
            "*a",
            "!!python/x",
            "<<: *a",
            "  ",
            "\t",
            "1e999",
        ),
        *("2020-01-01", "null", "~", ":", ",", "\u2028", "\x00", "é", "# c", "|", ">", '"', "'"),
    ]
)


@given(st.lists(WORDS | st.text(max_size=8), max_size=25), st.sampled_from(sorted(FORMS)), st.sampled_from("\n "))
@settings(max_examples=100, deadline=None)
def test_whatever_stands_in_a_file_it_is_a_role_none_or_one_clear_sentence(
    words: list[str], form: str, between: str
) -> None:
    text = f"---\n{between.join(words)}\n---\nBody.\n"
    found, where = None, "x.md:1"
    try:
        found = read_other(text, "x.md", "x", FORMS[form]).role
    except BadInput as error:
        where = error.where
    assert where.startswith("x.md:")
    assert found is None or (found.name and found.prompt and set(found.tools) <= set(TOOLS))
