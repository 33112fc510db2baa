"""Lowers the verdict on a requirement because of findings about the whole change. Does no I/O.

Nothing here raises a grade. `prove` looks for each kind of finding, and calls the function for it.
"""

from collections.abc import Callable, Sequence

from trued.model import Finding, Grade, Judged, Lacks, MissingFromEnvironment
from trued.proof.verdict import reasons
from trued.proof.verdict.missing import each_once, missing_submodule


def lower_for_existing_tests(judged: Judged, suites: Sequence[Judged]) -> Judged:
    """The requirement's verdict, lowered by the existing tests: refuted if they fail, unjudged if they cannot be
    judged."""
    refuted = [suite for suite in suites if suite.grade is Grade.REFUTED]
    unjudged = [suite for suite in suites if suite.grade is Grade.UNJUDGED]
    if refuted and judged.grade is not Grade.REFUTED:
        why = [f"{suite.id} passed on the base and fail now: {suite.why[0]}" for suite in refuted]
        why += [reason for suite in refuted for reason in suite.why if reason.startswith(reasons.IF_MEANT)]
        lowered = _lowered(judged, Grade.REFUTED, why, "")
        return lowered.model_copy(update={"missing": (), "basis": "existing tests"})
    if unjudged and judged.grade > Grade.UNJUDGED:
        lowered = _lowered(judged, Grade.UNJUDGED, [f"{suite.id}: {suite.why[0]}" for suite in unjudged], "")
        missing = each_once(part for suite in unjudged for part in suite.missing)
        return lowered.model_copy(update={"missing": missing})
    return judged


def cap(judged: Judged, sentence: Callable[[Sequence[str]], str], paths: Sequence[str]) -> Judged:
    """The verdict, lowered to at most `tested` if there are any paths. `sentence`: the function of `reasons` that says
    what is wrong with the paths."""
    if paths and judged.grade > Grade.TESTED:
        return _lowered(judged, Grade.TESTED, [sentence(paths)], "attest")
    return judged


def fail_with_product(judged: Judged, failing: Sequence[str], files: Sequence[str]) -> Judged:
    """The verdict, lowered to unproven with a gap if existing tests (`failing`) fail with the change's version of
    `files`, which seem to be product. The verdict is not refuted, because a file may also be a helper that the change's
    own tests need."""
    if not failing or judged.grade <= Grade.UNPROVEN:
        return judged
    lowered = _lowered(judged, Grade.UNPROVEN, [reasons.tests_need_base_version(files)], "")
    # Nothing held out was ever in the room where these tests failed, so agents may read the tests' names.
    gap = Finding(what=f"{judged.id}: {reasons.tests_fail_with_files(failing, files)}", requirement=judged.id)
    return lowered.model_copy(update={"holds": False, "lacks": "", "gaps": (*judged.gaps, gap)})


def without_submodules(suite: Judged, absent: Sequence[str]) -> Judged:
    """The verdict on existing tests that fail only because the submodules `absent` are missing: unjudged, not
    refuted."""
    if suite.grade is not Grade.REFUTED:
        return suite
    missing = tuple(missing_submodule(path) for path in absent)
    why = tuple(reasons.not_judged(str(part)) for part in missing)
    return suite.model_copy(
        update={"grade": Grade.UNJUDGED, "why": why, "gaps": (), "holds": False, "lacks": "", "missing": missing}
    )


def allow_for_versions(judged: Judged, other: MissingFromEnvironment, *, keep: bool) -> Judged:
    """The verdict if the head declares other versions of packages than its checks used (`other`).

    A refuted requirement becomes unjudged, but keeps its gaps: its checks may pass with the declared versions. A
    requirement with `keep` is `tested` at most, because checks that pass show nothing about the declared versions.
    """
    if judged.grade is Grade.REFUTED:
        why = (reasons.not_judged(str(other)), *judged.why)
        return judged.model_copy(update={"grade": Grade.UNJUDGED, "why": why, "basis": "", "missing": (other,)})
    if keep and judged.grade > Grade.TESTED:
        return _lowered(judged, Grade.TESTED, [str(other)], "attest")
    return judged


def _lowered(judged: Judged, grade: Grade, why: Sequence[str], lacks: Lacks) -> Judged:
    holds = judged.holds and grade not in (Grade.REFUTED, Grade.UNJUDGED)
    update = {"grade": grade, "why": (*why, *judged.why), "holds": holds, "lacks": lacks if holds else ""}
    return judged.model_copy(update={**update, "basis": ""})
