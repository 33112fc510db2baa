"""HTTP exchanges with the contract's server: the engine sends the requests and compares the answers."""

import gzip
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import Contract, Grade, HttpCase, Outcomes, Verdict
from trued.proof.checks.examples import case_flaw
from trued.proof.checks.http import FIXED_PORT, compare_answer
from trued.proof.checks.http_client import HttpAnswer, decoded

SERVE = {
    "command": ["python", "-m", "shop"],
    "port_env": "PORT",
    "ready": {"path": "/health", "status": 200, "within_s": 60},
}
START = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from shop.pages import answer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, content, headers = answer(self.command, self.path, body, self.headers)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    do_POST = do_PUT = do_GET
    def log_message(self, *words):
        pass

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
BEFORE = """
def answer(method, path, body, headers):
    return (200, b"ok", {}) if path == "/health" else (404, b"", {})
"""
DONE = """
import json
items = []

def answer(method, path, body, headers):
    if path == "/health":
        return 200, b"ok", {}
    if path == "/items" and method == "POST":
        items.append(json.loads(body))
        return 201, json.dumps({"id": len(items)}).encode(), {"Location": f"/items/{len(items)}", "X-Two": "a"}
    if path == "/items":
        return 200, json.dumps({"items": items, "total": len(items)}).encode(), {"Content-Type": "application/json"}
    if path == "/caf%C3%A9?q=%20":
        return 200, "crème".encode(), {}
    if path == "/old":
        return 302, b"", {"Location": "/items"}
    return 404, b"", {}
"""
BASE: dict[str, str | None] = {"shop/__init__.py": "", "shop/__main__.py": START, "shop/pages.py": BEFORE}


def asks(*cases: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "it", "text": "it works", "checks": [{"kind": "examples", "cases": list(cases)}]}]


CASES = asks(
    {"http": {"method": "POST", "path": "/items", "body": '{"a": 1}'}, "status": 201, "json": {"id": 1}},
    {"http": {"path": "/items"}, "status": 200, "json": {"total": 1, "items": [{"a": 1}]}},
    {"http": {"path": "/caf%C3%A9?q=%20"}, "status": 200, "body": "crème"},
    {"http": {"path": "/old"}, "status": 302, "headers": {"location": "/items"}},
    {"http": {"path": "/health"}, "status": 200, "body": "ok"},
)


def kinds(verdict: Verdict) -> dict[str, str]:
    return {one.id: one.kind for fact in verdict.evidence for one in fact.tried}


@pytest.mark.spec("LAW-5", "LAW-6", "LAW-7")
@pytest.mark.slow
async def test_exchanges_go_in_order_to_a_fresh_server_twice_and_prove_what_was_red(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, CASES, serve=SERVE)
    contract = await trial.seal()
    first = contract.base_facts[0].tried
    # four times 404, and one case that passes already
    assert [one.kind for one in first] == ["missing", "missing", "missing", "missing", ""]
    verdict = await trial.prove(contract, await trial.head({"shop/pages.py": DONE}))
    assert only(verdict).grade is Grade.PROVEN, (only(verdict).why, verdict.evidence)
    assert "python -m shop" in verdict.evidence[0].command
    await _cheats_are_refuted(trial, contract)


async def _cheats_are_refuted(trial: Trial, contract: Contract) -> None:
    """Check that heads which only look right are refuted by the same contract."""
    hostile = {
        "returned only what was asked first": (
            DONE.replace('{"items": items, "total"', '{"items": [], "total"'),
            "body",
        ),
        "a header is lost": (DONE.replace('{"Location": "/items"}', "{}"), "header"),
        "it cannot start": ("raise SystemExit(3)\n", "server"),
        "it hangs up": (
            DONE.replace('    if path == "/old":', '    if path == "/old":\n        raise SystemExit'),
            "no answer",
        ),
    }
    for what, (pages, kind) in hostile.items():
        verdict = await trial.prove(contract, await trial.head({"shop/pages.py": pages}))
        assert only(verdict).grade is Grade.REFUTED, what
        assert kind in kinds(verdict).values(), (what, kinds(verdict))
        told = " ".join(gap.what for gap in only(verdict).gaps)
        assert "/items" not in told
        assert "Location" not in told  # agents learn only the kind of a held-out case's failure


