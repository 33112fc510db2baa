"""The ledger: each requirement with its grade, the reasons, and every time the engine tried it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trued.model import (
    EXISTING_TESTS,
    Case,
    Contract,
    Evidence,
    ExamplesCheck,
    Finding,
    Grade,
    Judged,
    Outcomes,
    Requirement,
    RunCase,
    Tried,
)
from trued.proof.checks.examples import case_id, case_in_words
from trued.proof.room.bench import check_hash
from trued.reporting.html.calls import Text
from trued.reporting.html.format import counted, cut
from trued.reporting.html.material import Material
from trued.reporting.html.pictures import Album, Figure
from trued.reporting.views import HELD_BACK

OUTPUTS = 3_000_000  # characters of all outputs of checks together
LONGEST, SHORTEST = 20_000, 300
SHOWN = 200  # cases or test ids of one piece of evidence


@dataclass(frozen=True)
class Shown:
    """One case or test id as it ended."""

    id: str
    words: str  # the case itself
    outcome: str
    did: str  # what the work answered


@dataclass(frozen=True)
class Trial:
    """One execution of one check by the engine."""

    id: str
    side: str
    turn: int
    kind: str
    counts: str
    good: bool
    void: str
    held_out: bool
    facts: tuple[tuple[str, str], ...]
    cases: tuple[Shown, ...]
    cases_left_out: int
    output: Text
    seconds: float
    when: float


@dataclass(frozen=True)
class Stage:
    """What was known after one step."""

    key: str
    grade: str
    commit: str
    why: str
    at: float
    trials: tuple[Trial, ...]
    pictures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Row:
    id: str
    anchor: str
    text: str
    source: str
    grade: str
    why: tuple[str, ...]
    lacks: str
    covers: tuple[str, ...]
    checks: str
    stages: tuple[Stage, ...]  # verdicts, oldest first: the last one is the grade
    base: tuple[Trial, ...]  # red, before any work
    before: tuple[Figure, ...]
    gaps: tuple[Finding, ...]
    rests_on: str = ""  # whose word the cases are
    guard: bool = False  # the base's own tests: no requirement, and without a grade


def rows(material: Material) -> tuple[Row, ...]:
    contract, verdict = material.contract, material.verdict
    sealed = {one.id: one for one in contract.every} if contract else {}
    judged = {one.id: one for one in (*verdict.requirements, *verdict.suites)} if verdict else {}
    names = list(dict.fromkeys([*judged, *sealed]))
    telling = _Telling(
        contract, material.ended, min(LONGEST, max(SHORTEST, OUTPUTS // max(1, len(list(material.facts)))))
    )
    base: dict[str, list[Evidence]] = {}
    for one in contract.base_facts if contract else ():
        base.setdefault(one.requirement, []).append(one)
    album = Album(material)
    before = {name: album.of(facts) for name, facts in base.items()}
    stages = _stages(material, telling, album)
    return tuple(
        _row(
            number,
            judged.get(name) or _unseen(sealed[name]),
            sealed.get(name),
            stages.get(name, ()),
            tuple(map(telling.trial, base.get(name, ()))),
            before.get(name, ()),
        )
        for number, name in enumerate(names, 1)
    )


def _unseen(sealed: Requirement) -> Judged:
    why = ("not checked yet",)
    return Judged(id=sealed.id, text=sealed.text, source=str(sealed.source), grade=Grade.UNPROVEN, why=why, holds=False)


def _row(
    number: int,
    judged: Judged,
    sealed: Requirement | None,
    stages: Sequence[Stage],
    base: Sequence[Trial],
    before: Sequence[Figure],
) -> Row:
    return Row(
        id=judged.id,
        anchor=f"requirement-{number}",
        text=cut(judged.text, 4000)[0],
        source=judged.source,
        grade=str(judged.grade),
        why=judged.why,
        lacks=judged.lacks,
        covers=sealed.covers if sealed else (),
        checks=_checks(sealed) if sealed else "",
        stages=tuple(stages),
        base=tuple(base),
        before=tuple(before),
        gaps=judged.gaps,
        rests_on=judged.rests_on,
        guard=judged.id.startswith(EXISTING_TESTS),
    )


def _checks(requirement: Requirement) -> str:
    kinds = Counter(one.kind for one in requirement.checks)
    cases = sum(len(one.cases) for one in requirement.checks if isinstance(one, ExamplesCheck))
    named = [counted(cases, "case") if kind == "examples" else f"{number} {kind}" for kind, number in kinds.items()]
    return ", ".join(named) or "no check"


def _stages(material: Material, telling: "_Telling", album: Album) -> Mapping[str, Sequence[Stage]]:
    found: dict[str, list[Stage]] = {}
    for proved in material.history:
        verdict = proved.verdict
        evidence: dict[str, list[Evidence]] = {}
        for piece in verdict.evidence:
            if piece.side == "head":
                evidence.setdefault(piece.requirement, []).append(piece)
        for one in (*verdict.requirements, *verdict.suites):
            facts = evidence.get(one.id, ())
            trials, why = tuple(map(telling.trial, facts)), "; ".join(one.why)
            stage = Stage(proved.key, one.grade, verdict.commit, why, proved.at, trials, album.of(facts))
            found.setdefault(one.id, []).append(stage)
    return found


class _Telling:
    """Evidence in words, without what must not be told yet."""

    def __init__(self, contract: Contract | None, ended: bool, room: int) -> None:
        self._ended, self._room = ended, room
        self._words = {
            (check_hash(check), case_id(place)): f"{case_in_words(case)}{_wanted(case)}"
            for requirement in (contract.requirements if contract else ())
            for check in requirement.checks
            if isinstance(check, ExamplesCheck)
            for place, case in enumerate(check.cases)
        }

    def trial(self, one: Evidence) -> Trial:
        hidden = one.held_out and not self._ended
        counts = Counter(tried.outcome for tried in one.tried)
        good = not one.why_void and bool(one.tried or one.exit_code == 0) and set(counts) <= {Outcomes.PASSED}
        shown = () if hidden else one.tried[:SHOWN]
        return Trial(
            id=one.id,
            side=one.side,
            turn=one.turn,
            kind=one.kind,
            counts=", ".join(f"{number} {outcome}" for outcome, number in counts.items()) or _exit(one.exit_code),
            good=good,
            void=one.why_void,
            held_out=one.held_out,
            facts=tuple(_facts(one, hidden)),
            cases=tuple(self._case(one, tried) for tried in shown),
            cases_left_out=0 if hidden else len(one.tried) - len(shown),
            output=Text.of("" if hidden else one.output, self._room),
            seconds=one.seconds,
            when=one.began,
        )

    def _case(self, one: Evidence, tried: Tried) -> Shown:
        words = self._words.get((one.check, tried.id), "")
        did = tried.detail or tried.kind
        return Shown(tried.id, cut(words, self._room)[0], tried.outcome, cut(did, min(600, self._room))[0])


def _exit(code: int | None) -> str:
    return "ended by the engine" if code is None else f"exit code {code}"


def _facts(one: Evidence, hidden: bool) -> Iterator[tuple[str, str]]:
    yield "command", HELD_BACK if hidden else one.command
    yield "commit", one.commit
    yield "tree", one.tree
    yield "interpreter", one.interpreter
    yield "isolation", one.isolation
    if one.exit_code is not None:
        yield "exit code", str(one.exit_code)
    yield "evidence", one.id


def _wanted(case: Case) -> str:
    """What a command line must say; of a call or an exchange it is said already."""
    if not isinstance(case, RunCase):
        return ""
    given = [f"stdin {case.stdin!r}"] if case.stdin else []
    wanted = case.stdout if case.stdout is not None else case.stdout_json
    return f" {' '.join(given)} → exit {case.exit}{f', stdout {wanted!r}' if wanted is not None else ''}"
