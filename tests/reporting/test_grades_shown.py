"""Every grade has its colour in terminal, page and report, and its place on the page's scale; a new grade fails here
until it has."""

from importlib.resources import files

import pytest

from trued.cli.format import GRADE_COLOURS
from trued.model import Grade

PAGE = files("trued.page")
REPORT = files("trued.reporting.html")


@pytest.mark.parametrize("grade", list(Grade))
def test_a_grade_is_drawn_everywhere(grade: Grade) -> None:
    places = {
        "GRADE_COLOURS in cli/format.py": grade in GRADE_COLOURS,
        "page/static/page.css": f".g-{grade} " in (PAGE / "static/page.css").read_text(),
        "scale in page/templates/parts.html.j2": f'"{grade}"' in (PAGE / "templates/parts.html.j2").read_text(),
        "reporting/html/templates/style.css": f".g-{grade} " in (REPORT / "templates/style.css").read_text(),
        "its colour in page/static/page.css": f"--{grade}: light-dark(" in (PAGE / "static/page.css").read_text(),
        # one colour for light and one for dark
        "its colours in style.css": (REPORT / "templates/style.css").read_text().count(f"--{grade}: #") == 2,
    }
    assert [place for place, drawn in places.items() if not drawn] == []
