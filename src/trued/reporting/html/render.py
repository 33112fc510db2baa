"""Renders the page as one self-contained HTML file."""

from importlib import resources

from jinja2 import ChoiceLoader, Environment, FunctionLoader, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from trued.reporting.html import format as words
from trued.reporting.html.page import ReportPage
from trued.support.durations import duration
from trued.support.plain_text import plain
from trued.support.token_count import token_count
from trued.workflows.view import ReportSection


def rendered(page: ReportPage) -> str:
    made = environment()
    section = workflow_section(made, page.section, page.own, page.run) if page.section else ""
    return made.get_template("report.html.j2").render(page=page, section=section)


def workflow_section(made: Environment, section: ReportSection, own: object, run: str) -> Markup:
    """The workflow's own section: the section's template, filled with `own`. If the template comes from another package
    than trued and fails, the section shows the error instead."""
    try:
        return Markup(made.get_template(section.template).render(page={"own": own, "run": run}))  # noqa: S704  (it escapes)
    except Exception as error:
        if ":" not in section.template:
            raise
        why = plain(f"{section.template} cannot be shown: {type(error).__name__}: {error}")
        return Markup('<section id="{}"><h2>{}</h2><p>{}</p></section>').format(section.anchor, section.title, why)


def environment() -> Environment:
    """The template environment, in which no text from outside becomes markup."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader("trued.reporting.html"), FunctionLoader(_template_of_package)]),
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


def _template_of_package(name: str) -> str | None:
    """The text of the template "package:path"; None for a name without a package."""
    package, separator, path = name.partition(":")
    return resources.files(package).joinpath(path).read_text("utf-8") if separator else None


def escaped(text: str) -> Markup:
    """A text from outside as markup, for templates that show it several times, so that it is escaped only once."""
    return escape(plain(text))


def _without_control_characters(value: object) -> object:
    """Remove control characters from every text that reaches the page; the template engine escapes it afterwards."""
    return plain(value) if type(value) is str else value
