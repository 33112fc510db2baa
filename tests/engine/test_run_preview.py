"""A preview of a run's work for a person who judges it by hand, also while the run works."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import PASSED, Ground
from tests.workflows.ticket.test_ticket_preview import SERVER, fetched
from trued.engine.impersonation import is_live_preview
from trued.engine.run_preview import preview_run
from trued.engine.run_store import RunStore
from trued.wire import Order

MANUAL = {"id": "look", "text": "it looks well", "covers": ["1A"], "checks": [{"kind": "manual", "steps": ["look"]}]}


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        ground = Ground(tmp_path, stack)
        ground.one_chunk()
        yield ground


def makes_a_server(order: Order) -> dict[str, Any]:
    if order.role != "purple-team-a":
        return PASSED
    (Path(order.folder) / "shop.py").write_text(SERVER)
    (Path(order.folder) / "page.py").write_text('words = "<p>made by the run</p>"\n')
    return {"implemented": ["1A"], "files": [{"path": "shop.py", "what": "a server"}]}


@pytest.mark.spec("DAY-3", "PAGE-4")
async def test_the_work_of_a_run_that_is_at_work_is_shown_and_the_run_is_not_disturbed(ground: Ground) -> None:
    ground.require([MANUAL])
    engine, _ = ground.engine(makes_a_server)
    record = await ground.run(engine, rounds=1)
    assert record.state == "waiting"
    folder = engine.store.folder(record.id)
    at_work = folder / "rooms" / "x0123"  # a room in which a check of the run works
    killed = folder / "previews" / "1-1.dead"  # left by a killed preview
    for one in (at_work, killed):
        one.mkdir(parents=True)
    with engine.store.journal.claim(record.id), RunStore(ground.home, engine.store.environ) as person:
        async with preview_run(person, record.id) as shown:
            (own,) = [one for one in (folder / "previews").iterdir() if is_live_preview(one)]
            assert "made by the run" in await asyncio.to_thread(fetched, shown.url)  # the base has no server
            assert (shown.commit, shown.command) == (record.head, ("python", "shop.py"))
    assert at_work.is_dir()
    assert not own.exists()
    assert not killed.exists()