STOPS = """
import os, signal
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if int(pid) != os.getpid() and b"exec(sys.stdin" in open(f"/proc/{pid}/cmdline", "rb").read():
            os.kill(int(pid), signal.SIGSTOP)
    except OSError:
        pass
def answer(*given): return 200, b"ok", {}
"""


@pytest.mark.slow
@pytest.mark.spec("LAW-2", "RUN-5")
async def test_a_server_that_stops_its_forwarder_is_refuted_and_ended(tmp_path: Path) -> None:
    serve = {**SERVE, "ready": {"path": "/health", "within_s": 5}}
    trial = Trial(tmp_path, BASE, asks({"http": {"path": "/items"}, "status": 200}), serve=serve)
    verdict = await trial.verdict({"shop/pages.py": STOPS})
    assert only(verdict).grade is Grade.REFUTED
    assert not list((trial.workspace.folder / "rooms").iterdir())


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize(
    ("command", "kind", "outcome"),
    [
        (["python", "-m", "absent"], "missing", Outcomes.MISSING),
        (["python", "server.py"], "missing", Outcomes.MISSING),
        (["no-such-program"], "program no-such-program", Outcomes.UNJUDGED),
        (["python", "-m", "needy"], "module flask", Outcomes.UNJUDGED),
        (["python", "-m", "flask", "--app", "needy", "run"], "module flask", Outcomes.UNJUDGED),  # nothing declares it
        (["python", "-m", "silent"], "time", Outcomes.FAILED),
        pytest.param(["python", "-m", "brief"], "server", Outcomes.FAILED, marks=pytest.mark.slow),
    ],
)
@pytest.mark.many(2)
async def test_why_no_server_came_up_is_told(tmp_path: Path, command: list[str], kind: str, outcome: Outcomes) -> None:
    base = {
        **BASE,
        "needy.py": "import flask\n",
        "silent.py": "import time\ntime.sleep(600)\n",
        "brief.py": "print('done')\n",
    }
    serve = {"command": command, "ready": {"within_s": 1 if "silent" in command else 60}}
    contract = await Trial(tmp_path, base, asks({"http": {"path": "/"}, "status": 200}), serve=serve).seal()
    assert {(one.kind, one.outcome) for fact in contract.base_facts for one in fact.tried} == {(kind, outcome)}


@pytest.mark.many(1)
@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize(
    "files",
    [{"back/setup.py": "", "back/src/needy/web.py": "import absent_zz\n"}, {"back/requirements.txt": "absent-zz\n"}],
)
async def test_a_server_of_a_package_that_a_project_folder_needs_lacks_the_package(
    tmp_path: Path, files: dict[str, str]
) -> None:
    base = {**BASE, "back/src/kit.py": "", **files}
    serve = {"command": ["python", "-m", "absent_zz"], "ready": {}}
    contract = await Trial(tmp_path, base, asks({"http": {"path": "/"}, "status": 200}), serve=serve).seal()
    (tried,) = contract.base_facts[0].tried
    assert (tried.kind, tried.outcome) == ("module absent_zz", Outcomes.UNJUDGED)


LOOKS = """
import os, socket
def answer(method, path, body, headers):
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=1)
        return 200, b"out", {}
    except OSError:
        return 200, " ".join(sorted(os.environ)).encode() + os.environ["HOME"].encode(), {}
"""


