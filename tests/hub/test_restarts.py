"""Postgres is stopped and started again while a run is driven: nothing is lost, and nothing is there twice."""

import asyncio
import threading
from collections import Counter
from typing import Literal

import pytest

from tests.hub.conftest import Hub
from tests.postgres import PASSWORD
from trued.errors import BadInput, StateFailed
from trued.hub.postgres import PostgresJournal
from trued.model import Comment
from trued.model.events.people import CommentGiven
from trued.model.events.run import RunResumed
from trued.wire import Spend

RESTARTS = 4


class Driving(threading.Thread):
    """Writes steps, events, spending, questions and what people say, one after another, until it is told to end."""

    def __init__(self, store: PostgresJournal) -> None:
        super().__init__()
        self.store, self.over, self.error = store, threading.Event(), ""
        self.happened = Counter[str]()
        self.done = 0

    def run(self) -> None:
        try:
            with self.store.claim("r-one"):
                while not self.over.is_set():
                    asyncio.run(self.write(self.done))
                    self.done += 1
        except Exception as error:  # noqa: BLE001  (told to the test)
            self.error = repr(error)

    async def write(self, number: int) -> None:
        run, key = self.store.of("r-one"), f"step#{number}"

        async def step() -> str:
            self.happened[key] += 1
            return key

        await run.once(key, "h", step)
        run.emit(RunResumed(after=key))
        run.spend(lambda known: Spend(key, 1, key, "", "dev", "claude"))
        run.question(key, "Go on?", ())
        assert run.answer(key, "yes", "", "ann")
        said = Comment(to="", text=key, who="ann")
        self.store.add_comment("r-one", said, lambda one: _given(one, key), "")
        self.store.change_limit("r-one", key, "usd", 1.0, "ann")


def _given(number: int, text: str) -> CommentGiven:
    return CommentGiven(number=number, to="", text=text, who="ann", way="", stops="")


@pytest.mark.spec("HUB-1", "HUB-3", "HUB-4")
@pytest.mark.parametrize("mode", [pytest.param("fast", marks=pytest.mark.slow), "immediate"])
def test_a_database_that_restarts_loses_nothing_and_has_nothing_twice(
    hub: Hub, mode: Literal["fast", "immediate"]
) -> None:
    store = hub.opened()
    driving = Driving(store)
    driving.start()
    for number in range(RESTARTS):
        while driving.done < 3 * (number + 1) and driving.is_alive():
            driving.over.wait(0.01)
        hub.server.stop(mode)
        hub.server.start()
    reached = driving.done
    while driving.done < reached + 2 and driving.is_alive():
        driving.over.wait(0.01)
    driving.over.set()
    driving.join()
    assert driving.error == ""
    keys = [f"step#{number}" for number in range(driving.done)]
    assert driving.happened == Counter(keys)  # no step was computed twice
    assert [key for key, _, _ in store.steps("r-one")] == keys
    assert [one.call for one in store.spends("r-one")] == keys
    assert [(one.key, one.answer) for one in store.questions("r-one")] == [(key, "yes") for key in keys]
    assert [one.text for one in store.comments("r-one")] == keys
    assert [scope for scope, _, _ in store.limit_changes("r-one")] == keys
    told = [(one.kind, one.data.get("after") or one.data.get("text")) for one in store.events("r-one")]
    # Every event is followed by a synced write that makes it durable, and is lost at most before that.
    assert [key for kind, key in told if kind == "comment"] == keys
    resumed = [key for kind, key in told if kind == "resumed"]
    assert resumed == keys if mode == "fast" else len(set(resumed)) == len(resumed) >= len(keys) - RESTARTS
    assert {epoch for (epoch,) in hub.execute("select epoch from step")} == {1}


@pytest.mark.spec("HUB-1")
def test_a_database_that_stays_away_is_one_sentence_without_the_password(hub: Hub) -> None:
    store = hub.opened(retry_s=0.2)
    hub.server.stop()
    with pytest.raises(StateFailed, match="does not answer") as raised:
        store.runs()
    assert len(str(raised.value).splitlines()) == 1
    secret = hub.server.url.replace(PASSWORD, "s3cret")
    assert "s3cret" in secret
    with pytest.raises(StateFailed) as raised:
        PostgresJournal(secret, schema=hub.schema, retry_s=0.2)
    assert "s3cret" not in str(raised.value)
    with pytest.raises(BadInput, match="not a Postgres URL") as refused:
        PostgresJournal("postgresql://trued:s3cret@host:5432/x?nonsense")
    assert "s3cret" not in str(refused.value)
    hub.server.start()
    assert [one.id for one in store.runs()] == ["r-one"]
