"""Attempts by agents' text: whatever they write into any field, it stays text; what they call a picture cannot act."""

import hashlib
import json
import re
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tests.page.made_up import add_events, add_run, addresses, demo, html_of, view_of
from tests.page.served import page
from tests.reporting.html.sample import START, events, history, material
from trued.errors import BadInput
from trued.model import Event
from trued.model.events import JournalEvent
from trued.model.evidence import Shot
from trued.page.reader import Reader
from trued.page.render import call_url, with_visible_signs
from trued.reporting.views.event_kinds import GROUPS
from trued.support.hashing import folder_name
from trued.workflows.registry import descriptors
from trued.workflows.view import view_of as workflow_view

pytestmark = pytest.mark.spec("PAGE-6")

CALL = "chunk 1B/purple-team-a#1"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
ATTACKS = (
    "<script>alert(1)</script><x-evil>",
    '"><img src=x onerror=alert(1)><x-evil a="',
    "'><x-evil onmouseover=alert(1) x='",
    '" onfocus="alert(1)" autofocus x="',
    '<x-evil hx-post="/do/approve" hx-trigger="load"></x-evil>',
    '<form data-do="approve"><input name="run" value="r-demo"></form><x-evil>',
    "</pre></section></main><x-evil><!--",
    "{{ 7 * 7 }}{% raw %}<x-evil>",
    "<svg onload=alert(1)><x-evil>",
    "javascript:alert(1)//<x-evil>",
    "data:text/html,<x-evil>",
    "[click](javascript:alert(1)) <https://evil.example/> https://evil.example/",
)
ATTRIBUTES = {
    *("id", "class", "href", "src", "alt", "title", "lang", "charset", "content", "name", "rel", "type", "value"),
    *("role", "tabindex", "hidden", "open", "scope", "datetime", "for", "method", "action", "placeholder", "loading"),
    *("required", "maxlength", "checked", "autocomplete", "colspan", "start"),
    *("x", "y", "x1", "x2", "y1", "y2", "width", "height", "rx", "r", "d", "overflow", "text-anchor"),
    *("patternunits", "patterntransform"),
    *("aria-label", "aria-labelledby", "aria-hidden", "aria-current", "aria-live", "download"),
    *("data-do", "data-said", "data-ago", "data-since", "data-follow", "data-name", "data-address", "data-event"),
    *("data-ended", "data-binds", "data-state", "selected", "viewbox", "preserveaspectratio", "points", "cx", "cy"),
}


