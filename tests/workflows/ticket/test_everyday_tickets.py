"""Everyday tickets without a requirements file: a page of a Flask application, and a second clone."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, events
from tests.workflows.ticket.test_ticket import HALF, WHOLE, script
from trued.engine.approvals import Decision, decide
from trued.engine.engine import Engine
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.engine.pending import waits
from trued.model import Grade, RunRecord
from trued.proof.room.chromium import find_chromium
from trued.wire import Order

pytestmark = pytest.mark.slow
needs_chromium = pytest.mark.skipif(bool(find_chromium()[1]), reason=find_chromium()[1] or "-")
FALSE = "\n- [x] done, and checked\n"


async def started(ground: Ground, parts: Any, ticket: str, **flags: Any) -> tuple[Engine, RunRecord]:
    engine, _ = ground.engine(parts)
    (ground.repository / "ticket.md").write_text(ticket)
    if ground.git("status", "--porcelain"):
        ground.commit()
    return engine, await ground.run(engine, "ticket.md", required=False, rounds=2, **flags)


async def lands(engine: Engine, record: RunRecord) -> bool:
    return (await land(engine.store, record.id, LandingRequest(who="ann"), engine.person)).landed


def unchanged(ground: Ground, record: RunRecord, ticket: str) -> bool:
    """Whether the run's branch has the ticket as its author wrote it; True if there is no branch, for lack of a
    commit."""
    there = ground.git("for-each-ref", f"refs/heads/{record.branch}")
    return not there or ground.file(record, "ticket.md") == ticket.strip()


def claims(order: Order, *files: str) -> dict[str, Any]:
    """A reply of this role that claims success and these changed files."""
    if order.role == "impl-agent":
        return {"success": True, "branch_name": "", "files_changed": [*files], "summary": "done"}
    return {"success": True, "files_modified": [*files], "changes_summary": "done"}


def does_nothing(order: Order) -> dict[str, Any]:
    return claims(order)


def edits_the_ticket(order: Order) -> dict[str, Any]:
    """An agent that builds nothing, and writes into the ticket and the project's documents that all is done."""
    for name in ("ticket.md", "README.md", "PLAN.md"):
        path = Path(order.folder, name)
        path.write_text((path.read_text() if path.exists() else "") + FALSE)
    return claims(order, "README.md")


# -- a Flask application with a page criterion -------------------------------------------------------------------------

PAGE = """---
key: SHOP-3
---
# Customers see their points

## Acceptance criteria

- The page / shows "Earn 40 points" and no longer shows "loyalty points".
"""
FLASK = """from flask import Flask

app = Flask(__name__)


@app.get("/")
def home():
    return "<p>+ loyalty points</p>"
"""


def shop(ground: Ground) -> Ground:
    ground.write("app.py", FLASK)
    ground.write("requirements.txt", "flask\n")
    ground.commit()
    return ground


def shows_points(order: Order) -> dict[str, Any]:
    page = Path(order.folder, "app.py")
    page.write_text(page.read_text().replace("+ loyalty points", "Earn 40 points"))
    return claims(order, "app.py")


def looks(_: Order) -> dict[str, Any]:
    return {"passed": True, "issues": []}


def no_cases(_: Order) -> dict[str, Any]:
    """An examiner that adds no cases to the visible check of the page."""
    return {"cases": [], "interface": []}


def on_the_shop(part: Callable[[Order], dict[str, Any]]) -> Any:
    agents = script(impl=part, fix=part, verify=looks)
    return lambda order: no_cases(order) if order.role == "examiner" else agents(order)


@needs_chromium
@pytest.mark.spec("DAY-3", "DAY-2", "DAY-6")
async def test_a_page_of_a_flask_application_is_looked_at_and_asks_one_question(ground: Ground) -> None:
    engine, record = await started(shop(ground), on_the_shop(shows_points), PAGE)
    assert (record.state, record.code) == ("waiting", 3), record.why
    verdict = engine.store.verdict(record.id)
    assert verdict
    grades = {one.id: one.grade for one in verdict.requirements}
    assert grades["acceptance-1"] is Grade.TESTED, "its words stand where the implementer reads them"
    (found,) = events(engine, record, "server found")
    assert found.data["command"].startswith("python -m flask --app app:app")
    (asked,) = waits(engine.store, record)
    assert (asked.kind, asked.requirement) == ("attest", "acceptance-1")
    after = decide(engine.store, record.id, ["acceptance-1"], Decision("ann", "I looked at it"))
    assert (after.state, after.code) == ("done", 0), (waits(engine.store, after), after.why)
    assert await lands(engine, after)


