"""Counting tests of unittest: ids, fixtures, sub-tests, another order, and heads that attack it from inside."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Cellar, Sealed, Trial, only, stands
from trued.model import Grade
from trued.proof.verdict.case_status import Base

HONEST = "def double(x):\n    return x * 2\n\n\ndef half(x):\n    return x // 2\n"
NOTHING = "def double(x):\n    raise NotImplementedError\n\n\ndef half(x):\n    return x // 2\n"
TESTS = """import unittest
from calc.core import double, half


class Numbers(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(7), 14)

    def test_half(self):
        self.assertEqual(half(8), 4)

    @unittest.skip("later")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(half(8), 5)

    def test_parts(self):
        for number in (2, 4):
            with self.subTest(number=number):
                self.assertEqual(half(number) * 2, number)
"""
OTHERS = """import unittest
from calc.extra import triple


class Extra(unittest.IsolatedAsyncioTestCase):
    async def test_triple(self):
        self.assertEqual(triple(2), 6)
"""
# Some fixtures can be set up only once, so not for a copy of a test. That does not count against the test itself.
FIXTURES = """import unittest
from calc import core

taken = []


class Fixed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = core.double(1)
        if taken:
            raise RuntimeError("it is taken")
        taken.append(cls)

    def test_made(self):
        self.assertEqual(self.made, 2)
"""
BASE = {
    "calc/__init__.py": "",
    "calc/core.py": NOTHING,
    "tests/__init__.py": "",
    "tests/test_core.py": TESTS,
    "tests/test_extra.py": OTHERS,
    "tests/test_fixtures.py": FIXTURES,
}
DONE: dict[str, str | None] = {"calc/core.py": HONEST, "calc/extra.py": "def triple(x):\n    return x * 3\n"}


def requirement(**check: Any) -> list[dict[str, Any]]:
    given = {"kind": "tests", "command": "python -m unittest", **check}
    return [{"id": "double", "text": "double(x) is twice x", "checks": [given]}]


@pytest.fixture
async def sealed(cellar: Cellar) -> Sealed:
    return await cellar.sealed("unittest", BASE, requirement())


@pytest.mark.spec("LAW-5", "LAW-6")
async def test_every_test_has_an_id_and_a_place(sealed: Sealed) -> None:
    found = stands(sealed.contract)
    assert found == {
        "tests/test_core.py::Numbers::test_double": Base.RED,
        "tests/test_core.py::Numbers::test_half": Base.GUARD,
        "tests/test_core.py::Numbers::test_parts": Base.GUARD,
        "tests/test_core.py::Numbers::test_skipped": Base.UNREACHED,
        "tests/test_core.py::Numbers::test_expected": Base.UNREACHED,
        "tests/test_fixtures.py::Fixed::test_made": Base.RED,
        "tests/test_extra.py": Base.RED,
    }
    verdict = await sealed.trial.prove(sealed.contract, await sealed.trial.head(DONE))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert "another order" in verdict.evidence[-1].setting


FIGHTING = {
    "nothing done": NOTHING,
    "patches the assertions": NOTHING + "\nimport unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"
    "def double(x):\n    return 0\n",
    "patches the case": NOTHING + "\nimport unittest\nunittest.TestCase.run = lambda self, result: "
    "(result.startTest(self), result.addSuccess(self), result.stopTest(self))\n",
    "patches the case for known ids": NOTHING + "\nimport unittest\nrun = unittest.TestCase.run\n"
    "unittest.TestCase.run = lambda self, result=None: result.addSuccess(self) "
    "if 'test_core' in type(self).__module__ or 'test_fix' in type(self).__module__ else run(self, result)\n",
    "patches the result": NOTHING + "\nimport unittest\nunittest.TestResult.addFailure = lambda *a: None\n"
    "unittest.TestResult.addError = lambda *a: None\n",
    "leaves at import": "import os\nprint('OK', flush=True)\nos._exit(0)\n",
    "exits at import": "import sys\nsys.exit(0)\n",
    "skips itself": "import unittest\n\n\ndef double(x):\n    raise unittest.SkipTest('later')\n"
    "\n\ndef half(x):\n    return x // 2\n",
}


@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("way", FIGHTING)
async def test_no_head_talks_unittest_into_a_pass(sealed: Sealed, way: str) -> None:
    change = {**DONE, "calc/core.py": FIGHTING[way]}
    verdict = await sealed.trial.prove(sealed.contract, await sealed.trial.head(change))
    assert only(verdict).grade is Grade.REFUTED, only(verdict).why


@pytest.mark.spec("LAW-4")
async def test_the_bases_tests_stand_and_new_ones_are_left_out(sealed: Sealed) -> None:
    easy = "import unittest\n\n\nclass Numbers(unittest.TestCase):\n    def test_double(self):\n        pass\n"
    hook = "def load_tests(loader, tests, pattern):\n    import unittest\n    return unittest.TestSuite()\n"
    worse = {"tests/test_core.py": easy, "tests/__init__.py": hook, "test_more.py": easy}
    lazy = await sealed.trial.prove(sealed.contract, await sealed.trial.head(worse))
    assert only(lazy).grade is Grade.REFUTED
    both = await sealed.trial.prove(sealed.contract, await sealed.trial.head({**DONE, **worse}))
    assert only(both).grade is Grade.TESTED, only(both).why
    assert any("test_more.py" in one for one in both.undecided)


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("command", "ids"),
    [
        ("python3 -m unittest discover -s tests -t . -p 'test_c*.py'", 5),
        ("uv run python -m unittest tests.test_core.Numbers.test_double -v", 1),
        ("python -m unittest -k half", 2),
        ("python -m unittest discover tests", 7),
        ("python -m unittest tests/test_core.py", 5),
    ],
)
@pytest.mark.many(1)
async def test_the_usual_command_lines_are_understood(tmp_path: Path, command: str, ids: int) -> None:
    contract = await Trial(tmp_path, BASE, requirement(command=command)).seal()
    found = {name: one for name, one in stands(contract).items() if "Fixed" not in name and "extra" not in name}
    assert len(stands(contract)) == ids, found
    assert all(name.startswith("tests/test_") for name in found)
