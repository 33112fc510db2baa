"""Finds what a page or style sheet loads from elsewhere, and which code it runs. Does no I/O."""

import html
import re
from collections.abc import Collection, Iterator
from html.parser import HTMLParser
from pathlib import PurePosixPath

from trued.proof.dependencies.source_imports import read_source
from trued.support.lazy_regex import lazy_regex

ADDRESSED = frozenset(
    (
        *("src", "href", "xlink:href", "action", "formaction", "data", "poster", "background", "manifest", "srcset"),
        *("imagesrcset", "ping", "code", "codebase", "archive", "classid"),
    )
)
MOST_UNCLOSED = 200
_SHOWN_AS_PICTURE = ("img", "source", "link", "input", "video", "image")
_ELSEWHERE = lazy_regex(r"(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_CALLED = ("mailto:", "tel:", "about:")  # addresses from which nothing is loaded
_PYTHON = lazy_regex(r"m?py-.*|script (?!.*jupyter).*py.*", re.IGNORECASE)  # tag and type
_END_OF_PYTHON = lazy_regex(r"m?py-.*|script", re.IGNORECASE)  # until then, other tags are part of the code
_ESCAPE = lazy_regex(r"\\([0-9a-fA-F]{1,6})[ \t\r\n\f]?")
_STYLE_ADDRESS = lazy_regex(r"url\(\s*[\"']?\s*([^\"')]+)|@import\s+[\"']([^\"']+)", re.IGNORECASE)
ADDRESS = lazy_regex(r"(?:https?:/*|//)[\w.-]+\.\w[^\s\"'`<>()]*", re.IGNORECASE)
# A rule that names a file or package: @import "x", @use "x", @plugin "x"
_STYLE_NAME = r"(?:\"[^\"\n]+\"|'[^'\n]+'|(?i:url)\(\s*[^()\s]+\s*\))"
_STYLE_RULE = lazy_regex(
    r"(?<![\w\"'])@(?!(?:charset|error|warn|debug|return)\b)[\w-]+\s*(?:\([\w, ]*\)\s*)?"
    rf"({_STYLE_NAME}(?:\s*,\s*{_STYLE_NAME})*)"
)
# Matches comments, and also strings, because a string may contain what looks like a comment.
_STYLE_COMMENT = lazy_regex(r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|(?<![:\w\"'(])//[^\n]*", re.DOTALL)
_XMLNS = lazy_regex(r"""\bxmlns(?::[\w-]+)?\s*=\s*(?:"[^"]*"|'[^']*')""")  # its value is a name that nothing loads
NAMESPACE = lazy_regex(r"https?://www\.w3\.org/", re.IGNORECASE)  # names of formats: nothing loads them


def page_parts(text: str) -> "PageParts | None":
    """The parts of a page. None if Python's parser cannot read the page, for example because of an unknown declaration,
    or if too many tags are not closed, for which the parser takes quadratic time."""
    if text.count("<") - text.count(">") > MOST_UNCLOSED:
        return None
    try:
        return PageParts(text)
    except (AssertionError, RecursionError):
        return None


class PageParts(HTMLParser):
    """The parts of a page that may load something: `addresses` outside the project, and `code` that the page runs.
    Python code in a page counts as an address, because the engine does not read it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.addresses: set[str] = set()
        self.code: set[str] = set()
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if self._inside != "python" else "python"
        attributes = {name: value or "" for name, value in attrs}
        if _PYTHON.fullmatch(f"{tag} {attributes.get('type', '')}"):
            self._inside = "python"
            self.addresses.update(attributes.values())
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
        if self._inside != "python" or _END_OF_PYTHON.fullmatch(tag):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "python":
            self.addresses.add(data)
        elif self._inside == "script":
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


def loads_more(path: str, old_text: str, new_text: str) -> bool:
    """Whether a page or style sheet newly loads something from elsewhere, or newly runs code that may do so. True also
    if a page cannot be read."""
    if _addresses(new_text) - _addresses(old_text):
        return True
    if path.endswith((".css", ".scss")):
        return bool(style_addresses(new_text) - style_addresses(old_text))
    before, after = page_parts(old_text), page_parts(new_text)
    if before is None or after is None:
        return True
    known_lines = {line for script in before.code for line in read_source("inline.js", script).hidden}
    new_scripts = [read_source("inline.js", script) for script in after.code - before.code]
    return bool(after.addresses - before.addresses) or any(
        source.hidden - known_lines or source.starts for source in new_scripts
    )


def packages_in_markup(path: str, text: str, files: Collection[str]) -> set[str]:
    return _packages_in_page(text) | _packages_in_style(path, unescaped_style(text), files)


def _packages_in_page(text: str) -> set[str]:
    """The packages that scripts in a page import."""
    page = page_parts(text)
    return {name for script in page.code for name in read_source("inline.js", script).imports} if page else set()


def _packages_in_style(path: str, text: str, files: Collection[str]) -> set[str]:
    """The packages that rules of a style sheet name. A name counts if no file of the project fits it, because a bundler
    would then look for a package of that name."""
    beside, packages = PurePosixPath(path).parent, set[str]()
    rules = _STYLE_RULE.findall(_STYLE_COMMENT.sub(lambda match: match[1] or "", text))
    quoted_names = [quoted for rule in rules for quoted in re.findall(_STYLE_NAME, rule)]
    for name in (
        re.sub(r"^(?i:url)\(", "", quoted).rstrip(")").strip().strip("\"'").removeprefix("~") for quoted in quoted_names
    ):
        if not name or name.startswith((".", "/", "http:", "https:", "sass:")):
            continue
        target = beside / name
        # Sass loads a folder by its index
        targets = (target, target / "index") if path.endswith(".scss") else (target,)
        variants = [(mark, end) for mark in ("", "_") for end in ("", ".css", ".scss", ".sass")]
        candidates = {
            str(candidate.with_name(f"{mark}{candidate.name}{end}")) for candidate in targets for mark, end in variants
        }
        if candidates.isdisjoint(files):
            packages.add("/".join(name.split("/")[: 2 if name.startswith("@") else 1]))
    return packages


def _addresses(text: str) -> set[str]:
    """The addresses in a page, as a browser reads them."""
    plain = _XMLNS.sub("", html.unescape(text)).replace("\\", "/")
    joined = re.sub(r"[\t\r\n]", "", plain)  # browsers ignore these in addresses
    addresses = {address for address in ADDRESS.findall(plain) if not NAMESPACE.match(address)}
    return addresses | {address.split("?")[0] for address in re.findall(r"(?:https?:/*|//)[\w-]+(?:\.[\w-]+)+", joined)}
