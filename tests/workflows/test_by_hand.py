"""Workflows by hand: commands for other tools that name the exported roles and the engine's own numbers."""

import re
from pathlib import Path

import pytest

from trued.agents.roles import load_roles
from trued.agents.roles.export import is_unchanged, plan_exports, write_exports
from trued.agents.roles.instructions_section import plan_section
from trued.agents.roles.other_tools import FORMS, RoleFormat
from trued.model import Settings
from trued.workflows.descriptor import WorkflowDescriptor
from trued.workflows.pipeline.lint.select import lint_sets, named_sets
from trued.workflows.registry import descriptors

HANDBOOKS = [one for one in descriptors() if one.handbook]
BY_COMMAND = [one for one in HANDBOOKS if len(one.handbook_files(FORMS["claude"], Path("/none"))) == 1]

pytestmark = pytest.mark.spec("TIC-14", "AGT-2")


def test_four_workflows_can_be_followed_by_hand() -> None:
    assert {one.name for one in HANDBOOKS} == {"purple", "ticket", "handoff", "pipeline"}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("workflow", BY_COMMAND, ids=lambda one: one.name)
def test_a_command_names_every_role_of_its_workflow_and_what_the_user_typed(
    workflow: WorkflowDescriptor, form: RoleFormat, tmp_path: Path
) -> None:
    (command,) = workflow.handbook_files(form, tmp_path)
    assert command.role == workflow.name
    assert [role for role in workflow.roles if f"`{role}`" not in command.text] == []
    assert ("${input:request}" if form.name == "github" else "$ARGUMENTS") in command.text
    assert f"at most {Settings().rounds} " in command.text.lower()
    assert is_unchanged(command.text)
    assert "nothing is proven" in command.text


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_export_of_everything_passes_the_lint_and_its_section_lists_every_command(
    form: RoleFormat, tmp_path: Path
) -> None:
    exports = plan_exports(load_roles(None, None).values(), form, tmp_path)
    exports += [file for one in HANDBOOKS for file in one.handbook_files(form, tmp_path)]
    section = plan_section(exports, form, tmp_path)
    write_exports([*exports, section])
    look = lint_sets(named_sets([tmp_path]))
    assert ([one for one in look.found if one.wrong], look.pipelines) == ([], 1)
    listed = set(re.findall(r"^\| `(/?[\w.-]+)` \|", section.text, re.M))
    pipeline = "/feature-workflow" if form.name == "github" else "/feature-workflow.prompt"
    assert {"/purple", "/ticket", "/handoff", pipeline, "purple-team-a", "coder", "orchestrator"} <= listed
