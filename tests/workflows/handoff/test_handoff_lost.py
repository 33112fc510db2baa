"""All private state is lost, and only the branch is left: its files are hints, and proven work is not built again."""

import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events
from tests.workflows.hands import Coders, Hands, built, feature, shown_by_tests
from trued.agents.adapters.scripted import ScriptFailed
from trued.engine.inputs import Request
from trued.errors import BadInput, Diverged
from trued.model import RunRecord
from trued.wire import Order

LIST = "feature_list.json"


class Fails(Coders):
    """Coders that fail on `triple`, so that the run ends in the middle."""

    def _played(self, order: Order) -> dict[str, Any]:
        if "triple" in order.key:
            raise ScriptFailed("gone")
        return super()._played(order)


async def left_in_the_middle(ground: Hands) -> RunRecord:
    """Build and prove one feature of two; then delete everything except the repository."""
    record = await ground.handed(ground.played(Fails()))
    assert (record.state, record.code) == ("failed", 5)
    assert ground.passing(record.branch) == ["double"]
    shutil.rmtree(ground.home)
    return record


def forged(ground: Hands, branch: str, name: str) -> None:
    """A person marks a feature as passed on the branch, by hand, and commits a file of their own."""
    ground.git("checkout", "-q", branch)
    whole = json.loads((ground.repository / LIST).read_text())
    for one in whole["features"]:
        one |= {"passes": True} if one["id"] == name else {}
    ground.write(LIST, json.dumps(whole))
    ground.write("OWN.md", "the user's own\n")
    ground.commit()
    ground.git("checkout", "-q", "main")


@pytest.mark.slow
@pytest.mark.spec("HAND-12", "HAND-5", "HAND-4")
async def test_without_private_state_a_run_goes_on_from_its_branch_and_a_forged_pass_is_undone(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [shown_by_tests("double"), feature("triple")])
    before = await left_in_the_middle(ground)
    forged(ground, before.branch, "triple")
    coders = Coders()
    engine = ground.played(coders)
    record = await ground.handed(engine)
    assert (record.state, record.code) == ("done", 0)
    assert (record.branch, record.base) == (before.branch, before.base)
    assert coders.asked == ["feature triple/coder#1"]
    (undone,) = events(engine, record, "passes undone")
    assert undone.data["feature"] == "triple"
    assert ground.passing(record.branch) == ["double", "triple"]
    listed = ground.features(record.branch)["double"]
    assert (listed.tests_passing, listed.tests_total) == (1, 1)
    assert ground.file(record, "OWN.md") == "the user's own"
    assert ground.file(record, "tiny.py").count("def ") == 2
    state = json.loads(ground.file(record, "agent_state.json"))
    assert (state["run_id"], state["base_commit"]) == (record.id, before.base)
    assert oct(int(ground.git("ls-tree", record.branch, "init.sh").split()[0], 8)) == "0o100755"


@pytest.mark.slow
@pytest.mark.spec("DAY-7", "HAND-12")
async def test_the_initializers_commands_survive_on_the_branch_alone(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double"), feature("triple")])
    (tmp_path / "spec.md").write_text("double(x) returns twice its argument\n")
    told = {"start": "python -m words", "test": "python -m pytest -q", "set_up": ["mkdir -p data"]}
    coders = Fails()
    listed = {"features": [feature("double"), feature("triple")], **told}
    coders.roles = {"initializer": lambda _: listed, "examiner": lambda _: {"cases": []}}
    record = await ground.handed(ground.played(coders), "../spec.md")
    before = ground.file(record, "init.sh")
    assert "Start the app: python -m words" in before
    shutil.rmtree(ground.home)
    others = Coders()
    others.roles = {"examiner": coders.roles["examiner"]}
    again = await ground.handed(ground.played(others), "../spec.md")
    assert (again.branch, ground.passing(again.branch)) == (record.branch, ["double", "triple"])
    script = ground.file(again, "init.sh")
    for words in ("mkdir -p data", "Start the app: python -m words", "Run the tests: python -m pytest -q"):
        assert words in script
    assert "Completed double: PASS" in ground.file(again, "progress.txt")


@pytest.mark.slow
@pytest.mark.spec("HAND-12")
async def test_a_branch_can_be_named_and_head_begins_anew(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double"), feature("triple")])
    before = await left_in_the_middle(ground)
    coders = Coders()
    engine = ground.played(coders)
    anew = await ground.handed(engine, branch="HEAD")
    assert (anew.state, anew.branch != before.branch) == ("done", True)
    assert coders.asked == ["feature double/coder#1", "feature triple/coder#1"]
    coders = Coders()
    record = await ground.handed(ground.played(coders), branch=before.branch)
    assert (record.state, record.branch) == ("done", before.branch)
    assert coders.asked == ["feature triple/coder#1"]
    trees = [ground.git("rev-parse", f"{one}:tiny.py") for one in (anew.branch, record.branch)]
    assert trees[0] == trees[1]


@pytest.mark.spec("HAND-12")
async def test_a_branch_that_no_run_left_is_refused_in_one_sentence(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double")])
    ground.git("branch", "trued/mine")
    for name in ("trued/mine", "nowhere", "--all"):
        with pytest.raises(BadInput, match="is not a branch of an earlier run"):
            await ground.handed(ground.played(Coders()), branch=name)
    built(ground.repository, "double")
    ground.write("agent_state.json", json.dumps({"run_id": "r-mine", "version": 1}))
    ground.commit()
    with pytest.raises(BadInput, match="is not a branch of an earlier run"):
        await ground.handed(ground.played(Coders()), branch="main")
    assert ground.git("branch", "--list", "trued/r-*") == ""


@pytest.mark.spec("RUN-3", "DAY-6")
async def test_a_run_that_an_earlier_version_began_is_not_mixed_with_todays_rules_and_names_the_way_on(
    tmp_path: Path, stack: ExitStack
) -> None:
    """A resume is refused, because the files are part of recorded steps. The command in the message continues from the
    branch, as after a loss."""
    ground = Hands(tmp_path, stack, [shown_by_tests("double")])
    coders = Coders()
    engine = ground.played(coders)
    asked = Request(
        goal=str(ground.folder / "features.json"),
        repository=ground.repository,
        requirements=ground.requirements,
        workflow="handoff",
        flags={"yes": True, "agents": {"*": "scripted:inside"}},
    )
    inputs, repository = await engine.ready(asked)
    with pytest.raises(Diverged) as refused:
        await engine.drive(*engine.begin(inputs.model_copy(update={"edition": 1}), repository))
    (record,) = engine.store.journal.runs()
    assert f"--from {record.branch}` continues from its branch" in str(refused.value)
    assert coders.asked == [], "nobody is paid for it"
    assert ground.git("status", "--porcelain") == ""
