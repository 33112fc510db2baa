"""Views are made from the journal alone."""

import json
import time

import pytest

from tests.stored_events import writer
from trued.engine.journals.sqlite import RunJournal, SqliteJournal
from trued.model import (
    Contract,
    Event,
    Evidence,
    Finding,
    Grade,
    Judged,
    Outcomes,
    Requirement,
    RunRecord,
    Shot,
    Tried,
    Verdict,
)
from trued.model.evidence import HELD_BACK
from trued.reporting.views.ledger import ledger, ledger_for_agents
from trued.reporting.views.progress import Progress
from trued.reporting.views.red_green import case_outcomes
from trued.reporting.views.rows import Call, Checks, Remark
from trued.reporting.views.run_rows import as_seen, run_data, run_row

TOKENS = {"in": 900, "out": 100, "cached": 50, "peak": 1000, "estimated": False}


def a_run(journal: RunJournal) -> None:
    """Write a run with one chunk that is refuted once, then fixed, and then waits for an answer."""
    store = writer(journal)
    store("run began", title="Slugs", workflow="purple", branch="trued/r-abcde", level="bubblewrap")
    store("sealed", "seal", check="c0ffee", sort="examples", serves=["slug"], cases={"red": 4, "guard": 2})
    store("contract sealed", "seal", contract="c0ffee", requirements=1, held_out=True, why="tried")
    for turn in (1, 2):
        for role in ("purple-team-a", "purple-team-b"):
            key = f"chunk 1A/{role}#{turn}"
            store("asked", key, role=role, agent="scripted:x.py", brief="do it", chars=5, resume=turn > 1)
            store("started", key, pid=1)
            now = time.time()
            reply = {"status": "DONE"} if role.endswith("a") else {"status": "DONE", "result": "PASS"}
            facts = {
                "state": "done",
                "reply": reply,
                "attempts": turn,
                "tokens": TOKENS,
                "cost_usd": 0.5,
                "changed": ["a.py"],
            }
            store("answered", key, role=role, agent="scripted:x.py", began=now - 2, ended=now, **facts)
        store("checked", "chunk 1A/prove", check="c0ffee", sort="examples", turn=1, void="")
        grade = "refuted" if turn == 1 else "proven"
        judged = [{"id": "slug", "grade": grade, "why": ["1 of 4 cases failed"]}]
        store(
            "proven",
            "chunk 1A/prove",
            subject="1A",
            grade=grade,
            holds=turn == 2,
            gaps=["a gap"][turn - 1 :],
            requirements=judged,
        )
    store("question", "chunk 1A/confirm#1", text="Go on?", options=["yes", "stop", "redo"])


def picture(seen: Progress) -> object:
    return seen.scopes, seen.rows, seen.grades, seen.question, seen.state, seen.tokens, seen.cost_usd


@pytest.mark.spec("RUN-10", "USE-4")
def test_the_live_picture_and_the_one_from_the_journal_are_the_same(journal: SqliteJournal, record: RunRecord) -> None:
    live = Progress()
    a_run(journal.of(record.id, live.add))
    again = Progress(journal.events(record.id))
    assert picture(again) == picture(live)
    kinds = [type(again.rows[name]) for name in again.scopes["chunk 1A"]]
    assert kinds == [Call, Call, Checks, Call, Call, Checks]
    assert [row.state for row in again.rows.values() if isinstance(row, Checks)] == ["held", "failed", "held"]
    assert again.grades == {"slug": "proven"}
    assert [row.summary for row in again.rows.values() if isinstance(row, Checks)] == [
        "1 requirement, on the base 4 red, 2 guards, held out",
        "refuted, 1 gap",
        "proven",
    ]
    assert again.question == ("chunk 1A/confirm#1", "Go on?")
    assert (again.tokens, again.cost_usd) == ((4000, False), 2.0)


@pytest.mark.spec("USE-9", "RUN-10")
def test_show_has_the_public_shape(journal: SqliteJournal, record: RunRecord) -> None:
    a_run(journal.of(record.id))
    data = json.loads(json.dumps(run_data(record, journal.events(record.id), journal.questions(record.id))))
    assert {"id", "workflow", "state", "grade", "calls"} <= data.keys()
    assert [one["key"] for one in data["calls"]] == [
        f"chunk 1A/purple-team-{team}#{turn}" for turn in (1, 2) for team in ("a", "b")
    ]
    first = data["calls"][0]
    assert first["tokens"] == {"in": 900, "out": 100, "cached": 50, "peak": 1000}
    wanted = {"role": "purple-team-a", "agent": "scripted:x.py", "state": "done", "attempts": 1, "cost_usd": 0.5}
    assert {name: first[name] for name in wanted} == wanted


@pytest.mark.spec("RUN-10")
def test_a_call_without_an_answer_is_unfinished_when_nobody_drives(journal: SqliteJournal, record: RunRecord) -> None:
    writer(journal.of(record.id))("asked", "chunk 1A/purple-team-a#1", role="purple-team-a", agent="command:x")
    events = journal.events(record.id)
    left = as_seen(record, journal)
    assert (run_row(left)["state"], run_data(left, events)["calls"][0]["state"]) == ("interrupted", "unfinished")
    journal.announce(record.id)
    driven = as_seen(record, journal)
    assert (run_row(driven)["state"], run_data(driven, events)["calls"][0]["state"]) == ("running", "running")