@pytest.mark.many(1)
@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
async def test_a_server_is_confined_at_every_level(tmp_path: Path, level: str) -> None:
    base = {**BASE, "shop/pages.py": LOOKS}
    serve = {**SERVE, "command": ["python", "-m", "shop", "{port}", "{files}"], "ready": {}}
    trial = Trial(tmp_path, base, asks({"http": {"path": "/"}, "body": "x"}), serve=serve)
    trial.workspace._agents = replace(trial.workspace._agents, level=level)
    contract = await trial.seal()
    (tried,) = contract.base_facts[0].tried
    assert tried.kind == "body", contract.base_facts[0]
    assert "out" not in tried.detail.split("body", 1)[1][:6]
    assert "TRUED_CHANNEL" not in tried.detail
    assert contract.base_facts[0].isolation.startswith(level)


def test_a_body_that_is_cut_short_or_of_another_type_is_not_equal() -> None:
    answer = HttpAnswer(200, (("Set-Cookie", "a=1"), ("set-cookie", "b=2")), b'{"n": 1, "s": "1", "l": [1]}')

    def kind(**expected: Any) -> str:
        case = HttpCase.model_validate({"http": {"path": "/"}, **expected})
        return compare_answer(case, answer)[1]

    assert kind(json={"n": 1, "l": [1], "s": "1"}) == ""
    assert kind(json={"n": "1", "l": [1], "s": "1"}) == "body"
    assert kind(json={"n": True, "l": [1], "s": "1"}) == "body"
    assert kind(json=None) == "body"
    assert kind(json={"n": 1}) == "body"
    assert kind(headers={"SET-COOKIE": "b=2"}) == ""
    assert kind(headers={"Set-Cookie": "a"}) == "header"
    assert kind(status=500) == "status"
    assert kind(body='{"n": 1}') == "body"


