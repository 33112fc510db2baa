"""Who removes existing tests is not proven: rooms have the base's, but after landing nothing guards any more."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial, only
from trued.model import Grade
from trued.proof.text.test_names import name_of_test, names_in

ONE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
WORK = {"tiny.py": f"{ONE}\n\ndef three():\n    return 3\n"}
TEST_ONE = "def test_one():\n    assert tiny.one() == 1\n"
TEST_TWO = "\n\n@pytest.mark.parametrize('a', [1, 2])\ndef test_two(a):\n    assert tiny.two() >= a\n"
INHERITED = "\n\nclass Common:\n    def test_sum(self):\n        assert self.part + tiny.two() == 3\n"
INHERITED += "\n\nclass TestFirst(Common):\n    part = 1\n"
HEAD = "import pytest\nimport tiny\n\n\n"
TESTS = f"{HEAD}{TEST_ONE}{TEST_TWO}"
BASE = {
    "tiny.py": ONE,
    "tests/conftest.py": "import pytest\n",
    "tests/test_tiny.py": TESTS,
    "tests/test_common.py": f"import tiny\n{INHERITED}",
    "tests/test_namesake.py": f"{HEAD}{TEST_ONE}",
}
LIARS: dict[str, tuple[Change, str]] = {
    "a file": ({**WORK, "tests/test_common.py": None}, "tests/test_common.py::TestFirst::test_sum"),
    "a test": ({**WORK, "tests/test_tiny.py": f"{HEAD}{TEST_ONE}"}, "tests/test_tiny.py::test_two[1]"),
    "a file, though another test has the name": (
        {**WORK, "tests/test_namesake.py": None},
        "test_namesake.py::test_one",
    ),
    "a test, in an encoding that hides code": (
        {**WORK, "tests/test_tiny.py": f"# coding: utf-7\n{TESTS}#+AAo-del test_two\n"},
        "tests/test_tiny.py::test_two[1]",
    ),
    "a test, renamed": ({**WORK, "tests/test_tiny.py": TESTS.replace("_two", "_2")}, "test_tiny.py::test_two[1]"),
    "a test, in a comment": (
        {**WORK, "tests/test_tiny.py": f"{HEAD}{TEST_ONE}\n\n# def test_two(a): ...\n"},
        "tests/test_tiny.py::test_two[1]",
    ),
    "a class that inherits a test": (
        {**WORK, "tests/test_common.py": f"import tiny\n{INHERITED.partition('class TestFirst')[0]}"},
        "TestFirst::test_sum",
    ),
    "a file, moved to where pytest does not look": (
        {**WORK, "tests/test_tiny.py": None, "build/test_tiny.py": TESTS},
        "tests/test_tiny.py::test_two[1]",
    ),
    "a test, moved to where pytest does not look": (
        {**WORK, "tests/test_tiny.py": f"{HEAD}{TEST_ONE}", "dist/test_two.py": f"{HEAD}{TEST_TWO}"},
        "tests/test_tiny.py::test_two[1]",
    ),
    "a test that the product gains": (
        {"tiny.py": f"{WORK['tiny.py']}\n\ndef test_two(a):\n    pass\n", "tests/test_tiny.py": f"{HEAD}{TEST_ONE}"},
        "tests/test_tiny.py::test_two[1]",
    ),
}
HONEST: dict[str, Change] = {
    "tests added": {
        **WORK,
        "tests/test_tiny.py": f"{TESTS}\n\ndef test_three():\n    assert tiny.three() == 3\n",
        "tests/test_more.py": f"{HEAD}{TEST_ONE}",
    },
    "a file moved": {**WORK, "tests/test_tiny.py": None, "tests/unit/test_numbers.py": TESTS},
    "a folder renamed": {
        **WORK,
        **dict.fromkeys([path for path in BASE if path.startswith("tests/")]),
        **{path.replace("tests/", "checks/"): text for path, text in BASE.items() if path.startswith("tests/")},
    },
    "a test moved to another file": {
        **WORK,
        "tests/test_tiny.py": f"{HEAD}{TEST_ONE}",
        "tests/test_two.py": f"{HEAD}{TEST_TWO}",
    },
    "tests in a class": {
        **WORK,
        "tests/test_namesake.py": "import tiny\n\n\nclass TestTiny:\n    def test_one(self):\n"
        "        assert tiny.one()\n",
    },
    "a conftest changed": {
        **WORK,
        "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef five():\n    return 5\n",
    },
}
NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "tiny.js": "exports.one = () => 1;\n",
    "test/tiny.test.js": "const { test, describe } = require('node:test');\nconst assert = require('node:assert');\n"
    "const tiny = require('../tiny.js');\n\n"
    "test('one', () => { assert.strictEqual(tiny.one(), 1); });\n"
    "describe('a group', () => {\n  test('it\\'s one', () => { assert.strictEqual(tiny.one(), 1); });\n});\n",
}
NODE_WORK = {"tiny.js": "exports.one = () => 1;\nexports.three = () => 3;\n"}
NODE_TESTS = NODE["test/tiny.test.js"]
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")


def asked(call: str, **more: Any) -> list[dict[str, Any]]:
    case = {"call": call, "args": [], "returns": 3}
    return [{"id": "three", "text": "three() is 3", "checks": [{"kind": "examples", "cases": [case]}], **more}]


async def graded(
    place: Path, base: dict[str, str], heads: dict[str, Change], call: str = "tiny:three", **more: Any
) -> dict[str, tuple[Grade, str]]:
    trial = Trial(place, base, asked(call, **more))
    contract = await trial.seal_with_existing_tests()
    judged = await trial.judged(contract, *heads.values())
    return {name: (one.grade, one.why[0]) for name, one in zip(heads, judged, strict=True)}


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_existing_tests_that_vanish_make_the_work_tested_at_most(tmp_path: Path) -> None:
    found = await graded(tmp_path, BASE, {name: head for name, (head, _) in LIARS.items()})
    assert {name: grade for name, (grade, _) in found.items()} == dict.fromkeys(LIARS, Grade.TESTED), found
    assert [name for name, (_, test) in LIARS.items() if test not in found[name][1]] == [], found
    assert all("supersedes" in why for _, why in found.values())


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_tests_may_be_added_and_moved(tmp_path: Path) -> None:
    found = await graded(tmp_path, BASE, HONEST)
    assert {name: grade for name, (grade, _) in found.items()} == dict.fromkeys(HONEST, Grade.PROVEN), found


SETTINGS = "[tool.pytest.ini_options]\ntestpaths = ['{}']\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_a_moved_test_counts_if_the_heads_own_settings_still_run_it(tmp_path: Path) -> None:
    base = {**BASE, "pyproject.toml": SETTINGS.format("tests")}
    gone = dict.fromkeys(path for path in BASE if path.startswith("tests/"))
    elsewhere = {path.replace("tests/", "checks/"): text for path, text in BASE.items() if path.startswith("tests/")}
    heads: dict[str, Change] = {
        "outside of testpaths": {**WORK, "tests/test_tiny.py": None, "more/test_tiny.py": TESTS},
        "below testpaths": {**WORK, "tests/test_tiny.py": None, "tests/unit/test_tiny.py": TESTS},
        "all of them, and testpaths": {**WORK, **gone, **elsewhere, "pyproject.toml": SETTINGS.format("checks")},
        "all of them": {**WORK, **gone, **elsewhere},
        "to a folder that settings of the head leave out": {
            **WORK,
            "tests/test_tiny.py": None,
            "tests/old/test_tiny.py": TESTS,
            "tests/old/conftest.py": "collect_ignore_glob = ['*.py']\n",
        },
    }
    found = await graded(tmp_path, base, heads)
    lying = ("outside of testpaths", "to a folder that settings of the head leave out")
    grades = {name: Grade.TESTED if name in lying else Grade.PROVEN for name in heads}
    # pytest falls back to all folders if none of `testpaths` exists
    assert {name: grade for name, (grade, _) in found.items()} == grades, found


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_what_a_requirement_supersedes_may_vanish(tmp_path: Path) -> None:
    heads: dict[str, Change] = {
        "superseded": {**WORK, "tests/test_tiny.py": f"{HEAD}{TEST_ONE}"},
        "superseded, and another": {**WORK, "tests/test_tiny.py": None},
    }
    found = await graded(tmp_path, BASE, heads, supersedes=["tests/test_tiny.py::test_two"])
    assert [grade for grade, _ in found.values()] == [Grade.PROVEN, Grade.TESTED], found
    assert "test_two" not in found["superseded, and another"][1]


@needs_node
@pytest.mark.spec("LAW-6")
@pytest.mark.slow
async def test_tests_of_scripts_are_known_by_their_titles(tmp_path: Path) -> None:
    first = next(line for line in NODE_TESTS.splitlines() if line.startswith("test('one'"))
    heads: dict[str, Change] = {
        "a test removed": {**NODE_WORK, "test/tiny.test.js": NODE_TESTS.replace("it\\'s one", "nothing")},
        "a test in a comment": {**NODE_WORK, "test/tiny.test.js": NODE_TESTS.replace(first, f"// {first}")},
        "a file moved": {
            **NODE_WORK,
            "test/tiny.test.js": None,
            "test/unit/numbers.test.js": NODE_TESTS.replace("'../tiny.js'", "'../../tiny.js'"),
        },
        "a file moved, so that its import fails": {
            **NODE_WORK,
            "test/tiny.test.js": None,
            "test/unit/numbers.test.js": NODE_TESTS,
        },
        "tests added": {**NODE_WORK, "test/tiny.test.js": f"{NODE_TESTS}test('three', () => {{}});\n"},
    }
    found = await graded(tmp_path, NODE, heads, "tiny.js:three")
    tested, proven = Grade.TESTED, Grade.PROVEN
    assert [grade for grade, _ in found.values()] == [tested, tested, proven, tested, proven], found


CASES = {
    "tiny.py": ONE,
    "run_cases.py": "import pathlib, tiny\nrows = []\nfor file in sorted(pathlib.Path('cases').glob('*.txt')):\n"
    "    for line in file.read_text().splitlines():\n        name, number = line.split()\n"
    "        flaw = '' if getattr(tiny, name)() == int(number) else '<failure/>'\n"
    '        rows.append(f\'<testcase classname="cases" name="is_{name}">{flaw}</testcase>\')\n'
    "pathlib.Path('report.xml').write_text(f'<testsuite>{\"\".join(rows)}</testsuite>')\n",
    "cases/all.txt": "one 1\ntwo 2\n",
}


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_tests_that_a_report_gives_without_a_file_may_not_vanish_either(tmp_path: Path) -> None:
    check = {"kind": "tests", "command": "python run_cases.py", "report": "report.xml", "files": ["cases"]}
    suite = {"id": "suite", "text": "the cases pass", "keep": True, "checks": [check]}
    trial = Trial(tmp_path, CASES, [*asked("tiny:three"), suite])
    contract = await trial.seal()
    heads: dict[str, tuple[Change, Grade]] = {
        "a case removed": ({**WORK, "cases/all.txt": "one 1\n"}, Grade.TESTED),
        "all removed": ({**WORK, "cases/all.txt": None}, Grade.TESTED),
        "a case added": ({**WORK, "cases/all.txt": "one 1\ntwo 2\nthree 3\n"}, Grade.PROVEN),
        "a case moved": ({**WORK, "cases/all.txt": "one 1\n", "cases/more.txt": "two 2\n"}, Grade.PROVEN),
    }
    found = {}
    for name, (head, _) in heads.items():
        verdict = await trial.prove(contract, await trial.head(head))
        found[name] = next(one for one in verdict.requirements if one.id == "three")
    assert {name: one.grade for name, one in found.items()} == {name: grade for name, (_, grade) in heads.items()}, (
        found
    )
    assert "is_two" in found["a case removed"].why[0]


@pytest.mark.parametrize(
    ("test_id", "text", "name"),
    [
        ("a/test_a.py::test_b[x::y]", "def test_b(): ...", "test_b"),
        ("a/test_a.py::A::test_b_0", "class A:\n    def test_b(self): ...", "test_b"),
        ("a/test_a.py::A::test_b", "class A(Common): ...", "A"),
        ("a/test_a.py::A::test_b", "def broken(:\nclass A(Common): ...", "A"),
        ("a/test_a.py::test_b", "exec(text)", ""),
        ("a/a_test.go::TestA/deep", "func TestA(t *testing.T) {}", "TestA"),
        ("a/a_test.go::TestA", "// func TestA\n/*\nfunc TestA() {}\n*/", ""),
        ("a/a.test.ts::group > one > two", "it(`one > two`, f)", "one > two"),
        ("a/a.test.ts::group > two", 'it("two", f) // "two"', "two"),
        ("a/a.test.ts", "assert(true)", ""),
    ],
)
def test_a_test_is_known_by_a_name_in_its_file(test_id: str, text: str, name: str) -> None:
    names = names_in(test_id.partition("::")[0], text)
    assert name_of_test(test_id, names) == name
    assert all(count == 1 for count in names.values())


@pytest.mark.slow
async def test_a_broken_head_is_judged_as_ever(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, asked("tiny:three"))
    contract = await trial.seal_with_existing_tests()
    broken = await trial.head({"tiny.py": WORK["tiny.py"].replace("return 2", "return 0"), "tests/test_tiny.py": None})
    assert only(await trial.prove(contract, broken)).grade is Grade.REFUTED
