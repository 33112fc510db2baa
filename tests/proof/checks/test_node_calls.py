"""Functions of Node modules: each call has its own process, and the engine compares the answer as data."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import CallCase, Contract, ExamplesCheck, Grade, Verdict
from trued.proof.checks.examples import case_flaw, run_examples
from trued.proof.room import node
from trued.proof.room.bench import CaseSelection
from trued.proof.room.clean_room import clean_room
from trued.proof.room.interpreter import find_interpreter

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no Node on the path")
BASE: dict[str, str | None] = {"README.md": "x\n", "package.json": '{"type": "module", "name": "kit"}\n'}


def cases(*listed: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "it", "text": "it works", "checks": [{"kind": "examples", "cases": list(listed)}]}]


def returns(name: str, value: Any, *args: Any, **more: Any) -> dict[str, Any]:
    return {"call": f"src/kit.js:{name}", "args": list(args), "returns": value, **more}


def shown(verdict: Verdict) -> dict[str, tuple[str, str]]:
    """Case → kind and detail of its last run."""
    return {one.id: (one.kind, one.detail) for fact in verdict.evidence for one in fact.tried}


KINDS = """
export const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
export const add = async (a, b) => { await new Promise((done) => setTimeout(done, 5)); return a + b; };
export const nothing = () => undefined;
export const sparse = () => ({ a: 1, b: undefined, c: [undefined, null] });
export const big = () => [2n ** 70n, 2n ** 70n + 1n];
export const odd = () => [NaN, -Infinity, -0, 1e21, 0.1];
export const map = () => new Map([["a", [1]], [2, true]]);
export const set = (given) => new Set([...given, 3]);
export const date = () => new Date(0);
export const bytes = (given) => Buffer.from([...given].reverse());
export const floats = () => [new Float64Array([1, 2.5, NaN]), new BigInt64Array([-1n]), new Uint8ClampedArray(1)];
class Point { #hidden = 1; x = 1; y = 2; toJSON() { return "forged"; } get norm() { return 3; } }
export const point = () => new Point();
export const lazy = function* () { yield 1; yield "b"; };
export class TooLong extends RangeError {}
export const strict = (text) => { if (text.length > 3) throw new TooLong(text); return text; };
export const sort = (list) => list.sort();
export const sorted = (list) => [...list].sort();
export const tools = { twice(n) { return this.times * n; }, times: 2 };
export default (n) => n + 1;
"""


EVERYTHING = """
import * as kit from "./kinds.js";
const caught = (call) => { try { return call(); } catch (error) { return error; } };
export const everything = async (given) => [
  kit.slug("Foo & Bar 42"), await kit.add(2, 3), kit.nothing(), kit.sparse(), kit.big(), kit.odd(), kit.map(),
  kit.set(given[0]), kit.date(), kit.bytes(given[1]), kit.floats(), kit.point(), kit.lazy(), kit.tools.twice(4),
  caught(() => kit.strict("long")), kit.slug, Symbol("x"), /a/g, new String("a"), new Proxy({}, {}),
  new ArrayBuffer(1), [class undefined extends Error {}].map((Kind) => new Kind())[0],
  Object.assign(Object.create(Error.prototype), { constructor: { name: "Date 1" } }),
];
"""
BIG = [{"$object": f"BigInt {2**70}"}, 2**70 + 1]
TYPED = [{"$object": f"{one}"} for one in ("Float64Array 1,2.5,nan", "BigInt64Array -1", "Uint8ClampedArray 0")]
ALL = [
    *("foo-bar-42", 5, None, {"a": 1, "c": [None, None]}, BIG, [{"$float": "nan"}, {"$float": "-inf"}, 0, 1e21, 0.1]),
    *({"a": [1], "2": True}, {"$set": [3, 1, 2]}, {"$object": "Date 1970-01-01T00:00:00.000Z"}, {"$bytes": "cba"}),
    *(TYPED, {"x": 1, "y": 2}, {"$iterator": [1, "b"]}, 8, {"$object": "TooLong"}, {"$object": "function"}),
    *({"$object": "symbol"}, {"$object": "RegExp /a/g"}, {"$object": "String"}, {"$object": "Proxy"}),
    *({"$object": "ArrayBuffer"}, {"$object": "[object undefined]"}),
    {"$object": "[object Date 1]"},
]


@pytest.mark.spec("LAW-5", "LAW-7")
@pytest.mark.slow
async def test_values_of_node_are_compared_by_what_they_are(tmp_path: Path) -> None:
    asked = cases(
        {"call": "src/all.js:everything", "args": [[{"$set": [1, 2]}, {"$bytes": "abc"}]], "returns": ALL},
        returns("sort", [1, 2], [2, 1], args_after=[[1, 2]]),
        returns("default", 2, 1),
        {"call": "src/kit.js:strict", "args": ["long"], "raises": "RangeError"},
    )
    trial = Trial(tmp_path, BASE, asked)
    contract = await trial.seal()
    assert {one.kind for fact in contract.base_facts for one in fact.tried} == {"missing"}
    files = {"src/kit.js": KINDS, "src/kinds.js": KINDS, "src/all.js": EVERYTHING}
    verdict = await trial.prove(contract, await trial.head(files))
    assert only(verdict).grade is Grade.PROVEN, (only(verdict).why, shown(verdict))
    found = node.find_node()
    assert found is not None
    assert {fact.versions.get("node") for fact in verdict.evidence} == {found.version}


@pytest.mark.spec("LAW-6", "LAW-7")
async def test_what_differs_is_told_by_its_kind(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {**BASE, "src/kit.js": KINDS}, cases(returns("slug", "a", "a")))
    wrong = {
        "returned": returns("date", "1970-01-01T00:00:00.000Z"),
        "raised": returns("strict", "long", "long"),
        "raised another error": {"call": "src/kit.js:strict", "args": ["long"], "raises": "TypeError"},
        "did not raise": {"call": "src/kit.js:strict", "args": ["a"], "raises": "TooLong"},
        "arguments changed": returns("sort", [1, 2], [2, 1]),
        "missing": returns("tools", 1),
    }
    await trial.workspace.begin()
    check = ExamplesCheck.model_validate({"cases": list(wrong.values())})
    contract = Contract(base=trial.workspace.base, requirements=())
    async with clean_room(trial.workspace, contract, contract.base, await find_interpreter()) as (bench, _):
        fact = await run_examples(check, bench, CaseSelection())
    assert [one.kind for one in fact.tried] == list(wrong)


LIKE_OTHERS = {
    "whole": "120n",
    "list": "new Float64Array([1, 2])",
    "set": "new (class extends Set { has() { return false; } })([1])",
    "map": "new (class extends Map { get() {} })([['a', 1]])",
    "row": "new (class extends Array { map() { return []; } })(1, 2)",
    "own": "Object.assign([1, 2], { forEach() {} })",
    "entries": "Object.assign(new Map([['a', 1]]), { get() {} })",
    "looks": "((looks) => ({ get a() { return looks++ ? 0 : 1; } }))(0)",
    "item": "((looks) => Object.defineProperty([1, 2], 1, { get: () => (looks++ ? 0 : 2), enumerable: true }))(0)",
}
HONEST_HEIRS = {
    "whole": "120",
    "list": "new (class extends Array { last() { return 2; } })(1, 2)",
    "set": "new (class extends Set { add(one) { return super.add(one); } sum() { return 1; } })([1])",
    "map": "new (class extends Map { set(name, one) { return super.set(name, one); } })([['a', 1]])",
    "row": "/(1)(2)/.exec('12').slice(1).map(Number)",
    "own": "vm.runInNewContext('[1, 2]')",
    "entries": "vm.runInNewContext('new Map([[\"a\", 1]])')",
    "looks": "Object.assign(new (class { #c = 3; get b() { return this.#c; } })(), { a: 1 })",
    "item": "Object.freeze([1, 2])",
}
EXPECTED: dict[str, Any] = {
    **{"whole": 120, "list": [1, 2], "set": {"$set": [1]}, "map": {"a": 1}, "row": [1, 2], "own": [1, 2]},
    **{"entries": {"a": 1}, "looks": {"a": 1}, "item": [1, 2]},
}


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_a_value_that_is_not_read_like_a_number_or_list_is_none(tmp_path: Path) -> None:
    texts = [
        "".join(f"export const {one} = () => {how};\n" for one, how in each.items())
        for each in (LIKE_OTHERS, HONEST_HEIRS)
    ]
    base = {**BASE, "src/kit.js": texts[0], "src/honest.js": f"import vm from 'node:vm';\n{texts[1]}"}
    trial = Trial(tmp_path, base, cases(returns("whole", 120)))
    await trial.workspace.begin()
    check = ExamplesCheck.model_validate(
        {
            "cases": [
                *(returns(one, value) for one, value in EXPECTED.items()),
                *({**returns(one, value), "call": f"src/honest.js:{one}"} for one, value in EXPECTED.items()),
            ]
        }
    )
    contract = Contract(base=trial.workspace.base, requirements=())
    async with clean_room(trial.workspace, contract, contract.base, await find_interpreter()) as (bench, _):
        fact = await run_examples(check, bench, CaseSelection())
    assert [one.kind for one in fact.tried] == ["returned"] * 9 + [""] * 9, fact.tried
    assert [one.detail for one in fact.tried[:2]] == ["returned <BigInt 120>", "returned <Float64Array 1,2>"]


COMMON = "const helper = require('./helper');\nmodule.exports = { twice: (n) => helper(n) * 2 };\n"


async def test_commonjs_is_called_too_and_its_files_are_known(tmp_path: Path) -> None:
    base: dict[str, str | None] = {
        "package.json": "{}\n",
        "lib/index.cjs": COMMON,
        "lib/helper.js": "module.exports = (n) => n;\n",
    }
    requirement = cases({"call": "lib/index.cjs:twice", "args": [2], "returns": 4})[0]
    trial = Trial(tmp_path, base, [{**requirement, "keep": True}])
    contract = await trial.seal()
    better = await trial.head({"lib/helper.js": "module.exports = (n) => Number(n);\n"})
    assert only(await trial.prove(contract, better)).grade is Grade.PROVEN
    other = await trial.head({"README.md": "words\n"})
    assert only(await trial.prove(contract, other)).grade is Grade.UNPROVEN


async def test_a_package_that_is_not_installed_is_named_and_nothing_is_judged(tmp_path: Path) -> None:
    source = 'import pad from "left-pad";\nexport const slug = (text) => pad(text, 3);\n'
    base = {**BASE, "src/kit.js": source}
    verdict = await Trial(tmp_path, base, cases(returns("slug", "a-b", "A b"))).verdict(
        {"src/kit.js": source + "// changed\n"}
    )
    assert only(verdict).grade is Grade.UNJUDGED
    assert {kind for kind, _ in shown(verdict).values()} == {"module left-pad"}


LONGER = ("never comes back", "never settles", "answers twice", "fails in the background")
HOSTILE = {
    "overrides the language": """
Object.is = () => true; JSON.stringify = () => '{"returned":[11,"3"],"args":[1,1,0,0],"kwargs":[5,0]}';
Array.prototype.toJSON = Object.prototype.toJSON = () => 3; Array.isArray = () => false; String = () => "3";
Array.prototype.push = () => 0; process.stdout.write = process.send = () => true;
Object.defineProperty(Object.prototype, "f", { value: "3" });
export const sum = (list) => ({ valueOf: () => 3, toString: () => "3", [Symbol.toPrimitive]: () => 3 });
""",
    "leaves before it can be asked": "export const sum = () => process.exit(0);\n",
    "never comes back": "export const sum = () => { for (;;); };\n",
    "never settles": "export const sum = () => new Promise(() => {});\n",
    "answers twice": """
import fs from "node:fs";
export const sum = () => { fs.writeSync(4, '{"returned":[11,"3"],"args":[1,1,0,0],"kwargs":[5,0]}\\n'); return 4; };
""",
    "fails in the background": "export const sum = () => { Promise.reject(1); return new Promise(() => {}); };\n",
    "looks for the engine's channel": """
import fs from "node:fs";
export const sum = () => {
  let found = 0;
  const parent = process.ppid;
  for (const place of [`/proc/${parent}/environ`, `/proc/${parent}/mem`, `/proc/${parent}/fd/0`]) {
    try { found += fs.openSync(place, "r"); } catch {}
  }
  return found === 0 && process.env.TRUED_CHANNEL === undefined ? "hidden" : "seen";
};
""",
}


@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.parametrize(
    "how", [pytest.param(one, marks=[pytest.mark.slow] if one in LONGER else []) for one in HOSTILE]
)
@pytest.mark.many(1)
async def test_a_hostile_module_cannot_answer_for_the_engine(tmp_path: Path, how: str) -> None:
    asked = cases(returns("sum", 3, [1, 2], within_s=10 if how.startswith("looks") else 1))
    verdict = await Trial(tmp_path, BASE, asked).verdict({"src/kit.js": HOSTILE[how]})
    assert only(verdict).grade is Grade.REFUTED
    if how.startswith("looks"):
        assert {detail for _, detail in shown(verdict).values()} == {"returned 'hidden'"}


@pytest.mark.parametrize(
    ("call", "args", "why"),
    [
        ("../kit.js:slug", [], "does not name a function"),
        ("/kit.js:slug", [], "does not name a function"),
        ("kit.js:a-b", [], "does not name a function"),
        ("kit.js:slug", [{"$tuple": [1]}], "not a kind of value in Node"),
    ],
)
def test_a_call_that_node_cannot_be_asked_for_is_broken(call: str, args: Any, why: str) -> None:
    assert why in case_flaw(CallCase(call=call, args=tuple(args), returns=1))
