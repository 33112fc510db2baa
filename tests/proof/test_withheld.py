"""Held-out test files exist in a room only while their own check runs, and objections learn nothing about them."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.proof.checks.test_http import BASE as SHOP
from tests.proof.checks.test_http import SERVE
from tests.proof.trial import Sealed, Trial, only
from tests.run.test_preview_server import fetched, shown
from trued.model import (
    EXISTING_TESTS,
    CallCase,
    Contract,
    Evidence,
    Finding,
    Grade,
    Judged,
    Requirement,
    RunCase,
    TestsCheck,
    Verdict,
)
from trued.model.events import JournalEvent
from trued.proof.build import run_build
from trued.proof.cases.objections import MOST_A_ROUND, MOST_A_RUN, ObjectionLimits
from trued.proof.prove import prove
from trued.proof.scanner import WITHHELD, held_out_texts
from trued.proof.statistics import measure_tests
from trued.proof.verdict.failed_cases import AGAIN
from trued.proof.verdict.for_agents import reason_for_agents

SECRET = "quicksilver-lantern-4711"
HIDDEN = f"from calc import double\n\n\ndef test_it():\n    assert double('{SECRET}') == '{SECRET}' * 2\n"
HIDDEN_AT = "acceptance/deep/test_hidden.py"
BASE = {
    "calc.py": "def half(x):\n    return x / 2\n",
    "tests/test_old.py": "from calc import half\n\n\ndef test_half():\n    assert half(8) == 4\n",
}
DOUBLED = BASE["calc.py"] + "\n\ndef double(x):\n    return x + x\n"
# Reads every file that it can reach, and leaks it wherever it can: on stdout, in an error, in a file for later.
LOOKS = """
import pathlib

def everything():
    found = []
    for one in pathlib.Path(".").rglob("*"):
        try:
            found.append(f"{one}: {one.read_text()}")
        except (OSError, ValueError):
            pass
    return "\\n".join(found)
