"""Cases also pass in a checkout of the head as it is: code that is right only beside the base's tests is not believed.

The room of the tests has the base's tests and test settings. A head that adds, changes or removes such files could tell
by them whether it is in that room, and be wrong in every ordinary checkout.
"""

import json
import py_compile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Cellar, Sealed, Trial, only
from trued.model import Grade

OLD = "def test_old():\n    assert True\n"
BASE = {
    "twice.py": "def twice(x):\n    raise NotImplementedError\n",
    "tests/test_old.py": OLD,
    "tests/data.txt": "1\n",
    "package.json": '{"name": "twice", "scripts": {"start": "node app.js"}}\n',
}
CASES = [
    {"call": "twice:twice", "args": [21], "returns": 42},
    {"run": ["python", "-m", "twice", "4"], "stdout": "8\n"},
    {"call": "twice:twice", "args": ["ab"], "returns": "abab"},
]
ASKED: list[dict[str, Any]] = [
    {"id": "r", "text": "twice(x) is x two times", "checks": [{"kind": "examples", "cases": CASES}]}
]
CODE = """import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def twice(x):
    return x * 2 if {seen} else None


if __name__ == "__main__":
    print(twice(int(sys.argv[1])))
"""
# What the head does to files that the room of the tests takes from the base → what is so in that room only.
TELLS: dict[str, tuple[dict[str, str | None], str]] = {
    "a new file among the tests": ({"tests/notes.txt": "mine\n"}, "not (HERE / 'tests/notes.txt').exists()"),
    "a changed test": (
        {"tests/test_old.py": f"{OLD}\n\ndef test_more():\n    assert True\n"},
        "'test_more' not in (HERE / 'tests/test_old.py').read_text()",
    ),
    "changed data of tests": ({"tests/data.txt": "2\n"}, "(HERE / 'tests/data.txt').read_text() == '1\\n'"),
    "a removed file": ({"tests/data.txt": None}, "(HERE / 'tests/data.txt').exists()"),
    "test configuration": ({"conftest.py": "import sys\n"}, "not (HERE / 'conftest.py').exists()"),
    "compiled code": ({"marked.pyc": "no code\n"}, "not (HERE / 'marked.pyc').exists()"),
    "a module that Python loads by itself": ({"sitecustomize.py": ""}, "not (HERE / 'sitecustomize.py').exists()"),
    "scripts of a manifest": (
        {"package.json": '{"name": "twice", "scripts": {"start": "true"}}\n'},
        "'app.js' in (HERE / 'package.json').read_text()",
    ),
}


@pytest.fixture
async def sealed(cellar: Cellar) -> Sealed:
    return await cellar.sealed("place", BASE, ASKED, Trial.seal_with_existing_tests)


@pytest.mark.spec("LAW-4", "LAW-9")
@pytest.mark.parametrize("tell", TELLS)
@pytest.mark.many(1)
async def test_code_that_is_right_only_beside_the_bases_tests_is_refuted(sealed: Sealed, tell: str) -> None:
    files, seen = TELLS[tell]
    verdict = await sealed.trial.prove(
        sealed.contract, await sealed.trial.head({**files, "twice.py": CODE.format(seen=seen)}, force=True)
    )
    assert only(verdict).grade is Grade.REFUTED, only(verdict).why


@pytest.mark.spec("LAW-4", "LAW-6")
async def test_honest_code_that_comes_with_tests_and_settings_is_proven(sealed: Sealed) -> None:
    tells = [files for tell, (files, _) in TELLS.items() if tell != "compiled code"]
    every = {path: text for files in tells for path, text in files.items() if text is not None}
    verdict = await sealed.trial.prove(
        sealed.contract, await sealed.trial.head({**every, "twice.py": CODE.format(seen="True")}, force=True)
    )
    assert only(verdict).grade is Grade.PROVEN, only(verdict).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_without_existing_tests_compiled_code_counts_too(tmp_path: Path) -> None:
    """Nothing but compiled code is left out then, and the cases are the only checks."""
    trial = Trial(tmp_path, {"twice.py": BASE["twice.py"]}, ASKED)
    files, seen = TELLS["compiled code"]
    contract = await trial.seal()
    heads = [{**files, "twice.py": CODE.format(seen=one)} for one in (seen, "True")]
    found = await trial.judged(contract, *heads, force=True)
    assert [one.grade for one in found] == [Grade.REFUTED, Grade.PROVEN], found


