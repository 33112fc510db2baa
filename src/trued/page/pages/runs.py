"""The first page: what waits for a person, and all runs."""

from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params


def runs(reader: Reader, params: Params) -> PageView:
    every = reader.runs()
    pieces = {"runs": piece("runs.html.j2", runs=every)}
    return PageView("Runs", pieces, reader.newest_event())


ROUTE = PageRoute("/", runs)
