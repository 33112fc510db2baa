"""A file that the product uses is the product's, whatever its folder or name.

When tests run, files among tests, settings of test runners and scripts of a package.json are the base's. Cases run with
the head's version of all of them. If the product uses such a file, or a test of the base tries it, the existing tests
must also pass with the head's version.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial
from trued.model import Grade, Judged

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")
needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")

SHOUT_PY = "def shout(text):\n    return text.upper() + '!'\n"
SHOUT_JS = "export function shout(text) { return text.toUpperCase() + '!'; }\n"
NODE_TEST = "import test from 'node:test';\nimport assert from 'node:assert';\n"


def asked_to_shout(call: str) -> list[dict[str, Any]]:
    cases = [{"call": call, "args": [one], "returns": f"{one.upper()}!"} for one in ("hello", "a b")]
    return [{"id": "shout", "text": "shout(text)", "checks": [{"kind": "examples", "cases": cases}]}]


async def judged(place: Path, base: dict[str, str], heads: dict[str, Change], call: str) -> dict[str, Judged]:
    trial = Trial(place, base, asked_to_shout(call))
    contract = await trial.seal_with_existing_tests()
    return dict(zip(heads, await trial.judged(contract, *heads.values()), strict=True))


def grades(found: dict[str, Judged]) -> dict[str, Grade]:
    return {name: one.grade for name, one in found.items()}


def package(**more: Any) -> str:
    return json.dumps({"name": "greet", "version": "1.0.0", "type": "module", **more})


# Laboratory tests: a product whose modules are in a folder `tests`.
PANEL = "def mean(values):\n    return sum(values) / len(values)\n"
LAB = {
    "lab/__init__.py": "",
    "lab/__main__.py": "import sys\n\nfrom lab.tests.panel import mean\n\nprint(mean([*map(float, sys.argv[1:])]))\n",
    "lab/tests/__init__.py": "",
    "lab/tests/panel.py": PANEL,
    "tests/test_panel.py": "from lab.tests.panel import mean\n\n\ndef test_mean():\n    assert mean([1, 2, 6]) == 3\n",
}


@pytest.mark.spec("LAW-4", "LAW-6")
async def test_product_among_tests_is_the_heads_for_cases(tmp_path: Path) -> None:
    found = await judged(
        tmp_path,
        LAB,
        {
            "a new module": {"lab/tests/shout.py": SHOUT_PY, "lab/shout.py": "from lab.tests.shout import shout\n"},
            "a changed module": {
                "lab/tests/panel.py": f"{PANEL}\n\n{SHOUT_PY}",
                "lab/shout.py": "from lab.tests.panel import shout\n",
            },
            "new data": {
                "lab/tests/mark.txt": "!",
                "lab/shout.py": "from pathlib import Path\n\nMARK = Path(__file__).parent / 'tests' / 'mark.txt'\n\n\n"
                "def shout(text):\n    return text.upper() + MARK.read_text()\n",
            },
        },
        "lab.shout:shout",
    )
    assert {*grades(found).values()} == {Grade.PROVEN}, found


NET = {
    "package.json": package(scripts={"test": "node --test test/"}),
    "src/one.mjs": "export const one = () => 1;\n",
    "test/one.test.mjs": f"{NODE_TEST}import {{ one }} from '../src/one.mjs';\n"
    "test('one', () => { assert.equal(one(), 1); });\n",
}


@needs_node
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_a_product_module_named_like_a_test_is_the_heads_for_cases(tmp_path: Path) -> None:
    speed = f"{SHOUT_JS}export const isEmpty = (text) => /^$/.test(text);\n"
    head = {"src/speed-test.mjs": speed, "src/shout.mjs": "export { shout } from './speed-test.mjs';\n"}
    found = await judged(tmp_path, NET, {"honest": head}, "src/shout.mjs:shout")
    assert grades(found) == {"honest": Grade.PROVEN}, found
