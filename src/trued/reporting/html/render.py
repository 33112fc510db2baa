"""Renders the page as one self-contained HTML file."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from trued.reporting.html import format as words
from trued.reporting.html.page import ReportPage
from trued.support.durations import duration
from trued.support.plain_text import plain
from trued.support.token_count import token_count


def rendered(page: ReportPage) -> str:
    return environment().get_template("report.html.j2").render(page=page)


def environment() -> Environment:
    """The template environment, in which no text from outside becomes markup."""
    made = Environment(
        loader=PackageLoader("trued.reporting.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_control_characters,
    )
    made.filters.update(
        amount=words.amount, clock=words.clock, duration=duration, moment=words.moment, short=words.short
    )
    made.filters.update(token_count=token_count)
    made.filters["escaped"] = escaped
    made.globals["counted"] = words.counted
    return made


def escaped(text: str) -> Markup:
    """A text from outside as markup, for templates that show it several times, so that it is escaped only once."""
    return escape(plain(text))


def _without_control_characters(value: object) -> object:
    """Remove control characters from every text that reaches the page; the template engine escapes it afterwards."""
    return plain(value) if type(value) is str else value
