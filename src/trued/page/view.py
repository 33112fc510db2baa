"""What a page consists of, independent of HTTP: pieces of HTML, each a whole element with its id.

A page always shows the current journal and is never a list of changes. So a browser that was away gets the current
pieces and has missed nothing, and a slow browser gets fewer updates, never outdated ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from trued.page.reader import Reader


@dataclass(frozen=True)
class PageView:
    """The current content of one page."""

    title: str
    pieces: Mapping[str, str]  # element id → that element as HTML, in the order of the page
    event: int = 0  # id of the newest event that it shows
    path: tuple[tuple[str, str], ...] = ()  # breadcrumb: title and address of each page above
    layout: str = ""  # the class of `main`: how the style sheet lays the pieces out
    is_behind: bool = False  # a picture of the whole run is older than the rest; it is soon drawn again
    is_whole: bool = True  # False: a long run is still being read; the page says so and is soon made again


Params: TypeAlias = Mapping[str, str]  # parameters of path and query, as the browser sent them


@dataclass(frozen=True)
class PageRoute:
    """An address and the function that makes its page, which raises BadInput if the page does not exist."""

    path: str  # as Starlette writes it: /r/{run}
    view: Callable[[Reader, Params], PageView]
