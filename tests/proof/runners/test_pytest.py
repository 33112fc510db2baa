"""Counting tests of pytest: forged reports, strange configurations, and files that shadow modules."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Cellar, Change, Sealed, Trial, only, stands
from trued.model import Grade, Requirement, TestsCheck
from trued.proof.room.frozen_files import files_to_freeze, has_tests, is_among_tests, is_configuration, plugin_modules
from trued.proof.room.import_shadows import shadowing_files
from trued.proof.verdict.case_status import Base

NOTHING = "def double(x):\n    return None\n\n\ndef half(x):\n    return x // 2\n"
HONEST = "def double(x):\n    return x * 2\n\n\ndef half(x):\n    return x // 2\n"
TESTS = """import unittest
from decimal import Decimal

import pytest

from calc.core import double, half


def test_double():
    assert double(7) == 14


@pytest.mark.parametrize("text", ["a b", "back\\\\slash", "br[ack]et", "naïve", "::"])
def test_half(text, tmp_path):
    assert half(8) == Decimal(4)


class TestPlain:
    def setup_method(self):
        self.number = 3

    def test_method(self):
        assert double(self.number) == 6


class Cases(unittest.TestCase):
    def test_case(self):
        for number in (2, 4):
            with self.subTest(number=number):
                self.assertEqual(double(number), number * 2)
"""
BASE: dict[str, str | None] = {"calc/__init__.py": "", "calc/core.py": NOTHING, "tests/test_core.py": TESTS}


def requirement(**check: Any) -> list[dict[str, Any]]:
    given = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_core.py"], **check}
    return [{"id": "double", "text": "double(x) is twice x", "checks": [given]}]


@pytest.fixture
async def sealed(cellar: Cellar) -> Sealed:
    return await cellar.sealed("pytest", BASE, requirement())


FORGE = """
import _pytest.reports as reports
made = reports.TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    report = made(cls, item, call)
    if {when} and report.outcome == "failed":
        report.outcome, report.longrepr = "passed", None
    return report
