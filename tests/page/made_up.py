"""State folders made up for pages: a journal with runs that nobody ever drove."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from starlette.routing import compile_path

from tests.reporting.html.sample import material
from trued.engine.inputs import Inputs
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import Contract, Event, RunRecord, Settings
from trued.page.pages import PAGES
from trued.page.pages.opening import viewed
from trued.page.reader import Reader
from trued.page.render import document
from trued.page.view import PageView
from trued.reporting.html.material import Material, Proved
from trued.support.hashing import folder_name


def add_run(home: Path, one: Material, spooled: Sequence[str] = ()) -> RunRecord:
    """Write a run as the engine would have left it; `spooled`: lines of every call's transcript."""
    inputs = Inputs(
        goal=one.goal,
        settings=one.settings,
        roles={},
        requirements=None,
        requirements_file="",
        instructions="",
        level=one.level,
        version=one.version,
    )
    journal = SqliteJournal(home / "journal.db")
    journal.add(one.record, inputs.model_dump_json())
    journal.close()
    add_events(home, one.record.id, one.events)
    add_steps(home, one.record.id, one.contract, one.history)
    for event in one.events:
        if event.kind == "asked" and spooled:
            folder = home / "runs" / one.record.id / "spool" / f"{folder_name(event.key)}.1"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in spooled), encoding="utf-8")
    return one.record


def add_events(home: Path, run: str, events: Iterable[Event]) -> None:
    rows = [(run, one.at, one.key, one.kind, json.dumps(one.data)) for one in events]
    with sqlite3.connect(home / "journal.db") as db:
        db.executemany("insert into event (run, at, key, kind, data) values (?, ?, ?, ?, ?)", rows)
    db.close()


def add_steps(home: Path, run: str, contract: Contract | None, history: Sequence[Proved]) -> None:
    rows = [(run, "seal#1", contract.model_dump_json(), 0.0)] if contract else []
    rows += [(run, one.key, one.verdict.model_dump_json(), one.at) for one in history]
    with sqlite3.connect(home / "journal.db") as db:
        db.executemany("insert into step (run, key, inputs, value, began, ended) values (?, ?, '', ?, 0, ?)", rows)
    db.close()


def demo(home: Path, evil: str = "", **changes: object) -> RunRecord:
    """The report's sample as a run of this state folder."""
    changes.setdefault("settings", Settings(agents={"*": "scripted:/tmp/demo/agents.py"}))
    lines = [
        json.dumps({"at": 1_762_000_004.0, "kind": "log", "text": f"writing the module{evil}"}),
        json.dumps(
            {"at": 1_762_000_005.0, "kind": "tool", "name": f"Bash{evil}", "what": json.dumps({"command": f"ls{evil}"})}
        ),
    ]
    return add_run(home, material(evil, **changes), lines)


def view_of(reader: Reader, address: str) -> PageView:
    """The page at this address. Raises BadInput where there is none, as the server does."""
    parts = urlsplit(address)
    for route in PAGES:
        if found := compile_path(route.path)[0].match(unquote(parts.path)):
            return viewed(route, {**dict(parse_qsl(parts.query)), **found.groupdict()}, reader)
    raise LookupError(address)


def html_of(reader: Reader, address: str) -> str:
    return document(view_of(reader, address), address)


def addresses(run: str, call: str, requirement: str) -> list[str]:
    """Every page of the server that is there for this run."""
    filled = {"{run}": run, "{key:path}": call, "{requirement:path}": requirement}
    found = []
    for route in PAGES:
        path = route.path
        for name, value in filled.items():
            path = path.replace(name, quote(value))
        found += [] if "{" in path else [path]
    return found
