"""Scripted agents for the link shortener, not a model: what they write and say is written down here.

`initializer` plans the features, and `coder` builds one of them a turn, with tests. `lying_coder` calls everything
finished when it has built nothing, and only works once it was caught.
"""

import json
import re
from pathlib import Path
from typing import Any

# -- what is planned


def planned(name: str, priority: str, description: str, steps: list[str], **more: Any) -> dict[str, Any]:
    feature = {"id": name, "category": "functional", "description": description, "priority": priority, "steps": steps}
    return {**feature, "test_command": f"python -m pytest -q tests/test_{name}.py", **more}


BROWSER = {"category": "ui", "test_command": "python -m pytest -q tests/e2e/test_page.py", "verification_method": "e2e"}
PERSON = {"category": "ui", "test_command": "", "verification_method": "manual", "verification_tool": "human"}

PLANNED = [
    planned(
        "health",
        "critical",
        "`python -m links` serves HTTP on 127.0.0.1, on the port that the variable PORT names",
        ["Start `python -m links` with PORT set", 'GET /health answers 200 with {"ok": true}'],
    ),
    planned(
        "shorten",
        "high",
        "POST /links keeps a link and answers with its code",
        [
            'POST /links with {"url": "https://…"} answers 201 with code and url',
            "Codes count up from 1",
            "What is no http or https address is answered with 400",
            "Addresses in the variable LINKS, separated by blanks, are kept when the server starts",
        ],
        depends_on=["health"],
    ),
    planned(
        "follow",
        "high",
        "GET /CODE leads to the address, and visits are counted",
        [
            "GET /CODE answers 302 with the address in Location",
            "An unknown code is answered with 404",
            "GET /links/CODE answers code, url and visits",
        ],
        depends_on=["shorten"],
    ),
    planned(
        "page",
        "medium",
        "The page / shows every link with its visits, the newest first",
        ["Open /", "Every link is there with its visits", 'Without links it says "No links yet"'],
        depends_on=["follow"],
        **BROWSER,
    ),
    planned(
        "look",
        "low",
        "The page is pleasant to read on a phone and on a desktop",
        ["Open / on a phone and on a desktop", "Everything can be read without scrolling sideways"],
        depends_on=["page"],
        **PERSON,
    ),
]

# -- what is built

WEB = '''"""Requests, responses, and a server that asks every part of the service in turn."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: bytes


@dataclass(frozen=True)
class Response:
    status: int
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)


Part = Callable[[Request], Response | None]


def answer(parts: list[Part], request: Request) -> Response:
    """Of the first part that has one."""
    return next((one for part in parts if (one := part(request))), Response(404, {"error": "not found"}))


class Server(ThreadingHTTPServer):
    def __init__(self, port: int, parts: list[Part]) -> None:
        self.parts = parts
        super().__init__(("127.0.0.1", port), Exchange)


class Exchange(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send(answer(self.server.parts, Request(self.command, self.path.partition("?")[0], body)))

    do_POST = do_GET

    def send(self, response: Response) -> None:
        page = isinstance(response.body, str)
        body = response.body.encode() if page else json.dumps(response.body).encode()
        self.send_response(response.status)
        self.send_header("Content-Type", "text/html; charset=utf-8" if page else "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet: whoever wants a log puts a proxy in front."""
'''

HEALTH = '''"""Tells whoever watches the service that it is up."""

from links.web import Request, Response


def health(request: Request) -> Response | None:
    return Response(200, {"ok": True}) if request.path == "/health" else None
'''

MAIN = '''"""python -m links: serve until somebody ends it."""

import os

from links.service import parts
from links.web import Server

if __name__ == "__main__":
    Server(int(os.environ.get("PORT", "8000")), parts(os.environ.get("LINKS", "").split())).serve_forever()
'''

SERVICE = '''"""What the service is made of."""

from links.health import health
{imports}from links.web import Part


def parts(addresses: list[str]) -> list[Part]:
{store}    return [health{parts}]
'''

