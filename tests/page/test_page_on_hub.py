"""The page of a journal on Postgres: the same pages, live, with the same rights."""

import json
import socket
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.bare_inputs import BARE_INPUTS
from tests.engine.ended_run import RUN as ENDED
from tests.engine.ended_run import ended_run
from tests.page.made_up import addresses
from tests.page.served import RUN, WITHIN_S, page
from tests.postgres import PASSWORD, PostgresServer
from trued.hub.postgres import PostgresJournal
from trued.model import RunRecord
from trued.model.events.run import RunBegan


@pytest.mark.spec("PAGE-1", "PAGE-4", "HUB-8")
def test_a_page_shows_and_steers_a_run_of_another_machine_and_raises_no_limit_without_the_terminal(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url, state = postgres.new_database(), tmp_path / "state"
    state.mkdir()
    elsewhere = tmp_path / "no such folder here"
    record = RunRecord(
        id=RUN, workflow="purple", title="Slugs", repository=str(elsewhere), base="b" * 40, branch=f"trued/{RUN}"
    )
    with closing(PostgresJournal(url)) as journal:
        journal.add(record, BARE_INPUTS)
        with page(state, hub=url) as served:
            served.enter()
            there = [
                one for one in addresses(RUN, "x", "y") if not one.endswith(("/x", "/y"))
            ]  # no call, no requirement
            pages = [served.get(one) for one in there]
            assert [one.status for one in pages] == [200] * len(there)
            with socket.create_connection(("127.0.0.1", served.port), timeout=WITHIN_S) as connection:
                head = [f"GET /live?address=/r/{RUN} HTTP/1.1", f"Host: {served.authority}"]
                head += [f"Cookie: {served.session['Cookie']}", "", ""]
                connection.sendall("\r\n".join(head).encode())
                text = connection.recv(65536)
                journal.of(RUN).emit(RunBegan(title="a title of its own", workflow="purple", branch="", level=""))
                while b"a title of its own" not in text:
                    text += connection.recv(65536)
            assert served.post("/do/limit", {"run": RUN, "limit": "usd=5"}).status == 200
            raised = served.post("/do/limit", {"run": RUN, "limit": "usd=9"})
            assert (raised.status, json.loads(raised.body)["command"].split()[:2]) == (409, ["trued", "limit"])
            assert journal.limit_changes(RUN) == [("", "usd", 5.0)]
            assert PASSWORD not in "".join(one.body for one in pages) + served.errors.read_text()
    assert not (state / "journal.db").exists()


@pytest.mark.slow
@pytest.mark.spec("PAGE-4", "HUB-8")
def test_an_approval_of_a_run_on_the_hub_is_finished_in_the_terminal_and_kept_there(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url = postgres.new_database()
    with ended_run(tmp_path, hub=url) as place:
        place.finish(1, place.commits[2])
    wanted = {"run": ENDED, "requirement": "look", "who": "Ann Lee", "reason": "I looked"}
    with page(tmp_path / "state", terminal=True, hub=url) as served, closing(PostgresJournal(url)) as journal:
        served.enter()
        assert "form-1" in served.get(f"/r/{ENDED}").body  # what waits can be answered there
        refused = json.loads(served.post("/do/approve", {**wanted, "who": "Mallory"}).body)
        assert f"Mallory accepts look of {ENDED}" in served.reads("press Enter to refuse")
        served.types(f"{(int(refused['number']) + 1) % 10_000:04}")
        served.reads("to refuse")
        served.types("")
        served.reads("nothing was recorded")
        assert journal.approvals(ENDED) == []
        proposed = json.loads(served.post("/do/approve", wanted).body)
        served.reads("press Enter to refuse")
        served.types(proposed["number"])
        served.reads("recorded")
        (approval,) = journal.approvals(ENDED)
        assert (approval.requirement, approval.who, approval.why, approval.way) == (
            "look",
            "Ann Lee",
            "I looked",
            "page",
        )
        assert "Ann Lee" in served.get(f"/r/{ENDED}/people").body
        assert journal.driver(ENDED) == 0  # the page drives no run
    assert not (tmp_path / "state" / "journal.db").exists()
