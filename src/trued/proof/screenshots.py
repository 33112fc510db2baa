"""The pictures that evidence holds, with what each one shows. Pure."""

from collections.abc import Iterable

from trued.model import Evidence, Outcomes, Picture, Shot


def evidence_pictures(evidence: Iterable[Evidence]) -> tuple[Picture, ...]:
    """One picture for each requirement, commit, check, and page or test. If there were several runs, the picture is
    from a failed one, if any.

    The files are kept under their hashes: `workspace.load_artifact(picture.sha256)`, and `picture.trace` likewise.
    """
    found: dict[tuple[str, ...], Picture] = {}
    for fact in evidence:
        for shot in fact.pictures:
            made = _picture(fact, shot)
            key = (fact.requirement, fact.commit, fact.check, shot.test or shot.page)
            if key not in found or (found[key].passed and not made.passed):
                found[key] = made
    return tuple(found.values())


def _picture(fact: Evidence, shot: Shot) -> Picture:
    own = [one for one in fact.tried if not shot.test or one.id == shot.test]
    missed = [one for one in own if one.outcome is not Outcomes.PASSED]
    return Picture(
        **shot.model_dump(),
        commit=fact.commit,
        side=fact.side,
        requirement=fact.requirement,
        passed=bool(own) and not missed and not fact.why_void,
        says=tuple(dict.fromkeys(filter(None, (_sentence(one.detail) for one in missed)))),
        met=tuple(one.id for one in own if one.outcome is Outcomes.PASSED),
    )


def _sentence(detail: str) -> str:
    """For a page, what was expected and what was there; for a test, the line in which it failed."""
    lines = [line for line in detail.splitlines() if line.strip()]
    failing = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    if len(failing) > 1 and failing[1].startswith("Actual"):
        return f"{failing[0]}; {failing[1]}"[:500]
    return (failing or lines or [""])[0][:500]
