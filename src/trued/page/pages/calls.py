"""Every agent call of a run, newest first, and whether its claim was refuted."""

from trued.page.pages.common import paged, run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.calls import ReportedCall

FILTERS = {"work": "at work", "refuted": "refuted claims", "failed": "failed"}


def calls(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    every = reader.calls(record)[::-1]
    only, words = params.get("only", ""), params.get("q", "").strip()[:200].lower().split()
    shown = [call for call in every if (not only or _is(call, only)) and _fits(call, words)]
    pieces = {
        "calls": piece(
            "calls/list.html.j2",
            record=record,
            paging=paged(shown, params, "only", "q"),
            only=only,
            words=params.get("q", ""),
            filters=[(name, text, sum(_is(call, name) for call in every)) for name, text in FILTERS.items()],
            total=len(every),
        )
    }
    return run_page(reader, record, "calls", "Calls", pieces)


def _is(call: ReportedCall, kind: str) -> bool:
    return {"work": call.state == "at work", "refuted": bool(call.refuted), "failed": call.state == "failed"}.get(
        kind, False
    )


def _fits(call: ReportedCall, words: list[str]) -> bool:
    text = f"{call.key} {call.role} {call.agent} {call.claim} {call.summary}".lower()
    return all(word in text for word in words)


ROUTE = PageRoute("/r/{run}/calls", calls)
