"""`trued page`: it serves the pages to who entered, live, and leaves nothing behind."""

import json
import os
import re
import signal
import socket
import stat
import threading
from pathlib import Path
from urllib.parse import quote

import pytest

import trued.page as page_package
from tests.page.made_up import addresses, demo
from tests.page.served import RUN, WITHIN_S, Served, answered, page, received
from tests.page.test_pages_hold_back import KEY, SECRETS, examined
from trued.errors import BadInput
from trued.page.server import open_sockets

ONLY = "holder.innerHTML = policy.createHTML(html);"


@pytest.mark.spec("PAGE-1")
def test_who_entered_sees_the_runs_and_each_page_by_its_address(served: Served) -> None:
    assert "Slugs" in served.get("/").body
    assert served.get(f"/r/{RUN}").status == 200
    assert served.get("/r/r-none").status == 404
    assert served.get("/nothing").status == 404


@pytest.mark.spec("PAGE-5")
def test_the_name_is_random_and_both_loopback_addresses_are_taken(served: Served) -> None:
    assert re.fullmatch(r"t-[0-9a-f]{8}\.localhost", served.host)
    with pytest.raises(BadInput, match="in use"):
        open_sockets(served.port)
    with socket.socket(socket.AF_INET6) as other, pytest.raises(OSError, match="in use"):
        other.bind(("::1", served.port))


@pytest.mark.spec("PAGE-5")
def test_a_port_that_somebody_holds_on_one_address_is_not_taken_on_the_other() -> None:
    with socket.socket(socket.AF_INET6) as squatter:
        squatter.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        squatter.bind(("::1", 0))
        squatter.listen()
        with pytest.raises(BadInput, match="in use"):
            open_sockets(squatter.getsockname()[1])


@pytest.mark.spec("PAGE-2")
def test_a_stream_begins_with_all_pieces_and_the_newest_id_of_the_journal(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=WITHIN_S) as connection:
        head = f"GET /live?address=/ HTTP/1.1\r\nHost: {served.authority}\r\nCookie: {served.session['Cookie']}\r\n\r\n"
        connection.sendall(head.encode())
        text = b""
        while b"\r\n\r\nid:" not in text.replace(b"\n", b"\n") and b"data:" not in text:
            text += connection.recv(65536)
    assert b"id: 1" in text
    assert b"Slugs" in text


@pytest.mark.spec("PAGE-5")
def test_the_entry_file_is_private_used_once_and_gone_at_the_end(tmp_path: Path) -> None:
    with page(tmp_path) as one:
        assert stat.S_IMODE(one.enter_file.stat().st_mode) == 0o600
        one.enter()
        assert not one.enter_file.exists()
        command = Path(f"/proc/{one.process.pid}/cmdline").read_bytes()
        assert one.session["Cookie"].partition("=")[2].encode() not in command
        os.kill(one.process.pid, signal.SIGINT)
        assert one.process.wait(WITHIN_S) == 0
        assert "Traceback" not in one.errors.read_text()
    assert not (tmp_path / "page").exists()


@pytest.mark.spec("PAGE-1")
def test_the_script_is_small_and_comes_from_nowhere_else(served: Served) -> None:
    names = [one.name for one in (Path(page_package.__file__).parent / "static").glob("*.js")]
    scripts = [served.get(f"/static/{name}").body for name in names]
    assert sum(len(one.encode()) for one in scripts) <= 30_000
    assert not any("http://" in one or "https://" in one or "innerHTML = " in one.replace(ONLY, "") for one in scripts)


