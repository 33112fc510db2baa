"""Typed events: the stored form never changes, writers emit known classes, and no stored event breaks a reader."""

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.cli.event_lines import event_line
from trued.model import Event, Grade
from trued.model.events import JournalEvent, UnknownEvent, of_kind, parse
from trued.model.events.call import CallAnswered, TokenCount, from_runtime
from trued.model.events.landing import PullRequestOffered
from trued.model.events.people import RequirementApproved
from trued.model.events.proof import NoProgress, RequirementJudged, VerdictReached
from trued.model.events.run import PartMerged, RunEnded, WorkingTreeDirty
from trued.model.history import claim_of
from trued.reporting.views.event_kinds import known_kinds, typed
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Remark
from trued.workflows.handoff.events import FAILURE_MODES, FeatureListWritten, PassUndone
from trued.workflows.registry import descriptors
from trued.workflows.ticket.events import PreviewShown, RoundWithoutProgress
from trued.workflows.view import view_of

SOURCE = Path(__file__).parents[2] / "src" / "trued"
WORKFLOWS = [one.name for one in descriptors()]
OWN = tuple(event for name in WORKFLOWS for event in view_of(name).EVENTS)
KINDS = known_kinds(OWN)
# What the journal stored before events had classes: kind and fields, as text.
STORED = {
    "run began": '{"title": "T", "workflow": "team", "branch": "trued/r", "level": "landlock"}',
    "ended": '{"state": "done", "code": 0, "why": "", "grade": "proven"}',
    "working tree is dirty": '{"files": ["a"], "why": "the run starts from HEAD, without them"}',
    "asked": '{"role": "dev", "agent": "x", "brief": "näh", "chars": 3, "resume": false}',
    "answered": (
        '{"role": "dev", "agent": "x", "state": "done", "kind": "", "why": "", "reply": {"status": "DONE"},'
        ' "attempts": 1, "asks": 1, "resumed": false, "reaped": 0, "commit": "c0", "changed": ["a.py"],'
        ' "tokens": {"in": 1, "out": 2, "cached": 0, "peak": 3, "estimated": false}, "cost_usd": 0.5,'
        ' "cost": "reported", "requests": 1, "compactions": 0, "began": 1.0, "ended": 2.0}'
    ),
    "sealed": '{"check": "c0ffee", "sort": "examples", "serves": ["slug"], "cases": {"red": 4, "guard": 2}}',
    "checked": '{"check": "c0ffee", "sort": "examples", "turn": 1, "void": ""}',
    "judged": '{"requirement": "slug", "grade": "proven", "why": ["it holds"]}',
    "proven": (
        '{"subject": "plan", "commit": "c0", "grade": "tested", "holds": true, "gaps": [],'
        ' "requirements": [{"id": "slug", "grade": "tested", "why": []}]}'
    ),
    "merged": '{"part": "implementation/T1", "commit": "c0"}',
    "approved": '{"requirement": "*", "who": "ann", "why": "seen"}',
    "offered": '{"onto": "main", "draft": false, "url": "u", "number": 7, "commit": "c0", "who": "ann"}',
    "quota": '{"agent": "claude", "window": "five_hour", "used": 83.0, "until": 5.0}',
    "features": '{"features": [{"id": "a", "passes": true}], "feature": "a", "attempt": 2, "of": 3}',
    "passes undone": '{"features": ["a"], "why": "it does not hold"}',
    "step": '{"step": "review", "agents": ["r-quality"], "result": "DONE", "why": []}',
    "decided": '{"cluster": "review", "result": "NEEDS_REVISION", "why": ["Major"]}',
    "preview": '{"url": "http://127.0.0.1:1", "why": ""}',
    "supervisor stands still": "{}",
}


def stored(kind: str, data: dict[str, Any], key: str = "") -> Event:
    return Event(id=1, at=1.0, key=key, kind=kind, data=data)


