"""DBOS: steps of one workflow on SQLite; with a third argument the file is put into WAL mode first."""

import os
import sqlite3
import sys

from dbos import DBOS

from bench.contenders.measure import PAYLOAD, arguments, measure


@DBOS.step()
def work(key: str) -> str:
    return PAYLOAD


@DBOS.workflow()
def flow(steps: int) -> int:
    measure(lambda: [work(f"chunk {number}/team-a#1") for number in range(steps)])
    return steps


def main() -> None:
    steps, folder = arguments()
    path = folder / "dbos.db"
    if len(sys.argv) > 3:
        db = sqlite3.connect(path)
        db.execute("pragma journal_mode=wal")
        db.close()
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{path}",
            "application_version": "1",
            "log_level": "ERROR",
        }
    )
    DBOS.launch()
    flow(steps)
    os._exit(0)  # its pollers would go on


if __name__ == "__main__":
    main()
