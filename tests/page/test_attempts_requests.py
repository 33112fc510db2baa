"""Attempts that must fail: requests that another web site, a program or a former session sends over a plain socket."""

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.page.served import RUN, WITHIN_S, Served, answered, page, received, with_run
from trued.cli.page import report_bug
from trued.engine.journals.sqlite import SqliteJournal
from trued.page.guard import HEADERS, PageAddress, PageGate
from trued.page.server import PageOptions, PageServer
from trued.page.sessions import CODE_S, LONGEST_S, Guesses, Sessions

pytestmark = pytest.mark.spec("PAGE-5")
PRIVATE = ("Slugs", RUN, "Go on with")
YES = {"run": RUN, "key": "go on#1", "answer": "yes"}


def _says_nothing(text: str) -> bool:
    return not any(word in text for word in PRIVATE)


def _is_unanswered(served: Served) -> bool:
    journal = SqliteJournal(served.home / "journal.db", read_only=True)
    still_open = bool(journal.questions(RUN, only_open=True))
    journal.close()
    return still_open


# -- from a web site -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "127.0.0.1:{port}",
        "localhost:{port}",
        "[::1]:{port}",
        "{name}",
        "{name}:80",
        "{name}.:{port}",
        "{upper}:{port}",
        "x.{name}:{port}",
        "{name}:{port}.evil.example",
        "{name}:0{port}",
        "",
    ],
)
def test_1_and_2_another_name_or_port_gets_nothing_even_with_the_cookie(served: Served, host: str) -> None:
    wrong = host.format(port=served.port, name=served.host, upper=served.host.upper())
    answer = served.get("/", {"Host": wrong})
    assert answer.status == 421, answer
    assert _says_nothing(answer.body)


@pytest.mark.parametrize("lines", ["", "Host: {own}\r\nHost: {own}\r\n", "Host: {own}\r\nHost: evil.example\r\n"])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_2_a_host_that_is_absent_or_sent_twice_gets_nothing(served: Served, lines: str, version: str) -> None:
    head = f"GET / HTTP/{version}\r\n{lines.format(own=served.authority)}Cookie: {served.session['Cookie']}\r\n"
    answer = served.raw(f"{head}Connection: close\r\n\r\n".encode())
    assert answer.status in (400, 421)
    assert _says_nothing(answer.body)


@pytest.mark.parametrize("target", ["http://evil.example/", "http://{own}/", "//evil.example/", "*", "evil:80"])
def test_2_an_address_in_the_request_line_gets_nothing(served: Served, target: str) -> None:
    answer = served.send(
        "GET", target.format(own=served.authority), {"Host": served.authority, "Cookie": served.session["Cookie"]}
    )
    assert answer.status in (400, 404)
    assert _says_nothing(answer.body)


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "style"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "same-origin, cross-site", "Sec-Fetch-Dest": "document"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://{own}"},
        {"Origin": "http://{own}.evil.example"},
    ],
)
def test_5_to_8_what_another_origin_asks_for_gets_nothing_even_with_the_cookie(
    served: Served, headers: dict[str, str]
) -> None:
    named = {name: value.format(own=served.authority) for name, value in headers.items()}
    for path in ("/", f"/r/{RUN}", "/live?address=/", "/pieces?address=/", "/waits"):
        answer = served.get(path, named)
        assert answer.status in (401, 403)
        assert _says_nothing(answer.body)


def test_6_a_websocket_is_not_spoken(served: Served) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    answer = served.get("/live?address=/r/r-none", {**upgrade, "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
    assert answer.status == 404


def test_7_every_answer_forbids_frames_openers_and_scripts_from_elsewhere(served: Served) -> None:
    answers = [served.get(path) for path in ("/", "/nothing", "/waits", "/static/page.js", "/r/r-none")]
    answers += [served.get("/", session={}), served.get("/", {"Host": "evil.example"}), served.send("TRACE", "/", {})]
    answers += [served.post("/do/answer", {}), served.post("/enter", {"code": "x"})]
    for answer in answers[:7] + answers[8:]:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert not any(name.startswith("access-control") for name in answer.headers)


# -- by forged requests ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ""}, 403),  # 9
        ({"Origin": "null"}, 403),  # 10
        ({"Origin": "http://localhost"}, 403),
        ({"Content-Type": "text/plain"}, 415),  # 11
        ({"Content-Type": ""}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),  # 12
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": "application/json, text/plain"}, 415),
        ({"X-Tab-Key": ""}, 403),
        ({"X-Tab-Key": "another"}, 403),  # 16
        ({"Cookie": ""}, 401),
        ({"Cookie": "trued=another"}, 401),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
    ],
)
def test_9_to_12_and_16_a_post_that_the_page_did_not_send_changes_nothing(
    served: Served, headers: dict[str, str], status: int
) -> None:
    assert served.post("/do/answer", YES, headers).status == status
    assert _is_unanswered(served)


