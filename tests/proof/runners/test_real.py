"""Counting tests of the real vitest, jest, mocha and go, and heads that attack them from inside."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial, only, stands
from trued.model import Grade
from trued.proof.verdict.case_status import Base


def requirement(command: str) -> list[dict[str, Any]]:
    return [{"id": "double", "text": "double(x) is twice x", "checks": [{"kind": "tests", "command": command}]}]


# -- vitest ------------------------------------------------------------------------------------------------------------

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
    "test/test-more.ts": "import { expect, test } from 'vitest';\nimport { triple } from '../src/more';\n"
    "test('triples', () => { expect({ x: triple(2) }).toStrictEqual({ x: 6 }); });\n",
    # An ES module, which Vite would first write into node_modules; and patterns that random names do not match.
    "vitest.config.mts": "import { defineConfig } from 'vitest/config';\nexport default defineConfig({ test: "
    "{ include: ['test/*.test.ts', 'test/test-*.ts'] } });\n",
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
    "another configuration": {"vitest.config.mts": EASY, "easy.ts": PATCH},
    "another script": {"package.json": json.dumps({"scripts": {"test": "true"}, "vitest": {"include": []}})},
    "leaves at import": {"src/core.ts": "process.exit(0);\nexport const double = 1, half = 2;\n"},
    "easier tests": {"test/core.test.ts": "import { test } from 'vitest';\ntest('doubles', () => {});\n"},
    "an easier expectation": {"src/core.ts": f"{LOSING}\n{PATCH}"},
    "an easier expectation in the other file": {
        "src/core.ts": VITEST_DONE,
        "src/more.ts": PATCH.replace("toBe", "toStrictEqual") + "export const triple = (x: number): number => x;\n",
    },
}


def below(folder: str, files: Mapping[str, str | None]) -> dict[str, str | None]:
    """The files with paths in this folder."""
    return {f"{folder}{path}": content for path, content in files.items()}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize(("folder", "command"), [("", "npm test"), ("web/", "npm --prefix web test")])
async def test_the_real_vitest_is_counted(tmp_path: Path, folder: str, command: str) -> None:
    if not shutil.which("npm"):
        pytest.skip("NO NPM HERE: vitest was not tried")
    base = dict(VITEST_BASE)
    lock = locked(tmp_path / "lock", {"vitest": "^3"})
    base["package.json"] = json.dumps({"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "^3"}})
    base["package-lock.json"] = lock
    trial = Trial(tmp_path / "trial", below(folder, base), requirement(command))
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    assert stands(contract) == {
        f"{folder}test/core.test.ts::doubles": Base.RED,
        f"{folder}test/core.test.ts::group > halves": Base.GUARD,
        f"{folder}test/core.test.ts::group > later": Base.UNREACHED,
        f"{folder}test/test-more.ts::triples": Base.RED,
    }, [one.output[-2000:] for one in contract.base_facts]
    done = {"src/core.ts": VITEST_DONE, "src/more.ts": TRIPLED, "test/n.test.ts": VITEST_TESTS}
    honest = await trial.prove(contract, await trial.head(below(folder, done)))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    for way, change in VITEST_HEADS.items():
        assert isinstance(change, dict)
        head = below(folder, {"src/more.ts": TRIPLED, **change})
        verdict = await trial.prove(contract, await trial.head(head))
        assert only(verdict).grade is Grade.REFUTED, (way, only(verdict).why)


def locked(place: Path, needs: dict[str, str]) -> str:
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


# -- jest and mocha ----------------------------------------------------------------------------------------------------

PLAIN_TESTS = """const assert = require('assert');
const { double } = require('../src/core.js');
describe('both', () => {
  it('doubles', () => { assert.strictEqual(double(7), 14); });
  it('runs', () => { assert.ok(true); });
});
"""
PLAIN_BASE: dict[str, str | None] = {
    "src/core.js": "exports.double = (x) => x;\n",
    "src/more.js": "exports.triple = (x) => x;\n",
    "test/core.test.js": PLAIN_TESTS,
    "test/more.test.js": "const assert = require('assert');\nconst { triple } = require('../src/more.js');\n"
    "it('triples', () => { assert.equal(triple(2), 6); });\n",
}
# Settings of a project that affect tests that must fail: stop at the first failure, other globals, chosen tests.
# Old versions of mocha name no files of tests, and without arguments they reject options that they do not know.
PLAIN_VERSIONS = [("jest", "^29"), ("mocha", "^10"), ("mocha", "^3")]
PLAIN_COMMANDS = {
    "jest": "npx jest --config conf/unit.config.js -t '[a-z]'",
    "mocha": "npx mocha --ui tdd --bail --exit --require ./setup.js -g '[a-z]' --recursive test",
}
PLAIN_SETTINGS: dict[str, dict[str, str | None]] = {
    "jest": {
        "conf/unit.config.js": "module.exports = { rootDir: '..', bail: true, moduleNameMapper: "
        "{ '^@/(.*)$': '<rootDir>/src/$1' } };\n",
        # Code under test may read `process.argv`, which must be that of the user's command.
        "test/core.test.js": PLAIN_TESTS.replace("../src/", "@/").replace(
            "assert.ok(true)", "assert.equal(process.argv.slice(2, 4).join(), '--config,conf/unit.config.js')"
        ),
    },
    "mocha": {
        "setup.js": "const strict = { get: (_, key) => { throw new Error(`no ${String(key)}`); } };\n"
        "globalThis.expect = () => new Proxy({}, strict);\n",
        ".mocharc.json": '{"parallel": true}',
        "test/core.test.js": PLAIN_TESTS.replace("describe(", "suite(").replace("it(", "test("),
        "test/more.test.js": str(PLAIN_BASE["test/more.test.js"]).replace("it(", "test("),
    },
}
PLAIN_DONE = {"src/core.js": "exports.double = (x) => x * 2;\n", "src/more.js": "exports.triple = (x) => x * 3;\n"}
PLAIN_PATCH = (
    "const a = require('assert');\nfor (const k of Object.keys(a)) "
    "if (typeof a[k] === 'function' && k !== 'AssertionError') a[k] = () => {};\nexports.triple = (x) => x;\n"
)


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize(("runner", "version"), PLAIN_VERSIONS)
async def test_the_real_jest_and_mocha_are_counted(tmp_path: Path, runner: str, version: str) -> None:
    if not shutil.which("npm"):
        pytest.skip(f"NO NPM HERE: {runner} was not tried")
    base = {**PLAIN_BASE, **PLAIN_SETTINGS[runner]}
    base["package-lock.json"] = locked(tmp_path / "lock", {runner: version})
    base["package.json"] = (tmp_path / "lock" / "package.json").read_text()
    bare = {"test/mocha.opts": "--ui tdd --require ./setup.js\n"} if version == "^3" else {}
    trial = Trial(tmp_path / "trial", {**base, **bare}, requirement("npx mocha" if bare else PLAIN_COMMANDS[runner]))
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    assert stands(contract) == {
        "test/core.test.js::both > doubles": Base.RED,
        "test/core.test.js::both > runs": Base.GUARD,
        "test/more.test.js::triples": Base.RED,
    }, [one.output[-2000:] for one in contract.base_facts]
    honest = await trial.prove(contract, await trial.head(PLAIN_DONE))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    forged = await trial.prove(contract, await trial.head({**PLAIN_DONE, "src/more.js": PLAIN_PATCH}))
    assert only(forged).grade is Grade.REFUTED, only(forged).why


# -- go ----------------------------------------------------------------------------------------------------------------

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
    # A build tag that the command sets, a test for each system, and a test that does not use its `t`.
    "tags/tags.go": "package tags\n",
    "tags/tags_test.go": '//go:build extra\n\npackage tags_test\n\nimport (\n\t"testing"\n\n'
    '\t"example.org/calc/tags"\n)\n\n'
    "func TestLate(_ *testing.T) { tags.Late() }\n",
    "calc/os_darwin_test.go": GO_TESTS.replace("TestDouble", "TestOs").replace("TestHalf", "TestHere"),
    "calc/os_linux_test.go": GO_TESTS.replace("TestDouble", "TestOs").replace("TestHalf", "TestHere"),
    "apart/go.mod": "module example.org/apart\n\ngo 1.19\n",
    "apart/apart_test.go": 'package apart\n\nimport "testing"\n\nfunc TestApart(t *testing.T) {}\n',
}
GO_COMMAND = "go test -tags extra -failfast -run 'Test[A-Z]' ./... -args -test.v"
GO_DONE: dict[str, str | None] = {
    "calc/calc.go": GO_CORE.replace("return x }\n\nfunc Half", "return x * 2 }\n\nfunc Half"),
    "other/other.go": "package other\n\nfunc New() {}\n",
    "tags/tags.go": "package tags\n\nfunc Late() int { return 1 }\n",
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


@pytest.fixture(scope="module")
def go_kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the compiled standard library is kept, so that only the first trial compiles it."""
    return tmp_path_factory.mktemp("go")


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_the_real_go_is_counted(tmp_path: Path, go_kept: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("NO GO HERE: go test was not tried")
    trial = Trial(tmp_path, GO_BASE, requirement(GO_COMMAND))
    trial.workspace.environments = go_kept
    contract = await trial.seal()
    assert stands(contract) == {
        "calc/calc_test.go::TestDouble": Base.RED,
        "calc/calc_test.go::TestHalf": Base.GUARD,
        "calc/calc_test.go::TestHalf/even": Base.GUARD,
        "calc/os_darwin_test.go::TestOs": Base.RED,
        "calc/os_darwin_test.go::TestHere": Base.GUARD,
        "calc/os_darwin_test.go::TestHere/even": Base.GUARD,
        "other/other_test.go": Base.RED,
        "tags/tags_test.go": Base.RED,
    }, [one.output[-2000:] for one in contract.base_facts]
    more = {"calc/more_test.go": GO_TESTS.replace("TestDouble", "TestMore").replace("TestHalf", "TestMost")}
    honest = await trial.prove(contract, await trial.head({**GO_DONE, **more}))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    for way, change in GO_HEADS.items():
        assert isinstance(change, dict)
        rest = {path: text for path, text in GO_DONE.items() if path != "calc/calc.go"}
        verdict = await trial.prove(contract, await trial.head({**rest, **change}))
        assert only(verdict).grade is Grade.REFUTED, (way, only(verdict).why)


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-6")
async def test_what_panics_on_the_base_is_red_and_on_the_head_refuted(tmp_path: Path, go_kept: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("NO GO HERE: go test was not tried")
    later = GO_CORE.replace("{ return x }", '{ panic("not implemented") }')
    base: dict[str, str | None] = {
        "go.mod": GO_BASE["go.mod"],
        "calc/calc.go": later,
        "calc/calc_test.go": GO_TESTS,
    }
    trial = Trial(tmp_path, base, requirement("go test ./..."))
    trial.workspace.environments = go_kept
    contract = await trial.seal()
    assert stands(contract)["calc/calc_test.go::TestDouble"] is Base.RED, stands(contract)
    honest = await trial.prove(contract, await trial.head({"calc/calc.go": GO_DONE["calc/calc.go"]}))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    still = await trial.prove(contract, await trial.head({"calc/calc.go": later + "\nfunc More() {}\n"}))
    assert only(still).grade is Grade.REFUTED, only(still).why


# -- new modules -------------------------------------------------------------------------------------------------------

NEW_TESTS = {
    "vitest": (
        "import { expect, test } from 'vitest';\nimport { triple } from '../src/triple.js';\n"
        "test('triples', () => { expect(triple(2)).toBe(6); });\n"
    ),
    "jest": "const { triple } = require('../src/triple.js');\ntest('triples', () => { expect(triple(2)).toBe(6); });\n",
    "mocha": (
        "const assert = require('assert');\nconst { triple } = require('../src/triple.js');\n"
        "it('triples', () => { assert.equal(triple(2), 6); });\n"
    ),
}
OLD_TESTS = {
    "vitest": "import { expect, test } from 'vitest';\ntest('old', () => { expect(1).toBe(1); });\n",
    "jest": "test('old', () => { expect(1).toBe(1); });\n",
    "mocha": "it('old', () => {});\n",
}


@pytest.mark.slow
@pytest.mark.spec("DAY-1", "LAW-5")
@pytest.mark.parametrize("runner", ["vitest", "jest", "mocha"])
async def test_a_test_file_of_a_new_module_is_red_on_the_base_and_its_work_self_tested(
    tmp_path: Path, runner: str
) -> None:
    needs = {"vitest": {"vitest": "^3"}, "jest": {"jest": "^29"}, "mocha": {"mocha": "^11"}}[runner]
    ending = "mjs" if runner == "vitest" else "js"
    base = {
        "package.json": json.dumps({"scripts": {"test": "x"}, "devDependencies": needs}),
        "package-lock.json": locked(tmp_path / "lock", needs),
        f"test/old.test.{ending}": OLD_TESTS[runner],
    }
    new = f"test/triple.test.{ending}"
    command = {"vitest": "npx vitest run", "jest": "npx jest", "mocha": "npx mocha"}[runner]
    check = {"kind": "tests", "command": command, "files": [new]}
    trial = Trial(tmp_path / "trial", base, [{"id": "r", "text": "triple(2) is 6", "checks": [check]}])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    head: dict[str, str | None] = {new: NEW_TESTS[runner], "src/triple.js": "exports.triple = (x) => 3 * x;\n"}
    verdict = await trial.prove(contract, await trial.head(head))
    assert only(verdict).grade is Grade.SELF_TESTED, (only(verdict).why, [one.tried for one in verdict.evidence])
    assert verdict.holds
    liar = await trial.prove(contract, await trial.head({new: NEW_TESTS[runner]}))
    assert (liar.grade, liar.holds) == (Grade.UNPROVEN, False)
    assert liar.gaps
