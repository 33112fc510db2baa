"""An engine that can be killed: works on orders through a spool, and prints each event as a line."""

import asyncio
import json
import sys
from pathlib import Path

from trued.agents.spool.spool import Spool
from trued.support.lease_file import LeaseFile
from trued.wire import Order, from_json


def said(kind: str, **data: object) -> None:
    print(json.dumps([kind, data]), flush=True)


async def main(given: str) -> None:
    asked = json.loads(given)
    lease = asked["options"].pop("lease", "")
    runtime = Spool(Path(asked["spool"]), lease=LeaseFile(Path(lease)) if lease else None, **asked["options"])
    orders = [from_json(Order, json.dumps(order)) for order in asked["orders"]]
    for report in await asyncio.gather(*(runtime.work(order, said) for order in orders)):
        said("report", state=report.state, reply=report.reply)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
