"""trued: plain steps, or the records of whole agent calls, on SQLite or on a hub.

python -m bench.contenders.hub_ours NUMBER FOLDER {step|call} [URL SERVER]
"""

import asyncio
import sys
from contextlib import ExitStack, closing

from bench.contenders.measure import PAYLOAD, arguments, measure
from trued.engine.journals.sqlite import SqliteJournal
from trued.hub.postgres import PostgresJournal
from trued.model import RunRecord, Settings
from trued.model.events.call import CallAnswered, CallAsked
from trued.protocols import Journal, JournalStore
from trued.run.budget import AttemptRequest, Budget
from trued.support.hashing import digest
from trued.wire import Report

CALLS_A_RUN = 25
BRIEF = "b" * 6000


async def step() -> str:
    return PAYLOAD


async def plain(journal: Journal, number: int) -> None:
    key = f"chunk {number}/team-a#1"
    await journal.once(key, digest(key, "a brief"), step)


async def call(journal: Journal, budget: Budget, number: int) -> None:
    """What the engine records of one agent call, without the agent."""
    key = f"chunk {number}/team-a#1"
    request = AttemptRequest(key.replace("/", "-"), 1, key, "team-a", "claude")

    async def answered() -> str:
        journal.emit(CallAsked(role="team-a", agent="claude", brief=BRIEF, chars=len(BRIEF)), key)
        async with budget.reserve(request) as reserved:
            await journal.available()
            report = reserved.settle(Report(request.call, 1, "done", reply={"summary": "x"}, began=1.0, ended=2.0))
        journal.emit(_answer(report), key)
        return PAYLOAD

    await journal.once(key, digest(key, "a brief"), answered)


def _answer(report: Report) -> CallAnswered:
    said = {"role": "team-a", "agent": "claude", "state": report.state, "kind": "", "why": "", "reply": report.reply}
    counted = {"attempts": 1, "asks": 1, "resumed": False, "reaped": 0, "commit": "c" * 40, "changed": ("a.py",)}
    paid = {"cost_usd": 0.1, "cost": "reported", "requests": 3, "compactions": 0}
    return CallAnswered.model_validate({**said, **counted, **paid, "began": report.began, "ended": report.ended})


def opened(store: JournalStore, number: int, driven: ExitStack) -> list[Journal]:
    """The journals of as many runs as these calls are of, each driven by this process."""
    names = [f"r-{one}" for one in range(-(-number // CALLS_A_RUN))]
    for name in names:
        store.add(RunRecord(id=name, workflow="purple", title="t", repository="/r", base="b" * 40, branch=name))
        driven.enter_context(store.claim(name))
    return [store.of(name) for name in names]


def main() -> None:
    number, folder = arguments()
    what, url, server = (*sys.argv[3:], "", "0")[:3]
    store: JournalStore = PostgresJournal(url) if url else SqliteJournal(folder / "journal.db")
    with closing(store), ExitStack() as driven:
        journals = opened(store, number if what == "call" else 1, driven)
        budgets = [Budget(one, Settings()) for one in journals]

        async def every() -> None:
            for one in range(number):
                if what == "call":
                    which = one // CALLS_A_RUN
                    await call(journals[which], budgets[which], one)
                else:
                    await plain(journals[0], one)

        measure(lambda: asyncio.run(every()), int(server))


if __name__ == "__main__":
    main()
