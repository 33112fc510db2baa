"""Repositories with several projects, each in a folder of its own: honest work is proven, and nothing else is."""

import json
from typing import Any

import pytest

from tests.proof.trial import Cellar, Change, Sealed, Trial, only
from trued.model import Grade

PYTEST = "[tool.pytest.ini_options]\n"
TOTAL = "def total(items):\n    return sum(items)\n"
TAX = "\n\ndef with_tax(items, rate):\n    return round(total(items) * (1 + rate), 2)\n"
TESTS = "from app.prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
PRICE = 'export function price(cents) { return "€" + (cents / 100).toFixed(2); }\n'
SCRIPT_TESTS = """import test from "node:test";
import assert from "node:assert";
import { price } from "./format.js";
test("price", () => assert.equal(price(150), "€1.50"));
"""
PACKAGE = {"name": "shop", "type": "module", "scripts": {"test": "node --test"}}
BASE: dict[str, str | None] = {
    "README.md": "# shop\n",
    "backend/pyproject.toml": PYTEST,
    "backend/requirements.txt": "pytest\n",
    "backend/app/__init__.py": "",
    "backend/app/prices.py": TOTAL,
    "backend/tests/test_prices.py": TESTS,
    "frontend/package.json": json.dumps(PACKAGE),
    "frontend/src/format.js": PRICE,
    "frontend/src/format.test.js": SCRIPT_TESTS,
}
CASES: list[dict[str, Any]] = [
    {"call": "app.prices:with_tax", "args": [[10, 20], 0.1], "returns": 33.0},
    {"call": "app.prices:with_tax", "args": [[1], 0.19], "returns": 1.19},
    {"run": ["python", "-c", "from app.prices import with_tax; print(with_tax([2], 1))"], "stdout": "4\n"},
]
TEXT = "with_tax(items, rate) is the total with tax"
ASKED: list[dict[str, Any]] = [{"id": "tax", "text": TEXT, "checks": [{"kind": "examples", "cases": CASES}]}]
DONE: dict[str, str | None] = {"backend/app/prices.py": TOTAL + TAX}
WITHOUT_INIT: dict[str, str | None] = {path: text for path, text in BASE.items() if not path.endswith("__init__.py")}
FORGED = (
    "def total(items):\n    return 0\n\n\ndef with_tax(items, rate):\n    return round(sum(items) * (1 + rate), 2)\n"
)
COPY: dict[str, str | None] = {"app/__init__.py": "", "app/prices.py": TOTAL + TAX}
SILENT = json.dumps({**PACKAGE, "scripts": {"test": "node --test none"}})
BROKEN_PRICE = PRICE.replace("€", "$")

pytestmark = pytest.mark.spec("LAW-4", "LAW-5", "LAW-6")


@pytest.fixture
async def shop(cellar: Cellar) -> Sealed:
    return await cellar.sealed("shop", BASE, ASKED, Trial.seal_with_existing_tests)


@pytest.mark.slow
async def test_honest_work_in_a_project_folder_is_proven(shop: Sealed) -> None:
    contract = shop.contract
    assert contract.project_roots == ("backend",)
    assert contract.unguarded == contract.uncollected == ()
    verdict = await shop.trial.prove(contract, await shop.trial.head(DONE))
    assert only(verdict).grade is Grade.PROVEN, only(verdict).why
    assert len(verdict.suites) == 2
    assert all(one.grade is not Grade.REFUTED for one in verdict.suites)
    ran = [one.id for each in contract.base_facts if each.kind == "tests" for one in each.tried]
    assert sorted(set(ran)) == ["backend/tests/test_prices.py::test_total", "frontend/src/format.test.js::price"]
    assert len(ran) == 2  # no suite ran what another ran, too


