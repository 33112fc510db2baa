"""Reports of other runners: JUnit XML within limits, and commands that lie."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.proof.trial import Cellar, Change, Sealed, Trial, lay, only, stands
from trued.model import Grade
from trued.proof.room.clean_room import clean_room, link_packages
from trued.proof.room.interpreter import find_interpreter
from trued.proof.room.package_json import UNREADABLE, merge_manifests
from trued.proof.runners.junit_xml import BadReport, ReportedTest, read_report
from trued.proof.text.command_parser import recognise_runner
from trued.proof.verdict.case_status import Base

CASES = """<?xml version="1.0"?>
<testsuites><testsuite name="outer" file="t/a.py"><testsuite name="inner">
  <testcase classname="A" name="good" time="1,000.5"/>
  <testcase classname="A" name="bad"><failure message="m">words</failure><system-out>x</system-out></testcase>
  <testcase classname="A" name="odd"><skipped/><error message="e"/></testcase>
  <testcase classname="A" name="flaky"><flakyFailure message="once"/></testcase>
  <testcase classname="A" name="idle" status="notrun"/>
</testsuite></testsuite></testsuites>"""


@pytest.mark.spec("LAW-6")
def test_a_report_is_read_test_by_test() -> None:
    found = {one.name: one for one in read_report(CASES.encode())}
    assert {name: one.outcome for name, one in found.items()} == {
        "good": "passed",
        "bad": "failed",
        "odd": "error",
        "flaky": "failed",
        "idle": "skipped",
    }
    assert found["good"] == ReportedTest("good", "A", ("outer", "inner"), "t/a.py", seconds=1000.5)
    assert found["bad"].text == "m\nwords"


BOMB = '<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]><testsuites>&c;</testsuites>'


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    "data",
    [
        BOMB.encode(),
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<testsuite>" * 100,
        b"<testsuite><testcase name='x'>",
        b"",
        b"\xff\xfe",
        b"<?xml version='1.0' encoding='no-such'?><a/>",
        b"<a>" + b"<b/>" * 400_001 + b"</a>",
    ],
    ids=["entities", "outside", "deep", "cut", "empty", "noise", "encoding", "long"],
)
def test_what_is_no_report_is_refused(data: bytes) -> None:
    with pytest.raises(BadReport):
        read_report(data)


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("command", "runner", "arguments"),
    [
        ("python3.12 -X dev -W error -m pytest -q", "pytest", ("-W", "error", "-q")),
        ("uv run --frozen --with x pytest tests", "pytest", ("tests",)),
        ("poetry run python -m pytest", "pytest", ()),
        ("hatch run test:pytest -x", "pytest", ("-x",)),
        ("coverage run --source src -m pytest -q", "pytest", ("-q",)),
        ("PYTHONHASHSEED=0 pytest", "pytest", ()),
        ("npx vitest run --coverage", "vitest", ("run", "--coverage")),
        ("npx nyc --reporter=text -r lcov mocha --recursive", "mocha", ("--recursive",)),
        ("c8 --all node --test", "node", ()),
        ("npm run unit -- -t x", "vitest", ("run", "-t", "x")),
        ("yarn unit", "vitest", ("run",)),
        ("npm test", "node", ("dist/",)),
        ("gotestsum -- -race ./...", "go", ("-race", "./...")),
    ],
)
def test_a_command_comes_to_its_runner(command: str, runner: str, arguments: tuple[str, ...]) -> None:
    scripts = {"unit": "vitest run", "test": "tsc -p . && node --test dist/", "pretest": "npm run clean"}
    asked = recognise_runner(command, scripts)
    assert asked is not None
    assert (asked.runner, asked.arguments) == (runner, arguments)
    if command == "npm test":
        assert asked.before == ("npm run clean", "tsc -p .")


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    "command",
    ["make test", "pytest || true", "pytest | tail -1", "echo 5 passed", "npm run no-such", "cd x && npm test"],
)
def test_what_is_no_runner_is_none(command: str) -> None:
    assert recognise_runner(command, {"test": "echo ok"}) is None


@pytest.mark.spec("LAW-4")
def test_of_a_package_scripts_and_settings_of_tests_are_the_bases() -> None:
    base = {"scripts": {"test": "vitest run"}, "vitest": {"globals": True}, "type": "commonjs"}
    head = {
        "scripts": {"test": "true", "pretest": "x", "start": "node ."},
        "jest": {"bail": 1},
        "type": "module",
        "dependencies": {"a": "1"},
    }
    made = merge_manifests(json.dumps(base).encode(), json.dumps(head).encode())
    assert made is not None
    assert json.loads(made) == {
        "type": "module",
        "dependencies": {"a": "1"},
        "vitest": {"globals": True},
        "scripts": {"start": "node .", "test": "vitest run"},
    }
    assert merge_manifests(json.dumps(base).encode(), json.dumps(base).encode()) is None


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"mocha": {"require": "./forge.js"}}' + b" " * 2**22, id="too large"),
        pytest.param(b'{"mocha": {"require": "./forge.js"}, "x": ' + b"[" * 5000 + b"]" * 5000 + b"}", id="too deep"),
        pytest.param(b'{"mocha": {"require": "./forge.js"}, "x": "\xff"}', id="wrong bytes"),
        pytest.param(b"no json", id="no JSON"),
    ],
)
def test_a_package_json_that_only_others_could_read_is_readable_for_nobody(content: bytes) -> None:
    assert merge_manifests(b"{}", content) == UNREADABLE


@pytest.mark.spec("LAW-4")
async def test_a_link_in_the_place_of_package_json_is_read_like_the_file(tmp_path: Path) -> None:
    """The head's settings of its runner are not used through a link, either; the rest of the file is."""
    own = {"mocha": {"require": "./forge.js"}, "version": "2", "scripts": {"test": "true"}}

    def linked(folder: Path) -> None:
        lay(folder, {"conf/own.json": json.dumps(own), "package.json": None})
        (folder / "package.json").symlink_to("conf/own.json")

    check = {"kind": "tests", "command": "npm test"}
    base = {"package.json": '{"scripts": {"test": "mocha"}, "mocha": {"ui": "tdd"}}', "test/a.test.js": "test('a');\n"}
    trial = Trial(tmp_path, base, [{"id": "a", "text": "a", "checks": [check]}])
    contract = await trial.seal()
    for head in (linked, {"package.json": json.dumps(own)}):
        commit, interpreter = await trial.head(head), await find_interpreter()
        async with clean_room(trial.workspace, contract, commit, interpreter) as (bench, graft):
            found = json.loads((bench.room / "package.json").read_text())
        assert (found["scripts"], found["mocha"], found["version"]) == ({"test": "mocha"}, {"ui": "tdd"}, "2")
        assert graft.merged == ("package.json",)


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("vendored", [True, False])
@pytest.mark.parametrize("project", ["", "web"])
def test_packages_that_only_the_head_has_in_its_tree_give_way_to_those_that_are_declared(
    tmp_path: Path, vendored: bool, project: str
) -> None:
    room, installed = tmp_path / "room", tmp_path / "installed"
    files = [str(PurePosixPath(project) / name) for name in ("node_modules/expect/index.js", "a.js")]
    lay(room, {files[0]: "forged", files[1]: "a"})
    lay(installed, {"expect/index.js": "real"})
    removed = link_packages(room, project, installed, (files if vendored else files[1:], files))
    assert removed == ([] if vendored else files[:1])
    assert (room / files[0]).read_text() == ("forged" if vendored else "real")