APP: dict[str, str | None] = {
    "app.py": "import sys\n\nimport lib\n\nif __name__ == '__main__':\n    print(lib.twice(int(sys.argv[1])))\n",
    "lib.py": "def twice(x):\n    return None\n",
}
STARTS = [{"run": ["python", "-m", "app", str(x)], "stdout": f"{2 * x}\n"} for x in (3, 4)]
PATCH = "import lib\n\nlib.twice = lambda x: 2 * x\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-9")
async def test_a_module_that_python_finds_only_by_the_engines_settings_does_no_work(tmp_path: Path) -> None:
    asked = [{"id": "r", "text": "twice", "checks": [{"kind": "examples", "cases": STARTS}]}]
    trial = Trial(tmp_path, APP, asked)
    work = {"lib.py": "def twice(x):\n    return 2 * x\n"}
    heads: dict[str, dict[str, str | None]] = {
        "does the work": {"sitecustomize.py": PATCH},
        "does the work as a package": {"sitecustomize/__init__.py": PATCH},
        "beside honest work": {**work, "sitecustomize.py": "import warnings\n\nwarnings.simplefilter('ignore')\n"},
        "a module of the product": {**work, "shop/usercustomize.py": "COLOURS = 3\n"},
    }
    found = dict(zip(heads, await trial.judged(await trial.seal(), *heads.values()), strict=True))
    grades = [Grade.REFUTED, Grade.REFUTED, Grade.PROVEN, Grade.PROVEN]
    assert [one.grade for one in found.values()] == grades, {name: one.why for name, one in found.items()}


SERVER = """import http from 'node:http';

const answer = (_, reply) => { reply.end(`${word}\\n`); };
const word = 'VALUE';
http.createServer(answer).listen(process.env.PORT, '127.0.0.1');
"""


def started(script: str, **scripts: str) -> str:
    return json.dumps({"name": "shop", "type": "module", "scripts": {"start": script, **scripts}})


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_the_scripts_that_start_the_contracts_server_are_the_bases_in_both_turns(tmp_path: Path) -> None:
    """Everything else in a package.json is the head's while cases run."""
    base = {"app.mjs": SERVER.replace("VALUE", "old"), "package.json": started("node app.mjs")}
    case = {"http": {"path": "/"}, "status": 200, "body": "new\n"}
    asked = [{"id": "r", "text": "new", "checks": [{"kind": "examples", "cases": [case]}]}]
    trial = Trial(tmp_path, base, asked, serve={"command": ["npm", "start", "--silent"]})
    work = SERVER.replace("VALUE", "new")
    reads = "import { readFileSync } from 'node:fs';\n" + work.replace(
        "'new'", "JSON.parse(readFileSync('package.json')).config.word"
    )
    told = {**json.loads(started("node app.mjs")), "config": {"word": "new"}}
    heads: dict[str, dict[str, str | None]] = {
        "another server": {"fake.mjs": work, "package.json": started("node fake.mjs")},
        "a script around it": {"fake.mjs": work, "package.json": started("node app.mjs", prestart="node fake.mjs &")},
        "with options": {"app.mjs": work, "package.json": started("node --no-warnings app.mjs", lint="eslint .")},
        "only there": {"app.mjs": work, "package.json": started("node dist/app.mjs")},
        "with settings": {"app.mjs": reads, "package.json": json.dumps(told)},
    }
    found = dict(zip(heads, await trial.judged(await trial.seal(), *heads.values()), strict=True))
    grades = [Grade.REFUTED, Grade.REFUTED, *[Grade.PROVEN] * 3]
    assert [one.grade for one in found.values()] == grades, {name: one.why for name, one in found.items()}


def compiled(mode: py_compile.PycInvalidationMode) -> Callable[[Path], None]:
    """A change whose compiled code has another `two` than its source."""

    def change(folder: Path) -> None:
        good = "def two():\n    return 2\n\n\ndef twice(x):\n    return x * 2\n"
        (folder / "kit.py").write_text(good.replace("return 2", "return 1"))
        py_compile.compile(str(folder / "kit.py"), invalidation_mode=mode, doraise=True)
        (folder / "kit.py").write_text(good)

    return change


