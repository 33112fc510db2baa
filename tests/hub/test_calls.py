"""Every reservation of a budget on a hub is an attempt, too: counted over all machines, ended with its money."""

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hub.conftest import Hub, record
from trued.errors import Fenced, Postponed
from trued.hub.postgres import PostgresJournal, PostgresRunJournal
from trued.model import Settings
from trued.protocols import Decide
from trued.run.budget import AttemptRequest, Budget
from trued.wire import Amount, Report, Spend, Usage

CALL = Spend("dev", 1, "dev#1", "", "dev", "claude:opus")
PAID = Amount(usd=0.5, tokens=10, seconds=3.0)


def reserve(store: PostgresJournal, run: str = "r-one", call: Spend = CALL) -> None:
    def decide(known: Sequence[Spend]) -> Spend:
        return next((one for one in known if (one.call, one.attempt) == (call.call, call.attempt)), call)

    store.of(run).spend(decide)


def settle(store: PostgresJournal, run: str = "r-one", call: Spend = CALL) -> None:
    store.of(run).spend(lambda known: replace(call, state="done", spent=PAID))


def attempts(hub: Hub) -> list[object]:
    return [tuple(row) for row in hub.execute("select number, worker, state, usd from attempt order by key, number")]


def wait_for_renewal(hub: Hub) -> None:
    """Until the lease of the run was renewed twice: the second began after this was called."""
    for _ in range(2):
        ((before,),) = hub.execute("select until from run where id = 'r-one'")
        while hub.execute("select 1 from run where id = 'r-one' and until = %s", before):
            time.sleep(0.1)


@pytest.mark.spec("HUB-2")
def test_a_call_has_a_row_before_it_is_paid_and_one_after_a_crash_in_the_same_place(hub: Hub, tmp_path: Path) -> None:
    here = hub.opened("w1#1", home=tmp_path)
    with here.claim("r-one"):
        reserve(here)
        reserve(here)  # sent twice, or after a crash
        assert attempts(hub) == [(1, "w1#1", "open", 0.0)]
        settle(here)
        reserve(here)  # it is paid, and its report is found again
        assert attempts(hub) == [(1, "w1#1", "done", 0.5)]