def test_what_was_at_work_when_a_run_ended_is_unfinished_until_it_goes_on(
    journal: SqliteJournal, record: RunRecord
) -> None:
    tell = writer(journal.of(record.id))
    key = "chunk 1A/purple-team-a#1"
    tell("asked", key, role="purple-team-a", agent="command:x")
    tell("ended", state="interrupted", code=130, why="interrupted", grade="unproven")
    ended = Progress(journal.events(record.id))
    assert (ended.call_row(key).state, ended.state, ended.code) == ("unfinished", "interrupted", 130)
    tell("resumed", after="interrupted")
    tell("asked", key, role="purple-team-a", agent="command:x")
    tell("adopted", key, pid=4)
    again = Progress(journal.events(record.id))
    assert (again.call_row(key).state, again.state) == ("running", "running")
    assert again.call_row(key).remarks == ("adopted after a restart",)
    assert [row.text for row in again.rows.values() if isinstance(row, Remark)] == ["resumed after Ctrl-C"]


def test_an_event_of_a_kind_that_nobody_knows_changes_nothing() -> None:
    seen = Progress([Event(id=1, at=1.0, key="x/y#1", kind="something new", data={"a": [1]})])
    assert (seen.rows, seen.scopes) == ({}, {})


def fact(name: str, *outcomes: Outcomes, held_out: bool = True) -> Evidence:
    tried = tuple(Tried(id=f"slugify('x{n}')", outcome=one, detail="got 'secret'") for n, one in enumerate(outcomes))
    return Evidence(
        id=name,
        requirement="slug",
        check="c",
        kind="examples",
        side="head",
        command="call slugify('x')",
        commit="c" * 40,
        tree="t" * 40,
        isolation="bubblewrap",
        tried=tried,
        output="got 'secret'",
        held_out=held_out,
    )


def judged(name: str, grade: Grade, *evidence: str) -> Judged:
    holds = grade.rank >= Grade.TESTED.rank
    return Judged(id=name, text=f"text of {name}", grade=grade, why=("one", "two"), evidence=evidence, holds=holds)


@pytest.mark.spec("USE-9", "LAW-8")
def test_the_ledger_has_the_public_shape_and_the_worst_grade() -> None:
    facts = (fact("ev-1", Outcomes.PASSED, Outcomes.FAILED),)
    verdict = Verdict(
        subject="plan",
        commit="c" * 40,
        requirements=(judged("slug", Grade.REFUTED, "ev-1"), judged("cli", Grade.PROVEN)),
        evidence=facts,
    )
    data = json.loads(json.dumps(ledger(verdict, None, over=True)))
    assert data["grade"] == "refuted"
    first, second = data["requirements"]
    assert (first["id"], first["grade"], first["why"]) == ("slug", "refuted", "one; two")
    assert (second["id"], second["evidence"]) == ("cli", [])
    (evidence,) = first["evidence"]
    assert (evidence["id"], evidence["passed"], evidence["failed"]) == ("ev-1", 1, 1)
    assert [(one["outcome"], one["detail"]) for one in evidence["tried"]] == [
        ("failed", "got 'secret'"),
        ("passed", "got 'secret'"),
    ]


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("over", [True, False])
def test_a_second_run_in_another_order_lists_its_cases_in_the_order_of_the_first(over: bool) -> None:
    first = fact("ev-1", Outcomes.PASSED, Outcomes.FAILED, Outcomes.PASSED, Outcomes.FAILED)
    second = first.model_copy(update={"id": "ev-2", "turn": 2, "tried": first.tried[::-1]})
    verdict = Verdict(
        subject="1A",
        commit="c" * 40,
        requirements=(judged("slug", Grade.REFUTED, "ev-1", "ev-2"),),
        evidence=(first, second),
    )
    turns = ledger(verdict, None, over=over)["requirements"][0]["evidence"]
    names = ["slugify('x1')", "slugify('x3')", "slugify('x0')", "slugify('x2')"]  # failed ones first
    numbers = ["case 2", "case 4", "case 1", "case 3"]
    assert [[one["id"] for one in turn["tried"]] for turn in turns] == [names if over else numbers] * 2


@pytest.mark.spec("LAW-7")
def test_a_hidden_case_has_one_number_in_every_view() -> None:
    first = fact("ev-1", Outcomes.FAILED, Outcomes.FAILED)
    second = first.model_copy(update={"id": "ev-2", "check": "d"})
    names = [one.name for one in case_outcomes([first, second], over=False)]
    assert names == ["check 1, case 1", "check 1, case 2", "check 2, case 1", "check 2, case 2"]
    row = judged("slug", Grade.REFUTED, "ev-1", "ev-2")
    verdict = Verdict(subject="1A", commit="c" * 40, requirements=(row,), evidence=(first, second))
    checks = ledger(verdict, None, over=False)["requirements"][0]["evidence"]
    assert [one["id"] for check in checks for one in check["tried"]] == [one.partition(", ")[2] for one in names]
    seen = second.model_copy(update={"held_out": False})  # a check with names does not count
    names = [one.name for one in case_outcomes([seen, first], over=False)]
    assert names == ["slugify('x0')", "slugify('x1')", "case 1", "case 2"]


