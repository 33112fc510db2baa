"""Documents on the run's branch, in their current form or an earlier version: plan with ticks, memories, backlog."""

from trued.errors import BadInput
from trued.page.pages.common import paged, run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.page.work_diff import file_versions, version_text
from trued.reporting.html.calls import Text

LENGTH = 120_000  # maximum length of one document, in characters


def documents(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    every = reader.documents(record)
    name = params.get("name", "") or next(iter(every), "")
    if name and name not in every:
        raise BadInput(f"run {record.id} has no document {name}", then="the page Documents lists them")
    versions = file_versions(reader.store, record, name) if name else ()
    at = next((version for version in versions if version.commit == params.get("at")), None)
    text = version_text(reader.store, record, at.commit, name) if at else every.get(name, "")
    pieces = {
        "documents": piece(
            "documents/list.html.j2", record=record, paging=paged(list(every), params, "name"), here=name
        ),
        "document": piece(
            "documents/one.html.j2", name=name, text=Text.of(text, LENGTH), versions=versions[:40], at=at
        ),
    }
    return run_page(reader, record, "documents", "Documents", pieces, layout="beside")


ROUTE = PageRoute("/r/{run}/documents", documents)