LIES: dict[str, dict[str, str | None]] = {
    "its own project's behaviour breaks": {"backend/app/prices.py": FORGED},
    "the other project's behaviour breaks": {**DONE, "frontend/src/format.js": BROKEN_PRICE},
    "the other project's tests are switched off": {
        **DONE,
        "frontend/src/format.js": BROKEN_PRICE,
        "frontend/package.json": SILENT,
    },
    "a manifest at the top claims the tests": {
        "backend/app/prices.py": FORGED,
        "frontend/src/format.js": BROKEN_PRICE,
        "pyproject.toml": f'{PYTEST}testpaths = ["none"]\n',
        "package.json": json.dumps({"scripts": {"test": "true"}}),
        "conftest.py": "collect_ignore_glob = ['*']\n",
    },
    "pytest is configured anew": {"backend/app/prices.py": FORGED, "backend/pytest.ini": "[pytest]\ntestpaths = no\n"},
    "a module beside the package": {"backend/app.py": "class prices:\n    with_tax = None\n"},
    "a package of the same name at the top": COPY,
    "a package of the same name in `src`": {f"src/{path}": text for path, text in COPY.items()},
    "another project with the name": {
        "aaa/pyproject.toml": PYTEST,
        **{f"aaa/{path}": text for path, text in COPY.items()},
    },
    "another root in the project": {f"backend/src/{path}": text for path, text in COPY.items()},
}


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_in_one_of_several_projects_is_refuted(shop: Sealed, lie: str) -> None:
    (judged,) = await shop.trial.judged(shop.contract, LIES[lie])
    assert judged.grade is Grade.REFUTED, judged.why


@pytest.mark.slow
async def test_a_package_without_init_is_not_hidden_by_a_copy_at_the_top(cellar: Cellar) -> None:
    trial, contract = await cellar.sealed("without init", WITHOUT_INIT, ASKED, Trial.seal_with_existing_tests)
    done, copied = await trial.judged(contract, DONE, COPY)
    assert done.grade is Grade.PROVEN, done.why
    assert copied.grade is Grade.REFUTED, copied.why


@pytest.mark.slow
async def test_a_new_module_in_place_of_pythons_own_is_not_proven(cellar: Cellar) -> None:
    base = {**BASE, "backend/app/prices.py": f"import statistics\n\n\n{TOTAL}"}
    trial, contract = await cellar.sealed("statistics", base, ASKED, Trial.seal_with_existing_tests)
    head: Change = {"backend/app/prices.py": f"import statistics\n\n\n{TOTAL}{TAX}", "backend/statistics.py": "a = 1\n"}
    (judged,) = await trial.judged(contract, head)
    assert judged.grade < Grade.PROVEN, judged.why


SHARED = "def rate(n):\n    return n\n"
TWO: dict[str, str | None] = {
    "api/requirements.txt": "",
    "api/app/prices.py": TOTAL,
    "api/test_prices.py": TESTS,
    "worker/setup.py": "",
    "worker/src/jobs/__init__.py": "def job():\n    return 1\n",
    "worker/test_jobs.py": "from jobs import job\n\n\ndef test_job():\n    assert job() == 1\n",
}


@pytest.mark.slow
async def test_several_python_projects_are_each_tested_in_their_folder(cellar: Cellar) -> None:
    trial, contract = await cellar.sealed("two", TWO, ASKED, Trial.seal_with_existing_tests)
    assert contract.project_roots == ("api", "worker/src")
    moved = {"api/app/prices.py": f"from jobs import job\n\n\n{TOTAL}{TAX}"}  # no one who starts it in `api` has `jobs`
    broken = {"api/app/prices.py": TOTAL + TAX, "worker/src/jobs/__init__.py": "def job():\n    return 2\n"}
    done, foreign, other = await trial.judged(contract, {"api/app/prices.py": TOTAL + TAX}, moved, broken)
    assert done.grade is Grade.PROVEN, done.why
    assert foreign.grade is Grade.REFUTED, foreign.why
    assert other.grade is Grade.REFUTED, other.why


@pytest.mark.slow
async def test_a_name_that_two_projects_have_is_not_guessed_and_the_advice_stays(cellar: Cellar) -> None:
    base = {**TWO, "worker/src/app/__init__.py": ""}
    trial, contract = await cellar.sealed("same name", base, ASKED, Trial.seal_with_existing_tests)
    assert contract.project_roots == ()
    verdict = await trial.prove(contract, await trial.head({"api/app/prices.py": TOTAL + TAX}))
    assert only(verdict).grade is not Grade.PROVEN


@pytest.mark.slow
async def test_the_users_own_path_replaces_the_roots_of_projects(cellar: Cellar) -> None:
    trial, contract = await cellar.sealed("path", BASE, ASKED, Trial.seal_with_existing_tests, path=["backend"])
    assert contract.project_roots == ()
    (judged,) = await trial.judged(contract, DONE)
    assert judged.grade is Grade.PROVEN, judged.why


