"""The packaged roles: all have the same form, and each says what its agent may reply and write."""

import re
from pathlib import Path

import pytest

from trued.agents.roles import load_roles
from trued.agents.roles.own_format import parse_role
from trued.agents.roles.places import packaged_files
from trued.model import Role

SECTIONS = (
    "Role",
    "Prohibitions",
    "Inputs",
    "Outputs",
    "Operating rules",
    "Workflow",
    "Completion contract",
    "Anti-drift anchor",
)
FOCUSES = ("architecture", "impact", "dependencies", "patterns")
CRITICS = ("ct-security", "ct-scalability", "ct-maintainability", "ct-strategy")
VERIFIERS = ("v-build", "v-tests", "v-tasks", "v-feature")
REVIEWERS = ("r-quality", "r-security", "r-testing", "r-knowledge")
DOCUMENTS = {
    "researcher": "research/<focus>.md",
    "spec": "feature.md",
    "designer": "design.md",
    **{name: f"ct-review/{name}.md" for name in CRITICS},
    **{name: f"verification/{name}.md" for name in VERIFIERS},
    **{name: f"review/{name}.md" for name in REVIEWERS},
}
BUILDERS = ("implementer", "documentation-writer")
PIPELINE = {*DOCUMENTS, "planner", *BUILDERS}
TEAM = {"pm", "techlead", "dev", "qa", "uat"}
MAY_REVISE = {*CRITICS, *VERIFIERS, *REVIEWERS} - {"v-build"}
INSTANCES = {"researcher": "researcher-<focus>"} | {name: f"{name}-<task>" for name in BUILDERS}
GONE = re.compile(r"aggregat|synthe|analysis\.md|design_critical_review|\bverifier\.md|(?<![\w/-])review\.md", re.I)

ROLES = load_roles(None, None)
every = pytest.mark.parametrize("name", sorted(ROLES))
in_pipeline = pytest.mark.parametrize("name", sorted(PIPELINE))


