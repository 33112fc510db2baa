"""Reports of other runners: JUnit's XML read within bounds, commands that lie, the real vitest and the real go."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Sealed, Trial, only
from trued.proof.checks.runners.commands import recognised
from trued.proof.checks.runners.junit import Garbled, Reported, read
from trued.proof.room.packagejson import merged
from trued.proof.standing import Base, on_base
from trued.types import Contract, Grade

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
    found = {one.name: one for one in read(CASES.encode())}
    assert {name: one.outcome for name, one in found.items()} == {
        "good": "passed",
        "bad": "failed",
        "odd": "error",
        "flaky": "failed",
        "idle": "skipped",
    }
    assert found["good"] == Reported("good", "A", ("outer", "inner"), "t/a.py", seconds=1000.5)
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
    with pytest.raises(Garbled):
        read(data)


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
        ("npm run unit -- -t x", "vitest", ("run", "-t", "x")),
        ("yarn unit", "vitest", ("run",)),
        ("npm test", "node", ("dist/",)),
        ("gotestsum -- -race ./...", "go", ("-race", "./...")),
    ],
)
def test_a_command_comes_to_its_runner(command: str, runner: str, arguments: tuple[str, ...]) -> None:
    scripts = {"unit": "vitest run", "test": "tsc -p . && node --test dist/", "pretest": "npm run clean"}
    asked = recognised(command, scripts)
    assert asked is not None
    assert (asked.runner, asked.arguments) == (runner, arguments)
    if command == "npm test":
        assert asked.before == ("npm run clean", "tsc -p .")


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    "command", ["make test", "pytest || true", "pytest | tail -1", "echo 5 passed", "npm run no-such", "cd x && pytest"]
)
def test_what_is_no_runner_is_none(command: str) -> None:
    assert recognised(command, {"test": "echo ok"}) is None


@pytest.mark.spec("LAW-4")
def test_of_a_package_scripts_and_settings_of_tests_are_the_bases() -> None:
    base = {"scripts": {"test": "vitest run"}, "vitest": {"globals": True}, "type": "commonjs"}
    head = {
        "scripts": {"test": "true", "pretest": "x", "start": "node ."},
        "jest": {"bail": 1},
        "type": "module",
        "dependencies": {"a": "1"},
    }
    made = merged(json.dumps(base).encode(), json.dumps(head).encode())
    assert made is not None
    assert json.loads(made) == {
        "type": "module",
        "dependencies": {"a": "1"},
        "vitest": {"globals": True},
        "scripts": {"start": "node .", "test": "vitest run"},
    }
    assert merged(json.dumps(base).encode(), json.dumps(base).encode()) is None
    assert merged(b"{}", b"no json") is None


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


@pytest.fixture(scope="module")
def cellar() -> dict[str, Sealed]:
    return {}


@pytest.fixture
async def sealed(cellar: dict[str, Sealed], tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    if not cellar:
        trial = Trial(tmp_path_factory.mktemp("report"), REPORTING, requirement(CHECK), path=["."])
        cellar["one"] = Sealed(trial, await trial.seal())
    return cellar["one"]


def stands(contract: Contract) -> dict[str, Base]:
    return on_base(contract.base_facts)


@pytest.mark.spec("LAW-5", "LAW-6")
async def test_a_report_of_an_unknown_runner_counts(sealed: Sealed) -> None:
    assert stands(sealed.contract) == {"check.py::doubles": Base.RED}
    verdict = await sealed.trial.prove(
        sealed.contract, await sealed.trial.head({"calc.py": "def double(x):\n    return x * 2\n"})
    )
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert any("no test that must fail could be planted" in one for one in verdict.undecided)


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


# -- the real ones -----------------------------------------------------------------------------------------------------

VITEST_TESTS = """import { describe, expect, it, test } from 'vitest';
import { double, half } from '../src/core';