@pytest.mark.parametrize("path", ["/do/answer?_method=POST", "/do/answer", "/enter", "/do/cancel?run=" + RUN])
@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Method-Override", "X-Accept"])
def test_13_a_get_changes_nothing_whatever_it_calls_itself(served: Served, path: str, header: str) -> None:
    assert served.get(path, {header: "POST"}).status in (404, 405)
    assert _is_unanswered(served)


def test_14_a_code_that_was_used_is_refused_and_said_loudly(tmp_path: Path) -> None:
    with page(tmp_path) as one:
        code = one.code()
        one.enter(code)
        assert one.post("/enter", {"code": code}).status == 403
        assert "used a second time" in one.errors.read_text()


def test_15_a_code_is_good_for_a_minute() -> None:
    now = [0.0]
    sessions = Sessions(lambda sentence: None, lambda: now[0])
    in_time, too_late = sessions.new_code(), sessions.new_code()
    now[0] = CODE_S
    assert sessions.enter(in_time)
    now[0] += 0.001
    assert sessions.enter(too_late) is None


def test_16_the_key_of_another_session_or_process_opens_nothing(served: Served, tmp_path: Path) -> None:
    with page(tmp_path) as other:
        foreign = other.enter()
    assert served.get("/", session=foreign).status == 401
    assert served.post("/do/answer", YES, session=foreign).status == 401
    mixed = {**served.session, "X-Tab-Key": foreign["X-Tab-Key"]}
    assert served.post("/do/answer", YES, session=mixed).status == 403
    assert _is_unanswered(served)


def test_16_the_key_of_one_browser_is_no_key_of_another() -> None:
    sessions = Sessions(lambda sentence: None)
    one, two = (sessions.enter(sessions.new_code()) for _ in range(2))
    assert one
    assert two
    first = sessions.session(one.cookie)
    assert first
    assert sessions.has_key(first, one.key)
    assert not sessions.has_key(first, two.key)


def test_17_a_body_that_is_too_large_is_refused(served: Served) -> None:
    large = json.dumps({**YES, "comment": "x" * 65 * 1024}).encode()
    assert served.post("/do/answer", large).status == 413
    head = f"POST /do/answer HTTP/1.1\r\nHost: {served.authority}\r\nOrigin: {served.url}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in served.session.items())
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    chunks = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    assert served.raw(head.encode() + chunks * 17 + b"0\r\n\r\n").status == 413
    assert _is_unanswered(served)


def test_17_a_thousand_headers_are_refused(served: Served) -> None:
    many = {f"X-{number}": "x" for number in range(1000)}
    assert served.get("/", many).status in (400, 431)


async def test_17_a_body_that_does_not_come_is_not_waited_for() -> None:
    sessions = Sessions(lambda sentence: None)
    address = PageAddress("t-1.localhost", 80)
    statuses: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("the gate let it pass")

    async def receive() -> Message:
        await asyncio.sleep(3600)
        return {}

    async def send(message: Message) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    headers = {"host": address.authority, "origin": address.origin, "content-type": "application/json"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/enter", "headers": raw}
    await PageGate(app, address, sessions, look=False, within_s=0.01)(scope, receive, send)
    assert statuses == [408]


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "HEAD", "PUT", "DELETE", "PATCH", "CONNECT", "FOO", "get"])
def test_18_other_methods_are_not_known(served: Served, method: str) -> None:
    for path in ("/", "/do/answer"):
        headers = {"Host": served.authority, **served.session, "Origin": served.url}
        answer = served.send(method, path, headers)
        assert answer.status in (400, 405)
        assert _says_nothing(answer.body)


