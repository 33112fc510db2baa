"""A driver in a process of its own: claims a run, writes steps, and says each one that is written.

python -m tests.hub.driver URL SCHEMA LEASE_S LEDGER KEY…

The key "freeze" freezes the process before it is written, "freeze inside" in the middle of a transaction. The ledger
gets a line for each step that happens.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from trued.errors import Fenced
from trued.hub.postgres import PostgresJournal, PostgresRunJournal
from trued.model.events.run import RunResumed
from trued.wire import Spend


async def drive(run: PostgresRunJournal, ledger: Path, keys: Sequence[str]) -> None:
    for key in keys:

        async def step(key: str = key) -> str:
            with ledger.open("a") as file:
                file.write(f"{key}\n")
            if key == "freeze":
                print("freezing", flush=True)
                os.kill(os.getpid(), signal.SIGSTOP)
            return f"{key} by {os.getpid()}"

        frozen: list[bool] = []

        def freeze(known: Sequence[Spend], frozen: list[bool] = frozen) -> Spend:
            if not frozen:  # it is asked again when its connection was lost
                frozen.append(True)
                print("freezing", flush=True)
                os.kill(os.getpid(), signal.SIGSTOP)
            return Spend("call", 1, "step", "", "dev", "claude")

        if key == "freeze inside":
            run.spend(freeze)
        await run.once(key, "h", step)
        run.emit(RunResumed(after=key))
        print(key, flush=True)


def main(url: str, schema: str, lease_s: str, ledger: str, *keys: str) -> None:
    with closing(PostgresJournal(url, name="the child", schema=schema, lease_s=float(lease_s))) as journal:
        try:
            with journal.claim("r-one"):
                asyncio.run(drive(journal.of("r-one"), Path(ledger), keys))
        except Fenced:
            print("fenced", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
