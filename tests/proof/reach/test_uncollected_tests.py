"""Tests of the base that no check collects guard nothing, and a change of what only they test is not proven."""

import json
import shutil
import sys
from pathlib import Path
from types import FrameType

import pytest

from tests.proof.trial import Trial, asked_three, only
from trued.model import Contract, Grade, Judged
from trued.proof.reach.uncollected_tests import uncollected_tests
from trued.proof.text.python_imports import imported_modules

CORE = "def rate(x):\n    return x * 2\n\n\ndef other():\n    return 5\n"
BROKEN = CORE.replace("x * 2", "0")
KIT = "import core\n\n\ndef two():\n    return 2\n"
THREE = f"{KIT}\n\ndef three():\n    return 3\n"
PASSES = "import core\nimport kit\n\n\ndef test_two():\n    assert kit.two() == 2\n\n\n"
PASSES += "def test_other():\n    assert core.other() == 5\n"
RATE = "import core\n\n\ndef test_rate():\n    assert core.rate(1) == 2\n"
CASE = "import unittest\n\nimport core\n\n\nclass RateChecks(unittest.TestCase):\n    def test_rate(self):\n"
CASE += "        self.assertEqual(core.rate(1), 2)\n"
MARKED = "import pytest\n\nimport core\n\n\ndef test_other():\n    assert core.other() == 5\n\n\n"
MARKED += "@pytest.mark.slow\ndef test_rate():\n    assert core.rate(1) == 2\n"
TWICE = "import pytest\n\nimport core\n\n\nclass TestA:\n    def test_it(self):\n        assert core.other() == 5\n\n\n"
TWICE += "@pytest.mark.slow\nclass TestB:\n    def test_it(self):\n        assert core.rate(1) == 2\n"
HELPED = MARKED.replace("assert core.rate(1) == 2", "check(1, 2)")
HELPED += "\n\ndef check(given, expected):\n    assert core.rate(given) == expected\n"
WITH_EXAMPLE = CORE.replace("def rate(x):\n", 'def rate(x):\n    """\n    >>> rate(1)\n    2\n    """\n')
SLOW = "[pytest]\nmarkers = slow\naddopts = -m 'not slow'\n"
PROJECTS: dict[str, tuple[dict[str, str], str]] = {
    "outside of testpaths": (
        {"pytest.ini": "[pytest]\ntestpaths = tests\n", "tests/test_kit.py": PASSES, "checks/test_core.py": RATE},
        "checks/test_core.py",
    ),
    "only these": ({"checks/check_core.py": CASE}, "checks/check_core.py"),
    "named otherwise": ({"tests/test_kit.py": PASSES, "checks/check_core.py": CASE}, "checks/check_core.py"),
    "deselected": ({"pytest.ini": SLOW, "tests/test_core.py": MARKED}, "tests/test_core.py::test_rate"),
    "a class's test of the same name": (
        {"pytest.ini": SLOW, "tests/test_core.py": TWICE},
        "tests/test_core.py::TestB::test_it",
    ),
    "a helper that only it uses": ({"pytest.ini": SLOW, "tests/test_core.py": HELPED}, "tests/test_core.py::test_rate"),
    "beside a script that cannot be counted": (
        {"package.json": '{"scripts": {"test": "true"}}', "pytest.ini": SLOW, "tests/test_core.py": MARKED},
        "tests/test_core.py::test_rate",
    ),
    "beside a suite that cannot be run": (
        {"app/tests.py": f"import nowhere\n{CASE}", "pytest.ini": SLOW, "tests/test_core.py": MARKED},
        "tests/test_core.py::test_rate",
    ),
    "doctests": (
        {"pytest.ini": "[pytest]\naddopts = --doctest-modules\n", "core.py": WITH_EXAMPLE, "tests/test_kit.py": PASSES},
        "core.py::rate",
    ),
    "only doctests": (
        {"pytest.ini": "[pytest]\naddopts = --doctest-modules\n", "core.py": WITH_EXAMPLE},
        "core.py::rate",
    ),
    "doctests that a module runs": (
        {"core.py": f"{WITH_EXAMPLE}\n\nif __name__ == '__main__':\n    import doctest\n\n    doctest.testmod()\n"},
        "core.py::rate",
    ),
}
QUICK = ("outside of testpaths", "deselected", "doctests")


