"""The report is a view of the journal: complete, harmless, self-contained."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reporting.html.reading import Read
from tests.reporting.html.sample import START, call, history, long_run, material, told
from trued.engine.pending import Wait
from trued.model import Approval, Comment, Goal, Grade, Outcomes, Question, RunRecord, Settings, Tried
from trued.reporting.html.calls import calls
from trued.reporting.html.material import Material, Spooled
from trued.reporting.html.page import ReportPage, page
from trued.reporting.html.render import rendered
from trued.reporting.html.timeline import Lane, timeline

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31mred\x1b]0;title\x07\u202e https://evil.example/x'


TAGS = [tag for tag, _ in Read(rendered(page(material()))).tags]


def report(one: Material) -> tuple[ReportPage, str, Read]:
    made = page(one)
    html = rendered(made)
    return made, html, Read(html)


def lane(one: Material, name: str) -> Lane:
    return next(lane for lane in timeline(one, calls(one)).lanes if lane.name == name)


@pytest.mark.spec("RUN-10", "LAW-1")
def test_every_requirement_is_there_with_its_grade_reason_source_and_evidence() -> None:
    made, _, read = report(material())
    assert [(row.id, row.grade) for row in made.rows] == [("slug", "proven"), ("count", "proven")]
    for wanted in (
        "all 2 held-out cases failed on the base and pass here, twice",
        "requirements.yaml:12",
        "bubblewrap",
        "2 cases by /usr/bin/python3",
        "7" * 40,
        "c0ffee",
        "pytest 8.4.2",
    ):
        assert wanted in read.text


def test_the_page_is_well_formed_and_its_links_lead_somewhere() -> None:
    _, _, read = report(material())
    assert (read.unbalanced, read.open) == ([], [])
    anchors = {attributes["id"] for _, attributes in read.tags if "id" in attributes}
    links = [attributes["href"] for tag, attributes in read.tags if tag == "a"]
    assert links
    assert [link for link in links if not link.startswith("#") or link[1:] not in anchors] == []
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.spec("USE-6")
def test_what_agents_say_cannot_become_markup_script_or_control_sequence() -> None:
    evil = material(EVIL)
    spoken = replace(evil, approvals=[Approval(requirement="slug", who=EVIL, why=EVIL)])
    _, html, read = report(spoken)
    assert [tag for tag, _ in read.tags if tag in ("script", "img", "iframe", "object", "link", "base", "form")] == []
    assert [name for _, attributes in read.tags for name in attributes if name.startswith("on")] == []
    assert read.unbalanced == []
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html) is None
    assert "alert(1)" in read.text  # only terminal control characters are dropped
    assert "all tests pass" in read.text


@pytest.mark.slow
@given(st.text(max_size=200))
@settings(max_examples=15, deadline=None)
def test_no_text_at_all_adds_a_tag(text: str) -> None:
    assert [tag for tag, _ in Read(rendered(page(material(f"x{text}")))).tags] == TAGS


def test_the_page_loads_nothing_and_forbids_itself_to() -> None:
    _, html, read = report(material(EVIL))
    policy = next(one["content"] for one in read.having("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert [attributes for _, attributes in read.tags if "src" in attributes or "srcset" in attributes] == []
    assert [one["href"] for one in read.having("a") if not one["href"].startswith("#")] == []
    style = html[html.index("<style>") : html.index("</style>")]
    assert "@import" not in style
    assert set(re.findall(r"url\(([^)]*)\)", style)) <= {"#hatch", "#hatch-failed", "#hatch-base"}


@pytest.mark.spec("LAW-7")
def test_held_out_values_are_shown_only_when_the_run_has_ended() -> None:
    secrets = ("Foo & Bar 42", "foo-bar-42", "a 2", "stdout b'a 1", "AttributeError")
    _, _, over = report(material())
    assert [one for one in secrets if one not in over.text] == []
    for state in ("running", "waiting", "interrupted", "failed", "unjudged", "planned"):
        _, html, _ = report(material(state=state))
        assert [one for one in (*secrets, "foo-bar", "Foo &amp; Bar") if one in html] == []
        assert "held out until the run has ended" in html


@pytest.mark.spec("PAGE-6")
@pytest.mark.parametrize("role", ["examiner", "second-examiner"])
def test_what_an_examiner_was_told_and_said_is_shown_only_when_the_run_has_ended(role: str) -> None:
    key = f"seal/{role}#1"
    asked = told(1.0, key, "asked", role=role, agent="scripted:x", brief="write secret cases", chars=18, resume=False)
    reply = {"status": "DONE", "summary": "a secret summary", "cases": ["secret case"]}
    said = told(2.0, key, "answered", role=role, agent="scripted:x", state="done", why="secret why", reply=reply)
    spool = Spooled(({"at": START + 1.5, "kind": "log", "text": "a secret line"},))
    for state, shown in (("running", False), ("waiting", False), ("failed", False), ("done", True)):
        _, html, _ = report(material(state=state, events=(asked, said), spool=lambda key, lines: spool))
        for secret in ("write secret cases", "secret summary", "secret case", "secret why", "secret line"):
            assert (secret in html) is shown, (state, secret)


@pytest.mark.spec("PAGE-6")
def test_what_a_check_printed_after_a_held_out_case_had_run_is_shown_only_when_the_run_has_ended() -> None:
    first, *rest = history()
    tried = Tried(id="test_quotes it", outcome=Outcomes.FAILED, kind="module quotes it", detail="E quotes it")
    update = {"held_out": False, "tainted": True, "output": "quotes it", "tried": (tried,), "why_void": "quotes it"}
    tainted = first.verdict.evidence[0].model_copy(update=update)
    proved = replace(first, verdict=first.verdict.model_copy(update={"evidence": (tainted,)}))
    for state, shown in (("running", False), ("done", True)):
        _, html, _ = report(material(state=state, history=(proved, *rest)))
        assert ("quotes it" in html) is shown
        assert tainted.command in html


@pytest.mark.spec("RUN-10")
def test_the_cases_of_every_run_are_listed_in_the_order_of_the_first_and_failed_ones_first() -> None:
    sealed = material()
    first, *rest = history()
    turn = first.verdict.evidence[1]  # the second: the engine runs cases in another order then
    failing = turn.tried[1].model_copy(update={"outcome": Outcomes.FAILED})
    reverse = turn.model_copy(update={"tried": turn.tried[::-1]})
    failed = turn.model_copy(update={"id": "ev-3", "turn": 3, "tried": (turn.tried[0], failing)})
    facts = (first.verdict.evidence[0], reverse, failed)
    proved = replace(first, verdict=first.verdict.model_copy(update={"evidence": facts}))
    row = next(one for one in page(replace(sealed, history=(proved, *rest))).rows if one.id == "slug")
    shown = [[case.id for case in trial.cases] for trial in row.stages[0].trials]
    assert shown == [["case 1", "case 2"], ["case 1", "case 2"], ["case 2", "case 1"]]


def test_a_claim_that_the_engine_refuted_has_a_red_diamond_on_both_agents_and_on_the_engine() -> None:
    one = material()
    for name, key in (("purple-team-a", "chunk 1B/purple-team-a#1"), ("purple-team-b", "chunk 1B/purple-team-b#1")):
        (mark,) = [mark for mark in lane(one, name).marks if mark.kind == "refuted"]
        assert mark.title.startswith(f"{key}: claimed ")
        assert "count" in mark.title
    assert [mark.kind for mark in lane(one, "engine").marks] == ["refuted"]
    assert [call.key for call in calls(one) if call.refuted] == [
        "chunk 1B/purple-team-a#1",
        "chunk 1B/purple-team-b#1",
    ]


def test_who_named_gaps_is_not_shown_as_refuted() -> None:
    honest = {"status": "DONE", "result": "GAPS_REMAIN", "summary": "the count is wrong", "gaps": []}
    events = [one for one in material().events if one.key != "chunk 1B/purple-team-b#1"]
    one = replace(material(), events=[*events, *call("chunk 1B/purple-team-b#1", 11.9, 1.4, honest)])
    assert [call.key for call in calls(one) if call.refuted] == ["chunk 1B/purple-team-a#1"]


@pytest.mark.parametrize(
    ("role", "reply", "falls"),
    [
        ("uat", {"decision": "failed"}, False),
        ("uat", {"decision": "passed"}, True),
        ("dev", {"status": "DONE"}, True),
        ("dev", {"status": "DONE", "asks": {"to": "techlead", "text": "how?"}}, False),
        ("techlead", {"status": "DONE"}, False),
        ("v-tests", {"status": "DONE"}, True),
        ("planner", {"status": "DONE"}, False),
    ],
)
def test_only_a_claim_that_the_work_is_good_can_fall(role: str, reply: dict[str, Any], falls: bool) -> None:
    events = [one for one in material().events if one.key != "chunk 1B/purple-team-b#1"]
    one = replace(material(), events=[*events, *call(f"chunk 1B/{role}#1", 11.9, 1.4, reply)])
    assert (f"chunk 1B/{role}#1" in [call.key for call in calls(one) if call.refuted]) == falls


@pytest.mark.spec("RUN-2")
def test_a_call_that_outlived_its_engine_is_marked_and_the_restart_is_drawn_through_all_lanes() -> None:
    one = material()
    (mark,) = [mark for mark in lane(one, "purple-team-a").marks if mark.kind == "crash"]
    assert "adopted" in mark.title
    drawn = timeline(one, calls(one))
    assert len(drawn.resumes) == 1
    bar = next(bar for bar in lane(one, "purple-team-a").bars if bar.link == mark.link and bar.kind == "work")
    assert bar.x < mark.x < bar.x + bar.width


def test_the_engines_checks_are_hatched_and_waiting_is_grey() -> None:
    _, _, read = report(material())
    kinds = {one["class"] for one in read.having("rect", "bar")}
    assert {"bar work", "bar wait", "bar check", "bar check failed", "bar check base"} <= kinds
    assert {bar.kind for bar in lane(material(), "engine").bars} == {"check", "check failed", "check base"}


def test_bars_stay_inside_the_picture_and_in_order() -> None:
    for each in timeline(material(), calls(material())).lanes:
        assert all(bar.x >= 0 and bar.x + bar.width <= 100.5 for bar in each.bars)
        assert [bar.x for bar in each.bars] == sorted(bar.x for bar in each.bars)


def test_days_of_waiting_for_a_person_do_not_squash_the_work() -> None:
    days = 3 * 86400.0
    asked = Question(
        key="confirm", text="Go on?", answer="yes", who="ada", asked_at=START + 29, answered_at=START + days
    )
    more = call("chunk 2A/purple-team-a#1", days + 1, 2.0, {"status": "DONE", "summary": "done"})
    one = replace(material(), events=[*material().events, *more], questions=[asked], now=START + days + 4)
    drawn = timeline(one, calls(one))
    assert [cut.label for cut in drawn.cuts] == ["2d23h"]
    last = next(each for each in drawn.lanes if each.name == "purple-team-a").bars[-1]
    assert last.width > 3
    assert len(drawn.ticks) < 20
    assert [each.kind for each in drawn.lanes] == ["agent", "agent", "engine", "person"]


def test_a_clock_that_goes_backwards_draws_something() -> None:
    backwards = call("chunk 2A/purple-team-a#1", 40.0, -30.0, {"status": "DONE", "summary": "done"})
    one = replace(material(), events=[*material().events, *backwards])
    made, _, read = report(one)
    assert read.unbalanced == []
    assert all(bar.width > 0 for each in made.timeline.lanes for bar in each.bars)


def test_a_run_that_has_only_begun_has_a_report() -> None:
    record = RunRecord(id="r-1", workflow="solo", title="", repository="/x", base="b" * 40, branch="trued/r-1")
    bare = Material(record=record, events=[], settings=Settings(), goal=Goal(text="x"), now=START)
    _, _, read = report(bare)
    assert "Nothing has been sealed yet" in read.text
    assert read.unbalanced == []


def test_a_call_still_at_work_is_drawn_until_now() -> None:
    asked = told(30, "chunk 2A/purple-team-a#1", "asked", role="purple-team-a", agent="command:x", brief="b", chars=1)
    one = replace(material(state="running"), events=[*material().events, asked], now=START + 40)
    bar = next(lane for lane in timeline(one, calls(one)).lanes if lane.detail == "command: x").bars[-1]
    assert (bar.kind, bar.ended) == ("open", START + 40)


@pytest.mark.spec("PUR-11", "AGT-6")
def test_tokens_are_summed_by_role_and_estimates_and_simulations_are_marked() -> None:
    made, _, read = report(material())
    assert [(one.role, one.calls) for one in made.spent] == [("purple-team-a", 3), ("purple-team-b", 3)]
    assert all(one.tokens_in.startswith("~") and one.cost == "not reported" for one in made.spent)
    assert "simulated: a script, not a model" in read.text
    assert "scripts, not models" in read.text


def test_only_the_agents_that_are_scripts_are_called_scripts() -> None:
    sample = material()
    last = calls(sample)[-1].key
    events = [
        one.model_copy(update={"data": {**one.data, "agent": "claude"}}) if one.key == last and "agent" in one.data
        else one
        for one in sample.events
    ]  # fmt: skip
    made, _, read = report(replace(sample, events=events))
    assert {call.is_scripted for call in made.calls} == {True, False}
    assert "The agents of this run are scripts" not in read.text
    assert "Some agents of this run (purple-team-a, purple-team-b) are scripts, not models" in read.text
    assert "simulated" not in [remark for _, _, remark in made.figures]


def test_comments_are_not_passed_over_where_nobody_was_asked() -> None:
    alone = replace(material(), approvals=(), questions=(), waits=(), comments=())
    comment = Comment(to="", text="keep it short", who="ann", at=1.0)
    for comments in ((), (comment,)):
        _, _, read = report(replace(alone, comments=comments))
        assert "all grades rest on checks" in read.text
        assert ("comments are no evidence" in read.text) is bool(comments)


@pytest.mark.spec("PUR-10")
def test_the_ticked_plan_and_the_log_are_shown() -> None:
    made, _, read = report(material())
    assert [one.name for one in made.documents] == ["PLAN.md", "MEMORY.md"]
    assert "- [x] slugs work" in read.text


@pytest.mark.spec("LAW-8")
def test_what_lowers_trust_stands_first() -> None:
    lowered = replace(material(), settings=Settings(accept=Grade.TESTED), level="none")
    notices = page(lowered).notices
    assert "--accept tested" in notices[0]
    assert "Nothing was confined" in notices[1]
    obeyed = told(
        5, "chunk 1A/purple-team-a#1", "answered", state="done", changed=[".claude/settings.json"], ended=START
    )
    touched = replace(material(), events=[*material().events, obeyed])
    assert any(".claude/settings.json" in one for one in page(touched).notices)
    assert page(material()).notices == ()


@pytest.mark.spec("LAW-8", "PUR-5")
def test_a_loop_without_progress_is_not_called_early_because_it_may_have_been_its_last_round() -> None:
    stuck = told(5, "chunk 1A", "no progress", gaps=["count: it fails"])
    (notice,) = page(replace(material(), events=[*material().events, stuck])).notices
    assert "no progress" in notice.lower()
    assert "count: it fails" in notice
    assert "early" not in notice  # the question whether to continue says why the rounds ended


@pytest.mark.spec("RUN-8")
def test_who_approved_and_who_answered_is_said() -> None:
    given_word = [Approval(requirement="*", who="ada", why="I wrote it", at=START)]
    asked = [Question(key="chunk 1A/confirm#1", text="Go on?", answer="redo", comment="names", who="bob")]
    _, _, read = report(replace(material(), approvals=given_word, questions=asked))
    words = " ".join(read.text.split())
    assert "ada approved the whole contract: I wrote it" in words
    assert "Go on? bob: redo, names" in words


@pytest.mark.spec("RUN-8")
def test_who_rejected_what_and_what_is_still_waited_for_is_said() -> None:
    no = Approval(requirement="slug", who="ada", why="ugly", at=START, commit="c" * 40, rejected=True)
    old = no.model_copy(update={"rejected": False, "stale": "2 commits earlier; changed since: a.py"})
    look = Wait(kind="judge", what="slug: look", since=START, command="trued approve r slug", steps=("read <it>",))
    _, _, read = report(replace(material(), approvals=[no, old], waits=[look]))
    words = " ".join(read.text.split())
    assert "ada rejected slug: ugly" in words
    assert "It does not count any more: 2 commits earlier; changed since: a.py" in words
    assert "slug: look" in words
    assert "☐ read <it>" in words
    assert "trued approve r slug" in words


def test_the_brief_is_there_as_sent_with_its_size() -> None:
    one = material()
    _, _, read = report(one)
    sent = next(event.data["brief"] for event in one.events if event.kind == "asked")
    assert sent in read.text
    assert f"{len(sent)} characters" in read.text


@pytest.mark.spec("PAGE-3")
def test_a_thousand_chunks_make_a_small_page_in_which_what_is_in_the_way_is_whole() -> None:
    one = long_run(1000)
    long = [event.model_copy(update={"data": {**event.data, "brief": "word " * 2500}}) for event in one.events]
    made, html, read = report(replace(one, events=long))
    assert read.nodes <= 30_000
    assert len(html.encode()) <= 3_000_000
    assert (len(made.calls), len(made.rows), made.rows[0].id, made.rows[0].grade) == (4000, 1000, "R1000", "refuted")
    assert made.rows[0].stages[-1].trials[0].cases[0].did == "returned 'x'"  # the evidence is shown case by case
    assert len(made.rows[0].stages[-1].trials) == 2
    brief = made.rows[-1]
    assert brief.in_brief == "before any work: 3 × 2 missing; at c0ffee1111: 2 × 2 passed"
    for command in ("trued why ID r-demo", "trued show --all r-demo", "trued logs r-demo --call KEY"):
        assert command in read.text
    assert "60 calls of 4\N{NARROW NO-BREAK SPACE}000 are in this file" in read.text
    assert [call.key for call in made.calls if call.refuted and not call.is_shown] == []
    anchors = {attributes["id"] for _, attributes in read.tags if "id" in attributes}
    assert [one["href"] for one in read.having("a") if one["href"][1:] not in anchors] == []
    assert read.unbalanced == []


@pytest.mark.spec("PAGE-3")
@pytest.mark.parametrize("chunks", [40, 150])
def test_no_number_of_requirements_in_between_makes_a_larger_page(chunks: int) -> None:
    _, html, read = report(long_run(chunks))
    assert (read.nodes <= 32_000, len(html) <= 3_000_000) == (True, True)


@pytest.mark.slow
def test_of_more_rows_than_fit_the_met_ones_are_left_out_and_counted() -> None:
    made, _, read = report(long_run(1100))
    assert (made.rows[0].grade, len(made.rows), made.ledger.left_out) == ("refuted", 1001, 99)
    assert "99 requirements are not in this file: trued ledger r-demo" in read.text
    assert made.figures[0][0] == "1099/1100"


def test_a_small_run_has_all_of_its_evidence_in_the_order_of_the_contract() -> None:
    made, _, _ = report(long_run(4))
    assert [row.id for row in made.rows] == ["R1", "R2", "R3", "R4"]
    assert [(len(row.base), *(len(stage.trials) for stage in row.stages)) for row in made.rows] == [(3, 2, 2)] * 4
    assert all(call.is_shown and call.brief.text for call in made.calls)


def test_no_label_of_the_axis_is_cut_off() -> None:
    for chunks in range(1, 12):
        drawn = timeline(one := long_run(chunks), calls(one))
        assert [tick for tick in drawn.ticks if tick.label and tick.x >= 88] == []
