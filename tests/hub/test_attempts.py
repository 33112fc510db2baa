"""No paid call without a row before it; one open a call; the first result stands, and later ones are paid for."""

import itertools
import threading
from uuid import UUID, uuid4

import pytest

from tests.hub.conftest import Hub
from trued.errors import BadInput
from trued.hub.attempts import Attempts, Ending
from trued.wire import Amount

pytestmark = pytest.mark.spec("HUB-2")

RUN, KEY = "r-one", "chunk 1/dev#1"
PAID = Amount(usd=0.25, tokens=1000, seconds=60.0)


def reserve(attempts: Attempts, worker: str = "w1", token: UUID | None = None) -> int | None:
    return attempts.reserve(RUN, KEY, token=token or uuid4(), worker=worker, lease_s=60.0)


def lose(hub: Hub, attempts: Attempts) -> None:
    hub.execute("update attempt set until = clock_timestamp() - interval '1 second'")
    assert attempts.lose(RUN)


def test_of_many_that_ask_at_once_one_may_pay_and_asking_again_gives_the_same(hub: Hub) -> None:
    machines, tokens = [hub.opened(f"w{number}") for number in range(6)], [uuid4() for _ in range(6)]
    given: dict[int, int | None] = {}

    def ask(number: int) -> None:
        given[number] = reserve(machines[number].attempts, f"w{number}", tokens[number])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    (winner,) = [number for number, attempt in given.items() if attempt]
    assert [reserve(machines[0].attempts, token=one) for one in tokens] == [given[number] for number in range(6)]
    assert [(one.number, one.worker, one.state) for one in machines[0].attempts.of(RUN)] == [(1, f"w{winner}", "open")]


def test_the_first_result_stands_and_the_later_one_is_paid_for_and_said(hub: Hub) -> None:
    store = hub.opened()
    attempts = store.attempts
    assert reserve(attempts, "frozen") == 1
    assert attempts.renew(RUN, KEY, 1, lease_s=60.0)
    assert attempts.lose(RUN) == []  # its lease holds
    lose(hub, attempts)
    assert not attempts.renew(RUN, KEY, 1, lease_s=60.0)
    assert reserve(attempts, "w2") == 2
    for _ in "ab":  # the answer to the first may be lost
        assert attempts.settle(RUN, KEY, 1, "done", PAID, inputs="h", value="by the frozen one") == "done"
        assert attempts.settle(RUN, KEY, 2, "done", PAID, inputs="h", value="by w2") == "late"
    assert store.step(RUN, KEY) == "by the frozen one"
    assert [(one.worker, one.state, one.spent) for one in attempts.of(RUN)] == [
        ("frozen", "done", PAID),
        ("w2", "late", PAID),
    ]
    assert reserve(attempts) is None  # it has its result: nothing more may be paid
    (((_, began, ended),)) = store.steps(RUN)
    assert began <= ended


ENDINGS: tuple[Ending, ...] = ("done", "stopped", "died", "failed")


@pytest.mark.parametrize(("first", "second"), itertools.product(ENDINGS, ENDINGS))
def test_an_attempt_ends_once_whatever_is_said_of_it_later(hub: Hub, first: Ending, second: Ending) -> None:
    store = hub.opened()
    assert reserve(store.attempts) == 1
    assert store.attempts.settle(RUN, KEY, 1, first, PAID, value="first") == first
    assert store.attempts.settle(RUN, KEY, 1, second, Amount(usd=9.0), value="second") == first
    assert store.step(RUN, KEY) == ("first" if first == "done" else None)
    assert [one.spent for one in store.attempts.of(RUN)] == [PAID]
    assert (reserve(store.attempts) is None) is (first == "done")


def test_what_was_never_reserved_can_neither_be_settled_nor_written(hub: Hub) -> None:
    store = hub.opened()
    with pytest.raises(BadInput, match="no attempt 1"):
        store.attempts.settle(RUN, KEY, 1, "done", PAID, value="x")
    assert store.attempts.reserve("r-none", KEY, token=uuid4(), worker="w1", lease_s=60.0) is None
    assert (store.step(RUN, KEY), hub.content()["attempt"]) == (None, [])


async def test_a_drivers_own_result_and_a_machines_are_the_same_step(hub: Hub) -> None:
    store = hub.opened()

    async def elsewhere() -> str:
        """The call is settled by the machine that ran it, while its driver waits."""
        assert reserve(store.attempts) == 1
        assert store.attempts.settle(RUN, KEY, 1, "done", PAID, inputs="h", value="settled") == "done"
        return "driver"

    with store.claim(RUN):
        assert await store.of(RUN).once(KEY, "h", elsewhere) == "settled"
    assert hub.execute("select value, epoch from step") == [("settled", 1)]


def test_reservations_and_results_survive_a_crash_of_the_database(hub: Hub) -> None:
    store, token = hub.opened(), uuid4()
    assert reserve(store.attempts, token=token) == 1
    hub.server.stop("immediate")
    hub.server.start()
    assert reserve(store.attempts) is None
    assert reserve(store.attempts, token=token) == 1
    assert store.attempts.settle(RUN, KEY, 1, "done", PAID, value="x") == "done"
    hub.server.stop("immediate")
    hub.server.start()
    assert store.attempts.settle(RUN, KEY, 1, "done", PAID, value="x") == "done"
    assert (store.step(RUN, KEY), len(store.attempts.of(RUN))) == ("x", 1)