def trial_of(place: Path, files: dict[str, str]) -> Trial:
    """A base with `core` and `kit`; a head is asked to add `three` to `kit`."""
    return Trial(place, {"core.py": CORE, "kit.py": KIT, **files}, asked_three())


async def judged(place: Path, files: dict[str, str], *heads: dict[str, str]) -> tuple[Contract, list[Judged]]:
    """The base's contract, and how it judges heads that do what was asked for, and change these files besides."""
    trial = trial_of(place, files)
    contract = await trial.seal_with_existing_tests()
    return contract, await trial.judged(contract, *({"kit.py": THREE, **one} for one in heads))


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PROJECTS]
)
async def test_code_that_only_uncollected_tests_check_is_not_proven(name: str, tmp_path: Path) -> None:
    files, uncollected = PROJECTS[name]
    trial = trial_of(tmp_path, files)
    contract = await trial.seal_with_existing_tests()
    assert contract.uncollected == (uncollected,)
    broken = files.get("core.py", CORE).replace("x * 2", "0")
    liar = await trial.prove(contract, await trial.head({"kit.py": THREE, "core.py": broken}))
    assert (only(liar).grade, only(liar).lacks) == (Grade.TESTED, "attest"), only(liar).why
    assert "core.py" in only(liar).why[0]
    assert any(uncollected in one for one in liar.undecided), liar.undecided
    assert not any("by the change, not run" in one for one in liar.undecided), liar.undecided
    honest = await trial.prove(contract, await trial.head({"kit.py": THREE}))
    assert only(honest).grade is Grade.PROVEN, only(honest).why


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.slow
async def test_a_package_that_the_roots_test_script_leaves_out_is_unguarded(tmp_path: Path) -> None:
    test = "import test from 'node:test';\nimport { NAME } from './FILE.mjs';\n"
    test += "test('it', () => { if (NAME() !== 2) throw 1; });\n"
    base = {
        "package.json": json.dumps({"scripts": {"test": "node --test src/"}, "workspaces": ["packages/*"]}),
        "src/kit.mjs": "export const two = () => 2;\n",
        "src/kit.test.mjs": test.replace("NAME", "two").replace("FILE", "kit"),
        "packages/core/package.json": json.dumps({"name": "core", "scripts": {"test": "node --test"}}),
        "packages/core/rate.mjs": "export const rate = () => 2;\n",
        "packages/core/rate.test.mjs": test.replace("NAME", "rate").replace("FILE", "rate"),
    }
    trial = Trial(tmp_path, base, asked_three("./src/kit.mjs:three"))
    contract = await trial.seal_with_existing_tests()
    assert contract.uncollected == ("packages/core/rate.test.mjs",)
    work = {"src/kit.mjs": f"{base['src/kit.mjs']}export const three = () => 3;\n"}
    broken = {"packages/core/rate.mjs": "export const rate = () => 0;\n"}
    more = {"src/more.mjs": "export const more = 1;\n"}
    found = await trial.judged(contract, {**work, **broken}, work, {**work, **more})
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN, Grade.PROVEN], found


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_go_module_that_is_no_project_folder_is_unguarded(tmp_path: Path) -> None:
    """Folders for tools are no projects, so no suite runs there."""
    files = {
        "tools/svc/go.mod": "module svc\n",
        "tools/svc/rate.go": "package svc\n",
        "tools/svc/rate_test.go": 'package svc\n\nimport "testing"\n\nfunc TestRate(t *testing.T) {}\n',
        "tools/svc/helpers_test.go": "package svc\n",
        "vendor/x/x_test.go": "package x\n\nfunc TestX(t *testing.T) {}\n",
    }
    contract, found = await judged(tmp_path, files, {"tools/svc/rate.go": "package svc\n\n"}, {"core.py": f"{CORE}\n"})
    assert contract.uncollected == ("tools/svc/rate_test.go",)
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN], found


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    "more",
    [
        pytest.param(
            {
                "tests/fixtures/test_sample.py": RATE,
                "tests/test_more.py": "from pathlib import Path\n\nHERE = Path(__file__).parent / 'fixtures'\n\n\n"
                "def test_it():\n    assert [*HERE.iterdir()]\n",
            },
            id="data of tests",
        ),
        pytest.param({"vendor/far/test_far.py": "def test_a():\n    pass\n"}, id="other people's code"),
        pytest.param({"kit_test.py": "def tables():\n    return 3\n"}, id="no tests"),
        pytest.param(
            {"tests/shared.py": CASE, "tests/test_more.py": "from tests.shared import RateChecks  # noqa\n"},
            id="tests that a collected file takes over",
        ),
        pytest.param({"core.py": WITH_EXAMPLE}, id="examples that nobody runs"),
        pytest.param({"tests/test_broken.py": f"import nowhere\n\n\n{RATE}"}, id="a file that cannot be imported"),
        pytest.param({"Makefile": "check:\n\tpython -m unittest\n"}, id="an unrelated target"),
    ],
)
@pytest.mark.many(1)
async def test_what_is_collected_or_no_test_is_not_called_uncollected(more: dict[str, str], tmp_path: Path) -> None:
    settings = {"pytest.ini": "[pytest]\nnorecursedirs = fixtures vendor\n"}
    trial = trial_of(tmp_path, {"tests/test_kit.py": PASSES, **settings, **more})
    assert (await trial.seal_with_existing_tests()).uncollected == ()


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_method_is_not_guarded_by_tests_of_another_class(tmp_path: Path) -> None:
    boxes = "class A:\n    def save(self):\n        return 1\n\n\nclass B:\n    def save(self):\n        return 2\n"
    tests = "import pytest\n\nimport core\n\n\ndef test_a():\n    assert core.A().save() == 1\n\n\n"
    tests += "@pytest.mark.slow\ndef test_b():\n    assert core.B().save() == 2\n"
    files = {"core.py": boxes, "pytest.ini": SLOW, "tests/test_core.py": tests}
    heads = [boxes.replace("return 2", "return 0"), boxes.replace("return 1", "return 2 - 1")]
    _, found = await judged(tmp_path, files, *({"core.py": one} for one in heads))
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN], found


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_function_is_not_guarded_by_tests_of_another_modules_function(tmp_path: Path) -> None:
    tests = MARKED.replace("import core\n", "import core\nimport tax\n", 1)
    tests += "\n\ndef test_tax():\n    assert tax.rate(1) == 3\n"
    tax = "def rate(x):\n    return x * 3\n"
    files = {"tax.py": tax, "pytest.ini": SLOW, "tests/test_core.py": tests}
    _, found = await judged(tmp_path, files, {"core.py": BROKEN}, {"tax.py": tax.replace("x * 3", "3 * x")})
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN], found


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
@pytest.mark.skipif(shutil.which("go") is None, reason="NO GO HERE")
async def test_go_code_that_collected_tests_use_is_guarded(tmp_path: Path) -> None:
    test = 'package m\n\nimport "testing"\n\nfunc TestNAME(t *testing.T) {\n\tif NAME() != 2 {\n\t\tt.Fatal()\n\t}\n}\n'
    rates = "package m\n\nfunc Rate() int { return 2 }\n\nfunc Slow() int { return 2 }\n"
    files = {
        "go.mod": "module m\n\ngo 1.19\n",
        "rate.go": rates,
        "rate_test.go": test.replace("NAME", "Rate"),
        "slow_test.go": "//go:build slow\n\n" + test.replace("NAME", "Slow"),
    }
    heads = [
        {"rate.go": rates.replace("Rate() int { return 2", "Rate() int { return 1 + 1")},
        {"more.go": "package m\n\nfunc More() int { return 3 }\n"},
        {"rate.go": rates.replace("Slow() int { return 2", "Slow() int { return 0")},
        {"rate.go": f"{rates}// {'é' * 2**19}\n\nfunc init() {{ println() }}\n"},
        {"more.go": "package m\n\nfunc init() { println() }\n"},
    ]
    contract, found = await judged(tmp_path, files, *heads)
    assert contract.uncollected == ("slow_test.go",)
    assert [one.grade for one in found] == [Grade.PROVEN, Grade.PROVEN, *[Grade.TESTED] * 3], found


