"""The verdict on an unfinished run: the newest judgement of each requirement."""

from hypothesis import given
from hypothesis import strategies as st

from trued.engine.verdict_so_far import VerdictSoFar
from trued.model import Evidence, Grade, Judged, Verdict

NAMES = ("a", "b", "c", "existing tests: d")


def _judged(name: str, grade: Grade) -> Judged:
    return Judged(id=name, text=name, grade=grade, why=("x",), holds=grade is Grade.PROVEN)


def _fact(number: int, name: str) -> Evidence:
    parts = {
        "check": "c",
        "kind": "examples",
        "side": "head",
        "commit": "1" * 40,
        "tree": "2" * 40,
        "isolation": "none",
    }
    return Evidence(id=f"{name}-{number}", requirement=name, **parts)


@st.composite
def verdicts(draw: st.DrawFn) -> list[Verdict]:
    found = []
    for number in range(draw(st.integers(1, 6))):
        own = draw(st.lists(st.sampled_from(NAMES[:3]), unique=True))
        suites = draw(st.lists(st.sampled_from(NAMES[3:]), unique=True))
        facts = draw(st.lists(st.sampled_from(NAMES), max_size=4))
        grade = draw(st.sampled_from(list(Grade)))
        found.append(
            Verdict(
                subject=str(number),
                commit=str(number) * 40,
                requirements=tuple(_judged(name, grade) for name in own),
                suites=tuple(_judged(name, grade) for name in suites),
                evidence=tuple(_fact(number * 10 + place, name) for place, name in enumerate(facts)),
            )
        )
    return found


def _as_one(every: list[Verdict]) -> Verdict:
    """The expected verdict so far, computed from all verdicts at once."""
    judged = {one.id: one for verdict in every for one in verdict.requirements}
    newest = {one.id: verdict for verdict in every for one in (*verdict.requirements, *verdict.suites)}
    facts = ((verdict, one) for verdict in every for one in verdict.evidence)
    evidence = tuple(one for verdict, one in facts if newest.get(one.requirement, verdict) is verdict)
    parts = {"subject": "so far", "requirements": tuple(judged.values()), "evidence": evidence}
    return every[-1].model_copy(update=parts)


def test_before_the_first_task_was_judged_there_is_none() -> None:
    assert VerdictSoFar().verdict is None


@given(verdicts())
def test_it_is_the_same_after_each_verdict_as_of_all_at_once(every: list[Verdict]) -> None:
    assert VerdictSoFar().verdict is None
    found = VerdictSoFar()
    for number, one in enumerate(every, 1):
        found.add(number, one.model_dump_json())
        assert found.verdict == _as_one(every[:number])
        assert found.last == number


@given(verdicts())
def test_it_is_the_same_whenever_somebody_looks(every: list[Verdict]) -> None:
    found = VerdictSoFar()
    for number, one in enumerate(every, 1):
        found.add(number, one.model_dump_json())
    assert found.verdict == _as_one(every)
