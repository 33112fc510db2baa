"""Every seeded defect is found by its rule, at its file and line; the files that we ship have none."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.workflows.pipeline.lint.changes import Defect
from tests.workflows.pipeline.lint.defects_in_agents import FORM, MEMORY, REMOVED
from tests.workflows.pipeline.lint.defects_in_lead import AROUND, STEPS
from trued.agents.roles.other_tools import FORMS
from trued.agents.roles.places import packaged_files
from trued.workflows.pipeline.handbook import texts
from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.pages import PromptPage
from trued.workflows.pipeline.lint.rules import apply_rules
from trued.workflows.pipeline.lint.sets import LintSet, page

pytestmark = pytest.mark.spec("PIPE-13")

DEFECTS = (*FORM, *REMOVED, *MEMORY, *STEPS, *AROUND)


@cache
def shipped() -> dict[str, str]:
    """Name → text of the pipeline's roles, and of the files for following it by hand."""
    roles = [path for path in packaged_files() if path.parent.name == "pipeline" or path.stem == "planner"]
    led = {Path(path).name: text for path, text in texts(FORMS["github"]).items()}
    return {path.name: path.read_text() for path in roles} | led


@cache
def sound(name: str) -> PromptPage:
    return page(Path(name), name, shipped()[name])


def found_in(name: str = "", text: str = "") -> list[Violation]:
    """The findings in the shipped files, with `text` in place of the file `name`, or as a further file."""
    others = [sound(one) for one in shipped() if one != name]
    return apply_rules(LintSet((*others, *([page(Path(name), name, text)] if name else []))))


def line_of(text: str, at: str) -> int:
    start, _, number = at.partition("#2")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith(start)]
    return lines[1 if at.endswith("#2") and not number else 0]


def test_nothing_is_found_in_what_we_ship() -> None:
    assert found_in() == []
    assert len(shipped()) == 21


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda one: one.id)
@pytest.mark.many(30)
def test_a_seeded_defect_is_found(defect: Defect) -> None:
    text = defect.change(shipped().get(defect.file, shipped()["v-build.md"]))
    found = found_in(defect.file, text)
    assert (defect.file, line_of(text, defect.at), defect.rule) in [(one.file, one.line, one.rule) for one in found]
    assert {one.rule for one in found} <= {defect.rule, *defect.also}
    assert all(one.wrong and one.says for one in found)


def test_every_rule_of_the_guide_has_its_defects() -> None:
    page = (Path(__file__).parents[4] / "docs" / "guide" / "lint.md").read_text()
    assert {one.rule for one in DEFECTS} == set(re.findall(r"^\| `(TS-[\d.]+)` \|", page, re.MULTILINE))
    assert len(DEFECTS) >= 40
