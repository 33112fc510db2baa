"""Pages that a ticket names are checked without a hand-written `serve`: the engine finds how the project starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, events
from tests.workflows.ticket.test_ticket import script
from tests.workflows.ticket.test_ticket_preview import SERVER
from trued.errors import BadInput
from trued.model import Contract, Grade, RunRecord
from trued.proof.room.chromium import find_chromium
from trued.wire import Order

needs_chromium = pytest.mark.skipif(bool(find_chromium()[1]), reason=find_chromium()[1] or "-")
TICKET = """---
key: SHOP-3
---
# Customers see their points

## Acceptance criteria

- The page / shows "Earn 40 points" and no longer shows "loyalty points".
"""
LIE = "# Earn 40 points\nwords = '<p hidden>Earn 40 points</p>'\n"


def shop(ground: Ground, server: str = SERVER) -> Ground:
    ground.write(
        "shop.py",
        server.replace("self.end_headers()", "self.send_header('Content-Type', 'text/html'); self.end_headers()"),
    )
    ground.write("page.py", 'words = "<p>+ loyalty points</p>"\n')
    ground.commit()
    (ground.folder / "ticket.md").write_text(TICKET)
    return ground


def page(order: Order, text: str) -> dict[str, Any]:
    (Path(order.folder) / "page.py").write_text(text)
    claims = {"success": True, "branch_name": "", "files_changed": ["page.py"], "summary": "done"}
    fixes = {"success": True, "files_modified": ["page.py"], "changes_summary": "done"}
    return claims if order.role == "impl-agent" else fixes


async def run(ground: Ground, text: str, **flags: Any) -> tuple[Any, RunRecord]:
    seen = script(
        impl=lambda order: page(order, text),
        fix=lambda order: page(order, text),
        verify=lambda _: {"passed": True, "issues": []},
    )
    engine, _ = ground.engine(seen)
    agents = {f"{name}-agent": "scripted:inside" for name in ("impl", "verify", "fix", "pr")}  # and no examiner
    return engine, await ground.run(engine, str(ground.folder / "ticket.md"), required=False, agents=agents, **flags)


def contract_of(engine: Any, record: RunRecord) -> Contract:
    contract = engine.store.contract(record.id)
    assert isinstance(contract, Contract)
    return contract


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("DAY-3")
async def test_a_page_of_the_ticket_is_looked_at_by_the_start_command_that_the_base_tells(ground: Ground) -> None:
    engine, record = await run(shop(ground), 'words = "<p>Earn 40 points</p>"\n')
    contract = contract_of(engine, record)
    assert contract.serve
    assert (contract.serve.command, contract.unserved) == (("python", "shop.py"), "")
    (found,) = events(engine, record, "server found")
    assert found.data == {"command": "python shop.py", "where": "shop.py"}
    grades = {one.id: one.grade for one in engine.store.verdict(record.id).requirements}
    assert grades["acceptance-1"] is Grade.TESTED, "its words stand where the implementer reads them"
    assert record.code == 3


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("DAY-3")
async def test_a_page_that_only_holds_the_words_is_refuted_by_the_server_that_was_found(ground: Ground) -> None:
    engine, record = await run(shop(ground), LIE)
    grades = {one.id: one.grade for one in engine.store.verdict(record.id).requirements}
    assert grades["acceptance-1"] is Grade.REFUTED
    assert record.code == 1


@pytest.mark.spec("DAY-3")
async def test_where_no_start_command_answers_the_plan_says_what_was_tried_and_what_to_write(ground: Ground) -> None:
    engine, record = await run(
        shop(ground, "import os\nos.environ['PORT']\nraise SystemExit('no.run()')\n"), "", plan_only=True
    )
    contract = contract_of(engine, record)
    assert contract.serve is None
    assert "`python shop.py` (shop.py) was tried on the base" in contract.unserved
    assert "no.run()" in contract.unserved
    assert "serve: {command:" in contract.unserved
    assert "[serve]" in contract.unserved


@pytest.mark.spec("DAY-3", "USE-7")
async def test_a_requirements_file_with_pages_and_no_server_anywhere_stops_before_anybody_is_paid(
    ground: Ground,
) -> None:
    check = {"kind": "browser", "page": "/", "sees": ["Earn"]}
    ground.requirements.write_text(
        json.dumps({"requirements": [{"id": "page", "text": "it shows", "checks": [check]}]})
    )
    (ground.folder / "ticket.md").write_text(TICKET)
    engine, runtime = ground.engine(script())
    with pytest.raises(BadInput, match="requirement page needs a server, and no file of the base says how"):
        await ground.run(engine, str(ground.folder / "ticket.md"))
    assert runtime.orders == []