@pytest.mark.slow
async def test_a_top_that_is_a_project_stays_the_only_one(cellar: Cellar) -> None:
    base = {**BASE, "pyproject.toml": f'{PYTEST}pythonpath = ["backend"]\n', "package.json": json.dumps(PACKAGE)}
    _, contract = await cellar.sealed("top", base, ASKED, Trial.seal_with_existing_tests)
    commands = [getattr(check, "command", "") for one in contract.suites for check in one.checks]
    assert commands == ["python -m pytest -q", "npm test"]
    assert contract.project_roots == ()
    assert "project_roots" not in contract.model_dump()


LENT = TAX.replace("    return", "    from jobs import job\n\n    return job() *")
STARTED = [CASES[0], CASES[2], {**CASES[2], "run": [*CASES[2]["run"], "jobs", "worker/src"]}]


@pytest.mark.slow
@pytest.mark.parametrize("case", range(3))
async def test_code_that_needs_a_module_of_another_project_is_refuted(cellar: Cellar, case: int) -> None:
    # No existing test notices: the import runs only with the new function.
    checks = [{"kind": "examples", "cases": [STARTED[case]]}]
    asked = [{"id": "tax", "text": TEXT, "checks": checks}]
    trial, contract = await cellar.sealed(f"lent {case}", TWO, asked, Trial.seal_with_existing_tests)
    done: Change = {"api/app/prices.py": TOTAL + TAX}
    lent: Change = {"api/app/prices.py": TOTAL + LENT}
    elsewhere: Change = {
        "api/app/prices.py": f"{TOTAL}\n\ndef with_tax(*args):\n    import tax\n\n    return tax.with_tax(*args)\n",
        "worker/src/tax.py": f"{TOTAL}{TAX}",
    }
    part: Change = {
        "worker/src/app/more.py": TOTAL + TAX,
        "api/app/prices.py": TOTAL + LENT.replace("jobs", "app.more"),
    }
    honest, *lies = await trial.judged(contract, done, lent, elsewhere, part)
    assert honest.grade is Grade.PROVEN, honest.why
    assert [one.grade for one in lies] == [Grade.REFUTED] * 3, [one.why for one in lies]


@pytest.mark.slow
async def test_modules_of_another_project_are_found_if_the_base_uses_them(cellar: Cellar) -> None:
    base: dict[str, str | None] = {
        **TWO,
        "api/app/more.py": "from jobs import job\n\n\ndef more():\n    return job()\n",
    }
    base["api/test_more.py"] = "from app.more import more\n\n\ndef test_more():\n    assert more() == 1\n"
    trial, contract = await cellar.sealed("used", base, ASKED, Trial.seal_with_existing_tests)
    assert contract.unguarded == ()
    broken: Change = {"api/app/prices.py": TOTAL + LENT, "api/app/more.py": "def more():\n    return 2\n"}
    done: Change = {"api/app/prices.py": TOTAL + LENT}
    honest, lie = await trial.judged(contract, done, broken)
    assert honest.grade is Grade.PROVEN, honest.why
    assert lie.grade is Grade.REFUTED, lie.why


@pytest.mark.slow
async def test_a_new_part_of_a_package_in_another_folder_is_not_found(cellar: Cellar) -> None:
    cases = [{**one, "call": "app.tax:with_tax"} for one in CASES[:2]]
    asked = [{"id": "tax", "text": TEXT, "checks": [{"kind": "examples", "cases": cases}]}]
    trial, contract = await cellar.sealed("parts", TWO, asked, Trial.seal_with_existing_tests)
    heads: list[Change] = [{f"{one}app/tax.py": TOTAL + TAX} for one in ("api/", "", "worker/src/")]
    honest, *lies = await trial.judged(contract, *heads)
    assert honest.grade is Grade.PROVEN, honest.why
    assert [one.grade for one in lies] == [Grade.REFUTED] * 2, [one.why for one in lies]


DOUBLE = "import sys\n\nfrom app.prices import total\n\nprint(total(map(int, sys.argv[1:])) * {})\n"
AT_TOP: dict[str, str | None] = {"app/__init__.py": "", "app/prices.py": TOTAL, "app/double.py": DOUBLE.format(2)}


