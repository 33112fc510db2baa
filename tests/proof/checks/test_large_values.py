"""Large, deep and odd values: an honest head is not refused for their size, and no lie can hide in them."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import CallCase, Grade, HttpCase, RunCase, Verdict
from trued.proof.checks.examples import case_flaw
from trued.proof.checks.values import DEEPEST_WISH, MOST_WISHED

BASE: dict[str, str | None] = {"README.md": "x\n", "package.json": '{"type": "module", "name": "kit"}\n'}
MANY = [one * 7919 % 100_003 for one in range(20_000)]
ODD = [{"$float": "nan"}, {"$float": "inf"}, {"$float": "-inf"}, -0.0, 2**70, 1e300, -1]
HONEST = {
    "python": """
def double(numbers): return [one * 2 for one in numbers]
def total(numbers, more=()): return sum(numbers) + len(more)
def same(value): return value
def deep(depth):
    value = []
    for _ in range(depth): value = [value]
    return value
""",
    "node": """
export const double = (numbers) => numbers.map((one) => one * 2);
export const total = (numbers, more) => numbers.reduce((one, two) => one + two, 0) + (more?.length ?? 0);
export const same = (value) => value;
export const deep = (depth) => {
  let value = [];
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};
""",
}
# Wrong implementations of `double`, in Python and in Node.
LIES = {
    "the last element is another": ("made[-1] = 0", "made[made.length - 1] = 0;"),
    "one in the middle is not a number": ("made[15_000] = float('nan')", "made[15000] = NaN;"),
    "an argument is changed far behind": ("numbers[19_999] = 0", "numbers[19999] = 0;"),
    "it contains itself": ("made.append(made)", "made.push(made);"),
    "an argument contains itself": ("numbers[0] = numbers", "numbers[0] = numbers;"),
    "it is ten thousand levels deep": (
        "for _ in range(10_000): made = [made]",
        "for (let level = 0; level < 10000; level += 1) made = [made];",
    ),
    "it never ends": ("made = iter_for_ever()", "made = forEver();"),
    "it is larger than anything that can be compared": (
        "made = 'x' * (200 << 20)",
        "made = 'x'.repeat(200 * 2 ** 20);",
    ),
}


def lying(name: str, language: str) -> str:
    python, node = LIES[name]
    if language == "python":
        lines = ["def double(numbers):", "made = [one * 2 for one in numbers]", python, "return made\n"]
        return "def iter_for_ever():\n    while True: yield 1\n" + "\n    ".join(lines)
    body = f"let made = numbers.map((one) => one * 2);\n{node}\nreturn made;"
    return f"function* forEver() {{ for (;;) yield 1; }}\nexport const double = (numbers) => {{ {body} }};\n"


SAID = {
    "it contains itself": "returned a value that contains itself (a cycle), which no expected value does",
    "an argument contains itself": "the arguments are a value that contains itself",
    "it never ends": "returned an iterator with more than 1,000,000 members: not compared",
    "it is larger than anything that can be compared": "returned more than 128 MiB: not compared",
    "an argument is changed far behind": "the arguments are",
}
WHERE = {"python": ("kit.py", "kit"), "node": ("src/kit.js", "src/kit.js")}
kinds = pytest.mark.parametrize("language", ["python", "node"])


def asked(language: str, *listed: tuple[str, list[Any], Any]) -> list[dict[str, Any]]:
    if language == "node" and shutil.which("node") is None:
        pytest.skip("no Node on the path")
    module = WHERE[language][1]
    cases = [
        {"call": f"{module}:{name}", "args": args, "returns": value, "within_s": 60} for name, args, value in listed
    ]
    return [{"id": "it", "text": "it works", "checks": [{"kind": "examples", "cases": cases}]}]


def details(verdict: Verdict) -> list[str]:
    return [f"{one.kind}: {one.detail}" for fact in verdict.evidence if fact.side == "head" for one in fact.tried]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", pytest.param("node", marks=pytest.mark.slow)])
@pytest.mark.spec("LAW-6", "LAW-7")
async def test_a_call_with_many_numbers_that_leaves_them_alone_is_proven(tmp_path: Path, language: str) -> None:
    odd = [one for one in ODD if language == "python" or one != 2**70]
    requirements = asked(
        language,
        ("double", [MANY], [one * 2 for one in MANY]),
        ("total", [MANY, ["x" * 1000] * 1000], sum(MANY) + 1000),
        ("same", [odd], odd),
        ("same", ["é" * 1_000_000], "é" * 1_000_000),
        ("deep", [DEEPEST_WISH - 1], json.loads("[" * DEEPEST_WISH + "]" * DEEPEST_WISH)),
    )
    verdict = await Trial(tmp_path, BASE, requirements).verdict({WHERE[language][0]: HONEST[language]})
    assert only(verdict).grade is Grade.PROVEN, (only(verdict).why, [one[:200] for one in details(verdict)])


@kinds
@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-7")
async def test_ten_megabytes_are_compared_to_the_last_byte(tmp_path: Path, language: str) -> None:
    many, long = list(range(100_000, 150_000)), "x" * 10_000_000
    requirements = asked(language, ("double", [many], [one * 2 for one in many]), ("same", [long], long))
    trial = Trial(tmp_path, BASE, requirements)
    contract = await trial.seal()
    path, honest = WHERE[language][0], HONEST[language]
    verdict = await trial.prove(contract, await trial.head({path: honest}))
    assert only(verdict).grade is Grade.PROVEN, (only(verdict).why, [one[:200] for one in details(verdict)])
    assert [one for one in details(verdict) if one != ": "] == []
    shorter = {"python": "return value[:-1]", "node": "(value) => value.slice(0, -1)"}[language]
    lie = honest.replace("return value\ndef", f"{shorter}\ndef").replace("(value) => value;", f"{shorter};")
    assert lie != honest
    assert only(await trial.prove(contract, await trial.head({path: lie}))).grade is Grade.REFUTED


@kinds
@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-7")
async def test_no_lie_hides_behind_the_size_of_a_value(tmp_path: Path, language: str) -> None:
    trial = Trial(tmp_path, BASE, asked(language, ("double", [MANY], [one * 2 for one in MANY])))
    contract = await trial.seal()
    for name in LIES:
        verdict = await trial.prove(contract, await trial.head({WHERE[language][0]: lying(name, language)}))
        assert only(verdict).grade is Grade.REFUTED, name
        said = details(verdict)
        assert all(SAID.get(name, "returned") in one for one in said), (name, [one[:300] for one in said])


PRINTS = "import json, sys\njson.dump([one.upper() for one in json.load(sys.stdin)], sys.stdout, indent=1)\n"


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-7")
async def test_what_a_program_prints_is_compared_whole(tmp_path: Path) -> None:
    many = [f"{one} {'x' * 300}" for one in range(20_000)]
    case = {"run": ["python", "kit.py"], "stdin": json.dumps(many), "stdout_json": [one.upper() for one in many]}
    check = {"kind": "examples", "cases": [{**case, "within_s": 60}]}
    trial = Trial(tmp_path, BASE, [{"id": "it", "text": "it works", "checks": [check]}])
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"kit.py": PRINTS}))
    assert only(verdict).grade is Grade.PROVEN, [one[:300] for one in details(verdict)]
    lie = PRINTS.replace("sys.stdin)]", "sys.stdin)][:-1] + ['']")
    assert only(await trial.prove(contract, await trial.head({"kit.py": lie}))).grade is Grade.REFUTED


TOO_DEEP: Any = json.loads("[" * (DEEPEST_WISH + 2) + "]" * (DEEPEST_WISH + 2))
TOO_LARGE = "x" * (MOST_WISHED + 1)


@pytest.mark.spec("LAW-2", "USE-7")
def test_a_case_that_could_not_be_compared_is_refused_in_one_sentence() -> None:
    too_deep = f"it is nested more than {DEEPEST_WISH} levels deep"
    assert case_flaw(CallCase(call="m:f", returns=TOO_DEEP)) == f"returns: {too_deep}"
    assert case_flaw(CallCase(call="src/m.js:f", args=(TOO_DEEP,))) == f"args: {too_deep}"
    large = f"it contains more than {MOST_WISHED >> 20} MiB of data"
    assert case_flaw(CallCase(call="m:f", args=(TOO_LARGE,))) == large
    assert case_flaw(RunCase(run=("true",), stdout=TOO_LARGE)) == large
    exchange = HttpCase.model_validate({"http": {"path": "/"}, "body": TOO_LARGE})
    assert case_flaw(exchange) == large
    assert "more than 4000 digits" in case_flaw(CallCase(call="m:f", returns=1 << 20_000))
    assert "Node has no number that is exactly" in case_flaw(CallCase(call="src/m.js:f", args=(2**70 + 1,)))
    assert not case_flaw(CallCase(call="src/m.js:f", args=(2**70, math.nan), returns=2**70 + 1))
