"""A head that git changes at checkout is not what was checked."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.proof.trial import Change, Trial, only
from trued.model import Grade

BASE = {"twice.py": "def twice(x):\n    raise NotImplementedError\n", ".gitattributes": "*.sh eol=lf\n"}
CASES = [{"call": "twice:twice", "args": [21], "returns": 42}, {"call": "twice:twice", "args": ["a"], "returns": "aa"}]
ASKED = [{"id": "r", "text": "twice(x) is x two times", "checks": [{"kind": "examples", "cases": CASES}]}]
RIGHT = "def twice(x):\n    return x * 2\n"
MARKED = "MARK = '$Id$'\n\n\ndef twice(x):\n    return x * 2 if len(MARK) == 4 else None\n"
HEADS: dict[str, tuple[Change, Grade]] = {
    "a mark that git replaces": ({"twice.py": MARKED, ".gitattributes": "*.sh eol=lf\n*.py ident\n"}, Grade.TESTED),
    "by a macro": ({"twice.py": MARKED, "sub/.gitattributes": "[attr]odd ident\n* odd\n"}, Grade.TESTED),
    "behind a # in a pattern": ({"twice.py": MARKED, ".gitattributes": "*.sh eol=lf\n*.[#p]y ident\n"}, Grade.TESTED),
    "behind a line that is none to git": (
        {"twice.py": MARKED, ".gitattributes": "*.sh eol=lf\n*.py diff=a\u2028 ident\n"},
        Grade.TESTED,
    ),
    "an encoding": ({"twice.py": RIGHT, ".gitattributes": "*.py working-tree-encoding=ISO-8859-1\n"}, Grade.TESTED),
    "a filter": ({"twice.py": RIGHT, ".gitattributes": "*.py filter=odd\n"}, Grade.TESTED),
    "honest attributes": (
        {
            "twice.py": RIGHT,
            ".gitattributes": "*.sh text eol=lf\n*.png binary\n# *.py ident\n*.py -ident diff=python\n",
        },
        Grade.PROVEN,
    ),
    "a mark that nothing replaces": ({"twice.py": MARKED}, Grade.PROVEN),
}


USUAL = ("a mark that git replaces", "a filter", "honest attributes", "a mark that nothing replaces")


@pytest.mark.spec("LAW-4", "LAW-9")
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(USUAL, id="usual attributes"),
        pytest.param([one for one in HEADS if one not in USUAL], id="rare attributes", marks=pytest.mark.slow),
    ],
)
async def test_what_git_changes_at_checkout_is_tested_at_most(names: Sequence[str], tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, ASKED)
    contract = await trial.seal()
    for name in names:
        change, grade = HEADS[name]
        judged = only(await trial.prove(contract, await trial.head(change)))
        assert judged.grade is grade, (name, judged.why)


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-9")
async def test_a_mark_that_the_bases_attributes_replace_is_tested_at_most(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {**BASE, ".gitattributes": "*.py ident\n"}, ASKED)
    assert only(await trial.verdict({"twice.py": MARKED})).grade is Grade.TESTED


@pytest.mark.spec("LAW-9")
async def test_a_verdict_says_which_files_of_the_base_git_would_have_converted(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {**BASE, ".gitattributes": "*.txt eol=crlf\n*.bin filter=lfs\n*.sh eol=lf\n"}, ASKED)
    verdict = await trial.verdict({"twice.py": RIGHT})
    assert only(verdict).grade is Grade.PROVEN
    said = [one for one in verdict.undecided if "git converts" in one]
    assert [one.partition(":")[0] for one in said] == [".gitattributes (*.txt eol=crlf)"]


@pytest.mark.slow
@pytest.mark.spec("LAW-9")
async def test_a_macro_of_the_base_may_stand_for_another_one(tmp_path: Path) -> None:
    macros = "[attr]outer middle\n[attr]middle inner\n[attr]inner eol=crlf\n"
    trial = Trial(tmp_path, {**BASE, ".gitattributes": macros}, ASKED)
    contract = await trial.seal()
    for line, grade in (("*.py outer", Grade.TESTED), ("*.py diff=python", Grade.PROVEN)):
        head = await trial.head({"twice.py": RIGHT, ".gitattributes": f"{macros}{line}\n"})
        judged = only(await trial.prove(contract, head))
        assert judged.grade is grade, (line, judged.why)