COLLECTED = ["tests/test_kit.py::test_two", "tests/test_kit.py::test_other"]
CLASSES = "import core\n\n\nclass TestA:\n    def test_it(self):\n        assert core.other() == 5\n\n\n"
CLASSES += "class TestB:\n    def test_it(self):\n        assert core.rate(1) == 2\n"
NESTED = (
    "import core\n\n\nclass TestA:\n    class TestB:\n        def test_it(self):\n            assert core.rate(1)\n"
)
BELOW_IF = "import core\n\nif core.other() > 5:\n\n    def test_rate():\n        assert core.rate(1) == 2\n\n\n"
BELOW_IF += "def test_other():\n    assert core.other() == 5\n"
MANY_BRANCHES = "import core\n\nif core.a:\n    pass\n" + "elif core.a:\n    pass\n" * 1500
MANY_BRANCHES += "else:\n\n    def test_rate():\n        assert core.rate(1) == 2\n"
DEEP = "+".join(["'a'"] * 1500)  # too many levels for a recursion
OWN_BASE = "import core\nfrom checks.base import Base\n\n\nclass Rates(Base):\n    def test_rate(self):\n"
OWN_BASE += "        self.assertEqual(core.rate(1), 2)\n"
LOADED = "import unittest\n\nimport core\n\n\nclass Rates(unittest.TestCase):\n    def rate(self):\n"
LOADED += "        self.assertEqual(core.rate(1), 2)\n\n\n"
LOADED += "def load_tests(loader, tests, pattern):\n    return unittest.TestSuite([Rates('rate')])\n"
ASSERTS = "import core\n\nassert core.rate(1) == 2\n"
HELPER = "import core\n\n\ndef check(x):\n    assert core.rate(x) == 2 * x\n"
STARTED = "import core\n\n\ndef main():\n    assert core.rate(1) == 2\n\n\nif __name__ == '__main__':\n    main()\n"
GUIDE = "# Guide\n\n>>> import core\n>>> core.rate(1)\n2\n"
TITLED = "describe('x', () => { it('y', () => { cy.visit('/'); }); });\n"


