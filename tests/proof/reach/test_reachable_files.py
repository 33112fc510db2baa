"""Which files tests may reach, by the words in their texts."""

from collections.abc import Collection

import pytest

from trued.proof.reach.reachable_files import files_of_programs, reachable_files

BASE = {
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
TEST = "slow/test_x.py"


async def reached(test: str, more: dict[str, str] | None = None) -> frozenset[str] | None:
    base = {**BASE, **(more or {})}

    async def read(paths: Collection[str]) -> dict[str, str]:
        return {path: base[path] for path in paths}

    return await reachable_files(read, base, [test])


async def reached_by_first(files: dict[str, str]) -> frozenset[str] | None:
    """What the first of these files, which are added to the base, may reach."""
    return await reached(next(iter(files)), files)


@pytest.mark.spec("LAW-6")
async def test_files_are_reached_by_their_names() -> None:
    assert await reached("checks/test_a.py") == frozenset(("checks/test_a.py", "a.py", "pkg/__init__.py", "rates.json"))
    assert await reached("svc/a_test.go") == frozenset(("svc/a_test.go", "svc/b.go"))
    assert await reached("a.py::thing") == frozenset(("a.py", "pkg/__init__.py", "rates.json"))


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        pytest.param(
            {TEST: "import load\n", "load.py": "open(f'tables/rates_{year}.json')\n", "tables/rates_2.json": "1"},
            "tables/rates_2.json",
            id="data by its folder",
        ),
        pytest.param(
            {TEST: "import load\n", "load.py": "open('use.json')\n", "use.json": '"plug"', "plug.py": ""},
            "plug.py",
            id="a module that settings name",
        ),
        pytest.param(
            {TEST: "import a\nrun_module('prog')\n", "prog/__main__.py": "print(2)\n"},
            "prog/__main__.py",
            id="a package that is a program",
        ),
        pytest.param(
            {TEST: "import a\n", "slow/conftest.py": "import plug\n", "plug.py": ""}, "plug.py", id="a fixture's module"
        ),
        pytest.param(
            {TEST: "import load\n", "load.py": "Path('plugins').glob('*.py')\n", "plugins/zz.py": ""},
            "plugins/zz.py",
            id="a folder that is listed",
        ),
        pytest.param(
            {
                "slow/x.test.mjs": "import '#c';\nimport './a';\n",
                "package.json": '{"#c": "./src/zz.mjs"}',
                "src/zz.mjs": "",
            },
            "src/zz.mjs",
            id="a name that a manifest gives",
        ),
        pytest.param(
            {
                "slow/x.test.mjs": "import '@acme/price';\n",
                "packages/price/package.json": '{"main": "lib/zz.mjs"}',
                "packages/price/lib/zz.mjs": "",
                "packages/price/index.mjs": "",
            },
            "packages/price/lib/zz.mjs",
            id="the main file of a package",
        ),
        pytest.param(
            {"slow/x_test.go": 'package slow\n\nimport "m/rate"\n', "rate/calc.go": "package rate\n"},
            "rate/calc.go",
            id="a package of Go",
        ),
        pytest.param(
            {TEST: "import a\n", "a.py": "'page'\n", "routes/+page.server.ts": ""},
            "routes/+page.server.ts",
            id="a name that begins with a sign",
        ),
        pytest.param(
            {TEST: "import a\n", "a.py": "'slug'\n", "routes/[...slug].tsx": ""},
            "routes/[...slug].tsx",
            id="a name in brackets",
        ),
        pytest.param(
            {TEST: "import a\n", "a.py": "'mail.ejs'\n", "mail.ejs": "<% include zz %>", "zz.js": ""},
            "zz.js",
            id="a template that names code",
        ),
    ],
)
async def test_a_file_without_a_name_of_its_own_is_reached(files: dict[str, str], wanted: str) -> None:
    found = await reached_by_first(files)
    assert found is not None
    assert wanted in found
    assert "far.py" not in found


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"e2e/x.spec.ts": "import { test } from 'any';\n"}, id="imports no product"),
        pytest.param({"checks/smoke.py": "import urllib.request\n"}, id="imports no product, and is named otherwise"),
        pytest.param(
            {"e2e/x.spec.ts": "import { P } from './pages/home';\n", "e2e/pages/home.ts": "this.page.goto('/')\n"},
            id="a helper opens a page",
        ),
        pytest.param(
            {"e2e/x.spec.ts": "import { HOME } from '../src/routes';\npage.goto(HOME);\n", "src/routes.ts": ""},
            id="opens a page by a constant of the product",
        ),
        pytest.param(
            {"e2e/x_test.go": 'package e2e\n\nvar r, _ = http.Get("http://localhost:8080/v1")\n'}, id="a Go client"
        ),
        pytest.param({"e2e/x_test.go": "package e2e\n"}, id="a Go test without code beside it"),
        pytest.param(
            {"svc/x_test.go": 'package svc\n\nimport "os/exec"\n', "svc/c.go": "package svc\n"}, id="a Go process"
        ),
        pytest.param(
            {
                "e2e/x_test.go": 'package e2e\n\nimport (\n\t"m/e2e/client"\n\t"m/rate"\n)\n',
                "e2e/client/c.go": "package client\n\nvar r, _ = http.Post(address, body)\n",
                "rate/calc.go": "package rate\n",
            },
            id="a Go client among helpers",
        ),
        pytest.param(
            {TEST: "import load\n", "load.py": "importlib.import_module('pl' + name)\n"}, id="a computed module"
        ),
        pytest.param(
            {"slow/x.test.mjs": "import './load.mjs';\n", "src/load.mjs": "import(`./ca${name}.mjs`)\n"},
            id="a computed script",
        ),
    ],
)
async def test_a_test_from_outside_and_computed_names_reach_any_file(files: dict[str, str]) -> None:
    assert await reached_by_first(files) is None


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    "files",
    [
        pytest.param({TEST: "import a\nurl = 'http://example.com'\n"}, id="an address elsewhere"),
        pytest.param(
            {
                "svc/x_test.go": "package svc\n\nvar r = httptest.NewRecorder()\nvar requests = fetch()\n",
                "svc/c.go": "package svc\n\nvar c = http.Client{}\n",
            },
            id="a Go test beside a client",
        ),
        pytest.param({TEST: "from a import (\n    thing,\n)\n"}, id="a parenthesised import"),
        pytest.param({TEST: "import a\nimportlib.import_module('a')\n"}, id="a module by its literal name"),
        pytest.param({"slow/x.test.js": "const a = require('../src/z');\n", "src/z.js": ""}, id="a plain require"),
    ],
)
async def test_ordinary_tests_do_not_reach_any_file(files: dict[str, str]) -> None:
    found = await reached_by_first(files)
    assert found is not None
    assert "far.py" not in found


