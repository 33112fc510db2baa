"""Pages as the engine sees them: a real Chromium in a sandbox, and a head that would like to be seen otherwise."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import BrowserCheck, Contract, Grade, Outcomes, Serve
from trued.proof.checks import browser
from trued.proof.room import chromium
from trued.proof.room.bench import Bench, CaseSelection, Fact
from trued.proof.room.clean_room import clean_room
from trued.proof.room.interpreter import find_interpreter

needs_chromium = pytest.mark.skipif(bool(chromium.find_chromium()[1]), reason=chromium.find_chromium()[1] or "-")
SERVER = """
import os
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_GET(self):
        if self.path == "/old":
            self.send_response(302)
            self.send_header("Location", "/index.html?from=old")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
SERVE = {"command": ["python", "server.py"], "ready": {"path": "/server.py", "within_s": 60}}
HOSTILE = """<!doctype html><html><head><title>Title words</title><style>
.gone { display: none } .unseen { visibility: hidden } .clear { opacity: 0 } .away { position: absolute; left: -9999px }
.tiny { font-size: 0 } .loud { text-transform: uppercase }
</style></head><body>
<h1>Points&nbsp;<em>of</em> the <b>day</b></h1><p>Earn <span>40</span>
   points</p>
<p class="gone">No display</p><p class="unseen">No visibility</p><p class="clear">No opacity</p>
<p class="away">Far away</p>
<p class="tiny">No size</p><p hidden>Just hidden</p><details><summary>More</summary>Folded away</details>
<p class="loud">Spoken softly</p><!-- In a comment --><template>In a template</template><noscript>In noscript</noscript>
<img alt="Only alternative" src="/server.py" width="9" height="9">
<input value="In a field"><input placeholder="Search here">
<input type="password" value="Secret word"><select><option>Chosen</option><option>Not chosen</option></select>
<div id="host"></div><iframe srcdoc="<p>In a frame</p>"></iframe><div title="In a title" data-x="In data">.</div>
<button aria-label="Buy now">€</button>
<script>
document.getElementById("host").attachShadow({ mode: "open" }).innerHTML = "<p>In the shadow</p>";
Object.defineProperty(HTMLElement.prototype, "innerText", { get: () => "Forged words" });
Object.defineProperty(Node.prototype, "textContent", { get: () => "Forged words" });
Element.prototype.checkVisibility = () => true; window.getComputedStyle = () => ({ display: "block", fontSize: "9px" });
Range.prototype.getClientRects = () => [{ width: 9, height: 9, right: 9, bottom: 9 }];
setTimeout(() => setTimeout(() => document.body.append("Drawn later"), 700), 700);
setInterval(() => fetch("/server.py"), 50000); alert("Go away"); confirm("Sure?");
fetch("http://192.0.2.1/").catch(() => document.body.append("Nothing outside"));
new WebSocket("ws://example.org/");
</script></body></html>"""
SEES = (
    *("Points of the day", "Earn 40 points", "Spoken softly", "SPOKEN SOFTLY", "In a field", "Search here", "Chosen"),
    *("In the shadow", "In a frame", "Drawn later", "Nothing outside", "More"),
)
HIDES = (
    *("No display", "No visibility", "No opacity", "Far away", "No size", "Just hidden", "Folded away", "In a comment"),
    *("In a template", "In noscript", "Only alternative", "Secret word", "Not chosen", "Forged words", "In a title"),
    *("In data", "Title words", "Earn40"),
)


@asynccontextmanager
async def at(place: Path, files: dict[str, str | None]) -> AsyncIterator[Bench]:
    trial = Trial(place, {"server.py": SERVER, **files}, [{"id": "a", "text": "b"}])
    await trial.workspace.begin()
    contract = Contract(base=trial.workspace.base, requirements=(), serve=Serve.model_validate(SERVE))
    async with clean_room(trial.workspace, contract, contract.base, await find_interpreter()) as (bench, _):
        yield bench


async def opened(bench: Bench, **check: Any) -> Fact:
    return await browser.run_browser_check(
        BrowserCheck.model_validate({"page": "/index.html", **check}), bench, CaseSelection()
    )


def unmet(fact: Fact) -> dict[str, str]:
    return {one.id: one.kind for one in fact.tried if one.outcome is not Outcomes.PASSED}


@needs_chromium
@pytest.mark.spec("LAW-1", "LAW-7")
async def test_what_a_person_sees_counts_and_no_script_of_the_page_changes_what_is_read(tmp_path: Path) -> None:
    async with at(tmp_path, {"index.html": HOSTILE}) as bench:
        fact = await opened(bench, sees=SEES, hides=HIDES, tree=['button "Buy now"', 'heading "Points of the day"'])
        assert unmet(fact) == {}, fact.tried[0].detail
        assert len(fact.tried) == len(SEES) + len(HIDES) + 2
        kept = {
            name: (tmp_path / "state/runs/verify/artifacts" / one).read_bytes() for name, one in fact.artifacts.items()
        }
        assert kept["screenshot.png"].startswith(b"\x89PNG")
        assert b"Buy now" in kept["tree.txt"]


