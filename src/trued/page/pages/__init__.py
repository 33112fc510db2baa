"""Every page of the server, one module each: its address, and the function that makes the page."""

from trued.page.pages import (
    approve,
    call,
    calls,
    comparison,
    contract,
    diff,
    documents,
    events,
    gates,
    history,
    people,
    requirement,
    run,
    runs,
    spent,
    verdicts,
)
from trued.page.view import PageRoute

PAGES: tuple[PageRoute, ...] = (
    *(runs.ROUTE, comparison.ROUTE, gates.ROUTE, history.ROUTE),
    *(run.ROUTE, requirement.ROUTE, calls.ROUTE, call.ROUTE, verdicts.ROUTE, diff.ROUTE, documents.ROUTE),
    *(people.ROUTE, spent.ROUTE, contract.ROUTE, approve.ROUTE, events.ROUTE),
)
