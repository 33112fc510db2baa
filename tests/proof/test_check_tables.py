"""What has to know every kind of check: fails for a new kind until each place decides what it does with it."""

from typing import get_args

from trued.inputs.requirements.file_text import why_not_portable
from trued.model.checks import (
    BrowserCheck,
    Check,
    CommandCheck,
    DependenciesCheck,
    ExamplesCheck,
    ManualCheck,
    TestsCheck,
)
from trued.proof.run_check import distinct_checks
from trued.proof.trial import is_untraced
from trued.proof.verdict.judge import is_own_case

KNOWN = {TestsCheck, ExamplesCheck, BrowserCheck, CommandCheck, DependenciesCheck, ManualCheck}
PLACES = (
    *(is_own_case, is_untraced, why_not_portable, distinct_checks),
    "_run_once in proof/run_check.py, which mypy checks",
    "_still_pass in proof/verdict/judge.py, which counts what passes",
    "DATA in proof/room/held_out.py",
    "check_lines in reporting/views/check_lines.py",
)


def test_every_place_has_decided_about_every_kind_of_check() -> None:
    kinds = {*get_args(get_args(Check)[0])}
    named = [place if isinstance(place, str) else f"{place.__name__} in {place.__module__}" for place in PLACES]
    assert kinds == KNOWN, f"decide in each of these places, then add the kind to KNOWN here: {'; '.join(named)}"