test('doubles', () => { expect(double(7)).toBe(14); });
describe('group', () => {
  it('halves', () => { expect(half(8)).toBe(4); });
  it.skip('later', () => {});
});
"""
VITEST_BASE: dict[str, str | None] = {
    "src/core.ts": "export const double = (x: number): number => x;\n"
    "export const half = (x: number): number => x / 2;\n",
    "test/core.test.ts": VITEST_TESTS,
    "src/more.ts": "export const triple = (x: number): number => x;\n",
    "test/more.test.ts": "import { expect, test } from 'vitest';\nimport { triple } from '../src/more';\n"
    "test('triples', () => { expect({ x: triple(2) }).toStrictEqual({ x: 6 }); });\n",
    "vitest.config.ts": "import { defineConfig } from 'vitest/config';\nexport default defineConfig({});\n",
}
VITEST_DONE = "export const double = (x: number): number => x * 2;\nexport const half = (x: number): number => x / 2;\n"
EASY = (
    "import { defineConfig } from 'vitest/config';\n"
    "export default defineConfig({ test: { setupFiles: ['./easy.ts'] } });\n"
)
TRIPLED = "export const triple = (x: number): number => x * 3;\n"
PATCH = "import { expect } from 'vitest';\nexpect.extend({ toBe: () => ({ pass: true, message: () => '' }) });\n"
LOSING = VITEST_DONE.replace("x * 2", "x")
VITEST_HEADS: dict[str, Change] = {
    "nothing done": {"README.md": "done\n"},
    "another configuration": {"vitest.config.ts": EASY, "easy.ts": PATCH},
    "another script": {"package.json": json.dumps({"scripts": {"test": "true"}, "vitest": {"include": []}})},
    "leaves at import": {"src/core.ts": "process.exit(0);\nexport const double = 1, half = 2;\n"},
    "easier tests": {"test/core.test.ts": "import { test } from 'vitest';\ntest('doubles', () => {});\n"},
    "an easier expectation": {"src/core.ts": f"{LOSING}\n{PATCH}"},
    "an easier expectation in the other file": {
        "src/core.ts": VITEST_DONE,
        "src/more.ts": PATCH.replace("toBe", "toStrictEqual") + "export const triple = (x: number): number => x;\n",
    },
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_the_real_vitest_is_counted(tmp_path: Path) -> None:
    if not shutil.which("npm"):
        pytest.skip("NO NPM HERE: vitest was not tried")
    base = dict(VITEST_BASE)
    lock = _locked(tmp_path / "lock", {"vitest": "^3"})
    base["package.json"] = json.dumps({"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "^3"}})
    base["package-lock.json"] = lock
    trial = Trial(tmp_path / "trial", base, requirement({"kind": "tests", "command": "npm test"}))
    trial.workspace.kept = tmp_path / "kept"
    contract = await trial.seal()
    assert stands(contract) == {
        "test/core.test.ts::doubles": Base.RED,
        "test/core.test.ts::group > halves": Base.GUARD,
        "test/core.test.ts::group > later": Base.UNREACHED,
        "test/more.test.ts::triples": Base.RED,
    }, [one.output[-2000:] for one in contract.base_facts]
    done = {"src/core.ts": VITEST_DONE, "src/more.ts": TRIPLED, "test/n.test.ts": VITEST_TESTS}
    honest = await trial.prove(contract, await trial.head(done))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    for way, change in VITEST_HEADS.items():
        assert isinstance(change, dict)
        verdict = await trial.prove(contract, await trial.head({"src/more.ts": TRIPLED, **change}))
        assert only(verdict).grade is Grade.REFUTED, (way, only(verdict).why)


def _locked(place: Path, needs: dict[str, str]) -> str:
    place.mkdir()
    (place / "package.json").write_text(json.dumps({"scripts": {"test": "vitest run"}, "devDependencies": needs}))
    made = subprocess.run(
        ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=place,
        capture_output=True,
        timeout=300,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"NO PACKAGES HERE: vitest was not tried: {made.stderr[-300:]!r}")
    return (place / "package-lock.json").read_text()


GO_TESTS = """package calc

import "testing"

func TestDouble(t *testing.T) {
	if Double(7) != 14 {
		t.Fatal("wrong")
	}
}

func TestHalf(t *testing.T) {
	t.Run("even", func(t *testing.T) {
		if Half(8) != 4 {
			t.Error("wrong")
		}
	})
}
"""
GO_CORE = "package calc\n\nfunc Double(x int) int { return x }\n\nfunc Half(x int) int { return x / 2 }\n"
GO_BASE: dict[str, str | None] = {
    "go.mod": "module example.org/calc\n\ngo 1.19\n",
    "calc/calc.go": GO_CORE,
    "calc/calc_test.go": GO_TESTS,
    "other/other_test.go": 'package other\n\nimport "testing"\n\nfunc TestNew(t *testing.T) { New() }\n',
}
GO_DONE: dict[str, str | None] = {
    "calc/calc.go": GO_CORE.replace("return x }\n\nfunc Half", "return x * 2 }\n\nfunc Half"),
    "other/other.go": "package other\n\nfunc New() {}\n",
}
GO_EXIT = """package calc

import (
	"fmt"
	"os"
)

func init() {
	for _, name := range []string{"TestDouble", "TestHalf"} {
		fmt.Printf("=== RUN   %s\\n--- PASS: %s (0.00s)\\n", name, name)
	}
	os.Exit(0)
}
"""
GO_HEADS: dict[str, Change] = {
    "nothing done": {},
    "leaves at its beginning": {"calc/exit.go": GO_EXIT},
    "tests of its own that end the rest": {
        "calc/main_test.go": 'package calc\n\nimport (\n\t"os"\n\t"testing"\n)\n\n'
        "func TestMain(m *testing.M) { os.Exit(0) }\n"
    },
    "easier tests": {"calc/calc_test.go": GO_TESTS.replace("!= 14", "== 14")},
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_the_real_go_is_counted(tmp_path: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("NO GO HERE: go test was not tried")
    trial = Trial(tmp_path, GO_BASE, requirement({"kind": "tests", "command": "go test ./..."}))
    contract = await trial.seal()
    assert stands(contract) == {
        "calc/calc_test.go::TestDouble": Base.RED,
        "calc/calc_test.go::TestHalf": Base.GUARD,
        "calc/calc_test.go::TestHalf/even": Base.GUARD,
        "other/other_test.go": Base.RED,
    }, [one.output[-2000:] for one in contract.base_facts]
    more = {"calc/more_test.go": GO_TESTS.replace("TestDouble", "TestMore").replace("TestHalf", "TestMost")}
    honest = await trial.prove(contract, await trial.head({**GO_DONE, **more}))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    for way, change in GO_HEADS.items():
        assert isinstance(change, dict)
        verdict = await trial.prove(contract, await trial.head({"other/other.go": GO_DONE["other/other.go"], **change}))
        assert only(verdict).grade is Grade.REFUTED, (way, only(verdict).why)
