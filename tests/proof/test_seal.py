"""Sealing: which files are frozen, and the status of every kind of case on the base."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, quiet
from trued.model import Author, Contract, FactNote, RunCase
from trued.proof.hashes import FACTS, check_hash, contract_hash
from trued.proof.seal import SealTerms, requirements_of, seal
from trued.proof.verdict.case_status import Base, on_base

TESTS = r"""import pytest
from kit.core import bad, good


def test_good():
    assert good(1) == 1


@pytest.mark.parametrize("x", ["a b", "c\\d", "é"])
def test_bad(x):
    assert bad(x) == x


@pytest.mark.skip
def test_skipped():
    pass


@pytest.mark.xfail
def test_expected():
    assert bad(1)
"""
BASE: dict[str, str | None] = {
    "kit/__init__.py": "",
    "kit/core.py": "def good(x):\n    return x\n\n\ndef bad(x):\n    return None\n",
    "kit/foreign.py": "import surely_not_installed\n\n\ndef f():\n    pass\n",
    "kit/own.py": "import kit.nowhere\n\n\ndef f():\n    pass\n",
    "kit/slow.py": "import time\n\n\ndef f():\n    time.sleep(60)\n",
    "kit/greedy.py": "def f():\n    raise MemoryError\n",
    "kit/flaky.py": "import os, pathlib\n\n\ndef f():\n    mark = pathlib.Path(__file__).with_name('mark')\n"
    "    if mark.exists():\n        return 1\n    mark.touch()\n",
    "tests/test_kit.py": TESTS,
    "tests/test_new.py": "from kit.later import f\n\n\ndef test_f():\n    assert f() == 1\n",
    "tests/test_foreign.py": "import surely_not_installed\n\n\ndef test_f():\n    pass\n",
    "tests/helper.txt": "data",
    "conftest.py": "",
    "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow: slow']\nfilterwarnings = ['error']\n",
    "Makefile": "lint:\n\t@echo linted\nbad:\n\t@exit 3\n",
}


def stands(contract: Contract, place: int = 0) -> dict[str, Base]:
    check = check_hash(contract.requirements[0].checks[place])
    return on_base([one for one in contract.base_facts if one.check == check])


async def sealed(place: Path, *checks: dict[str, Any]) -> Contract:
    return await Trial(place, BASE, [{"id": "r", "text": "it works", "checks": list(checks)}]).seal()


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"call": name, **more}


@pytest.mark.spec("LAW-2", "LAW-5", "LAW-6")
async def test_every_case_has_its_place_on_the_base(tmp_path: Path) -> None:
    cases = [
        (call("kit.core:good", args=[1], returns=1), Base.GUARD),
        (call("kit.core:bad", args=[1], returns=1), Base.RED),
        (call("kit.core:absent", returns=1), Base.RED),
        (call("kit.absent:f", returns=1), Base.RED),
        (call("absent.thing:f", returns=1), Base.RED),
        (call("kit.foreign:f"), Base.UNJUDGED),
        (call("kit.own:f"), Base.RED),
        (call("kit.slow:f", within_s=0.3), Base.UNJUDGED),
        (call("kit.greedy:f"), Base.UNJUDGED),
        (call("kit.flaky:f", returns=1), Base.UNSTABLE),
        (call("no function"), Base.BROKEN),
        (call("kit.core:good", args=[{"$what": 1}]), Base.BROKEN),
        ({"run": ["python", "-c", "print(1)"], "stdout": "1\n"}, Base.GUARD),
        ({"run": ["python", "-m", "kit"], "stdout": "1\n"}, Base.RED),
        ({"run": ["surely-no-program"]}, Base.UNJUDGED),
        ({"run": ["python", "-c", "1"], "files": {"../x": ""}}, Base.BROKEN),
    ]
    contract = await sealed(tmp_path, {"kind": "examples", "cases": [case for case, _ in cases]})
    found = stands(contract)
    assert [found[f"case {place + 1}"] for place in range(len(cases))] == [expected for _, expected in cases]


@pytest.mark.spec("LAW-5", "LAW-6")
async def test_every_test_has_its_place_on_the_base(tmp_path: Path) -> None:
    contract = await sealed(tmp_path, {"kind": "tests", "command": "pytest -q"})
    assert stands(contract) == {
        "tests/test_kit.py::test_good": Base.GUARD,
        "tests/test_kit.py::test_bad[a b]": Base.RED,
        "tests/test_kit.py::test_bad[c\\\\d]": Base.RED,
        "tests/test_kit.py::test_bad[\\xe9]": Base.RED,
        "tests/test_kit.py::test_skipped": Base.UNREACHED,
        "tests/test_kit.py::test_expected": Base.UNREACHED,
        "tests/test_new.py": Base.RED,
        "tests/test_foreign.py": Base.UNJUDGED,
    }
    assert [fact.turn for fact in contract.base_facts] == [1, 2, 3]
    assert [len(fact.tried) for fact in contract.base_facts] == [8, 5, 5], "only what failed is run again"


@pytest.mark.spec("LAW-5")
async def test_a_command_stands_by_its_exit_code(tmp_path: Path) -> None:
    commands = [("make lint", Base.GUARD), ("make bad", Base.RED), ("surely-no-program", Base.UNJUDGED)]
    commands += [("./scripts/none.sh", Base.RED), ("python -m surely_not_installed", Base.UNJUDGED)]
    contract = await sealed(tmp_path, *({"kind": "command", "command": one} for one, _ in commands))
    assert [stands(contract, place)["command"] for place in range(len(commands))] == [one for _, one in commands]


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize(
    ("check", "stood", "word"),
    [
        ({"command": "npm test"}, Base.BROKEN, "supported: python -m pytest"),
        ({"command": "pytest; true"}, Base.BROKEN, "starts no test runner whose results can be counted"),
        ({"command": "pytest --surely-no-option"}, Base.UNJUDGED, "surely-no-option"),
        ({"command": "pytest tests/test_kit.py -k nothing_is_called_so"}, Base.BROKEN, "no test was collected"),
        ({"command": "pytest", "files": ["tests/test_absent.py"]}, Base.BROKEN, "the base has no tests/test_absent.py"),
    ],
)
async def test_a_check_that_cannot_be_counted_says_why(
    tmp_path: Path, check: dict[str, Any], stood: Base, word: str
) -> None:
    contract = await sealed(tmp_path, {"kind": "tests", **check})
    assert stands(contract)["*"] is stood
    assert word in " ".join(one.detail for fact in contract.base_facts for one in fact.tried)


@pytest.mark.spec("LAW-3", "LAW-4")
async def test_tests_their_data_and_configuration_are_frozen_by_their_hash(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, [{"id": "r", "text": "x", "checks": [{"kind": "command", "command": "true"}]}])
    named = [{"id": "r", "text": "x", "checks": [{"kind": "command", "command": "make lint", "files": ["Makefile"]}]}]
    contract = await trial.seal()
    blobs = await trial.workspace.blobs(trial.workspace.base)
    tests = {"tests/test_kit.py", "tests/test_new.py", "tests/test_foreign.py", "tests/helper.txt", "conftest.py"}
    assert set(contract.frozen) == tests
    assert all(contract.frozen[path] == blobs[path] for path in tests)
    other = await Trial(tmp_path / "other", BASE, named).seal()
    assert set(other.frozen) == tests | {"Makefile"}
    assert contract_hash(contract) != contract_hash(other)


@pytest.mark.slow
@pytest.mark.spec("LAW-1")
async def test_evidence_says_how_it_was_taken(tmp_path: Path) -> None:
    contract = await sealed(tmp_path, {"kind": "tests", "command": "python -m pytest -q tests/test_kit.py"})
    fact = contract.base_facts[0]
    assert (fact.side, fact.commit, fact.kind) == ("base", contract.base, "tests")
    assert len(fact.tree) == 40
    assert fact.isolation
    assert fact.exit_code == 1
    assert "Python 3" in fact.interpreter
    assert fact.versions["pytest"]
    assert "pytest -q tests/test_kit.py" in fact.command
    assert "test_bad" in fact.output
    assert fact.began > 1_700_000_000
    assert fact.seconds > 0
    assert not fact.held_out


@pytest.mark.slow
async def test_a_failed_preparation_leaves_everything_unjudged(tmp_path: Path) -> None:
    checks = [{"kind": "command", "command": "test -f made"}]
    broken = Trial(tmp_path / "a", BASE, [{"id": "r", "text": "x", "checks": checks}], prepare=("exit 7",))
    assert stands(await broken.seal()) == {"*": Base.UNJUDGED}
    fine = Trial(tmp_path / "b", BASE, [{"id": "r", "text": "x", "checks": checks}], prepare=("touch made",))
    assert stands(await fine.seal()) == {"command": Base.GUARD}


@pytest.mark.spec("LAW-11")
async def test_what_a_command_printed_first_is_no_reason_why_it_guards_nothing(tmp_path: Path) -> None:
    package = '{"scripts": {"test": "for i in $(seq 99); do echo a warning of a linter; done; exit 1"}}'
    trial = Trial(tmp_path, {"package.json": package, "a.js": ""}, [])
    (why,) = (await trial.seal_with_existing_tests()).unguarded
    assert "warning" not in why, why


@pytest.mark.slow
@pytest.mark.spec("LAW-11")
async def test_an_error_that_all_tests_share_is_the_reason_why_they_guard_nothing(tmp_path: Path) -> None:
    setting = "import os\n\n\ndef key():\n    return os.environ['PAY_KEY']\n"
    for name, second, said in (("shared", "key()", " (KeyError: 'PAY_KEY')"), ("two", "1 / 0", "")):
        tests = f"from pay import key\n\n\ndef test_one():\n    key()\n\n\ndef test_two():\n    {second}\n"
        trial = Trial(tmp_path / name, {"pay.py": setting, "test_pay.py": tests}, [])
        (why,) = (await trial.seal_with_existing_tests()).unguarded
        assert why.endswith(f"no test passes on the base{said}")


@pytest.mark.slow
@pytest.mark.spec("LAW-3")
async def test_a_contract_that_is_sealed_again_keeps_everything_that_it_was_sealed_with(tmp_path: Path) -> None:
    """Whoever adds a field to the contract has to say here where it comes from when the contract is sealed again."""
    base = {
        "sub/pyproject.toml": "[project]\nname = 'x'\n",
        "sub/x.py": "",
        "tests/test_it.py": "def test():\n    assert 1\n",
    }
    checks = [{"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_it.py"]}]
    more = {"carried": {"tests/own.txt": "eA=="}, "interface": ("f(x)",), "prepare": ("true",)}
    trial = Trial(tmp_path, base, [{"id": "r", "text": "it works", "checks": checks}], **more)
    await trial.workspace.begin()
    name = check_hash(trial.requirements[0].checks[0])
    asked = trial.asked.model_copy(
        update={
            "suites": (trial.requirements[0].model_copy(update={"id": "existing tests"}),),
            "unguarded": ("a suite",),
            "red_suites": (trial.requirements[0].model_copy(update={"id": "red"}),),
            "disclosed": (RunCase(run=("./a",)),),
        }
    )
    terms = SealTerms(
        held_out=True,
        why="tried",
        authors={name: Author(role="examiner")},
        guards=[name],
        caps={"r": ("why",)},
        undecided=(FactNote("a fact"), "a note"),
        unserved="no server was found",
    )
    contract = await seal(trial.workspace, asked, terms, tell=quiet)
    empty = {field for field in Contract.model_fields if not getattr(contract, field)}
    assert empty == {"serve", "uncollected"}, "a server excludes `unserved`; tests are compared with the base again"
    for _ in range(2):
        stored = Contract.model_validate_json(contract.model_dump_json())
        again = await seal(trial.workspace, requirements_of(stored), SealTerms.of(stored), tell=quiet)
        assert again.model_dump(exclude=FACTS) == contract.model_dump(exclude=FACTS)
