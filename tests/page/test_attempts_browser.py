"""Attempts that must fail, by a real browser in which somebody has entered: other web sites, and what agents serve."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.conftest import browser
from tests.page.served import RUN, Served, page, with_run
from trued.engine.journals.sqlite import SqliteJournal

__all__ = ["browser"]
pytestmark = [pytest.mark.spec("PAGE-5"), pytest.mark.slow]


class Site(ThreadingHTTPServer):
    """Another web site on this machine: it serves one document, and keeps the headers of who asked for it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.document = ""
        self.location = ""
        self.seen: list[dict[str, str]] = []

    def url(self, name: str = "127.0.0.1") -> str:
        return f"http://{name}:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(302 if self.server.location else 200)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.server.document.encode())

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    one = Site()
    thread = threading.Thread(target=one.serve_forever)
    thread.start()
    yield one
    one.shutdown()
    thread.join()
    one.server_close()


@pytest.fixture(scope="module")
def entered(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, BrowserContext]]:
    """A browser in which somebody has entered the page."""
    home = tmp_path_factory.mktemp("page") / "state"
    home.mkdir()
    with_run(home).close()
    with page(home) as one:
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(one.enter_file.as_uri())
        tab.wait_for_selector("html[data-connection=live]")
        yield one, context
        context.close()


def _visit(entered: tuple[Served, BrowserContext], site: Site, document: str, name: str = "127.0.0.1") -> Page:
    """Open the other site's document in the same browser. `{own}` in it is the page's origin."""
    served, context = entered
    site.seen.clear()
    site.location, site.document = "", f"<!doctype html><title>busy</title>{document.replace('{own}', served.url)}"
    tab = context.new_page()
    tab.goto(site.url(name))
    return tab


def _is_unanswered(served: Served) -> bool:
    journal = SqliteJournal(served.home / "journal.db", read_only=True)
    still_open = bool(journal.questions(RUN, only_open=True))
    journal.close()
    return still_open


ANSWER = f'{{"run": "{RUN}", "key": "go on#1", "answer": "yes"}}'


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "other.localhost"])
def test_3_and_4_another_site_cannot_post(entered: tuple[Served, BrowserContext], site: Site, name: str) -> None:
    script = f"""<script>
    const body = '{ANSWER}', to = '{{own}}/do/answer';
    const kinds = ['text/plain', 'application/x-www-form-urlencoded'];
    const tries = kinds.map((kind) => fetch(to, {{method: 'POST', mode: 'no-cors', credentials: 'include', headers: {{'Content-Type': kind}}, body}}));
    tries.push(fetch(to, {{method: 'POST', credentials: 'include', headers: {{'Content-Type': 'application/json', 'X-Tab-Key': 'x'}}, body}}));
    tries.push(new Promise((done) => {{ navigator.sendBeacon(to, new Blob([body], {{type: 'text/plain'}})); done(); }}));
    Promise.allSettled(tries).then(() => document.title = 'done');
    </script>"""  # noqa: E501
    tab = _visit(entered, site, script, name)
    tab.wait_for_function("document.title === 'done'")
    tab.close()
    form = f"""<form method="post" enctype="text/plain" action="{{own}}/do/answer"><input name='{ANSWER[:-1]}, "x": "' value='"}}'></form>
    <script>document.forms[0].submit()</script>"""  # noqa: E501
    tab = _visit(entered, site, form, name)
    tab.wait_for_url(f"{entered[0].url}/do/answer")
    assert "refused" in tab.inner_text("body")
    tab.close()
    assert _is_unanswered(entered[0])


def test_5_no_picture_script_or_style_can_be_taken_from_the_page(
    entered: tuple[Served, BrowserContext], site: Site
) -> None:
    kinds = """<script>
    const results = [], paths = ['/', '/r/RUN', '/waits', '/pieces?address=/', '/static/page.js', '/static/page.css'];
    const made = (kind, path) => new Promise((done) => {
      const one = document.createElement(kind === 'style' ? 'link' : kind);
      if (kind === 'style') { one.rel = 'stylesheet'; one.href = '{own}' + path; } else one.src = '{own}' + path;
      one.onload = () => { results.push(kind + path); done(); };
      one.onerror = () => done();
      document.head.append(one);
    });
    const all = paths.flatMap((path) => ['img', 'script', 'style'].map((kind) => made(kind, path)));
    all.push(...paths.map((path) => fetch('{own}' + path, {credentials: 'include'}).then(() => results.push('fetch' + path), () => 0)));
    Promise.all(all).then(() => document.title = 'done ' + results.join(' '));
    </script>""".replace("RUN", RUN)  # noqa: E501
    tab = _visit(entered, site, kinds)
    tab.wait_for_function("document.title.startsWith('done')")
    assert tab.title().strip() == "done"
    tab.close()


def test_6_no_stream_or_websocket_opens_from_another_site(entered: tuple[Served, BrowserContext], site: Site) -> None:
    script = """<script>
    const stream = new EventSource('{own}/live?address=/', {withCredentials: true});
    const socket = new WebSocket('{own}/live?address=/'.replace('http', 'ws'));
    const opened = [];
    stream.onopen = () => opened.push('stream'); socket.onopen = () => opened.push('socket');
    Promise.all([stream, socket].map((one) => new Promise((done) => one.onerror = done))).then(() => document.title = 'done ' + opened);
    </script>"""  # noqa: E501
    tab = _visit(entered, site, script)
    tab.wait_for_function("document.title.startsWith('done')")
    assert tab.title().strip() == "done"
    tab.close()