"""
ASKED = {"id": "double", "text": "double(x) is x twice"}
BY_HIDDEN = {"kind": "tests", "files": [HIDDEN_AT], "from": "held"}
BY_OLD = {"kind": "tests", "files": ["tests/test_old.py"]}


def carried(**files: str) -> dict[str, str]:
    every = {HIDDEN_AT: HIDDEN, **files}
    return {path: base64.b64encode(text.encode()).decode() for path, text in every.items()}


def requirement(*checks: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{**ASKED, "checks": list(checks), **more}]


async def sealed(place: Path, *checks: dict[str, Any], base: Mapping[str, str | None] = BASE, **more: Any) -> Sealed:
    trial = Trial(place, base, requirement(*(checks or (BY_HIDDEN,))), carried=carried(), **more)
    return Sealed(trial, await trial.seal())


def told(verdict: Verdict) -> str:
    """Everything about the verdict that agents may read."""
    judged = (*verdict.requirements, *verdict.beside)
    reasons = [reason_for_agents(one) for one in judged]
    return "\n".join([*(f"{gap.what} {gap.where}" for gap in verdict.gaps), *reasons])


def of_hidden(evidence: tuple[Evidence, ...]) -> list[Evidence]:
    return [one for one in evidence if any(HIDDEN_AT in case.id for case in one.tried)]


# -- honest twins ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-5", "LAW-7")
async def test_tests_from_a_folder_of_the_users_still_go_from_red_to_green(tmp_path: Path) -> None:
    trial, contract = await sealed(tmp_path, BY_HIDDEN, BY_OLD)
    verdict = await trial.prove(contract, await trial.head({"calc.py": DOUBLED}))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert [(one.turn, one.held_out) for one in of_hidden(verdict.evidence)] == [(1, True), (2, True)]


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-7")
async def test_a_file_of_the_base_under_the_same_name_is_there_again_for_everybody_else(tmp_path: Path) -> None:
    files = {"tests/test_old.py": "from calc import double\n\n\ndef test_half():\n    assert double(4) == 8\n"}
    base = {**BASE, "tests/test_old.py": f"# open\n{BASE['tests/test_old.py']}"}
    looks = {"kind": "command", "command": "grep -q open tests/test_old.py"}
    asked: list[dict[str, Any]] = [
        {**ASKED, "checks": [{"kind": "tests", "files": ["tests/test_old.py"], "from": "held"}]},
        {"id": "kept", "text": "the suite stays", "keep": True, "checks": [looks]},
    ]
    trial = Trial(tmp_path, base, asked, carried={path: carried(**files)[path] for path in files})
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"calc.py": DOUBLED}))
    mine, kept = verdict.requirements
    assert mine.grade is Grade.TESTED, mine.why
    assert not kept.gaps, kept.why


# -- liars -------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-7", "TIC-5")
async def test_a_preview_that_serves_its_whole_checkout_serves_nothing_held_out(tmp_path: Path) -> None:
    page = f"{LOOKS}\n\ndef answer(method, path, body, headers):\n    return 200, everything().encode(), {{}}\n"
    trial, contract = await sealed(tmp_path, base=SHOP, serve=SERVE)
    async with shown(trial, contract, await trial.head({"shop/pages.py": page})) as server:
        assert await server.start() == ""
        served = await fetched(server.request.port, "/")
    assert "shop/pages.py" in served
    assert SECRET not in served
    assert "test_hidden" not in served


@pytest.mark.slow
@pytest.mark.spec("LAW-7", "HAND-8")
async def test_figures_of_tests_that_print_their_room_hold_nothing_held_out(tmp_path: Path) -> None:
    own = f"{LOOKS}\n\ndef test_own():\n    raise AssertionError(everything())\n"
    trial, contract = await sealed(tmp_path, BY_HIDDEN, BY_OLD)
    commit = await trial.head({"calc.py": DOUBLED, "tests/test_own.py": own, "acceptance/deep/test_more.py": own})
    verdict = await trial.prove(contract, commit)
    for command in ("python -m pytest -q", "python -m pytest -q tests acceptance", "python -m pytest -q acceptance"):
        found = await measure_tests(trial.workspace, contract, TestsCheck(command=command), commit, verdict.evidence)
        assert found.total, "the honest part: they are still counted"
        assert SECRET not in str(found.said)
        assert "test_hidden" not in f"{found.said} {found.skipped}"


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_figures_of_the_held_out_check_itself_tell_nothing_of_it(tmp_path: Path) -> None:
    trial, contract = await sealed(tmp_path)
    commit = await trial.head({"calc.py": BASE["calc.py"] + "\n\ndef double(x):\n    raise ValueError(x)\n"})
    verdict = await trial.prove(contract, commit)
    assert only(verdict).grade is Grade.REFUTED
    check = contract.requirements[0].checks[0]
    found = await measure_tests(trial.workspace, contract, check, commit, verdict.evidence)
    assert SECRET not in f"{found}{found.said}{found.why}"
    assert not found.total


@pytest.mark.spec("LAW-7")
async def test_a_build_that_prints_its_room_prints_nothing_held_out(tmp_path: Path) -> None:
    trial, contract = await sealed(tmp_path)
    commit = await trial.head({"calc.py": DOUBLED, "build.py": f"{LOOKS}\nprint(everything())\nraise SystemExit(3)\n"})
    made = await run_build(trial.workspace, contract, "python build.py acceptance/deep/test_hidden.py", commit)
    assert "calc.py" in made.tried.detail
    assert SECRET not in made.tried.detail


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-7")
async def test_a_preparation_and_a_visible_check_find_nothing_held_out(tmp_path: Path) -> None:
    """Agents may read files that `prepare` copies, and the output of visible tests and commands."""
    prints = f"{LOOKS}\n\ndef half(x):\n    raise AssertionError(everything())\n"
    copies = f"{LOOKS}\npathlib.Path('kept.txt').write_text(everything())\n"
    visible = ({"kind": "command", "command": "python look.py"}, BY_OLD, BY_HIDDEN)
    base = {**BASE, "look.py": "", "copy_all.py": ""}
    trial, contract = await sealed(tmp_path, *visible, base=base, prepare=["python copy_all.py"])
    shouts = f"{LOOKS}\nprint(everything())\nraise SystemExit(3)\n"
    verdict = await trial.prove(
        contract, await trial.head({"calc.py": prints, "copy_all.py": copies, "look.py": shouts})
    )
    assert only(verdict).grade is Grade.REFUTED
    assert "tests/test_old.py::test_half: it fails" in told(verdict), "what a visible check prints is told"
    assert SECRET not in told(verdict)
    assert "test_hidden" not in told(verdict)
    open_ones = [one for one in verdict.evidence if not one.held_out and not one.tainted]
    assert not [one for one in open_ones if SECRET in f"{one.output} {one.tried}"]


@pytest.mark.spec("LAW-7")
async def test_of_a_held_out_test_that_fails_agents_learn_requirement_and_kind(tmp_path: Path) -> None:
    """Test ids with parameters and assertions contain the answers; only people see them."""
    text = (
        f"import pytest\n\n\n@pytest.mark.parametrize('x', ['{SECRET}'])\ndef test_it(x):\n"
        "    from calc import double\n    assert double(x) == x * 2\n"
    )
    trial = Trial(tmp_path, BASE, requirement(BY_HIDDEN), carried=carried(**{HIDDEN_AT: text}))
    contract = await trial.seal()
    head = {"calc.py": BASE["calc.py"] + "\n\ndef double(x):\n    raise ImportError(f\"No module named '{x}'\")\n"}
    verdict = await trial.prove(contract, await trial.head(head))
    assert [gap.what for gap in verdict.gaps] == ["double: a held-out test fails: it fails"]
    assert SECRET not in told(verdict)
    assert SECRET in " ".join(only(verdict).why), "people see which test it was"


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_where_nothing_is_held_out_a_failing_test_is_told_whole(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, requirement(BY_HIDDEN), carried=carried())
    contract = await trial.seal(held_out=False)
    verdict = await trial.prove(contract, await trial.head({"calc.py": DOUBLED.replace("x + x", "x")}))
    assert HIDDEN_AT in told(verdict)
    assert SECRET in told(verdict)


@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.slow
async def test_which_visible_tests_fail_after_held_out_ones_ran_is_no_channel(tmp_path: Path) -> None:
    """The head reads the held-out test while it runs, stores it, and makes visible tests fail according to it."""
    suite = (
        "import pytest\nfrom calc import kept\n\n\n@pytest.mark.parametrize('bit', range(8))\n"
        "def test_bit(bit):\n    assert not kept(bit)\n"
    )
    keeps = (
        "import pathlib\n\nPLACE = pathlib.Path(__file__).with_name('kept.bin')\n\n\n"
        "def kept(bit):\n    return PLACE.exists() and PLACE.read_bytes()[0] >> bit & 1\n"
    )
    stores = "\n\ndef double(x):\n    PLACE.write_bytes(x.encode())\n    return x + x\n"
    base = {**BASE, "calc.py": BASE["calc.py"] + "\n\ndef kept(bit):\n    return False\n", "tests/test_bits.py": suite}
    visible = {"kind": "tests", "files": ["tests/test_bits.py"]}
    trial, contract = await sealed(tmp_path, visible, BY_HIDDEN, base=base)
    verdict = await trial.prove(contract, await trial.head({"calc.py": f"{keeps}{BASE['calc.py']}{stores}"}))
    assert only(verdict).grade is Grade.REFUTED
    assert "test_bit[" in " ".join(only(verdict).why), "people see which ones"
    assert "test_bit[" not in told(verdict)
    beside = "double: an existing test fails beside a held-out test"
    assert [gap.what for gap in verdict.gaps] == [f"double: {AGAIN}", beside]


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_an_existing_test_that_fails_at_once_is_told_by_name(tmp_path: Path) -> None:
    trial, contract = await sealed(tmp_path, BY_OLD, BY_HIDDEN)
    verdict = await trial.prove(contract, await trial.head({"calc.py": DOUBLED.replace("x / 2", "x / 3")}))
    assert "tests/test_old.py::test_half: it fails" in told(verdict)
    assert "assert" in told(verdict)


# -- objections --------------------------------------------------------------------------------------------------------

CASES = {"kind": "examples", "cases": [{"call": "calc:double", "args": [SECRET], "returns": SECRET * 2}]}
STORES = """
import pathlib