@needs_chromium
@pytest.mark.slow
async def test_where_the_page_leads_and_what_is_missing_on_it_are_told_by_their_kinds(tmp_path: Path) -> None:
    async with at(tmp_path, {"index.html": HOSTILE}) as bench:
        wrong = await opened(bench, page="/old", sees=["Absent"], hides=["Earn 40"], url="/index.html", tree=["button"])
        assert unmet(wrong) == {
            'sees "Absent"': "sees",
            'hides "Earn 40"': "hides",
            "url /index.html": "url",
            "tree button": "tree",
        }
        assert (await opened(bench, page="/old", url="/index.html?from=old")).tried[0].outcome is Outcomes.PASSED


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-6")
async def test_each_expectation_is_red_or_a_guard_by_itself_and_nothing_of_it_is_told(tmp_path: Path) -> None:
    base: dict[str, str | None] = {"server.py": SERVER, "index.html": "<p>Shop</p><p>+ loyalty points</p>"}
    check = {
        "kind": "browser",
        "page": "/index.html",
        "sees": ["Earn 40 points"],
        "hides": ["+ loyalty points", "Error"],
    }
    trial = Trial(tmp_path, base, [{"id": "it", "text": "it shows", "checks": [check]}], serve=SERVE)
    contract = await trial.seal()
    assert [one.kind for one in contract.base_facts[0].tried] == ["sees", "hides", ""]
    verdict = await trial.prove(contract, await trial.head({"index.html": "<p>Shop</p><p>Earn 40 points</p>"}))
    assert only(verdict).grade is Grade.PROVEN
    assert only(verdict).why[0].startswith("2 held-out cases: failed before")
    assert "1 case that passed before" in only(verdict).why[0]
    assert all(one.held_out and one.artifacts for one in verdict.evidence)
    lie = await trial.prove(contract, await trial.head({"index.html": "<p hidden>Earn 40 points</p>"}))
    assert only(lie).grade is Grade.REFUTED
    assert "40" not in " ".join(gap.what for gap in only(lie).gaps)


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("LAW-2", "LAW-4")
async def test_a_page_that_never_rests_or_complains_is_bounded_and_told(tmp_path: Path) -> None:
    pages: dict[str, str | None] = {
        "busy.html": "<p>Here</p><script>for (;;);</script>",
        "wild.html": "<p>Here</p><script>setInterval(() => document.body.append(Math.random()), 20)</script>",
        "loud.html": "<p>Here</p><script>console.error('x'); fetch('/none'); null.x</script>",
        "fled.html": "<p>Here</p><script>location = 'http://example.org/'</script>",
        "fine.html": "<p>Here</p><script src='http://example.org/cdn.js'></script><script>console.warn('w')</script>",
    }
    async with at(tmp_path, pages) as bench:
        busy = await opened(bench, page="/busy.html", sees=["Here"], within_s=3)
        assert busy.tried[0].kind in ("time", "page")
        assert unmet(await opened(bench, page="/wild.html", sees=["Here"], within_s=10)) == {}
        assert unmet(await opened(bench, page="/loud.html", sees=["Here"], quiet=True)) == {"quiet": "console"}
        assert 'sees "Here"' in unmet(await opened(bench, page="/fled.html", sees=["Here"], within_s=4))
        assert unmet(await opened(bench, page="/fine.html", sees=["Here"], quiet=True)) == {}


LOUD = {
    "a false address": "console.error('x')\n//# sourceURL=https://example.org/x.js",
    "a false address, no words": "console.error('')\n//# sourceURL=https://example.org/x.js",
    "a false icon": "console.error('x')\n//# sourceURL=/favicon.ico",
    "the words of the browser": "console.error('Failed to load resource: net::ERR_NAME_NOT_RESOLVED')\n"
    "//# sourceURL=http://example.org/cdn.js",
    "a failure with a false address": "new WebSocket('ws://localhost:1/')\n//# sourceURL=http://example.org/cdn.js",
    "a failure with a false icon": "new WebSocket('ws://localhost:1/')\n//# sourceURL=/favicon.ico",
    "another name of the server": "fetch(`http://127.0.0.1:${location.port}/none`)",
    "evaluated": "eval(\"console.error('x')\\n//# sourceURL=https://example.org/x.js\")",
}
FINE = {
    "other hosts": "fetch('http://example.org/x.json').catch(() => {}); new Image().src = 'https://example.org/x.png'",
    "no icon": "document.head.insertAdjacentHTML('beforeend', '<link rel=icon href=/favicon.ico>')",
    "a warning": "console.warn('x')\n//# sourceURL=https://example.org/x.js",
    "a name for debuggers": "document.title = 'x'\n//# sourceURL=webpack://kit/x.js",
}


@needs_chromium
@pytest.mark.spec("LAW-4", "LAW-7")
@pytest.mark.many(1)
@pytest.mark.parametrize("name", LOUD | FINE)
async def test_whose_error_it_is_follows_from_what_was_loaded_and_not_from_what_a_script_says(
    tmp_path: Path, name: str
) -> None:
    page = f"<p>Here</p><script src='http://example.org/cdn.js'></script><script>{(LOUD | FINE)[name]}</script>"
    async with at(tmp_path, {"index.html": page}) as bench:
        found = unmet(await opened(bench, sees=["Here"], quiet=True))
    assert found == ({"quiet": "console"} if name in LOUD else {})


async def test_without_a_browser_nothing_is_judged_and_the_advice_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    program, lack = chromium.find_chromium()
    assert program == ""
    assert "trued[browser]" in lack


@pytest.mark.parametrize(
    "check", [{"page": "//a/"}, {"page": "@a/"}, {"sees": [" "]}, {"sees": []}, {"hides": ["\ud800"]}, {"within_s": 0}]
)
def test_a_check_that_cannot_be_looked_at_is_malformed(check: dict[str, Any]) -> None:
    whole = {"page": "/", "sees": ["a"], **check}
    assert browser.page_flaw(BrowserCheck.model_validate(whole))