@pytest.mark.parametrize("name", ["127.0.0.1", "other.localhost"])
def test_7_and_8_the_page_is_not_framed_and_its_window_is_out_of_reach(
    entered: tuple[Served, BrowserContext], site: Site, name: str
) -> None:
    served, context = entered
    tab = _visit(
        entered,
        site,
        '<iframe src="{own}/" width="300"></iframe><script>onload = () => document.title = "done"</script>',
        name,
    )
    tab.wait_for_function("document.title === 'done'")
    assert all("Slugs" not in frame.content() for frame in tab.frames)
    with context.expect_page() as opening:
        tab.evaluate(f"window.held = window.open('{served.url}/')")
    other = opening.value
    other.wait_for_url(f"{served.url}/")
    tab.wait_for_function("window.held.closed")  # cut off from it, as far as the other site can see
    assert other.evaluate("window.opener") is None
    assert "Slugs" not in other.content()
    other.close()
    tab.close()


def test_27_and_31_a_preview_that_a_person_opens_gets_no_cookie_and_leads_nowhere(
    entered: tuple[Served, BrowserContext], site: Site
) -> None:
    served, context = entered
    for name in ("127.0.0.1", "localhost", "other.localhost"):
        _visit(entered, site, "a preview", name).close()
        assert site.seen
        assert all("cookie" not in one for one in site.seen)
    tab = context.new_page()
    tab.goto(f"{served.url}/")
    tab.wait_for_selector("html[data-connection=live]")
    site.document = "a preview"
    site.seen.clear()
    with context.expect_page() as opening:  # as a link of the page opens it
        tab.evaluate(f"""() => {{
          const link = Object.assign(document.createElement('a'), {{href: '{site.url()}', target: '_blank', rel: 'noopener noreferrer'}});
          document.body.append(link); link.click(); }}""")  # noqa: E501
    preview = opening.value
    preview.wait_for_load_state()
    assert site.seen
    assert all("cookie" not in one and served.host not in one.get("referer", "") for one in site.seen)
    assert preview.evaluate("window.opener") is None
    site.location = f"{served.url}/do/answer"
    preview.reload()
    assert _is_unanswered(served)
    preview.close()
    tab.close()


FILLED = "?answer=yes&comment=x&who=Ann&reason=fine&limit=usd%3D99&run=r-other&when=now&q="
# the fields of forms in which something is chosen or written
GIVEN = """() => [...document.querySelectorAll('form[data-do] :is(input:not([type=hidden]), textarea)')]
  .filter((one) => ['radio', 'checkbox'].includes(one.type) ? one.checked : one.value).map((one) => one.name)"""


def test_27_a_preview_that_redirects_to_the_page_shows_it_and_can_do_nothing_with_it(
    entered: tuple[Served, BrowserContext], site: Site
) -> None:
    served, context = entered
    site.location = f"{served.url}/r/{RUN}{FILLED}"
    tab = context.new_page()
    tab.goto(site.url())  # as a person who types or pastes the preview's address
    assert tab.url.startswith(served.url)
    tab.wait_for_selector("html[data-connection=live]")  # the page itself: the preview's script is gone with its origin
    assert tab.locator("form[data-do=answer]").count() == 1
    assert tab.evaluate(GIVEN) == []
    assert tab.evaluate("window.opener") is None
    tab.close()
    site.location = ""
    assert _is_unanswered(served)


@pytest.mark.parametrize("name", ["127.0.0.1", "other.localhost"])
def test_27_a_preview_cannot_lead_its_own_frame_or_window_to_the_page_and_keep_a_hold_of_it(
    entered: tuple[Served, BrowserContext], site: Site, name: str
) -> None:
    served, context = entered
    tab = _visit(entered, site, '<button onclick="window.held = window.open(location.href)">look</button>', name)
    with context.expect_page() as opening:
        tab.click("button")
    second = opening.value
    second.wait_for_load_state()
    assert second.evaluate("window.opener !== null")  # both are the preview's
    site.location = f"{served.url}/r/{RUN}"  # from now on the preview redirects
    second.evaluate(
        "const frame = document.createElement('iframe'); frame.src = location.href; document.body.append(frame)"
    )
    second.wait_for_function("document.querySelector('iframe').contentDocument === null")
    assert all("Slugs" not in frame.content() for frame in second.frames)
    tab.evaluate("location.reload()")  # by the preview's script: the browser sends no cookie along
    tab.wait_for_url(f"{served.url}/**")
    assert "has not logged in" in tab.inner_text("main")
    tab.get_by_role("link", name="Continue").click()  # only a person can, on the page's own origin
    tab.wait_for_selector("html[data-connection=live]")
    assert second.evaluate("window.opener === null || window.opener.closed")
    assert tab.evaluate("window.opener") is None
    site.location = ""
    assert _is_unanswered(served)
    second.close()
    tab.close()


def test_32_what_takes_the_port_after_the_page_has_ended_gets_no_session(browser: Browser, tmp_path: Path) -> None:
    with page(tmp_path) as one:
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(one.enter_file.as_uri())
        tab.wait_for_selector("html[data-connection=live]")
    taken = Site.__new__(Site)
    ThreadingHTTPServer.__init__(taken, ("127.0.0.1", one.port), Handler)
    taken.document, taken.location, taken.seen = "an impostor", "", []
    thread = threading.Thread(target=taken.serve_forever)
    thread.start()
    try:
        tab.goto(f"http://127.0.0.1:{one.port}/")
        tab.goto(f"http://localhost:{one.port}/")
        assert all("cookie" not in seen for seen in taken.seen if seen["host"] != one.authority)
        with page(tmp_path) as another:  # a new start: what the impostor may have caught is good for nothing
            caught = {"Cookie": next((seen["cookie"] for seen in taken.seen if "cookie" in seen), "trued=x")}
            assert another.get("/", session=caught).status == 401
    finally:
        taken.shutdown()
        thread.join()
        taken.server_close()
        context.close()