reports.TestReport.from_item_and_call = classmethod(forged)
"""
FORGING = {
    "every report": NOTHING + FORGE.format(when="True"),
    "reports of known ids": NOTHING + FORGE.format(when="'test_core' in item.nodeid"),
    "reports of one id": NOTHING.replace("return None", "return 6") + FORGE.format(when="'test_double' in item.nodeid"),
    "bodies of known ids": NOTHING + "\nimport _pytest.python as p\nrun = p.Function.runtest\n"
    "p.Function.runtest = lambda self: None if 'test_core' in self.nodeid else run(self)\n"
    "import _pytest.unittest as u\nu.TestCaseFunction.runtest = lambda self: None\n",
    "one assertion of unittest": f"{NOTHING}import unittest\nunittest.TestCase.assertRegex = lambda *a, **k: None\n",
    "assertions of unittest": "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"
    "class Same(int):\n    __eq__ = lambda *a: True\n    __hash__ = None\n"
    "def double(x):\n    return Same(0)\ndef half(x):\n    return x // 2\n",
}


@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("way", FORGING)
async def test_a_forged_report_makes_the_run_worthless(sealed: Sealed, way: str) -> None:
    verdict = await sealed.trial.prove(sealed.contract, await sealed.trial.head({"calc/core.py": FORGING[way]}))
    assert only(verdict).grade is Grade.REFUTED, only(verdict).why
    voids = [one.why_void for one in verdict.evidence]
    assert all("must fail was not reported as failed" in one for one in voids), voids


@pytest.mark.spec("LAW-6")
async def test_odd_ids_are_counted_and_an_honest_head_is_tested(sealed: Sealed) -> None:
    found = stands(sealed.contract)
    assert len(found) == 8
    assert list(found.values()).count(Base.GUARD) == 5
    # calc/decimal.py shadows nothing; decimal.py would shadow the standard library's, and is not used
    change: Change = {"calc/core.py": HONEST, "calc/decimal.py": "x = 1\n", "decimal.py": "raise SystemExit(0)\n"}
    verdict = await sealed.trial.prove(sealed.contract, await sealed.trial.head(change))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert any(one.startswith("decimal.py: added by the change") for one in verdict.undecided)


ALPHA, BETA = "packages/alpha", "packages/beta"
INC, DEC = "def inc(x):\n    return x{0}\n", "def dec(x):\n    return x{0}\n"
TWO_PACKAGES: dict[str, str | None] = {
    f"{ALPHA}/alpha.py": INC.format(""),
    f"{BETA}/beta.py": DEC.format(" - 1"),
    f"{ALPHA}/tests/test_calc.py": "from alpha import inc\n\n\ndef test_inc():\n    assert inc(1) == 2\n",
    f"{BETA}/tests/test_calc.py": "from beta import dec\n\n\ndef test_dec():\n    assert dec(1) == 0\n",
}
FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef {0}():\n    return 1\n"
USES = "import pickle\nfrom {1} import {2}\nfrom tests.conftest import {0} as _\n\n\nclass Own:\n    pass\n\n\n"
USES += (
    "def test_{2}({0}):\n    assert {2}({0}) == {3}\n    assert isinstance(pickle.loads(pickle.dumps(Own())), Own)\n"
)
IN_PACKAGES: dict[str, str | None] = {
    **{f"{one}/tests/__init__.py": "" for one in (ALPHA, BETA)},
    f"{ALPHA}/tests/conftest.py": FIXTURE.format("first"),
    f"{BETA}/tests/conftest.py": FIXTURE.format("second"),
    f"{ALPHA}/tests/test_calc.py": USES.format("first", "alpha", "inc", 2),
    f"{BETA}/tests/test_calc.py": USES.format("second", "beta", "dec", 0),
}


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("more", [{}, IN_PACKAGES], ids=["modules of one name", "packages of one name"])
async def test_test_files_of_one_name_run_together(tmp_path: Path, more: dict[str, str | None]) -> None:
    asked = requirement(files=[])
    trial = Trial(tmp_path, {**TWO_PACKAGES, **more}, asked, path=[ALPHA, BETA])
    contract = await trial.seal()
    red, guard = f"{ALPHA}/tests/test_calc.py::test_inc", f"{BETA}/tests/test_calc.py::test_dec"
    assert stands(contract) == {red: Base.RED, guard: Base.GUARD}, contract.base_facts[0].output
    built = {f"{ALPHA}/alpha.py": INC.format(" + 1")}
    honest = await trial.prove(contract, await trial.head(built))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    liar = await trial.prove(contract, await trial.head({**built, f"{BETA}/beta.py": DEC.format(" - 2")}))
    assert only(liar).grade is Grade.REFUTED, only(liar).why


COLLECTING = """import gc
import weakref


class Own:
    pass


def test_garbage_is_collected():
    one = Own()
    one.itself, gone = one, weakref.ref(one)
    assert any(isinstance(each, Own) for each in gc.get_objects())
    del one
    gc.collect()
    assert gc.isenabled()
    assert gone() is None
"""


@pytest.mark.spec("LAW-6")
async def test_tests_find_the_garbage_collector_at_work(tmp_path: Path) -> None:
    """It is off while pytest is loaded, and ignores pytest's objects later; objects of the project are collected."""
    contract = await Trial(tmp_path, {"tests/test_core.py": COLLECTING}, requirement()).seal()
    assert set(stands(contract).values()) == {Base.GUARD}
    # a canary fails in the engine's own file, which the output does not show
    assert "case.py" not in contract.base_facts[0].output


@pytest.mark.spec("LAW-2", "LAW-6")
async def test_options_of_plugins_that_are_not_there_are_left_out_and_said(tmp_path: Path) -> None:
    settings = (
        "[tool.pytest.ini_options]\naddopts = '--cov=calc --cov-report=term -n 2 --lf -x --timeout=9'\n"
        "timeout = 5\nfilterwarnings = ['error']\n"
    )
    trial = Trial(
        tmp_path, {**BASE, "pyproject.toml": settings}, requirement(command="poetry run pytest -p no:randomly")
    )
    contract = await trial.seal()
    assert Base.RED in stands(contract).values(), [one.output for one in contract.base_facts]
    verdict = await trial.prove(contract, await trial.head({"calc/core.py": HONEST}))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert any("--cov" in one and "were ignored" in one for one in verdict.undecided)
    assert any("`poetry run` was left out" in one for one in verdict.undecided)


