"""Collects the pictures in evidence, and says what each picture shows."""

from collections.abc import Iterable

from trued.model import Evidence, Outcomes, Picture, Shot


def evidence_pictures(evidence: Iterable[Evidence]) -> tuple[Picture, ...]:
    """One picture for each combination of requirement, commit, check, and page or test. If there were several runs, the
    picture of a run that did not pass is preferred.

    `workspace.load_artifact` gives the screenshot for `picture.sha256`, and the recording for `picture.trace`.
    """
    pictures: dict[tuple[str, ...], Picture] = {}
    for fact in evidence:
        for shot in fact.pictures:
            picture = _picture(fact, shot)
            key = (fact.requirement, fact.commit, fact.check, shot.test or shot.page)
            if key not in pictures or (pictures[key].passed and not picture.passed):
                pictures[key] = picture
    return tuple(pictures.values())


def _picture(fact: Evidence, shot: Shot) -> Picture:
    results = [result for result in fact.tried if not shot.test or result.id == shot.test]
    not_passed = [result for result in results if result.outcome is not Outcomes.PASSED]
    return Picture(
        **shot.model_dump(),
        commit=fact.commit,
        side=fact.side,
        requirement=fact.requirement,
        passed=bool(results) and not not_passed and not fact.why_void,
        says=tuple(dict.fromkeys(filter(None, (_sentence(result.detail) for result in not_passed)))),
        met=tuple(result.id for result in results if result.outcome is Outcomes.PASSED),
    )


def _sentence(detail: str) -> str:
    """The first line of the failure. From pytest's output it is the first error line, with the line `Actual …` if that
    comes next."""
    lines = [line for line in detail.splitlines() if line.strip()]
    failing = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    if len(failing) > 1 and failing[1].startswith("Actual"):
        return f"{failing[0]}; {failing[1]}"[:500]
    return (failing or lines or [""])[0][:500]
