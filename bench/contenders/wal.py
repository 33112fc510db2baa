"""The physical limit: one row and one synced WAL commit a step."""

import sqlite3

from bench.contenders.measure import PAYLOAD, arguments, measure


def main() -> None:
    steps, folder = arguments()
    db = sqlite3.connect(folder / "limit.db", isolation_level=None)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma synchronous=full")
    db.execute("create table step (key text primary key, value text)")

    def loop() -> None:
        for number in range(steps):
            db.execute("insert into step values (?, ?)", (f"chunk {number}/team-a#1", PAYLOAD))

    measure(loop)


if __name__ == "__main__":
    main()
