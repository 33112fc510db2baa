"""Exported roles: files of other tools with the same content, which never overwrite somebody's work."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.agents.roles import find_roles, load_roles
from trued.agents.roles.export import export_text, is_unchanged, plan_exports, write_exports
from trued.agents.roles.instructions_section import plan_section
from trued.agents.roles.lint import lint_role_file
from trued.agents.roles.other_tools import FORMS, read_other
from trued.agents.roles.tools import TOOLS, in_order
from trued.agents.roles.without_engine import OUTSIDE, adapt_role, answer_instructions, outside_changes
from trued.errors import BadInput
from trued.model import Role

pytestmark = pytest.mark.spec("TIC-14", "AGT-2")

ODD = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.just("\n"), min_size=1, max_size=200)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(load_roles(None, None)))
def test_every_packaged_role_says_the_same_in_every_form(form: str, name: str) -> None:
    ours = adapt_role(load_roles(None, None)[name])
    text = export_text(ours, FORMS[form])
    assert text.rstrip().endswith(answer_instructions(name))
    again = read_other(text, "x.md", name, FORMS[form]).role
    assert again is not None
    assert (again.name, again.tools, again.description, again.prompt) == (
        *(name, ours.tools, ours.description, ours.prompt),
    )


@given(ODD, LINES, st.sets(st.sampled_from(TOOLS), min_size=1), st.sampled_from(sorted(FORMS)))
@settings(max_examples=60, deadline=None)
def test_what_is_exported_reads_back_the_same(about: str, says: str, tools: set[str], form: str) -> None:
    about, says = about.strip() or "-", says.strip() or "-"
    ours = Role(name="my-role_1", description=about, tools=in_order({"read", *tools}), prompt=says, model="large")
    text = export_text(ours, FORMS[form])
    again = read_other(text, "x.md", "my-role_1", FORMS[form]).role
    assert again is not None
    assert (again.name, again.description, again.tools, again.prompt) == (ours.name, about, ours.tools, says)
    assert is_unchanged(text)
    assert is_unchanged(text.replace("\n", "\r\n"))
    assert not is_unchanged(text + "More.\n")


def test_models_keep_their_size_where_the_other_tool_has_one(tmp_path: Path) -> None:
    for word, theirs in (
        ("small", "haiku"),
        ("medium", "sonnet"),
        ("opus", "opus"),
        ("GPT-5", "inherit"),
        ("", "inherit"),
    ):
        role = Role(name="x", tools=("read",), prompt="p", model=word)
        assert f"\nmodel: {theirs}\n" in export_text(role, FORMS["claude"])
        assert "model" not in export_text(role, FORMS["github"])


@pytest.mark.parametrize("form", FORMS)
def test_nothing_that_differs_is_overwritten_and_the_same_is_left(tmp_path: Path, form: str) -> None:
    roles = [role for _, role in sorted(load_roles(None, None).items())]
    write_exports(plan_exports(roles, FORMS[form], tmp_path))
    assert {one.state for one in plan_exports(roles, FORMS[form], tmp_path)} == {"same"}
    changed = plan_exports(roles, FORMS[form], tmp_path)[0].path
    mine = changed.read_text() + "Mine.\n"
    changed.write_text(mine)
    plan_exports(roles, FORMS[form], tmp_path)[1].path.unlink()
    plan = plan_exports(roles, FORMS[form], tmp_path)
    assert [one.state for one in plan] == ["differs", "new", *["same"] * (len(roles) - 2)]
    with pytest.raises(BadInput, match=rf"{changed.name} would be overwritten .*--force"):
        write_exports(plan)
    assert changed.read_text() == mine
    assert not plan[1].path.exists()
    write_exports(plan, force=True)
    assert changed.read_text() == plan[0].text


def test_an_older_export_that_nobody_changed_is_brought_up_to_date(tmp_path: Path) -> None:
    older = Role(name="solo", description="d", tools=("read",), prompt="Old words.")
    write_exports(plan_exports([older], FORMS["claude"], tmp_path))
    (newer,) = plan_exports([older.model_copy(update={"prompt": "New words."})], FORMS["claude"], tmp_path)
    assert newer.state == "new"


@pytest.mark.spec("USE-6")
def test_nothing_is_written_through_a_link_that_leads_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "p" / ".claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="leads out"):
        plan_exports(load_roles(None, None).values(), FORMS["claude"], tmp_path / "p")


def test_an_export_does_not_take_the_place_of_the_role_that_it_came_from(tmp_path: Path) -> None:
    for form in FORMS.values():
        write_exports(plan_exports(load_roles(None, None).values(), form, tmp_path))
    assert find_roles(tmp_path, None).roles == load_roles(None, None)
    path = tmp_path / ".claude/agents/solo.md"
    assert lint_role_file(path) == []
    path.write_text(path.read_text().replace("Solo", "Alone"))
    assert find_roles(tmp_path, None).roles["solo"].form == "claude"
    alone = Role(name="only-here", description="d", tools=("read",), prompt="p")
    write_exports(plan_exports([alone], FORMS["github"], tmp_path))
    assert find_roles(tmp_path, None).roles["only-here"].prompt == "p"


def test_a_prompt_that_github_would_cut_is_refused() -> None:
    long = Role(name="x", tools=("read",), prompt="word " * 7000)
    with pytest.raises(BadInput, match="30000"):
        export_text(long, FORMS["github"])
    assert export_text(long, FORMS["claude"])


# -- without the engine ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.stem for path in OUTSIDE.glob("*.md") if path.stem != "answer"))
def test_what_a_role_does_otherwise_without_the_engine_takes_the_place_of_what_it_says(name: str) -> None:
    role = load_roles(None, None)[name]
    for first in outside_changes(name).instead:
        assert role.prompt.count(f"\n- {first}") == 1
    changed = adapt_role(role)
    assert changed.prompt.count("\n- ") == role.prompt.count("\n- ")
    assert all(item in changed.prompt for item in outside_changes(name).instead.values())


def test_an_exported_role_is_not_forbidden_what_no_engine_does_then() -> None:
    roles = load_roles(None, None)
    initializer = export_text(roles["initializer"], FORMS["claude"])
    assert "tools: Read, Edit, Write" in initializer
    assert "no files" not in initializer
    for name in ("purple-team-a", "purple-team-b"):
        text = export_text(roles[name], FORMS["claude"])
        assert "`MEMORY.md` or anything under" not in text
        assert "Add your entry to `MEMORY.md`" in text
    assert "edit" not in roles["initializer"].tools  # the role itself is unchanged


def test_a_role_of_ones_own_is_exported_as_it_is() -> None:
    mine = Role(name="initializer", tools=("read",), prompt="- Build nothing at all.", origin="project: x")
    text = export_text(mine, FORMS["claude"])
    assert "- Build nothing at all." in text
    assert "tools: Read\n" in text


@pytest.mark.parametrize(
    ("form", "file"), [("claude", "CLAUDE.md"), ("github", "AGENTS.md"), ("opencode", "AGENTS.md")]
)
def test_the_section_in_the_instructions_leaves_everything_else_alone(tmp_path: Path, form: str, file: str) -> None:
    path = tmp_path / file
    path.write_bytes("# Mine\r\n\nKeep this é".encode())
    exports = plan_exports([load_roles(None, None)["solo"]], FORMS[form], tmp_path)
    write_exports([plan_section(exports, FORMS[form], tmp_path)])
    first = path.read_bytes().decode()
    assert first.startswith("# Mine\r\n\nKeep this é\n\n<!-- trued roles: begin")
    assert "| `solo` |" in first
    assert plan_section(exports, FORMS[form], tmp_path).state == "same"
    path.write_bytes(f"{first}\nMore of mine.\n".encode())
    more = plan_exports(list(load_roles(None, None).values())[:3], FORMS[form], tmp_path)
    write_exports([plan_section(more, FORMS[form], tmp_path)])
    second = path.read_bytes().decode()
    assert second.startswith("# Mine\r\n\nKeep this é\n\n<!-- trued roles: begin")
    assert second.endswith("\nMore of mine.\n")
    assert second.count("trued roles: begin") == 1


def test_a_section_that_somebody_changed_is_kept_and_half_a_section_is_named(tmp_path: Path) -> None:
    exports = plan_exports([load_roles(None, None)["solo"]], FORMS["claude"], tmp_path)
    write_exports([plan_section(exports, FORMS["claude"], tmp_path)])
    path = tmp_path / "CLAUDE.md"
    path.write_text(path.read_text().replace("in a fresh context", "whenever it likes"))
    with pytest.raises(BadInput, match=r"CLAUDE\.md would be overwritten"):
        write_exports([plan_section(exports, FORMS["claude"], tmp_path)])
    path.write_text("Mine.\n<!-- trued roles: begin; unchanged while this fits: x -->\n")
    with pytest.raises(BadInput, match=r"CLAUDE\.md:2"):
        plan_section(exports, FORMS["claude"], tmp_path)
