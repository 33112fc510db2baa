"""The pictures of a verdict, before and after, each with all that says what it shows. Pure."""

from collections.abc import Iterable

from trued.types import Contract, Evidence, Outcomes, Picture, Shot, Verdict


def pictures(verdict: Verdict, contract: Contract | None = None) -> tuple[Picture, ...]:
    """One of each page or test and side, for each requirement; with the contract also those of the base.

    The files are kept under their hashes: `workspace.recall(picture.sha256)`, `picture.trace` likewise.
    """
    wanted = {one.id for one in verdict.requirements}
    base = [one for one in (contract.base_facts if contract else ()) if one.requirement in wanted]
    found: dict[tuple[str, str, str, str, str], Picture] = {}
    for fact in (*base, *verdict.evidence):
        for shot in fact.pictures:
            made = _picture(fact, shot)
            key = (fact.requirement, fact.side, fact.check, shot.page if not shot.test else "", shot.test)
            if key not in found or (found[key].passed and not made.passed):  # the worst stands
                found[key] = made
    return tuple(found.values())


def _picture(fact: Evidence, shot: Shot) -> Picture:
    own = [one for one in fact.tried if not shot.test or one.id == shot.test]
    passed = bool(own) and not fact.why_void and all(one.outcome is Outcomes.PASSED for one in own)
    return Picture(
        **shot.model_dump(),
        commit=fact.commit,
        side=fact.side,
        requirement=fact.requirement,
        passed=passed,
        says=tuple(_unlike(_first_lines(one.detail) for one in own if one.outcome is not Outcomes.PASSED)),
    )


def _first_lines(detail: str) -> str:
    """Of a page the sentence; of a test the line in which it failed."""
    lines = [line for line in detail.splitlines() if line.strip()]
    failing = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    if failing and len(failing) > 1 and failing[1].startswith("Actual"):
        return f"{failing[0]}; {failing[1]}"[:500]
    return (failing or lines or [""])[0][:500]


def _unlike(words: Iterable[str]) -> list[str]:
    return [one for one in dict.fromkeys(words) if one]
