"""Tests of the base that no check collects guard nothing, and a change of what only they test is not proven."""

import json
from pathlib import Path

import pytest

from tests.proof.trial import Change, Trial, only, quiet
from trued.model import Contract, Grade
from trued.proof.seal import SealTerms, seal
from trued.proof.uncollected_tests import reachable_files
from trued.run.examination.existing_tests import with_existing_tests

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
WITH_EXAMPLE = CORE.replace("def rate(x):\n", 'def rate(x):\n    """\n    >>> rate(1)\n    2\n    """\n')
SLOW = "[pytest]\nmarkers = slow\naddopts = -m 'not slow'\n"
ASKED = [
    {
        "id": "three",
        "text": "three() is 3",
        "checks": [{"kind": "examples", "cases": [{"call": "kit:three", "args": [], "returns": 3}]}],
    }
]
PROJECTS: dict[str, tuple[dict[str, str], str]] = {
    "outside of testpaths": (
        {"pytest.ini": "[pytest]\ntestpaths = tests\n", "tests/test_kit.py": PASSES, "checks/test_core.py": RATE},
        "checks/test_core.py",
    ),
    "only these": ({"checks/check_core.py": CASE}, "checks/check_core.py"),
    "named otherwise": ({"tests/test_kit.py": PASSES, "checks/check_core.py": CASE}, "checks/check_core.py"),
    "deselected": ({"pytest.ini": SLOW, "tests/test_core.py": MARKED}, "tests/test_core.py::test_rate"),
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


async def sealed(trial: Trial) -> Contract:
    await trial.workspace.begin()
    made, guards = await with_existing_tests(trial.workspace, trial.asked)
    return await seal(trial.workspace, made, SealTerms(held_out=True, guards=guards), tell=quiet)


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize("name", PROJECTS)
async def test_code_that_only_uncollected_tests_check_is_not_proven(name: str, tmp_path: Path) -> None:
    files, uncollected = PROJECTS[name]
    base = {"core.py": CORE, "kit.py": KIT, **files}
    trial = Trial(tmp_path, base, ASKED)
    contract = await sealed(trial)
    assert contract.uncollected == (uncollected,)
    liar = await trial.prove(
        contract, await trial.head({"kit.py": THREE, "core.py": base["core.py"].replace("x * 2", "0")})
    )
    assert (only(liar).grade, only(liar).lacks) == (Grade.TESTED, "attest"), only(liar).why
    assert "core.py" in only(liar).why[0]
    assert any(uncollected in one for one in liar.undecided), liar.undecided
    honest = await trial.prove(contract, await trial.head({"kit.py": THREE}))
    assert only(honest).grade is Grade.PROVEN, only(honest).why


@pytest.mark.spec("LAW-6", "LAW-11")
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
    asked = [{**ASKED[0], "checks": [{"kind": "examples", "cases": [CALL]}]}]
    trial = Trial(tmp_path, base, asked)
    contract = await sealed(trial)
    assert contract.uncollected == ("packages/core/rate.test.mjs",)
    work = {"src/kit.mjs": f"{base['src/kit.mjs']}export const three = () => 3;\n"}
    heads: list[Change] = [
        {**work, "packages/core/rate.mjs": "export const rate = () => 0;\n"},
        work,
        {**work, "src/more.mjs": "export const more = 1;\n"},
    ]
    found = [only(await trial.prove(contract, await trial.head(one))) for one in heads]
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN, Grade.PROVEN], found


CALL = {"call": "./src/kit.mjs:three", "args": [], "returns": 3}


@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_go_module_below_the_root_is_unguarded(tmp_path: Path) -> None:
    """`go test ./...` at the root leaves such modules out."""
    base = {
        "kit.py": KIT,
        "core.py": CORE,
        "svc/go.mod": "module svc\n",
        "svc/rate.go": "package svc\n",
        "svc/rate_test.go": 'package svc\n\nimport "testing"\n\nfunc TestRate(t *testing.T) {}\n',
        "svc/helpers_test.go": "package svc\n",
        "vendor/x/x_test.go": "package x\n\nfunc TestX(t *testing.T) {}\n",
    }
    trial = Trial(tmp_path, base, ASKED)
    contract = await sealed(trial)
    assert contract.uncollected == ("svc/rate_test.go",)
    work = {"kit.py": THREE}
    heads: list[Change] = [{**work, "svc/rate.go": "package svc\n\n"}, {**work, "core.py": f"{CORE}\n"}]
    found = [only(await trial.prove(contract, await trial.head(one))) for one in heads]
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN], found


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"tests/fixtures/test_sample.py": RATE}, id="data of tests"),
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
async def test_what_is_collected_or_no_test_is_not_called_uncollected(more: dict[str, str], tmp_path: Path) -> None:
    settings = {"pytest.ini": "[pytest]\nnorecursedirs = fixtures vendor\n"}
    trial = Trial(tmp_path, {"core.py": CORE, "kit.py": KIT, "tests/test_kit.py": PASSES, **settings, **more}, ASKED)
    assert (await sealed(trial)).uncollected == ()


@pytest.mark.spec("LAW-6")
def test_files_are_reached_by_their_names_and_all_files_by_tests_from_outside() -> None:
    paths = {
        "checks/test_a.py": "import a\n",
        "a.py": "from pkg import thing\nopen('rates.json')\n",
        "pkg/__init__.py": "",
        "pkg/deep.py": "",
        "rates.json": "",
        "far.py": "",
        "e2e/cart.spec.ts": "import { test } from '@playwright/test';\ntest('far', ({ page }) => page.goto('/'));\n",
        "svc/a_test.go": "package svc\n",
        "svc/b.go": "package svc\n",
    }
    texts = {path: text for path, text in paths.items() if not path.endswith(".json")}
    found = reachable_files(paths, texts, ["checks/test_a.py"])
    assert sorted(found or ()) == ["a.py", "checks/test_a.py", "pkg/__init__.py", "rates.json"]
    assert sorted(reachable_files(paths, texts, ["svc/a_test.go"]) or ()) == ["svc/a_test.go", "svc/b.go"]
    assert reachable_files(paths, texts, ["e2e/cart.spec.ts"]) is None
