"""The end of a run: it fits a screen, says each fact once, and names one command for each thing that needs a person."""

import io
import re
from collections import Counter
from typing import Any

import pytest
from rich.console import Console

from trued.cli.end_screen import VALUE, EndScreen, Need, exact, need_lines, result_lines
from trued.cli.summary import headline
from trued.engine.pending import Wait
from trued.model import (
    Approval,
    Author,
    CallCase,
    Contract,
    Evidence,
    ExamplesCheck,
    Grade,
    Judged,
    Outcomes,
    Requirement,
    RunRecord,
    Tried,
    Verdict,
)
from trued.proof.hashes import check_hash
from trued.proof.verdict.conclusion import apply_approvals
from trued.proof.verdict.reasons import NO_CHECK, PARTS, written_by
from trued.reporting.views.ledger import ledger
from trued.reporting.views.notes import sort_notes

RUN = "r-hj33v"
AGENT = "claude"
CHECK = ExamplesCheck(cases=(CallCase(call="shop:total", args=(["A", "B"],), returns={"rain": 3, "sun": 4}),))
BUILT = "checks ran in an environment built from the base's pyproject.toml"
TEXTS = {
    "1A": "`total(cart)` sums the cart",
    "1B": "`voucher(cart)` takes one voucher",
    "goal-1": "Customers can use one voucher per cart",
    "ship-1": "the README explains vouchers",
    "plan": "the whole of PLAN.md",
}


def contract() -> Contract:
    checked = {"1A": (CHECK,), "1B": (CHECK,)}
    every = tuple(Requirement(id=name, text=text, checks=checked.get(name, ())) for name, text in TEXTS.items())
    author = Author(role="examiner", agent=AGENT, vendor="anthropic")
    return Contract(base="b" * 40, requirements=every, authors={check_hash(CHECK): author})


def fact(outcome: Outcomes = Outcomes.PASSED, detail: str = "") -> Evidence:
    tried = (Tried(id="case 1", outcome=outcome, kind="returned", detail=detail),)
    return Evidence.model_validate(
        {
            **{"id": f"e-{outcome}", "requirement": "1A", "check": check_hash(CHECK), "kind": "examples", "turn": 1},
            **{"side": "head", "commit": "c" * 40, "tree": "t", "command": "1 case", "interpreter": "", "versions": {}},
            **{"isolation": "bubblewrap", "exit_code": 0, "output": "", "began": 0.0, "seconds": 0.1, "tried": tried},
        }
    )


def verdict(*, refuted: bool = False) -> Verdict:
    author = contract().authors.values()
    passes = ("2 held-out cases: failed before, pass now", written_by(author))
    held = {"grade": Grade.EXAMINED, "why": passes, "holds": True, "lacks": "approve", "evidence": ("e-passed",)}
    bare = {"grade": Grade.UNPROVEN, "why": (NO_CHECK,), "basis": "no check", "holds": True, "lacks": "attest"}
    rows: dict[str, dict[str, Any]] = {"1A": held, "1B": held, "goal-1": bare, "ship-1": bare}
    rows["plan"] = {
        "grade": Grade.UNPROVEN,
        "why": (f"{PARTS} 4 parts: goal-1 is unproven, ship-1 is unproven",),
        "basis": "parts",
        "parts": ("1A", "1B", "goal-1", "ship-1"),
        "holds": True,
        "lacks": "attest",
    }
    if refuted:
        why = ("case 1: it does not return the expected value",)
        rows["1B"] = {"grade": Grade.REFUTED, "why": why, "holds": False, "evidence": ("e-failed",)}
    judged = tuple(Judged(id=name, text=TEXTS[name], **row) for name, row in rows.items())
    notes = (
        "goal-1: it has no case",
        "goal-1: POST /cart: it expects nothing of the response but a status",
        "ship-1: it has no case",
        *(f"no check covers: {TEXTS[name]}" for name in ("goal-1", "ship-1", "plan")),
        BUILT,
        "the examiner and the implementers may use models of one vendor",
    )
    facts = (fact(), fact(Outcomes.FAILED, "returned {}"))
    return Verdict(
        subject="plan", commit="c" * 40, requirements=judged, evidence=facts, undecided=notes, reported=(BUILT,)
    )


def end(found: Verdict, *waits: Wait) -> EndScreen:
    record = RunRecord(id=RUN, workflow="purple", title="t", repository="/r", base="b" * 40, branch=f"trued/{RUN}")
    return EndScreen(record, ledger(found, contract(), over=True), waits, contract())


def wait(kind: str, requirement: str = "", what: str = "") -> Wait:
    return Wait(kind=kind, what=what, since=0.0, command=f"trued resume {RUN}", requirement=requirement)


WAITS = (wait("attest", "goal-1"), wait("attest", "ship-1"), wait("approve"))


def screen(one: EndScreen, width: int = 80) -> list[str]:
    """The end screen's lines on a terminal of this width."""
    console = Console(file=io.StringIO(), force_terminal=True, width=width, no_color=True, highlight=False)
    for text in (*result_lines(one, console), *need_lines(one.needs(), console)):
        console.print(text, soft_wrap=True)
    file = console.file
    assert isinstance(file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue()).splitlines()


