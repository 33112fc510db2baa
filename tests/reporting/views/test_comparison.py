"""Comparisons of runs: what is counted, which time is measured, and what makes figures not comparable."""

from dataclasses import replace
from typing import Any

import pytest

from trued.model import Contract, Event, Finding, Grade, Judged, Requirement, RunRecord, Verdict
from trued.reporting.views.comparison import Known, compared, figures, peak_contexts, working

BASE = "b" * 40


def told(*rows: tuple[float, str] | tuple[float, str, str] | tuple[float, str, str, dict[str, Any]]) -> list[Event]:
    """(at, kind, key, data) as events."""
    return [
        Event(
            id=number, at=row[0], kind=row[1], key=row[2] if len(row) > 2 else "", data=row[3] if len(row) > 3 else {}
        )
        for number, row in enumerate(rows, 1)
    ]


def contract(*ids: str) -> Contract:
    return Contract(base=BASE, requirements=tuple(Requirement(id=name, text=name) for name in ids))


def verdict(**grades: Grade) -> Verdict:
    judged = [
        Judged(
            id=name,
            text=name,
            grade=grade,
            why=("so",),
            holds=grade is Grade.PROVEN,
            gaps=() if grade is Grade.PROVEN else (Finding(what=f"{name} is missing"),),
        )
        for name, grade in grades.items()
    ]
    return Verdict(subject="plan", commit="c" * 40, requirements=tuple(judged))


def run(name: str, *, at: float = 0.0, state: str = "done", asked: tuple[str, ...] = ("a",), **grades: Grade) -> Known:
    record = RunRecord(
        id=f"r-{name}", workflow="solo", title="t", repository="", base=BASE, branch=f"trued/r-{name}", state=state
    )
    events = told((at, "asked", "solo#1", {"role": "solo"}), (at + 10, "ended"))
    return Known(name, record, events, goal="g", contract=contract(*asked), verdict=verdict(**grades))


A, B = run("a", a=Grade.PROVEN), run("b", at=10, a=Grade.REFUTED)


@pytest.mark.spec("USE-8", "LAW-11")
def test_runs_that_sealed_different_contracts_are_said_to_rest_on_them() -> None:
    found = compared([A, run("b", at=10, asked=("a", "z"), a=Grade.PROVEN)])
    assert not found["same_contract"]
    words = (
        "different contracts, so only grades of shared requirements can be compared: 1 requirement is the same in all"
    )
    assert words in found["notes"]
    assert not any("one contract" in one for one in found["notes"])
    assert found["asked_alike"] == ["a"]
    assert [one["asked_alike"] for one in found["runs"]] == [{"proven": 1, "requirements": 1}] * 2
    assert [one["proven"] for one in found["runs"]] == [1, 1]
    assert found["requirements"] == [
        {"id": "a", "grades": ["proven", "proven"]},
        {"id": "z", "grades": [None, "unproven"]},  # never judged, so unproven
    ]
    same = compared([A, B])
    assert same["same_contract"]
    assert "one contract for all" in same["notes"]


@pytest.mark.spec("USE-8")
def test_a_requirement_that_may_carry_less_far_is_not_asked_alike() -> None:
    capped = contract("a").model_copy(update={"caps": {"a": ("its vendor built it",)}})
    found = compared([A, replace(B, contract=capped)])
    assert (found["asked_alike"], found["same_contract"]) == ([], False)
    assert any(one.endswith("no requirement is the same in all") for one in found["notes"])


@pytest.mark.spec("USE-8", "LAW-2")
def test_a_run_without_a_contract_has_proven_nothing_and_is_said_to() -> None:
    found = compared([A, replace(B, contract=None, verdict=None)])
    assert not found["same_contract"]
    assert (found["runs"][1]["grade"], found["runs"][1]["proven"], found["runs"][1]["requirements"]) == (
        "unproven",
        0,
        0,
    )
    assert "no contract was sealed in b: nothing was judged there" in found["notes"]
    assert not any("one contract" in one for one in found["notes"])


@pytest.mark.spec("USE-8", "LAW-11")
def test_other_goals_and_other_commits_are_said_to_be_other_work() -> None:
    elsewhere = B.record.model_copy(update={"base": "d" * 40})
    found = compared([A, replace(B, goal="another", record=elsewhere)])
    assert (found["same_goal"], found["same_base"]) == (False, False)
    assert [one for one in found["notes"] if "not about the same work" in one] == found["notes"][:2]


@pytest.mark.spec("USE-8")
@pytest.mark.parametrize(("at", "beside"), [(10.0, False), (9.0, True), (3.0, True)])
def test_whether_times_compete_is_found_from_the_runs_themselves(at: float, beside: bool) -> None:
    found = compared([A, run("b", at=at, a=Grade.PROVEN)])
    assert found["side_by_side"] is beside
    assert any("side by side" in one for one in found["notes"]) is beside


