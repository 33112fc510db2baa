"""The ledger: each requirement with its grade, the reasons, and every run of its checks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trued.model import (
    EXISTING_TESTS,
    Contract,
    Evidence,
    ExamplesCheck,
    Finding,
    Grade,
    Judged,
    Outcomes,
    Requirement,
    Tried,
)
from trued.model.evidence import HELD_BACK
from trued.reporting.html.calls import Text
from trued.reporting.html.format import counted, cut
from trued.reporting.html.material import Material, Proved
from trued.reporting.html.pictures import Album, Figure
from trued.reporting.views.cases import CaseNumbers, case_numbers, described, in_order
from trued.reporting.views.ledger import NOT_CHECKED_YET, not_judged_yet

OUTPUTS = 600_000  # the most characters of all outputs of checks together
LONGEST, SHORTEST = 20_000, 300  # room for one output, in characters: the most, and the least
SHOWN = 200  # at most this many cases or test ids of one piece of evidence are shown
# At most this many rows for met requirements, and twice as many for unmet ones. If there are more unmet requirements,
# they also take the rows of met ones.
MOST_ROWS = 1_000
# Room for evidence, in HTML elements: the most, and the least. A browser lays out a page of 30,000 elements without a
# delay, but needs 20 s for 700,000.
EVIDENCE, LEAST_EVIDENCE = 11_500, 2_000
OF_A_ROW = 15  # elements of a row without evidence
OF_A_TRIAL, OF_A_CASE = 36, 4  # elements of one trial, and of one case


@dataclass(frozen=True)
class ShownCase:
    """One case or test id and its outcome."""

    id: str
    words: str  # the case itself
    outcome: str
    did: str  # the actual result


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
    cases: tuple[ShownCase, ...]
    cases_left_out: int
    output: Text
    seconds: float
    when: float


@dataclass(frozen=True)
class VerdictStage:
    """What the verdict of one step says about one requirement."""

    key: str
    grade: str
    commit: str
    why: str
    at: float
    trials: tuple[Trial, ...]
    pictures: tuple[Figure, ...] = ()
    left_out: int = 0  # number of trials that are not shown; the journal has them


@dataclass(frozen=True)
class LedgerRow:
    id: str
    anchor: str
    text: str
    source: str
    grade: str
    why: tuple[str, ...]
    lacks: str
    covers: tuple[str, ...]
    checks: str
    stages: tuple[VerdictStage, ...]  # verdicts, oldest first: the last one gives the grade
    base: tuple[Trial, ...]  # on the base, before any work
    before: tuple[Figure, ...]
    gaps: tuple[Finding, ...]
    rests_on: str = ""  # who wrote or approved the cases
    guard: bool = False  # the row of the base's own tests, which are not a requirement and have no grade
    base_left_out: int = 0
    in_brief: str = ""  # its evidence in one line, if there was no room for more


@dataclass(frozen=True)
class Ledger:
    """The rows that the report shows, and how many it leaves out. Rows of met requirements are left out first."""

    every: tuple[LedgerRow, ...]
    left_out: int = 0  # number of rows

    @property
    def in_brief(self) -> int:
        return sum(1 for row in self.every if row.in_brief)


@dataclass(frozen=True)
class LedgerLine:
    """One requirement in one line: what it says, its grade and why."""

    id: str
    text: str
    source: str
    grade: str
    why: tuple[str, ...]
    lacks: str
    met: bool
    guard: bool
    judged: bool = True  # False: no verdict contains the requirement yet


def lines(material: Material) -> list[LedgerLine]:
    """Every requirement: unmet ones first, and among these the worst grade first."""
    accept = material.settings.accept
    rows = [
        LedgerLine(
            id=judged.id,
            text=cut(judged.text, 1000)[0],
            source=judged.source,
            grade=str(judged.grade),
            why=judged.why,
            lacks=judged.lacks,
            met=_is_met(judged, accept),
            guard=_is_guard(judged),
            judged=judged.why != NOT_CHECKED_YET,
        )
        for judged in _judgements(material)
    ]
    return sorted(rows, key=lambda row: (row.met, 0 if row.met else Grade(row.grade).rank))


def row_of(material: Material, name: str) -> LedgerRow | None:
    """One requirement with all its evidence; None if no requirement has this name."""
    sealed = {requirement.id: requirement for requirement in material.contract.every} if material.contract else {}
    judged = next((judgement for judgement in _judgements(material) if judgement.id == name), None)
    return _Proofs(material, 1).row(judged, sealed.get(name), "evidence") if judged else None


def ledger(material: Material) -> Ledger:
    """Every requirement with its evidence, in the order of the contract.

    If there is not enough room for everything, unmet requirements come first. Evidence that does not fit is then given
    in one line, and if there are too many requirements, the last ones are left out."""
    accept, every = material.settings.accept, _judgements(material)
    sealed = {requirement.id: requirement for requirement in material.contract.every} if material.contract else {}
    is_met = {judged.id: _is_met(judged, accept) for judged in every}
    # unmet requirements come first; within both groups, the order of the contract stays
    by_weight = sorted(every, key=lambda judged: is_met[judged.id])
    met = sum(is_met.values())
    shown = by_weight[: min(MOST_ROWS, met) + min(2 * MOST_ROWS, len(every) - met)]
    proofs, places = _Proofs(material, len(shown)), {judged.id: number for number, judged in enumerate(every, 1)}
    result = Ledger(
        tuple(proofs.row(judged, sealed.get(judged.id), f"requirement-{places[judged.id]}") for judged in shown),
        len(every) - len(shown),
    )
    if result.in_brief or result.left_out:
        return result
    return Ledger(tuple(sorted(result.every, key=lambda row: places[row.id])))


def grades(material: Material) -> Counter[str]:
    """How many requirements have each grade, whether or not there is room for their rows."""
    return Counter(str(judged.grade) for judged in _judgements(material) if not _is_guard(judged))


def _judgements(material: Material) -> list[Judged]:
    contract, verdict = material.contract, material.verdict
    sealed = {requirement.id: requirement for requirement in contract.every} if contract else {}
    judged = {row.id: row for row in (*verdict.requirements, *verdict.suites)} if verdict else {}
    return [judged.get(name) or not_judged_yet(sealed[name]) for name in dict.fromkeys([*judged, *sealed])]


def _is_met(judged: Judged, accept: Grade) -> bool:
    return judged.grade.is_met(accept) or (_is_guard(judged) and judged.holds)


def _is_guard(judged: Judged) -> bool:
    return judged.id.startswith(EXISTING_TESTS)


def checks_of(requirement: Requirement) -> str:
    """How many checks of which kind: `3 cases, 1 test check`."""
    kinds = Counter(check.kind for check in requirement.checks)
    cases = sum(len(check.cases) for check in requirement.checks if isinstance(check, ExamplesCheck))
    named = [
        counted(cases, "case") if kind == "examples" else counted(number, f"{kind.removesuffix('s')} check")
        for kind, number in kinds.items()
    ]
    return ", ".join(named) or "no check"


class _Proofs:
    """Adds the evidence of one requirement after another to the report, as long as there is room."""

    def __init__(self, material: Material, rows: int) -> None:
        contract = material.contract
        self._left = max(LEAST_EVIDENCE, EVIDENCE - OF_A_ROW * rows)
        self._album, self._base = Album(material), dict[str, list[Evidence]]()
        for fact in contract.base_facts if contract else ():
            self._base.setdefault(fact.requirement, []).append(fact)
        self._stages: dict[str, list[tuple[Proved, Judged, list[Evidence]]]] = {}
        number = 0
        for proved in material.history:
            evidence: dict[str, list[Evidence]] = {}
            for piece in proved.verdict.evidence:
                if piece.side == "head":
                    evidence.setdefault(piece.requirement, []).append(piece)
            number += len(proved.verdict.evidence)
            for row in (*proved.verdict.requirements, *proved.verdict.suites):
                self._stages.setdefault(row.id, []).append((proved, row, evidence.get(row.id, [])))
        facts = number + len(contract.base_facts if contract else ())
        room = min(LONGEST, max(SHORTEST, OUTPUTS // max(1, min(facts, EVIDENCE // OF_A_TRIAL))))
        self._trial_maker = _TrialMaker(contract, material.ended, room)

    def row(self, judged: Judged, sealed: Requirement | None, anchor: str) -> LedgerRow:
        stages, base = self._stages.get(judged.id, []), self._base.get(judged.id, [])
        numbers = case_numbers((*base, *(fact for _, _, facts in stages for fact in facts)))
        newest = self._stage(*stages[-1], numbers) if stages else None
        before = self._trials(base, numbers)
        older = [self._stage(*stage, numbers) for stage in reversed(stages[:-1])]
        every = tuple(reversed([newest, *older])) if newest else ()
        return LedgerRow(
            id=judged.id,
            anchor=anchor,
            text=cut(judged.text, 4000)[0],
            source=judged.source,
            grade=str(judged.grade),
            why=judged.why,
            lacks=judged.lacks,
            covers=sealed.covers if sealed else (),
            checks=checks_of(sealed) if sealed else "",
            stages=every,
            base=before,
            before=self._album.of(base) if before else (),
            gaps=judged.gaps,
            rests_on=judged.rests_on,
            guard=_is_guard(judged),
            base_left_out=len(base) - len(before),
            in_brief="" if before or any(stage.trials for stage in every) else _evidence_line(base, stages),
        )

    def _stage(self, proved: Proved, judged: Judged, facts: Sequence[Evidence], numbers: CaseNumbers) -> VerdictStage:
        trials, why = self._trials(facts, numbers), "; ".join(judged.why)
        pictures = self._album.of(facts) if trials else ()
        left_out = len(facts) - len(trials)
        return VerdictStage(proved.key, judged.grade, proved.verdict.commit, why, proved.at, trials, pictures, left_out)

    def _trials(self, facts: Sequence[Evidence], numbers: CaseNumbers) -> tuple[Trial, ...]:
        """All of this evidence as trials. If not all of it fits into the report, none is returned, because half a proof
        is useless."""
        size = sum(OF_A_TRIAL + OF_A_CASE * min(SHOWN, len(fact.tried)) for fact in facts)
        if size > self._left:
            return ()
        self._left -= size
        return tuple(self._trial_maker.trial(fact, numbers) for fact in facts)


def _evidence_line(base: Sequence[Evidence], stages: Sequence[tuple[Proved, Judged, list[Evidence]]]) -> str:
    """The evidence in one line, such as `before any work: 3 × 2 missing; at c0ffee1111: 2 × 2 passed`. Here `3 × 2
    missing` means: each of three check runs had two cases with the outcome `missing`."""
    head = stages[-1] if stages else None
    parts = [("before any work", base), *([(f"at {head[0].verdict.commit[:10]}", head[2])] if head else [])]
    return "; ".join(f"{when}: {_outcomes(facts)}" for when, facts in parts if facts)


def _outcomes(facts: Sequence[Evidence]) -> str:
    tally = Counter(_counts(fact) for fact in facts)
    return ", ".join(f"{number} × {counts}" if number > 1 else counts for counts, number in tally.items())


def _counts(fact: Evidence) -> str:
    counts = Counter(tried.outcome for tried in fact.tried)
    return ", ".join(f"{number} {outcome}" for outcome, number in counts.items()) or _exit(fact.exit_code)


class _TrialMaker:
    """Turns evidence into trials for the report, without texts that may quote cases that are still held out."""

    def __init__(self, contract: Contract | None, ended: bool, room: int) -> None:
        # imported here, because only evidence that is shown in full needs it
        from trued.proof.hashes import check_hash

        self._ended, self._room = ended, room
        self._checks = {
            check_hash(check): check
            for requirement in (contract.requirements if contract else ())
            for check in requirement.checks
            if isinstance(check, ExamplesCheck)
        }
        self._words: dict[str, dict[str, str]] = {}  # check → case → its description

    def trial(self, fact: Evidence, numbers: CaseNumbers) -> Trial:
        seen = fact.shown(over=self._ended)
        hidden = seen is not fact
        counts = Counter(tried.outcome for tried in fact.tried)
        good = not fact.why_void and bool(fact.tried or fact.exit_code == 0) and set(counts) <= {Outcomes.PASSED}
        shown = [] if hidden else in_order(fact, numbers)[:SHOWN]
        return Trial(
            id=fact.id,
            side=fact.side,
            turn=fact.turn,
            kind=fact.kind,
            counts=_counts(fact),
            good=good,
            void=seen.why_void,
            held_out=fact.held_out,
            facts=tuple(_facts(seen)),
            cases=tuple(self._case(fact, tried) for tried in shown),
            cases_left_out=0 if hidden else len(fact.tried) - len(shown),
            output=Text.of("" if hidden else fact.output, self._room),
            seconds=fact.seconds,
            when=fact.began,
        )

    def _case(self, fact: Evidence, tried: Tried) -> ShownCase:
        if fact.check not in self._words:
            # imported here, because only shown cases need it
            from trued.proof.checks.examples import case_id

            cases = enumerate(self._checks[fact.check].cases) if fact.check in self._checks else ()
            self._words[fact.check] = {case_id(position): described(case) for position, case in cases}
        description = self._words[fact.check].get(tried.id, "")
        did = tried.detail or tried.kind
        return ShownCase(tried.id, cut(description, self._room)[0], tried.outcome, cut(did, min(600, self._room))[0])


def _exit(code: int | None) -> str:
    return "ended by the engine" if code is None else f"exit code {code}"


def _facts(fact: Evidence) -> Iterator[tuple[str, str]]:
    yield "command", fact.command
    if fact.output == HELD_BACK != fact.command:
        yield "cases and output", HELD_BACK
    yield "commit", fact.commit
    yield "tree", fact.tree
    yield "interpreter", fact.interpreter
    yield "isolation", fact.isolation
    if fact.exit_code is not None:
        yield "exit code", str(fact.exit_code)
    yield "evidence", fact.id
