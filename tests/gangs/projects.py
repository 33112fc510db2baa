"""Small projects for gangs to work in, and what their users ask of them."""

import json
from typing import Any

from tests.gangs.modes import ONE, SERVE, service

TINY = {
    "tiny.py": "def one():\n    return 1\n",
    "tests/test_tiny.py": "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n",
}
BARE = {"tiny.py": "def one():\n    return 1\n"}
# With a test that fails until something was done that the user's words do not ask for.
WITH_EASY_TEST = {**TINY, "tests/test_easy.py": "from tiny import easy\n\n\ndef test_easy():\n    assert easy() == 1\n"}
LINTED = {
    **TINY,
    "Makefile": "include tools/rules.mk\n\nlint:\n\t@$(PYTHON) tools/lint.py\n\n"
    "check: lint\n\t@$(PYTHON) -m compileall -q tiny.py\n",
    "tools/rules.mk": "PYTHON = python3\n",
    "tools/rules.py": "def broken(text, words):\n    return [word for word in words if word in text]\n",
    "tools/lint.py": "import configparser\nimport pathlib\nimport sys\n\nimport rules\n\n"
    "settings = configparser.ConfigParser()\nsettings.read('lint.cfg')\n"
    "words = settings['lint']['forbid'].split()\n"
    "found = [path for path in pathlib.Path().glob('*.py') if rules.broken(path.read_text(), words)]\n"
    "print(*found)\nsys.exit(bool(found))\n",
    "lint.cfg": "[lint]\nforbid = eval(\n",
}
# With a command of the user's own that fails until the work is done.
JUDGED = {
    **TINY,
    "Makefile": "double:\n\t@PYTHONPATH=. python3 tools/double.py\n",
    "tools/double.py": "import sys\n\nimport tiny\n\nsys.exit(tiny.double(4) != 8)\n",
}
NODE = {
    "package.json": json.dumps({"scripts": {"test": "node --test", "lint": "node scripts/lint.js"}}),
    "tiny.js": "exports.one = () => 1;\n",
    "test/tiny.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "test('one', () => { assert.strictEqual(require('../tiny.js').one(), 1); });\n",
    "scripts/words.js": "exports.forbidden = ['eval('];\n",
    "scripts/lint.js": "const fs = require('fs');\nconst { forbidden } = require('./words.js');\n"
    "const text = fs.readFileSync('tiny.js', 'utf8');\n"
    "process.exit(forbidden.some((word) => text.includes(word)) ? 1 : 0);\n",
}
# With a test runner that the engine does not know: its tests cannot be counted, so they give `tested` at most.
UNKNOWN_RUNNER = {
    "package.json": json.dumps({"scripts": {"test": "node run-checks.js"}}),
    "tiny.js": "exports.one = () => 1;\n",
    "run-checks.js": "process.exit(require('./tiny.js').one() === 1 ? 0 : 1);\n",
}
# With a script that Node loads before the tests.
HOOKED = {
    "package.json": json.dumps({"type": "module", "scripts": {"test": "node --import ./hooks.mjs --test"}}),
    "hooks.mjs": "globalThis.ready = true;\n",
    "tiny.mjs": "export const one = () => 1;\n",
    "test/tiny.test.mjs": "import test from 'node:test';\nimport assert from 'node:assert';\n"
    "import { one } from '../tiny.mjs';\ntest('one', () => { assert.strictEqual(one(), 1); });\n",
}
VITEST = {
    "tiny.mjs": "export const one = () => 1;\n",
    "test/tiny.test.mjs": "import { expect, test } from 'vitest';\nimport { one } from '../tiny.mjs';\n"
    "test('one', () => { expect(one()).toBe(1); });\n",
}
UNITTEST = {
    "tiny.py": "def one():\n    return 1\n",
    "checks/test_numbers.py": "import unittest\n\nimport tiny\n\n\nclass Numbers(unittest.TestCase):\n"
    "    def test_one(self):\n        self.assertEqual(tiny.one(), 1)\n",
}
SERVICE = {"app.py": service("")}
PREVIEWED = {**TINY, "app.py": service("")}

TEST_ONE = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"
# Projects with tests under names of their own, with tests that cannot be imported, and with tests that lack a service.
NAMED_OTHERWISE = {
    "tiny.py": TINY["tiny.py"],
    "setup.cfg": "[tool:pytest]\npython_files = checks/*.py\n",
    "checks/tiny_it.py": TEST_ONE,
}
TESTS_PY = {"tiny.py": TINY["tiny.py"], "tests.py": TEST_ONE}
NOT_IMPORTED = {"app/tiny.py": TINY["tiny.py"], "app/tests/test_tiny.py": TEST_ONE}
LACKING = {**TINY, "tests/test_tiny.py": TEST_ONE.replace("    assert", "    open('/nowhere/database')\n    assert")}
TEST_FIRST = {"tiny.py": "def one():\n    raise NotImplementedError\n", "tests/test_tiny.py": TEST_ONE}
WITH_MAKE = {**TINY, "Makefile": "check:\n\tpython -m pip install -e .\n", "tools/types.py": "import ast\n"}

