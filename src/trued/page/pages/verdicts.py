"""Every proof of a run, newest first, with its commit, checks, changed grades and duration. Also compares two
proofs."""

from collections.abc import Sequence
from dataclasses import dataclass

from trued.page.pages.common import Paging, paged, run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.material import Material, ProofSummary, Proved

SIZE = 60
TURNS = 12  # requirements that are named for one verdict


@dataclass(frozen=True)
class GradeChange:
    """How one requirement's grade differs between two verdicts. A grade is "" if its verdict did not judge the
    requirement."""

    id: str
    before: str
    after: str


@dataclass(frozen=True)
class VerdictRow:
    """One row of the table of verdicts."""

    proved: Proved
    grade: str
    holds: bool
    judged: int
    turns: tuple[GradeChange, ...]  # compared with the previous verdict on each requirement
    gaps: tuple[str, ...]
    seconds: float  # how long checks ran in this run; evidence on the same commit may come from an earlier run


def verdicts(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    material = reader.material(record)
    turns, pieces = _turns(material.proofs), {}
    indexes = paged(range(len(turns))[::-1], params, size=SIZE)
    rows = [_row(material.history[index], turns[index], material.progress.began) for index in indexes.items]
    one, other = (_proof_named(material, params.get(name, "")) for name in ("one", "other"))
    if one and other:
        pieces["compared"] = piece("verdicts/compared.html.j2", one=one, other=other, turns=_grade_changes(one, other))
    pieces["verdicts"] = piece(
        "verdicts/list.html.j2",
        record=record,
        paging=Paging(rows, indexes.number, indexes.total, indexes.size),
        one=params.get("one", ""),
    )
    return run_page(reader, record, "verdicts", "Verdicts", pieces)


def _turns(proofs: Sequence[ProofSummary]) -> list[tuple[GradeChange, ...]]:
    """For each proof, the requirements whose grade differs from their last grade before, at most TURNS of them. A
    requirement's first grade counts as a difference."""
    grades: dict[str, str] = {}
    turns = []
    for proof in proofs:
        changed = [name for name, grade in proof.grades.items() if grades.get(name) != grade][:TURNS]
        turns.append(tuple(GradeChange(name, grades.get(name, ""), proof.grades[name]) for name in changed))
        grades |= proof.grades
    return turns


def _row(proved: Proved, turns: tuple[GradeChange, ...], since: float) -> VerdictRow:
    verdict = proved.verdict
    gaps = dict.fromkeys(
        f"{requirement.id}: {gap.what}" for requirement in verdict.requirements for gap in requirement.gaps
    )
    return VerdictRow(
        proved=proved,
        grade=str(verdict.grade),
        holds=verdict.holds,
        judged=len(verdict.requirements),
        turns=turns,
        gaps=tuple(gaps)[:TURNS],
        seconds=sum(evidence.seconds for evidence in verdict.evidence if evidence.began >= since),
    )


def _proof_named(material: Material, key: str) -> Proved | None:
    return next((material.history[index] for index, proof in enumerate(material.proofs) if proof.key == key), None)


def _grade_changes(earlier: Proved, later: Proved) -> list[GradeChange]:
    before = {requirement.id: str(requirement.grade) for requirement in earlier.verdict.requirements}
    after = {requirement.id: str(requirement.grade) for requirement in later.verdict.requirements}
    changes = [
        GradeChange(name, before.get(name, ""), after.get(name, "")) for name in dict.fromkeys([*before, *after])
    ]
    return sorted(changes, key=lambda turn: turn.before == turn.after)[:200]


ROUTE = PageRoute("/r/{run}/verdicts", verdicts)
