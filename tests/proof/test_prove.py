"""Proving: the verdict on a sealed contract from a head, objections and earlier facts."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial, is_success, only
from trued.model import CallCase, Finding, Grade
from trued.proof.verdict import reasons
from trued.proof.verdict.notes import BUT_OWN

TODO = "def double(x):\n    raise NotImplementedError\n"
DONE = "def double(x):\n    return x * 2\n"
TESTS = "from calc import double\n\n\ndef test_double():\n    assert double(7) == 14\n"
OLD = "from calc import half\n\n\ndef test_half():\n    assert half(8) == 4\n\n\n"
OLD += "def test_odd():\n    assert half(9) == 4\n"
HALF = "\n\ndef half(x):\n    return x // 2\n"
BASE: dict[str, str | None] = {"calc.py": TODO + HALF, "tests/test_double.py": TESTS, "tests/test_half.py": OLD}
EXAMPLES = {"kind": "examples", "cases": [{"call": "calc:double", "args": [21], "returns": 42}]}
HELD = {"kind": "examples", "cases": [{"call": "calc:half", "args": [9], "returns": 4}]}
COUNTED = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_double.py"]}


def required(*checks: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{"id": "double", "text": "double(x) is x twice", "checks": list(checks), **more}]


def done(**more: str | None) -> Change:
    return {"calc.py": DONE + HALF, **{name.replace("__", "/"): text for name, text in more.items()}}


# -- grades ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_cases_that_agents_can_read_count_as_visible(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(EXAMPLES))
    verdict = await trial.prove(await trial.seal(held_out=False), await trial.head(done()))
    assert only(verdict).grade is Grade.TESTED
    assert "agents can read the requirements file" in only(verdict).why[1]
    assert not is_success(verdict)
    assert is_success(verdict, Grade.TESTED)


@pytest.mark.slow
@pytest.mark.spec("LAW-8")
async def test_cases_that_nobody_stands_behind_are_examined(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(EXAMPLES))
    verdict = await trial.prove(await trial.seal(users_own=False), await trial.head(done()))
    assert (only(verdict).grade, only(verdict).lacks, verdict.holds) == (Grade.EXAMINED, "approve", True)


@pytest.mark.slow
@pytest.mark.spec("LAW-2", "LAW-5")
async def test_an_empty_diff_is_a_gap_unless_all_is_held_already(tmp_path: Path) -> None:
    trial = Trial(tmp_path / "a", BASE, required(EXAMPLES))
    contract = await trial.seal()
    nothing = await trial.prove(contract, await trial.head({}))
    assert "diff is empty" in nothing.remarks[0].what
    assert not nothing.holds
    notes = await trial.prove(contract, await trial.head({"MEMORY.md": "done"}), owned=("MEMORY.md",))
    assert "diff is empty" in notes.remarks[0].what
    held = Trial(tmp_path / "b", BASE, required(HELD))
    verdict = await held.prove(await held.seal(), await held.head({}))
    assert is_success(verdict)
    assert only(verdict).why[0].startswith(reasons.ALREADY_SATISFIED)


@pytest.mark.spec("LAW-5")
async def test_what_was_held_already_can_be_broken(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(HELD))
    verdict = await trial.verdict({"calc.py": DONE + "\n\ndef half(x):\n    return x / 2\n"})
    assert only(verdict).grade is Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-6")
async def test_the_bases_other_tests_guard_every_requirement(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(COUNTED, EXAMPLES))
    contract = await trial.seal()
    assert is_success(await trial.prove(contract, await trial.head(done())))
    broken = {"calc.py": DONE + "\n\ndef half(x):\n    return x / 2\n", "tests/test_half.py": None}
    verdict = await trial.prove(contract, await trial.head(broken))
    assert only(verdict).grade is Grade.REFUTED
    assert any("tests/test_half.py::test_odd" in word for word in only(verdict).why)
    assert any("tests/test_half.py: the base's version was used" in word for word in verdict.undecided)


@pytest.mark.slow
async def test_a_file_that_is_named_counts_whatever_it_is_called(tmp_path: Path) -> None:
    base = {**BASE, "checks/odd.py": TESTS}
    trial = Trial(tmp_path, base, required({"kind": "tests", "command": "pytest", "files": ["checks/odd.py"]}))
    contract = await trial.seal()
    assert len(contract.base_facts[0].tried) == 4, "the default collection and the named file"
    assert only(await trial.prove(contract, await trial.head(done()))).grade is Grade.TESTED


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_the_user_may_supersede_a_test_and_nobody_else(tmp_path: Path) -> None:
    changed = {"calc.py": DONE + "\n\ndef half(x):\n    return x / 2\n"}
    trial = Trial(tmp_path, BASE, required(COUNTED, EXAMPLES, supersedes=["tests/test_half.py::test_odd"]))
    verdict = await trial.verdict(changed)
    assert is_success(verdict), only(verdict).why
    assert any("test_odd is superseded" in word for word in only(verdict).why)


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_tests_that_the_head_adds_are_listed_and_not_run(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(COUNTED, EXAMPLES))
    verdict = await trial.verdict(
        done(tests__test_more="x", **{"tests__test_more.py": "def test_x():\n    assert 0\n"})
    )
    assert is_success(verdict), only(verdict).why
    (said,) = [one for one in verdict.undecided if one.startswith("tests/test_more.py: added by the change")]
    assert said.endswith(BUT_OWN)  # its own tests are counted apart, with this file


@pytest.mark.spec("LAW-5", "DAY-6")
async def test_a_kept_command_is_not_said_to_run_other_files_than_the_change_touches(tmp_path: Path) -> None:
    script = '#!/bin/sh\ntest "$(sh count.sh a b)" = 2\n'
    base = {"count.sh": "echo $#\n", "tests/run.sh": script}
    trial = Trial(tmp_path, base, required({"kind": "command", "command": "sh tests/run.sh"}, keep=True))
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"count.sh": "echo $(($#))\n"}))
    assert (only(verdict).grade, only(verdict).why) == (Grade.UNPROVEN, (reasons.UNTRACED,))
    broken = await trial.prove(contract, await trial.head({"count.sh": "echo 3\n"}))
    assert only(broken).grade is Grade.REFUTED


@pytest.mark.spec("LAW-5")
@pytest.mark.slow
async def test_kept_work_needs_guards_that_run_what_the_diff_touches(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required({"kind": "tests", "command": "pytest"}, keep=True))
    contract = await trial.seal()
    tidied = {"calc.py": TODO + "\n\ndef half(number):\n    return number // 2\n"}
    kept = await trial.prove(contract, await trial.head(tidied))
    assert (only(kept).grade, kept.holds) == (Grade.TESTED, True), only(kept).why
    assert not is_success(kept)
    assert reasons.NO_NEW_BEHAVIOUR in only(kept).why[0]
    beside = await trial.prove(contract, await trial.head({"README.md": "new\n"}))
    assert only(beside).grade is Grade.UNPROVEN
    broken = await trial.prove(contract, await trial.head({"calc.py": TODO + "\n\ndef half(x):\n    return 0\n"}))
    assert only(broken).grade is Grade.REFUTED


@pytest.mark.slow
async def test_a_new_package_makes_its_frozen_tests_red_on_base(tmp_path: Path) -> None:
    base: dict[str, str | None] = {"tests/test_new.py": "from shop import f\n\n\ndef test_f():\n    assert f() == 1\n"}
    trial = Trial(tmp_path, base, required({"kind": "tests", "command": "pytest"}))
    contract = await trial.seal()
    built = await trial.prove(contract, await trial.head({"shop/__init__.py": "def f():\n    return 1\n"}))
    assert only(built).grade is Grade.TESTED
    unbuilt = await trial.prove(contract, await trial.head({"other.py": ""}))
    assert only(unbuilt).grade is Grade.UNJUDGED
    assert "module shop" in only(unbuilt).why[0]


@pytest.mark.slow
async def test_a_guard_that_always_depended_on_its_order_is_not_counted(tmp_path: Path) -> None:
    bound = (
        "import calc\n\n\ndef test_first():\n    calc.state = 1\n\n\ndef test_second():\n    assert calc.state == 1\n"
    )
    trial = Trial(tmp_path, {**BASE, "tests/test_order.py": bound}, required(COUNTED, EXAMPLES))
    verdict = await trial.verdict(done())
    assert is_success(verdict), only(verdict).why
    assert any("test_second fails on the base, too, in another order" in word for word in only(verdict).why)


@pytest.mark.spec("LAW-2", "LAW-11")
async def test_what_no_check_reaches_is_said(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, [{"id": "nice", "text": "the code is nice"}])
    verdict = await trial.verdict(done())
    assert (only(verdict).grade, only(verdict).lacks, verdict.holds) == (Grade.UNPROVEN, "attest", True)
    assert "no check covers: the code is nice" in verdict.undecided


# -- commands and command lines ----------------------------------------------------------------------------------------


async def test_a_command_that_turns_green_is_tested_and_its_files_are_frozen(tmp_path: Path) -> None:
    base = {**BASE, "check.sh": "#!/bin/sh\npython -c 'import calc; assert calc.double(2) == 4'\n"}
    trial = Trial(tmp_path, base, required({"kind": "command", "command": "sh check.sh", "files": ["check.sh"]}))
    contract = await trial.seal()
    assert only(await trial.prove(contract, await trial.head(done()))).grade is Grade.TESTED
    cheat = await trial.prove(contract, await trial.head({"check.sh": "exit 0\n"}))
    assert only(cheat).grade is Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_command_lines_are_fed_and_compared_exactly(tmp_path: Path) -> None:
    program = "import json, sys\ndata = open(sys.argv[1]).read() + sys.stdin.read()\n"
    program += "print(json.dumps({'n': len(data), 'ok': True}))\nsys.exit(3)\n"
    case = {"run": ["python", "-m", "tool", "{files}/a b.txt"], "files": {"a b.txt": "xyz"}, "stdin": "é", "exit": 3}
    right = required({"kind": "examples", "cases": [{**case, "stdout_json": {"n": 4, "ok": True}}]})
    trial = Trial(tmp_path / "a", BASE, right)
    verdict = await trial.verdict({"tool.py": program})
    assert only(verdict).grade is Grade.PROVEN, only(verdict)
    wrong = required({"kind": "examples", "cases": [{**case, "stdout_json": {"n": 4, "ok": 1}}]})
    other = Trial(tmp_path / "b", BASE, wrong)
    assert only(await other.verdict({"tool.py": program})).grade is Grade.REFUTED


@pytest.mark.spec("LAW-7")
async def test_arguments_come_back_unchanged_or_as_agreed(tmp_path: Path) -> None:
    cases = [{"call": "calc:order", "args": [[2, 1]], "returns": [1, 2]}]
    changed = [{"call": "calc:order", "args": [[2, 1]], "returns": [1, 2], "args_after": [[1, 2]]}]
    rude = {"calc.py": f"{TODO}{HALF}\n\ndef order(x):\n    x.sort()\n    return x\n"}
    pure = {"calc.py": f"{TODO}{HALF}\n\ndef order(x):\n    return sorted(x)\n"}
    first = Trial(tmp_path / "a", BASE, required({"kind": "examples", "cases": cases}))
    contract = await first.seal()
    assert only(await first.prove(contract, await first.head(pure))).grade is Grade.PROVEN
    refused = only(await first.prove(contract, await first.head(rude)))
    assert "it changes its arguments" in refused.why[0]
    second = Trial(tmp_path / "b", BASE, required({"kind": "examples", "cases": changed}))
    assert only(await second.verdict(rude)).grade is Grade.PROVEN


@pytest.mark.slow
async def test_errors_are_told_by_their_class_or_a_base_of_it(tmp_path: Path) -> None:
    code = "class Odd(ValueError):\n    pass\n\n\nclass KeyError(Exception):\n    pass\n\n\ndef f(x):\n"
    code += "    raise Odd(x) if x else KeyError(x)\n\n\nasync def g(x):\n    return x\n"
    cases: list[dict[str, Any]] = [{"call": "new:f", "args": [1], "raises": one} for one in ("Odd", "ValueError")]
    cases += [{"call": "new:f", "args": [1], "raises": "new.Odd"}, {"call": "new:g", "args": [5], "returns": 5}]
    trial = Trial(tmp_path / "a", BASE, required({"kind": "examples", "cases": cases}))
    assert only(await trial.verdict({"new.py": code})).grade is Grade.PROVEN
    posing = required({"kind": "examples", "cases": [{"call": "new:f", "args": [0], "raises": "KeyError"}]})
    other = Trial(tmp_path / "b", BASE, posing)
    assert only(await other.verdict({"new.py": code})).grade is Grade.REFUTED


@pytest.mark.slow
async def test_the_project_is_found_in_src_and_where_its_path_says(tmp_path: Path) -> None:
    base: dict[str, str | None] = {"src/calc.py": TODO, "lib/deep/more.py": "def double(x):\n    return 0\n"}
    cases = [{"call": "calc:double", "args": [1], "returns": 2}]
    trial = Trial(tmp_path / "a", base, required({"kind": "examples", "cases": cases}))
    assert is_success(await trial.verdict({"src/calc.py": DONE}))
    deep = [{"call": "more:double", "args": [1], "returns": 2}]
    other = Trial(tmp_path / "b c é", base, required({"kind": "examples", "cases": deep}), path=("lib/deep",))
    assert is_success(await other.verdict({"lib/deep/more.py": DONE}))


@pytest.mark.slow
async def test_an_interpreter_with_plugins_of_its_own_is_used_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    plugged = {"pytest.ini": "[pytest]\nrequired_plugins = pytest-xdist\naddopts = -n 2 -x\nasyncio_mode = auto\n"}
    waits = "import asyncio\nfrom calc import half\n\n\nasync def test_wait():\n    assert half(2) == 1\n"
    trial = Trial(tmp_path, {**BASE, **plugged, "tests/test_wait.py": waits}, required(COUNTED, EXAMPLES))
    contract = await trial.seal()
    assert len(contract.base_facts[0].tried) == 4
    assert is_success(await trial.prove(contract, await trial.head(done())))
    assert not any("supplied by the engine" in fact.versions["pytest"] for fact in contract.base_facts)


# -- objections and earlier facts --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("LAW-8")
async def test_an_objection_that_can_be_run_refutes_or_closes_itself(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(EXAMPLES))
    contract, head = await trial.seal(), await trial.head(done())
    text = Finding(what="texts", requirement="double", case=CallCase(call="calc:double", args=("a",), returns="aa"))
    closed = await trial.prove(contract, head, text)
    assert is_success(closed)
    assert any("objection closed" in word for word in only(closed).why)
    none = Finding(what="nothing", requirement="double", case=CallCase(call="calc:double", args=(None,), returns=None))
    refuted = await trial.prove(contract, head, text, none)
    assert only(refuted).grade is Grade.REFUTED
    assert refuted.objections == (none,)
    vague = Finding(what="it feels wrong", requirement="double")
    disputed = await trial.prove(contract, head, vague)
    assert (only(disputed).grade, disputed.holds, disputed.objections) == (Grade.UNPROVEN, False, (vague,))
    nobodys = await trial.prove(contract, head, Finding(what="the whole design"))
    assert only(nobodys).grade is Grade.PROVEN
    assert not nobodys.holds
    assert not is_success(nobodys)


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-9")
async def test_facts_are_kept_by_tree_and_the_worst_stands(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(EXAMPLES))
    contract, head = await trial.seal(), await trial.head(done())
    good = await trial.prove(contract, head)
    assert (good.commit, good.tree) == (head, await trial.workspace.tree(head))
    bad = good.evidence[0].model_copy(
        update={"tried": tuple(one.model_copy(update={"outcome": "failed"}) for one in good.evidence[0].tried)}
    )
    assert only(await trial.prove(contract, head, known=(bad,))).grade is Grade.REFUTED
    other = await trial.head({**dict(BASE), "calc.py": DONE + HALF + "\n"})
    assert only(await trial.prove(contract, other, known=(bad,))).grade is Grade.PROVEN
    noted = await trial.head({**dict(BASE), "calc.py": DONE + HALF, "MEMORY.md": "round 2"})
    assert only(await trial.prove(contract, noted, known=(bad,), owned=("MEMORY.md",))).grade is Grade.REFUTED
    assert only(await trial.prove(contract, noted, known=(bad,))).grade is Grade.PROVEN


@pytest.mark.spec("LAW-7")
async def test_a_head_cannot_learn_held_out_values_from_the_gaps(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, required(EXAMPLES))
    verdict = await trial.verdict({"calc.py": "def double(x):\n    raise ValueError(f'LEAK {x}')\n" + HALF})
    said = " ".join(gap.model_dump_json() for gap in verdict.gaps)
    assert "it raises an error" in said
    assert not any(word in said for word in ("LEAK", "21", "42"))


async def test_one_room_serves_checks_that_several_requirements_share(tmp_path: Path) -> None:
    both = [*required(COUNTED), {**required(COUNTED, EXAMPLES)[0], "id": "other"}]
    trial = Trial(tmp_path, BASE, both)
    verdict = await trial.verdict(done())
    assert [one.grade for one in verdict.requirements] == [Grade.TESTED, Grade.PROVEN]
    assert len({one.began for one in verdict.evidence if one.kind == "tests"}) <= 4
