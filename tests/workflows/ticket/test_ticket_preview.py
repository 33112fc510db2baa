"""Previews in a run: the verifier sees them, they are the same after a kill, and one that does not start is an
issue."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.workflows.conftest import Ground, events
from tests.workflows.ticket.test_ticket import REQUIRED as DOUBLED
from tests.workflows.ticket.test_ticket import TICKET, WHOLE, implemented, script
from trued.engine.engine import Engine
from trued.model import Event, RunRecord
from trued.wire import Order

SERVER = """
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from page import words

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(words.encode())
    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
"""
SERVE = {"command": ["python", "shop.py"], "port_env": "PORT", "ready": {"path": "/", "within_s": 60}}
REQUIRED = {
    "id": "words",
    "text": "it says how many",
    "covers": ["goal"],
    "checks": [{"kind": "examples", "cases": [{"http": {"path": "/"}, "status": 200, "body": "Earn 40 points"}]}],
}
WORDS = {"broken": "words = 1 / 0\n", "good": 'words = "Earn 40 points"\n'}


class Killed(BaseException):
    """The engine is killed, as if by kill -9."""


@pytest.fixture
def shop(ground: Ground) -> Ground:
    ground.write("shop.py", SERVER)
    ground.write("page.py", 'words = "+ loyalty points"\n')
    ground.commit()
    (ground.folder / "ticket.md").write_text(TICKET)
    ground.requirements.write_text(json.dumps({"serve": SERVE, "requirements": [REQUIRED]}))
    return ground


async def run(shop: Ground, engine: Engine) -> RunRecord:
    return await shop.run(engine, str(shop.folder / "ticket.md"), network="host")


def fetched(address: str) -> str:
    with urlopen(address, timeout=20) as answer:
        text: str = answer.read().decode()
        return text


def page(order: Order, state: str) -> dict[str, Any]:
    (Path(order.folder) / "page.py").write_text(WORDS[state])
    claims = {"success": True, "branch_name": "", "files_changed": ["page.py"], "summary": state}
    fixes = {"success": True, "files_modified": ["page.py"], "changes_summary": state}
    return claims if order.role == "impl-agent" else fixes


@pytest.mark.spec("TIC-5", "TIC-8")
@pytest.mark.slow
async def test_a_preview_that_does_not_come_up_is_an_issue_and_one_that_does_is_seen_and_outlives_a_kill(
    shop: Ground,
) -> None:
    seen: list[str] = []
    dies = [True]

    async def looks(order: Order) -> dict[str, Any]:
        address = next(word for word in order.brief.split() if word.startswith("http://127.0.0.1:"))
        seen.append(f"{address} {await asyncio.to_thread(fetched, address)}")
        if dies.pop() if dies else False:
            raise Killed
        return {"passed": True, "issues": []}

    parts = script(impl=lambda order: page(order, "broken"), fix=lambda order: page(order, "good"), verify=looks)
    engine, runtime = shop.engine(parts)
    with pytest.raises(Killed):
        await run(shop, engine)
    assert [order.role for order in runtime.orders] == ["impl-agent", "fix-agent", "verify-agent"]
    assert "the preview does not come up: the server ended" in runtime.orders[1].brief
    assert "division by zero" in runtime.orders[1].brief
    engine, runtime = shop.engine(parts)
    (begun,) = engine.store.journal.runs()
    record = await engine.resume(begun.id)
    assert record.state == "done"
    assert [order.role for order in runtime.orders] == ["verify-agent", "pr-agent"]
    assert len(seen) == 2
    assert seen[0] == seen[1], "the same port as before"
    assert seen[0].endswith("Earn 40 points")
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(fetched, seen[0].split()[0])
    told = [event.data["why"] for event in events(engine, record, "preview")]
    assert [bool(why) for why in told] == [True, False]


@pytest.mark.spec("TIC-5", "TIC-1")
@pytest.mark.slow
async def test_a_preview_of_the_tickets_own_is_handed_on_and_said_to_be_out_of_reach(ground: Ground) -> None:
    ground.require([DOUBLED])
    (ground.folder / "ticket.md").write_text(TICKET.replace("type: bug", "type: bug\npreview: http://127.0.0.1:9/x"))
    heard: list[Event] = []
    engine, runtime = ground.engine(script(impl=lambda order: implemented(order, WHOLE)))
    engine.store.listen = lambda _, event: heard.append(event)
    record = await ground.run(engine, str(ground.folder / "ticket.md"))
    assert record.state == "done"
    assert "http://127.0.0.1:9/x (it cannot be reached:" in runtime.orders[1].brief
    (told,) = [event for event in heard if event.kind == "preview"]
    assert "cannot be reached" in told.data["why"]
