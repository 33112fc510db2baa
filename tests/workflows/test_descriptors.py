"""Each workflow's descriptor agrees with its flow, files and roles."""

from collections.abc import Mapping
from typing import Any

import pytest

from trued.agents.roles import load_roles
from trued.model import Event, Goal, Settings, Source
from trued.workflows.descriptor import Input, SealedWork, WorkflowDescriptor, load
from trued.workflows.handoff import agent_state
from trued.workflows.pipeline import decision_tables, feature_folder
from trued.workflows.registry import default_workflow, descriptor, descriptors, find_descriptor
from trued.workflows.team import files

OURS = sorted(["purple", "solo", "ticket", "handoff", "pipeline", "team"])
PLAN = "# Plan\n\n## Chunk 1A: One\n\n- [ ] a thing\n\n## Chunk 1B: Two\n\n- [ ] another thing\n"


def sealed(
    tasks: int, reply: Mapping[str, Any] | None = None, settings: Settings | None = None, goal: str = "x"
) -> SealedWork:
    """A sealed run with this many tasks or features, whichever its workflow counts."""
    named = {"tasks": ["t"] * tasks, "features": ["f"] * tasks}
    event = Event(id=1, at=0.0, key="", kind="team", data={"tasks": tasks})
    return SealedWork(Goal(text=goal), settings or Settings(), (event,), lambda role: reply or named)


@pytest.mark.spec("DAY-15")
def test_ours_are_registered_like_anybodys() -> None:
    assert [one.name for one in descriptors()] == OURS


@pytest.mark.spec("DAY-15")
def test_who_reads_a_run_finds_the_workflow_that_is_registered() -> None:
    assert all(find_descriptor(name) is descriptor(name) for name in OURS)
    assert find_descriptor("view") is None  # a module in the same folder, but no workflow


@pytest.mark.parametrize("name", OURS)
@pytest.mark.spec("DAY-15")
def test_everything_that_a_descriptor_names_is_there(name: str) -> None:
    one = descriptor(name)
    references = [one.flow, one.check_input, one.estimate, one.branch_state.read if one.branch_state else ""]
    assert all(callable(load(each)) for each in references if each)
    packaged = load_roles(None, None)
    assert {*one.roles, *one.repairing_roles, *one.reviewing_roles, *one.other_vendor_roles} <= set(packaged)
    assert {path.stem for path in one.role_files()} & {*one.roles}
    assert one.rounds
    assert one.rounds.meaning


@pytest.mark.spec("DAY-15")
def test_each_kind_of_input_has_its_own_workflow() -> None:
    chosen = {kind: default_workflow(kind).name for kind in Input}
    assert chosen == {"plan": "purple", "words": "solo", "specification": "handoff", "ticket": "ticket"}


@pytest.mark.spec("DAY-15")
def test_names_that_a_descriptor_repeats_are_those_of_the_flow() -> None:
    pipeline = descriptor("pipeline")
    clusters = {*decision_tables.CRITICS, *decision_tables.VERIFIERS, *decision_tables.REVIEWERS}
    assert pipeline.reviewing_roles == clusters
    assert pipeline.writes_into == feature_folder.PLACE
    team, goal = descriptor("team"), Goal(text="a goal")
    assert (team.writes_into, team.owned_files(Settings(), goal)) == (files.FOLDER, (files.FOLDER,))
    handoff = descriptor("handoff")
    assert handoff.branch_state
    assert handoff.branch_state.file == agent_state.NAME
    assert {"feature_list.json", "agent_state.json", "note.txt"} <= {
        *handoff.owned_files(Settings(progress="note.txt"), goal)
    }


@pytest.mark.parametrize(
    ("plan", "owned"),
    [
        ("docs/plan.md", ("docs/MEMORY.md",)),
        ("plan.md", ("MEMORY.md",)),
        ("../plan.md", ()),
        ("/elsewhere/plan.md", ()),
        ("", ()),
    ],
)
def test_purple_keeps_its_log_beside_a_plan_of_the_repository(plan: str, owned: tuple[str, ...]) -> None:
    for name in ("purple", "solo"):
        goal = Goal(text="x", source=Source(file=plan, line=1))
        assert descriptor(name).owned_files(Settings(), goal) == owned