async def uncollected(place: Path, files: dict[str, str], ids: list[str]) -> list[str]:
    trial = trial_of(place, {"tests/test_kit.py": PASSES, **files})
    await trial.workspace.begin()
    return await uncollected_tests(trial.workspace, trial.workspace.base, [*COLLECTED, *ids], ())


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    ("files", "ids", "wanted"),
    [
        pytest.param(
            {"tests/test_a.py": CLASSES},
            ["tests/test_a.py::TestA::test_it"],
            "tests/test_a.py::TestB::test_it",
            id="the name of a collected test",
        ),
        pytest.param(
            {"tests/test_a.py": f"{NESTED}\n\ndef test_b():\n    pass\n"},
            ["tests/test_a.py::test_b"],
            "tests/test_a.py::TestA::TestB::test_it",
            id="an inner class",
        ),
        pytest.param(
            {"tests/test_a.py": BELOW_IF},
            ["tests/test_a.py::test_other"],
            "tests/test_a.py::test_rate",
            id="below a condition",
        ),
        pytest.param(
            {"tests/test_a.py": MANY_BRANCHES},
            ["tests/test_a.py::test_other"],
            "tests/test_a.py::test_rate",
            id="below many conditions",
        ),
        pytest.param(
            {"tests/test_a.py": MARKED.replace("mark.slow", f"mark.usefixtures({DEEP})")},
            ["tests/test_a.py::test_other"],
            "tests/test_a.py::test_rate",
            id="with a fixture",
        ),
        pytest.param(
            {
                "pytest.ini": "[pytest]\ntestpaths = tests\npython_functions = check_* test_*\n",
                "slow/test_a.py": RATE.replace("test_rate", "check_rate"),
            },
            [],
            "slow/test_a.py",
            id="configured names of functions",
        ),
        pytest.param(
            {
                "pytest.ini": "[pytest]\ntestpaths = tests\npython_files = *_checks.py\n",
                "slow/a_checks.py": RATE.replace("assert ", "core.other() or "),
            },
            [],
            "slow/a_checks.py",
            id="configured names of files",
        ),
        pytest.param({"checks/a.py": OWN_BASE}, [], "checks/a.py", id="a base class of the project's own"),
        pytest.param({"checks/a.py": LOADED}, [], "checks/a.py", id="load_tests"),
        pytest.param({"tests/run_checks.py": ASSERTS}, [], "tests/run_checks.py", id="assertions of a script"),
        pytest.param({"tests/check_core.py": STARTED}, [], "tests/check_core.py", id="a program among tests"),
        pytest.param({"scripts/verify.py": ASSERTS}, [], "scripts/verify.py", id="assertions of a script elsewhere"),
        pytest.param({"scripts/verify.py": STARTED}, [], "scripts/verify.py", id="a program that asserts elsewhere"),
        pytest.param({"app/data/test_a.py": RATE}, [], "app/data/test_a.py", id="a folder of the product called data"),
        pytest.param({"examples/test_a.py": RATE}, [], "examples/test_a.py", id="examples"),
        pytest.param({"tests/examples/test_a.py": RATE}, [], "tests/examples/test_a.py", id="examples among tests"),
        pytest.param({"tests/fixtures/test_a.py": RATE}, [], "tests/fixtures/test_a.py", id="fixtures"),
        pytest.param(
            {"checks/kit.py": CASE},
            [],
            "checks/kit.py::RateChecks::test_rate",
            id="the name of a module that tests import",
        ),
        pytest.param(
            {
                "tests/shared.py": f"{CASE}\n\ndef five():\n    return 5\n",
                "tests/test_a.py": "from tests.shared import five\n\n\ndef test_five():\n    assert five() == 5\n",
            },
            ["tests/test_a.py::test_five"],
            "tests/shared.py",
            id="a file of which tests take something else",
        ),
        pytest.param(
            {"core.py": WITH_EXAMPLE, "Makefile": "test:\n\tpytest --doctest-modules\n"},
            [],
            "core.py::rate",
            id="doctests of a Makefile",
        ),
        pytest.param(
            {"core.py": WITH_EXAMPLE, ".github/workflows/ci.yml": "run: pytest --doctest-modules\n"},
            [],
            "core.py::rate",
            id="doctests of a workflow",
        ),
        pytest.param(
            {"core.py": WITH_EXAMPLE, "tests/every.py": "import doctest\nimport core\ndoctest.DocTestSuite(core)\n"},
            [],
            "core.py::rate",
            id="DocTestSuite",
        ),
        pytest.param(
            {"pytest.ini": "[pytest]\ntestpaths = tests\naddopts = --doctest-glob=*.md\n", "GUIDE.md": GUIDE},
            [],
            "GUIDE.md",
            id="examples in a document",
        ),
        pytest.param(
            {"GUIDE.rst": GUIDE, "run_guide.py": "import doctest\ndoctest.testfile('GUIDE.rst')\n"},
            [],
            "GUIDE.rst",
            id="examples in a document that a script runs",
        ),
        pytest.param(
            {"e2e/cart.spec.ts": TITLED, "src/cart.test.ts": "import { cart } from './cart';\n"},
            ["src/cart.test.ts::cart"],
            "e2e/cart.spec.ts",
            id="a script whose name is a word in collected tests",
        ),
        pytest.param({"cypress/e2e/flow.cy.js": TITLED}, [], "cypress/e2e/flow.cy.js", id="tests of Cypress"),
        pytest.param(
            {"checks/a.mjs": "import assert from 'node:assert';\nassert.equal(1, 1);\n"},
            [],
            "checks/a.mjs",
            id="assertions of a JavaScript file",
        ),
    ],
)
async def test_a_test_is_uncollected_whatever_its_form(
    files: dict[str, str], ids: list[str], wanted: str, tmp_path: Path
) -> None:
    assert await uncollected(tmp_path, files, ids) == [wanted]


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("files", "ids"),
    [
        pytest.param(
            {"tests/test_a.py": CASE.replace("def test_rate", "@expand(1)\n    def test_rate")},
            ["tests/test_a.py::RateChecks::test_rate_0"],
            id="a name made by a decorator",
        ),
        pytest.param(
            {"tests/test_a.py": CASE.replace("unittest.TestCase", "") + "\n\nclass TestA(RateChecks):\n    pass\n"},
            ["tests/test_a.py::TestA::test_rate"],
            id="an inherited test",
        ),
        pytest.param(
            {
                "tests/test_a.py": f"{CASE}\n\ndef test_b():\n    pass\n",
                "tests/test_b.py": "from tests.test_a import RateChecks\n\n\nclass TestB(RateChecks):\n    pass\n",
            },
            ["tests/test_a.py::test_b", "tests/test_b.py::TestB::test_rate"],
            id="a test inherited from another file",
        ),
        pytest.param(
            {"tests/helpers.py": HELPER, "tests/test_a.py": "from tests.helpers import check\n"},
            ["tests/test_a.py::test_a"],
            id="a helper that asserts",
        ),
        pytest.param(
            {"tests/helpers.py": HELPER, "tests/conftest.py": "from helpers import check\n"},
            [],
            id="a conftest's helper",
        ),
        pytest.param(
            {"tests/far_server.py": HELPER, "tests/test_a.py": "run('far_server.py')\n"},
            ["tests/test_a.py::test_a"],
            id="a program that a test starts",
        ),
        pytest.param({"run.py": "import sys\nimport core\n\nassert sys.version_info > (3, 8)\n"}, [], id="a program"),
        pytest.param({"app.py": ASSERTS, "run.py": "import app\n"}, [], id="a module that asserts its surroundings"),
        pytest.param({"run.py": STARTED.replace("core.rate(1) == 2", "core")}, [], id="a program that asserts little"),
        pytest.param(
            {"src/up.mjs": "assert(process.env.UP);\n", "src/a.mjs": "import './up.mjs';\n"}, [], id="a script's own"
        ),
        pytest.param({"net.py": "def test_connection(host):\n    return host\n"}, [], id="a function of the product"),
        pytest.param({"src/ok.mjs": "export const ok = (s) => /a/.test('b');\n"}, [], id="a regular expression"),
        pytest.param({"GUIDE.md": GUIDE}, [], id="a document whose examples nobody runs"),
        pytest.param(
            {
                "test/shared.mjs": "export const s = () => { it('a', () => {}); };\n",
                "test/a.test.mjs": "import './shared';\n",
            },
            ["test/a.test.mjs::a"],
            id="a shared suite of scripts",
        ),
    ],
)
async def test_what_collected_tests_use_and_what_is_no_test_is_not_uncollected(
    files: dict[str, str], ids: list[str], tmp_path: Path
) -> None:
    assert await uncollected(tmp_path, files, ids) == []


@pytest.mark.spec("LAW-6")
async def test_a_file_is_read_once_however_many_files_its_words_may_name(tmp_path: Path) -> None:
    count, calls = 20, list[str]()
    files = {f"checks/part{one}/same.py": CASE for one in range(count)}
    files["tests/test_a.py"] = "import far.same\n\n\ndef test_a():\n    assert far.same\n"

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is imported_modules.__code__:
            calls.append(frame.f_locals["text"])

    sys.setprofile(note)
    try:
        found = await uncollected(tmp_path, files, ["tests/test_a.py::test_a"])
    finally:
        sys.setprofile(None)
    assert len(found) == count
    assert calls.count(files["tests/test_a.py"]) <= 2  # for its tests, and for the files that it imports