@pytest.mark.spec("HUB-2")
def test_of_many_that_reserve_one_call_at_once_all_get_the_same_attempt(hub: Hub, tmp_path: Path) -> None:
    here = hub.opened("w1#1", home=tmp_path)
    with here.claim("r-one"):
        threads = [threading.Thread(target=reserve, args=(here,)) for _ in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert attempts(hub) == [(1, "w1#1", "open", 0.0)]
        assert len(here.spends("r-one")) == 1


@pytest.mark.spec("HUB-2")
def test_a_reservation_and_its_settlement_survive_a_crash_of_the_database(hub: Hub, tmp_path: Path) -> None:
    here = hub.opened("w1#1", home=tmp_path)
    with here.claim("r-one"):
        for write, row in ((reserve, (1, "w1#1", "open", 0.0)), (settle, (1, "w1#1", "done", 0.5))):
            write(here)
            hub.server.stop("immediate")
            hub.server.start()
            assert attempts(hub) == [row]
            write(here)  # again, after the crash
            assert attempts(hub) == [row]


@pytest.mark.spec("HUB-2", "HUB-3")
def test_an_attempt_elsewhere_is_waited_for_then_lost_and_what_it_cost_is_late(hub: Hub, tmp_path: Path) -> None:
    first, second = hub.opened("w1#1", home=tmp_path / "a"), hub.opened("w2#1", home=tmp_path / "b", lease_s=15.0)
    hub.execute("update run set place = null")
    with first.claim("r-one"):
        reserve(first)
        hub.end_lease()
        with second.claim("r-one"):
            with pytest.raises(Postponed, match="attempt on w1#1 may still be at work"):
                reserve(second)
            hub.execute("update attempt set until = clock_timestamp()")
            wait_for_renewal(hub)  # of the run, and not of what another machine began
            reserve(second)
            with pytest.raises(Fenced):
                settle(first)
            settle(second)
            assert attempts(hub) == [(1, "w1#1", "late", 0.5), (2, "w2#1", "done", 0.5)]
            assert len(second.spends("r-one")) == 1


@pytest.mark.spec("HUB-2")
def test_a_late_result_is_used_if_no_other_machine_made_the_call(hub: Hub, tmp_path: Path) -> None:
    first, second = hub.opened("w1#1", home=tmp_path / "a"), hub.opened("w2#1", home=tmp_path / "b")
    hub.execute("update run set place = null")
    with first.claim("r-one"):
        reserve(first)
        hub.end_lease()
        with second.claim("r-one"), pytest.raises(Fenced):  # it ends before it makes the call
            settle(first)
    assert attempts(hub) == [(1, "w1#1", "late", 0.5)]
    again = hub.opened("w1#2", home=tmp_path / "a")
    with again.claim("r-one"):
        reserve(again)  # its report is found
        settle(again)
        assert attempts(hub) == [(1, "w1#1", "done", 0.5)]
        assert [one.spent for one in again.spends("r-one")] == [PAID]


@pytest.mark.spec("HUB-2", "HUB-5")
def test_a_call_that_was_paid_elsewhere_is_asked_for_again_and_holds_no_place_under_a_cap(
    hub: Hub, tmp_path: Path
) -> None:
    """The first machine died after it had paid, and before it recorded the result."""
    first, second = hub.opened("w1#1", home=tmp_path / "a"), hub.opened("w2#1", home=tmp_path / "b")
    hub.execute("update run set place = null")
    hub.execute("insert into cap values ('claude', 1, null)")
    with first.claim("r-one"):
        reserve(first)
        settle(first)
        hub.end_lease()
        with second.claim("r-one"):
            reserve(second)
            assert attempts(hub) == [(1, "w1#1", "done", 0.5)]  # nothing is at work
            again = replace(CALL, attempt=2)
            reserve(second, call=again)
            settle(second, call=again)
            assert attempts(hub) == [(1, "w1#1", "done", 0.5), (2, "w2#1", "done", 0.5)]


@pytest.mark.spec("HUB-2", "HUB-5")
def test_what_another_machine_did_not_finish_is_settled_while_the_cap_is_reached(hub: Hub, tmp_path: Path) -> None:
    """Nothing begins here: it waits for no place, and takes none from others in that minute."""
    first, second = hub.opened("w1#1", home=tmp_path / "a"), hub.opened("w2#1", home=tmp_path / "b")
    second.add(record("r-two"))
    hub.execute("update run set place = null")
    with first.claim("r-one"), second.claim("r-two"):
        reserve(first)
        reserve(second, "r-two")
        hub.execute("insert into cap values ('claude', 1, 1)")
        hub.end_lease()
        before = attempts(hub)
        with second.claim("r-one"):
            lost = AttemptRequest("dev", 1, "dev#1", "dev", "claude:opus", "")
            report = Report("dev", 1, "died", why="another machine began it", usage=Usage(estimated=True))
            Budget(second.of("r-one"), Settings()).existing_reservation(lost).settle(report)
            assert [one.state for one in second.spends("r-one")] == ["died"]
            assert attempts(hub) == before  # what the first did with it may still come
            with pytest.raises(Postponed):
                reserve(second, call=replace(CALL, attempt=2))


@pytest.mark.spec("HUB-5")
def test_a_cap_of_an_agent_holds_over_all_machines_and_runs(hub: Hub, tmp_path: Path) -> None:
    one, two = hub.opened("w1#1", home=tmp_path / "a"), hub.opened("w2#1", home=tmp_path / "b")
    two.add(record("r-two"))
    hub.execute("update run set place = null")
    hub.execute("insert into cap values ('claude', 1, null), ('codex', null, 1)")
    with one.claim("r-one"), two.claim("r-two"):
        reserve(one)
        with pytest.raises(Postponed, match="1 of at most 1 calls of claude are at work"):
            reserve(two, "r-two", replace(CALL, agent="claude:sonnet"))
        assert two.spends("r-two") == []  # the budget holds nothing either
        settle(one)
        reserve(two, "r-two")
        reserve(one, call=replace(CALL, call="codex", step="codex#1", agent="codex"))
        settle(one, call=replace(CALL, call="codex", step="codex#1", agent="codex"))
        with pytest.raises(Postponed, match="began within the last minute"):
            reserve(two, "r-two", replace(CALL, call="codex", step="codex#1", agent="codex"))


class CountedJournal(PostgresRunJournal):
    """Counts how often something is reserved or settled."""

    asked = 0

    def spend(self, decide: Decide) -> Spend | None:
        self.asked += 1
        return super().spend(decide)


@pytest.mark.spec("HUB-5")
async def test_a_call_that_waits_for_its_own_run_takes_no_room_from_another_run(hub: Hub, tmp_path: Path) -> None:
    one, two = hub.opened("w1#1", home=tmp_path / "a"), hub.opened("w2#1", home=tmp_path / "b")
    two.add(record("r-two"))
    hub.execute("update run set place = null")
    hub.execute("insert into cap values ('claude', 3, null)")
    with one.claim("r-one"), two.claim("r-two"):
        wide, other = Budget(one.of("r-one"), Settings(), at_once=1), Budget(two.of("r-two"), Settings())
        begun, ended = list[str](), asyncio.Event()

        async def call(budget: Budget, name: str, agent: str = "claude:opus") -> None:
            async with budget.reserve(AttemptRequest(name, 1, f"{name}#1", "dev", agent, "")):
                begun.append(name)
                await ended.wait()

        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            tasks.create_task(call(wide, "first"))
            tasks.create_task(call(wide, "second"))
            await asyncio.sleep(0.1)
            tasks.create_task(call(other, "of the other run"))
            await asyncio.sleep(2)
            assert begun == ["first", "of the other run"]
            ended.set()
        assert begun == ["first", "of the other run", "second"]


@pytest.mark.spec("HUB-5")
async def test_a_call_that_waits_for_a_cap_takes_no_place_from_another_agent(hub: Hub, tmp_path: Path) -> None:
    one, two = hub.opened("w1#1", home=tmp_path / "a"), hub.opened("w2#1", home=tmp_path / "b")
    two.add(record("r-two"))
    hub.execute("update run set place = null")
    hub.execute("insert into cap values ('claude', 1, null)")
    with one.claim("r-one"), two.claim("r-two"):
        held = replace(CALL, call="held", step="held#1")
        reserve(two, "r-two", held)
        budget, begun = Budget(one.of("r-one"), Settings(), at_once=1), list[str]()

        async def call(name: str, agent: str) -> None:
            async with budget.reserve(AttemptRequest(name, 1, f"{name}#1", "dev", agent, "")):
                begun.append(name)

        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            tasks.create_task(call("waits", "claude:opus"))
            await asyncio.sleep(0.1)
            tasks.create_task(call("begins", "codex"))
            await asyncio.sleep(2)
            assert begun == ["begins"]
            settle(two, "r-two", held)
        assert begun == ["begins", "waits"]


@pytest.mark.spec("HUB-5")
async def test_of_many_calls_that_wait_for_a_cap_one_asks_a_second_and_all_begin_as_soon_as_there_is_room(
    hub: Hub, tmp_path: Path
) -> None:
    waiting, holds_s = 12, 4.0
    one, two = hub.opened("w1#1", home=tmp_path / "a"), hub.opened("w2#1", home=tmp_path / "b")
    two.add(record("r-two"))
    hub.execute("update run set place = null")
    hub.execute(f"insert into cap values ('claude', {waiting}, null)")
    with one.claim("r-one"), two.claim("r-two"):
        held = [replace(CALL, call=f"held{number}", step=f"held{number}#1") for number in range(waiting)]
        for call in held:
            reserve(two, "r-two", call)
        journal = CountedJournal(one, "r-one")
        budget, begun = Budget(journal, Settings()), list[float]()

        async def wait(number: int) -> None:
            request = AttemptRequest(f"dev{number}", 1, f"dev{number}#1", "dev", "claude:opus", "")
            async with budget.reserve(request):
                begun.append(time.monotonic())
                journal.asked -= 1  # that one was needed

        async with asyncio.TaskGroup() as tasks:
            for number in range(waiting):
                tasks.create_task(wait(number))
            await asyncio.sleep(holds_s)
            assert begun == []
            assert journal.asked <= waiting + holds_s + 1  # each once at first
            for call in held:
                settle(two, "r-two", call)
        assert len(begun) == waiting
        assert begun[-1] - begun[0] < waiting / 3  # not one a second
