"""All events of a run as the journal holds them, newest first, searched by the server."""

import json

from trued.model.step_keys import EXAMINERS
from trued.page.pages.common import PAGE, number_of, run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params

LENGTH = 1_000  # maximum length of one event, in characters


def events(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    words = params.get("q", "").strip()[:200]
    before = number_of(params, "before")
    silent = () if record.has_ended else EXAMINERS
    total, found = reader.store.journal.search_events(
        record.id, words.split()[:8], before=before, limit=PAGE, silent=silent
    )
    pieces = {
        "events": piece(
            "events/list.html.j2",
            record=record,
            events=[(event, json.dumps(event.data, ensure_ascii=False)[:LENGTH]) for event in found],
            words=words,
            total=total,
            count=reader.watch(record).count,
            before=before,
            more=found[-1].id if len(found) == PAGE else 0,
        )
    }
    return run_page(reader, record, "events", "Events", pieces)


ROUTE = PageRoute("/r/{run}/events", events)