@pytest.mark.spec("DAY-12")
@pytest.mark.parametrize("width", [80, 120])
def test_the_end_fits_a_screen_and_says_each_fact_once(width: int) -> None:
    lines = screen(end(verdict(), *WAITS), width)
    assert len(lines) <= 12
    assert all(len(one) <= width for one in lines)
    words = " ".join(" ".join(lines).split())
    for fact_told in (*[TEXTS[name] for name in ("goal-1", "ship-1")], "nobody has approved", "no check was written"):
        assert words.count(fact_told) == 1, (fact_told, words)
    assert "2 things need you:" in lines
    commands = [one.strip() for one in lines if one.strip().startswith("trued ")]
    assert commands == [f"trued approve {RUN} goal-1 ship-1", f"trued approve {RUN}"]
    assert f"trued amend {RUN} --add FILE" in words
    assert f"1A, 1B pass on cases by {AGENT} that nobody has approved" in words
    assert "it expects nothing of the response but a status" in words  # the reason why goal-1 has no case
    assert "environment built" not in words


@pytest.mark.spec("DAY-12")
def test_after_the_approval_nothing_says_that_nobody_approved() -> None:
    approvals = [Approval(requirement="*", who="Bea", why="I read them", contract="c")]
    approvals += [Approval(requirement=name, who="Bea", why="I looked") for name in ("goal-1", "ship-1")]
    done = apply_approvals(verdict(), approvals)
    lines = screen(end(done))
    assert [one.split()[:4] for one in lines[:2]] == [
        ["✓", "proven", "1A,", "1B"],
        ["✓", "attested", "goal-1,", "ship-1"],
    ]
    assert "the contract is approved by Bea: I read them" in " ".join(lines)
    assert not any("nobody" in one or "need" in one for one in lines)
    assert not any("nobody has approved" in reason for row in done.requirements for reason in row.why)


@pytest.mark.spec("DAY-12")
def test_a_failed_case_shows_expected_and_got_below_each_other() -> None:
    lines = screen(end(verdict(refuted=True)))
    place = next(number for number, one in enumerate(lines) if one.strip().startswith("expected"))
    assert lines[place - 1].strip() == "✗ case 1: shop:total(['A', 'B'])"
    expected, got = lines[place], lines[place + 1]
    assert expected.split(maxsplit=1) == ["expected", "{'rain': 3, 'sun': 4}"]
    assert got.split(maxsplit=1) == ["got", "{}"]
    assert expected.index("{") == got.index("{")
    assert "○ examined" in " ".join(lines)  # 1A holds, but the run is refuted, so no approval is asked for
    assert "need you" not in " ".join(lines)


@pytest.mark.spec("DAY-12")
def test_a_long_value_keeps_its_end_where_a_trace_says_what_went_wrong() -> None:
    shown = exact(f"exit 1, stderr {'frame ' * 200}FileNotFoundError: --count")
    assert shown.startswith("exit 1, stderr frame")
    assert shown.endswith("FileNotFoundError: --count")
    assert len(shown) == VALUE
    assert exact("a  b") == "a  b"


@pytest.mark.spec("DAY-12")
def test_notes_hold_only_what_no_row_says() -> None:
    found = ledger(verdict(), contract(), over=True)
    notes = sort_notes(found)
    assert notes.facts == (BUILT,)
    assert notes.unchecked == ("the examiner and the implementers may use models of one vendor",)
    assert dict(notes.about) == {
        "goal-1": ("POST /cart: it expects nothing of the response but a status",),
        "ship-1": (),
    }


@pytest.mark.spec("DAY-12", "USE-6")
def test_many_requirements_are_counted_and_hostile_names_are_harmless() -> None:
    names = [f"r{number}\x1b[31m\n" for number in range(40)]
    rows = tuple(
        Judged(
            **{"id": name, "text": f"text of {name}", "grade": Grade.UNPROVEN, "why": (NO_CHECK,), "basis": "no check"},
            holds=True,
            lacks="attest",
        )
        for name in names
    )
    found = Verdict(subject="plan", commit="c" * 40, requirements=rows)
    record = end(verdict()).record
    lines = screen(EndScreen(record, ledger(found, None, over=True), [wait("attest", name) for name in names]))
    assert len(lines) < 24
    assert "\x1b" not in " ".join(lines)
    assert any("and 28 more" in each for each in lines)


def test_a_question_a_limit_and_a_halt_have_their_command() -> None:
    asked = wait("go on", what="1A is done\n  - one gap\nGo on?")
    limit = wait("limit", what=f"2 of 2 calls used; continue with: trued resume {RUN}")
    needs = end(verdict(), asked, limit).needs()
    assert needs[0] == Need(
        "it asks: 1A is done", f"trued resume {RUN}, then trued resume {RUN}", ("- one gap", "Go on?")
    )
    assert needs[1].command == f"trued resume {RUN}"
    assert Counter(f"{needs[1].what} {needs[1].command}".split())["resume"] == 1


@pytest.mark.spec("DAY-12")
def test_without_a_contract_nothing_is_counted() -> None:
    record = RunRecord(id=RUN, workflow="solo", title="t", repository="/r", base="b" * 40, branch=f"trued/{RUN}")
    found = {"grade": "unproven", "requirements": []}
    said = headline(EndScreen(record, found), "waiting").plain
    assert said.startswith(f"{RUN} waiting: no contract is sealed yet, branch ")
    assert "0 of 0" not in said
