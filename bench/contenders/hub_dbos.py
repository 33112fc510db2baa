"""DBOS on Postgres: steps of one workflow, or workflows of one step each from a queue.

python -m bench.contenders.hub_dbos NUMBER FOLDER {step|call} URL SERVER
"""

import os
import sys

from dbos import DBOS

from bench.contenders.measure import PAYLOAD, arguments, measure


@DBOS.step()
def work(key: str) -> str:
    return PAYLOAD


@DBOS.workflow()
def flow(steps: int, server: int) -> int:
    measure(lambda: [work(f"chunk {number}/team-a#1") for number in range(steps)], server)
    return steps


@DBOS.workflow()
def call(key: str) -> str:
    return str(work(key))


def main() -> None:
    number, _ = arguments()
    what, url, server = sys.argv[3], sys.argv[4], int(sys.argv[5])
    config = {"name": "bench", "system_database_url": url, "application_version": "1", "log_level": "ERROR"}
    DBOS(config=config)
    DBOS.launch()
    if what == "step":
        flow(number, server)
    else:
        DBOS.register_queue("calls", polling_interval_sec=0.05)

        def every() -> None:
            begun = [DBOS.enqueue_workflow("calls", call, f"chunk {one}/team-a#1") for one in range(number)]
            for one in begun:
                one.get_result()

        measure(every, server)
    os._exit(0)  # its pollers would go on


if __name__ == "__main__":
    main()