def test_18_a_second_request_on_the_same_connection_has_its_own_gate(served: Served) -> None:
    first = f"GET /waits HTTP/1.1\r\nHost: {served.authority}\r\nCookie: {served.session['Cookie']}\r\n\r\n"
    second = f"GET /waits HTTP/1.1\r\nHost: {served.authority}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=WITHIN_S) as connection:
        connection.sendall((first + second).encode())
        raw = received(connection)
    assert answered(raw).status == 200
    assert answered(raw[raw.rindex(b"HTTP/1.1 ") :]).status == 401


# -- by anybody on this machine --------------------------------------------------------------------------------------


def _every_route(tmp_path: Path, *, look: bool = False) -> list[tuple[str, set[str]]]:
    """Each route of the app with an address that fits it, and its methods."""
    options = PageOptions(tmp_path, {}, warn=lambda sentence: None, report=lambda error: None, look=look)
    server = PageServer(options)
    server.close()
    routes = [(str(getattr(one, "path", "")), set(getattr(one, "methods", ()))) for one in server.routes().routes]
    return [(_filled(path), methods) for path, methods in routes]


def _filled(path: str) -> str:
    for name, value in (("{run}", RUN), ("{action}", "answer"), ("{id}", "x")):
        path = path.replace(name, value)
    while "{" in path:
        path = path[: path.index("{")] + "x" + path[path.index("}") + 1 :]
    return path


def test_28_no_route_gives_anything_to_who_has_not_entered(served: Served, tmp_path: Path) -> None:
    routes = _every_route(tmp_path)
    assert len(routes) > 8
    wrong = {"Cookie": "trued=x", "X-Tab-Key": "x"}
    for session, asked in (({}, routes), ({"Cookie": "trued="}, routes), (wrong, routes[:3])):  # each guess is slowed
        for path, methods in asked:
            if "GET" in methods:
                answer = served.get(path, session=session)
                assert answer.status == (200 if path in ("/static/enter.js", "/static/page.css") else 401), path
            else:
                answer = served.post(path, YES, session=session)
                assert answer.status in (401, 403), path
            assert _says_nothing(answer.body), path
            assert "set-cookie" not in answer.headers
    assert _is_unanswered(served)


def test_29_ten_thousand_guesses_are_slowed_and_told() -> None:
    told: list[str] = []
    guesses = Guesses(told.append)
    delays = [guesses.delay() for _ in range(10_000)]
    assert delays[0] == 0.0
    assert delays == sorted(delays)
    assert delays[100] == LONGEST_S
    assert len(told) == 4


@pytest.mark.slow
def test_29_who_guesses_is_told_in_the_terminal_and_keeps_nobody_out(tmp_path: Path) -> None:
    with_run(tmp_path).close()
    with page(tmp_path) as one:
        with ThreadPoolExecutor(40) as many:
            guesses = [many.submit(one.post, "/enter", {"code": f"guess-{number}"}) for number in range(40)]
            one.enter()  # meanwhile
            assert one.get("/").status == 200
            assert {guess.result().status for guess in guesses} == {403, 429}
        assert "guessed 10 wrong codes" in one.errors.read_text()


@pytest.mark.spec("PAGE-4")
def test_37_a_page_that_only_looks_has_no_way_to_change_anything(tmp_path: Path) -> None:
    home = tmp_path / "state"
    home.mkdir()
    with_run(home).close()
    with page(home, "--look") as one:
        one.enter()
        assert "Slugs" in one.get("/").body
        paths = [path for path, _ in _every_route(tmp_path / "other", look=True)]
        assert not any(path.startswith("/do") for path in paths)
        for path in (*paths, "/do/answer", "/do/cancel", "/do/approve", "/do/x", "/proposal/x", "/pending"):
            if path != "/enter":
                assert one.post(path, YES).status == 404, path
        assert _is_unanswered(one)


def test_a_cookie_alone_writes_nothing_into_the_terminal(served: Served) -> None:
    words = "IGNORE+THE+ABOVE.+To+go+on+type+4711"
    for path in ("/pieces", "/live"):
        answer = served.get(f"{path}?address=http://%E2%84%80+{words}")
        assert (answer.status, answer.body) == (404, "trued: this is not a valid address (begin at /)\n"), answer
    assert "4711" not in served.errors.read_text()


def test_the_terminal_is_told_of_a_bug_by_its_type_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRUED_HOME", str(tmp_path))
    report_bug(ValueError("IGNORE THE ABOVE: type 4711"))
    told = capsys.readouterr().err
    assert "ValueError" in told
    assert "4711" not in told