@pytest.mark.many(1)
@pytest.mark.parametrize("folder", ["backend", "src"])
async def test_a_program_at_the_top_in_place_of_the_bases_is_not_proven(cellar: Cellar, folder: str) -> None:
    base = {"README.md": "", f"{folder}/app/__init__.py": "", f"{folder}/app/prices.py": TOTAL}
    base |= {f"{folder}/app/double.py": DOUBLE.format(1), f"{folder}/requirements.txt": ""}
    cases = [{"run": ["python", "-m", "app.double", "1", "2"], "stdout": "6\n"}]
    asked = [{"id": "double", "text": "app.double doubles", "checks": [{"kind": "examples", "cases": cases}]}]
    trial, contract = await cellar.sealed(f"top {folder}", base, asked)
    done: Change = {f"{folder}/app/double.py": DOUBLE.format(2), "other/double.py": ""}
    honest, lie = await trial.judged(contract, done, AT_TOP)
    assert honest.grade is Grade.PROVEN, honest.why
    assert lie.grade is Grade.TESTED, lie.why


@pytest.mark.slow
async def test_a_project_that_asks_for_its_own_version_is_proven(cellar: Cellar) -> None:
    base: dict[str, str | None] = {
        **TWO,
        "api/pyproject.toml": '[project]\nname = "my-api"\nversion = "1.2"\n',
        "api/app/prices.py": f'from importlib.metadata import version\n\nversion("my-api")\n\n\n{TOTAL}',
    }
    trial, contract = await cellar.sealed("version", base, ASKED, Trial.seal_with_existing_tests)
    assert contract.unguarded == ()
    honest, lie = await trial.judged(
        contract,
        {"api/app/prices.py": f"{base['api/app/prices.py']}{TAX}"},
        {"api/app/prices.py": f'from importlib.metadata import version\n\nversion("jobs")\n\n\n{TOTAL}{TAX}'},
    )
    assert honest.grade is Grade.PROVEN, honest.why
    assert lie.grade < Grade.TESTED, lie.why


# A folder whose project has a package of the same name, and a folder at the top with the name of a project's package.
NESTED: dict[str, str | None] = {
    "README.md": "# shop\n",
    "app/pyproject.toml": PYTEST,
    "app/app/__init__.py": "",
    "app/app/prices.py": TOTAL,
    "app/tests/test_prices.py": TESTS,
}
PAGE: dict[str, str | None] = {**BASE, "app/index.html": "<p>shop</p>\n"}
LAYOUTS: dict[str, tuple[dict[str, str | None], str]] = {
    "nested": (NESTED, "app"),
    "nested without init": ({path: text for path, text in NESTED.items() if not path.endswith("__init__.py")}, "app"),
    "a page": (PAGE, "backend"),
    "a page without init": ({path: text for path, text in PAGE.items() if not path.endswith("__init__.py")}, "backend"),
}


@pytest.mark.slow
@pytest.mark.parametrize("started", [False, True], ids=["call", "program"])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_folder_that_python_ranks_last_is_no_place_of_a_copy(
    cellar: Cellar, layout: str, started: bool
) -> None:
    base, folder = LAYOUTS[layout]
    asked = [
        {"id": "tax", "text": TEXT, "checks": [{"kind": "examples", "cases": CASES[2:] if started else CASES[:2]}]}
    ]
    trial, contract = await cellar.sealed(f"{layout} {started}", base, asked, Trial.seal_with_existing_tests)
    assert contract.project_roots == (folder,)
    done: Change = {
        f"{folder}/app/prices.py": f"from app.tax import RATES\n{TOTAL}{TAX}",
        f"{folder}/app/tax.py": "RATES = ()\n",
        f"{folder}/tests/test_tax.py": TESTS,
    }
    honest, *lies = await trial.judged(contract, done, COPY, {"app/prices.py": TOTAL + TAX})
    assert honest.grade is Grade.PROVEN, honest.why
    assert [one.grade < Grade.PROVEN for one in lies] == [True, True], [one.why for one in lies]
    if not started:
        assert lies[0].grade is Grade.REFUTED, lies[0].why


