"""Every page of the server, one module each: an address and the function that makes it."""

from trued.page.pages import run, runs
from trued.page.view import PageRoute

PAGES: tuple[PageRoute, ...] = (runs.ROUTE, run.ROUTE)
