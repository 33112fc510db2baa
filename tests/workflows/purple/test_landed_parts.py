"""Parts of a plan that land alone: objections and failures of the run that concern them still count."""

from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_amendments import Rework
from tests.workflows.conftest import CODE, PASSED, REQUIREMENTS, Ground, built, chunk_of
from tests.workflows.purple.test_parts_of_a_plan import idle_in
from trued.engine.approvals import Decision, decide
from trued.engine.continuations import continuations
from trued.engine.engine import Engine
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest, LandingResult
from trued.engine.landing.reproof import RebasedProof
from trued.errors import BadInput
from trued.model import Grade, Outcomes, RunRecord
from trued.reporting.views.progress import Progress
from trued.wire import Order

WRONG_1B = {"1A": CODE["1A"], "1B": "\n\ndef triple(x):\n    return x\n"}
DOUBT = {"what": "double is a name that the team does not use", "severity": "major"}


async def through(engine: Engine, record: RunRecord, chunk: str, *, carry: bool = False) -> LandingResult:
    request = LandingRequest(who="ann", through=chunk, carry=carry)
    return await land(engine.store, record.id, request, engine.person)


def doubting(order: Order) -> dict[str, Any]:
    """Team A builds the first chunk right and the second one wrong; Team B objects to the first, without a case."""
    if order.role == "purple-team-a":
        return built(order, WRONG_1B)
    return {**PASSED, "result": "GAPS_REMAIN", "gaps": [DOUBT]} if chunk_of(order) == "1A" else PASSED


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "DAY-4", "LAW-9")
async def test_a_chunk_for_which_nothing_was_changed_does_not_land_by_its_own_name(ground: Ground) -> None:
    """Its cases pass because of the work on another chunk, so the run calls it not proven. It cannot land alone,
    either."""
    engine, _ = ground.engine(idle_in("1B", {"1A": CODE["1A"] + CODE["1B"]}))
    record = await ground.run(engine, rounds=1)
    assert record.code == 1
    assert [command for command, _ in continuations(engine.store, record)] == [
        f"trued resume {record.id} --rounds 3",
        f"trued land {record.id} --through 1A",
    ]
    refused = await through(engine, record, "1B")
    assert (refused.landed, refused.code) == (False, 1)
    assert "nothing was changed for chunk 1B" in refused.why
    assert ground.git("rev-parse", "main") == record.base
    # it lands after a person has accepted it
    decide(engine.store, record.id, ["triple"], Decision(who="ann", why="1A did it"))
    done = await through(engine, record, "1B", carry=True)
    assert done.landed, done.why
    assert done.verdict
    assert {one.id: one.grade for one in done.verdict.requirements}["triple"] is Grade.ATTESTED


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "LAW-8")
async def test_an_open_objection_goes_with_the_chunk_that_it_is_about(ground: Ground) -> None:
    ground.require(REQUIREMENTS[:2])
    engine, _ = ground.engine(doubting)
    record = await ground.run(engine, rounds=1)
    assert record.code == 1
    assert not any("--through" in command for command, _ in continuations(engine.store, record))
    refused = await through(engine, record, "1A")
    assert (refused.landed, refused.code) == (False, 1)
    assert "a name that the team does not use" in refused.why
    assert ground.git("rev-parse", "main") == record.base


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "RUN-8")
async def test_what_a_person_rejected_does_not_land_as_a_part(ground: Ground) -> None:
    ground.require(REQUIREMENTS[:2])
    engine, _ = ground.engine(lambda order: built(order, WRONG_1B) if order.role == "purple-team-a" else PASSED)
    record = await ground.run(engine, rounds=1)
    decide(engine.store, record.id, ["double"], Decision(who="ann", why="not by adding", rejected=True))
    refused = await through(engine, record, "1A")
    assert (refused.landed, refused.code) == (False, 1)
    assert "rejected by ann" in refused.why
    assert ground.git("rev-parse", "main") == record.base
    # her rejection of the other chunk does not concern this one
    decide(engine.store, record.id, ["double"], Decision(who="ann", why="it is fine", instead=True))
    decide(engine.store, record.id, ["triple"], Decision(who="ann", why="wrong", rejected=True))
    done = await through(engine, record, "1A", carry=True)
    assert done.landed, done.why


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-9")
async def test_a_part_gets_no_second_throw_of_the_dice(ground: Ground) -> None:
    """A failure that the run saw on this commit counts at landing, too, although the part has another contract."""
    ground.require(REQUIREMENTS[:2])
    engine, _ = ground.engine(lambda order: built(order, WRONG_1B) if order.role == "purple-team-a" else PASSED)
    record = await ground.run(engine, rounds=1)
    seen = engine.store.evidence(record.id)
    assert {one.requirement for one in seen if one.side == "head"} >= {"double", "triple"}
    (good, *_) = [one for one in seen if (one.side, one.requirement) == ("head", "double")]
    tried = tuple(one.model_copy(update={"outcome": Outcomes.FAILED, "kind": "value"}) for one in good.tried)
    store, inputs = engine.store, engine.store.inputs(record.id)
    contract, workspace = store.contract(record.id), store.workspace(record, inputs)
    assert contract
    await workspace.begin()
    own = contract.model_copy(update={"requirements": contract.requirements[:1]})
    for known, grade in (((good.model_copy(update={"tried": tried}),), Grade.REFUTED), ((good,), Grade.PROVEN)):
        proof = RebasedProof(store, record, inputs, workspace, known=known)
        _, verdict, _ = await proof.seal_and_prove(own, record.base, good.commit, f"trial {grade}")
        assert [one.grade for one in verdict.requirements] == [grade]


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "LAW-9", "USE-11")
async def test_a_run_of_which_a_part_landed_is_not_called_landed(ground: Ground) -> None:
    ground.require(REQUIREMENTS[:2])
    engine, _ = ground.engine(lambda order: built(order, WRONG_1B) if order.role == "purple-team-a" else PASSED)
    record = await ground.run(engine, rounds=1)
    assert record.grade is Grade.REFUTED
    assert (await through(engine, record, "1A")).landed
    seen = Progress(engine.store.journal.events(record.id), record.workflow)
    assert (engine.store.journal.landed(), seen.landed, seen.landed_parts) == ({}, {}, {"main": "1A"})


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "LAW-9")
async def test_a_refuted_part_that_somebody_merged_by_hand_is_not_called_landed(ground: Ground) -> None:
    ground.require(REQUIREMENTS[:2])
    wrong = {"1A": "\n\ndef double(x):\n    return x\n", "1B": CODE["1B"]}
    engine, _ = ground.engine(lambda order: built(order, wrong) if order.role == "purple-team-a" else PASSED)
    record = await ground.run(engine, rounds=1)
    assert record.grade is Grade.REFUTED
    ground.git("merge", "-q", record.branch)
    refused = await through(engine, record, "1A")
    assert (refused.landed, refused.code) == (False, 1)
    assert "nothing has proven it" in refused.why
    assert engine.store.journal.landed() == {}


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "LAW-9", "USE-11")
async def test_a_part_is_not_offered_as_proven_though_the_whole_run_is(ground: Ground) -> None:
    """The run's verdict is about its last commit, not about the one of the part."""
    ground.require(REQUIREMENTS)
    engine, _ = ground.engine(lambda order: built(order, CODE) if order.role == "purple-team-a" else PASSED)
    record = await ground.run(engine, rounds=1)
    assert record.code == 0, record.why
    request = LandingRequest(who="ann", through="1A", way="pr")
    with pytest.raises(BadInput, match="is not proven"):
        await land(engine.store, record.id, request, engine.person)
    assert (await land(engine.store, record.id, LandingRequest(who="ann", way="pr"), engine.person)).landed


