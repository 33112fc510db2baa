"""Reads a page or style sheet as a browser does: what it loads from elsewhere, and which code it runs. Pure."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

ADDRESSED = frozenset(
    (
        *("src", "href", "xlink:href", "action", "formaction", "data", "poster", "background", "manifest", "srcset"),
        *("imagesrcset", "ping", "code", "codebase", "archive", "classid"),
    )
)
MOST_UNCLOSED = 200
_SHOWN_AS_PICTURE = ("img", "source", "link", "input", "video", "image")
_ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_CALLED = ("mailto:", "tel:", "about:")  # addresses from which nothing is loaded
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})[ \t\r\n\f]?")
_STYLE_ADDRESS = re.compile(r"url\(\s*[\"']?\s*([^\"')]+)|@import\s+[\"']([^\"']+)", re.IGNORECASE)


def page_parts(text: str) -> "PageParts | None":
    """The parts of a page; None if it cannot be read: Python's parser fails at unknown declarations, and takes
    quadratic time for many tags that are not closed."""
    if text.count("<") - text.count(">") > MOST_UNCLOSED:
        return None
    try:
        return PageParts(text)
    except (AssertionError, RecursionError):
        return None


class PageParts(HTMLParser):
    """The parts of a page that may load something: `addresses` outside the project, and `code` that the page runs."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.addresses: set[str] = set()
        self.code: set[str] = set()
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        attributes = {name: value or "" for name, value in attrs}
        for name, value in attributes.items():
            if name.startswith("on"):
                self.code.add(value)
            elif name == "srcdoc":
                framed = PageParts(value)
                self.addresses |= framed.addresses
                self.code |= framed.code
            elif name == "style":
                self.addresses |= style_addresses(value)
            elif name in ADDRESSED:
                addresses = value.split(",") if name.endswith("srcset") else [value]
                self.addresses |= {address for address in map(_plain, addresses) if leads_elsewhere(address, tag)}
        if "http-equiv" in attributes:  # may load another page
            self.addresses |= {
                _plain(address)
                for address in re.split(r"[;=]", attributes.get("content", ""))
                if leads_elsewhere(address)
            }

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._inside = ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.code.add(data)
        elif self._inside == "style":
            self.addresses |= style_addresses(data)


def _plain(address: str) -> str:
    """The address as a browser reads it: without line breaks, with slashes for backslashes."""
    return re.sub(r"[\t\r\n]", "", address).strip().replace("\\", "/")


def leads_elsewhere(address: str, tag: str = "") -> bool:
    """Whether a page loads something from outside the project by this address. An address in the project, or one from
    which nothing is loaded (`mailto:`), gives False. So does a picture inside the address itself (`data:image/…`)."""
    plain = _plain(address).lower()
    if plain.startswith("data:image/") and tag in _SHOWN_AS_PICTURE:
        return False
    return bool(_ELSEWHERE.match(plain)) and not plain.startswith(_CALLED)


def unescaped_style(text: str) -> str:
    """A style sheet without the escapes by which a rule or an address could be written otherwise (`@\\69mport`)."""
    return _ESCAPE.sub(lambda match: chr(number) if 0 < (number := int(match[1], 16)) < 0x110000 else " ", text)


def style_addresses(text: str) -> set[str]:
    """The addresses outside the project that a style sheet loads."""
    return {
        address
        for address in _addresses_in_rules(unescaped_style(text))
        if leads_elsewhere(address, "img") and "data:font" not in address
    }


def _addresses_in_rules(text: str) -> Iterator[str]:
    for groups in _STYLE_ADDRESS.findall(text):
        yield from map(_plain, filter(None, groups))
