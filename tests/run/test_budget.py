"""What a call may use: which limits apply, what past calls teach, and what is charged if the usage is unknown."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trued.engine.journals.sqlite import MIGRATIONS, SqliteJournal
from trued.errors import LimitReached
from trued.inputs.settings.limits import parse_limits
from trued.model import Limit, Rate, RunLimits, RunRecord, Settings
from trued.run.budget import AttemptRequest, Budget, QuotaWindow, command_for_more, reason_of_limit
from trued.wire import Amount, Price, Report, Usage

RUN = "r-one"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    with closing(SqliteJournal(tmp_path / "journal.db")) as opened:
        opened.add(RunRecord(id=RUN, workflow="purple", title="t", repository="/r", base="b" * 40, branch="trued/r"))
        yield opened


def budget(journal: SqliteJournal, source: str = "a table", **limits: Any) -> Budget:
    settings = Settings(limits=RunLimits.model_validate(limits))
    return Budget(journal.of(RUN), settings, RUN, lambda agent, model: Price(3.0, 15.0, 0.3, source))


def wanted(key: str, attempt: int = 1, role: str = "team-a") -> AttemptRequest:
    return AttemptRequest(key, attempt, key, role, "claude")


async def called(house: Budget, key: str, usage: Usage, *, attempt: int = 1, **more: Any) -> tuple[Amount, Report]:
    now, role = time.time(), more.pop("role", "team-a")
    began = now - more.pop("seconds", 1.0)
    async with house.reserve(wanted(key, attempt, role)) as reserved:
        report = Report(key, attempt, more.pop("state", "done"), usage=usage, began=began, ended=now, **more)
        return reserved.allowance, reserved.settle(report)


def paid(usd: float, tokens: int = 0) -> Usage:
    return Usage(cost_usd=usd, cost="reported", tokens_in=tokens)


@pytest.mark.spec("PAGE-4", "RUN-6")
async def test_a_call_that_waits_for_room_starts_when_a_person_raises_the_limit(journal: SqliteJournal) -> None:
    house = budget(journal, usd=1.0, call_usd=1.0)
    async with asyncio.timeout(60), house.reserve(wanted("chunk 1/team-a#1")) as first:
        assert first.allowance.usd == 1.0
        waiting = asyncio.ensure_future(called(house, "chunk 2/team-a#1", paid(0.5)))
        await asyncio.sleep(0)
        assert not waiting.done()
        with closing(SqliteJournal(journal.path)) as person:
            person.change_limit(RUN, "", "usd", 3.0, "ann")
        allowance, _ = await waiting  # the first call is still running
        assert allowance.usd == 1.0


@pytest.mark.spec("RUN-6")
@pytest.mark.parametrize(
    ("limits", "calls", "said", "more"),
    [
        ({"usd": 2.0}, 2, "the run has used up its usd: $2.00 of $2.00 spent", "usd=4"),
        ({"calls": 3}, 3, "the run has used up its calls: 3 of 3 spent", "calls=6"),
        ({"tokens": 2000}, 2, "2,000 tokens of 2,000 tokens spent", "tokens=4000"),
        ({"time": 1200.0}, 2, "its time: 20 min of 20 min spent", "time=40m"),
        ({"task": {"usd": 1.0}}, 1, "chunk 1 has used up its usd", "task:usd=2"),
        ({"roles": {"team-a": {"calls": 1}}}, 1, "the role team-a has used up its calls", "team-a:calls=2"),
    ],
)
async def test_a_limit_stops_before_the_call_that_would_break_it_and_says_how_to_go_on(
    journal: SqliteJournal, limits: dict[str, Any], calls: int, said: str, more: str
) -> None:
    house = budget(journal, **limits)
    for number in range(calls):
        await called(house, f"chunk 1/team-a#{number}", paid(1.0, 1000), seconds=600)
    with pytest.raises(LimitReached) as end:
        await called(house, "chunk 1/team-a#9", paid(1.0))
    assert said in str(end.value)
    assert str(end.value).endswith(f"continue with more: trued resume {RUN} --limit {more}")
    assert len(journal.spends(RUN)) == calls


@pytest.mark.spec("RUN-6")
@pytest.mark.parametrize(("limit", "spent", "enough"), [(0.01, 5.0, 10.0), (0.001, 0.001, 0.002)])
async def test_what_it_says_to_go_on_with_is_more_than_was_spent(
    journal: SqliteJournal, limit: float, spent: float, enough: float
) -> None:
    house = budget(journal, usd=limit)
    await called(house, "a#1", paid(spent))
    with pytest.raises(LimitReached) as end:
        await called(house, "a#2", paid(1.0))
    ((_, _, number),) = parse_limits([str(end.value).rpartition("--limit ")[2]])
    assert number == enough


@pytest.mark.spec("RUN-6")
async def test_another_task_and_another_role_have_limits_of_their_own(journal: SqliteJournal) -> None:
    house = budget(journal, task=Limit(usd=1.0), roles={"team-b": Limit(calls=1)})
    await called(house, "chunk 1/team-a#1", paid(1.0))
    await called(house, "chunk 2/team-a#1", paid(1.0))
    await called(house, "planner#1", paid(5.0))  # belongs to no task: counts for the run alone
    await called(house, "chunk 3/team-b#1", paid(0.1), role="team-b")
    with pytest.raises(LimitReached, match="team-b"):
        await called(house, "chunk 4/team-b#1", paid(0.1), role="team-b")


@pytest.mark.spec("RUN-6")
async def test_a_features_limit_counts_all_of_its_tasks_and_no_other_feature(journal: SqliteJournal) -> None:
    house = budget(journal, feature=Limit(calls=3), task=Limit(calls=2))
    for key in ("feature F1/lead#1", "feature F1/task F1-T1/dev#1", "feature F1/task F1-T2/dev#1"):
        await called(house, key, paid(0.1))
    await called(house, "feature F2/task F2-T1/dev#1", paid(0.1))
    await called(house, "chunk 1/dev#1", paid(0.1))  # belongs to no feature
    with pytest.raises(LimitReached) as end:
        await called(house, "feature F1/task F1-T1/qa#1", paid(0.1))
    assert "feature F1 has used up its calls: 3 of 3 spent" in str(end.value)
    assert str(end.value).endswith("--limit feature:calls=6")


@pytest.mark.spec("RUN-6")
async def test_a_call_has_what_is_stated_then_what_such_calls_took_and_never_more_than_is_left(
    journal: SqliteJournal,
) -> None:
    house = budget(journal, usd=5.0, call_usd=2.0)
    assert (await called(house, "a#1", paid(0.2)))[0].usd == 2.0
    await called(house, "a#2", paid(0.3))
    await called(house, "a#3", paid(0.2))
    assert (await called(house, "a#4", paid(3.8)))[0].usd == pytest.approx(3 * 0.2)
    assert (await called(house, "a#5", paid(0.1)))[0].usd == pytest.approx(5.0 - 0.7 - 3.8)


@pytest.mark.spec("RUN-6", "RUN-2")
async def test_a_call_asked_for_again_after_a_crash_has_what_it_had_and_is_paid_once(journal: SqliteJournal) -> None:
    first = budget(journal, usd=5.0)
    async with first.reserve(wanted("a#1")) as before:
        pass  # the engine died; the agent's supervisor continued
    report = Report("a#1", 1, "done", usage=paid(0.5), began=1.0, ended=2.0)
    for _ in range(2):  # the report is found in the spool twice
        async with budget(journal, usd=5.0).reserve(wanted("a#1")) as again:
            assert again.allowance == before.allowance
            again.settle(report)
    (row,) = journal.spends(RUN)
    assert (row.state, row.spent.usd, row.charge.usd) == ("done", 0.5, 0.5)


@pytest.mark.spec("RUN-6", "RUN-2")
async def test_a_report_found_again_after_the_clock_was_set_back_is_paid_once(tmp_path: Path) -> None:
    now = time.time()
    with closing(SqliteJournal(tmp_path / "journal.db", clock=lambda: now - 3600)) as journal:
        for _ in range(2):
            async with budget(journal, usd=5.0).reserve(wanted("a#1")) as reserved:
                reserved.settle(Report("a#1", 1, "done", usage=paid(0.5), began=now - 1, ended=now))
        (row,) = journal.spends(RUN)
    assert row.spent.usd == 0.5


@pytest.mark.spec("RUN-6")
async def test_an_attempt_that_died_is_paid_and_the_next_one_reserves_again(journal: SqliteJournal) -> None:
    house = budget(journal, usd=5.0)
    await called(house, "a#1", paid(1.5), state="died")
    assert (await called(house, "a#1", paid(1.0), attempt=2))[0].usd == 2.0
    assert [(row.attempt, row.state, row.spent.usd) for row in journal.spends(RUN)] == [
        (1, "died", 1.5),
        (2, "done", 1.0),
    ]


@pytest.mark.spec("RUN-6", "AGT-6")
async def test_what_is_not_told_is_charged_as_reserved_and_a_refusal_is_not_charged(journal: SqliteJournal) -> None:
    house = budget(journal, usd=9.0)
    _, died = await called(house, "a#1", Usage(), state="failed", kind="crashed")
    _, refused = await called(house, "a#2", Usage(), state="failed", kind="rate")
    assert (died.usage.cost_usd, died.usage.cost) == (2.0, "ceiling")
    assert refused.usage == Usage()
    assert [row.spent.usd for row in journal.spends(RUN)] == [2.0, 0.0]


@pytest.mark.spec("AGT-6", "RUN-6")
async def test_tokens_are_priced_by_the_table_or_marked_as_at_the_ceiling(journal: SqliteJournal) -> None:
    told = Usage(tokens_in=1_000_000, tokens_cached=500_000, tokens_out=100_000, estimated=False)
    _, known = await called(budget(journal), "a#1", told)
    _, unknown = await called(budget(journal, source="ceiling"), "a#2", told)
    assert known.usage.cost_usd == pytest.approx(0.5 * 3 + 0.5 * 0.3 + 1.5)
    assert known.usage.cost == "computed"
    assert unknown.usage.cost == "ceiling"
    assert [row.cost for row in journal.spends(RUN)] == ["computed", "ceiling"]


@pytest.mark.spec("RUN-6")
async def test_a_call_whose_time_is_used_up_is_no_failure_but_asks_for_more(journal: SqliteJournal) -> None:
    house = budget(journal, time=60.0)
    async with house.reserve(wanted("a#1")) as reserved:
        assert reserved.wall_s(3600.0) == 60.0
        report = reserved.settle(Report("a#1", 1, "failed", kind="wall", usage=paid(0.1), began=1.0, ended=61.0))
    assert report.kind == "budget"
    assert house.has_used_up("a#1")
    with pytest.raises(LimitReached, match="time"):
        await called(house, "a#1.w1", paid(0.1))


@pytest.mark.spec("RUN-6")
@pytest.mark.parametrize(
    ("limits", "usage", "seconds", "used_up"),
    [
        ({"usd": 2.0}, paid(2.0), 1.0, True),
        ({"usd": 2.0}, paid(1.99997), 1.0, True),  # an agent may round what it was given
        ({"usd": 2.0}, paid(0.5), 1.0, False),
        ({"tokens": 1000}, paid(0.5, 1001), 1.0, True),
        ({"tokens": 1000}, paid(9.0, 10), 1.0, False),
        ({"time": 600.0}, paid(9.0, 9000), 30.0, False),
        ({"usd": 2.0, "tokens": 1000}, paid(0.5, 1001), 1.0, True),
    ],
)
async def test_a_call_that_ends_below_its_reservation_has_used_up_a_budget_of_the_agents_own(
    journal: SqliteJournal, limits: dict[str, Any], usage: Usage, seconds: float, *, used_up: bool
) -> None:
    house = budget(journal, call_usd=2.0, call_tokens=1000, **limits)
    await called(house, "a#1", usage, state="failed", kind="budget", seconds=seconds)
    assert house.has_used_up("a#1") is used_up


@pytest.mark.spec("RUN-6")
async def test_a_call_that_had_no_limit_of_ours_cannot_ask_for_more(journal: SqliteJournal) -> None:
    house = budget(journal)
    await called(house, "a#1", paid(0.1), state="failed", kind="budget")
    assert not house.has_used_up("a#1")


@pytest.mark.spec("RUN-6")
def test_a_journal_of_the_first_version_learns_to_reserve(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as old:
        old.executescript(MIGRATIONS[0] + "pragma user_version=1;")
        old.execute("insert into event (run, at, key, kind, data) values ('r-old', 1.0, '', 'ended', '{}')")
        old.commit()
    with closing(SqliteJournal(path)) as journal:
        assert [one.kind for one in journal.events("r-old")] == ["ended"]
        assert journal.spends("r-old") == []
        journal.change_limit("r-old", "task", "usd", 3.0, "ann")
    with closing(SqliteJournal(path)) as again:
        assert again.limit_changes("r-old") == [("task", "usd", 3.0)]


def test_a_rate_is_what_a_million_tokens_cost() -> None:
    assert RunLimits().ceiling == Rate(usd_in=15.0, usd_out=75.0, usd_cached=15.0)  # docs/guide/limits.md states it


@pytest.mark.spec("RUN-6")
async def test_a_subscriptions_window_that_is_nearly_used_up_lets_nobody_begin(journal: SqliteJournal) -> None:
    house = budget(journal, quota=90)
    later = time.time() + 3600
    await called(house, "a#1", paid(0.1), quota={"window": "five_hour", "used": 89.0, "until": later})
    await called(house, "a#2", paid(0.1), quota={"window": "five_hour", "used": 93.0, "until": later})
    with pytest.raises(LimitReached, match=r"claude: 93 % of its five-hour window is used, and the limit is 90 %"):
        await called(house, "a#3", paid(0.1))
    await called(budget(journal), "a#3", paid(0.1))  # without that limit, only the provider refuses
    house.set_windows({"claude": QuotaWindow("five_hour", 93.0, time.time() - 1)})
    await called(house, "a#4", paid(0.1))


@pytest.mark.spec("RUN-6")
def test_a_limit_of_a_task_counts_a_teams_tasks_one_by_one() -> None:
    keys = ("feature F1/task F1-T1/dev#1", "feature F1/task F1-T1/qa#2", "feature F1/techlead#1", "1A/team-a#1", "pm#1")
    tasks = [wanted(key).task for key in keys]
    assert tasks == ["feature F1/task F1-T1", "feature F1/task F1-T1", "feature F1", "1A", ""]


@pytest.mark.spec("RUN-6")
def test_the_command_for_more_is_read_from_the_sentence() -> None:
    command = "trued resume r-1 --limit task:usd=5"
    assert command_for_more(f"task 1 has used up its usd; continue with more: {command}") == command
    assert command_for_more("waiting is switched off") == ""
    assert reason_of_limit(f"task 1 has used up its usd: $2.00 of $2.00 spent; continue with more: {command}") == (
        "task 1 has used up its usd: $2.00 of $2.00 spent"
    )
    assert reason_of_limit("waiting is switched off") == "waiting is switched off"