# Projects with tests of other names, and with tests that cannot be counted or that nobody runs here.
FUNCTIONS = {
    "tiny.py": TINY["tiny.py"],
    "pytest.ini": "[pytest]\npython_functions = check_*\n",
    "tests/test_tiny.py": TEST_ONE.replace("test_one", "check_one"),
}
BY_MAKE = {
    "tiny.py": TINY["tiny.py"],
    "Makefile": "test:\n\t@python3 checks.py\n",
    "checks.py": "import tiny\n\nassert tiny.one() == 1\n",
}
BY_SHELL = {"tiny.py": TINY["tiny.py"], "tests/run.sh": "python3 -c 'import tiny; assert tiny.one() == 1'\n"}
GO_MODULE = {
    **TINY,
    "svc/go.mod": "module example.com/svc\n\ngo 1.21\n",
    "svc/one.go": "package svc\n\nfunc One() int { return 1 }\n",
    "svc/one_test.go": 'package svc\n\nimport "testing"\n\nfunc TestOne(t *testing.T) {\n'
    "\tif One() != 1 {\n\t\tt.Fatal()\n\t}\n}\n",
}
IN_SRC = {"src/tiny.py": TINY["tiny.py"], "tests/test_tiny.py": TINY["tests/test_tiny.py"]}

# Projects in which files outside the folder of tests judge: expected results, and a helper's helper.
GOLDEN = {
    "tiny.py": TINY["tiny.py"],
    "golden/one.txt": "1\n",
    "tests/test_tiny.py": "import pathlib\n\nimport tiny\n\n\ndef test_one():\n"
    "    for path in pathlib.Path('golden').glob('*.txt'):\n        assert tiny.one() == int(path.read_text())\n",
}
HELPED = {
    "tiny.py": TINY["tiny.py"],
    "kit/__init__.py": "",
    "kit/check.py": "from kit.equal import equal\n\n\ndef check(a, b):\n    assert equal(a, b)\n",
    "kit/equal.py": "def equal(a, b):\n    return a == b\n",
    "tests/test_tiny.py": "import tiny\nfrom kit.check import check\n\n\ndef test_one():\n    check(tiny.one(), 1)\n",
}
PAGED = {**TINY, "index.html": "<h1>Numbers</h1>\n"}

NO_DEPENDENCIES = "No new dependencies."
TESTS_STAY = "All existing tests pass."
LINT_STAYS = "The linter stays clean."
CHECK_STAYS = "`make check` passes."
RENAMED = "`one` is called `first` now."
DOCUMENTED = "README.md says what `double` does."
STRINGS = "`double(x)` raises a TypeError when x is a list."
ROUTE = "`GET /double?x=3` answers with the double of x as JSON."


def asked(
    *checks: dict[str, Any], text: str = ONE, covers: tuple[str, ...] = ("goal",), **more: Any
) -> list[dict[str, Any]]:
    """The user's only requirement, which covers the whole goal."""
    return [{"id": "mine", "text": text, "covers": list(covers), "checks": list(checks), **more}]


def examples(*cases: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return asked({"kind": "examples", "cases": list(cases)}, **more)


def call(given: object, result: object, function: str = "tiny:double") -> dict[str, Any]:
    return {"call": function, "args": [given], "returns": result}


HELD_OUT = (call(21, 42), call(5, 10), call("ab", "abab"))
NODE_HELD_OUT = (call(21, 42, "tiny.js:double"), call(5, 10, "tiny.js:double"))
HOOKED_HELD_OUT = (call(21, 42, "tiny.mjs:double"), call(5, 10, "tiny.mjs:double"))
EXCHANGES = [
    {"http": {"path": f"/double?x={given}"}, "status": 200, "json": {"double": 2 * given}} for given in (3, 50)
]
SERVED = {"serve": SERVE}
HIDDEN = {
    "hidden/tests/test_hidden.py": "from tiny import double\n\n\ndef test_hidden():\n"
    "    assert double(17) == 34\n    assert double(23) == 46\n",
}
# Held-out tests, and cases with the same values: whoever can read the tests knows all answers.
LEAKABLE = asked(
    {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_hidden.py"], "from": "hidden/"},
    {"kind": "examples", "cases": [call(17, 34), call(23, 46)]},
)
NAMED = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_tiny.py"]}
HOLDS = {"kind": "examples", "cases": [{"call": "tiny:one", "args": [], "returns": 1}]}