PROGRAMS = {
    "shop/__init__.py": "",
    "shop/__main__.py": "from shop.cli import main\n",
    "shop/cli.py": "from shop import cart\n",
    "shop/cart.py": "",
    "shop/far.py": "",
    "tests/test_far.py": "import shop.far\n",
    "pyproject.toml": '[project.scripts]\nbuy = "shop.cli:main"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    "package.json": '{"scripts": {"start": "node server.mjs"}}',
    "server.mjs": "import './routes.mjs';\n",
    "routes.mjs": "",
}


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("command", "leads", "never"),
    [
        ("python -m shop 1 2", "shop/cart.py", "shop/far.py"),
        ("python shop/cli.py", "shop/cart.py", "shop/far.py"),
        ("buy 1 2", "shop/cart.py", "shop/far.py"),
        ("npm start", "routes.mjs", "shop/far.py"),
        ("node server.mjs", "routes.mjs", "shop/cart.py"),
        ("nodejs server.mjs", "routes.mjs", "shop/cart.py"),
        ("tsx server.mjs", "routes.mjs", "shop/cart.py"),
        ("python -m new", "", "shop/cart.py"),
    ],
)
async def test_a_command_line_leads_to_the_files_of_its_program(command: str, leads: str, never: str) -> None:
    async def read(paths: Collection[str]) -> dict[str, str]:
        return {path: PROGRAMS[path] for path in paths}

    found = await files_of_programs(read, PROGRAMS, [command.split()])
    assert found is not None
    assert never not in found
    assert not leads or leads in found
