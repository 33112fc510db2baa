"""Heads that know how they are judged: nothing that they read, ask or hide makes unfinished work proven."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import Grade, Judged

HALF = "def half(x):\n    return x // 2\n"
BASE = {"calc/__init__.py": "", "calc/core.py": HALF}
TESTS = """\
from calc.core import double


def test_double():
    assert double(21) == 42


def test_below():
    assert double(-5) == -10
"""
BY_TESTS = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_core.py"]}
READS = """
import pathlib
import re

TOP = pathlib.Path(__file__).parents[1]


def double(x):
    for one in [*TOP.rglob("test*.py"), *TOP.rglob("*.kept")]:
        text = one.read_text()
        (TOP / "a.kept").write_text(text)
        for given, expected in re.findall(r"double\\((-?\\d+)\\) == (-?\\d+)", text):
            if int(given) == x:
                return int(expected)
    return 0
"""


KEEPS = """
import pathlib

for one in pathlib.Path(".").rglob("test*.py"):
    pathlib.Path("a.kept").write_text(one.read_text())
"""


def requirement(*numbers: int) -> list[dict[str, Any]]:
    cases = [{"call": "calc.core:double", "args": [one], "returns": 2 * one} for one in numbers]
    text = "double(x) is x twice, also below zero"
    return [{"id": "double", "text": text, "checks": [BY_TESTS, {"kind": "examples", "cases": cases}]}]


async def judged(place: Path, head: dict[str, str], **more: Any) -> Judged:
    carried = {"tests/test_core.py": base64.b64encode(TESTS.encode()).decode()}
    trial = Trial(place, BASE, requirement(21, -5), carried=carried, **more)
    return only(await trial.prove(await trial.seal(), await trial.head(head)))


@pytest.mark.spec("LAW-7")
@pytest.mark.slow
async def test_cases_do_not_find_the_contracts_own_tests(tmp_path: Path) -> None:
    assert (await judged(tmp_path / "a", {"calc/core.py": HALF + READS})).grade is Grade.REFUTED
    honest = {"calc/core.py": f"{HALF}\n\ndef double(x):\n    return 2 * x\n"}
    assert (await judged(tmp_path / "b", honest)).grade is Grade.PROVEN


@pytest.mark.spec("LAW-4", "LAW-7")
@pytest.mark.slow
async def test_a_preparation_does_not_find_them_either(tmp_path: Path) -> None:
    head = {"calc/core.py": HALF + READS, "keep.py": KEEPS}
    found = await judged(tmp_path, head, prepare=["test ! -e keep.py || python keep.py"])
    assert found.grade is Grade.REFUTED


@pytest.mark.spec("LAW-4")
async def test_a_frozen_file_that_became_a_link_by_its_own_words_is_put_back(tmp_path: Path) -> None:
    """The blob stays the same, but as a link its text is the path of another file."""
    script = "exec python3 -c 'import calc, sys; sys.exit(calc.half(8) != 4)'\n"

    def linked(folder: Path) -> None:
        (folder / "check").unlink()
        (folder / "check").symlink_to(script)
        (folder / script).write_text("exit 0\n")
        (folder / "calc.py").write_text("def half(x):\n    return 0\n")

    asked = {"id": "kept", "text": "half stays", "keep": True}
    checks = [{"kind": "command", "command": "sh ./check", "files": ["check"]}]
    trial = Trial(tmp_path, {"calc.py": HALF, "check": script}, [{**asked, "checks": checks}], path=["."])
    found = only(await trial.prove(await trial.seal(), await trial.head(linked)))
    assert found.grade is Grade.REFUTED
