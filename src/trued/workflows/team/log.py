"""A log file in pages: the current page stays short, and full pages are never written again."""

from trued.model import Value

PAGE = 100  # entries of one page


class Log(Value):
    """The entries of the current and the last full page. Earlier pages are in their files already."""

    entries: tuple[str, ...] = ()  # of the page that is being filled
    full: tuple[str, ...] = ()  # the last full page
    pages: int = 0

    def with_entry(self, text: str) -> "Log":
        if len(self.entries) < PAGE:
            return self.model_copy(update={"entries": (*self.entries, text)})
        return Log(entries=(text,), full=self.entries, pages=self.pages + 1)

    @property
    def count(self) -> int:
        return self.pages * PAGE + len(self.entries)

    def files(self, path: str, title: str = "") -> dict[str, str]:
        """The current page under the log's own name, and the last full page beside it."""
        found = {path: _page(title, self.entries, _earlier(path, self.pages) if title and self.pages else "")}
        if self.pages:
            found[_numbered(path, self.pages)] = _page(f"{title}, page {self.pages}" if title else "", self.full)
        return found


def _numbered(path: str, page: int) -> str:
    stem, _, ending = path.rpartition(".")
    return f"{stem}-{page:03}.{ending}"


def _earlier(path: str, pages: int) -> str:
    name = _numbered(path, pages).rpartition("/")[2]
    return f"Earlier entries are in {name}{' and those before it' if pages > 1 else ''}.\n"


def _page(title: str, entries: tuple[str, ...], note: str = "") -> str:
    if not title:
        return "".join(f"{entry}\n" for entry in entries)
    parts = [f"# {title}\n", *([note] if note else []), *(entries or ("Nothing yet.\n",))]
    text = "\n".join(parts)
    return text if text.endswith("\n") else f"{text}\n"