@pytest.mark.spec("USE-10")
def test_the_fewest_and_the_most_calls_follow_from_the_workflow() -> None:
    assert descriptor("solo").calls(sealed(9)) == {"solo": (1, 2)}
    team = {"pm": (0, 6), "techlead": (1, 4), "uat": (2, 12), "dev": (3, 30), "qa": (3, 60)}
    assert descriptor("team").calls(sealed(3)) == team
    piped = descriptor("pipeline").calls(sealed(5))
    assert (piped["implementer"], piped["v-build"], piped["r-security"], piped["planner"]) == (
        (5, 20),
        (1, 4),
        (1, 2),
        (0, 2),
    )
    assert {role: piped[role] for role in decision_tables.CRITICS} == dict.fromkeys(decision_tables.CRITICS, (0, 1))
    assert "documentation-writer" not in piped
    kinds = ["implementation", "documentation", "implementation"]
    mixed = descriptor("pipeline").calls(sealed(3, reply={"tasks": [{"kind": kind} for kind in kinds]}))
    assert (mixed["implementer"], mixed["documentation-writer"]) == ((2, 8), (1, 4))
    assert descriptor("ticket").calls(sealed(1))["verify-agent"] == (1, 6)
    assert descriptor("handoff").calls(sealed(4)) == {"coder": (4, 12)}
    assert descriptor("purple").calls(sealed(2)) == {"purple-team-a": (2, 6), "purple-team-b": (2, 12)}


@pytest.mark.spec("USE-10")
def test_a_role_that_is_switched_off_is_not_reckoned_with() -> None:
    settings = Settings.model_validate({"team": {"off": ["qa", "uat"]}})
    assert descriptor("team").calls(sealed(3, settings=settings)).keys() == {"pm", "techlead", "dev"}


@pytest.mark.spec("USE-10")
def test_a_team_that_does_not_try_again_is_estimated_with_one_attempt_for_each_task() -> None:
    settings = Settings.model_validate({"team": {"heal": False}})
    found = descriptor("team").calls(sealed(3, settings=settings))
    assert (found["dev"], found["qa"]) == ((3, 3), (3, 6))


@pytest.mark.parametrize("name", OURS)
@pytest.mark.spec("USE-10")
def test_nobody_is_reckoned_with_who_does_not_play_in_the_workflow(name: str) -> None:
    found = descriptor(name).calls(sealed(2))
    assert found.keys() <= {*descriptor(name).roles}
    assert all(0 <= fewest <= most for fewest, most in found.values())


@pytest.mark.spec("USE-10", "DAY-15")
def test_without_an_estimate_of_its_own_every_role_works_on_every_chunk_in_every_round() -> None:
    one = WorkflowDescriptor(name="mine", flow="some.module:mine", roles=("a", "b"))
    planned = SealedWork(
        Goal(text=PLAN, source=Source(file="plan.md", line=1)), Settings(rounds=2), (), lambda role: {}
    )
    assert one.calls(planned) == {"a": (2, 4), "b": (2, 4)}
    assert one.calls(sealed(3)) == {"a": (3, 9), "b": (3, 9)}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"name": "Own Flow"}, "the name 'Own Flow'"),
        ({"flow": "module"}, "flow = 'module'"),
        ({"flow": ""}, "flow = ''"),
        ({"estimate": "a b:c"}, "estimate = 'a b:c'"),
        ({"role_folder": "../roles"}, "role_folder = '../roles'"),
    ],
)
@pytest.mark.spec("DAY-15")
def test_a_descriptor_that_cannot_be_right_says_so_at_once(wrong: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=r"is not|does not have the form") as error:
        WorkflowDescriptor(**{"name": "own", "flow": "a.b:c", "roles": ("d",), **wrong})  # type: ignore[arg-type]
    assert says in str(error.value)
