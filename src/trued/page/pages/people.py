"""Questions to people and their decisions: names, reasons, commits, and which decisions became stale."""

from trued.model.events import of_kind
from trued.model.events.run import EditApplied
from trued.page.pages.common import run_page
from trued.page.pages.run import wait_pieces
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params

MOST = 200  # each list shows at most this many entries, the newest


def people(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    material = reader.material(record)
    edits = [(stored.at, event) for stored, event in of_kind(material.events, EditApplied)]
    pieces = {
        **wait_pieces(reader, record, material),
        "approvals": piece("people/approvals.html.j2", record=record, approvals=material.approvals[::-1][:MOST]),
        "questions": piece("people/questions.html.j2", questions=material.questions[::-1][:MOST]),
        "edits": piece("people/edits.html.j2", edits=edits[::-1][:MOST]),
    }
    return run_page(reader, record, "people", "People", pieces)


ROUTE = PageRoute("/r/{run}/people", people)
