"""Parses a report: tags, attributes, text."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "img", "hr"}


class Read(HTMLParser):
    """The tags, attributes and texts of a page; errors are collected, not raised."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self._said: list[str] = []
        self.feed(html)
        self.close()
        self.text = "".join(self._said)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("p", "li", "dt", "dd") and tag not in self.open:
            self.unbalanced.append(tag)
        elif self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self._said.append(data)

    @property
    def nodes(self) -> int:
        """The number of elements and texts, as a browser counts them."""
        return len(self.tags) + len(self._said)

    def having(self, name: str, part: str = "") -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.tags if tag == name and part in attributes.get("class", "")]
