"""The page of a comparison: runs of the same goal side by side."""

from trued.engine.comparisons import find_comparison
from trued.errors import BadInput
from trued.page.pages.common import HOME, made
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.comparison import compared


def comparison(reader: Reader, params: Params) -> PageView:
    name = params["id"]
    found = None if reader.is_empty else find_comparison(reader.store, name)
    if found is None:
        raise BadInput(f"there is no comparison {name}")
    one = compared(reader.comparison(found))
    pieces = {"comparison": piece("comparison/page.html.j2", one=one)}
    return made(reader, f"Comparison {found.id}", pieces, HOME)


ROUTE = PageRoute("/compare/{id}", comparison)
