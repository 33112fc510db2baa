"""Tokens, money and time by role and agent, the limits on them, and what subscriptions report."""

from trued.engine.limits import limits_in_force
from trued.engine.spending_by_limit import spending_lines
from trued.page.pages.common import run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.spending_by_agent import spent as by_role
from trued.reporting.html.spending_by_agent import spent_by_all
from trued.support.lazy_regex import lazy_regex

LINES = 200  # each list has at most this many lines
_COMMAS = lazy_regex(r"(?<=\d),(?=\d{3})")
STEERABLE = ("running", "queued", "limited", "interrupted", "waiting", "planned")  # states in which limits still count


def _grouped(line: str) -> str:
    """The line with its numbers written as everywhere on the page: 12 345 instead of 12,345."""
    return _COMMAS.sub("\N{NARROW NO-BREAK SPACE}", line)


def spent(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    every = reader.calls(record)
    limit = limits_in_force(reader.store, record.id)
    pieces = {
        "spent": piece(
            "spent/roles.html.j2",
            rows=sorted(by_role(every), key=lambda row: -row.share)[:LINES],
            total=spent_by_all(every) if every else None,
        ),
        "limits": piece(
            "spent/limits.html.j2",
            record=record,
            lines=[_grouped(line) for line in spending_lines(reader.store, record.id)][:LINES],
            limit=limit,
            quotas=list(reader.progress(record).quotas.items())[:20],
            can_steer=reader.can_steer and record.state in STEERABLE,
        ),
    }
    return run_page(reader, record, "spent", "Spent", pieces)


ROUTE = PageRoute("/r/{run}/spent", spent)
