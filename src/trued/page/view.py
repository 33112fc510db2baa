"""What a page is, before any HTTP: pieces of HTML, each the whole element with its id.

A page is always the picture of the journal as it stands, never a list of changes. So a browser that was away gets the
pieces as they are now and has missed nothing, and a slow one gets fewer pictures, never older ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from trued.page.reader import Reader


@dataclass(frozen=True)
class PageView:
    """One page as it stands now."""

    title: str
    pieces: Mapping[str, str]  # element id → that element as HTML, in the order of the page
    event: int = 0  # the newest journal id that it shows
    path: tuple[tuple[str, str], ...] = ()  # from the first page to here: words and address of each page above
    layout: str = ""  # the class of `main`: how the style sheet lays the pieces out
    is_whole: bool = True  # else a long run is still being read, and the page says so: it is soon made again


Params: TypeAlias = Mapping[str, str]  # of the path and the query, as the browser sent them


@dataclass(frozen=True)
class PageRoute:
    """An address and the function that makes its page. Raises BadInput for what does not exist."""

    path: str  # as Starlette writes it: /r/{run}
    view: Callable[[Reader, Params], PageView]
