"""`trued land` as people type it: its messages, its JSON and its exit codes."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Trued
from tests.engine.landing.landable import Landable, landable_in
from trued.cli.land import branch_hint, landing_sentence
from trued.engine.landing.records import LandingResult
from trued.model import Grade, Judged, RunRecord, Verdict
from trued.support.processes import MARKER


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Landable]:
    with landable_in(tmp_path) as one:
        yield one


@pytest.mark.spec("USE-11", "USE-2", "USE-9")
def test_land_says_where_it_went_and_ls_and_show_know_it(place: Landable, trued: Trued) -> None:
    record = asyncio.run(place.run({"tiny.py": "def double(x):\n    return 2 * x\n", "trued.toml": "rounds = 1\n"}))
    mine = {"TRUED_HOME": str(place.home)}

    def land(*words: str, **more: str) -> tuple[int, str, str]:
        done = trued("land", *words, cwd=place.repository, variables={**mine, **more})
        return done.returncode, done.stdout, done.stderr

    code, out, said = land(**{MARKER: "r/x@1"})
    assert (code, out, "refused inside an agent" in said) == (2, "", True)
    assert land("--ff", "--merge")[0] == 2
    code, out, said = land("--json")
    asked = json.loads(out)
    assert (code, asked["landed"], asked["asks"]) == (3, False, {"trued.toml": "settings of trued"})
    code, out, said = land(record.id[:4])
    assert (code, out) == (3, "")
    assert said.index("changes trued.toml") < said.index("not landed:")
    code, out, said = land("--agree", asked["digest"][:12])
    assert (code, out) == (0, f"{record.id} is on main at {record.head[:10]} (fast-forward)\n")
    assert land()[1] == out.replace("(fast-forward)", "(fast-forward)")
    rows = json.loads(trued("ls", "--json", cwd=place.repository, variables=mine).stdout)
    assert [(row["state"], row["landed"]) for row in rows] == [("done", ["main"])]
    assert "landed" in trued("ls", cwd=place.repository, variables=mine).stdout
    assert "landed on main" in trued("show", cwd=place.repository, variables=mine).stdout


@pytest.mark.spec("USE-11", "LAW-9")
@pytest.mark.parametrize(
    ("grades", "says"),
    [
        (("proven", "proven"), "proven again"),
        (("proven", "tested"), "checked again"),
        (("proven", "attested"), "proven again, approval carried over for r1"),
        (("attested",), "not proven again, approval carried over for r0"),
    ],
)
def test_land_says_which_requirements_were_proven_again_and_which_rest_on_an_approval(
    grades: tuple[str, ...], says: str
) -> None:
    judged = tuple(
        Judged(id=f"r{n}", text="t", grade=Grade(grade), why=(), holds=True) for n, grade in enumerate(grades)
    )
    verdict = Verdict(subject="landing", commit="c" * 40, requirements=judged)
    landing = LandingResult(run="r-a", landed=True, onto="main", commit="c" * 40, how="rebase", verdict=verdict)
    assert landing_sentence(landing) == f"r-a is on main at {'c' * 10} (rebase, {says})"


@pytest.mark.spec("USE-11")
@pytest.mark.parametrize(
    ("how", "commit", "whole", "command"),
    [
        ("fast-forward", "a", True, "`git branch -d trued/r`"),
        ("merge", "b", True, "`git branch -d trued/r`"),
        ("rebase", "b", True, "`git branch -D trued/r`"),
        ("fast-forward", "b", False, ""),  # the chunks that have not landed are only on the branch
        ("fast-forward", "a", False, "`git branch -d trued/r`"),
    ],
)
def test_a_branch_is_removed_by_force_only_if_all_of_it_landed_as_other_commits(
    how: str, commit: str, whole: bool, command: str
) -> None:
    record = RunRecord(id="r-a", workflow="purple", title="t", repository="/r", base="0", branch="trued/r", head="a")
    said = branch_hint(record, LandingResult(run="r-a", landed=True, how=how, commit=commit), whole=whole)
    assert command in said
    assert ("git branch" in said) == bool(command)
