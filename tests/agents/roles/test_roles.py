"""Roles: three places, one precedence, and a clear message for every mistake."""

from pathlib import Path

import pytest

from trued.agents.roles import load_roles
from trued.agents.roles.own_format import parse_role
from trued.agents.roles.tools import TOOLS
from trued.errors import BadInput

SECTIONS = [
    "Role",
    "Prohibitions",
    "Inputs",
    "Outputs",
    "Operating rules",
    "Workflow",
    "Completion contract",
    "Anti-drift anchor",
]


def put(folder: Path, name: str, prompt: str, tools: str = "[read]") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(f"---\nname: {name}\ndescription: d\ntools: {tools}\nmodel: small\n---\n{prompt}\n")
    return path


@pytest.mark.spec("AGT-2")
def test_the_projects_role_stands_over_the_users_and_that_over_the_packaged(tmp_path: Path) -> None:
    project, user = tmp_path / "project", tmp_path / "user"
    assert load_roles(None, None)["solo"].origin == "packaged"
    assert load_roles(project, user)["solo"].origin == "packaged"
    put(user / "roles", "solo", "users")
    put(user / "roles", "mine", "users")
    assert load_roles(project, user)["solo"].prompt == "users"
    path = put(project / ".trued" / "roles", "solo", "projects", "[read, edit]")
    roles = load_roles(project, user)
    assert roles["solo"].prompt == "projects"
    assert roles["solo"].origin == f"project: {path}"
    assert roles["solo"].writes
    assert roles["solo"].model == "small"
    assert roles["mine"].prompt == "users"
    assert not roles["mine"].writes
    assert roles["purple-team-a"].origin == "packaged"


@pytest.mark.spec("AGT-2", "PUR-2", "PUR-3", "PUR-4")
def test_the_packaged_roles_have_their_sections_in_order_and_start_no_agents() -> None:
    roles = load_roles(None, None)
    assert set(roles) >= {"purple-team-a", "purple-team-b", "planner", "solo", "examiner", "second-examiner"}
    for name, role in roles.items():
        headings = [line for line in role.prompt.splitlines() if line.startswith("#")]
        assert headings[0].startswith("# ")
        assert [line.removeprefix("## ") for line in headings[1:]] == SECTIONS, name
        assert "no other agent" in role.prompt
        assert role.description
        assert role.model
        assert set(role.tools) <= set(TOOLS)
    for name in ("purple-team-a", "purple-team-b"):
        assert roles[name].tools == ("read", "edit", "search", "execute")
        assert roles[name].model == "medium"
        assert roles[name].writes
    assert not roles["planner"].writes


@pytest.mark.spec("TIC-2", "TIC-4", "TIC-7", "TIC-14")
def test_the_roles_of_a_ticket_have_the_tools_that_they_need_and_no_more() -> None:
    roles = load_roles(None, None)
    assert roles["impl-agent"].tools == ("read", "edit", "search", "execute")
    assert roles["verify-agent"].tools == ("read", "execute", "browser")
    assert roles["fix-agent"].tools == ("read", "edit", "execute")
    assert roles["pr-agent"].tools == ("read",)
    assert [name for name in ("verify-agent", "pr-agent") if roles[name].writes] == []
    assert [roles[name].model for name in ("fix-agent", "pr-agent")] == ["small", "small"]


@pytest.mark.spec("PUR-2")
def test_team_a_hands_back_what_it_built_its_files_and_its_doubts() -> None:
    prompt = load_roles(None, None)["purple-team-a"].prompt
    for word in ("**implemented**", "**files**", "**notes**", "patterns", "neither you nor Team B can see"):
        assert word in prompt


@pytest.mark.spec("PUR-3")
def test_team_b_judges_each_requirement_with_a_place_and_mends() -> None:
    prompt = load_roles(None, None)["purple-team-b"].prompt
    for word in ("`verified`", "`missing`", "`wrong`", "`file:line`", "**steel_man**", "**gaps**", "**fixed**"):
        assert word in prompt
    assert "`PASS`" in prompt
    assert "`GAPS_REMAIN`" in prompt
    assert "You do not see A's conversation" in prompt


@pytest.mark.spec("AGT-2", "USE-7")
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("# no front matter\n", 1, "has no front matter"),
        ("", 1, "has no front matter"),
        ("---\nname: x\n", 1, "has no closing ---"),
        ("---\n- a\n---\nbody", 2, "no fields"),
        ("---\nname: x\ntools: [read, shell]\n---\nbody", 3, "unknown tool shell (known are read, edit, search"),
        ("---\nname: x\ntools:\n  - read\n  - Bash\n---\nbody", 5, "unknown tool Bash"),
        ("---\nname: x\n---\nbody", 2, "has no tools"),
        ("---\nname: x\ntools: []\n---\nbody", 3, "has no tools"),
        ("---\nname: x\ntool: [read]\n---\nbody", 3, "did you mean tools?"),
        ("---\nname: a b\ntools: read\n---\nbody", 2, "not a valid role name"),
        ("---\nname: 5\ntools: read\n---\nbody", 2, "name is not text"),
        ("---\nname: x\nname: y\ntools: read\n---\nbody", 3, "twice"),
        ("---\nname: [x\ntools: read\n---\nbody", 3, "not YAML"),
        ("---\ntools: read\n---\n \n", 4, "no prompt"),
    ],
)
def test_a_broken_role_file_is_named_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_role(text, "roles/x.md", "x")
    assert caught.value.where == f"roles/x.md:{line}", caught.value
    assert what in str(caught.value)


@pytest.mark.spec("AGT-2")
def test_a_role_is_called_as_its_file_and_tools_may_stand_between_commas() -> None:
    role = parse_role("\ufeff---\r\ntools: read, edit, read\r\n---\r\nBody.\r\n", "x.md", "x")
    assert (role.name, role.tools, role.prompt) == ("x", ("read", "edit"), "Body.")


@pytest.mark.spec("AGT-2", "USE-6")
def test_two_files_of_one_name_and_a_link_out_of_the_repository_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "p" / ".trued" / "roles"
    put(folder, "a", "x").rename(folder / "b.md")
    put(folder, "a", "x")
    with pytest.raises(BadInput, match=r"role a is also in a\.md"):
        load_roles(tmp_path / "p", None)
    (folder / "b.md").unlink()
    (folder / "c.md").symlink_to(put(tmp_path / "elsewhere", "c", "x"))
    with pytest.raises(BadInput, match="leads out of the repository"):
        load_roles(tmp_path / "p", None)