@pytest.mark.spec("LAW-7")
def test_held_out_values_are_shown_only_when_the_run_is_over() -> None:
    verdict = Verdict(
        subject="1A",
        commit="c" * 40,
        requirements=(judged("slug", Grade.REFUTED, "ev-1", "ev-2"),),
        evidence=(fact("ev-1", Outcomes.FAILED), fact("ev-2", Outcomes.PASSED, held_out=False)),
    )
    hidden, visible = ledger(verdict, None, over=False)["requirements"][0]["evidence"]
    assert "secret" not in json.dumps(hidden)
    assert "slugify" not in json.dumps(hidden)
    assert (hidden["command"], hidden["tried"]) == (HELD_BACK, [{"id": "case 1", "outcome": "failed", "kind": ""}])
    assert visible["command"] == "call slugify('x')"
    assert "secret" in json.dumps(ledger(verdict, None, over=True))


TOLD = Tried(id="tests/secret.py::t", outcome=Outcomes.FAILED, kind="module secret", detail="got 'secret'")
SHOT = Shot(name="screenshot.png", sha256="a" * 64, page="/secret", url="http://localhost/secret")


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("flag", ["held_out", "tainted"])
def test_nothing_that_the_head_wrote_after_it_saw_held_out_cases_is_shown_before_the_run_is_over(flag: str) -> None:
    """A visible check whose run came after held-out cases in the same room may quote them like these themselves."""
    one = fact("ev-1", held_out=False).model_copy(
        update={"kind": "tests", "command": "pytest", "tried": (TOLD,), "pictures": (SHOT,), flag: True}
        | {"exit_code": 77, "why_void": "the build prints: secret"}
    )
    row = judged("slug", Grade.REFUTED, "ev-1")
    row = row.model_copy(
        update={"why": ("tests/secret.py::t: it fails",), "gaps": (Finding(what="slug: a test fails"),)}
    )
    verdict = Verdict(subject="1A", commit="c" * 40, requirements=(row,), evidence=(one,))
    agents = ledger_for_agents(verdict, None)
    assert "secret" not in json.dumps(agents)
    assert (agents["requirements"][0]["why"], agents["requirements"][0]["pictures"]) == ("slug: a test fails", [])
    (hidden,) = agents["requirements"][0]["evidence"]
    assert hidden["tried"] == [{"id": "case 1", "outcome": "failed", "kind": "module"}]
    assert (hidden["failed"], hidden["exit_code"], hidden["why_void"]) == (1, None, HELD_BACK)
    assert hidden["command"] == ("pytest" if flag == "tainted" else HELD_BACK)
    (case,) = case_outcomes([one], over=False)
    assert (case.name, case.head, case.says) == ("case 1", ("failed",), "module")
    (case,) = case_outcomes([one], over=True)
    assert (case.name, case.says) == (TOLD.id, TOLD.detail)
    assert ledger(verdict, None, over=True)["requirements"][0]["evidence"][0]["tried"][0]["detail"] == TOLD.detail


def test_a_visible_case_keeps_its_name_and_what_its_first_run_said() -> None:
    first = fact("ev-1", held_out=False).model_copy(update={"tried": (TOLD,)})
    again = first.model_copy(update={"turn": 2, "tainted": True, "tried": (TOLD.model_copy(update={"detail": "x"}),)})
    (case,) = case_outcomes([first, again], over=False)
    assert (case.name, case.head, case.says) == (TOLD.id, ("failed", "failed"), TOLD.detail)
    good = first.model_copy(update={"tried": (TOLD.model_copy(update={"outcome": Outcomes.PASSED}),)})
    (case,) = case_outcomes([good, again], over=False)
    assert (case.name, case.head, case.says) == (TOLD.id, ("passed", "failed"), "module")


@pytest.mark.spec("LAW-2")
def test_a_requirement_that_nobody_looked_at_is_listed_as_unproven() -> None:
    contract = Contract(base="b" * 40, requirements=(Requirement(id="slug", text="a"), Requirement(id="cli", text="b")))
    verdict = Verdict(subject="1A", commit="c" * 40, requirements=(judged("slug", Grade.PROVEN),))
    data = ledger(verdict, contract, over=False)
    assert [(row["id"], row["grade"]) for row in data["requirements"]] == [("slug", "proven"), ("cli", "unproven")]
    assert data["grade"] == "unproven"
    notes: dict[str, list[str]] = {"existing_tests": [], "undecided": [], "reported": []}
    nothing = {"grade": "unproven", "commit": "", "requirements": [], **notes}
    assert ledger(None, None, over=False) == nothing
