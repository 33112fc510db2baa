"""Several runs at once: each line begins with a name that tells its run from the others."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.bare_inputs import BARE_INPUTS
from trued.cli.concurrent import name_of
from trued.engine.run_store import RunStore
from trued.model import RunRecord, Ticket


@pytest.mark.spec("USE-2")
def test_a_run_is_named_by_its_ticket_and_no_other_title_counts_as_one(tmp_path: Path) -> None:
    tickets = {"r-shop": Ticket(key="SHOP-7", summary="points", text="points")}
    titles = {"r-one": "feat: add x", "r-two": "feat: add y", "r-shop": "SHOP-7: points"}
    with closing(RunStore(tmp_path, {})) as store:
        names = []
        for run, title in titles.items():
            record = RunRecord(id=run, workflow="solo", title=title, repository="/r", base="0" * 40, branch=run)
            ticket = tickets[run].model_dump(mode="json") if run in tickets else None
            store.journal.add(record, json.dumps({**json.loads(BARE_INPUTS), "ticket": ticket}))
            names.append(name_of(store, record))
    assert names == ["r-one", "r-two", "SHOP-7"]