@pytest.mark.spec("RUN-10", "DAY-15")
@pytest.mark.parametrize(("kind", "text"), STORED.items())
def test_what_is_stored_stays_as_it_is(kind: str, text: str) -> None:
    event = typed(stored(kind, json.loads(text)), OWN)
    assert not isinstance(event, UnknownEvent)
    assert (event.stored_kind, json.dumps(event.stored_data(), ensure_ascii=False)) == (kind, text)


@pytest.mark.spec("RUN-10")
def test_fields_that_say_nothing_are_left_out_where_they_always_were() -> None:
    assert PartMerged(part="a", commit="b").stored_data() == {"part": "a", "commit": "b"}
    assert PartMerged(part="a", commit="b", given_up=("x",)).stored_data()["given_up"] == ["x"]
    assert RequirementApproved(requirement="*", who="a", why="b").stored_data().keys() == {"requirement", "who", "why"}
    assert PassUndone(feature="a", why="b").stored_data() == {"feature": "a", "why": "b"}
    assert PreviewShown(url="u", why="").stored_data() == {"url": "u", "why": ""}
    assert WorkingTreeDirty(files=("a",), place="p").stored_data() == {"files": ["a"], "place": "p"}
    assert FeatureListWritten(features=()).stored_data() == {"features": []}
    offered = PullRequestOffered(draft=True, url="u", number=1, state="open", title="t", head="h").stored_data()
    assert offered.keys() == {"draft", "url", "number", "state", "title", "head"}
    verdict = VerdictReached(subject="landing", commit="c", grade=Grade.PROVEN, holds=True)
    assert verdict.stored_data().keys() == {"subject", "commit", "grade", "holds"}


def test_every_kind_has_one_class_and_every_class_a_sentence() -> None:
    assert all(kind == one.KIND and one.__doc__ for kind, one in KINDS.items())
    counts = Counter(one.__name__ for one in KINDS.values())
    assert [name for name, number in counts.items() if number > 1] == []


@pytest.mark.spec("RUN-10")
def test_an_older_event_is_read_as_far_as_it_can_be() -> None:
    ended = RunEnded.read(stored("ended", {"state": "waiting", "code": "3"}))
    assert ended == RunEnded(state="waiting", code=3, why="", grade="")
    answer = CallAnswered.read(stored("answered", {"role": 7, "tokens": {"in": 5, "more": 1}, "changed": "all"}))
    assert answer is not None
    assert (answer.role, answer.tokens, answer.changed) == ("7", TokenCount(tokens_in=5), ())
    assert RequirementJudged.read(stored("judged", {"requirement": "a", "grade": "splendid"})) == RequirementJudged(
        requirement="a", grade="", why=()
    )
    assert RunEnded.read(stored("asked", {})) is None


def test_what_no_class_is_known_for_is_kept_as_it_is() -> None:
    event = stored("contract broken", {"why": "no JSON"})
    unknown = parse(event, KINDS)
    assert isinstance(unknown, UnknownEvent)
    assert (unknown.stored_kind, unknown.stored_data()) == (event.kind, event.data)
    assert from_runtime("died", {"stopped": True, "reaped": 2}).stored_data() == {"stopped": True, "reaped": 2}
    assert from_runtime("log", {"text": "x"}).stored_data() == {"text": "x"}


def test_a_round_without_progress_is_read_as_no_progress_and_stored_as_before() -> None:
    event = RoundWithoutProgress(number=1, issues=(), open=(), fate="")
    assert event.stored_data() == {"number": 1, "issues": [], "open": [], "fate": ""}
    assert list(of_kind([stored(event.stored_kind, event.stored_data())], NoProgress))