@pytest.mark.spec("USE-8")
def test_what_is_not_over_and_a_lowered_bar_are_said() -> None:
    notes = compared([replace(A, accept=Grade.TESTED), run("b", state="waiting", a=Grade.PROVEN)])["notes"]
    assert "not finished: r-b is waiting; the figures for it may change" in notes
    assert "the bar was lowered: tested is enough for a" in notes


def test_rounds_are_explained_only_if_a_workflow_has_them() -> None:
    plain = [row for row in compared([A, B])["notes"] if row.startswith("rounds")]
    assert all(note.removeprefix("rounds: ") for note in plain)
    unknown = [replace(one, record=one.record.model_copy(update={"workflow": "mine"})) for one in (A, B)]
    assert [row for row in compared(unknown)["notes"] if row.startswith("rounds")] == []


def test_a_run_in_which_some_agents_are_scripts_is_not_said_to_be_the_work_of_scripts() -> None:
    mixed = replace(A, agents={"solo": "claude", "examiner": "scripted:x.py"})
    whole = replace(B, agents={"*": "scripted:x.py"})
    notes = [note for note in compared([mixed, whole])["notes"] if note.startswith("scripts")]
    assert [("part of the work in a" in note, "did the work in b" in note) for note in notes] == [
        (False, True),
        (True, False),
    ]


@pytest.mark.spec("USE-8")
def test_a_gap_counts_once_however_often_it_is_found_and_landing_finds_none() -> None:
    events = told(
        (1, "proven", "chunk 1/prove", {"gaps": ["x", "y"]}),
        (2, "proven", "chunk 1/prove", {"gaps": ["y"]}),
        (3, "proven", "finish", {"gaps": []}),
        (4, "proven", "land onto main/prove", {"gaps": ["z"]}),
        (5, "proven", "finish", {"gaps": 3}),  # as in an old journal
    )
    assert figures(replace(A, events=events))["gaps"] == {"found": 2, "left": 0}


@pytest.mark.spec("USE-8", "PUR-12")
@pytest.mark.parametrize(
    ("workflow", "rounds"),
    [("solo", 1), ("purple", 2), ("ticket", 1), ("handoff", 1), ("pipeline", 1), ("team", 2), ("another", None)],
)
def test_rounds_are_counted_in_each_workflows_own_sense(workflow: str, rounds: int | None) -> None:
    roles = ("solo", "purple-team-a", "purple-team-a", "purple-team-b", "coder", "dev", "dev", "dev", "qa")
    asked = [(float(at), "asked", f"{role}#{at}", {"role": role}) for at, role in enumerate(roles, 1)]
    decided = [(20.0, "decided", "", {"cluster": one}) for one in ("research", "verification", "review")]
    again = (21.0, "asked", "solo#1", {"role": "solo"})  # asked again after a crash
    team = [(30.0, "team", "", {"kind": kind}) for kind in ("begun", "attempt", "attempt", "qa")]
    events = told(*asked, again, *decided, *team, (30.0, "round", "", {"number": 1}))
    record = A.record.model_copy(update={"workflow": workflow})
    assert figures(replace(A, record=record, events=events))["rounds"] == rounds


@pytest.mark.spec("USE-8", "RUN-10")
@pytest.mark.parametrize(
    ("events", "spans"),
    [
        ([], []),
        ([(0, "run began"), (0, "agents found")], []),
        ([(0, "run began"), (500, "sealed"), (510, "ended")], [(500, 510)]),
        ([(0, "sealed"), (5, "asked"), (900, "resumed"), (904, "ended")], [(0, 5), (900, 904)]),
        ([(0, "sealed"), (5, "question"), (800, "said"), (803, "ended")], [(0, 5), (800, 803)]),
        (
            [(0, "sealed"), (5, "question"), (5, "ended"), (70, "said"), (90, "resumed"), (95, "ended")],
            [(0, 5), (90, 95)],
        ),
        ([(0, "sealed"), (9, "ended"), (400, "approved"), (500, "landed")], [(0, 9)]),
        ([(0, "sealed"), (9, "asked")], [(0, 9)]),
    ],
    ids=[
        *("nothing", "never driven", "driven later", "killed", "a person answers", "answered while nobody drives"),
        *("landed later", "at work"),
    ],
)
def test_time_is_that_in_which_the_run_went_on(
    events: list[tuple[float, str]], spans: list[tuple[float, float]]
) -> None:
    assert working(told(*events)) == spans


@pytest.mark.spec("USE-8")
def test_estimated_peaks_are_marked_and_the_largest_roles_come_first() -> None:
    roles = {"coder": 900, "reviewer": 26_300, **{f"helper{number}": number for number in range(1, 9)}}
    (line,) = peak_contexts(
        [
            {"name": "a", "peak": {"roles": roles}, "tokens": {"estimated": True}},
            {"name": "b", "peak": {"roles": {"coder": 5}}, "tokens": {"estimated": False}},
        ]
    )
    assert line.startswith("peak context in a: reviewer ~26.3k, coder ~900, helper8 ~8, ")
    assert line.endswith("and less in 2 other roles")
