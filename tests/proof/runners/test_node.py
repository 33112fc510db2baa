"""Counting tests of Node's runner: ids, groups, skips, scripts of package.json, heads that attack it from inside."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Cellar, Change, Sealed, Trial, only, stands
from trued.model import Grade
from trued.proof.runners.made_to_fail import failing_go, failing_javascript
from trued.proof.runners.node import TYPED, loaded_endings, node_test_files
from trued.proof.text.command_parser import node_options, recognise_runner
from trued.proof.verdict.case_status import Base

HONEST = "exports.double = (x) => x * 2;\nexports.half = (x) => Math.floor(x / 2);\n"
NOTHING = "exports.double = (x) => { throw new Error('later'); };\nexports.half = (x) => Math.floor(x / 2);\n"
TESTS = """'use strict';
const { test, describe, it } = require('node:test');
const assert = require('node:assert');
const { double, half } = require('../src/core.js');

test('doubles', () => { assert.strictEqual(double(7), 14); });
test('halves', async () => { assert.strictEqual(half(8), 4); });
test.skip('later', () => {});
test('some day', { todo: true }, () => { throw new Error('not yet'); });
describe('both', () => {
  it('cancel out', function () { assert.equal(half(double(4)), 4); });
  it('"quoted" ü', () => { assert.ok(true); });
});
"""
EXTRA = """import test from 'node:test';
import assert from 'node:assert/strict';
import { triple } from '../src/extra.mjs';

test('triples', () => { assert.equal(triple(2), 6); });
"""
PLAIN = "const assert = require('assert');\nassert.equal(require('../src/core.js').half(6), 3);\n"
SCRIPTS = {"name": "calc", "scripts": {"test": "node --test test/"}}
BASE: dict[str, str | None] = {
    "package.json": json.dumps(SCRIPTS),
    "src/core.js": NOTHING,
    "test/core.test.js": TESTS,
    "test/extra.test.mjs": EXTRA,
    "test/plain.test.js": PLAIN,
}
DONE: dict[str, str | None] = {"src/core.js": HONEST, "src/extra.mjs": "export const triple = (x) => x * 3;\n"}


def requirement(**check: Any) -> list[dict[str, Any]]:
    given = {"kind": "tests", "command": "npm test", **check}
    return [{"id": "double", "text": "double(x) is twice x", "checks": [given]}]


@pytest.fixture
async def sealed(cellar: Cellar) -> Sealed:
    return await cellar.sealed("node", BASE, requirement())


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-6")
async def test_every_test_has_an_id_and_a_place(sealed: Sealed) -> None:
    assert stands(sealed.contract) == {
        "test/core.test.js::doubles": Base.RED,
        "test/core.test.js::halves": Base.GUARD,
        "test/core.test.js::later": Base.UNREACHED,
        "test/core.test.js::some day": Base.UNREACHED,
        "test/core.test.js::both > cancel out": Base.RED,
        'test/core.test.js::both > "quoted" ü': Base.GUARD,
        "test/extra.test.mjs": Base.RED,
        "test/plain.test.js": Base.GUARD,
    }
    verdict = await sealed.trial.prove(sealed.contract, await sealed.trial.head(DONE))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert any("according to the base's package.json" in one for one in verdict.undecided)
    assert not any(one.startswith("no check runs") for one in verdict.undecided)


FAKE = "TAP version 13\\nok 1 - doubles\\n1..1\\n"
FIGHTING: dict[str, Change] = {
    "nothing done": {},
    "leaves at import": {"src/core.js": "process.exit(0);\n"},
    "prints results": {"src/core.js": f"process.stdout.write('{FAKE}');\n{NOTHING}"},
    "prints results and leaves": {"src/core.js": f"process.stdout.write('{FAKE}');\nprocess.exit(0);\n"},
    "patches node:test": {
        "src/core.js": f"{NOTHING}const t = require('node:test');\n"
        "for (const k of ['test', 'it']) { const o = t[k]; t[k] = (n, f) => o(n, () => {}); }\n"
        "require('module').syncBuiltinESMExports();\n"
    },
    "patches assert": {
        "src/core.js": "const a = require('node:assert');\nfor (const k of Object.keys(a)) "
        "if (typeof a[k] === 'function' && k !== 'AssertionError') a[k] = () => {};\n"
        "exports.double = () => 0;\nexports.half = (x) => Math.floor(x / 2);\n"
    },
    "patches assert when it is called": {
        "src/core.js": "const a = require('node:assert');\nconst ease = () => { for (const k of Object.keys(a)) "
        "if (typeof a[k] === 'function' && k !== 'AssertionError') a[k] = () => {}; return 14; };\n"
        "exports.double = ease;\nexports.half = (x) => Math.floor(x / 2);\n"
    },
    "patches assert in the other file": {
        "src/core.js": HONEST,
        "src/extra.mjs": "import a from 'node:assert/strict';\nfor (const k of Object.keys(a)) "
        "if (typeof a[k] === 'function' && k !== 'AssertionError') a[k] = () => {};\nexport const triple = () => 0;\n",
    },
    "ends the process later": {"src/core.js": f"{NOTHING}setTimeout(() => process.exit(0), 1);\n"},
    "ends the process when it fails": {
        "src/core.js": "exports.double = () => process.exit(0);\nexports.half = (x) => Math.floor(x / 2);\n"
    },
    "another script": {"package.json": json.dumps({"scripts": {"test": "echo ok"}})},
    "options for node": {".npmrc": "node-options=--require ./easy.js\n", "easy.js": "process.exit(0)\n"},
    "easier tests": {"test/core.test.js": "require('node:test').test('doubles', () => {});\n"},
    "no tests": {"test/core.test.js": None, "test/extra.test.mjs": None},
}


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.slow
@pytest.mark.parametrize("way", FIGHTING)
async def test_no_head_talks_node_into_a_pass(sealed: Sealed, way: str) -> None:
    change = FIGHTING[way]
    assert isinstance(change, dict)
    head = await sealed.trial.head({"src/extra.mjs": DONE["src/extra.mjs"], **change})
    verdict = await sealed.trial.prove(sealed.contract, head)
    assert only(verdict).grade is Grade.REFUTED, only(verdict).why


SHORT = """'use strict';
const { double, half } = require('../src/core.js');
const { test, it } = require('node:test');
const assert = require('node:assert');
test('doubles', () => assert.strictEqual(double(7), 14));
it('halves', async () =>
  assert.strictEqual(await half(8), 4));
