"""`trued roles` and `trued lint`: which roles exist, where each comes from, and how they are exported."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Trued
from tests.cli.test_command_line import one_sentence
from trued.agents.roles.places import packaged_files
from trued.cli.options import parse_roles
from trued.errors import BadInput

PLAN = "# Plan: numbers\n\n| Chunk | Scope | Files |\n| --- | --- | --- |\n| 1A | `double(x)` doubles | tiny.py |\n"
AGENT = "---\nname: {name}\ndescription: Reviews\ntools: Read, Task\nmodel: opus\nhooks: {{}}\n---\nLook twice.\n"


def put(project: Path, name: str, file: str = "") -> Path:
    path = project / ".claude" / "agents" / f"{file or name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(AGENT.format(name=name))
    return path


def trust(trued: Trued, project: Path) -> None:
    digest = json.loads(trued("trust", "--json", cwd=project).stdout)["digest"]
    assert trued("trust", digest, cwd=project).returncode == 0


@pytest.mark.spec("AGT-2", "USE-6")
def test_another_tools_role_is_listed_when_it_is_trusted_with_what_is_not_used(trued: Trued, project: Path) -> None:
    path = put(project, "my-reviewer")
    before = trued("roles", "--json", cwd=project)
    assert "my-reviewer" not in before.stdout
    assert ".claude/agents/my-reviewer.md" in before.stderr
    trust(trued, project)
    told = json.loads(trued("roles", "--json", "my-reviewer", cwd=project).stdout)
    assert told["origin"] == f"project: {path}"
    assert (told["form"], told["tools"], told["model"], told["size"]) == ("claude", ["read"], "opus", "large")
    whole = trued("roles", "my-reviewer", cwd=project).stdout
    for words in (
        "(Claude Code)",
        "tools: read",
        "opus (large)",
        "hooks: not used here",
        "starts agents",
        "Look twice.",
    ):
        assert words in whole


@pytest.mark.spec("PIPE-13", "TEAM-1", "AGT-2")
def test_every_packaged_role_is_listed_in_a_column_of_its_own(trued: Trued, project: Path) -> None:
    files = {path.stem for path in packaged_files()}
    lines = trued("roles", cwd=project).stdout.splitlines()
    assert {one.split()[0] for one in lines} == files >= {"planner", "researcher", "r-security", "v-tasks", "pm", "uat"}
    assert {len(found[0]) for one in lines if (found := re.match(r"\S+ +", one))} == {max(map(len, files)) + 1}


@pytest.mark.spec("AGT-2", "USE-6")
@pytest.mark.slow
def test_a_role_file_is_chosen_for_a_run_by_name_and_only_when_it_is_trusted(trued: Trued, project: Path) -> None:
    (project / "PLAN.md").write_text(PLAN)
    put(project, "my-reviewer")
    run = ("run", "PLAN.md", "--agent", "command:true", "--plan-only", "--role", "purple-team-b=my-reviewer")
    said = one_sentence(trued(*run, cwd=project))
    assert ".claude/agents/my-reviewer.md" in said
    assert "not trusted" in said
    assert parse_roles(["a=b", "c = d"]) == {"a": "b", "c": "d"}
    with pytest.raises(BadInput, match="not ROLE=NAME"):
        parse_roles(["solo"])


@pytest.mark.spec("AGT-2", "TIC-14")
@pytest.mark.slow
def test_roles_are_exported_and_nothing_of_anybodys_is_lost(trued: Trued, project: Path) -> None:
    done = trued("roles", "export", "--to", "claude", "--json", cwd=project)
    rows = json.loads(done.stdout)
    assert {"purple-team-a", "solo"} <= {row["role"] for row in rows}
    assert all(row["written"] and Path(row["file"]).is_file() for row in rows)
    assert trued("roles", cwd=project).stderr == ""
    mine = project / ".github" / "agents" / "solo.agent.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("Mine.\n")
    said = one_sentence(trued("roles", "export", "solo", "planner", "--to", "github", cwd=project))
    assert str(mine) in said
    assert mine.read_text() == "Mine.\n"
    assert not mine.with_name("planner.agent.md").exists()
    elsewhere = project.parent / "elsewhere"
    assert trued("roles", "export", "solo", "--to", "opencode", "--dir", str(elsewhere), cwd=project).returncode == 0
    assert [path.name for path in (elsewhere / ".opencode" / "agent").iterdir()] == ["solo.md"]


@pytest.mark.spec("AGT-2", "TIC-14")
def test_the_roles_and_commands_of_one_workflow_are_exported_with_a_section_for_the_instructions(
    trued: Trued, project: Path
) -> None:
    (project / "CLAUDE.md").write_text("# Mine\n")
    done = trued("roles", "export", "--to", "claude", "-w", "ticket", "--instructions", "--json", cwd=project)
    rows = {row["role"]: Path(row["file"]).relative_to(project).as_posix() for row in json.loads(done.stdout)}
    roles = {name: f".claude/agents/{name}.md" for name in ("impl-agent", "verify-agent", "fix-agent", "pr-agent")}
    assert rows == {**roles, "ticket": ".claude/commands/ticket.md", "instructions": "CLAUDE.md"}
    text = (project / "CLAUDE.md").read_text()
    assert text.startswith("# Mine\n")
    assert "| `/ticket` |" in text
    assert "'nope'" in one_sentence(trued("roles", "export", "--to", "claude", "-w", "nope", cwd=project))


@pytest.mark.spec("USE-2", "USE-7", "AGT-2")
def test_lint_names_file_and_line_of_every_mistake(trued: Trued, project: Path) -> None:
    put(project, "my-reviewer")
    own = project / ".trued" / "roles" / "x.md"
    own.parent.mkdir(parents=True)
    own.write_text("---\nname: x\ntools: [read, shell]\n---\nBody.\n")
    done = trued("lint", "--json", cwd=project)
    found = {one["where"]: one for one in json.loads(done.stdout)}
    assert done.returncode == 2
    assert found[".trued/roles/x.md:3"]["wrong"]
    assert "unknown tool shell" in found[".trued/roles/x.md:3"]["says"]
    assert found[".claude/agents/my-reviewer.md:6"] == {
        "where": ".claude/agents/my-reviewer.md:6",
        "file": ".claude/agents/my-reviewer.md",
        "line": 6,
        "rule": "ROLE-2",
        "wrong": False,
        "says": "hooks: not used here",
    }
    alone = trued("lint", ".claude/agents/my-reviewer.md", cwd=project)
    assert alone.returncode == 0, alone.stderr
    assert "left out" in alone.stdout