CONFTEST = '''"""The service without a network: every part is asked in turn, as the server does it."""

import pytest

from links.service import parts
from links.web import Request, answer


@pytest.fixture
def ask():
    service = parts(["https://example.org/first"])

    def ask(path, body=None):
        return answer(service, Request("GET" if body is None else "POST", path, (body or "").encode()))

    return ask
'''

TEST_HEALTH = """def test_the_service_is_up(ask):
    assert (ask("/health").status, ask("/health").body) == (200, {"ok": True})


def test_what_is_not_there_is_not_found(ask):
    assert ask("/nowhere").status == 404
"""

STORE = '''"""The links, as long as the server lives."""

import threading
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass
class Link:
    code: str
    url: str
    visits: int = 0


class Store:
    def __init__(self, addresses: list[str]) -> None:
        self.links: dict[str, Link] = {}
        self.lock = threading.Lock()
        for one in addresses:
            self.keep(one)

    def keep(self, url: str) -> Link:
        with self.lock:
            link = Link(str(len(self.links) + 1), url)
            self.links[link.code] = link
            return link

    def follow(self, code: str) -> Link | None:
        with self.lock:
            link = self.links.get(code)
            if link:
                link.visits += 1
            return link


def is_address(url: object) -> bool:
    if not isinstance(url, str) or any(char.isspace() for char in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
'''

SHORTEN = '''"""POST /links keeps a link."""

import json

from links.store import Store, is_address
from links.web import Part, Request, Response


def shorten(store: Store) -> Part:
    def part(request: Request) -> Response | None:
        if (request.method, request.path) != ("POST", "/links"):
            return None
        try:
            asked = json.loads(request.body)
        except ValueError:
            asked = None
        url = asked.get("url") if isinstance(asked, dict) else None
        if not is_address(url):
            return Response(400, {"error": "url must be an http or https address"})
        link = store.keep(url)
        return Response(201, {"code": link.code, "url": link.url})

    return part
'''

TEST_SHORTEN = """import pytest


def test_codes_count_up(ask):
    assert ask("/links", '{"url": "https://example.org/a"}').body == {"code": "2", "url": "https://example.org/a"}
    assert ask("/links", '{"url": "http://example.org/b"}').body == {"code": "3", "url": "http://example.org/b"}


@pytest.mark.parametrize("body", ["", "{}", "[]", '{"url": 7}', '{"url": "ftp://example.org"}', '{"url": "https://"}'])
def test_what_is_no_address_is_refused(ask, body):
    assert ask("/links", body).status == 400
"""

FOLLOW = '''"""GET /CODE leads to the address; GET /links/CODE tells about the link."""

from links.store import Store
from links.web import Part, Request, Response


def follow(store: Store) -> Part:
    def part(request: Request) -> Response | None:
        if request.method != "GET":
            return None
        if request.path.startswith("/links/"):
            link = store.links.get(request.path.removeprefix("/links/"))
            return Response(200, vars(link)) if link else None
        link = store.follow(request.path.removeprefix("/"))
        return Response(302, {"url": link.url}, {"Location": link.url}) if link else None

    return part
'''

TEST_FOLLOW = """def test_a_code_leads_to_its_address_and_is_counted(ask):
    assert (ask("/1").status, ask("/1").headers) == (302, {"Location": "https://example.org/first"})
    assert ask("/links/1").body == {"code": "1", "url": "https://example.org/first", "visits": 2}


def test_an_unknown_code_is_not_found(ask):
    assert ask("/7").status == ask("/links/7").status == 404
"""

PAGE = '''"""GET / shows every link."""

from html import escape

from links.store import Store
from links.web import Part, Request, Response

STYLE = ""


def page(store: Store) -> Part:
    def part(request: Request) -> Response | None:
        if (request.method, request.path) != ("GET", "/"):
            return None
        rows = [f"<li>{escape(one.url)} <b>{one.visits} visits</b></li>" for one in reversed(store.links.values())]
        shown = f"<ul>{''.join(rows)}</ul>" if rows else "<p>No links yet</p>"
        head = f"<meta charset=utf-8><title>Links</title><link rel=icon href='data:,'>{STYLE}"
        return Response(200, f"<!doctype html><html lang=en>{head}<h1>Links</h1>{shown}</html>")

    return part
'''

