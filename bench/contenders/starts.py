"""How long it takes from an order in the spool to the moment at which its supervisor starts the agent: `starts N`."""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from trued.agents.spool.spool import Spool
from trued.wire import Confinement, Order


async def waits(folder: Path, turns: int) -> list[float]:
    spool, found = Spool(folder / "spool", cap=1), []
    for name in ("clone", "home"):
        (folder / name).mkdir()
    for turn in range(turns):
        order = Order(
            run="bench",
            key=f"start#{turn}",
            call=f"start-{turn}",
            attempt=1,
            role="waiter",
            agent="""command:/bin/sh -c "echo '{}'" """,
            brief="Wait.",
            schema={"type": "object"},
            session=f"session-{turn}",
            resume=False,
            folder=str(folder / "clone"),
            home=str(folder / "home"),
            confinement=Confinement(level="none"),
        )
        ordered = time.time()
        report = await spool.work(order, lambda *_, **__: None)
        if report.state != "done":
            raise SystemExit(f"the call failed: {report.why}")
        found.append(report.began - ordered)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(json.dumps(asyncio.run(waits(Path(folder), int(sys.argv[1])))) + "\n")


if __name__ == "__main__":
    main()
