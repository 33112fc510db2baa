"""What all pages share: the number of waits, a run's head and tabs, and paged lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

from markupsafe import Markup

from trued.engine.pending import Wait
from trued.model import RunRecord
from trued.model.titles import cut_title
from trued.page.reader import Reader
from trued.page.render import macro, piece, run_url
from trued.page.story import StoryLine, sentence
from trued.page.view import PageView, Params

PAGE = 200  # rows of a list on one page
LINES = 1_000  # lines of stories that are cached as HTML
SHORT = 60  # maximum length of a title in the breadcrumb, in characters
HOME = ("Runs", "/")
TABS = (
    ("", "Now"),
    ("calls", "Calls"),
    ("verdicts", "Verdicts"),
    ("diff", "Diff"),
    ("documents", "Documents"),
    ("people", "People"),
    ("spent", "Spent"),
    ("contract", "Contract"),
    ("events", "Events"),
)

Item = TypeVar("Item")


@dataclass(frozen=True)
class Paging(Generic[Item]):
    """One page of a list, with links to the others."""

    items: Sequence[Item]
    number: int
    total: int
    size: int = PAGE
    keep: Mapping[str, str] = field(default_factory=dict)  # other query parameters to keep
    back: str = "previous"
    on: str = "next"

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.size))

    @property
    def first(self) -> int:
        return min(self.total, (self.number - 1) * self.size + 1)

    @property
    def last(self) -> int:
        return min(self.total, self.number * self.size)

    def link(self, number: int) -> dict[str, object]:
        return {**self.keep, "page": number}


def paged(items: Sequence[Item], params: Params, *keep: str, size: int = PAGE) -> Paging[Item]:
    """The page of a list that the address asks for; a number out of range gives the nearest page. `keep`: parameters of
    the address that the links to other pages repeat."""
    number = min(number_of(params, "page", 1), max(1, -(-len(items) // size)))
    kept = {name: params[name] for name in keep if params.get(name)}
    return Paging(items[(number - 1) * size : number * size], number, len(items), size, kept)


def number_of(params: Params, name: str, least: int = 0) -> int:
    """The number in this parameter of the address; `least` if it is smaller or not a number."""
    given = params.get(name, "")
    return max(least, int(given)) if given.isascii() and given.isdecimal() and len(given) < 10 else least


def waiting(reader: Reader) -> str:
    """The piece at the top of every page: how many things wait for a person."""
    return piece("waiting.html.j2", number=reader.wait_count())


def wait_piece(
    reader: Reader, record: RunRecord, number: int, one: Wait, pictures: Sequence[object] = (), progress: str = ""
) -> str:
    """The piece for one thing that waits for a person. Each thing has a piece of its own, so that a half-written answer
    stays while other pieces change."""
    return piece(
        "wait.html.j2",
        number=number,
        one=one,
        record=record,
        can_steer=reader.can_steer,
        pictures=pictures,
        progress=progress,
        look=reader.look_at(record) if one.kind == "judge" else None,
    )


def made(reader: Reader, title: str, pieces: Mapping[str, str], *path: tuple[str, str], layout: str = "") -> PageView:
    """The page with these pieces, and with the piece that all pages have: how many things wait."""
    return PageView(title, {"waiting": waiting(reader), **pieces}, reader.newest_event(), path, layout)


def run_head(reader: Reader, record: RunRecord, tab: str) -> dict[str, str]:
    """The head of every page of a run: its title, what happens now, and tabs to the other pages."""
    seen, waits = reader.progress(record), reader.waits(record)
    who, words = sentence(record, seen, waits)
    head = piece(
        "run/head.html.j2",
        record=record,
        who=who,
        words=words,
        waits=waits,
        can_steer=reader.can_steer,
        next_steps=reader.next_steps(record),
        landed=seen.landed_text,
    )
    return {"head": head, "tabs": piece("run/tabs.html.j2", record=record, tabs=TABS, here=tab)}


def story_piece(record: RunRecord, story: Sequence[StoryLine], count: int = 0) -> str:
    """The newest events as a story, the last one first. `count`: the number of all events, if it is known."""
    before = [0, *(entry.id for entry in story)]
    lines = [_story_line(record.id, entry, entry.id != last) for entry, last in zip(story, before, strict=False)]
    return piece("run/story.html.j2", record=record, lines=lines, count=count)


@lru_cache(LINES)
def _story_line(run: str, one: StoryLine, is_first: bool) -> Markup:
    """One line as HTML; `is_first`: the first line of its event. Cached, because it never changes and is rendered again
    after every event."""
    return macro("run/story_line.html.j2", "line")(run, one, is_first)


def short_title(record: RunRecord) -> str:
    return cut_title(record.title or record.id, SHORT)


def run_page(
    reader: Reader, record: RunRecord, tab: str, title: str, pieces: Mapping[str, str], *, layout: str = ""
) -> PageView:
    """A page of a run, with its head."""
    short = short_title(record)
    path = [HOME, (short, run_url(record.id))] if tab or title else [HOME]
    return made(reader, title or short, {**run_head(reader, record, tab), **pieces}, *path, layout=layout)