"""


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("short", [False, True])
async def test_a_head_that_reports_for_known_names_only_is_caught_by_the_copy(sealed: Sealed, short: bool) -> None:
    """The head knows the titles of the tests; tests with random titles run unchanged."""
    forged = (
        f"{NOTHING}const t = require('node:test');\nconst known = /doubles|halves|cancel|quoted|triples/;\n"
        "for (const k of ['test', 'it']) { const o = t[k]; t[k] = Object.assign((n, ...f) => "
        "known.test(n) ? o(n, () => {}) : o(n, ...f), o); }\n"
    )
    early = TESTS.replace("const { test", "const { double, half } = require('../src/core.js');\nconst { test", 1)
    base = {
        **BASE,
        "test/core.test.js": early.replace("\nconst { double, half } = require('../src/core.js');\n\n", "\n"),
        **({"test/core.test.js": SHORT} if short else {}),
    }
    trial = Trial(sealed.trial.place / f"forged{short}", base, requirement(command="node --test test/core.test.js"))
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"src/core.js": forged}))
    assert only(verdict).grade is Grade.REFUTED
    assert any("a copy of" in one.why_void for one in verdict.evidence), [one.why_void for one in verdict.evidence]
    honest = await trial.prove(contract, await trial.head({"src/core.js": HONEST}))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    assert not [one for one in honest.undecided if "forged" in one]


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_a_head_may_change_the_kind_of_its_modules(tmp_path: Path) -> None:
    """The scripts of package.json come from the base; its `type` comes from the head."""
    base = {"package.json": json.dumps(SCRIPTS), "test/a.test.mjs": EXTRA.replace("extra.mjs", "extra.js")}
    trial = Trial(tmp_path, base, requirement(command="npm test -- --test-reporter=spec"))
    contract = await trial.seal()
    manifest = json.dumps({"name": "calc", "type": "module", "scripts": {"test": "true"}})
    done = {"package.json": manifest, "src/extra.js": "export const triple = (x) => x * 3;\n"}
    verdict = await trial.prove(contract, await trial.head(done))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_tests_chosen_by_name_and_scripts_that_end_themselves_are_counted(tmp_path: Path) -> None:
    """Tests that must fail are chosen by the name, too, and run before the script exits."""
    ends = "let wrong = 0;\ntry { assert.equal(double(7), 14); } catch { wrong += 1; }\nprocess.exit(wrong ? 1 : 0);\n"
    head = TESTS.partition("test('doubles'")[0]
    base = {**BASE, "test/extra.test.mjs": None, "test/plain.test.js": head.replace("node:test", "node:path") + ends}
    base = {path: text for path, text in base.items() if text is not None}
    command = "node --test --test-name-pattern=doubles test/"
    trial = Trial(tmp_path, base, requirement(command=command))
    contract = await trial.seal()
    red = [name for name, stood in stands(contract).items() if stood is Base.RED]
    assert red == ["test/core.test.js::doubles", "test/plain.test.js"]
    verdict = await trial.prove(contract, await trial.head({"src/core.js": HONEST}))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    verdict = await trial.prove(contract, await trial.head(_plain(FIGHTING["patches assert"])))
    assert only(verdict).grade is Grade.REFUTED, only(verdict).why


def _plain(change: Change) -> Change:
    assert isinstance(change, dict)
    return change


@pytest.mark.spec("LAW-6")
def test_files_are_found_as_node_finds_them() -> None:
    known = ["a.test.js", "lib/b-test.mjs", "test/deep/c.js", "test/d.json", "src/e.js", "node_modules/f.test.js"]
    known += ["tests/g.test.cjs", "tests/h.js", "test.js", "src/test-i.js"]
    every = ["a.test.js", "lib/b-test.mjs", "src/test-i.js", "test.js", "test/deep/c.js", "tests/g.test.cjs"]
    assert node_test_files(known, []) == every
    assert node_test_files(known, ["tests/"]) == ["tests/g.test.cjs"]
    assert node_test_files(known, ["src/e.js"]) == ["src/e.js"]
    assert node_test_files(known, ["**/*.test.*js"]) == ["a.test.js", "tests/g.test.cjs"]
    assert node_test_files(known, ["*.js"]) == ["a.test.js", "test.js"]


@pytest.mark.spec("LAW-6")
def test_a_test_is_made_to_fail_where_its_body_begins() -> None:
    made = failing_javascript(TESTS)
    assert made.titles == ("doubles", "halves", "some day", "cancel out", '"quoted" ü')
    assert made.content.count('throw new Error("a copy that must fail")') == 5
    short = failing_javascript(
        "test('a', () => one() ?? two());\ntest('b', async (t) =>\n  await one());\nit('c', () => ({ one }));\n"
        "test('d', one);\ntest('e', x => () => x);\ntest('f', () => x = 1);\n"
    )
    assert short.titles == ("a", "b", "c", "e", "f")
    assert short.content.count('"a copy that must fail".length ? (() =>') == 5
    other = failing_go("func TestA(t *testing.T) {\n}\nfunc TestB(_ *testing.T) {}\nfunc helper(t *testing.T) {}\n")
    assert other.titles == ("TestA", "TestB")
    assert 't.Fatal("a copy that must fail")' in other.content
    # the parameter gets a name: a panic would end the package's other tests
    assert "func TestB(failing *testing.T) {" in other.content


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("command", "endings"),
    [
        ("node --test", ()),
        ("node --test test/*.ts", ()),
        ("node --import tsx --test", TYPED),
        ("node --import=tsx/esm --test test/", TYPED),
        ("node -r ts-node/register --test", TYPED),
        ("npx tsx --test --tsconfig tsconfig.test.json src/", TYPED),
        ("node --import ./set-up.mjs --test", ()),
        ("node --import ./set-up.mjs --test 'test/*.test.mts'", (".mts",)),
        ("node -r ./tsx-like.js --test", ()),
    ],
)
def test_typescript_is_run_by_the_loader_that_the_command_names(command: str, endings: tuple[str, ...]) -> None:
    asked = recognise_runner(command)
    assert asked is not None
    assert asked.runner == "node"
    assert loaded_endings(*node_options(asked.arguments)) == endings


HOOKS = """
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const source = fs.readFileSync(fileURLToPath(url), 'utf8').replace(/: (number|unknown)/g, '');
  return { format: 'module', shortCircuit: true, source };
}
"""
LOADED: dict[str, str | None] = {
    "package.json": json.dumps(
        {"type": "module", "scripts": {"test": "node --import ./load.mjs --test test/*.test.ts"}}
    ),
    "hooks.mjs": HOOKS,
    "load.mjs": "import { register } from 'node:module';\nregister('./hooks.mjs', import.meta.url);\n",
    "src/core.ts": "export const double = (x: number) => { throw new Error('later'); };\n",
    "test/core.test.ts": """import test from 'node:test';
import assert from 'node:assert/strict';
import { double } from '../src/core.ts';
const seven: number = 7;
test('doubles', () => assert.equal(double(seven), 14));
""",
}
EMPTIED = HOOKS.replace("const source =", "const source = url.includes('test/') ? \"import 'node:test'\" :")


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_tests_in_typescript_are_counted_with_the_bases_loader(tmp_path: Path) -> None:
    trial = Trial(tmp_path, LOADED, requirement())
    contract = await trial.seal()
    assert {one.id for fact in contract.base_facts for one in fact.tried} == {"test/core.test.ts::doubles"}
    forged = "import assert from 'node:assert/strict';\nassert.equal = () => {};\nexport const double = () => 1;\n"
    done, hooked, patched = await trial.judged(
        contract,
        {"src/core.ts": "export const double = (x: number) => x * 2;\n"},
        {"hooks.mjs": EMPTIED},
        {"src/core.ts": forged},
    )
    assert done.grade is Grade.TESTED, done.why
    assert hooked.grade is Grade.REFUTED, hooked.why
    assert patched.grade is Grade.REFUTED, patched.why