def test_a_refuted_verdict_is_not_printed_as_proven() -> None:
    event = VerdictReached(subject="1A", commit="abc", grade=Grade.REFUTED, holds=False)
    line = event_line(stored(event.stored_kind, event.stored_data()))
    assert (event.stored_kind, "verdict" in line, "proven" in line) == ("proven", True, False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.spec("RUN-10", "USE-6")
@given(st.data())
def test_no_stored_event_breaks_a_reader(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([*KINDS, "something else"]))
    fields = list(KINDS[kind].model_fields) if kind in KINDS else ["a"]
    values = data.draw(st.dictionaries(st.sampled_from(fields), JSON)) if fields else {}
    event = stored(kind, values, data.draw(st.sampled_from(["", "chunk 1A/prove", "feature F1/task T1/dev#1"])))
    for name in WORKFLOWS:
        assert event_line(event, view_of(name))
        seen = Progress([stored("run began", {"workflow": name}), event, event])
        assert not any("the view of" in row.text for row in seen.rows.values() if isinstance(row, Remark))


# -- writers -----------------------------------------------------------------------------------------------------------

EMITTERS = {"emit", "tell", "record"}
# These modules emit plain data for agents and supervisors, which `from_runtime` turns into events.
PLAIN = ("agents", "proof/probes", "cli/demo", "gate", "cli/gate.py")


def emitted() -> list[tuple[str, ast.Call]]:
    """Every function call in the package that writes to the journal."""
    files = [path for path in SOURCE.rglob("*.py") if not str(path.relative_to(SOURCE)).startswith(PLAIN)]
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args:
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                found += [(str(path.relative_to(SOURCE)), node)] if name in EMITTERS else []
    return found


@pytest.mark.spec("DAY-15")
def test_every_writer_emits_a_class_and_no_free_string() -> None:
    free = [
        f"{file}:{call.lineno}"
        for file, call in emitted()
        for one in [call.args[1] if len(call.args) > 1 and isinstance(call.args[0], ast.Constant) else call.args[0]]
        if isinstance(one, ast.Constant | ast.JoinedStr | ast.Dict) or any(word.arg is None for word in call.keywords)
    ]
    assert free == []


@pytest.mark.spec("DAY-15")
def test_every_class_is_built_by_somebody_or_says_that_it_is_old() -> None:
    texts = [path.read_text() for path in SOURCE.rglob("*.py")]
    calls = [node.func for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    built = {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in calls}
    by_agents = "".join(path.read_text() for path in (SOURCE / "agents").rglob("*.py"))
    unused = [
        kind
        for kind, one in KINDS.items()
        if one.__name__ not in built
        and f'emit("{kind}"' not in by_agents
        and kind not in (*FAILURE_MODES, "approved", "rejected", "round")  # these are built by functions
        and "earlier versions" not in str(one.__doc__)
    ]
    assert unused == []


@pytest.mark.spec("DAY-15")
def test_what_a_descriptor_counts_as_rounds_is_a_known_event() -> None:
    for one in descriptors():
        if one.rounds and one.rounds.event:
            fields = KINDS[one.rounds.event].model_fields
            assert set(one.rounds.fields) <= set(fields), one.name


def test_a_class_without_a_kind_is_a_base() -> None:
    bases = [one for one in JournalEvent.__subclasses__() if not one.KIND]
    assert {one.__name__ for one in bases} <= {"UnknownEvent", "FailureMode"}


def test_every_class_of_events_is_listed_so_that_none_is_read_as_unknown() -> None:
    for one in JournalEvent.__subclasses__():
        if one.KIND and one.__module__.startswith("trued."):
            assert one in KINDS.values(), f"{one.__name__} is missing in EVENTS of {one.__module__}"


@pytest.mark.parametrize(
    ("reply", "claim"),
    [
        ({"status": "DONE"}, "DONE"),
        ({"status": "DONE", "result": "GAPS_REMAIN"}, "GAPS_REMAIN"),
        ({"status": "DONE", "decision": "failed"}, "failed"),
        ({"status": "DONE", "passes": False}, "not yet"),
        ({"passes": True, "passed": True}, "PASS"),
        (None, ""),
    ],
)
def test_a_call_claims_the_same_in_the_tree_as_in_the_report(reply: dict[str, object] | None, claim: str) -> None:
    answered = CallAnswered.from_data({"reply": reply})
    assert answered
    assert answered.claim == claim == claim_of(reply or {})
