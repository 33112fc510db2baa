"""The page of one call: its brief, its transcript line by line, its reply, and whether its claim was refuted."""

from trued.page.pages.common import number_of, run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.transcript import WINDOW
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.calls import Text

BRIEF, REPLY = 80_000, 20_000  # maximum length of the brief and of the reply, in characters
AROUND = 40  # lines shown before the line that the address names


def call(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    found = reader.call(record, params["key"])
    running = found.state == "at work" and record.state == "running"
    brief, reply = reader.texts(record, found)
    transcript = reader.transcript(record, found)
    first = number_of(params, "from") or max(0, number_of(params, "line") - AROUND)
    window = transcript.window(max(1, first) if first or "line" in params else 0) if transcript else None
    pieces = {
        "about": piece("call/about.html.j2", record=record, call=found, running=running, can_steer=reader.can_steer),
        "reply": piece("call/reply.html.j2", record=record, call=found, reply=Text.of(reply, REPLY)),
        "transcript": piece("call/transcript.html.j2", record=record, call=found, window=window, size=WINDOW),
        "brief": piece("call/brief.html.j2", call=found, brief=Text.of(brief, BRIEF)),
    }
    if running and not found.held_back and (changed := reader.clones.of(reader.store, record, found)):
        pieces["clone"] = piece("call/clone.html.j2", parts=changed)
    return run_page(reader, record, "calls", found.key, pieces)


ROUTE = PageRoute("/r/{run}/call/{key:path}", call)