SHOP = """
import gzip, json, os, zlib
from http.server import BaseHTTPRequestHandler, HTTPServer

PLAIN = json.dumps({{"price": 3, "item": "thé"}}, ensure_ascii=False).encode()

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path == "/price" and {known}
        headers, body = [("Content-Type", "application/json")], PLAIN
        {how}
        self.send_response(200 if known or self.path == "/health" else 404)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
PRICE = asks(
    {
        "http": {"path": "/price"},
        "status": 200,
        "json": {"price": 3, "item": "thé"},
        "headers": {"Content-Type": "application/json"},
    }
)


@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.parametrize(
    ("how", "deserved"),
    [
        ("headers += [('Content-Encoding', 'gzip')]", Grade.REFUTED),
        ("body = PLAIN.decode().encode('utf-16')", Grade.REFUTED),
        ("headers += [('Content-Encoding', 'gzip')]; body = gzip.compress(PLAIN)", Grade.PROVEN),
        (
            "if 'gzip' in self.headers.get('Accept-Encoding', ''): "
            "headers += [('Content-Encoding', 'gzip'), ('Vary', 'Accept-Encoding')]; body = gzip.compress(PLAIN)",
            Grade.PROVEN,
        ),
        ("if 'Accept-Language' in self.headers: body = b'null'", Grade.REFUTED),
        ("if not self.headers.get('Accept-Language', 'en').startswith('en'): body = b'null'", Grade.PROVEN),
    ],
)
@pytest.mark.many(2)
async def test_an_answer_is_read_as_its_own_headers_say(tmp_path: Path, how: str, deserved: Grade) -> None:
    base: dict[str, str | None] = {"shop/__init__.py": "", "shop/__main__.py": SHOP.format(known="False", how="pass")}
    trial = Trial(tmp_path, base, PRICE, serve=SERVE)
    verdict = await trial.verdict({"shop/__main__.py": SHOP.format(known="True", how=how)})
    assert only(verdict).grade is deserved, (only(verdict).why, verdict.evidence)


PLAIN = json.dumps({"item": "thé"}, ensure_ascii=False).encode()
RAW = zlib.compress(PLAIN)[2:-4]
LIKE_GZIP = {"Content-Encoding": "gzip"}


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(
    ("headers", "body", "is_read"),
    [
        ({}, PLAIN, True),
        ({"Content-Type": 'application/json; charset="UTF-8"'}, PLAIN, True),
        ({"Content-Encoding": "identity"}, PLAIN, True),
        ({"Content-Encoding": "utf-8"}, PLAIN, True),  # a usual mistake, which clients ignore
        (LIKE_GZIP, gzip.compress(PLAIN, mtime=0), True),
        (LIKE_GZIP, gzip.compress(PLAIN[:4], mtime=0) + gzip.compress(PLAIN[4:], mtime=0), True),
        ({"Content-Encoding": "X-GZIP"}, gzip.compress(PLAIN, mtime=0), True),
        ({"Content-Encoding": "deflate"}, zlib.compress(PLAIN), True),
        ({"Content-Encoding": "deflate"}, RAW, True),
        ({"Content-Encoding": "deflate, gzip"}, gzip.compress(zlib.compress(PLAIN), mtime=0), True),
        ({}, gzip.compress(PLAIN, mtime=0), False),
        (LIKE_GZIP, PLAIN, False),
        (LIKE_GZIP, gzip.compress(PLAIN, mtime=0)[:-9], False),
        (LIKE_GZIP, gzip.compress(PLAIN, mtime=0) + b"x", False),
        ({"Content-Encoding": "deflate"}, PLAIN, False),
        ({"Content-Encoding": "br"}, PLAIN, False),
        ({"Content-Type": "application/json; charset=utf-16"}, PLAIN, False),
        ({"Content-Type": "application/json; charset=iso-8859-1"}, PLAIN, False),
        ({"Content-Type": "application/json; charset=utf-32"}, PLAIN, False),
        ({"Content-Type": "application/json; charset=windows-1254"}, PLAIN, False),
        ({"Content-Type": "application/json; charset=iso-8859-9"}, PLAIN, False),
        ({"Content-Type": "application/json; charset=punycode"}, PLAIN, True),  # no client knows it, and it takes long
        ({"Content-Type": "application/json; charset=zip"}, PLAIN, True),
        ({}, b"\xef\xbb\xbf" + PLAIN, False),
        *(({}, PLAIN.decode().encode(one), False) for one in ("utf-16", "utf-16-le", "utf-32", "latin-1")),
    ],
)
def test_a_body_counts_if_clients_can_read_it(headers: dict[str, str], body: bytes, is_read: bool) -> None:
    answer = decoded(HttpAnswer(200, tuple(headers.items()), body))
    case = HttpCase.model_validate({"http": {"path": "/"}, "json": {"item": "thé"}})
    assert (compare_answer(case, answer)[0] is Outcomes.PASSED) is is_read
    text = HttpCase.model_validate({"http": {"path": "/"}, "body": PLAIN.decode()})
    assert (compare_answer(text, answer)[0] is Outcomes.PASSED) is is_read
    assert compare_answer(HttpCase.model_validate({"http": {"path": "/"}, "status": 200}), answer)[1] == ""


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize(
    ("sent", "expected", "is_met"),
    [
        ([("Location", "/a")], {"location": "/a"}, True),
        ([("Location", "/b"), ("Location", "/a")], {"location": "/a"}, False),
        ([("Location", "/b"), ("Location", "/a")], {}, False),
        ([("Content-Type", "text/html"), ("Content-Type", "application/json")], {}, False),
        ([("X-Two", "a"), ("X-Two", "b")], {"X-Two": "b"}, False),
        ([("X-Two", "a"), ("X-Two", "b")], {"X-Two": "a, b"}, True),
        ([("Access-Control-Allow-Origin", "*")] * 2, {"Access-Control-Allow-Origin": "*"}, False),
        ([("Vary", "Accept"), ("Vary", "Origin")], {"vary": "Origin"}, True),
        ([("Vary", "Accept"), ("Vary", "Origin")], {"vary": "Accept, Origin"}, True),
        ([("Link", "</a>; rel=next"), ("Link", "</b>; rel=prev")], {"Link": "</b>; rel=prev"}, True),
        ([("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2")], {"Set-Cookie": "a=1; Path=/"}, True),
        ([("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "a=; path=/")], {"Set-Cookie": "a=1; Path=/"}, False),
        ([("Set-Cookie", "a=1; Path=/x"), ("Set-Cookie", "a=; path=/")], {"Set-Cookie": "a=1; Path=/x"}, True),
        ([("Server", "a"), ("Server", "b")], {}, True),
    ],
)
def test_a_header_has_the_value_that_clients_get(
    sent: list[tuple[str, str]], expected: dict[str, str], is_met: bool
) -> None:
    case = HttpCase.model_validate({"http": {"path": "/"}, "status": 200, "headers": expected})
    assert (compare_answer(case, HttpAnswer(200, tuple(sent), b""))[0] is Outcomes.PASSED) is is_met


@pytest.mark.parametrize(
    "request_",
    [
        {"path": "//host/"},
        {"path": "/a b"},
        {"path": "/a\r\nX: y"},
        {"path": "/", "method": "GET /x"},
        {"path": "/", "headers": {"X": "a\r\nY: b"}},
        {"path": "/", "headers": {"X y": "a"}},
        {"path": "/", "body": "\ud800"},
    ],
)
@pytest.mark.spec("USE-6")
def test_a_request_that_could_say_more_than_one_is_malformed(request_: dict[str, Any]) -> None:
    assert case_flaw(HttpCase.model_validate({"http": request_, "status": 200}))


async def test_an_exchange_without_a_server_in_the_contract_is_broken(tmp_path: Path) -> None:
    contract = await Trial(tmp_path, BASE, asks({"http": {"path": "/"}, "status": 200})).seal()
    assert contract.base_facts[0].tried[0].outcome is Outcomes.BROKEN


LEAVES = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", "MARK"])
    os._exit(0)
def answer(*given): return 200, b"ok", {}
"""


