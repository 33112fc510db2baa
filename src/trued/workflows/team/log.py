"""A log file in pages: the current page stays short, and full pages are never written again."""

from trued.model import Value

PAGE = 100  # this many entries of this run fill a page, however much an earlier run had written on it
NOTHING = "Nothing yet."


class Log(Value):
    """The entries of the current and the last full page. Earlier pages are in their files already."""

    entries: tuple[str, ...] = ()  # of the page that is being filled
    full: tuple[str, ...] = ()  # the entries of the last full page
    pages: int = 0  # how many pages are full, with those of earlier runs
    earlier: str = ""  # what earlier runs wrote on the page that is being filled, verbatim
    count: int = 0  # the number of the last entry; entries of earlier runs count if they are numbered

    @classmethod
    def continued(cls, text: str, title: str, *, pages: int, count: int) -> "Log":
        """A log that continues the log of an earlier run. `text`: the earlier log's current page. `pages`: how many
        full pages the earlier log has. `count`: the number of its last entry, or 0 if entries are not numbered."""
        lines = text.split("\n")
        head = 1 if title and lines[:1] == [f"# {title}"] else 0
        entries = [line for line in lines[head:] if line != NOTHING and not _is_earlier_note(line)]
        body = "\n".join(entries).strip("\n")
        page = f"{body}\n" if body else ""
        if sum(entry.startswith(("## ", "- 2", "{")) for entry in entries) < PAGE:
            return cls(pages=pages, earlier=page, count=count)
        return cls(full=(page,), pages=pages + 1, count=count)

    def with_entry(self, text: str) -> "Log":
        if len(self.entries) < PAGE:
            return self.model_copy(update={"entries": (*self.entries, text), "count": self.count + 1})
        full = (self.earlier, *self.entries) if self.earlier else self.entries
        return Log(entries=(text,), full=full, pages=self.pages + 1, count=self.count + 1)

    def files(self, path: str, title: str = "") -> dict[str, str]:
        """The current page under the log's own name, and the last full page beside it."""
        entries = (
            (self.earlier if title else self.earlier.rstrip("\n"), *self.entries) if self.earlier else self.entries
        )
        pages = {path: _page(title, entries, _earlier(path, self.pages) if title and self.pages else "")}
        if self.full:
            pages[_numbered(path, self.pages)] = _page(f"{title}, page {self.pages}" if title else "", self.full)
        return pages


def _is_earlier_note(line: str) -> bool:
    """Whether the line only says where earlier entries are. The engine writes this line anew on each page."""
    return line.startswith("Earlier entries are in ")


def _numbered(path: str, page: int) -> str:
    stem, _, ending = path.rpartition(".")
    return f"{stem}-{page:03}.{ending}"


def _earlier(path: str, pages: int) -> str:
    name = _numbered(path, pages).rpartition("/")[2]
    return f"Earlier entries are in {name}{' and those before it' if pages > 1 else ''}.\n"


def _page(title: str, entries: tuple[str, ...], note: str = "") -> str:
    if not title:
        return "".join(f"{entry}\n" for entry in entries)
    parts = [f"# {title}\n", *([note] if note else []), *(entries or (f"{NOTHING}\n",))]
    text = "\n".join(parts)
    return text if text.endswith("\n") else f"{text}\n"
