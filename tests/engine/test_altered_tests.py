"""Existing tests that a change removes or alters are named; what it only adds is not."""

import pytest

from trued.engine.altered_tests import ALTERED, REMOVED, altered_tests, is_file_of_tests, may_be_file_of_tests
from trued.proof.text.commit_texts import decoded

TEST = """import os
import pytest
from tiny import one

CASES = [1, 2]


@pytest.fixture
def name():
    return "a"


def same(a, b):
    assert a == b


@pytest.mark.parametrize("a", [1, 2])
def test_one(a):
    same(one(a), a)  # a remark


class TestMore:
    limit = 1

    def test_two(self):
        assert one(self.limit) == 1
"""
SCRIPT = """import { test } from 'node:test';
import { one } from '../tiny.js';
const cases = [
  1,
  2
];
test('one', () => {
  assert(one() === 1); // a remark
});
"""
LIARS = {
    "a test in an encoding that hides code": decoded(f"# coding: utf-7\n{TEST}#+AAo-del test_one\n".encode()),
    "a test in an encoding that Python does not read": decoded(TEST.encode("utf-16")),
    "a test without its body": TEST.replace("    same(one(a), a)", "    pass"),
    "a helper without its body": TEST.replace("    assert a == b", "    pass"),
    "a test removed": TEST.replace("def test_one", "def test_1"),
    "a test that is skipped": TEST.replace("def test_one", "@pytest.mark.skip\ndef test_one".replace("\\n", "\n")),
    "less cases": TEST.replace("[1, 2])", "[1])"),
    "less data": TEST.replace("CASES = [1, 2]", "CASES = []"),
    "another source": TEST.replace("from tiny", "from fake"),
    "another source, later": f"{TEST}\n\nfrom fake import one\n",
    "everything of a module": f"{TEST}\n\nfrom fake import *\n",
    "a test defined again": f"{TEST}\n\ndef test_one():\n    pass\n",
    "a class defined again": f"{TEST}\n\nclass TestMore:\n    pass\n",
    "a helper replaced": f"{TEST}\n\nsame = print\n",
    "a helper replaced by a class": f"{TEST}\n\nclass same:\n    pass\n",
    "a name deleted": f"{TEST}\n\ndel test_one\n",
    "a call": f"{TEST}\n\nglobals().clear()\n",
    "a mark": f"{TEST}\n\npytestmark = pytest.mark.skip\n",
    "a class that is no test": TEST.replace("    limit = 1", "    limit = 1\n    __test__ = False"),
    "a fixture that raises": f"{TEST}\n\n@pytest.fixture(autouse=True)\ndef off():\n    raise SkipTest\n",
    "a fixture that skips": f"{TEST}\n\n@pytest.fixture(autouse=True)\ndef off():\n    pytest.skip('later')\n",
    "a method without its body": TEST.replace("        assert one(self.limit) == 1", "        pass"),
    "a class that inherits": TEST.replace("class TestMore:", "class TestMore(Fake):"),
    "no Python any more": f"{TEST.replace('assert a == b', 'pass')}\n(",
}
HONEST = {
    "a test that raises": f"{TEST}\n\ndef test_three(name):\n    raise SkipTest(name)\n",
    "a test": f"{TEST}\n\ndef test_three(name):\n    pytest.skip(name)\n",
    "an import": TEST.replace("from tiny import one", "import sys\n\nfrom tiny import one, three"),
    "an import that nothing used": TEST.replace("import os\n", ""),
    "cases and data": TEST.replace("[1, 2]", "[1, 2, 3]"),
    "a helper": f"{TEST}\n\nMORE = 3\n\n\n@pytest.fixture(autouse=True)\ndef more():\n    yield 1\n",
    "remarks and layout": TEST.replace("  # a remark", "").replace(
        "(one(a), a)", "(\n        one(a),\n        a,\n    )"
    ),
    "a docstring": TEST.replace("    assert a == b", '    """Says so."""\n    assert a == b'),
    "a method": f"{TEST}\n    def test_four(self):\n        pass\n",
    "a start": f"{TEST}\n\nif __name__ == '__main__':\n    pytest.main()\n",
}
SCRIPT_LIARS = {
    "a line removed": SCRIPT.replace("  assert(one() === 1); // a remark\n", ""),
    "a line changed": SCRIPT.replace("=== 1", "!== 3"),
    "a line in a comment": SCRIPT.replace("  assert", "  // assert"),
    "another source": SCRIPT.replace("../tiny.js", "../fake.js"),
    "a return": SCRIPT.replace("  assert", "  return;\n  assert"),
    "only another": f"{SCRIPT}test.only('two', () => {{}});\n",
    "an end": f"process.exit(0);\n{SCRIPT}",
}
SCRIPT_HONEST = {
    "a test": f"{SCRIPT}test('two', () => {{\n  return one();\n}});\n",
    "an import": SCRIPT.replace("{ one }", "{ one, two }"),
    "a case": SCRIPT.replace("  2\n", "  2,\n  3\n"),
    "a remark": SCRIPT.replace(" // a remark", " // another"),
    "a group": SCRIPT.replace("test('one'", "describe('all', () => {\n  test('one'") + "});\n",
}


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("name", LIARS)
def test_what_alters_a_python_test_is_named(name: str) -> None:
    assert altered_tests({"tests/test_a.py": TEST}, {"tests/test_a.py": LIARS[name]}, ()) == {
        "tests/test_a.py": ALTERED
    }


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("name", HONEST)
def test_what_is_added_to_a_python_test_is_not_named(name: str) -> None:
    assert altered_tests({"tests/test_a.py": TEST}, {"tests/test_a.py": HONEST[name]}, ()) == {}


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("name", SCRIPT_LIARS)
def test_what_alters_a_test_of_a_script_is_named(name: str) -> None:
    assert altered_tests({"test/a.test.js": SCRIPT}, {"test/a.test.js": SCRIPT_LIARS[name]}, ()) == {
        "test/a.test.js": ALTERED
    }


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("name", SCRIPT_HONEST)
def test_what_is_added_to_a_test_of_a_script_is_not_named(name: str) -> None:
    assert altered_tests({"test/a.test.js": SCRIPT}, {"test/a.test.js": SCRIPT_HONEST[name]}, ()) == {}


