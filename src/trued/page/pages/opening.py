"""The page of a very long run while its events are still being read: what needs a person, and what happened last."""

from dataclasses import replace

from trued.page.pages.common import HOME, TABS, made, short_title, story_piece, wait_piece
from trued.page.reader import Reader, StillReading
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params


def viewed(route: PageRoute, params: Params, reader: Reader) -> PageView:
    """The page, with all parts from one moment. If the run is so long that it is still being read, the page shows only
    what is already known."""
    with reader.at_one_moment():
        try:
            view = route.view(reader, params)
        except StillReading as still:
            view = _opening(reader, still, route.path.partition("{run}/")[2])
        return replace(view, is_whole=not reader.is_reading_on, is_behind=reader.is_behind)


def _opening(reader: Reader, still: StillReading, tab: str) -> PageView:
    """A page without anything that depends on unread events. `tab`: the page that was asked for."""
    record = still.record
    waits = reader.waits(record)
    pieces = {
        "head": piece("run/opening.html.j2", record=record, waits=waits, share=still.share),
        "tabs": piece("run/tabs.html.j2", record=record, tabs=TABS, here=tab),
        **{f"wait-{number}": wait_piece(reader, record, number, one) for number, one in enumerate(waits[:20], 1)},
        "story": story_piece(record, reader.newest_story(record)),
    }
    return made(reader, short_title(record), pieces, HOME)
