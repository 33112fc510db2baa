"""Each proof in order: commit, checks, changed grades and duration; and a comparison of two proofs."""

from collections.abc import Sequence
from dataclasses import dataclass

from trued.page.pages.common import Paging, paged, run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.material import Material, ProofSummary, Proved

SIZE = 60
TURNS = 12  # at most this many requirements are named for one verdict


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
    seconds: float  # only of checks in this run: evidence on the same commit may be from an earlier one


def verdicts(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    material = reader.material(record)
    turns, pieces = _turns(material.proofs), {}
    places = paged(range(len(turns))[::-1], params, size=SIZE)
    rows = [_row(material.history[place], turns[place], material.progress.began) for place in places.items]
    one, other = (_proof_named(material, params.get(name, "")) for name in ("one", "other"))
    if one and other:
        pieces["compared"] = piece("verdicts/compared.html.j2", one=one, other=other, turns=_grade_changes(one, other))
    pieces["verdicts"] = piece(
        "verdicts/list.html.j2",
        record=record,
        paging=Paging(rows, places.number, places.total, places.size),
        one=params.get("one", ""),
    )
    return run_page(reader, record, "verdicts", "Verdicts", pieces)


def _turns(proofs: Sequence[ProofSummary]) -> list[tuple[GradeChange, ...]]:
    """For each proof, the requirements whose grade it changed or gave first; at most TURNS of them."""
    grades: dict[str, str] = {}
    found = []
    for one in proofs:
        changed = [name for name, grade in one.grades.items() if grades.get(name) != grade][:TURNS]
        found.append(tuple(GradeChange(name, grades.get(name, ""), one.grades[name]) for name in changed))
        grades |= one.grades
    return found


def _row(proved: Proved, turns: tuple[GradeChange, ...], since: float) -> VerdictRow:
    verdict = proved.verdict
    gaps = dict.fromkeys(f"{each.id}: {gap.what}" for each in verdict.requirements for gap in each.gaps)
    return VerdictRow(
        proved=proved,
        grade=str(verdict.grade),
        holds=verdict.holds,
        judged=len(verdict.requirements),
        turns=turns,
        gaps=tuple(gaps)[:TURNS],
        seconds=sum(each.seconds for each in verdict.evidence if each.began >= since),
    )


def _proof_named(material: Material, key: str) -> Proved | None:
    return next((material.history[place] for place, one in enumerate(material.proofs) if one.key == key), None)


def _grade_changes(one: Proved, other: Proved) -> list[GradeChange]:
    before = {each.id: str(each.grade) for each in one.verdict.requirements}
    after = {each.id: str(each.grade) for each in other.verdict.requirements}
    every = [GradeChange(name, before.get(name, ""), after.get(name, "")) for name in dict.fromkeys([*before, *after])]
    return sorted(every, key=lambda turn: turn.before == turn.after)[:200]


ROUTE = PageRoute("/r/{run}/verdicts", verdicts)