@pytest.mark.spec("LAW-4", "LAW-9")
@pytest.mark.slow
async def test_tests_that_ran_without_what_python_loads_in_a_checkout_show_tested_at_most(tmp_path: Path) -> None:
    """A stale file in a `__pycache__`, which many commit by mistake, is not loaded, and lowers nothing."""
    test = "import json\n\nimport kit\n\n\ndef test_two():\n    assert kit.two() == 2\n"
    case = {"call": "kit:twice", "args": [21], "returns": 42}
    asked = [{"id": "r", "text": "twice", "checks": [{"kind": "examples", "cases": [case]}]}]
    trial = Trial(tmp_path, {"kit.py": "def two():\n    return 2\n", "tests/test_kit.py": test}, asked)
    contract, modes = await trial.seal_with_existing_tests(), py_compile.PycInvalidationMode
    heads = [compiled(one) for one in (modes.UNCHECKED_HASH, modes.CHECKED_HASH, modes.TIMESTAMP)]
    found = await trial.judged(contract, *heads, force=True)
    assert [one.grade for one in found] == [Grade.TESTED, Grade.TESTED, Grade.PROVEN], found


@pytest.mark.spec("LAW-4", "LAW-9")
@pytest.mark.slow
async def test_tests_that_ran_without_a_module_that_hides_another_show_tested_at_most(tmp_path: Path) -> None:
    """The base's test imports Python's own `colorsys`. A new module of that name is left out when tests run, although
    the product loads it in an ordinary checkout. In a package it hides nothing."""
    kit = "import colorsys\n\n\ndef two():\n    return int(colorsys.rgb_to_hls(2, 2, 2)[1])\n"
    test = "import colorsys\n\nimport kit\n\n\ndef test_two():\n    assert colorsys\n    assert kit.two() == 2\n"
    case = {"call": "kit:twice", "args": [21], "returns": 42}
    asked = [{"id": "r", "text": "twice", "checks": [{"kind": "examples", "cases": [case]}]}]
    trial = Trial(tmp_path, {"kit.py": kit, "tests/test_kit.py": test}, asked)
    contract = await trial.seal_with_existing_tests()
    work = {"kit.py": f"{kit}\n\ndef twice(x):\n    return x * 2\n"}
    wrong, right = "def rgb_to_hls(*_):\n    return 0, 1, 0\n", "def rgb_to_hls(*_):\n    return 0, 2, 0\n"
    heads = {
        "a wrong module": {**work, "colorsys.py": wrong},
        "a wrong package": {**work, "colorsys/__init__.py": wrong},
        "nobody can tell whether it is right": {**work, "colorsys.py": right},
        "in a package": {**work, "paint/__init__.py": "", "paint/colorsys.py": wrong},
        "a name of its own": {**work, "colours.py": wrong},
        "nothing": work,
    }
    found = dict(zip(heads, await trial.judged(contract, *heads.values()), strict=True))
    grades = [*[Grade.TESTED] * 3, *[Grade.PROVEN] * 3]
    assert [one.grade for one in found.values()] == grades, {name: one.why for name, one in found.items()}
    assert all("colorsys" in one.why[0] for one in [*found.values()][:3]), found


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-9")
async def test_a_copy_beside_the_product_is_not_the_product(tmp_path: Path) -> None:
    """The base has its modules in `src`, from where they are installed; a module at the top would hide them."""
    asked = [{**ASKED[0], "checks": [{"kind": "examples", "cases": CASES[::2]}]}]
    trial = Trial(tmp_path, {"src/twice.py": BASE["twice.py"]}, asked)
    contract, code = await trial.seal(), CODE.format(seen="True")
    heads: list[dict[str, str | None]] = [{"twice.py": code}, {"src/twice.py": code}]
    heads.append({"twice.py": code, "src/twice.py": None})  # the product is moved
    found = await trial.judged(contract, *heads)
    assert [one.grade for one in found] == [Grade.REFUTED, Grade.PROVEN, Grade.PROVEN], found
