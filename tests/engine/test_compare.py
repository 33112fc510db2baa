"""One goal with several workflows or agents, from one commit: ordinary runs, one after the other or together."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import PASSED, Ground, Script
from tests.workflows.pipeline.pipeline_agents import GOAL, Line, honest
from tests.workflows.team.team_agents import Members, wrote
from tests.workflows.ticket.test_ticket import REQUIRED, TICKET
from trued.agents.adapters.scripted import ScriptedRuntime, ScriptFailed
from trued.engine.compare import Variant, begin_comparison, drive_comparison, prepare_variants
from trued.engine.comparisons import ComparedRun, Comparison, comparison_with, comparisons, find_comparison
from trued.engine.concurrent_runs import EndedRuns, worst_exit_code
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.errors import BadInput
from trued.model import Grade, RunRecord
from trued.reporting.html import write, write_comparison
from trued.reporting.views.comparison import comparison_data
from trued.wire import Order, Usage
from trued.workflows.registry import descriptor, descriptors

RIGHT, WRONG = "def double(x):\n    return x + x\n", "def double(x):\n    return 42\n"
BUILT = {"implemented": ["double"], "files": [{"path": "tiny.py", "what": "a function"}], "notes": []}
USED = Usage(
    tokens_in=1000, tokens_out=200, tokens_cached=50, peak=900, cost_usd=0.25, cost="reported", estimated=False
)


def pair(order: Order) -> Any:
    """Purple's first claim is false and refuted; solo's work stays wrong. Only team A reports its usage."""
    if order.role == "purple-team-b":
        return PASSED
    right = order.role == "purple-team-a" and "#2" in order.key
    (Path(order.folder) / "tiny.py").write_text(RIGHT if right else WRONG)
    return (BUILT, USED) if order.role == "purple-team-a" else BUILT


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        made = Ground(tmp_path, stack)
        made.one_chunk()
        yield made


def ways(ground: Ground, *workflows: str | None, required: bool = True, **more: Any) -> list[Variant]:
    request = partial(
        Request,
        goal=str(ground.repository / "PLAN.md"),
        repository=ground.repository,
        requirements=ground.requirements if required else None,
        flags={"yes": True, "agents": {"*": "scripted:inside"}},
    )
    return [Variant(request(**{"workflow": one, **more})) for one in workflows]


async def driven(
    engine: Engine, variants: Sequence[Variant], *, together: bool = False
) -> tuple[Comparison, EndedRuns]:
    made = begin_comparison(engine, prepare_variants(engine, variants), together=together)
    return made, await drive_comparison(engine, made, engine.resume)


@dataclass(frozen=True)
class Finished:
    ground: Ground
    engine: Engine
    comparison: Comparison
    ended: EndedRuns
    turns: tuple[str, ...]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """Finished runs of purple and solo on one plan, shared by several tests."""
    with ExitStack() as stack:
        ground = Ground(tmp_path_factory.mktemp("compared"), stack)
        ground.one_chunk()
        engine, _ = ground.engine(pair)
        made, turns = begin_comparison(engine, prepare_variants(engine, ways(ground, "purple", "solo"))), list[str]()
        ended = asyncio.run(drive_comparison(engine, made, engine.resume, lambda record: turns.append(record.id)))
        yield Finished(ground, engine, made, ended, tuple(turns))


@pytest.mark.slow
@pytest.mark.spec("USE-8", "PUR-12")
def test_each_way_is_a_run_of_its_own_from_the_same_commit(finished: Finished) -> None:
    records = [one for one in finished.ended if isinstance(one, RunRecord)]
    assert [(one.workflow, one.state, one.grade) for one in records] == [
        ("purple", "done", Grade.PROVEN),
        ("solo", "not proven", Grade.REFUTED),
    ]
    assert {one.base for one in records} == {finished.ground.git("rev-parse", "main")}
    assert [one.branch for one in records] == [f"trued/{one.id}" for one in records]
    assert all(finished.ground.git("rev-parse", one.branch) == one.head for one in records)
    assert finished.turns == tuple(one.id for one in records)
    assert {one.id for one in finished.engine.store.journal.runs()} == {one.run for one in finished.comparison.runs}


@pytest.mark.spec("USE-8", "USE-3")
def test_all_together_end_with_the_worst_of_their_codes(finished: Finished) -> None:
    assert worst_exit_code(finished.ended) == 1


@pytest.mark.spec("USE-8", "PUR-12", "TIC-10")
def test_the_table_has_the_same_figures_of_each_out_of_the_journal(finished: Finished) -> None:
    found = comparison_data(finished.engine.store, finished.comparison)
    purple, solo = found["runs"]
    assert [one["name"] for one in found["runs"]] == ["purple", "solo"]
    assert (purple["grade"], purple["proven"], purple["requirements"]) == ("proven", 1, 1)
    assert (solo["grade"], solo["proven"], solo["requirements"]) == ("refuted", 0, 1)
    assert (purple["rounds"], solo["rounds"]) == (2, 2)
    assert (purple["gaps"], solo["gaps"]) == ({"found": 1, "left": 0}, {"found": 1, "left": 1})
    assert (purple["calls"], solo["calls"]) == (4, 2)
    assert (purple["cost_usd"], purple["cost"], purple["cost_untold"]) == (0.5, "reported", 2)
    assert purple["tokens"]["in"] >= 2000
    assert purple["tokens"]["estimated"]  # team B's usage is not reported
    assert purple["peak"]["roles"]["purple-team-a"] == 900
    assert purple["peak"]["tokens"] == max(purple["peak"]["roles"].values())
    assert all(one["time_s"] > 0 for one in found["runs"])
    assert found["requirements"] == [{"id": "double", "grades": ["proven", "refuted"]}]


@pytest.mark.spec("USE-8", "LAW-11")
def test_it_says_on_what_the_figures_rest(finished: Finished) -> None:
    found = comparison_data(finished.engine.store, finished.comparison)
    assert (found["same_goal"], found["same_base"], found["same_contract"], found["side_by_side"]) == (
        *(True, True, True),
        False,
    )
    assert "one contract for all" in found["notes"]
    assert "they ran one after the other and did not compete for the machine" in found["notes"]
    assert any(one.startswith("the base's results were already known when solo began") for one in found["notes"])
    assert "rounds: purple: calls of team A, all chunks; solo: calls of the one agent" in found["notes"]


@pytest.mark.spec("USE-8")
def test_a_comparison_is_found_again_by_its_name_or_by_one_of_its_runs(finished: Finished) -> None:
    engine, made = finished.engine, finished.comparison
    folder, gone = (
        engine.store.home / "comparisons",
        made.model_copy(update={"id": "c-gone", "runs": (ComparedRun(name="a", run="r-gone"),)}),
    )
    (folder / "c-broken.json").write_text("{")
    (folder / "c-gone.json").write_text(gone.model_dump_json())
    assert comparisons(engine.store) == [made]
    assert find_comparison(engine.store, made.id[:4]) == find_comparison(engine.store, made.id) == made
    assert find_comparison(engine.store, "") is None
    assert comparison_with(engine.store, made.runs[1].run) == made
    assert comparison_with(engine.store, "r-other") is None


@pytest.mark.spec("USE-8")
def test_a_second_go_does_nothing_where_all_is_over(finished: Finished) -> None:
    before = [len(finished.engine.store.journal.events(one.run)) for one in finished.comparison.runs]
    ended = asyncio.run(drive_comparison(finished.engine, finished.comparison, finished.engine.resume))
    assert [one.code for one in ended] == [0, 1]
    assert [len(finished.engine.store.journal.events(one.run)) for one in finished.comparison.runs] == before


@pytest.mark.spec("USE-8", "USE-6")
def test_the_report_of_a_run_shows_the_table_and_so_does_a_page_of_its_own(finished: Finished, tmp_path: Path) -> None:
    engine, made = finished.engine, finished.comparison
    report = write(engine.store, made.runs[0].run, tmp_path / "run.html").read_text()
    assert "Compared with other runs" in report
    assert made.runs[1].run in report
    found = comparison_data(engine.store, made)
    hostile = {**found, "title": "<script>alert(1)</script>\x1b[2J", "notes": ["<b>bold</b>"]}
    hostile["runs"] = [{**one, "name": "<img src=x>"} for one in found["runs"]]
    page = write_comparison(hostile, tmp_path / "compared.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in page
    assert "&lt;b&gt;bold" in page
    assert page.count("Requirement by requirement") == 1


BAD: dict[str, tuple[list[str | None], dict[str, Any], str]] = {
    "one way": (["purple"], {}, "a comparison needs at least two variants"),
    "the same way twice": (["solo", "solo"], {}, "two variants are the same: solo with the same agents"),
    "an unknown workflow": (["purple", "violet"], {}, "there is no workflow 'violet'"),
    "no such file": (["purple", "solo"], {"goal": "gone.md"}, "there is no file gone.md"),
    "requirements that are not there": (["purple", "solo"], {"requirements": Path("gone.yaml")}, "gone.yaml"),
    "a limit that is none": (["purple", "solo"], {"flags": {"limits": ["usd=much"]}}, "much"),
}


@pytest.mark.spec("USE-7", "USE-8")
@pytest.mark.parametrize(("workflows", "more", "words"), BAD.values(), ids=BAD.keys())
def test_either_all_begin_or_none(
    ground: Ground, workflows: list[str | None], more: dict[str, Any], words: str
) -> None:
    engine, runtime = ground.engine(pair)
    with pytest.raises(BadInput, match=words):
        prepare_variants(engine, ways(ground, *workflows, **more))
    assert engine.store.journal.runs() == []
    assert comparisons(engine.store) == []
    assert runtime.orders == []


@pytest.mark.spec("USE-8", "RUN-9")
@pytest.mark.slow
async def test_together_they_go_side_by_side_and_the_table_says_so(ground: Ground) -> None:
    both = asyncio.Barrier(2)

    async def script(order: Order) -> dict[str, Any]:
        if order.key.endswith("#1") and order.role != "purple-team-b":
            await asyncio.wait_for(both.wait(), 600)  # no run ends before the other has begun
        (Path(order.folder) / "tiny.py").write_text(RIGHT)
        return PASSED if order.role == "purple-team-b" else BUILT

    engine, _ = ground.engine(script)  # type: ignore[arg-type]
    made, ended = await driven(engine, ways(ground, "purple", "solo"), together=True)
    assert [one.code for one in ended] == [0, 0]
    found = comparison_data(engine.store, made)
    assert found["side_by_side"]
    assert any("side by side" in one for one in found["notes"])


def failing(role: str) -> Script:
    def script(order: Order) -> dict[str, Any]:
        if order.role == role:
            raise ScriptFailed("no more money")
        (Path(order.folder) / "tiny.py").write_text(RIGHT)
        return PASSED if order.role == "purple-team-b" else BUILT

    return script


@pytest.mark.spec("USE-8", "USE-3")
async def test_one_that_fails_leaves_the_others_alone(ground: Ground) -> None:
    engine, _ = ground.engine(failing("purple-team-a"))
    made, ended = await driven(engine, ways(ground, "purple", "solo"))
    assert [one.code for one in ended] == [5, 0]
    assert worst_exit_code(ended) == 5
    found = comparison_data(engine.store, made)
    assert [one["state"] for one in found["runs"]] == ["failed", "done"]
    assert any(one.startswith("not finished: ") and "is failed" in one for one in found["notes"])


@pytest.mark.slow
@pytest.mark.spec("USE-8", "RUN-2")
async def test_an_interrupt_leaves_the_next_one_where_it_is_and_all_go_on_later(ground: Ground) -> None:
    at_work = asyncio.Event()

    async def stuck(order: Order) -> dict[str, Any]:
        at_work.set()
        await asyncio.sleep(600)
        return {}

    engine, _ = ground.engine(stuck)  # type: ignore[arg-type]
    made = begin_comparison(engine, prepare_variants(engine, ways(ground, "solo", "purple")))
    task = asyncio.create_task(drive_comparison(engine, made, engine.resume))
    await asyncio.wait_for(at_work.wait(), 600)
    task.cancel()
    ended = await asyncio.wait_for(task, 600)
    assert [one.code for one in ended] == [130]
    assert [one["state"] for one in comparison_data(engine.store, made)["runs"]] == ["interrupted", "interrupted"]
    again, runtime = ground.engine(failing("nobody"))
    (found,) = comparisons(again.store)
    later = await drive_comparison(again, found, again.resume)
    assert [(one.workflow, one.code) for one in later if isinstance(one, RunRecord)] == [("solo", 0), ("purple", 0)]
    assert [order.role for order in runtime.orders] == ["solo", "purple-team-a", "purple-team-b"]


class Everybody(ScriptedRuntime):
    """Honest agents for each workflow."""

    def __init__(self) -> None:
        super().__init__(self._played)
        self._team = Members()

    def _played(self, order: Order) -> Any:
        if order.role == "solo":
            for name in ("double", "triple"):
                wrote(order.folder, name)
            return BUILT
        return self._team._played(order) if order.role in descriptor("team").roles else honest(order)


@pytest.mark.spec("USE-8", "LAW-11")
@pytest.mark.slow
async def test_pipeline_team_and_solo_are_compared_by_what_all_of_them_were_asked(tmp_path: Path) -> None:
    with ExitStack() as stack:
        line = Line(tmp_path, stack)
        engine = line.played(Everybody())
        made, ended = await driven(engine, ways(line, "pipeline", "team", "solo", goal=GOAL))
        found = comparison_data(engine.store, made)
    assert [one.code for one in ended] == [0, 0, 0], [one.why for one in ended if isinstance(one, RunRecord)]
    pipeline, team, solo = found["runs"]
    assert (pipeline["rounds"], team["rounds"], solo["rounds"]) == (1, 2, 1)
    assert found["asked_alike"] == ["both"]
    assert [one["asked_alike"] for one in found["runs"]] == [{"proven": 1, "requirements": 1}] * 3
    assert pipeline["calls"] > team["calls"] > solo["calls"] == 1
    assert set(team["peak"]["roles"]) >= {"pm", "techlead", "dev", "qa", "uat"}


@pytest.mark.spec("USE-8", "TIC-3")
async def test_a_ticket_that_is_compared_stays_off_its_branch_and_off_every_forge(ground: Ground) -> None:
    ground.require([REQUIRED])
    (ground.folder / "NUM-7.md").write_text(TICKET)
    flags = [{"yes": True, "agents": {"*": f"scripted:{name}"}} for name in ("one", "other")]
    ticket = str(ground.folder / "NUM-7.md")
    both = [ways(ground, None, goal=ticket, flags=each)[0] for each in flags]
    both = [replace(one, by=name) for one, name in zip(both, ("one", "other"), strict=True)]
    engine, _ = ground.engine(pair)
    made = begin_comparison(engine, prepare_variants(engine, both))
    assert [one.name for one in made.runs] == ["ticket one", "ticket other"]
    for one in made.runs:
        assert engine.store.journal.run(one.run).branch == f"trued/{one.run}"
        assert engine.store.inputs(one.run).settings.forge.kind == "local"
    inputs, _repository = await engine.ready(both[0].request)  # an ordinary run ignores the comparison's runs
    assert (inputs.branch, inputs.start) == ("fix/NUM-7-numbers-are-not-doubled", "")


def test_two_of_one_name_are_told_apart(ground: Ground) -> None:
    both = [
        Variant(ways(ground, "solo", flags={"agents": {"*": f"scripted:{name}"}})[0].request, by="agent.py")
        for name in ("a", "b")
    ]
    engine, _ = ground.engine(pair)
    assert [one.name for one in prepare_variants(engine, both)] == ["solo agent.py", "solo agent.py (2)"]


@pytest.mark.spec("USE-8")
def test_it_is_said_of_every_workflow_what_a_round_is() -> None:
    assert all(one.rounds and one.rounds.meaning for one in descriptors())