class Elements(HTMLParser):
    """Every element with its attributes, and what stands within `role=log`."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    handle_startendtag = handle_starttag

    @property
    def acting(self) -> int:
        return sum("data-do" in attributes for _, attributes in self.found)

    def check(self) -> None:
        """No element, attribute or address that the templates did not make."""
        for tag, attributes in self.found:
            assert tag != "x-evil"
            assert tag != "script" or attributes.get("src", "").startswith("/static/")
            assert set(attributes) <= ATTRIBUTES, (tag, set(attributes) - ATTRIBUTES)
            assert attributes.get("href", "/")[0] in "/#?", attributes
            assert not attributes.get("href", "").startswith("//"), attributes
            assert attributes.get("src", "/static/").startswith(("/static/", "/picture/")), attributes


def kinds() -> list[type[JournalEvent]]:
    """Every kind of event that the engine or a workflow emits."""
    own = [kind for one in descriptors() for kind in workflow_view(one.name).EVENTS]
    return [kind for group in GROUPS for kind in group.EVENTS] + own


def filled(kind: type[JournalEvent], text: str) -> dict[str, Any]:
    """The fields of an event with the text wherever a text can stand."""
    candidates = (text, [text], [[text]], {text: text}, {text: 1}, {text: [text]}, 1, None)
    found = {}
    for name, field in kind.model_fields.items():
        for value in candidates:
            try:
                TypeAdapter(field.annotation or Any).validate_python(value)
            except ValidationError:
                continue
            found[field.alias or name] = value
            break
    return found


def written(home: Path, text: str, workflow: str = "purple") -> Reader:
    """A run in which every text of every event, document, reply, verdict and transcript is this one."""
    sample = material(text, state="running", events=tuple(events(text))[:-1])
    record = sample.record.model_copy(update={"workflow": workflow, "why": text, "branch": text})
    add_run(
        home, material(record=record, events=sample.events), [json.dumps({"at": 1, "kind": text, text: text}), text]
    )
    made = [
        Event(id=0, at=START + 30, key=f"chunk {text}/dev#1", kind=one.KIND, data=filled(one, text)) for one in kinds()
    ]
    add_events(home, "r-demo", made)
    return Reader(home, {})


WORKFLOWS = ("team", "pipeline", "handoff", "ticket")  # each shows something of its own


@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("attack", "workflow"),
    [*((one, "purple") for one in ATTACKS), *((one, name) for one in ATTACKS[:2] for name in WORKFLOWS)],
)
def test_19_and_20_markup_in_every_field_of_every_event_kind_stays_text(
    tmp_path: Path, attack: str, workflow: str
) -> None:
    reader = written(tmp_path, attack, workflow)
    (tmp_path / "calm").mkdir()
    calm = written(tmp_path / "calm", "calm", workflow)
    for address in addresses("r-demo", CALL, "count"):
        read = Elements(html_of(reader, address))
        read.check()
        assert read.acting == Elements(html_of(calm, address)).acting, address
        for piece in view_of(reader, address).pieces.values():
            Elements(piece).check()
    Elements(html_of(reader, call_url("r-demo", f"chunk {attack}/dev#1"))).check()
    reader.close()
    calm.close()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(min_size=1, max_size=60))
@pytest.mark.slow
def test_19_no_text_at_all_becomes_an_element(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        reader = written(Path(folder), text.encode("utf-8", "replace").decode())
        for address in addresses("r-demo", CALL, "slug"):
            Elements(html_of(reader, address)).check()
        reader.close()


@given(st.text())
def test_21_no_control_or_bidirectional_character_reaches_a_page_and_none_is_lost(text: str) -> None:
    shown = with_visible_signs(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]", shown)
    assert len(shown) >= len(text.replace("\r\n", "\n"))


def test_21_bidirectional_ansi_and_nul_characters_are_seen(tmp_path: Path) -> None:
    reader = written(tmp_path, "abc\u202ecba \x1b[31mred\x1b[0m \x00 \u2066x\u2069")
    html = html_of(reader, "/r/r-demo")
    for raw in ("\u202e", "\x1b", "\x00", "\u2066"):
        assert raw not in html
    assert "⟨U+202E⟩" in html
    assert "␛[31m" in html
    reader.close()


def with_pictures(home: Path, *contents: bytes, hidden: str = "", state: str = "done") -> list[str]:
    """A run whose evidence names these contents as pictures. Returns their hashes."""
    first, *rest = history()
    hashes = [hashlib.sha256(one).hexdigest() for one in contents]
    shots = tuple(Shot(name="shot", sha256=one, page="/", viewport="1280x800", trace=hashes[-1]) for one in hashes[:-1])
    evidence = first.verdict.evidence[0].model_copy(
        update={"pictures": shots, "held_out": False, **({hidden: True} if hidden else {})}
    )
    proved = type(first)(first.key, first.at, first.verdict.model_copy(update={"evidence": (evidence,)}))
    add_run(home, material(state=state, history=(proved, *rest)))
    folder = home / "runs" / "r-demo" / "artifacts"
    folder.mkdir(parents=True)
    for name, content in zip(hashes, contents, strict=True):
        (folder / name).write_bytes(content)
    return hashes


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
PAGE = b"<!doctype html><script>alert(1)</script>"
TRACE = b"PK\x03\x04 trace.zip with <script>"


def test_22_and_24_only_a_png_is_ever_given_out_as_a_picture(tmp_path: Path) -> None:
    png, svg, html, trace = with_pictures(tmp_path, PNG, SVG, PAGE, TRACE)
    reader = Reader(tmp_path, {})
    assert reader.picture(png) == PNG
    assert [reader.picture(one) for one in (svg, html, trace)] == [None, None, None]
    page_html = html_of(reader, "/r/r-demo/ledger/slug")
    assert f"/picture/{png}" in page_html
    assert f"/picture/{trace}" not in page_html  # a recording with scripts is led to by nothing
    reader.close()


@pytest.mark.parametrize("hidden", ["held_out", "tainted"])
def test_22_a_picture_that_no_evidence_names_or_that_is_held_out_is_not_given_out(tmp_path: Path, hidden: str) -> None:
    png, _ = with_pictures(tmp_path, PNG, TRACE, hidden=hidden, state="running")
    other = hashlib.sha256(b"other").hexdigest()
    (tmp_path / "runs" / "r-demo" / "artifacts" / other).write_bytes(PNG)
    reader = Reader(tmp_path, {})
    assert reader.picture(png) is None
    assert reader.picture(other) is None
    reader.close()


@pytest.mark.parametrize("name", ["../../../etc/passwd", "..", "a" * 63, "g" * 64, "A" * 64, f"{'a' * 64}\n", ""])
def test_23_a_picture_has_no_other_name_than_its_hash(tmp_path: Path, name: str) -> None:
    with_pictures(tmp_path, PNG, TRACE)
    reader = Reader(tmp_path, {})
    assert reader.picture(name) is None
    reader.close()


def test_22_the_server_sends_a_picture_that_can_do_nothing(tmp_path: Path) -> None:
    home = tmp_path / "state"
    home.mkdir()
    png, svg, _ = with_pictures(home, PNG, SVG, TRACE)
    with page(home) as one:
        one.enter()
        answer = one.get(f"/picture/{png}")
        assert answer.status == 200
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        assert one.get(f"/picture/{svg}").status == 404


@pytest.mark.parametrize(
    "address",
    [
        "/r/r-demo/call/../../../../etc/passwd",
        "/r/r-demo/call/%2e%2e/%2e%2e/secret",
        "/r/r-demo/ledger/../../journal.db",
        "/r/r-demo/documents?name=../../../../etc/passwd",
        "/r/r-demo/documents?name=/etc/passwd",
        "/r/r-demo/diff?file=../../../etc/passwd",
        "/r/..%2f..",
        "/compare/..%2f..%2fjournal",
    ],
)
def test_23_names_that_lead_elsewhere_lead_nowhere(tmp_path: Path, address: str) -> None:
    demo(tmp_path)
    reader = Reader(tmp_path, {})
    with pytest.raises((BadInput, LookupError)):
        view_of(reader, address)
    reader.close()


def test_25_a_transcript_that_imitates_a_wait_or_the_number_box_is_a_transcript(tmp_path: Path) -> None:
    imitation = (
        '<section class="panel for-you">It waits for you. Type 47 into the terminal <output data-said>47</output>'
    )
    demo(tmp_path, imitation)
    reader = Reader(tmp_path, {})
    for address in ("/", "/r/r-demo", f"/r/r-demo/call/{CALL.replace('#', '%23').replace(' ', '%20')}"):
        read = Elements(html_of(reader, address))
        assert not [one for _, one in read.found if "for-you" in one.get("class", "") or "data-said" in one], address
        assert read.acting == 0
    reader.close()


def test_26_a_line_of_twenty_megabytes_costs_no_more_than_its_beginning(tmp_path: Path) -> None:
    demo(tmp_path)
    folder = tmp_path / "runs" / "r-demo" / "spool" / f"{folder_name(CALL)}.1"
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b'{"at": 1, "kind": "log", "text": "' + b"x" * 20_000_000 + b'"}\n')
        file.write(b'{"at": 2, "kind": "log", "text": "after it"}\n')
    reader = Reader(tmp_path, {})
    for address in ("/r/r-demo", "/r/r-demo/call/chunk%201B/purple-team-a%231"):
        html = html_of(reader, address)
        assert len(html) < 200_000
    assert "after it" in html
    assert "bytes more" in html
    reader.close()
