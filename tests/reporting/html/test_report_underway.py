"""The report of a run that has not ended: the grades of its parts are not the run's grade."""

import pytest

from tests.reporting.html.reading import Read
from tests.reporting.html.sample import material
from trued.reporting.html.page import page
from trued.reporting.html.render import rendered


@pytest.mark.spec("LAW-8", "RUN-10")
@pytest.mark.parametrize("state", ["running", "interrupted", "limited"])
def test_a_run_that_goes_on_says_so_first_and_then_what_is_met_so_far(state: str) -> None:
    made = page(material(state=state))
    assert made.grade == made.state == state
    ended = page(material())
    met = next(figure for figure, of, _ in ended.figures if of == "requirements met").partition("/")
    assert f"requirements met: {met[0]} of {met[2]}" in made.says
    html = rendered(made)
    assert f"<title>{state}: " in html
    top = Read(html[: html.index("<main>")]).text
    assert "proven" not in top.partition("success is")[0].replace(made.says, "")
    assert ended.grade not in (state, "")