@pytest.mark.spec("LAW-2")
async def test_a_plugin_that_decides_and_is_missing_is_named(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {**BASE, "pytest.ini": "[pytest]\naddopts = --reruns 3\n"}, requirement())
    contract = await trial.seal()
    assert stands(contract) == {"*": Base.UNJUDGED}
    assert "pytest-rerunfailures" in contract.base_facts[0].tried[0].detail


# Like freezegun, the fixture replaces the clock in every module that has it, pytest's own included.
FROZEN_CLOCK = """import sys
import time

import pytest


@pytest.fixture(autouse=True)
def frozen():
    real = time.perf_counter
    modules = [each for each in list(sys.modules.values()) if getattr(each, "perf_counter", None) is real]
    for module in modules:
        module.perf_counter = lambda: {0}
    yield
    for module in modules:
        module.perf_counter = real
"""


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("now", ["-1e12", "1e12", "float('nan')"])
async def test_a_clock_that_a_fixture_freezes_decides_nothing(tmp_path: Path, now: str) -> None:
    trial = Trial(tmp_path, {**BASE, "tests/conftest.py": FROZEN_CLOCK.format(now)}, requirement())
    contract = await trial.seal()
    assert Base.GUARD in stands(contract).values(), [one.output for one in contract.base_facts]
    verdict = await trial.prove(contract, await trial.head({"calc/core.py": HONEST}))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    seconds = [one.seconds for fact in verdict.evidence for one in fact.tried]
    assert all(0 <= each < 1e9 for each in seconds)
    liar = await trial.prove(contract, await trial.head({"calc/core.py": FORGING["assertions of unittest"]}))
    assert only(liar).grade is Grade.REFUTED, only(liar).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_a_plugin_of_the_projects_own_is_frozen(tmp_path: Path) -> None:
    base: dict[str, str | None] = {**BASE, "pytest.ini": "[pytest]\naddopts = -p helping\n", "helping.py": "X = 1\n"}
    trial = Trial(tmp_path, base, requirement())
    contract = await trial.seal()
    assert "helping.py" in contract.frozen
    forged = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_pyfunc_call(pyfuncitem):\n"
    forged += "    out = yield\n    out.force_result(True)\n"
    verdict = await trial.prove(contract, await trial.head({"helping.py": forged}))
    assert only(verdict).grade is Grade.REFUTED
    assert all(not one.why_void for one in verdict.evidence)


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "LAW-4")
@pytest.mark.parametrize("command", ["python -m pytest -q", "python -m unittest discover -s acceptance"])
async def test_tests_that_come_with_the_contract_count_on_both_sides(tmp_path: Path, command: str) -> None:
    text = "import unittest\nfrom calc.core import double\n\n\nclass Cases(unittest.TestCase):\n"
    text += "    def test_case(self):\n        self.assertEqual(double(2), 4)\n"
    name = "acceptance/test_given.py"
    asked = requirement(command=command, files=[name])
    carried = {name: base64.b64encode(text.encode()).decode()}
    trial = Trial(tmp_path, {"calc/__init__.py": "", "calc/core.py": NOTHING}, asked, carried=carried)
    contract = await trial.seal()
    assert stands(contract) == {f"{name}::Cases::test_case": Base.RED}
    lazy = await trial.prove(contract, await trial.head({name: "import unittest\n", "acceptance/__init__.py": ""}))
    assert only(lazy).grade is Grade.REFUTED, only(lazy).why
    honest = await trial.prove(contract, await trial.head({"calc/core.py": HONEST}))
    assert only(honest).grade is Grade.TESTED, only(honest).why


