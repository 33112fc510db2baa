"""The page of one run: what happens now."""

from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params


def run(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    seen = reader.progress(record)
    pieces = {"now": piece("now.html.j2", record=record, seen=seen)}
    return PageView(record.title or record.id, pieces, reader.newest_event())


ROUTE = PageRoute("/r/{run}", run)
