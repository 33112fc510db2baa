"""Renders the templates of the live page. They share the report's filters; no text from outside becomes markup."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import cast
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup, escape

from trued.page.view import PageView
from trued.reporting.html.format import agent_name, cost, moment
from trued.reporting.html.render import environment as report_environment
from trued.support.lazy_regex import lazy_regex
from trued.support.money import money

# Characters that a browser would obey or not show: control, bidirectional and invisible ones; except newline, tab, and
# the two joiners that some writing systems and emoji need.
_UNSEEN = lazy_regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
KEPT = 1_000  # each cache keeps at most this many texts, addresses or times; a page shows a few hundred
_PICTURES = 0x2400  # from here on, Unicode has a visible symbol for each of the first 32 control characters


@cache
def environment() -> Environment:
    """The template environment: the page's own templates first, then the report's."""
    made = report_environment()
    made.loader = ChoiceLoader([PackageLoader("trued.page"), *filter(None, [made.loader])])
    made.finalize = _escape_value
    made.filters.update(
        iso=iso, agent_name=agent_name, money=money, cost=cost, escaped=escaped, time_of_day=time_of_day
    )
    made.filters["question_first"] = question_first
    made.globals.update(run_url=run_url, call_url=call_url, requirement_url=requirement_url, query=query)
    return made


def piece(template: str, **values: object) -> str:
    """One element of a page as HTML."""
    return environment().get_template(template).render(**values)


@cache
def macro(template: str, name: str) -> Callable[..., Markup]:
    """A macro of a template as a function, for small parts that are rendered very often."""
    return cast("Callable[..., Markup]", getattr(environment().get_template(template).module, name))


def question_first(text: str) -> tuple[str, str]:
    """The question in a text, and the rest of the text, so that a page can show the question first."""
    lines = text.split("\n")
    number = next((place for place in (0, len(lines) - 1) if "?" in lines[place]), 0)
    asked, mark, more = lines[number].partition("?")
    others = [*lines[:number], *lines[number + 1 :]]
    return asked + mark, "\n".join([*others, more.strip()]).strip()


def document(view: PageView, address: str, *, can_act: bool = True) -> str:
    """The whole page, as sent when its address is opened. It can be read without JavaScript."""
    return _document(view=view, address=address, can_act=can_act, is_still=False)


def missing(words: str, *, is_there: bool = False) -> str:
    """The page for an address that cannot be shown: the reason, and links to the main pages. `is_there`: the address
    exists and may be shown later."""
    shown = piece("missing.html.j2", words=words, is_there=is_there)
    view = PageView("Not now" if is_there else "Not found", {"missing": shown}, path=(("Runs", "/"),))
    return _document(view=view, address="", can_act=False, is_still=True)


def _document(**values: object) -> str:
    return environment().get_template("document.html.j2").render(**values)


def with_visible_signs(text: str) -> str:
    """The text with every control and bidirectional character replaced by a visible, harmless symbol."""
    return _UNSEEN.sub(_sign, text.replace("\r\n", "\n"))


@lru_cache(KEPT)
def escaped(text: str) -> Markup:
    """A text from outside as escaped markup, with invisible characters made visible. Cached, because the same text is
    rendered again after every event."""
    return escape(with_visible_signs(text))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(_PICTURES + code) if code < 32 else f"⟨U+{code:04X}⟩"


def _escape_value(value: object) -> object:
    return with_visible_signs(value) if type(value) is str else value


# -- addresses and times ---------------------------------------------------------------------------------------------


def run_url(run: str, page: str = "") -> str:
    return f"/r/{quote(run, safe='')}{f'/{page}' if page else ''}"


@lru_cache(KEPT)
def call_url(run: str, key: str) -> str:
    """The address of a call. Spaces and `#` in its key are quoted: `/r/r-1/call/chunk%201A/dev%231`."""
    return f"/r/{quote(run, safe='')}/call/{quote(key)}"


def requirement_url(run: str, requirement: str) -> str:
    return f"/r/{quote(run, safe='')}/ledger/{quote(requirement)}"


def query(**values: object) -> str:
    """A query string such as `?only=open&page=2`. Values that are empty, 0 or 1 are defaults and left out, except for
    `line`."""
    given = {name: value for name, value in values.items() if value not in ("", None, 0, 1) or name == "line"}
    return f"?{urlencode(given)}" if given else "?"


@lru_cache(KEPT)
def time_of_day(at: float) -> Markup:
    """A time as an element that shows hours, minutes and seconds; its title has the day, too."""
    day = moment(at)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(iso(at), day, day[11:19])


def iso(at: float) -> str:
    """A time in ISO format, for the attribute `datetime`."""
    return datetime.fromtimestamp(max(0.0, at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
