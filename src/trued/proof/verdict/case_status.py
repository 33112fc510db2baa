"""The status of one case or test id on base and on head, counted over all its runs. Pure."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from trued.model import Evidence, Outcomes, Tried
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.browser_stage import CHROMIUM_KIND, DRIVER_KIND

RED_TURNS = 3  # a case is red only after this many failures, because one or two can be chance
GREEN_TURNS = 2  # a case passes on the head only if it passes in this many runs
MARKED = "marked"
_FOLDERS = re.compile(r"(?:/[^/\s'\"]+)+/")  # of a path in an error; they differ between runs
# Agents read this instead of the id of a case that failed after held-out cases had run in the same room. Evidence keeps
# the real id.
HUSHED = ""
_SILENT = {"id": HUSHED, "detail": ""}
_FAILING = (Outcomes.FAILED, Outcomes.MISSING)
# Kinds of failure of the engine itself. They are believed even on the head, because a head's output cannot imitate
# them.
ENGINES = ("environment", "start")
LIMITS = ("time", "memory")
IMPORT = "import"  # the module of a call exists, and raises an error while it is imported
FORGED = ("worthless", "meddled")  # kinds of failure of a head that manipulates its checks
NOT_OUR_FAILURE = (*LIMITS, *ENGINES)  # on the base, these failures are the machine's, not the project's


class Base(StrEnum):
    """What a case showed on the base commit."""

    RED = "red"
    GUARD = "guard"  # passes already: it can refute the head, but never prove it
    UNSTABLE = "unstable"  # passed and failed, or failed too few times to be red
    UNREACHED = "unreached"  # skipped, or expected to fail
    BROKEN = "broken"
    UNJUDGED = "unjudged"


class Head(StrEnum):
    """What a case showed on the head commit; the worst of all runs counts."""

    PASSED = "passed"
    FAILED = "failed"
    UNJUDGED = "unjudged"


def on_base(facts: Sequence[Evidence], own: frozenset[str] = frozenset()) -> dict[str, Base]:
    """The status of every id that was run on the base.

    `own`: modules that the head adds to the project; a case that lacks one of these on the base is red.

    A test whose file could not be imported in one of the runs is not stable, even if it passed whenever its file could
    be imported: on the head, where all files run together, it may be missing again.
    """
    seen: dict[str, list[tuple[Outcomes, str]]] = {}
    for fact in facts:
        for one in fact.tried:
            seen.setdefault(one.id, []).append(_read(one, own))
    for fact in facts:
        failed = {one.id: _read(one, own) for one in fact.tried if one.outcome is not Outcomes.PASSED}
        reported = {one.id for one in fact.tried}
        for name in seen.keys() - reported:
            file, inside, _ = name.partition("::")
            if inside and file in failed:
                seen[name].append(failed[file])
    return {name: _base(times) for name, times in seen.items()}


def _read(one: Tried, own: frozenset[str]) -> tuple[Outcomes, str]:
    if one.id == WHOLE_CHECK and one.outcome in _FAILING:
        return Outcomes.UNJUDGED, one.kind  # never red, because a crash of the runner shows nothing about a case
    absent = one.outcome is Outcomes.UNJUDGED and one.kind.startswith("module ")
    if absent and one.kind.removeprefix("module ").split(".")[0] in own:
        return Outcomes.MISSING, "missing"
    return one.outcome, one.kind


def _base(times: list[tuple[Outcomes, str]]) -> Base:
    """The status after these runs. `RED_TURNS` failures are red even if their kinds differ, because on a busy machine a
    missing route can fail in several ways."""
    outcomes = {outcome for outcome, _ in times}
    kinds = {kind for _, kind in times}
    if Outcomes.BROKEN in outcomes:
        return Base.BROKEN
    if Outcomes.UNJUDGED in outcomes:
        return Base.UNJUDGED
    if kinds & set(NOT_OUR_FAILURE):  # timeouts alone are not red; enough other failures are
        solid = [one for one in times if one[1] not in NOT_OUR_FAILURE]
        return _base(solid) if len(solid) >= RED_TURNS else Base.UNJUDGED
    if outcomes == {Outcomes.PASSED}:
        return Base.GUARD
    if outcomes <= {Outcomes.SKIPPED}:
        return Base.UNREACHED
    always_failed = outcomes <= set(_FAILING) and len(times) >= RED_TURNS
    return Base.RED if always_failed else Base.UNSTABLE


def is_unjudged_on_base(one: Tried) -> bool:
    """Whether this result on the base is about the machine and not about the project."""
    return (
        one.outcome is Outcomes.UNJUDGED
        or one.kind in NOT_OUR_FAILURE
        or (one.id == WHOLE_CHECK and one.outcome in _FAILING)
    )


def number_of_tests(name: str, facts: Iterable[Evidence]) -> int:
    """How many tests an id covers: 1, or for a file that the base could not import, the number of tests that were found
    in it later."""
    inside = {one.id for fact in facts for one in _index(fact.tried).by_file.get(name, ())}
    return len(inside) if "::" not in name and inside else 1


def full_name(kind: str, check: str, case: str) -> str:
    """A name for a case that is unique in a verdict: the id of a test; for other cases, the check and the id."""
    return case if kind == "tests" else f"{check} {case}"


def lacking(facts: Iterable[Evidence]) -> frozenset[tuple[str, str]]:
    """Id and kind of everything that could not be judged in these facts, for example because a module or program is
    missing, or because the preparation failed."""
    tried = [(one, fact.kind) for fact in facts for one in fact.tried if one.outcome is Outcomes.UNJUDGED]
    return frozenset((one.id, kind) for one, check in tried for kind in _same_lack(one.kind, check))


def _same_lack(kind: str, check: str) -> tuple[str, ...]:
    """Earlier versions recorded a missing playwright as a missing Chromium. Only the engine reports these two, in
    checks of these kinds."""
    return (kind, DRIVER_KIND) if kind == CHROMIUM_KIND and check in ("browser", "tests") else (kind,)


def lasting(facts: Iterable[Evidence]) -> frozenset[tuple[str, str]]:
    """Id and problem of cases that hit the same limit of time or memory, or got the same error from the import of their
    module, in every one of these runs. If the runs were on the base, that shows nothing about the head: the machine or
    the limit may be the cause, a variable that is not set, or a project that is not built here."""
    seen: dict[str, set[str]] = {}
    for one in (one for fact in facts for one in fact.tried):
        seen.setdefault(one.id, set()).add("" if one.outcome is Outcomes.PASSED else _problem(one))
    return frozenset(
        (name, problem)
        for name, problems in seen.items()
        for problem in problems
        if len(problems) == 1 and problem.split(" ")[0] in (*LIMITS, IMPORT)
    )


def _problem(one: Tried) -> str:
    """The kind of failure; of a failed import together with its error, without folders."""
    return f"{IMPORT} {_FOLDERS.sub('', one.detail)}" if one.kind == IMPORT else one.kind


def on_head(
    name: str, facts: Iterable[Evidence], lacks: frozenset[tuple[str, str]] = frozenset()
) -> tuple[Head, list[Tried]]:
    """The worst result of one id, and the runs in which it did not pass.

    `lacks`: id and kind of problems that are not the head's fault, because the base has them, too, or because a package
    could not be installed; for a failed import, its error, too. With such a problem, or if the engine itself failed,
    the id is unjudged. With any other problem it has failed. That includes missing things: otherwise a head could avoid
    a failure by printing that something is missing.

    If the id stands for a whole file that the base could not import, it passes if the file has tests and all pass.
    """
    worst, bad, turns = Head.PASSED, list[Tried](), 0
    for fact in facts:
        turns += 1
        for one in _results_of(name, fact):
            if one.outcome is Outcomes.PASSED:
                continue
            unjudged = _is_unjudged(one, name, lacks)  # the base has the same problem, or the engine itself failed
            bad.append(
                (one.model_copy(update=_SILENT) if unjudged else one.without_text(HUSHED)) if fact.tainted else one
            )
            worst = Head.UNJUDGED if unjudged and worst is not Head.FAILED else Head.FAILED
    if turns >= GREEN_TURNS or worst is not Head.PASSED:  # only a pass has to be seen again
        return worst, sorted(bad, key=lambda one: one.id == HUSHED)  # results that agents may read come first
    return Head.FAILED, [_missing(name, "not run twice")]


def results_with_id(name: str, fact: Evidence) -> list[Tried]:
    """The results of one id in this run."""
    return _index(fact.tried).by_id.get(name, [])


def _results_of(name: str, fact: Evidence) -> list[Tried]:
    by_id, by_file = _index(fact.tried)
    exact = by_id.get(name, [])
    if name == WHOLE_CHECK:
        return exact
    if not exact and "::" not in name:
        exact = [one for one in by_file.get(name, []) if not _is_marked_as_skipped(one)]
    if fact.why_void:
        exact = [one for one in exact if one.outcome is not Outcomes.PASSED]
    file = name.partition("::")[0]  # if a file cannot be imported, runners report the file instead of its tests
    uncollected = [one for one in by_id.get(file, []) if file != name and one.outcome is Outcomes.UNJUDGED]
    general = [one for one in by_id.get(WHOLE_CHECK, []) if one.outcome is not Outcomes.PASSED]
    return exact or uncollected or general or [_missing(name, fact.why_void or "not reported")]


class _ById(NamedTuple):
    by_id: dict[str, list[Tried]]
    by_file: dict[str, list[Tried]]  # the tests in each file


_INDEXES: dict[int, tuple[tuple[Tried, ...], _ById]] = {}  # the tuple is kept, so that no other one gets its number
_MOST_INDEXES = 64


def _index(tried: tuple[Tried, ...]) -> _ById:
    """The results of a run by their ids. Every id of a run is asked for, so searching would take quadratic time."""
    if id(tried) not in _INDEXES:
        found = _ById({}, {})
        for one in tried:
            found.by_id.setdefault(one.id, []).append(one)
            if "::" in one.id:
                found.by_file.setdefault(one.id.partition("::")[0], []).append(one)
        if len(_INDEXES) >= _MOST_INDEXES:
            del _INDEXES[next(iter(_INDEXES))]
        _INDEXES[id(tried)] = tried, found
    return _INDEXES[id(tried)][1]


def _is_marked_as_skipped(one: Tried) -> bool:
    """Whether a mark in the user's own file skips the test. A skip that is raised while the test runs does not count,
    because the head may have caused it."""
    return one.outcome is Outcomes.SKIPPED and one.kind.startswith(MARKED)


def _is_unjudged(one: Tried, name: str, lacks: frozenset[tuple[str, str]]) -> bool:
    if one.outcome is not Outcomes.UNJUDGED:
        return one.kind in (*LIMITS, IMPORT) and (name, _problem(one)) in lacks
    return one.kind in ENGINES or not lacks.isdisjoint({(name, one.kind), (WHOLE_CHECK, one.kind)})


def _missing(name: str, why: str) -> Tried:
    return Tried(id=name, outcome=Outcomes.MISSING, kind="vanished", detail=why)
