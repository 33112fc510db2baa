"""History of runs: whose *done* was false, and what it cost, by agent, role, workflow and week."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reporting.html.sample import history as verdicts_of
from tests.reporting.html.sample import material
from trued.engine.journals.sqlite import SqliteJournal
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import Approval, Grade, Judged, Requirement, RunRecord, Source, Verdict
from trued.model.events.call import CallAnswered, TokenCount
from trued.model.events.proof import GradedRequirement, VerdictReached
from trued.reporting.html.calls import calls
from trued.reporting.views.history import choices, history
from trued.reporting.views.stats import HistoryFilter, add_up, since
from trued.wire import Amount, Spend

DAY = 86400.0
BEGAN = 1_794_744_000.0


class Clock:
    now = BEGAN


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[RunStore]:
    with RunStore(tmp_path / "state", {}) as one:
        one.journal.close()
        one.journal = SqliteJournal(tmp_path / "state" / "journal.db", lambda: clock.now)
        yield one


def add(store: RunStore, name: str, workflow: str = "purple", repository: str = "/shop") -> RunRecord:
    one = RunRecord(id=name, workflow=workflow, title=name, repository=repository, base="b", branch=name, state="done")
    store.journal.add(one)
    return one


def answer(
    store: RunStore,
    clock: Clock,
    run: RunRecord,
    key: str,
    agent: str,
    reply: dict[str, Any],
    tokens: TokenCount = TokenCount(),  # noqa: B008  (frozen)
) -> None:
    clock.now += 1
    role = key.rpartition("/")[2].partition("#")[0]
    fields: dict[str, Any] = dict.fromkeys(("kind", "why", "commit", "cost"), "")
    numbers = dict.fromkeys(("attempts", "asks", "reaped", "requests", "compactions"), 1)
    more = {"state": "done", "resumed": False, "changed": (), "tokens": tokens, "cost_usd": 0.5}
    times = {"began": clock.now - 1, "ended": clock.now}
    event = CallAnswered.model_validate(
        {"role": role, "agent": agent, "reply": reply, **fields, **numbers, **more, **times}
    )
    writer = store.journal.of(run.id)
    writer.emit(event, key)
    amount = Amount(usd=0.5, tokens=1000, seconds=60.0)
    spend = Spend(key, 1, key, "", role, agent, "done", Amount(), amount, "reported", clock.now)
    writer.spend(lambda rows: spend)


def judge(store: RunStore, clock: Clock, run: RunRecord, key: str, **grades: str) -> None:
    clock.now += 1
    rows = tuple(GradedRequirement.model_validate({"id": name, "grade": grade}) for name, grade in grades.items())
    verdict = VerdictReached(subject="s", commit="c", grade="", holds=False, requirements=rows)
    store.journal.of(run.id).emit(verdict, key)


DONE = {"status": "DONE", "summary": "all of it works"}


def shop(store: RunStore, clock: Clock) -> None:
    """A liar (codex) who says done three times and is right once; a reviewer (claude) who believes it once, and once
    names a gap; advice, questions and failures that claim nothing."""
    run = add(store, "r-1")
    answer(store, clock, run, "chunk 1/purple-team-a#1", "codex", DONE)
    answer(store, clock, run, "chunk 1/purple-team-b#1", "claude", {"status": "DONE", "result": "PASS"})
    judge(store, clock, run, "chunk 1/prove#1", R1="refuted")
    answer(store, clock, run, "chunk 1/purple-team-a#2", "codex", DONE)
    answer(store, clock, run, "chunk 1/purple-team-b#2", "claude", {"status": "DONE", "result": "GAPS_REMAIN"})
    judge(store, clock, run, "chunk 1/prove#2", R1="refuted")
    answer(store, clock, run, "chunk 1/purple-team-a#3", "codex", DONE)
    judge(store, clock, run, "chunk 2/prove#1", R2="refuted")  # another part: it does not refute this claim
    judge(store, clock, run, "chunk 1/prove#3", R1="proven")
    judge(store, clock, run, "finish#1", R1="proven", R2="refuted")
    clock.now += 30 * DAY
    team = add(store, "r-2", "team", "/office")
    answer(store, clock, team, "feature F1/techlead#1", "claude", DONE)
    answer(store, clock, team, "feature F1/dev#1", "codex", {**DONE, "asks": {"to": "techlead"}})
    answer(store, clock, team, "feature F1/uat#1", "claude", {"passed": False})
    answer(store, clock, team, "feature F1/uat#2", "claude", {"passed": True})
    judge(store, clock, team, "feature F1/prove#1", F1="examined")


@pytest.mark.spec("PAGE-10", "AGT-6")
def test_a_sum_of_tokens_says_whether_some_of_them_are_estimated(store: RunStore, clock: Clock) -> None:
    run = add(store, "r-1")
    answer(store, clock, run, "chunk 1/purple-team-a#1", "codex", DONE)
    answer(store, clock, run, "chunk 1/purple-team-b#1", "claude", DONE, TokenCount(tokens_in=9, estimated=False))
    found = add_up(history(store, HistoryFilter()))
    assert {one.name: one.has_estimated_tokens for one in found.agents} == {"codex": True, "claude": False}
    assert found.total.has_estimated_tokens
    of_claude = add_up(history(store, HistoryFilter(agent="claude")))
    assert not of_claude.total.has_estimated_tokens
    assert of_claude.runs[0].data["has_estimated_tokens"] is False


@pytest.mark.spec("PAGE-10")
def test_a_done_is_false_if_the_next_check_of_the_same_part_failed(store: RunStore, clock: Clock) -> None:
    shop(store, clock)
    found = add_up(history(store, HistoryFilter()))
    assert {one.name: (one.fell, one.claims) for one in found.agents} == {"codex": (2, 3), "claude": (1, 2)}
    assert {one.name: (one.fell, one.claims) for one in found.workflows} == {"purple": (3, 4), "team": (0, 1)}
    assert {one.name: (one.fell, one.claims) for one in found.roles if one.claims} == {
        "purple-team-a": (2, 3),
        "purple-team-b": (1, 1),
        "uat": (0, 1),
    }
    assert [(one.fell, one.claims) for one in found.weeks] == [(0, 1), (3, 4)]
    assert [len(found.agent_weeks[name]) for name in ("codex", "claude")] == [2, 2]
    assert (found.total.met, found.total.requirements, found.total.usd) == (1, 3, 4.5)
    assert found.total.seconds == 540


@pytest.mark.spec("PAGE-10")
@pytest.mark.parametrize(
    ("wanted", "runs", "claims"),
    [
        ({}, ["r-2", "r-1"], 5),
        ({"repository": "/shop"}, ["r-1"], 4),
        ({"workflow": "team"}, ["r-2"], 1),
        ({"agent": "codex"}, ["r-2", "r-1"], 3),
        ({"agent": "claude", "role": "uat"}, ["r-2"], 1),
        ({"role": "nobody"}, [], 0),
        ({"since": BEGAN + DAY}, ["r-2"], 1),
        ({"since": BEGAN + DAY, "workflow": "purple"}, [], 0),
    ],
)
def test_filters_choose_runs_and_parts_of_them(
    store: RunStore, clock: Clock, wanted: dict[str, Any], runs: list[str], claims: int
) -> None:
    shop(store, clock)
    found = add_up(history(store, HistoryFilter(**wanted)))
    assert ([one.record.id for one in found.runs], found.total.claims) == (runs, claims)


async def test_an_approval_counts_as_in_the_ledger(store: RunStore, clock: Clock) -> None:
    run, one = add(store, "r-1"), Requirement(id="look", text="It looks right", source=Source(file="p", line=1))
    judged = Judged(id="look", text=one.text, source="p:1", grade=Grade.UNPROVEN, why=(), holds=True, lacks="attest")
    verdict = Verdict(subject="s", commit="c", requirements=(judged,))

    async def reached() -> str:
        return verdict.model_dump_json()

    await store.journal.of("r-1").once("finish#1", "", reached)
    judge(store, clock, run, "finish#1", look="unproven")
    assert [(each.met, each.requirements) for each in history(store, HistoryFilter())] == [(0, 1)]
    store.journal.approve("r-1", Approval(requirement="look", who="ann", why="seen", commit="c"))
    ledger = store.verdict("r-1")
    assert ledger is not None
    met = sum(each.grade.is_met(Grade.ATTESTED) for each in ledger.requirements)
    assert [(each.met, each.requirements) for each in history(store, HistoryFilter())] == [(met, 1)]
    assert met == 1


@pytest.mark.spec("PAGE-10")
def test_history_and_the_report_agree_on_which_claims_fell(store: RunStore, clock: Clock) -> None:
    one = material()
    run = add(store, "r-demo")
    for event in one.events:
        if event.kind == "answered":
            clock.now = event.data["ended"] - 1
            answer(store, clock, run, event.key, event.data["agent"], event.data["reply"])
    for proved in verdicts_of():
        clock.now = proved.at - 1
        grades = {each.id: str(each.grade) for each in proved.verdict.requirements}
        judge(store, clock, run, proved.key, **grades)
    (found,) = history(store, HistoryFilter())
    assert {each.key for each in found.claims if each.fell} == {each.key for each in calls(one) if each.refuted}
    assert {each.key for each in found.claims} == {each.key for each in calls(one) if each.claims_done}


@pytest.mark.spec("PAGE-10", "USE-9")
def test_json_has_the_same_numbers_run_by_run(store: RunStore, clock: Clock) -> None:
    shop(store, clock)
    data = json.loads(json.dumps(add_up(history(store, HistoryFilter())).data))
    assert {one["name"]: one["false_share"] for one in data["agents"]} == {"codex": 0.6667, "claude": 0.5}
    assert [(one["run"], one["fell"], one["claims"]) for one in data["runs"]] == [("r-2", 0, 1), ("r-1", 3, 4)]
    assert sum(one["usd"] for one in data["runs"]) == data["total"]["usd"]
    assert set(data["agent_weeks"]) == {"codex", "claude"}
    assert choices(store)["repository"] == ["/office", "/shop"]
    assert choices(store)["agent"] == ["claude", "codex"]


@pytest.mark.parametrize(("text", "moment"), [("", 0.0), ("30d", BEGAN - 30 * DAY), ("2w", BEGAN - 14 * DAY)])
def test_a_time_is_a_length_or_a_day(text: str, moment: float) -> None:
    assert since(text, BEGAN) == moment
    assert since("2026-11-01", BEGAN) > 0


@pytest.mark.parametrize("text", ["soon", "30", "d", "2026-13-01", "99999d", "-3d"])
def test_what_is_no_time_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(BadInput, match="is not a time"):
        since(text, BEGAN)
