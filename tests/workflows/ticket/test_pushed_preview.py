"""Previews that exist only after a push: the engine pushes, waits and looks at them; they are never evidence."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.workflows.conftest import Ground, events
from tests.workflows.ticket.test_found_server import TICKET as PAGE_TICKET
from tests.workflows.ticket.test_found_server import needs_chromium
from tests.workflows.ticket.test_ticket import BRANCH, REQUIRED, TICKET, WHOLE, implemented, script
from trued.engine.engine import Engine
from trued.model import RunRecord
from trued.wire import Order


@contextmanager
def host(remote: Path, file: str, refuses: int = 0) -> Iterator[str]:
    """A server of a file of the newest pushed branch, like a host of previews. `refuses`: the number of first requests
    that get a 404."""
    early = [404] * refuses

    class Deployed(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            named = ["git", "-C", str(remote), "for-each-ref", "--format=%(refname)", "--sort=-committerdate"]
            refs = subprocess.run(named, capture_output=True, text=True, check=True).stdout.split()
            shown = ["git", "-C", str(remote), "show", f"{refs[0]}:{file}"] if refs else ["false"]
            content = subprocess.run(shown, capture_output=True, check=False).stdout
            self.send_response(early.pop() if early else 200 if content else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content if self.command == "GET" else b"")

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Deployed)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def remote_of(ground: Ground) -> Path:
    remote = ground.folder / "hosted.git"
    ground.git("init", "-q", "--bare", str(remote))
    ground.git("remote", "add", "hosted", str(remote))
    return remote


@pytest.mark.spec("DAY-3")
@pytest.mark.slow
async def test_the_branch_is_pushed_and_its_preview_waited_for_and_handed_on(ground: Ground) -> None:
    (ground.folder / "ticket.md").write_text(TICKET)
    ground.require([REQUIRED])
    remote = remote_of(ground)
    with host(remote, "tiny.py", refuses=1) as address:
        engine, runtime = ground.engine(script(impl=lambda order: implemented(order, WHOLE)))
        wanted = {"push": "hosted", "url": f"{address}/{{branch}}/{{commit}}", "within_s": 60}
        record = await ground.run(engine, str(ground.folder / "ticket.md"), preview=wanted)
    assert record.state == "done"
    (shown,) = events(engine, record, "preview")
    assert shown.data["why"] == ""
    assert shown.data["url"] == f"{address}/{BRANCH.lower().replace('/', '-')}/{shown.data['commit']}"
    assert shown.data["url"] in runtime.orders[1].brief
    assert ground.git("ls-remote", "hosted").split() == [shown.data["commit"], f"refs/heads/{BRANCH}"]


@pytest.mark.spec("DAY-3")
async def test_a_preview_that_never_answers_is_an_issue_after_its_time(ground: Ground) -> None:
    (ground.folder / "ticket.md").write_text(TICKET)
    ground.require([REQUIRED])
    with host(remote_of(ground), "tiny.py", refuses=10**6) as address:
        engine, runtime = ground.engine(script(impl=lambda order: implemented(order, WHOLE)))
        wanted = {"push": "hosted", "url": address, "within_s": 0.1}
        record = await ground.run(engine, str(ground.folder / "ticket.md"), preview=wanted, rounds=1)
    assert [order.role for order in runtime.orders if order.role == "verify-agent"] == []
    (told,) = events(engine, record, "round")
    assert "the preview does not come up: it answers 404 (after 0.1 s)" in told.data["open"][0]


def wrote(order: Order, text: str) -> dict[str, Any]:
    (Path(order.folder) / "index.html").write_text(f"<p>{text}</p>")
    claims = {"success": True, "branch_name": "", "files_changed": ["index.html"], "summary": "done"}
    return claims if order.role == "impl-agent" else {"success": True, "files_modified": [], "changes_summary": "x"}


async def opened(ground: Ground, first: str, then: str, **flags: Any) -> tuple[Engine, RunRecord]:
    """A run of the ticket with a page, whose implementer and fixer write these texts into the page."""
    ground.write("index.html", "<p>+ loyalty points</p>")
    ground.commit()
    (ground.folder / "ticket.md").write_text(PAGE_TICKET)
    parts = script(
        impl=lambda order: wrote(order, first),
        fix=lambda order: wrote(order, then),
        verify=lambda _: {"passed": True, "issues": []},
    )
    with host(remote_of(ground), "index.html") as address:
        engine, _ = ground.engine(parts)
        agents = {f"{name}-agent": "scripted:inside" for name in ("impl", "verify", "fix", "pr")}
        given = {"required": False, "agents": agents, "preview": {"push": "hosted", "url": address}, **flags}
        record = await ground.run(engine, str(ground.folder / "ticket.md"), **given)
    return engine, record


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("DAY-3", "TIC-6")
async def test_the_engine_opens_the_pages_that_the_ticket_names_there_itself(ground: Ground) -> None:
    engine, record = await opened(ground, "Earn 4 points", "Earn 40 points")
    first, second = events(engine, record, "round")
    said = [one["description"] for one in first.data["issues"]]
    assert any('on the preview of the pushed branch: expected to see "Earn 40 points"' in one for one in said)
    assert second.data["issues"] == []
    assert events(engine, record, "pages not opened") == []


@pytest.mark.slow
@pytest.mark.spec("DAY-3", "TIC-6")
async def test_pages_that_this_machine_cannot_open_are_recorded_as_not_looked_at(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = ground.folder / "bin"
    programs.mkdir()
    for name in ("git", "bwrap", "sh", "env"):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(ground.folder))
    engine, record = await opened(ground, "Earn 40 points", "Earn 40 points", rounds=1)
    (not_opened,) = events(engine, record, "pages not opened")
    assert not_opened.data["urls"][0].startswith("http://127.0.0.1:")
    assert "pip install" in not_opened.data["why"]
    (ended,) = events(engine, record, "round")
    assert not [issue for issue in ended.data["issues"] if "preview" in issue["description"]], "no issue of the work"
    assert record.code != 0, "a page that nobody looked at is not met"