@pytest.mark.spec("LAW-4")
def test_a_project_that_the_head_moved_behind_a_link_gets_no_packages(tmp_path: Path) -> None:
    room, installed = tmp_path / "room", tmp_path / "installed"
    lay(room, {"other/a.js": "a"})
    lay(installed, {"expect/index.js": "real"})
    (room / "web").symlink_to("other")
    assert link_packages(room, "web", installed, (["web/a.js"], ["web", "other/a.js"])) == []
    assert link_packages(room, "gone", installed, (["gone/a.js"], [])) == []
    assert sorted(one.name for one in (room / "other").iterdir()) == ["a.js"]


@pytest.mark.many(1)
@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("vendored", [True, False])
async def test_an_inner_package_brings_its_runner_only_if_the_base_has_it(tmp_path: Path, vendored: bool) -> None:
    manifest = json.dumps({"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "1"}})
    files: dict[str, str | None] = {
        f"web/node_modules/{name}": "real\n" for name in (".bin/vitest", "vitest/index.js", "chalk/index.js")
    }
    base = {"web/package.json": manifest, "web/a.test.js": "throw 1;\n", **(files if vendored else {})}
    check = {"kind": "tests", "command": "cd web && npm test"}
    trial = Trial(tmp_path, base, [{"id": "r", "text": "x", "checks": [check]}])
    contract, commit = await trial.seal(), await trial.head({**files, "a.js": "1;\n"}, force=True)
    async with clean_room(trial.workspace, contract, commit, await find_interpreter()) as (bench, graft):
        assert [(bench.room / path).is_file() for path in files] == [vendored] * 3
        assert {*files} & graft.paths == (set() if vendored else {*files})


# -- a command that writes a report ------------------------------------------------------------------------------------

WRITES = """import sys
from calc import double
good = double(7) == 14
bad = '' if good else '<failure message="wrong"/>'
text = '<testsuite name="s"><testcase file="check.py" name="doubles">' + bad + '</testcase></testsuite>'
open("report.xml", "w").write(text)
sys.exit(0 if good else 1)
"""
CHECK = {"kind": "tests", "command": "python check.py", "report": "report.xml", "files": ["check.py"]}
REPORTING = {"calc.py": "def double(x):\n    return x\n", "check.py": WRITES}


def requirement(check: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "double", "text": "double(x) is twice x", "checks": [check]}]


@pytest.fixture
async def sealed(cellar: Cellar) -> Sealed:
    return await cellar.sealed("report", REPORTING, requirement(CHECK), path=["."])


@pytest.mark.spec("LAW-5", "LAW-6")
async def test_a_report_of_an_unknown_runner_counts(sealed: Sealed) -> None:
    assert stands(sealed.contract) == {"check.py::doubles": Base.RED}
    verdict = await sealed.trial.prove(
        sealed.contract, await sealed.trial.head({"calc.py": "def double(x):\n    return x * 2\n"})
    )
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert any("no test that must fail could be added" in one for one in verdict.undecided)


PASSES = '<testsuite><testcase file="check.py" name="doubles"/></testsuite>'
LYING: dict[str, Change] = {
    "a report that was there before": {"report.xml": PASSES},
    "a report written at import, and the end": {
        "calc.py": f"import os\nopen('report.xml', 'w').write('''{PASSES}''')\nos._exit(1)\n"
    },
    "no report": {"calc.py": "import os\nos._exit(0)\n"},
    "an empty report": {"calc.py": "import os\nopen('report.xml', 'w').write('<a/>')\nos._exit(0)\n"},
    "a report that leads out": {"calc.py": "import os\nos.symlink('/etc/passwd', 'report.xml')\nos._exit(0)\n"},
    "another test": {
        "calc.py": "import os\nopen('report.xml', 'w').write('<testsuite><testcase name=\"x\"/></testsuite>')\n"
        "os._exit(0)\n"
    },
    "an easier check": {"check.py": f"open('report.xml', 'w').write('''{PASSES}''')\n"},
}


@pytest.mark.spec("LAW-2", "LAW-6")
@pytest.mark.many(2)
@pytest.mark.parametrize("way", LYING)
async def test_no_report_is_believed_against_its_command(sealed: Sealed, way: str) -> None:
    verdict = await sealed.trial.prove(sealed.contract, await sealed.trial.head(LYING[way]))
    assert only(verdict).grade is Grade.REFUTED, only(verdict).why


# -- what drives a command that writes a report ------------------------------------------------------------------------

RUNS = """import sys
from tools.report import report
from calc import double, half
report({"doubles": double(7) == 14, "halves": half(8) == 4})
"""
REPORTS = """import pathlib
import sys


def report(results):
    if pathlib.Path("tox.ini").exists():
        results = dict.fromkeys(results, True)
    wrong = '<failure message="wrong"/>'
    cases = [
        f'<testcase file="check.py" name="{name}">{"" if good else wrong}</testcase>' for name, good in results.items()
    ]
    open("report.xml", "w").write("<testsuite name='s'>" + "".join(cases) + "</testsuite>")
    sys.exit(0 if all(results.values()) else 1)
"""
DRIVEN = {
    "calc.py": "def double(x):\n    return x\n\n\ndef half(x):\n    return x // 2\n",
    "run.sh": "#!/bin/sh\n. ./lib.sh\nstart\n",
    "lib.sh": "start() {\n  python -m tools.check\n}\n",
    "tools/check.py": RUNS,
    "tools/report.py": REPORTS,
}
DRIVEN_CHECK = {"kind": "tests", "command": "sh run.sh", "report": "report.xml"}
DOUBLES = "def double(x):\n    return x * 2\n\n\ndef half(x):\n    return x // 2\n"
BROKEN_HALF = "def double(x):\n    return x * 2\n\n\ndef half(x):\n    return x\n"
ALL_GOOD = REPORTS.replace("cases = [", "results = dict.fromkeys(results, True)\n    cases = [")
BOTH = PASSES.replace("/></", '/><testcase file="check.py" name="halves"/></')
GUTTED: dict[str, dict[str, str | None]] = {
    "the module that reports": {"tools/report.py": ALL_GOOD},
    "the script": {"run.sh": f"cat > report.xml <<'END'\n{BOTH}\nEND\n"},
    "what the script reads": {"lib.sh": "start() {\n  cp good.xml report.xml\n}\n", "good.xml": BOTH},
}


@pytest.fixture
async def driven(cellar: Cellar) -> Sealed:
    return await cellar.sealed("driven", DRIVEN, requirement(DRIVEN_CHECK), path=["."])


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("way", GUTTED)
async def test_whoever_guts_what_reports_shows_nothing(driven: Sealed, way: str) -> None:
    assert stands(driven.contract) == {"doubles": Base.RED, "halves": Base.GUARD}
    (broken,) = await driven.trial.judged(driven.contract, {"calc.py": BROKEN_HALF, **GUTTED[way]})
    assert broken.grade is Grade.REFUTED, broken.why
    (idle,) = await driven.trial.judged(driven.contract, GUTTED[way])
    assert idle.grade is Grade.SELF_TESTED, idle.why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_settings_that_make_tests_pass_are_worth_little(driven: Sealed) -> None:
    for head in await driven.trial.judged(
        driven.contract, {"tox.ini": "[lax]\n"}, {"calc.py": BROKEN_HALF, "tox.ini": "[lax]\n"}
    ):
        assert head.grade is Grade.SELF_TESTED, head.why


@pytest.mark.spec("LAW-6")
async def test_honest_work_with_a_better_script_is_as_good_as_without(driven: Sealed) -> None:
    plain, better = await driven.trial.judged(
        driven.contract,
        {"calc.py": DOUBLES},
        {
            "calc.py": DOUBLES,
            "run.sh": "#!/bin/sh\nset -e\n. ./lib.sh\nstart\n",
            "tools/report.py": f"# ours\n{REPORTS}",
        },
    )
    assert (plain.grade, plain.holds) == (better.grade, better.holds) == (Grade.TESTED, True), (plain.why, better.why)


@pytest.mark.spec("LAW-1")
async def test_the_end_of_the_output_says_why_there_is_no_report(tmp_path: Path) -> None:
    check = {"kind": "tests", "command": "sh run.sh", "report": "out.xml", "files": ["run.sh"]}
    asked = [{"id": "one", "text": "It works.", "checks": [check]}]
    contract = await Trial(tmp_path, {"run.sh": "echo unknown option --ci\nexit 3\n"}, asked).seal()
    result = contract.base_facts[0].tried[0]
    assert result.kind == "report"
    assert "exit code 3" in result.detail
    assert "unknown option --ci" in result.detail
    assert "unknown option" not in contract.base_facts[0].why_void
