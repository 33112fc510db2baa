"""Notices between calls appear as rows of the tree."""

from typing import Any

import pytest

from trued.model import Event
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Remark

LONG = [f"file{number}.py" for number in range(20)]


def row(kind: str, **data: Any) -> Remark:
    seen = Progress([Event(id=1, at=1.0, key="", kind=kind, data=data)], "pipeline")
    (found,) = seen.rows.values()
    assert isinstance(found, Remark)
    return found


@pytest.mark.spec("PIPE-2", "PIPE-10", "TEAM-3", "RUN-10")
@pytest.mark.parametrize(
    ("kind", "data", "says", "warning"),
    [
        (
            "memory undone",
            {"agent": "spec", "files": ["docs/feature/x/memory.md"], "why": "only the engine writes it"},
            "spec changed files that it may not write; undone: docs/feature/x/memory.md",
            True,
        ),
        ("memory missing", {"agent": "ct-security", "step": "critique"}, "ct-security gave no answer", True),
        ("artifact missing", {"path": "research/impact.md", "why": "nobody"}, "research/impact.md is missing: n", True),
        ("left elsewhere", {"agent": "v-build", "files": LONG}, "file5.py and 14 more", True),
        ("plan refused", {"why": ["a circle: T1", "T9 is unknown"]}, "refused: a circle: T1, T9 is unknown", True),
        ("critique", {"stands": ["CT-1"], "closed": []}, "critiques of the design are still open: CT-1", True),
        ("built", {"command": "make", "outcome": "failed", "said": "a\nboom\n\n"}, "make failed: boom", True),
        ("edit honoured", {"path": "backlog.md", "said": ["F1-T2 is done"]}, "applied: F1-T2 is done", False),
        ("edit not understood", {"path": "backlog.md", "why": "line 3"}, "could not be read and was not applied", True),
        (
            "sealed file edited",
            {"role": "dev", "files": ["a.py"], "put_back": ["a.py"]},
            "dev edited files that it may not change; they were restored: a.py",
            True,
        ),
        ("branch not moved", {}, "the run's branch was not moved: ", True),
        ("offered", {"url": "{0.__class__}"}, "offered as a pull request: {0.__class__}", False),
    ],
)
def test_a_note_is_a_sentence(kind: str, data: dict[str, Any], says: str, warning: bool) -> None:
    found = row(kind, **data)
    assert says in found.text
    assert found.warning is warning


def test_a_build_that_works_is_no_news() -> None:
    assert not Progress([Event(id=1, at=1.0, key="", kind="built", data={"outcome": "passed"})]).rows
