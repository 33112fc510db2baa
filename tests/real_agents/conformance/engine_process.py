"""An engine that can be killed: works on orders through a spool, with the user's variables, told on stdin."""

import asyncio
import json
import sys
from pathlib import Path

from trued.agents.spool.spool import Spool
from trued.wire import Order, from_json


async def main() -> None:
    asked = json.load(sys.stdin)
    runtime = Spool(Path(asked["spool"]), variables=lambda _: asked["variables"])
    orders = [from_json(Order, json.dumps(order)) for order in asked["orders"]]
    for report in await asyncio.gather(*(runtime.work(order, lambda _kind, **_data: None) for order in orders)):
        print(report.state, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
