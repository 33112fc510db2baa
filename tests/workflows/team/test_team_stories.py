"""A team's everyday stories without a requirements file: an examiner writes the cases, and a person approves them."""

from pathlib import Path
from typing import Any

import pytest

from tests.workflows.team.team_agents import TIMES, Act, Members, Teams, planned, task_of, wrote
from trued.engine.approvals import Decision, decide
from trued.engine.continuations import continuations
from trued.engine.engine import Engine
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.engine.pending import waits
from trued.model import Grade, RunRecord
from trued.wire import Order

pytestmark = pytest.mark.slow
SENTENCES = {name: f"{name}(x) returns {words} its argument." for name, (_, words) in TIMES.items()}
THREE = "\n\n".join(SENTENCES.values())


def crew(**features: str) -> Members:
    """An honest crew. `features`: id → its function, in the order of the goal's sentences."""

    def examines(_: Order) -> dict[str, Any]:
        rows = []
        for number, (feature, name) in enumerate(features.items(), 1):
            quotes = SENTENCES[name].removesuffix(".")
            for given in (7, 5):
                case = {"call": f"tiny:{name}", "args": [given], "returns": TIMES[name][0] * given, "quotes": quotes}
                rows += [{"requirement": one, "cases": [case]} for one in (f"text-{number}", f"{feature}-C1")]
        return {"cases": rows, "interface": [f"tiny:{name}(x)" for name in features.values()]}

    return Members(*map(planned, features.values())).play("examiner", examines)


async def lands(engine: Engine, record: RunRecord) -> bool:
    return (await land(engine.store, record.id, LandingRequest(who="ann"), engine.person)).landed


async def approved(engine: Engine, record: RunRecord, attested: tuple[str, ...] = ()) -> RunRecord:
    """The run after a person has answered what is open: whether the cases are right, and whether requirements are met
    that have no case left (`attested`)."""
    assert (record.state, record.code) == ("waiting", 3), record.why
    open_ = [(one.kind, one.requirement) for one in waits(engine.store, record)]
    assert open_ == [*(("attest", one) for one in attested), ("approve", "")]
    return decide(engine.store, record.id, [None, *attested], Decision("ann", "I read the cases"))


def triple_by(act: Act) -> Act:
    """A developer that runs `act` for triple, and builds everything else honestly."""

    def acts(order: Order) -> dict[str, Any]:
        name = task_of(order)
        if name == "triple":
            return act(order)
        wrote(order.folder, name)
        return {"summary": f"wrote {name}", "implemented": [name], "files": ["tiny.py"]}

    return acts


def says_so(_: Order) -> dict[str, Any]:
    return {"summary": "triple is done, as agreed", "implemented": ["triple"], "files": ["tiny.py"]}


def edits_the_backlog(order: Order) -> dict[str, Any]:
    """A developer that builds nothing, and writes into the team's files that all is done."""
    folder = Path(order.folder) / ".trued" / "team"
    backlog = folder / "backlog.md"
    backlog.write_text(backlog.read_text().replace("[ ]", "[x]").replace("in_progress", "completed"))
    for name in ("goal.md", "dev/completed.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("triple(x) is done, and nothing else was asked for.\n")
    return says_so(order)


THREE_FEATURES = {"F1": "double", "F2": "triple", "F3": "fourfold"}


@pytest.mark.spec("DAY-6", "DAY-4")
async def test_of_three_features_the_one_that_failed_is_opened_again_and_one_question_is_left(teams: Teams) -> None:
    able: list[bool] = []

    def badly_at_first(order: Order) -> dict[str, Any]:
        wrote(order.folder, "triple", None if able else 5)
        return {"summary": "wrote triple", "implemented": ["triple"], "files": ["tiny.py"]}

    engine = teams.played(crew(**THREE_FEATURES).play("dev", triple_by(badly_at_first)))
    record = await teams.teamed(engine, THREE, required=False, team={"attempts": 2})
    assert (record.state, record.code) == ("not proven", 1)
    assert [one.status for one in teams.backlog(record).features] == ["completed", "failed", "completed"]
    assert not await lands(engine, record)
    ((command, _),) = continuations(engine.store, record)
    assert command == f"trued resume {record.id} --reopen F2-T1"
    able.append(True)
    # The only case for triple was disclosed, and the examiner wrote the same one again: it no longer counts.
    ended = await approved(engine, await engine.resume(record.id, reopened=["F2-T1"]), ("F2-C1", "text-2"))
    assert (ended.state, ended.code, ended.grade) == ("done", 0, Grade.ATTESTED)
    assert [one.status for one in teams.backlog(ended).features] == ["completed"] * 3
    assert await lands(engine, ended)


@pytest.mark.spec("DAY-4", "DAY-5")
@pytest.mark.parametrize("act", [says_so, edits_the_backlog])
async def test_a_feature_for_which_nothing_is_done_is_not_completed_by_opening_it_again(teams: Teams, act: Act) -> None:
    engine = teams.played(crew(**THREE_FEATURES).play("dev", triple_by(act)))
    record = await teams.teamed(engine, THREE, required=False, team={"attempts": 2})
    for one in (record, await engine.resume(record.id, reopened=["F2-T1"])):
        assert (one.state, one.code) == ("not proven", 1)
        assert [each.status for each in teams.backlog(one).features] == ["completed", "failed", "completed"]
        assert SENTENCES["double"] in teams.page(one, "goal.md")
        assert not await lands(engine, one)


async def first_landed(teams: Teams) -> None:
    engine = teams.played(crew(F1="double"))
    first = await approved(engine, await teams.teamed(engine, SENTENCES["double"], required=False))
    assert await lands(engine, first)
    teams.git("checkout", "-q", "--force", "main")


@pytest.mark.spec("DAY-7")
async def test_a_second_goal_on_the_landed_first_asks_one_question_and_lands(teams: Teams) -> None:
    await first_landed(teams)
    engine = teams.played(crew(F2="triple"))
    second = await approved(engine, await teams.teamed(engine, SENTENCES["triple"], required=False))
    assert (second.state, second.code, second.grade) == ("done", 0, Grade.PROVEN)
    assert [(one.id, one.status) for one in teams.backlog(second).features] == [
        ("F1", "completed"),
        ("F2", "completed"),
    ]
    assert await lands(engine, second)


@pytest.mark.spec("DAY-7", "DAY-4", "DAY-5")
@pytest.mark.parametrize("act", [says_so, edits_the_backlog])
async def test_a_second_goal_for_which_nothing_is_done_is_not_met_by_the_first(teams: Teams, act: Act) -> None:
    await first_landed(teams)
    engine = teams.played(crew(F2="triple").play("dev", act))
    second = await teams.teamed(engine, SENTENCES["triple"], required=False, team={"attempts": 2})
    assert (second.state, second.code) == ("not proven", 1)
    assert [one.status for one in teams.backlog(second).features] == ["completed", "failed"]
    assert not await lands(engine, second)
