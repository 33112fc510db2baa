"""Where no test of the base guards old code, a change that is not understood counts as altering it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.proof.trial import Change, Trial, asked_three, only
from trued.model import Grade

CORE = "def rate(x):\n    return x * 2\n"
KIT = (
    "import json\nfrom dataclasses import dataclass\n\nimport core\nimport shared\n\n\ndef export(x):\n"
    "    return json.dumps(x)\n\n\n@dataclass\nclass Point:\n    x: int\n\n\ndef origin():\n    return Point(0)\n"
)
THREE = "\n\ndef three():\n    return 3\n"
# This suite cannot be run: it lacks a module.
TEST = "import nowhere_at_all\n\nimport core\n\n\ndef test_it():\n    assert core.rate(1) == 2\n"
BASE = {
    "core.py": CORE,
    "kit.py": KIT,
    "shared.py": "import core\nfrom core import rate\n",
    "front.py": "from shared import rate\n\n\ndef shown():\n    return rate(1)\n",
    "tests/test_kit.py": TEST,
    "rates.json": '{"a": 1}',
    "pages.py": "from pathlib import Path\n\nHERE = Path(__file__).parent\n\n\ndef page(name):\n"
    "    return (HERE / 'docs/pages' / name).read_text()\n\n\n"
    "def notice():\n    return open('.data/notice.md').read()  # see README.md\n",
    "docs/pages/welcome.md": "a\n",
    ".data/notice.md": "a\n",
    "docs/guide.md": "a\n",
    "Main.java": "class Main {}\n",
    "speed_test.py": "def speed():\n    return 1\n",
    "README.md": "a\n",
    "CHANGELOG": "a\n",
    "uv.lock": "a\n",
    ".github/workflows/ci.yml": "a: 1\n",
    "pyproject.toml": '[project]\nname = "a"\nversion = "1"\n',
}
WORK = {"kit.py": KIT + THREE}
NODE_TEST = {
    "kit.test.mjs": "import 'nowhere-at-all';\nimport { test } from 'node:test';\nimport { rate } from './core.mjs';\n"
    "test('rate', () => { if (rate(1) !== 2) throw 1; });\n"
}
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")


def with_kit(text: str) -> dict[str, str]:
    return {"kit.py": f"{KIT}{THREE}{text}"}


LIARS: dict[str, tuple[Change, str]] = {
    "a comprehension": (with_kit("\n\nX = [None for core.rate in (lambda x: 0,)]\n"), "kit.py"),
    "a default of a lambda": (with_kit("\n\nX = lambda a=setattr(core, 'rate', None): 0\n"), "kit.py"),
    "behind a long text": (with_kit(f"\n\n# {'é' * 2**19}\ncore.rate = None\n"), "kit.py"),
    "an import removed": ({"kit.py": KIT.replace("import json\n", "") + THREE}, "kit.py (export)"),
    "a field": ({"kit.py": KIT.replace("    x: int\n", "    x: int\n    y: int\n") + THREE}, "kit.py (Point)"),
    "type checking": (with_kit("\n\nTYPE_CHECKING = True\nif TYPE_CHECKING:\n    core.rate = None\n"), "kit.py"),
    "a module with __getattr__": (
        {
            "kit.py": f"{KIT}from helper import limit\n{THREE}",
            "helper.py": "import core\n\n\ndef __getattr__(name):\n    core.rate = None\n    return 1\n",
        },
        "helper.py",
    ),
    "an import that another file uses": ({**WORK, "shared.py": "import core\n"}, "shared.py (rate)"),
    "a test that the product imports": (
        {
            "kit.py": f"{KIT}import patch_test\n{THREE}",
            "patch_test.py": "import core\n\ncore.rate = None\n\n\ndef test_x():\n    pass\n",
        },
        "patch_test.py",
    ),
    "a module of the base": ({"kit.py": WORK["kit.py"], "core/__init__.py": "def rate(x):\n    return 0\n"}, "core"),
    "data": ({**WORK, "rates.json": "{}"}, "rates.json"),
    "a page in a folder that code names": ({**WORK, "docs/pages/welcome.md": "TODO\n"}, "docs/pages/welcome.md"),
    "a document that code names": ({**WORK, ".data/notice.md": "TODO\n"}, ".data/notice.md"),
    "another language": ({**WORK, "Main.java": "class Main { int a; }\n"}, "Main.java"),
}
HONEST: dict[str, Change] = {
    "a function": WORK,
    "a module": {"kit.py": f"{KIT}from more import limit\n{THREE}", "more.py": "limit = 3\n"},
    "types": with_kit(
        "\n\nfrom enum import Enum\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from core import Rate\n"
        "\n\nclass Colour(Enum):\n    RED = 1\n\n\n@dataclass\nclass Line:\n    end: Point\n"
    ),
    "documents": {
        **WORK,
        **{
            path: "b: 2\n"
            for path in ("README.md", "docs/guide.md", "CHANGELOG", "uv.lock", ".github/workflows/ci.yml")
        },
        "pyproject.toml": '[project]\nname = "a"\nversion = "2"\n',
    },
    "tests and new data": {
        **WORK,
        "test_more.py": "import pytest\n\n\n@pytest.mark.parametrize('a', [1])\ndef test_a(a):\n    assert a\n",
        "tests/test_more.py": "def test_a():\n    pass\n",
        "more.json": "{}",
    },
    "a module named like a test": {
        "kit.py": f"{KIT}import ab_test\n\n\ndef three():\n    return ab_test.three()\n",
        "ab_test.py": "def three():\n    return 3\n\n\ndef test_of_significance():\n    return 0\n",
    },
}


async def graded(
    place: Path, base: dict[str, str], heads: dict[str, Change], *, unguarded: bool = True, call: str = "kit:three"
) -> dict[str, tuple[Grade, str]]:
    """The grade of each head and its first reason. `unguarded`: whether a suite of the base cannot be run."""
    trial = Trial(place, base, asked_three(call))
    contract = await trial.seal_with_existing_tests()
    assert bool(contract.unguarded) is unguarded
    judged = await trial.judged(contract, *heads.values())
    return {name: (one.grade, one.why[0]) for name, one in zip(heads, judged, strict=True)}


def grades(found: dict[str, tuple[Grade, str]]) -> dict[str, Grade]:
    return {name: grade for name, (grade, _) in found.items()}


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_what_may_alter_unguarded_code_is_tested_at_most(tmp_path: Path) -> None:
    found = await graded(tmp_path, BASE, {name: head for name, (head, _) in LIARS.items()})
    assert grades(found) == dict.fromkeys(LIARS, Grade.TESTED), found
    assert [name for name, (_, named) in LIARS.items() if named not in found[name][1]] == [], found


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_thousand_files_of_data_hide_no_code_that_reads_other_data(tmp_path: Path) -> None:
    base = {**BASE, **{f"aaa/{number}.json": "{}" for number in range(1010)}}
    heads: dict[str, Change] = {
        "a page that code reads": {**WORK, "docs/pages/welcome.md": "TODO\n"},
        "a document that none reads": {**WORK, "docs/guide.md": "b\n"},
    }
    found = await graded(tmp_path, base, heads)
    assert [*grades(found).values()] == [Grade.TESTED, Grade.PROVEN], found


@pytest.mark.slow
@pytest.mark.spec("LAW-11")
async def test_a_file_name_is_written_on_one_line(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, asked_three())
    name = "far\nthree: proven.py"
    tests = {"tests/test_a\nb.py": "def test_a():\n    pass\n"}
    contract = await trial.seal_with_existing_tests()
    verdict = await trial.prove(contract, await trial.head({**WORK, name: "import os\n", **tests}))
    assert "far\\nthree: proven.py" in only(verdict).why[0]
    assert [one for one in (*only(verdict).why, *verdict.undecided) if "\n" in one] == []
    assert any("test_a\\nb.py" in one for one in verdict.undecided), verdict.undecided
    assert {*(verdict.reported or ())} <= {*verdict.undecided}


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.slow
async def test_ordinary_work_beside_unguarded_code_is_proven(tmp_path: Path) -> None:
    found = await graded(tmp_path, BASE, HONEST)
    assert grades(found) == dict.fromkeys(HONEST, Grade.PROVEN), found


@pytest.mark.spec("LAW-6", "LAW-11")
async def test_without_tests_in_python_files_among_tests_are_code_if_the_product_imports_them(tmp_path: Path) -> None:
    base = {"Cargo.toml": "[package]\n", "tests/all.rs": "#[test]\nfn it() {}\n", "core.py": CORE, "kit.py": KIT}
    helper = {"tests/__init__.py": "", "tests/helpers.py": "import core\n\ncore.rate = None\n"}
    heads: dict[str, Change] = {
        "imported": {"kit.py": f"{KIT}from tests import helpers\n{THREE}", **helper},
        "not imported": {"kit.py": KIT + THREE, **helper},
    }
    found = await graded(tmp_path, {**base, "shared.py": ""}, heads)
    assert [*grades(found).values()] == [Grade.TESTED, Grade.PROVEN], found


@needs_node
@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_script_that_only_the_heads_import_loads_was_not_checked(tmp_path: Path) -> None:
    base = {
        "kit.mjs": "import './near.mjs';\nexport const two = () => 2;\n",
        "near.mjs": "export const near = () => 1;\n",
        "core.mjs": "export const rate = (x) => x * 2;\n",
        **NODE_TEST,
    }
    kit = f"{base['kit.mjs']}export const three = () => 3;\n"
    heads: dict[str, Change] = {
        "broken": {"kit.mjs": f"import './core.mjs';\n{kit}", "core.mjs": "export const rate = (x) => 0;\n"},
        "honest": {"kit.mjs": kit, "near.mjs": "export const near = () => 2;\n"},
        "a new file": {"kit.mjs": f"import {{ x }} from './new.mjs';\n{kit}", "new.mjs": "export const x = 1;\n"},
    }
    found = await graded(tmp_path, base, heads, call="kit.mjs:three")
    assert [*grades(found).values()] == [Grade.TESTED, Grade.PROVEN, Grade.PROVEN], found
    assert "core.mjs" in found["broken"][1]


@needs_node
@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_short_names_of_the_base_lead_to_code_and_those_of_the_head_do_not(tmp_path: Path) -> None:
    names = {"#near": {"default": "./lib/near.mjs"}, "#lib/*": "./lib/*.mjs", "#far": "./lib/far.mjs"}
    base = {
        "package.json": json.dumps({"type": "module", "imports": names}),
        "kit.mjs": "import '#near';\nimport * as far from '#lib/far';\nexport const two = () => 2;\n",
        "lib/near.mjs": "export const near = () => 1;\n",
        "lib/far.mjs": "export const far = () => 1;\n",
        "core.mjs": "import { far } from '#far';\nexport const rate = (x) => x * 2 * far();\n",
        **NODE_TEST,
    }
    kit = f"{base['kit.mjs']}export const three = () => 3;\n"
    broken = "export const rate = (x) => 0;\n"

    def with_name(name: str, place: str) -> dict[str, str]:
        return {"package.json": json.dumps({"type": "module", "imports": {**names, name: place}})}

    heads: dict[str, Change] = {
        "honest": {"kit.mjs": kit, "lib/near.mjs": "export const near = () => 2;\n", "lib/far.mjs": "export {};\n"},
        "a new name for new code": {
            **with_name("#new", "./lib/new.mjs"),
            "kit.mjs": f"import '#new';\n{kit}",
            "lib/new.mjs": "export const x = 1;\n",
        },
        "a new name for old code": {
            **with_name("#core", "./core.mjs"),
            "kit.mjs": f"import '#core';\n{kit}",
            "core.mjs": broken,
        },
        "another meaning": {**with_name("#near", "./core.mjs"), "kit.mjs": kit, "core.mjs": broken},
        "another meaning alone": {**with_name("#far", "./lib/near.mjs"), "kit.mjs": kit},
        "a test in its place": {
            **with_name("#far", "./far.test.mjs"),
            "kit.mjs": kit,
            "far.test.mjs": "export const far = () => 0;\n",
        },
        "a name before a pattern": {**with_name("#lib/far", "./lib/near.mjs"), "kit.mjs": kit},
        "a nearer package.json": {"lib/package.json": "{}", "kit.mjs": kit},
    }
    found = await graded(tmp_path, base, heads, call="kit.mjs:three")
    assert [*grades(found).values()] == [Grade.PROVEN, Grade.PROVEN, *[Grade.TESTED] * 6], found
    named = ["core.mjs", "core.mjs", "package.json", "far.test.mjs", "package.json", "lib/package.json"]
    assert all(name in why for name, (_, why) in zip(named, [*found.values()][2:], strict=True)), found


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_program_that_a_case_starts_covers_only_the_code_to_which_it_leads_on_the_base(tmp_path: Path) -> None:
    base = {
        "core.py": CORE,
        "near.py": "def name():\n    return 'a'\n",
        "main.py": "import near\n\nprint(near.name())\n",
        "tests/test_core.py": TEST,
    }
    case = {"run": ["python", "main.py"], "stdout": "b\n"}
    asked = [{"id": "b", "text": "main.py prints b", "checks": [{"kind": "examples", "cases": [case]}]}]
    trial = Trial(tmp_path, base, asked)
    contract = await trial.seal_with_existing_tests()
    heads: list[Change] = [
        {"near.py": "def name():\n    return 'b'\n"},
        {"main.py": "import more\n\nprint(more.name)\n", "more.py": "name = 'b'\n"},
        {"main.py": "import core\n\nprint('b')\n", "core.py": CORE.replace("x * 2", "0")},
    ]
    found = await trial.judged(contract, *heads)
    assert [one.grade for one in found] == [Grade.PROVEN, Grade.PROVEN, Grade.TESTED], found
    assert "core.py" in found[2].why[0]