@pytest.mark.slow
async def test_a_project_reaches_another_through_code_at_the_top(cellar: Cellar) -> None:
    base: dict[str, str | None] = {
        **TWO,
        "api/app/prices.py": "from common.money import add\n\n\ndef total(items):\n    return add(items)\n",
        "api/test_prices.py": None,
        "common/__init__.py": "",
        "common/money.py": "from jobs import job\n\n\ndef add(items):\n    return sum(items) * job()\n",
        "third/setup.py": "",
        "third/three.py": "def job():\n    return 1\n",
        "scripts.py": "import three\n",
    }
    base = {path: text for path, text in base.items() if text is not None}
    checks = [{"kind": "examples", "cases": CASES[:2]}]
    asked = [{"id": "tax", "text": TEXT, "checks": checks}]
    trial, contract = await cellar.sealed("through the top", base, asked, Trial.seal_with_existing_tests)
    done = f"{base['api/app/prices.py']}{TAX}"
    lent = f"{base['api/app/prices.py']}{LENT.replace('jobs', 'three')}"
    honest, lie = await trial.judged(contract, {"api/app/prices.py": done}, {"api/app/prices.py": lent})
    assert honest.grade is Grade.PROVEN, honest.why
    assert lie.grade is Grade.REFUTED, lie.why


THROUGH = "{}\n\ndef with_tax(*args):\n    {}\n\n    return tax.with_tax(*args)\n"
FROM_TOP: dict[str, dict[str, str | None]] = {
    "the top": {"backend/app/prices.py": THROUGH.format(TOTAL, "import tax"), "tax.py": TOTAL + TAX},
    "src": {"backend/app/prices.py": THROUGH.format(TOTAL, "import tax"), "src/tax.py": TOTAL + TAX},
    "a package": {
        "backend/app/prices.py": THROUGH.format(TOTAL, "from shop.parts import tax"),
        "shop/parts/tax.py": TOTAL + TAX,
    },
    "the project, seen from the top": {
        "backend/app/prices.py": THROUGH.format(TOTAL, "import backend.app.tax as tax"),
        "backend/app/tax.py": TOTAL + TAX,
    },
    "a module that was there": {
        "backend/app/prices.py": THROUGH.format(TOTAL, "import tools as tax"),
        "tools.py": TOTAL + TAX,
    },
    "a name in a string": {
        "backend/app/prices.py": THROUGH.format(TOTAL, "tax = __import__('importlib').import_module('tax')"),
        "tax.py": TOTAL + TAX,
    },
    "a computed name": {
        "backend/app/prices.py": THROUGH.format(TOTAL, "tax = __import__('xat'[::-1])"),
        "tax.py": TOTAL + TAX,
    },
    "two modules": {
        "backend/app/prices.py": THROUGH.format(TOTAL, "import tax"),
        "backend/tax.py": "",
        "tax.py": TOTAL + TAX,
    },
}
WITH_TOOLS: dict[str, str | None] = {**BASE, "tools.py": "import sys\n"}


@pytest.mark.many(1)
@pytest.mark.parametrize("place", FROM_TOP)
async def test_the_first_import_from_the_top_is_not_proven(cellar: Cellar, place: str) -> None:
    trial, contract = await cellar.sealed("tools", WITH_TOOLS, ASKED, Trial.seal_with_existing_tests)
    (judged,) = await trial.judged(contract, FROM_TOP[place])
    assert judged.grade < Grade.PROVEN, judged.why


@pytest.mark.slow
async def test_imports_from_the_top_are_no_fault_if_the_base_has_them(cellar: Cellar) -> None:
    trial, contract = await cellar.sealed("tools", WITH_TOOLS, ASKED, Trial.seal_with_existing_tests)
    beside: Change = {
        "backend/app/prices.py": f"from .tools import TAXES\nfrom app import tools\n{TOTAL}{TAX}",
        "backend/app/tools.py": "TAXES = ()\n",
        "backend/tests/test_tools.py": "import tools\n",
        "tools.py": "import sys, app.prices\n",
        "shop/deploy.py": "import tools\n",
    }
    (judged,) = await trial.judged(contract, beside)
    assert judged.grade is Grade.PROVEN, judged.why
    base = {**WITH_TOOLS, "backend/app/__init__.py": "import tools\n"}
    trial, contract = await cellar.sealed("uses tools", base, ASKED, Trial.seal_with_existing_tests)
    (judged,) = await trial.judged(contract, FROM_TOP["the top"])
    assert judged.grade is Grade.PROVEN, judged.why
