"""trued: a plain step of the journal, with the hash of its inputs."""

import asyncio

from bench.contenders.measure import PAYLOAD, arguments, measure
from trued.engine.journals.sqlite import SqliteJournal
from trued.support.hashing import digest


async def step() -> str:
    return PAYLOAD


def main() -> None:
    steps, folder = arguments()
    journal = SqliteJournal(folder / "journal.db").of("bench")

    async def every() -> None:
        for number in range(steps):
            key = f"chunk {number}/team-a#1"
            await journal.once(key, digest(key, "a brief"), step)

    measure(lambda: asyncio.run(every()))


if __name__ == "__main__":
    main()