@pytest.mark.slow
@pytest.mark.spec("DAY-6", "LAW-8")
async def test_an_objection_in_rounds_that_a_person_granted_after_the_end_goes_with_its_chunk(ground: Ground) -> None:
    """The run has a final verdict, worked on after it, and stopped while Team B's objection was open."""
    crew = Rework("1B")
    engine, _ = ground.engine(crew)
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.grade) == ("not proven", Grade.REFUTED)
    crew.step = 1
    record = await engine.resume(record.id, rounds=2, who="ann")
    assert record.state == "failed"
    refused = await through(engine, record, "1B")
    assert (refused.landed, refused.code) == (False, 1)
    assert "a name that the team does not use" in refused.why
    assert ground.git("rev-parse", "main") == record.base
    # the other chunk got no objection
    assert (await through(engine, record, "1A")).landed


class FixedAtOnce(Rework):
    """Both chunks are wrong at first. In the rounds that a person grants, Team A fixes both when it is asked for 1A."""

    def __init__(self) -> None:
        super().__init__("1B")
        self.wrong = {name: code.replace("return ", "return 0 and ") for name, code in CODE.items()}

    def __call__(self, order: Order) -> dict[str, Any]:
        if self.step == 1 and order.role == "purple-team-a" and chunk_of(order) == "1A":
            file = Path(order.folder) / "tiny.py"
            for name, code in CODE.items():
                file.write_text(file.read_text().replace(self.wrong[name], code))
        return super().__call__(order)


@pytest.mark.slow
@pytest.mark.spec("DAY-6")
async def test_a_chunk_built_before_the_rounds_that_a_person_granted_counts_as_changed(ground: Ground) -> None:
    """In these rounds both chunks are judged on the same commit: the second was built long before."""
    crew = FixedAtOnce()
    engine, _ = ground.engine(crew)
    record = await ground.run(engine, rounds=1)
    assert (record.state, record.grade) == ("not proven", Grade.REFUTED)
    crew.step = 1
    record = await engine.resume(record.id, rounds=2, who="ann")
    assert record.state == "failed"
    refused = await through(engine, record, "1B")
    assert "a name that the team does not use" in refused.why
    assert "nothing was changed" not in refused.why