@pytest.mark.spec("LAW-4")
def test_what_judges_is_known_by_its_name() -> None:
    for path in ("vitest.config.ts", "a/jest.config.js", ".mocharc.json", ".npmrc", "conftest.py", "setupTests.ts"):
        assert is_configuration(path), path
    for path in ("node_modules/.bin/vitest", "node_modules/jest-runner/x.js", "node_modules/@vitest/a/b.js"):
        assert is_configuration(path), path
    for path in ("vite.config.ts", "config.py", "node_modules/express/index.js", "src/jest.ts"):
        assert not is_configuration(path), path
    for path in ("a/__snapshots__/x.snap", "pkg/testdata/in.txt", "packages/a/test/help.js", "test/x.txt"):
        assert is_among_tests(path), path
    for path in ("django/test/client.py", "node_modules/a/test/x.js", "app/fixtures/data.json"):
        assert not is_among_tests(path), path
    assert has_tests("src/a.test.ts", b"describe('x', () => {})")
    assert not has_tests("src/openapi.spec.ts", b"export const spec = {};")


@pytest.mark.spec("LAW-4")
def test_configuration_that_builds_share_is_frozen_where_a_check_may_read_it() -> None:
    def names(command: str, *blobs: str, script: str = "") -> dict[str, str]:
        asked = Requirement(id="r", text="x", checks=(TestsCheck(command=command),))
        return files_to_freeze([asked], dict.fromkeys(blobs, "b"), [script])

    assert names("npx vitest run", "vite.config.ts")["vite.config.ts"] == "b"
    assert names("npx vitest run")["vite.config.js"] == ""
    assert "vite.config.ts" not in names("node --test", "vite.config.ts")
    assert names("npm test", "babel.config.js")["babel.config.js"] == "b"
    # the script starts vitest, so a configuration that only the head has is not used
    assert names("npm test", script="vitest run")["vite.config.mjs"] == ""
    assert {".babelrc.js", "babel.config.ts"} <= names("npm test", script="jest").keys()
    assert "vite.config.mjs" not in names("npm test", script="node --test")


@pytest.mark.spec("LAW-4")
def test_plugins_are_read_from_the_bases_configuration() -> None:
    blobs = dict.fromkeys(("src/kit/helping.py", "more.py", "other.py"), "b")
    texts = {
        "pytest.ini": "[pytest]\naddopts = -q -p kit.helping -p no:cov\n",
        "conftest.py": 'pytest_plugins = ("more",)\n',
    }
    assert set(plugin_modules(texts, blobs)) == {"src/kit/helping.py", "more.py"}


@pytest.mark.spec("LAW-4")
def test_only_what_a_frozen_test_means_from_elsewhere_can_be_shadowed() -> None:
    tests = {"tests/test_a.py": "import json, random as r\nfrom decimal import Decimal\nimport os.path\n"}
    added = ["random.py", "src/decimal/__init__.py", "calc/json.py", "statistics.py", "new.py", "tests/os.py"]
    others = {"json", "random", "decimal", "statistics", "os"}
    assert shadowing_files(added, (".", "src", "tests"), tests, others) == [
        "random.py",
        "src/decimal/__init__.py",
        "tests/os.py",
    ]


@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_superseded_test_that_fails_does_not_keep_others_from_being_copied(tmp_path: Path) -> None:
    """Of two tests, one fails honestly: the copy of the other one is still made to fail."""
    text = "from kit import one\n\ndef test_old():\n    assert one() == 1\n\ndef test_type():\n    assert int(one())\n"
    case = {"kind": "examples", "cases": [{"call": "kit:one", "args": [], "returns": 2}]}
    asked = [{"id": "two", "text": "one() is 2", "supersedes": ["test_kit.py::test_old"], "checks": [case]}]
    trial = Trial(tmp_path, {"kit.py": "def one():\n    return 1\n", "test_kit.py": text}, asked)
    contract = await trial.seal_with_existing_tests()
    verdict = await trial.prove(contract, await trial.head({"kit.py": "def one():\n    return 2\n"}))
    assert only(verdict).grade is Grade.PROVEN, only(verdict).why
    assert not [one for one in verdict.undecided if "forged" in one]
