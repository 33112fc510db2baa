"""procrastinate: jobs of one queue, put and worked off by one process.

python -m bench.contenders.hub_procrastinate NUMBER FOLDER call URL SERVER
"""

import asyncio
import sys

import procrastinate

from bench.contenders.measure import PAYLOAD, Meter, arguments


async def every(number: int, url: str, server: int) -> None:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(queue="calls", name="call")
    async def call(key: str) -> str:
        return PAYLOAD

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        meter = Meter(server)
        for one in range(number):
            await call.defer_async(key=f"chunk {one}/team-a#1")
        await app.run_worker_async(queues=["calls"], wait=False, install_signal_handlers=False)
        meter.show()


def main() -> None:
    number, _ = arguments()
    asyncio.run(every(number, sys.argv[4], int(sys.argv[5])))


if __name__ == "__main__":
    main()