@pytest.mark.spec("PAGE-2")
def test_a_transcript_that_grows_is_sent_though_the_journal_says_nothing(tmp_path: Path) -> None:
    demo(tmp_path, state="running")
    spool = tmp_path / "runs" / "r-demo" / "spool"
    file = sorted(spool.glob("*/events.jsonl"))[-1]
    with page(tmp_path) as one:
        one.enter()
        with socket.create_connection(("127.0.0.1", one.port), timeout=WITHIN_S) as connection:
            head = f"GET /live?address=/r/r-demo HTTP/1.1\r\nHost: {one.authority}\r\n"
            head += f"Cookie: {one.session['Cookie']}\r\n\r\n"
            connection.sendall(head.encode())
            text = connection.recv(65536)
            with file.open("a") as lines:
                lines.write(json.dumps({"at": 1_762_000_009.0, "kind": "log", "text": "a line of its own"}) + "\n")
            while b"a line of its own" not in text:
                text += connection.recv(65536)


@pytest.mark.spec("PAGE-6")
def test_a_picture_is_given_by_its_hash_alone(served: Served) -> None:
    for name in ("x", "0" * 64, "..%2f..%2fjournal.db", "%2e%2e/journal.db"):
        assert served.get(f"/picture/{name}").status == 404


@pytest.mark.spec("PAGE-6")
def test_36_who_stole_a_session_that_looks_sees_nothing_that_is_held_out(tmp_path: Path) -> None:
    examined(tmp_path, "running").close()
    with page(tmp_path, "--look") as one:
        one.enter()
        for address in addresses("r-demo", KEY, "slug"):
            asked = (address, f"/pieces?address={quote(address)}")
            found = "".join(answer.body for answer in map(one.get, asked) if answer.status == 200)
            assert found, address
            assert not any(secret in found for secret in (*SECRETS, "Foo &amp; Bar 42", "foo-bar-42")), address


@pytest.mark.spec("PAGE-1")
def test_who_opens_an_address_that_leads_nowhere_is_led_back_and_a_script_gets_one_sentence(served: Served) -> None:
    for address, why in (("/r/r-nowhere", "There is no run"), ("/x", "There is nothing here")):
        found = served.get(address, {"Sec-Fetch-Dest": "document"})
        assert found.status == 404
        assert found.headers["content-type"].startswith("text/html")
        assert why in found.body
        assert '<a href="/">All runs</a>' in found.body
        assert "page.js" not in found.body  # nothing on it moves: no stream is asked for
    asked = served.get("/pieces?address=/r/r-nowhere", {"Sec-Fetch-Dest": "empty"})
    assert (asked.status, asked.body.count("<")) == (404, 0)


@pytest.mark.spec("PAGE-5", "PAGE-6")
def test_the_page_for_a_missing_run_shows_its_name_as_text(served: Served) -> None:
    found = served.get("/r/%3Cscript%3Ealert(1)%3C%2Fscript%3E%E2%80%AE")
    assert found.status == 404
    assert "<script>alert" not in found.body
    assert "\u202e" not in found.body


@pytest.mark.spec("PAGE-5")
@pytest.mark.parametrize("same_port", [True, False])
def test_a_tunnel_that_keeps_the_port_shows_the_page_and_one_that_changes_it_shows_nothing(
    served: Served, same_port: bool
) -> None:
    """127.0.0.2 stands for the other end of `ssh -L PORT:127.0.0.1:PORT`: the browser there asks for the same name."""
    with socket.create_server(("127.0.0.2", served.port if same_port else 0)) as entrance:
        port = entrance.getsockname()[1]
        thread = threading.Thread(target=_forward_once, args=(entrance, served.port), daemon=True)
        thread.start()
        with socket.create_connection(("127.0.0.2", port), timeout=WITHIN_S) as browser:
            lines = ["GET / HTTP/1.1", f"Host: {served.host}:{port}", f"Cookie: {served.session['Cookie']}"]
            browser.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
            found = answered(received(browser))
        thread.join(WITHIN_S)
    assert (found.status, "Slugs" in found.body) == ((200, True) if same_port else (421, False))


def _forward_once(entrance: socket.socket, port: int) -> None:
    near, _ = entrance.accept()
    with near, socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S) as far:
        far.sendall(near.recv(65536))
        near.sendall(received(far))
