"""The status of one case or test id on base and on head, counted over all its runs. Does no I/O.

What can be unjudged, from one run up to everything, and where that is decided:

1. One run of a case (`Outcomes.UNJUDGED`), for one of three reasons:
   - Something is missing on the machine. This is reported by the checks (`checks/browser.py`, `checks/command.py`,
     `checks/function_calls.py`, `checks/http.py`, `checks/program_calls.py`) and the runners
     (`runners/browser_tests.py`, `runners/counting.py`, `runners/go.py`, `runners/node.py`, `runners/pytest.py`,
     `runners/report_files.py`).
   - The room or its preparation is broken: `run_check.py` and `build.py`, with facts from `room/bench.py`.
   - The whole check failed on the base: `_outcome_and_kind` here.
2. A case on base or head, after all runs: `on_base` and `on_head` here. On the head a case is unjudged only if the base
   had the same problem (a missing module, the same error at import, an answer that is invalid HTTP in the same way, the
   limit of time or memory: `lacking`, `lasting`),
   if a package that only the head declares could not be installed (`awaited_packages` in `verdict/missing.py`), or if
   the engine itself failed. Any other problem is a failure of the head. `_place` in `verdict/judge.py` then sorts the
   case by both. There, a check that did not work as a whole on the base is unjudged.
3. A requirement (`Grade.UNJUDGED`), in `verdict/judge.py`: `_grading` for the head, `_nothing_proven` for the base,
   `_grading_without_failure` for the implementer's own tests (run by `implementer_tests.py`), and `judge_by_parts` for
   its parts. Without requirements: `without_requirements.py`.
4. Many requirements at once, in `verdict/caps.py`: the base's suites are unjudged (`lower_for_existing_tests`); a suite
   fails only because submodules are absent (`without_submodules`); the head declares other versions of packages than
   the checks used (`allow_for_versions`).
5. Everything: an error `CannotJudge` outside of a check, such as a sandbox that does not start, ends the command with
   exit code 6 and no grade.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from trued.model import Evidence, Outcomes, Tried
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.browser_stage import CHROMIUM_KIND, DRIVER_KIND
from trued.support.lazy_regex import lazy_regex

RED_TURNS = 3  # a case is red only after this many failures, because one or two can be chance
GREEN_TURNS = 2  # a case passes on the head only if it passes in this many runs
MARKED = "marked"
_FOLDERS = lazy_regex(r"(?:/[^/\s'\"]+)+/")  # of a path in an error; they differ between runs
# Replaces the id of a case that failed after held-out cases had run in the same room, so that agents cannot learn which
# it was. Evidence keeps the real id.
HUSHED = ""
_SILENT = {"id": HUSHED, "detail": ""}
_FAILING = (Outcomes.FAILED, Outcomes.MISSING)
# Kinds of failure of the engine itself. The engine believes such a failure even on the head, because a head's output
# cannot imitate it.
ENGINES = ("environment", "start")
LIMITS = ("time", "memory")
IMPORT = "import"  # the module of a call exists, and raises an error while it is imported
FRAMING = "framing"  # the server's answer is not valid HTTP
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


def on_base(facts: Sequence[Evidence], new_modules: frozenset[str] = frozenset()) -> dict[str, Base]:
    """The status of every id that was run on the base.

    `new_modules`: modules that the head adds to the project. A case that lacks such a module on the base is red.

    A test is unstable if its file could not be imported in one of the runs, even if the test passed in all other runs.
    On the head, where all files run together, the import may fail again.
    """
    runs: dict[str, list[tuple[Outcomes, str]]] = {}  # id → its outcome and kind of failure in each run
    for fact in facts:
        for result in fact.tried:
            runs.setdefault(result.id, []).append(_outcome_and_kind(result, new_modules))
    for fact in facts:
        not_passed = {
            result.id: _outcome_and_kind(result, new_modules)
            for result in fact.tried
            if result.outcome is not Outcomes.PASSED
        }
        reported = {result.id for result in fact.tried}
        for name in runs.keys() - reported:
            file, separator, _ = name.partition("::")
            if separator and file in not_passed:
                runs[name].append(not_passed[file])
    return {name: _base_status(runs_of_case) for name, runs_of_case in runs.items()}


def conduct_on_base(facts: Iterable[Evidence]) -> dict[str, frozenset[str]]:
    """Id → everything that its runs on the base showed about how the case behaves (`Tried.conduct`)."""
    conduct: dict[str, frozenset[str]] = {}
    for result in (result for fact in facts for result in fact.tried):
        conduct[result.id] = conduct.get(result.id, frozenset()).union(result.conduct)
    return conduct


def _outcome_and_kind(result: Tried, new_modules: frozenset[str]) -> tuple[Outcomes, str]:
    """The outcome and the kind of failure that this result counts as on the base."""
    if result.id == WHOLE_CHECK and result.outcome in _FAILING:
        return Outcomes.UNJUDGED, result.kind  # never red, because a crash of the runner shows nothing about a case
    if result.outcome is Outcomes.UNJUDGED and result.missing_module.split(".")[0] in new_modules:
        return Outcomes.MISSING, "missing"
    return result.outcome, result.kind


def _base_status(runs: list[tuple[Outcomes, str]]) -> Base:
    """The status after these runs. A case that failed `RED_TURNS` times is red even if the kinds of failure differ: on
    a busy machine, a missing route can fail in several ways."""
    outcomes = {outcome for outcome, _ in runs}
    kinds = {kind for _, kind in runs}
    if Outcomes.BROKEN in outcomes:
        return Base.BROKEN
    if Outcomes.UNJUDGED in outcomes:
        return Base.UNJUDGED
    if kinds & set(NOT_OUR_FAILURE):  # timeouts alone do not make a case red, but enough other failures do
        others = [(outcome, kind) for outcome, kind in runs if kind not in NOT_OUR_FAILURE]
        return _base_status(others) if len(others) >= RED_TURNS else Base.UNJUDGED
    if outcomes == {Outcomes.PASSED}:
        return Base.GUARD
    if outcomes <= {Outcomes.SKIPPED}:
        return Base.UNREACHED
    always_failed = outcomes <= set(_FAILING) and len(runs) >= RED_TURNS
    return Base.RED if always_failed else Base.UNSTABLE


def is_unjudged_on_base(result: Tried) -> bool:
    """Whether this result on the base is about the machine and not about the project."""
    return (
        result.outcome is Outcomes.UNJUDGED
        or result.kind in NOT_OUR_FAILURE
        or (result.id == WHOLE_CHECK and result.outcome in _FAILING)
    )


def number_of_tests(name: str, facts: Iterable[Evidence]) -> int:
    """How many tests an id covers. The id of a file that the base could not import covers all tests that these facts
    show in the file. Every other id covers 1 test."""
    tests = {result.id for fact in facts for result in _results_by_id(fact.tried).by_file.get(name, ())}
    return len(tests) if "::" not in name and tests else 1


def full_name(kind: str, check: str, case: str) -> str:
    """A name for a case that is unique in a verdict: the id of a test; for other cases, the check and the id."""
    return case if kind == "tests" else f"{check} {case}"


def lacking(facts: Iterable[Evidence]) -> frozenset[tuple[str, str]]:
    """Id and kind of everything that could not be judged in these facts, for example because a module or program is
    missing, or because the preparation failed."""
    return frozenset(
        (result.id, kind)
        for fact in facts
        for result in fact.tried
        if result.outcome is Outcomes.UNJUDGED
        for kind in _equal_kinds(result.kind, fact.kind)
    )


def _equal_kinds(kind: str, kind_of_check: str) -> tuple[str, ...]:
    """This kind of failure. For a missing Chromium, also the kind for a missing playwright, because earlier versions
    recorded a missing playwright as a missing Chromium. In browser and test checks, only the engine reports these two
    kinds."""
    return (kind, DRIVER_KIND) if kind == CHROMIUM_KIND and kind_of_check in ("browser", "tests") else (kind,)


def lasting(facts: Iterable[Evidence]) -> frozenset[tuple[str, str]]:
    """Id and problem of each case that had the same problem in every run: it hit the same limit of time or memory, the
    import of its module raised the same error, or the answer was invalid HTTP in the same way.

    If a case had such a problem in all runs on the base, the same problem does not count against the head. The cause
    may be the machine, the limit, a variable that is not set, a project that is not built here, or the base's server.
    """
    problems_of: dict[str, set[str]] = {}  # id → its problems in all runs, "" for a run in which it passed
    for result in (result for fact in facts for result in fact.tried):
        problem = "" if result.outcome is Outcomes.PASSED else _problem(result)
        problems_of.setdefault(result.id, set()).add(problem)
    return frozenset(
        (name, problem)
        for name, problems in problems_of.items()
        for problem in problems
        if len(problems) == 1 and problem.split(" ")[0] in (*LIMITS, IMPORT, FRAMING)
    )


def _problem(result: Tried) -> str:
    """The kind of failure. For a failed import, the error follows, without names of folders, and for an invalid answer
    what is wrong with it."""
    if result.kind not in (IMPORT, FRAMING):
        return result.kind
    return f"{result.kind} {_FOLDERS.sub('', result.detail)}"


def on_head(
    name: str, facts: Iterable[Evidence], lacks: frozenset[tuple[str, str]] = frozenset()
) -> tuple[Head, list[Tried]]:
    """The worst result of one id, and the runs in which it did not pass.

    `lacks`: id and kind of problems that are not the head's fault, because the base has them, too, or because a package
    could not be installed. The kind of a failed import includes its error. A result with a problem in `lacks` is
    unjudged, and so is a failure of the engine itself. Any other problem is a failure, even if the output says that
    something is missing: a head could print that, too.

    The id of a whole file that the base could not import passes if the file has tests and all of them pass.
    """
    worst, not_passed, turns = Head.PASSED, list[Tried](), 0
    for fact in facts:
        turns += 1
        for result in _results_of(name, fact):
            if result.outcome is Outcomes.PASSED:
                continue
            unjudged = _is_unjudged(result, name, lacks)  # the base has the same problem, or the engine itself failed
            not_passed.append(_hushed(result, unjudged=unjudged) if fact.tainted else result)
            worst = Head.UNJUDGED if unjudged and worst is not Head.FAILED else Head.FAILED
    if turns >= GREEN_TURNS or worst is not Head.PASSED:  # only a pass has to be seen again
        return worst, sorted(not_passed, key=lambda result: result.id == HUSHED)  # what agents may read comes first
    return Head.FAILED, [_vanished(name, "not run twice")]


def _hushed(result: Tried, *, unjudged: bool) -> Tried:
    """The result without any word that the head could choose freely. An unjudged result keeps its kind, because its
    kind names only what is missing on the base, too, or what the engine itself reports."""
    return result.model_copy(update=_SILENT) if unjudged else result.without_text(HUSHED)


def results_with_id(name: str, fact: Evidence) -> list[Tried]:
    """The results of one id in this run."""
    return _results_by_id(fact.tried).by_id.get(name, [])


def _results_of(name: str, fact: Evidence) -> list[Tried]:
    """The results that count for one id in this run: the results with this id, or, for a file's id, those of its tests.

    If there are none, the result of the test's file counts, if the file could not be imported. If there is no such
    result either, failures of the whole check count. Without any of these, the id was not reported. In a void run no
    pass counts.
    """
    by_id, by_file = _results_by_id(fact.tried)
    exact = by_id.get(name, [])
    if name == WHOLE_CHECK:
        return exact
    if not exact and "::" not in name:
        exact = [result for result in by_file.get(name, []) if not _is_marked_as_skipped(result)]
    if fact.why_void:
        exact = [result for result in exact if result.outcome is not Outcomes.PASSED]
    file = name.partition("::")[0]  # if a file cannot be imported, runners report the file instead of its tests
    uncollected = [result for result in by_id.get(file, []) if file != name and result.outcome is Outcomes.UNJUDGED]
    general = [result for result in by_id.get(WHOLE_CHECK, []) if result.outcome is not Outcomes.PASSED]
    return exact or uncollected or general or [_vanished(name, fact.why_void or "not reported")]


class _ResultsById(NamedTuple):
    by_id: dict[str, list[Tried]]
    by_file: dict[str, list[Tried]]  # the tests in each file


# The `id()` of a tuple → the tuple and its index. The tuple is kept, so that no other one gets the same `id()`.
_INDEXES: dict[int, tuple[tuple[Tried, ...], _ResultsById]] = {}
_MOST_INDEXES = 64


def _results_by_id(tried: tuple[Tried, ...]) -> _ResultsById:
    """The results of a run by their ids. The index is kept, because callers look up every id of a run: to search all
    results each time would take quadratic time."""
    if id(tried) not in _INDEXES:
        index = _ResultsById({}, {})
        for result in tried:
            index.by_id.setdefault(result.id, []).append(result)
            if "::" in result.id:
                index.by_file.setdefault(result.id.partition("::")[0], []).append(result)
        if len(_INDEXES) >= _MOST_INDEXES:
            del _INDEXES[next(iter(_INDEXES))]
        _INDEXES[id(tried)] = tried, index
    return _INDEXES[id(tried)][1]


def _is_marked_as_skipped(result: Tried) -> bool:
    """Whether a mark in the user's own file skips the test. A skip that is raised while the test runs does not count,
    because the head may have caused it."""
    return result.outcome is Outcomes.SKIPPED and result.kind.startswith(MARKED)


def _is_unjudged(result: Tried, name: str, lacks: frozenset[tuple[str, str]]) -> bool:
    if result.outcome is not Outcomes.UNJUDGED:
        return result.kind in (*LIMITS, IMPORT, FRAMING) and (name, _problem(result)) in lacks
    return result.kind in ENGINES or not lacks.isdisjoint({(name, result.kind), (WHOLE_CHECK, result.kind)})


def _vanished(name: str, why: str) -> Tried:
    return Tried(id=name, outcome=Outcomes.MISSING, kind="vanished", detail=why)