def sections(role: Role) -> dict[str, str]:
    """Title and text of each section, in order."""
    parts = re.split(r"^## (.+)$", role.prompt, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rules(role: Role) -> list[str]:
    return re.split(r"^\d+\. ", sections(role)["Operating rules"], flags=re.M)[1:]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.spec("PIPE-13")
def test_every_file_lies_in_the_folder_of_its_workflow_under_its_own_name() -> None:
    found = {path: parse_role(path.read_text(), str(path), path.stem).name for path in packaged_files()}
    assert len(set(found.values())) == len(found)
    assert all(path.stem == name for path, name in found.items())
    assert set(found.values()) == set(ROLES)
    folders = {path.parent.name for path in found}
    assert folders == {"shared", "purple", "ticket", "handoff", "pipeline", "team"}
    by_folder = {folder: {one.stem for one in found if one.parent.name == folder} for folder in folders}
    assert by_folder["shared"] == {"planner", "examiner", "second-examiner"}
    assert by_folder["pipeline"] == PIPELINE - {"planner"}
    assert by_folder["team"] == TEAM
    files = {one for one in packaged_files()[0].parents[1].rglob("*.md") if one.parent.name != "outside"}
    assert files == set(found), "a folder that nobody reads"


@pytest.mark.spec("PIPE-13", "AGT-2")
@every
def test_a_packaged_role_has_its_sections_in_order_and_front_matter_that_says_who_it_is(name: str) -> None:
    role = ROLES[name]
    headings = [line for line in role.prompt.splitlines() if line.startswith("#")]
    assert headings[0].startswith("# ")
    assert role.prompt.startswith(headings[0])
    assert tuple(line.removeprefix("## ") for line in headings[1:]) == SECTIONS
    assert all(text.strip() for text in sections(role).values())
    assert 10 < len(role.description) <= 130
    assert role.model in ("small", "medium", "large")
    assert "no other agent" in flat(sections(role)["Prohibitions"])


@pytest.mark.spec("PIPE-13")
@every
def test_its_first_four_operating_rules_are_the_same_words_as_everybody_elses_and_its_own_follow(name: str) -> None:
    own, others = rules(ROLES[name]), rules(ROLES["planner"])
    assert own[:4] == others[:4]
    assert len(own) > 6
    numbers = [int(one) for one in re.findall(r"^(\d+)\. ", sections(ROLES[name])["Operating rules"], flags=re.M)]
    assert numbers == list(range(1, len(own) + 1))
    assert not {flat(one) for one in own[4:]} & {flat(one) for one in own[:4]}


@pytest.mark.spec("PIPE-18")
@every
def test_only_critics_verifiers_and_reviewers_may_ask_for_revision(name: str) -> None:
    said = re.findall(r"^- `(\w+)`: ", sections(ROLES[name])["Completion contract"], flags=re.M)
    assert said == (["DONE", "NEEDS_REVISION", "ERROR"] if name in MAY_REVISE else ["DONE", "ERROR"])
    assert name in MAY_REVISE or "NEEDS_REVISION" not in ROLES[name].prompt


@pytest.mark.spec("PIPE-12")
@every
def test_nobody_speaks_of_aggregators_a_synthesis_or_combined_files(name: str) -> None:
    assert not GONE.findall(ROLES[name].prompt)


@pytest.mark.spec("PIPE-1", "PIPE-2", "PIPE-13")
@in_pipeline
def test_an_agent_of_the_pipeline_names_its_memory_gives_findings_for_it_and_leaves_the_shared_one_alone(
    name: str,
) -> None:
    parts = sections(ROLES[name])
    memory = f"`memory/{INSTANCES.get(name, name)}.mem.md`"
    assert memory in parts["Outputs"]
    assert set(re.findall(r"`memory/[^`]+`", ROLES[name].prompt)) == {memory}
    assert "engine writes" in flat(parts["Outputs"])
    assert "key findings for your isolated memory" in flat(parts["Workflow"])
    anchor = flat(parts["Anti-drift anchor"])
    assert f"your isolated memory ({memory})" in anchor
    assert "`memory.md` is written by the orchestrator alone" in anchor


@pytest.mark.spec("PIPE-17")
@in_pipeline
def test_memory_is_read_first_and_what_is_missing_stops_nobody(name: str) -> None:
    inputs = sections(ROLES[name])["Inputs"]
    paths = re.findall(r"`((?:[\w*<>-]+/)*[\w*<>-]+\.md)`", inputs)
    assert paths[0] == "memory.md"
    assert "`memory.md` first" in inputs
    assert "note the gap in your answer and continue with what is there" in flat(rules(ROLES[name])[0])


@pytest.mark.spec("PIPE-2", "PIPE-12")
@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_who_leaves_a_document_writes_that_one_alone(name: str) -> None:
    role, parts = ROLES[name], sections(ROLES[name])
    assert role.tools == ("read", "edit", "search", "execute")
    assert f"- `{DOCUMENTS[name]}`: " in parts["Outputs"]
    assert "and no other file: any other change is undone and recorded" in flat(parts["Prohibitions"])


@pytest.mark.spec("PIPE-12", "PIPE-10")
@pytest.mark.parametrize("name", ["spec", "designer", "planner"])
def test_who_builds_on_research_reads_the_four_files_themselves(name: str) -> None:
    inputs = sections(ROLES[name])["Inputs"]
    assert [focus for focus in FOCUSES if f"`research/{focus}.md`" in inputs] == list(FOCUSES)


@pytest.mark.spec("PIPE-5", "PIPE-8")
def test_a_revision_reads_the_critics_and_a_replan_the_verifiers_themselves() -> None:
    assert "in revision: the critics' own documents, `ct-review/ct-*.md`" in flat(sections(ROLES["designer"])["Inputs"])
    planner = sections(ROLES["planner"])
    for name in ("v-tasks", "v-tests", "v-feature"):
        assert f"`verification/{name}.md`" in planner["Inputs"]
    assert "**failures**" in planner["Outputs"]
    assert "no file" in planner["Prohibitions"]
    assert not ROLES["planner"].writes


@pytest.mark.spec("PIPE-9", "PIPE-7", "PIPE-14")
def test_each_cluster_keeps_its_own_scale_and_knows_who_overrules_it() -> None:
    for name in CRITICS:
        outputs = flat(sections(ROLES[name])["Outputs"])
        assert "`Critical`, `High`, `Medium` or `Low`" in outputs
        assert not re.search("Blocker|Major|Minor", ROLES[name].prompt)
    for name in REVIEWERS[:3]:
        assert "`Blocker`, `Major` or `Minor`" in flat(sections(ROLES[name])["Outputs"])
        assert not re.search("`High`|`Medium`", ROLES[name].prompt)
    assert "`Critical` is read as `Blocker`" in flat(sections(ROLES["r-security"])["Outputs"])
    assert "holds nothing up" in flat(ROLES["r-knowledge"].prompt)
    for name in VERIFIERS:
        assert "`pass` or `fail`" in flat(sections(ROLES[name])["Outputs"])
    for name in ("v-build", "v-tests"):
        assert "the worse one counts" in flat(sections(ROLES[name])["Role"])


@pytest.mark.spec("TEAM-1", "TEAM-5", "TEAM-6", "TEAM-7")
def test_the_members_of_a_team_have_the_tools_and_the_limits_of_their_part() -> None:
    assert {name for name in TEAM if ROLES[name].writes} == {"dev"}
    prohibitions = {name: flat(sections(ROLES[name])["Prohibitions"]) for name in TEAM}
    assert "Never ask the user" in prohibitions["pm"]
    assert all(re.search(r"ask the user", words) for words in prohibitions.values())
    assert "Do not change what QA checks with" in prohibitions["dev"]
    assert "`techlead` for how, `pm` for what" in flat(sections(ROLES["dev"])["Outputs"])
    for name in ("reproduction", "expected", "actual"):
        assert f"**{name}**" in sections(ROLES["qa"])["Outputs"]
        assert f"**{name}**" in sections(ROLES["uat"])["Outputs"]
    assert "**not_met**" in sections(ROLES["uat"])["Outputs"]


def test_only_what_lies_in_the_folders_is_a_role(tmp_path: Path) -> None:
    assert "answer" not in ROLES, "words for other tools, in the folder beside"
    assert set(load_roles(tmp_path, tmp_path)) == set(ROLES)