@pytest.mark.spec("LAW-6")
def test_a_test_may_move_and_may_not_vanish() -> None:
    before = {"tests/test_a.py": TEST, "tests/data.json": "[\n  1,\n  2\n]\n"}
    moved = {"tests/unit/test_a.py": f"{TEST}\n\ndef test_new():\n    pass\n"}
    grown = {"tests/data.json": "[\n  1,\n  2,\n  3\n]\n"}
    assert altered_tests(before, {**moved, **grown}, ()) == {}
    assert altered_tests(before, {"tests/test_b.py": TEST, **grown}, ()) == {}
    assert altered_tests(before, {"tests/data.json": "[\n  1\n]\n"}, ()) == {
        "tests/test_a.py": REMOVED,
        "tests/data.json": ALTERED,
    }
    function = "def test_one(a):\n    same(one(a), a)\n"
    split = {"tests/test_a.py": "import os\n", "tests/test_b.py": function}
    assert altered_tests({"tests/test_a.py": f"import os\n{function}"}, split, ()) == {}


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("superseded", "altered"),
    [
        ("tests/test_a.py::test_one", False),
        ("tests/test_a.py", False),
        ("tests", False),
        ("tests/test_a.py::TestMore", True),
        ("tests/test_b.py::test_one", True),
    ],
)
def test_what_is_superseded_may_change(superseded: str, altered: bool) -> None:
    after = {"tests/test_a.py": LIARS["a test without its body"]}
    assert bool(altered_tests({"tests/test_a.py": TEST}, after, [superseded])) is altered
    assert altered_tests({"tests/test_a.py": TEST}, {}, [superseded]) == (
        {} if superseded in ("tests", "tests/test_a.py") else {"tests/test_a.py": REMOVED}
    )


def test_product_that_is_named_like_a_test_is_none() -> None:
    assert not is_file_of_tests("speed_test.py", b"def speed(): ...", ())
    assert is_file_of_tests("speed_test.py", b"def test_speed(): ...", ())
    assert is_file_of_tests("checks/tiny_it.py", b"", ("checks/tiny_it.py",))
    assert not may_be_file_of_tests("tests/README.md")
    assert may_be_file_of_tests("conftest.py")