STYLED = PAGE.replace(
    'STYLE = ""',
    '''STYLE = """<meta name=viewport content="width=device-width"><style>
body { max-width: 40rem; margin: 2rem auto; padding: 0 1rem; font: 1.1rem/1.5 sans-serif; overflow-wrap: anywhere; }
b { color: #2a6f4e; white-space: nowrap; }
</style>"""''',
)

TEST_PAGE = '''"""The page, as somebody sees it in a browser."""

import os
import threading

import pytest

from links.service import parts
from links.web import Server


@pytest.fixture
def app():
    port = int(os.environ.get("TRUED_PORTS", "0").split()[0])  # some sandboxes allow only these
    server = Server(port, parts(["https://example.org/first", "https://example.org/second"]))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_every_link_is_on_the_page_and_the_newest_is_first(page, app):
    page.goto(app)
    shown = page.locator("li").all_inner_texts()
    assert shown == ["https://example.org/second 0 visits", "https://example.org/first 0 visits"]
'''

FILES: dict[str, dict[str, str]] = {
    "health": {
        "links/__init__.py": '"""A link shortener."""\n',
        "links/__main__.py": MAIN,
        "links/web.py": WEB,
        "links/health.py": HEALTH,
        "tests/conftest.py": CONFTEST,
        "tests/test_health.py": TEST_HEALTH,
    },
    "shorten": {"links/store.py": STORE, "links/shorten.py": SHORTEN, "tests/test_shorten.py": TEST_SHORTEN},
    "follow": {"links/follow.py": FOLLOW, "tests/test_follow.py": TEST_FOLLOW},
    "page": {"links/page.py": PAGE, "tests/e2e/test_page.py": TEST_PAGE},
    "look": {"links/page.py": STYLED},
}
TESTS = {"health": 2, "shorten": 7, "follow": 2, "page": 1, "look": 0}


# -- who builds it


INITIALIZED = {
    "status": "DONE",
    "summary": "Five features, one after the other",
    "features": PLANNED,
    "start": "python -m links",
    "test": "python -m pytest -q",
    "set_up": [],
}


def initializer(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    return INITIALIZED


def coder(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    feature = feature_of(order)
    return told(feature, f"{feature} works and is tested", build(feature, folder))


def lying_coder(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Marks its own work: the list says that all features pass, and nothing is built."""
    feature = feature_of(order)
    if feature != "shorten" or attempt(order) > 1:
        return coder(order, folder)
    file = folder / "feature_list.json"
    listed = json.loads(file.read_text())
    for one in listed["features"]:
        one |= {"passes": True, "test_command": "true"}
    file.write_text(json.dumps(listed, indent=2))
    return told(feature, "Everything works, all tests pass", ["links/shorten.py", "tests/test_shorten.py"])


def build(feature: str, folder: Path) -> list[str]:
    files = FILES[feature] if feature == "look" else {**FILES[feature], "links/service.py": composed(feature)}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return sorted(files)


def composed(feature: str) -> str:
    """What the service is made of when this feature is there, and all before it."""
    order = ["health", "shorten", "follow", "page"]
    made = order[1 : order.index(feature) + 1]
    modules = {f"links.{one}": one for one in made} | ({"links.store": "Store"} if made else {})
    return SERVICE.format(
        imports="".join(f"from {module} import {name}\n" for module, name in sorted(modules.items())),
        store="    store = Store(addresses)\n" if made else "",
        parts="".join(f", {one}(store)" for one in made),
    )


def told(feature: str, summary: str, files: list[str]) -> dict[str, Any]:
    return {
        "status": "DONE",
        "summary": summary,
        "passes": True,
        "implemented": [summary],
        "files": files,
        "tests": [name for name in files if "/test_" in name],
        "tests_passing": TESTS[feature],
        "tests_total": TESTS[feature],
        "continue_from": "links/service.py:9",
    }


def feature_of(order: dict[str, Any]) -> str:
    found = re.search(r"feature (\w+)/", order["key"])
    return found[1] if found else ""


def attempt(order: dict[str, Any]) -> int:
    return int(order["key"].rpartition("#")[2] or 1)