PLACE = pathlib.Path(__file__).with_name("kept.bin")


def half(x):
    return x / 2


def double(x):
    if isinstance(x, str):
        PLACE.write_text(x)
        return x + x
    return int(PLACE.exists() and bool(PLACE.read_bytes()[x // 8] >> x % 8 & 1))


def peek(x):
    return double(x)
"""


def asks(number: int, call: str = "calc:double", **more: Any) -> Finding:
    case = CallCase(call=call, args=(number,), returns=1)
    return Finding(what=f"bit {number}", requirement="double", by="purple-team-b", case=case, **more)


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_objections_read_nothing_that_a_head_kept_of_held_out_cases(tmp_path: Path) -> None:
    """Each objection asks for one bit of the input that the head has stored; all get the same answer."""
    trial, contract = await sealed(tmp_path, CASES)
    commit = await trial.head({"calc.py": STORES})
    bits = [asks(number) for number in range(8)]
    assert len({ord(SECRET[0]) >> number & 1 for number in range(8)}) == 2
    verdict = await trial.prove(contract, commit, *bits)
    assert [one.what for one in verdict.objections] == [one.what for one in bits], "no bit was ever stored there"


@pytest.mark.spec("LAW-7")
async def test_an_objection_about_a_mistake_still_refutes_and_one_that_passes_is_closed(tmp_path: Path) -> None:
    trial, contract = await sealed(tmp_path, CASES)
    wrong = DOUBLED.replace("return x + x", "return x + x if isinstance(x, str) else x")
    commit = await trial.head({"calc.py": wrong})
    right = Finding(
        what="double('a')", requirement="double", case=CallCase(call="calc:double", args=("a",), returns="aa")
    )
    mistake = Finding(what="double(4)", requirement="double", case=CallCase(call="calc:double", args=(4,), returns=8))
    verdict = await trial.prove(contract, commit, right, mistake)
    assert only(verdict).grade is Grade.REFUTED
    assert [one.what for one in verdict.objections] == ["double(4)"]
    assert "objection closed, its case passes: double('a')" in only(verdict).why


@pytest.mark.spec("LAW-7")
async def test_an_objection_about_a_back_door_or_with_code_of_its_own_is_a_dispute_and_is_not_run(
    tmp_path: Path,
) -> None:
    trial, contract = await sealed(tmp_path, CASES)
    commit = await trial.head({"calc.py": STORES})
    inline = RunCase(run=("python", "-c", "print(open('kept.bin').read())"), stdout="q")
    doors = [asks(1, "calc:peek"), Finding(what="inline", requirement="double", case=inline)]
    doors.append(asks(1, "os:getcwd"))
    verdict = await trial.prove(contract, commit, *doors)
    assert only(verdict).grade is Grade.UNPROVEN, only(verdict).why
    assert [(one.case, "not run: " in one.where) for one in verdict.objections] == [(None, True)] * 3
    known = await trial.prove(
        contract,
        commit,
        Finding(what="half", requirement="double", case=CallCase(call="calc:half", args=(4,), returns=2)),
    )
    assert not known.objections, "what the base has is an entry point"


def test_objections_are_rationed_by_role_round_and_entry_point() -> None:
    ran: set[tuple[str, str]] = set()
    ration = ObjectionLimits(ran)
    same = [ration.allowed(asks(number), "b") for number in range(5)]
    assert [one.case is not None for one in same] == [True] * 3 + [False] * 2
    assert same[-1].where == "not run: more than 3 cases about one requirement and entry point in one round"
    assert ration.allowed(asks(0), "b").case, "the same one again costs nothing"
    others = [ration.allowed(asks(0, f"calc:f{number}"), "b") for number in range(12)]
    assert sum(one.case is not None for one in others) == MOST_A_ROUND - 3
    assert others[-1].where == f"not run: more than {MOST_A_ROUND} cases in one round"
    assert ration.allowed(asks(9), "c").case, "another role has its own"
    for number in range(20):
        later = ObjectionLimits(ran)
        for door in range(12):
            later.allowed(asks(number, f"calc:g{door}"), "b")
    assert len([role for role, _ in ran if role == "b"]) == MOST_A_RUN
    assert ObjectionLimits(ran).allowed(asks(99), "b").where == f"not run: more than {MOST_A_RUN} cases in one run"
    assert ObjectionLimits(ran).allowed(asks(0), "b").case, "what was run before may be run again"
    assert ObjectionLimits(ran).allowed(Finding(what="in words"), "b") == Finding(what="in words")


# -- the second lock ---------------------------------------------------------------------------------------------------


async def scanned(place: Path, head: str, tried: list[dict[str, Any]]) -> tuple[Verdict, list[str]]:
    """The verdict on a head whose failing visible test prints text of the head's choice, and the recorded events."""
    trial, contract = await sealed(place, BY_OLD, CASES)
    events: list[str] = []

    def tell(event: JournalEvent) -> None:
        events.append(event.stored_kind)
        tried.append({"kind": event.stored_kind, **event.stored_data()})

    commit = await trial.head({"calc.py": head})
    ids = [one.id for one in contract.requirements]
    return await prove(trial.workspace, contract, ids, commit, subject="all", tell=tell), events


@pytest.mark.spec("LAW-7")
async def test_what_quotes_something_held_out_is_withheld_as_a_whole_and_that_is_on_record(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    parts = "quicksilver-", "lantern-", "4711"
    shouts = f"def half(x):\n    raise ValueError(''.join({parts!r}) + ' and more')\n"
    verdict, events = await scanned(tmp_path / "a", shouts, seen)
    assert f"double: {WITHHELD}" in [gap.what for gap in verdict.gaps]
    assert SECRET not in told(verdict)
    assert "test_half" not in told(verdict)
    assert events.count("withheld") == 1
    assert SECRET not in str([one for one in seen if one["kind"] == "withheld"])
    assert any(SECRET in one.output or SECRET in str(one.tried) for one in verdict.evidence), "people see it"


@pytest.mark.spec("LAW-7")
async def test_what_stands_in_the_commit_itself_is_no_secret_that_it_could_quote(tmp_path: Path) -> None:
    shouts = f"def half(x):\n    raise ValueError('{SECRET} and more')\n"
    verdict, events = await scanned(tmp_path, shouts, [])
    assert SECRET in told(verdict)
    assert "withheld" not in events


def test_short_values_shapes_and_imports_are_not_looked_for() -> None:
    cases = [{"call": "calc:double", "args": ["short", 7], "returns": {"a_long_field_name": "a long result"}}]
    asked = [Requirement.model_validate(one) for one in requirement({"kind": "examples", "cases": cases}, BY_HIDDEN)]
    text = "from something.long import anything\n\n\nassert double(4) == 8  # eight\nname = 'a quoted text'\nx = 1\n"
    contract = Contract(base="b", requirements=tuple(asked), held_out=True, carried=carried(**{HIDDEN_AT: text}))
    assert held_out_texts(contract) == {
        "a long result",
        "assert double(4) == 8  # eight",
        "name = 'a quoted text'",
        "a quoted text",
    }
    assert not held_out_texts(contract.model_copy(update={"held_out": False}))


def test_a_reason_for_agents_names_no_existing_test_by_its_id() -> None:
    """The requirement is refuted only by existing tests. Which of them fail is said by their own gaps, if at all."""
    why = (f"{EXISTING_TESTS} passed on the base and fail now: tests/test_bits.py::test_bit[3]: failed", "4 cases pass")
    refuted = Judged(id="double", text="twice", grade=Grade.REFUTED, why=why, holds=False)
    assert reason_for_agents(refuted) == f"{EXISTING_TESTS} fail"
    shown = refuted.model_copy(update={"gaps": (Finding(what="double: it fails\nwith many words"),)})
    assert reason_for_agents(shown) == "double: it fails"
    assert reason_for_agents(refuted.model_copy(update={"why": ()})) == "it does not hold"
