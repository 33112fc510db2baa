"""Kept work is shown by tests alone: code that could deceive them lowers it, and nothing honest does."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.proof.deceit import deceit
from trued.types import Grade

HONEST = """\
import functools
import os


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return isinstance(other, Point) and self.x == other.x

    def __ne__(self, other):
        return not self == other

    def __lt__(self, other):
        return NotImplemented


def main(argv):
    return 1 if argv[0] == "test" else 0
"""


def lines(text: str) -> list[tuple[int, str]]:
    return list(enumerate(text.splitlines(), 1))


@pytest.mark.spec("LAW-11")
def test_honest_code_deceives_nobody() -> None:
    assert deceit({"a.py": lines(HONEST)}, {"a.py": HONEST}) == []


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("class A(str):\n    def __eq__(self, other):\n        return True\n", "a.py:3 __eq__ answers without looking"),
        ("import _pytest.python\n", "a.py:1 imports _pytest.python"),
        ("from unittest import case\n", "a.py:1 imports unittest"),
        ("import sys\nx = sys._getframe(1)\n", "a.py:2 uses sys._getframe"),
        ("import os\nos._exit(0)\n", "a.py:2 uses os._exit"),
        ("from sys import _getframe\n", "a.py:1 uses sys._getframe"),
        ("import sys\nx = 'pytest' in sys.modules\n", "a.py:2 asks whether it is tested"),
        ("import os\nx = os.environ.get('PYTEST_CURRENT_TEST')\n", "a.py:2 asks whether it is tested"),
        ("class A(str):\n    __eq__ = lambda self, other: True\n", "a.py:2 __eq__ answers without looking"),
        (
            "class A(str):\n    def __eq__(self, other):\n        return not 0\n",
            "a.py:3 __eq__ answers without looking",
        ),
        ("exec('import py' + 'test')\n", "a.py:1 calls exec"),
        ("import sys\nx = 'unittest' in sys.argv[0]\n", "a.py:2 asks whether it is tested"),
        ("A = type('int', (int,), {'__eq__': lambda a, b: b or a})\n", "a.py:1 makes __eq__ of a value"),
        (
            "class A(int):\n    def __eq__(self, other):\n        return other or True\n",
            "a.py:3 __eq__ answers without looking",
        ),
        ("import runpy\nrunpy.run_path('a.txt')\n", "a.py:2 uses runpy.run_path"),
        ("x = 1\n" * 2**18, "a.py is too long to be looked through"),
    ],
)
def test_what_fights_a_runner_is_named_with_its_line(text: str, what: str) -> None:
    assert deceit({"a.py": lines(text)}, {"a.py": text}) == [what]
    assert deceit({}, {"a.py": text}) == ([] if ":" in what else [what])  # it was there before
    assert deceit({"tests/test_a.py": lines(text)}, {"tests/test_a.py": text}) == []


@pytest.mark.spec("LAW-11")
def test_a_file_that_is_only_called_like_a_test_is_looked_at_when_the_product_imports_it() -> None:
    texts = {"a.py": "from test_tools import x\n", "test_tools.py": "import _pytest.runner\nx = 1\n"}
    added = {path: lines(text) for path, text in texts.items()}
    assert deceit(added, texts) == ["test_tools.py:1 imports _pytest.runner"]
    assert deceit({"test_tools.py": added["test_tools.py"]}, texts) == []


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("if (process.env.NODE_TEST_CONTEXT) {", "asks whether it is tested"),
        ("import { test } from 'node:test';", "loads a test runner"),
        ("assert.strictEqual = () => {};", "changes assertions"),
        ("const real = process.argv[1].endsWith('a.test.js');", "asks who runs it"),
        ("Error.prepareStackTrace = (_, calls) => calls;", "looks at its callers"),
    ],
)
def test_what_fights_a_runner_of_scripts_is_named_too(line: str, what: str) -> None:
    assert deceit({"src/a.js": [(3, line)]}, {"src/a.js": line}) == [f"src/a.js:3 {what}"]
    honest = ["assert.strictEqual(a, b);", "if (process.argv[1] === fileURLToPath(import.meta.url)) main();"]
    assert deceit({"src/a.js": list(enumerate(honest))}, {"src/a.js": line}) == []


SUITE = {
    "a.py": "def one():\n    return str(1)\n",
    "tests/test_a.py": "import a\n\n\ndef test_one():\n    assert a.one() == '1'\n",
}
KEPT = {"id": "r", "text": "cleaner", "keep": True, "checks": [{"kind": "tests", "command": "python -m pytest -q"}]}


@pytest.mark.spec("LAW-5", "LAW-11")
async def test_kept_work_that_can_deceive_its_guards_is_no_more_than_tested(tmp_path: Path) -> None:
    trial = Trial(tmp_path, SUITE, [KEPT])
    sealed = await trial.seal()
    clean = await trial.prove(sealed, await trial.head({"a.py": "def one():\n    return '1'\n"}))
    assert clean.grade is Grade.PROVEN, clean.requirements[0].why
    equal = "class Any(str):\n    def __eq__(self, other):\n        return True\n\n\ndef one():\n    return Any('2')\n"
    sly = await trial.prove(sealed, await trial.head({"a.py": equal}))
    assert (sly.grade, sly.requirements[0].lacks) == (Grade.TESTED, "attest")
