"""What a keyboard and a screen reader need of every page; axe looks closer in `test_browser_pages.py`."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.page.made_up import addresses, demo, html_of
from trued.page.reader import Reader

CALL = "chunk 1B/purple-team-a#1"
FIELDS = ("input", "textarea", "select")


class Outline(HTMLParser):
    """Fields without a name, headings, and elements that a keyboard would meet out of order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.labels = 0
        self.unnamed: list[str] = []
        self.headings: list[int] = []
        self.out_of_order: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.labels += tag == "label"
        named = self.labels or given.get("aria-label") or given.get("aria-labelledby")
        if tag in FIELDS and given.get("type") not in ("hidden", "submit") and not named:
            self.unnamed.append(self.get_starttag_text() or tag)
        if tag == "img" and "alt" not in given:
            self.unnamed.append(self.get_starttag_text() or tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if (given.get("tabindex") or "0") not in ("0", "-1"):
            self.out_of_order.append(self.get_starttag_text() or tag)

    def handle_endtag(self, tag: str) -> None:
        self.labels -= tag == "label"


@pytest.mark.spec("PAGE-8")
@pytest.mark.parametrize("state", ["running", "waiting", "done"])
def test_fields_have_names_headings_go_down_by_one_and_the_content_is_one_key_away(tmp_path: Path, state: str) -> None:
    demo(tmp_path, state=state)
    reader = Reader(tmp_path, {})
    for address in addresses("r-demo", CALL, "count"):
        html = html_of(reader, address)
        outline = Outline(html)
        assert outline.unnamed == [], address
        assert outline.out_of_order == [], address
        assert outline.headings[0] == 1, address
        steps = zip(outline.headings, outline.headings[1:], strict=False)
        assert all(after <= before + 1 for before, after in steps), (address, outline.headings)
        assert re.search(r'<a [^>]*href="#(\w+)"', html.partition("<main")[0]), address  # skips the head of the page
        assert '<html lang="en"' in html
    reader.close()