@pytest.mark.spec("RUN-5")
async def test_nothing_that_a_server_started_outlives_it(tmp_path: Path) -> None:
    mark = tmp_path.name
    base = {**BASE, "shop/pages.py": LEAVES.replace("MARK", mark)}
    trial = Trial(tmp_path, base, asks({"http": {"path": "/"}, "body": "ok"}), serve={**SERVE, "ready": {}})
    contract = await trial.seal()
    assert contract.base_facts[0].tried[0].outcome is Outcomes.PASSED
    lines = [one.read_bytes() for one in Path("/proc").glob("[0-9]*/cmdline") if one.exists()]
    assert not [one for one in lines if one.endswith(mark.encode() + b"\0")]


@pytest.mark.spec("LAW-2", "DAY-2")
@pytest.mark.slow
async def test_a_server_with_a_port_of_its_own_is_not_judged_and_the_reason_names_the_port(tmp_path: Path) -> None:
    """The command may also read its port: then a head that takes another one is refuted."""
    serve = {"command": ["python", "-m", "shop", "5000"], "ready": {"within_s": 3}}
    own = START.replace('os.environ["PORT"]', "sys.argv[1]")
    cases = asks({"http": {"path": "/items"}, "status": 200, "json": {"total": 0, "items": []}})
    trial = Trial(tmp_path / "fixed", {**BASE, "shop/__main__.py": own}, cases, serve=serve)
    judged = only(await trial.verdict({"shop/pages.py": DONE}))
    assert judged.grade is Grade.UNJUDGED
    assert [(one.name, one.fix) for one in judged.missing] == [("port", FIXED_PORT)]
    asked = Trial(tmp_path / "given", BASE, cases, serve=serve)
    contract = await asked.seal()
    for start, grade in ((START, Grade.PROVEN), (own, Grade.REFUTED)):
        verdict = await asked.prove(
            contract, await asked.head({"shop/pages.py": DONE, "shop/__main__.py": f"{start}#"})
        )
        assert only(verdict).grade is grade, only(verdict).why
