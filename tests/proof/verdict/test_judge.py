"""The laws as a table: the grade of one requirement for given facts and objections."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trued.model import (
    Approval,
    Author,
    CallCase,
    Check,
    CommandCheck,
    Evidence,
    ExamplesCheck,
    Finding,
    Grade,
    HttpCase,
    HttpRequest,
    Judged,
    ManualCheck,
    Outcomes,
    Requirement,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.proof.hashes import check_hash
from trued.proof.verdict import reasons
from trued.proof.verdict.caps import cap, lower_for_existing_tests
from trued.proof.verdict.conclusion import apply_approvals
from trued.proof.verdict.judge import CheckedObjection, Facts, judge, judge_by_parts

P, F, M, S, B, U = (
    Outcomes.PASSED,
    Outcomes.FAILED,
    Outcomes.MISSING,
    Outcomes.SKIPPED,
    Outcomes.BROKEN,
    Outcomes.UNJUDGED,
)
EXAMPLES = ExamplesCheck(cases=(CallCase(call="a:b"), CallCase(call="a:c")))
TESTS = TestsCheck(files=("tests/test_a.py",))
COMMAND = CommandCheck(command="make lint")
RED, GREEN = (F, F, F), (P,)

Turns = tuple[Outcomes, ...]


def evidence(check: Check, side: Any, turn: int, tried: dict[str, Outcomes], kind: str = "returned") -> Evidence:
    kinds = {P: "", U: "environment" if kind == "returned" else kind}
    shown = tuple(Tried(id=name, outcome=one, kind=kinds.get(one, kind)) for name, one in tried.items())
    return Evidence(
        id=f"{side}{turn}",
        requirement="r",
        check=check_hash(check),
        kind=check.kind,
        side=side,
        turn=turn,
        commit="c",
        tree="t",
        isolation="test",
        tried=shown,
    )


def facts_of(check: Check, stories: dict[str, tuple[Turns, Turns]], **more: Any) -> Facts:
    """Facts from stories: case → its outcomes on the base, turn by turn, and on the head."""
    sides: dict[str, list[Evidence]] = {"base": [], "head": []}
    for place, side in enumerate(("base", "head")):
        for turn in range(3):
            tried = {name: story[place][turn] for name, story in stories.items() if turn < len(story[place])}
            if tried:
                sides[side].append(evidence(check, side, turn + 1, tried))
    users_own = more.pop("users_own", True)
    authors = {} if users_own else {check_hash(check): Author(role="examiner")}
    return Facts(base=sides["base"], head=sides["head"], **{"held_out": True, "authors": authors, **more})


def judged(check: Check, stories: dict[str, tuple[Turns, Turns]], **more: Any) -> Judged:
    keep = more.pop("keep", False)
    return judge(Requirement(id="r", text="it works", keep=keep, checks=(check,)), facts_of(check, stories, **more))


# -- the table ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-5", "LAW-6", "LAW-8")
@pytest.mark.parametrize(
    ("base", "head", "grade"),
    [
        (RED, (P, P), Grade.PROVEN),
        (RED, (P, F), Grade.REFUTED),  # a case that passes and fails has failed
        (RED, (F, P), Grade.REFUTED),
        (RED, (M, M), Grade.REFUTED),
        (RED, (S, S), Grade.REFUTED),
        (RED, (P, U), Grade.UNJUDGED),
        (RED, (B, B), Grade.REFUTED),
        (RED, (P,), Grade.REFUTED),  # not run twice
        (RED, (), Grade.REFUTED),
        ((M, M, M), (P, P), Grade.PROVEN),  # the entry point was missing: that is red
        ((F, F), (P, P), Grade.UNPROVEN),  # failed only twice on the base: not red
        ((F, F, P), (P, P), Grade.UNPROVEN),  # unstable is not red
        ((F, F, P), (P, F), Grade.REFUTED),
        (GREEN, (P, P), Grade.PROVEN),  # already satisfied
        (GREEN, (P, F), Grade.REFUTED),
        (GREEN, (M, M), Grade.REFUTED),
        (GREEN, (S, S), Grade.REFUTED),
        (GREEN, (P, U), Grade.UNJUDGED),
        ((U,), (P, P), Grade.UNJUDGED),
        ((U,), (F, F), Grade.REFUTED),
        ((B,), (P, P), Grade.UNPROVEN),
        ((B,), (B, B), Grade.UNPROVEN),
        ((S,), (S, S), Grade.UNPROVEN),  # everything was skipped
        ((S,), (P, P), Grade.UNPROVEN),
    ],
)
def test_a_case_counts_by_what_it_showed_on_base_and_on_head(base: Turns, head: Turns, grade: Grade) -> None:
    assert judged(EXAMPLES, {"case 1": (base, head)}).grade is grade


@pytest.mark.spec("LAW-5", "LAW-7", "LAW-8")
@pytest.mark.parametrize(
    ("check", "held_out", "users_own", "grade", "lacks"),
    [
        (EXAMPLES, True, True, Grade.PROVEN, ""),
        (EXAMPLES, True, False, Grade.EXAMINED, "approve"),
        (EXAMPLES, False, True, Grade.TESTED, "attest"),
        (EXAMPLES, False, False, Grade.TESTED, "attest"),
        (TESTS, True, True, Grade.TESTED, "attest"),
        (TESTS, False, True, Grade.TESTED, "attest"),
        (COMMAND, True, True, Grade.TESTED, "attest"),
        (COMMAND, False, False, Grade.TESTED, "attest"),
    ],
)
def test_only_held_out_data_of_the_users_own_proves(
    check: Check, held_out: bool, users_own: bool, grade: Grade, lacks: str
) -> None:
    case = {"examples": "case 1", "tests": "tests/test_a.py::test_a", "command": "command"}[check.kind]
    found = judged(check, {case: (RED, (P, P))}, held_out=held_out, users_own=users_own)
    assert (found.grade, found.lacks, found.holds) == (grade, lacks, True)


@pytest.mark.spec("LAW-2")
def test_a_requirement_without_a_check_lacks_a_persons_word() -> None:
    found = judge(Requirement(id="r", text="it is nice"), Facts())
    assert (found.grade, found.why, found.holds, found.lacks) == (Grade.UNPROVEN, (reasons.NO_CHECK,), True, "attest")


@pytest.mark.spec("LAW-2")
def test_a_check_that_was_never_run_proves_nothing() -> None:
    found = judge(Requirement(id="r", text="it works", checks=(EXAMPLES,)), Facts(held_out=True))
    assert (found.grade, found.holds) == (Grade.UNPROVEN, False)


def test_a_manual_check_waits_for_a_person_even_beside_proof() -> None:
    both = Requirement(id="r", text="it works", checks=(EXAMPLES, ManualCheck(steps=("Look at it",))))
    found = judge(both, facts_of(EXAMPLES, {"case 1": (RED, (P, P))}))
    assert (found.grade, found.lacks, found.holds) == (Grade.UNPROVEN, "attest", True)
    assert "Look at it" in found.why[0]


def test_what_a_person_must_judge_is_refuted_by_a_failed_check_beside_it() -> None:
    both = Requirement(id="r", text="it works", checks=(ManualCheck(steps=("Look at it",)), EXAMPLES))
    assert judge(both, facts_of(EXAMPLES, {"case 1": (RED, (F, F))})).grade is Grade.REFUTED


@pytest.mark.spec("LAW-5")
def test_cases_that_were_green_count_as_held_already_only_if_the_user_wrote_them() -> None:
    own = judged(EXAMPLES, {"case 1": (GREEN, (P, P))})
    assert own.grade is Grade.PROVEN
    assert own.why[0].startswith(reasons.ALREADY_SATISFIED)
    theirs = judged(EXAMPLES, {"case 1": (GREEN, (P, P))}, users_own=False)
    assert (theirs.grade, theirs.lacks) == (Grade.UNPROVEN, "approve")
    assert theirs.why[0] == reasons.ALL_GREEN_BEFORE
    visible = judged(EXAMPLES, {"case 1": (GREEN, (P, P))}, users_own=False, held_out=False)
    assert (visible.grade, visible.lacks) == (Grade.UNPROVEN, "attest")


@pytest.mark.spec("LAW-2", "LAW-5")
def test_an_empty_diff_proves_nothing_but_what_held_already() -> None:
    assert judged(EXAMPLES, {"case 1": (RED, (P, P))}, changed=False).grade is Grade.UNPROVEN
    assert judged(EXAMPLES, {"case 1": (GREEN, (P, P))}, changed=False).grade is Grade.PROVEN
    assert judged(TESTS, {"tests/test_a.py::t": (GREEN, (P, P))}, changed=False, keep=True).grade is Grade.UNPROVEN


@pytest.mark.spec("LAW-5")
def test_work_that_cannot_be_red_is_as_good_as_what_shows_that_nothing_broke() -> None:
    stories: dict[str, tuple[Turns, Turns]] = {
        "tests/test_a.py::t": (GREEN, (P, P)),
        "tests/test_a.py::known_red": (RED, (F, F)),
    }
    kept = judged(TESTS, stories, keep=True)
    assert (kept.grade, kept.holds, kept.lacks) == (Grade.TESTED, True, "attest")
    stories["tests/test_a.py::t"] = (GREEN, (P, F))
    assert judged(TESTS, stories, keep=True).grade is Grade.REFUTED
    data: dict[str, tuple[Turns, Turns]] = {"case 1": (GREEN, (P, P))}
    assert judged(EXAMPLES, data, keep=True).grade is Grade.PROVEN
    assert judged(EXAMPLES, data, keep=True, held_out=False).grade is Grade.TESTED


@pytest.mark.spec("LAW-2", "LAW-5")
@pytest.mark.parametrize(
    ("base", "head", "grade"),
    [
        (RED, (F, F), Grade.UNPROVEN),
        (RED, (P, F), Grade.UNPROVEN),
        ((F, P, F), (F, F), Grade.UNPROVEN),
        ((M, M, M), (M, M), Grade.UNPROVEN),
        ((U,), (U, U), Grade.UNJUDGED),
        ((U,), (F, F), Grade.UNJUDGED),
        ((B,), (P, P), Grade.UNPROVEN),
        (GREEN, (F, F), Grade.REFUTED),
        (RED, (P, P), Grade.PROVEN),  # the change repaired it, and nothing that held broke
        (GREEN, (P, P), Grade.PROVEN),
    ],
)
def test_what_a_user_asks_to_keep_is_not_met_while_a_case_of_it_does_not_pass(
    base: Turns, head: Turns, grade: Grade
) -> None:
    stories: dict[str, tuple[Turns, Turns]] = {"case 1": (GREEN, (P, P)), "case 2": (base, head)}
    found = judged(EXAMPLES, stories, keep=True)
    assert found.grade is grade, found.why
    if grade is Grade.UNPROVEN and base != (B,):
        assert reasons.fails_on_base_too(["case 2"]) in found.why


@pytest.mark.spec("LAW-6")
def test_a_superseded_test_may_fail_and_its_neighbours_may_not() -> None:
    old: tuple[Turns, Turns] = (GREEN, (F, F))
    stories: dict[str, tuple[Turns, Turns]] = {
        "tests/test_a.py::test_new": (RED, (P, P)),
        "tests/test_a.py::test_old[x y]": old,
    }
    found = judged(TESTS, stories, superseded=["tests/test_a.py::test_old"])
    assert found.grade is Grade.TESTED
    assert any("superseded" in word for word in found.why)
    stories["tests/test_a.py::test_older"] = old
    assert judged(TESTS, stories, superseded=["tests/test_a.py::test_old"]).grade is Grade.REFUTED


@pytest.mark.spec("LAW-6")
def test_a_test_of_another_file_that_is_red_on_both_sides_is_neither() -> None:
    stories: dict[str, tuple[Turns, Turns]] = {
        "tests/test_a.py::t": (RED, (P, P)),
        "tests/test_other.py::t": (RED, (F, F)),
    }
    assert judged(TESTS, stories).grade is Grade.TESTED
    stories["tests/test_a.py::u"] = (RED, (F, F))
    assert judged(TESTS, stories).grade is Grade.REFUTED


def test_a_file_that_base_could_not_collect_passes_by_all_that_it_turns_out_to_hold() -> None:
    base = [evidence(TESTS, "base", turn, {"tests/test_a.py": F}, "collection") for turn in (1, 2, 3)]

    def heads(*outcomes: Outcomes, kind: str) -> list[Evidence]:
        tried = {f"tests/test_a.py::t{place}": one for place, one in enumerate(outcomes)}
        return [evidence(TESTS, "head", turn, tried, kind) for turn in (1, 2)]

    def grade(*outcomes: Outcomes, kind: str = "failed") -> Grade:
        requirement = Requirement(id="r", text="it works", checks=(TESTS,))
        return judge(requirement, Facts(base=base, head=heads(*outcomes, kind=kind))).grade

    assert grade(P, P) is Grade.TESTED
    assert grade(P, F) is Grade.REFUTED
    assert grade(P, S, kind="marked in setup") is Grade.TESTED  # the user's own file skips the test: it does not count
    assert grade(P, S, kind="skipped") is Grade.REFUTED  # skipped while the test ran: the head may have caused it
    assert grade(S, S, kind="marked in setup") is Grade.REFUTED
    assert grade() is Grade.REFUTED


SEVERAL_WAYS = [
    (("missing", "missing", "missing"), Grade.PROVEN),
    (("missing", "no answer", "status"), Grade.PROVEN),  # a missing route, on a busy machine
    (("server", "missing", "missing"), Grade.PROVEN),
    (("returned", "raised", "import"), Grade.PROVEN),
    (("time", "time", "time"), Grade.UNJUDGED),
    (("memory", "memory", "memory"), Grade.UNJUDGED),
    (("missing", "missing", "time"), Grade.UNJUDGED),  # two failures may be chance
    (("missing", "time", "missing", "missing"), Grade.PROVEN),  # three failures are red, even if another run timed out
    (("returned", "memory", "returned"), Grade.UNJUDGED),
    (("returned", "returned", "environment"), Grade.UNJUDGED),
    (("start", "returned", "returned"), Grade.UNJUDGED),
    (("missing", "status"), Grade.UNPROVEN),  # failed only twice
]


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(("kinds", "grade"), SEVERAL_WAYS, ids=[", ".join(one) for one, _ in SEVERAL_WAYS])
def test_three_failures_are_red_whatever_their_kinds(kinds: tuple[str, ...], grade: Grade) -> None:
    base = [evidence(EXAMPLES, "base", turn, {"case 1": F}, kind) for turn, kind in enumerate(kinds, 1)]
    head = facts_of(EXAMPLES, {"case 1": (RED, (P, P))}).head
    requirement = Requirement(id="r", text="x", checks=(EXAMPLES,))
    found = judge(requirement, Facts(base=base, head=head, held_out=True))
    assert found.grade is grade
    assert found.holds is not (grade is Grade.UNJUDGED)
    liar = facts_of(EXAMPLES, {"case 1": (RED, (P, F))}).head
    assert judge(requirement, Facts(base=base, head=liar, held_out=True)).grade is Grade.REFUTED


BOTH_SIDES = [
    # for example a program that is compiled first, on a slow machine
    (("time", "time", "time"), "time", Grade.UNJUDGED),
    (("memory", "memory", "memory"), "memory", Grade.UNJUDGED),
    (("time", "time", "time"), "returned", Grade.REFUTED),  # a wrong answer is a failure, even if the base timed out
    (("time", "time", "time"), "memory", Grade.REFUTED),
    (("time", "returned", "time"), "time", Grade.REFUTED),  # the base can answer, so the head itself is too slow
    (("returned", "returned", "returned"), "time", Grade.REFUTED),
    (("", "time", "time"), "time", Grade.REFUTED),
]


@pytest.mark.spec("DAY-2", "LAW-2")
@pytest.mark.parametrize("turns", [1, 2])  # in sequence, a case that timed out is not run again
@pytest.mark.parametrize(("kinds", "here", "grade"), BOTH_SIDES)
def test_a_head_is_not_refuted_for_a_limit_that_the_base_never_kept_either(
    kinds: tuple[str, ...], here: str, grade: Grade, turns: int
) -> None:
    base = [evidence(EXAMPLES, "base", turn, {"case 1": F if kind else P}, kind) for turn, kind in enumerate(kinds, 1)]
    head = [evidence(EXAMPLES, "head", turn + 1, {"case 1": F}, here) for turn in range(turns)]
    found = judge(Requirement(id="r", text="x", checks=(EXAMPLES,)), Facts(base=base, head=head, held_out=True))
    assert found.grade is grade
    assert not found.holds
    if grade is Grade.UNJUDGED:
        assert [one.name for one in found.missing] == [here]
        assert "raise its limit" in found.missing[0].fix


def test_a_case_that_passed_once_on_the_base_is_not_red_and_the_reason_says_so() -> None:
    found = judged(EXAMPLES, {"case 1": ((F, P, F), (P, P))})
    assert found.grade is Grade.UNPROVEN
    assert any(one.startswith("case 1") and one.endswith("not counted") for one in found.why)


def test_a_module_that_the_head_itself_brings_makes_its_lack_on_base_red() -> None:
    base = [evidence(EXAMPLES, "base", turn, {"case 1": U}, "module newpkg.core") for turn in (1, 2, 3)]
    head = facts_of(EXAMPLES, {"case 1": (RED, (P, P))}).head
    requirement = Requirement(id="r", text="x", checks=(EXAMPLES,))
    facts = Facts(base=base, head=head, held_out=True)
    assert judge(requirement, facts).grade is Grade.UNJUDGED
    assert judge(requirement, replace(facts, new_modules=frozenset({"newpkg"}))).grade is Grade.PROVEN


def test_a_runner_that_broke_down_on_base_is_never_red() -> None:
    base = [evidence(TESTS, "base", turn, {"*": F}, "worthless") for turn in (1, 2, 3)]
    head = [evidence(TESTS, "head", turn, {"tests/test_a.py::t": P}) for turn in (1, 2)]
    found = judge(Requirement(id="r", text="x", checks=(TESTS,)), Facts(base=base, head=head))
    assert found.grade is Grade.UNJUDGED


@pytest.mark.spec("LAW-2", "LAW-6")
def test_a_runner_that_broke_down_on_base_may_have_lost_guards_so_nothing_beside_it_proves() -> None:
    both = Requirement(id="r", text="x", checks=(TESTS, EXAMPLES))
    data = facts_of(EXAMPLES, {"case 1": (RED, (P, P))})
    base = [evidence(TESTS, "base", turn, {"*": F, "tests/test_a.py::t": F}) for turn in (1, 2, 3)]
    head = [evidence(TESTS, "head", turn, {"tests/test_a.py::t": P}) for turn in (1, 2)]
    found = judge(both, replace(data, base=[*data.base, *base], head=[*data.head, *head]))
    assert (found.grade, found.holds) == (Grade.UNJUDGED, False)


@pytest.mark.spec("LAW-6")
def test_passes_of_a_worthless_run_are_no_passes() -> None:
    facts = facts_of(TESTS, {"tests/test_a.py::t": (RED, (P, P))})
    void = [one.model_copy(update={"why_void": "the canary passed"}) for one in facts.head]
    found = judge(Requirement(id="r", text="x", checks=(TESTS,)), Facts(base=facts.base, head=void))
    assert found.grade is Grade.REFUTED


@pytest.mark.spec("LAW-2", "LAW-8")
@pytest.mark.parametrize("kind", ["module numpy", "program made", "prepare"])
def test_what_a_head_says_is_missing_is_its_failure_unless_the_base_lacked_the_same(kind: str) -> None:
    requirement = Requirement(id="r", text="x", checks=(EXAMPLES,))
    head = [evidence(EXAMPLES, "head", turn, {"case 1": U}, kind) for turn in (1, 2)]
    red = facts_of(EXAMPLES, {"case 1": (RED, ())}).base
    found = judge(requirement, Facts(base=red, head=head, held_out=True))
    assert found.grade is Grade.REFUTED
    assert "numpy" not in str([found.why, found.gaps])
    lacking = [evidence(EXAMPLES, "base", turn, {"case 1": U}, kind) for turn in (1, 2, 3)]
    assert judge(requirement, Facts(base=lacking, head=head, held_out=True)).grade is Grade.UNJUDGED


@pytest.mark.spec("LAW-7")
def test_what_a_visible_check_printed_after_held_out_cases_ran_is_told_by_kind_only() -> None:
    requirement = Requirement(id="r", text="x", checks=(COMMAND,))
    tried = Tried(id="command", outcome=F, kind="exit 77", detail="SECRET")
    base = facts_of(COMMAND, {"command": ((P,), ())}).base
    clean = [evidence(COMMAND, "head", turn, {"command": F}).model_copy(update={"tried": (tried,)}) for turn in (1, 2)]
    (told,) = judge(requirement, Facts(base=base, head=clean)).gaps
    assert "SECRET" in told.what
    tainted = [one.model_copy(update={"tainted": True}) for one in clean]
    (hushed,) = judge(requirement, Facts(base=base, head=tainted)).gaps
    assert not any(word in hushed.what for word in ("SECRET", "77"))


@pytest.mark.spec("LAW-8")
def test_tests_that_were_green_already_show_nothing_and_what_was_left_out_is_said() -> None:
    green: dict[str, tuple[Turns, Turns]] = {"tests/test_a.py::t": (GREEN, (P, P))}
    found = judged(TESTS, green, left_out=["tests/test_a.py"])
    assert (found.grade, found.holds, found.lacks) == (Grade.UNPROVEN, True, "attest")
    assert any("tests/test_a.py" in word for word in found.why)


@pytest.mark.spec("LAW-8")
def test_failing_tests_of_the_base_refute_every_requirement_and_passing_ones_lift_none() -> None:
    proven = judged(EXAMPLES, {"case 1": (RED, (P, P))})
    broken = judged(TESTS, {"tests/test_a.py::t": (GREEN, (F, F))}, keep=True)
    lost = broken.model_copy(update={"grade": Grade.UNJUDGED, "why": ("no pytest",)})
    intact = judged(TESTS, {"tests/test_a.py::t": (GREEN, (P, P))}, keep=True)
    assert (lower_for_existing_tests(proven, [broken]).grade, lower_for_existing_tests(proven, [broken]).holds) == (
        Grade.REFUTED,
        False,
    )
    assert lower_for_existing_tests(proven, [lost]).grade is Grade.UNJUDGED
    assert lower_for_existing_tests(proven, [intact]) == proven
    bare = judged(EXAMPLES, {"case 1": (GREEN, (P, P))}, authors={check_hash(EXAMPLES): Author(role="examiner")})
    assert lower_for_existing_tests(bare, [intact]).grade is Grade.UNPROVEN
    assert cap(proven, reasons.not_run_by_any_check, ["lib.py"]).grade is Grade.TESTED


# -- objections --------------------------------------------------------------------------------------------------------

DISPUTE = CheckedObjection(Finding(what="it forgets tabs", requirement="r"))
REFUTING = CheckedObjection(Finding(what="it forgets tabs", requirement="r"), refutes=True)
CLOSED = CheckedObjection(Finding(what="it forgets tabs", requirement="r"), closed=True)


@pytest.mark.spec("LAW-8")
@pytest.mark.parametrize(
    ("objected", "grade", "holds"),
    [(DISPUTE, Grade.UNPROVEN, False), (REFUTING, Grade.REFUTED, False), (CLOSED, Grade.PROVEN, True)],
)
def test_an_objection_lowers_unless_its_own_case_passes(objected: CheckedObjection, grade: Grade, holds: bool) -> None:
    found = judged(EXAMPLES, {"case 1": (RED, (P, P))}, objected=[objected])
    assert (found.grade, found.holds) == (grade, holds)
    assert any("it forgets tabs" in word for word in found.why)


@pytest.mark.parametrize("objected", [DISPUTE, REFUTING, CLOSED])
def test_what_several_object_to_in_the_same_words_is_said_once(objected: CheckedObjection) -> None:
    once = judged(EXAMPLES, {"case 1": (RED, (P, P))}, objected=[objected])
    assert judged(EXAMPLES, {"case 1": (RED, (P, P))}, objected=[objected] * 3).why == once.why


# -- what the implementer may know -------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-7")
def test_of_a_held_out_case_the_implementer_learns_requirement_clause_and_kind_only() -> None:
    secret = ExamplesCheck(cases=(CallCase(call="a:b", args=("SECRET-IN",), returns="SECRET-OUT"),))
    facts = facts_of(secret, {"case 1": (RED, (F, F))})
    head = [one.model_copy(update={"output": "SECRET-PRINTED", "tried": (_told(one.tried[0]),)}) for one in facts.head]
    found = judge(
        Requirement(id="r", text="it works", checks=(secret,)), Facts(base=facts.base, head=head, held_out=True)
    )
    (gap,) = found.gaps
    assert "SECRET" not in gap.model_dump_json()
    assert (gap.requirement, gap.where) == ("r", "it works")
    assert "does not return the expected value" in gap.what
    assert "SECRET" not in " ".join(found.why)


def test_of_a_visible_case_the_implementer_learns_everything() -> None:
    seen = ExamplesCheck(cases=(CallCase(call="a:b", args=(1,), returns="two"),))
    facts = facts_of(seen, {"case 1": (RED, (F, F))}, held_out=False)
    head = [one.model_copy(update={"tried": (_told(one.tried[0]),)}) for one in facts.head]
    (gap,) = judge(Requirement(id="r", text="x", checks=(seen,)), Facts(base=facts.base, head=head)).gaps
    assert 'a:b(1) returns "two"' in gap.what
    assert "SECRET-SAID" in gap.what


def _told(tried: Tried) -> Tried:
    return tried.model_copy(update={"detail": "returned 'SECRET-SAID'"})


# -- never up ----------------------------------------------------------------------------------------------------------

outcomes = some.sampled_from([P, F, M, S, B, U])
base_turns = some.one_of(outcomes.map(lambda one: (one,)), some.tuples(outcomes, outcomes, outcomes))
stories = some.dictionaries(
    some.sampled_from(["case 1", "case 2"]),
    some.tuples(base_turns, some.tuples(outcomes, outcomes)),
    min_size=1,
    max_size=2,
)
settings = some.fixed_dictionaries(
    {"held_out": some.booleans(), "users_own": some.booleans(), "changed": some.booleans(), "keep": some.booleans()}
)
objections = some.lists(some.sampled_from([DISPUTE, REFUTING, CLOSED]), max_size=3)


@pytest.mark.spec("LAW-8")
@given(stories, settings, objections, some.sampled_from([DISPUTE, REFUTING, CLOSED]))
def test_one_more_objection_never_raises_a_grade(
    told: dict[str, tuple[Turns, Turns]], how: dict[str, bool], before: list[CheckedObjection], more: CheckedObjection
) -> None:
    without = judged(EXAMPLES, told, objected=before, **how)
    given_more = judged(EXAMPLES, told, objected=[*before, more], **how)
    assert given_more.grade.rank <= without.grade.rank
    assert without.holds or not given_more.holds


@pytest.mark.spec("LAW-6", "LAW-8")
@given(stories, settings, some.sampled_from(["case 1", "case 2"]), some.sampled_from([F, M, S, U]))
def test_one_more_failing_fact_on_the_head_never_raises_a_grade(
    told: dict[str, tuple[Turns, Turns]], how: dict[str, bool], case: str, outcome: Outcomes
) -> None:
    keep = how.pop("keep")
    requirement = Requirement(id="r", text="it works", keep=keep, checks=(EXAMPLES,))
    facts = facts_of(EXAMPLES, told, **how)
    tried = {name: P for name in told} | {case: outcome}
    worse = replace(facts, head=[*facts.head, evidence(EXAMPLES, "head", 3, tried)])
    before, after = judge(requirement, facts), judge(requirement, worse)
    if outcome is U and before.grade is Grade.REFUTED:
        assert after.grade is Grade.REFUTED
    assert after.grade.rank <= before.grade.rank
    assert before.holds or not after.holds


@given(stories, settings)
def test_a_failed_case_of_the_user_is_never_anything_but_refuted(
    told: dict[str, tuple[Turns, Turns]], how: dict[str, bool]
) -> None:
    how["keep"] = False
    told = {**told, "case 1": (RED, (P, F))}
    found = judged(EXAMPLES, told, **how)
    assert (found.grade, found.holds) == (Grade.REFUTED, False)
    assert found.gaps


def test_whatever_holds_has_no_gap_and_no_failed_case() -> None:
    turns = [(P,), (S,), (B,), (U,), RED, (F, F, P), (M, M, M)]
    for base, first, second in product(turns, [P, F, M, S, B, U], [P, F, M, S, B, U]):
        found = judged(EXAMPLES, {"case 1": (base, (first, second))})
        assert not (found.holds and found.gaps)
        assert found.why, "every verdict has a reason"
        if found.grade.rank >= Grade.TESTED.rank:
            assert (first, second) == (P, P)


# -- what agents propose -----------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    ("prepares", "shows", "grade"),
    [
        ((RED, (P, P)), (RED, (P, P)), Grade.PROVEN),
        ((RED, (P, P)), (GREEN, (P, P)), Grade.UNPROVEN),  # a case that only prepares others proves nothing
        ((RED, (F, F)), (RED, (P, P)), Grade.REFUTED),
        ((GREEN, (P, P)), (RED, (P, P)), Grade.PROVEN),
    ],
)
def test_an_exchange_that_prepares_others_may_refute_and_proves_nothing(
    prepares: tuple[Turns, Turns], shows: tuple[Turns, Turns], grade: Grade
) -> None:
    request = HttpRequest(path="/items")
    check = ExamplesCheck(cases=(HttpCase(http=request, status=201, setup=True), HttpCase(http=request, json_=[1])))
    found = judged(check, {"case 1": prepares, "case 2": shows}, users_own=grade is Grade.PROVEN)
    assert found.grade is grade


@pytest.mark.spec("LAW-8", "LAW-12")
def test_what_an_agent_calls_background_is_unproven_until_the_contract_is_approved() -> None:
    aside = Requirement(id="text-1", text="We sell shoes.", aside="the examiner calls it background")
    whole = judge(Requirement(id="goal", text="all", parts=("text-1",)), Facts())
    found = judge(aside, Facts())
    assert (found.grade, found.holds, found.lacks) == (Grade.UNPROVEN, True, "approve")
    verdict = Verdict(subject="plan", commit="c", requirements=(found, judge_by_parts(whole, [found])))
    agreed = apply_approvals(verdict, [Approval(requirement="*", who="ann", why="so it is")])
    assert [one.grade for one in agreed.requirements] == [Grade.ATTESTED, Grade.ATTESTED]
    disputed = judge(aside, Facts(objected=[CheckedObjection(Finding(what="it asks for shoes", requirement="text-1"))]))
    lifted = apply_approvals(
        verdict.model_copy(update={"requirements": (disputed,)}), [Approval(requirement="*", who="ann", why="fine")]
    )
    assert lifted.requirements[0].grade is Grade.UNPROVEN


@pytest.mark.spec("LAW-5", "LAW-8")
def test_a_kept_test_that_is_unstable_on_the_base_still_fails_only_if_it_fails_on_the_head() -> None:
    everything, unstable = TestsCheck(), (F, P, F)
    guards = frozenset({check_hash(everything)})
    failing, passing = (
        judged(everything, {"tests/test_a.py::t": (unstable, turns)}, keep=True, guards=guards)
        for turns in ((F, F), (P, P))
    )
    said = reasons.fails_on_base_too(["tests/test_a.py::t"])
    assert (failing.grade, passing.grade) == (Grade.UNPROVEN, Grade.UNPROVEN)
    assert said in failing.why
    assert said not in passing.why
    assert any("did not fail all three times" in one for one in passing.why), passing.why


@pytest.mark.spec("LAW-6", "LAW-8")
def test_who_proposes_to_supersede_a_test_is_unproven_and_only_the_bases_own_suite_looks_away() -> None:
    proposer = Requirement(id="r", text="it works", checks=(EXAMPLES,), proposed=("tests/test_a.py::test_old",))
    found = judge(proposer, facts_of(EXAMPLES, {"case 1": (RED, (P, P))}))
    assert (found.grade, found.lacks) == (Grade.UNPROVEN, "approve")
    story: dict[str, tuple[Turns, Turns]] = {
        "tests/test_a.py::test_old": (GREEN, (F, F)),
        "tests/test_a.py::test_new": (GREEN, (P, P)),
    }
    everything = TestsCheck()
    terms: dict[str, Any] = {"proposed": ["tests/test_a.py::test_old"], "guards": frozenset({check_hash(everything)})}
    assert judged(everything, story, keep=True, suite=True, **terms).grade is not Grade.REFUTED
    # the user's own requirement asks for these tests
    assert judged(everything, story, keep=True, **terms).grade is Grade.REFUTED
    # another requirement has the test as its own
    assert judged(TESTS, story, proposed=["tests/test_a.py::test_old"]).grade is Grade.REFUTED
