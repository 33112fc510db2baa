"""A role file of another tool is used if its name fits or the user chooses it, and then must be trusted."""

import subprocess
from pathlib import Path

import pytest

from trued.engine import trust
from trued.engine.inputs import Inputs, Request
from trued.engine.start import prepare_inputs
from trued.errors import BadInput, Untrusted

pytestmark = pytest.mark.spec("AGT-2", "USE-6")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    folder.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "base"]):
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=folder, check=True, capture_output=True
        )
    put(folder, "my-reviewer")
    return folder


def put(project: Path, name: str, file: str = "") -> Path:
    path = project / ".claude" / "agents" / f"{file or name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: d\ntools: Read\n---\nI am {name}.\n")
    return path


def begun(project: Path, given: str = "", **roles: str) -> Inputs:
    environ = {"HOME": str(project.parent / "home"), "PATH": "/usr/bin:/bin"}
    flags = {
        "agents": {"*": "command:true"},
        "roles": {place.replace("_", "-"): name.replace("_", "-") for place, name in roles.items()},
    }
    request = Request(goal="Make it work.", repository=project, flags=flags, trust=given)
    return prepare_inputs(request, project.parent / "state", environ)


def agree(project: Path) -> None:
    trust.record_trust(project.parent / "state", project, trust.files_to_trust(project).digest, "ann")


def test_a_role_file_that_no_run_takes_needs_no_trust_and_comes_into_none(project: Path) -> None:
    inputs = begun(project)
    assert "my-reviewer" not in inputs.roles
    assert inputs.roles["solo"].origin == "packaged"


def test_a_chosen_role_must_be_trusted_and_then_takes_the_place(project: Path) -> None:
    with pytest.raises(Untrusted, match=r"\.claude/agents/my-reviewer\.md in .* is not trusted"):
        begun(project, solo="my-reviewer")
    assert (
        begun(project, trust.files_to_trust(project).digest, solo="my-reviewer").roles["solo"].prompt
        == "I am my-reviewer."
    )
    agree(project)
    inputs = begun(project, solo="my-reviewer")
    assert (inputs.roles["solo"].name, inputs.roles["solo"].tools) == ("solo", ("read",))
    assert inputs.settings.roles == {"solo": "my-reviewer"}
    put(project, "unused")
    assert begun(project, solo="my-reviewer").roles["solo"].prompt == "I am my-reviewer."
    with pytest.raises(BadInput, match="no role 'nobody'"):
        begun(project, solo="nobody")


def test_a_role_of_the_same_name_is_taken_whatever_its_file_is_called_and_must_be_trusted(project: Path) -> None:
    path = put(project, "examiner", "innocent")
    with pytest.raises(Untrusted, match=r"innocent\.md"):
        begun(project)
    agree(project)
    assert begun(project).roles["examiner"].origin == f"project: {path}"
    path.write_text(path.read_text() + "More.\n")
    with pytest.raises(Untrusted, match=r"innocent\.md"):
        begun(project)
    assert "unused" not in begun(project, examiner="my_reviewer").roles


def test_an_agent_that_is_called_as_a_role_of_another_workflow_is_neither_taken_nor_asked_about(project: Path) -> None:
    put(project, "qa")
    put(project, "x", "spec").write_text("---\nname: spec\n")
    inputs = begun(project)
    assert set(inputs.roles) == {"solo", "planner", "examiner", "second-examiner"}
    with pytest.raises(Untrusted, match=r"qa\.md"):
        begun(project, solo="qa")
    request = Request(
        goal="Make it work.", repository=project, flags={"agents": {"*": "command:true"}}, workflow="team"
    )
    with pytest.raises(Untrusted, match=r"qa\.md"):
        prepare_inputs(
            request, project.parent / "state", {"HOME": str(project.parent / "home"), "PATH": "/usr/bin:/bin"}
        )


def test_who_may_be_asked_in_every_workflow_keeps_its_agent_in_each(project: Path) -> None:
    for workflow in ("solo", "purple", "pipeline"):
        flags = {"agents": {"*": "command:true", "planner": "command:false", "qa": "command:false"}}
        request = Request(goal="Make it work.", repository=project, flags=flags, workflow=workflow)
        environ = {"HOME": str(project.parent / "home"), "PATH": "/usr/bin:/bin"}
        agents = prepare_inputs(request, project.parent / "state", environ).settings.agents
        assert agents == {"*": "command:true", "planner": "command:false"}, workflow


def test_a_broken_file_stops_a_run_only_where_it_would_have_been_taken(project: Path) -> None:
    put(project, "x", "other").write_text("---\nname: other\n")
    begun(project)
    put(project, "x", "planner").write_text("---\nname: planner\n")
    with pytest.raises(BadInput, match=r"planner\.md:1"):
        begun(project)


def test_the_choice_is_a_setting_of_the_project_or_the_user_too(project: Path) -> None:
    (project / "trued.toml").write_text('[roles]\nsolo = "my-reviewer"\nplanner = "my-reviewer"\n')
    with pytest.raises(Untrusted, match=r"trued\.toml"):
        begun(project)
    agree(project)
    assert begun(project, planner="planner").settings.roles == {"solo": "my-reviewer", "planner": "planner"}
    (project / "trued.toml").write_text("[roles]\nsolo = 5\n")
    agree(project)
    with pytest.raises(BadInput, match=r"trued\.toml:2"):
        begun(project)