@needs_chromium
@pytest.mark.spec("DAY-4", "DAY-5")
@pytest.mark.parametrize("act", [does_nothing, edits_the_ticket])
async def test_a_page_for_which_nothing_was_done_is_refuted_and_never_lands(
    ground: Ground, act: Callable[[Order], dict[str, Any]]
) -> None:
    engine, record = await started(shop(ground), on_the_shop(act), PAGE)
    assert (record.state, record.code) == ("not proven", 1)
    assert unchanged(ground, record, PAGE)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert {one.id: one.grade for one in verdict.requirements}["acceptance-1"] is Grade.REFUTED
    assert not await lands(engine, record)


# -- a ticket in the second clone --------------------------------------------------------------------------------------

NUMBERS = """---
key: NUM-7
type: bug
---

# Numbers are not doubled

## Requirements

- `double(x)` returns twice its argument, strings, too.
"""
WORDS = "`double(x)` returns twice its argument, strings, too."


def examined(_: Order) -> dict[str, Any]:
    given = ((21, 42), ("ab", "abab"), (5, 10))
    cases = [{"call": "tiny:double", "args": [one], "returns": two, "quotes": WORDS} for one, two in given]
    return {"interface": ["tiny:double(x)"], "cases": [{"requirement": "goal-1", "cases": [one]} for one in cases]}


def half_then_whole(order: Order) -> dict[str, Any]:
    """Honest agents: the implementer forgets strings, and the fixer adds them."""
    Path(order.folder, "tiny.py").write_text(HALF if order.role == "impl-agent" else WHOLE)
    return claims(order, "tiny.py")


def on_numbers(part: Callable[[Order], dict[str, Any]]) -> Any:
    agents = script(impl=part, fix=part, verify=looks)
    return lambda order: examined(order) if order.role == "examiner" else agents(order)


def second_clone(ground: Ground) -> Ground:
    """A second clone of the repository by the same person, with the same state folder."""
    other = ground.folder / "second"
    subprocess.run(["git", "clone", "-q", str(ground.repository), str(other)], check=True, capture_output=True)
    ground.repository = other
    return ground


async def one_after_the_other(ground: Ground, part: Callable[[Order], dict[str, Any]]) -> tuple[Engine, RunRecord]:
    """Finish the ticket in the first clone, and start it again in the second, which does not have that work."""
    engine, first = await started(ground, on_numbers(half_then_whole), NUMBERS)
    assert (first.state, first.code) == ("waiting", 3), first.why
    engine.close()
    again = second_clone(ground)
    again.git("checkout", "-q", "main")
    return await started(again, on_numbers(part), NUMBERS)


@pytest.mark.spec("DAY-8")
async def test_a_ticket_in_the_second_clone_goes_as_in_the_first_and_asks_one_question(ground: Ground) -> None:
    engine, record = await one_after_the_other(ground, half_then_whole)
    assert (record.state, record.code) == ("waiting", 3), record.why
    verdict = engine.store.verdict(record.id)
    assert verdict
    known = {*ground.git("rev-list", "--all").split()}
    assert {one.commit for one in verdict.evidence} <= known, "no commit of the other clone is named"
    assert [one.kind for one in waits(engine.store, record)] == ["approve"]
    after = decide(engine.store, record.id, [None], Decision("ann", "I read the cases"))
    assert (after.state, after.code, after.grade) == ("done", 0, Grade.PROVEN)
    assert await lands(engine, after)


@pytest.mark.spec("DAY-8", "DAY-4", "DAY-5")
@pytest.mark.parametrize("act", [does_nothing, edits_the_ticket])
async def test_what_was_done_in_the_first_clone_completes_nothing_in_the_second(
    ground: Ground, act: Callable[[Order], dict[str, Any]]
) -> None:
    engine, record = await one_after_the_other(ground, act)
    assert (record.state, record.code) == ("not proven", 1)
    assert unchanged(ground, record, NUMBERS)
    assert not await lands(engine, record)
