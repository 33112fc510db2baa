"""Templates of the live page. They share the report's filters, and nothing from outside is markup in them."""

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader

from trued.page.view import PageView
from trued.reporting.html.render import environment as report_environment


@cache
def environment() -> Environment:
    """The report's templates, and the page's own before them."""
    made = report_environment()
    made.loader = ChoiceLoader([PackageLoader("trued.page"), PackageLoader("trued.reporting.html")])
    return made


def piece(template: str, **values: object) -> str:
    """One element of a page as HTML."""
    return environment().get_template(template).render(**values)


def document(view: PageView, address: str) -> str:
    """The whole page, as it is sent when somebody opens its address. It can be read without any script."""
    return environment().get_template("document.html.j2").render(view=view, address=address)
