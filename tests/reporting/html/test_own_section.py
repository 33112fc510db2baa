"""The part of the report that a workflow draws itself, also a workflow of somebody else's package."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.reporting.html.reading import Read
from tests.reporting.html.sample import material
from trued import ReportSection
from trued.page.render import environment as page_environment
from trued.reporting.html.page import page
from trued.reporting.html.render import environment, rendered, workflow_section

EVIL = "<script>alert(1)</script>\x1b[31m"
TEMPLATE = (
    '<section id="turns"><h2>Turns</h2>{% for one in page.own %}<p>{{ one }}</p>{% endfor %}{{ page.run }}</section>'
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with templates, as an installer leaves it."""
    name = f"turns_{tmp_path.name.replace('-', '_')}"
    (tmp_path / name / "templates").mkdir(parents=True)
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / name / "templates" / "turns.html.j2").write_text(TEMPLATE)
    (tmp_path / name / "templates" / "broken.html.j2").write_text("<p>{{ page.nothing.of }} {% if")
    (tmp_path / name / "templates" / "asks.html.j2").write_text("<p>{{ page.own.nothing }}</p>")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.spec("DAY-15", "USE-6")
def test_a_section_of_somebody_elses_package_is_in_the_report_and_on_the_page(package: str) -> None:
    section = ReportSection("turns", "Turns", f"{package}:templates/turns.html.j2")
    html = rendered(replace(page(material()), section=section, own=["one", EVIL]))
    read = Read(html)
    assert "one" in read.text
    assert "<script>alert(1)" not in html
    assert "\x1b" not in html
    assert ('a', {"href": "#turns"}) in read.tags  # fmt: skip
    assert (read.unbalanced, read.open) == ([], [])
    live = workflow_section(page_environment(), section, ["one", EVIL], "r-1")
    assert "<p>one</p>" in live
    assert "r-1" in live
    assert "<script" not in live


@pytest.mark.spec("DAY-15")
@pytest.mark.parametrize(
    "file", ["{}:templates/none.html.j2", "{}:templates/broken.html.j2", "no_such_package:a.html.j2"]
)
def test_a_section_that_cannot_be_drawn_says_so_and_hides_nothing_else(package: str, file: str) -> None:
    whole = page(material())
    html = rendered(replace(whole, section=ReportSection("turns", "Turns", file.format(package)), own=[EVIL]))
    read = Read(html)
    assert "cannot be shown" in read.text
    assert all(row.id in read.text for row in whole.rows)
    assert (read.unbalanced, read.open) == ([], [])


def test_a_value_that_a_template_expects_in_vain_is_named(package: str) -> None:
    section = ReportSection("turns", "Turns", f"{package}:templates/asks.html.j2")
    shown = workflow_section(environment(), section, {}, "r-1")
    assert "nothing" in shown
    assert "cannot be shown" in shown


@pytest.mark.spec("DAY-15")
def test_our_own_sections_are_drawn_for_more_rows_than_fit(package: str) -> None:
    feature = {"id": "F", "description": "it", "needs": [], "agent_notes": "", "failure_modes": [], "passes": True}
    feature |= {"holds": True, "state": "passes", "tests_total": 0, "method": "", "coverage": None}
    section = ReportSection("features", "Features", "features.html.j2")
    for made in (environment(), page_environment()):
        assert "trued show r-1" in workflow_section(made, section, [feature] * 301, "r-1")
