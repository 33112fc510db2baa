"""Judges one requirement: from facts and objections to a grade and its reasons. Runs nothing, and does no I/O.

Claims of agents cannot raise a grade, because there is no parameter for claims. Objections and failing facts can only
lower a grade.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from trued.model import (
    Author,
    Basis,
    Check,
    CommandCheck,
    DependenciesCheck,
    Evidence,
    ExamplesCheck,
    Finding,
    Grade,
    HttpCase,
    Judged,
    Lacks,
    ManualCheck,
    MissingFromEnvironment,
    Outcomes,
    Requirement,
    TestsCheck,
    Tried,
)
from trued.proof.checks.command import BY_OWN_DRIVERS
from trued.proof.hashes import check_hash
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.frozen_files import is_below
from trued.proof.room.held_out import DATA, is_hidden_data
from trued.proof.verdict import reasons
from trued.proof.verdict.case_status import (
    IMPORT,
    Base,
    Head,
    full_name,
    is_unjudged_on_base,
    lacking,
    lasting,
    number_of_tests,
    on_base,
    on_head,
    results_with_id,
)
from trued.proof.verdict.failed_cases import MOST_TEXT, NO_WORK, gap, reason_for_people
from trued.proof.verdict.missing import each_once, missing_part
from trued.support.plurals import counted


class _Grading(NamedTuple):
    """The grade of one requirement, with its reasons and the approval that it lacks."""

    grade: Grade
    why: tuple[str, ...]
    lacks: Lacks | Literal["more"] = ""  # the approval that it lacks; "more": no approval would be enough
    basis: Basis = ""


@dataclass(frozen=True, slots=True)
class CheckedObjection:
    """An objection. If it has a case, the engine has run the case."""

    finding: Finding
    refutes: bool = False  # its case was run on the head and failed
    closed: bool = False  # its case was run on the head and passed


@dataclass(frozen=True, slots=True)
class OwnTests:
    """What the implementer's own tests show about one requirement."""

    turned: int = 0  # tests that fail on the base and pass here
    failing: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()  # tests that show nothing, because they pass on the base, too
    output: str = ""  # what the first failing test printed
    missing: tuple[MissingFromEnvironment, ...] = ()  # why some of them could not be judged
    absent: tuple[str, ...] = ()  # test files that a check names and that do not exist


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the engine found out about one requirement at one commit."""

    base: Sequence[Evidence] = ()
    head: Sequence[Evidence] = ()
    held_out: bool = False
    held_out_why: str = ""
    authors: Mapping[str, Author] = field(default_factory=dict)  # check → who wrote it, if not the user
    guards: frozenset[str] = frozenset()  # checks that can refute, but never prove
    caps: Sequence[str] = ()  # why the grade is at most `examined` until a person agrees
    changed: bool = True  # the diff touches more than the engine's own files
    touched: bool = True  # the diff touches a file that a guard of this requirement runs
    traced: bool = True  # at least some of the files that its guards run are known, which is never so for commands
    superseded: Sequence[str] = ()  # tests of the base that the user's file changes on purpose
    proposed: Sequence[str] = ()  # tests that agents propose to change: left out when the existing tests are judged
    suite: bool = False  # this is the base's own test suite, not a requirement
    edited: frozenset[str] = frozenset()  # files that the head changed, but whose base version the checks used
    elsewhere: frozenset[str] = frozenset()  # tests that another requirement of this verdict has as its own
    # Tests that are not counted, because they depend on the date, or because they are unreliable on the base already:
    # they fail there in another order or other surroundings, or pass there whatever value they expect.
    uncounted: frozenset[str] = frozenset()
    new_modules: frozenset[str] = frozenset()
    # kind of failure → the package that only the head declares and that could not be installed
    awaited: Mapping[str, MissingFromEnvironment] = field(default_factory=dict)
    undeclared: Sequence[str] = ()  # sentences about imports that nothing provides and packages that no registry has
    unread: Sequence[str] = ()  # changed files that may install a package without a manifest
    left_out: Sequence[str] = ()  # test files that the head changed or added and that the checks did not use
    own_tests: OwnTests = OwnTests()  # results of the test files that the checks name and the base lacks
    objected: Sequence[CheckedObjection] = ()


@dataclass(slots=True)
class _Count:
    """The cases of one check, sorted by what they show."""

    proving: list[str] = field(default_factory=list)
    # failed before, pass now, but only with build files, scripts or settings that the change wrote
    self_made: list[str] = field(default_factory=list)
    guarding: list[str] = field(default_factory=list)
    still_green: list[str] = field(default_factory=list)  # guards that are the requirement's own cases
    failed: list[tuple[str, Tried]] = field(default_factory=list)
    unjudged: list[tuple[str, Tried]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    blind: list[str] = field(default_factory=list)  # cases that could not be judged on the base
    missing: list[MissingFromEnvironment] = field(default_factory=list)  # why `blind` and `unjudged` were not judged
    unstable: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)  # skipped on the base
    still_red: list[str] = field(default_factory=list)  # must keep passing, but fail on the base and here
    notes: list[str] = field(default_factory=list)


def judge(requirement: Requirement, facts: Facts) -> Judged:
    """The verdict on one requirement: grade, reasons, gaps for the implementer, and what only a person can add."""
    counts = [(check, _count(requirement, check, facts)) for check in requirement.checks]
    grading = _lower_for_objections(_cap_until_agreed(requirement, _grading(requirement, counts, facts)), facts)
    gaps = tuple(finding for check, count in counts for finding in _gaps(requirement, check, count, facts))
    if grading.grade is Grade.UNPROVEN and grading.lacks == "more":
        gaps += _gaps_of_own_tests(requirement, facts)
    is_disputed = any(not objection.closed for objection in facts.objected)
    failed = grading.grade in (Grade.REFUTED, Grade.UNJUDGED) or grading.lacks == "more"
    holds = not (is_disputed or gaps or failed)
    notes = [note for _, count in counts for note in count.notes]
    notes += [f"{reasons.OBJECTION_CLOSED}{objection.finding.what}" for objection in facts.objected if objection.closed]
    return Judged(
        id=requirement.id,
        text=requirement.text,
        source=str(requirement.source),
        grade=grading.grade,
        why=tuple(dict.fromkeys((*grading.why, *notes))),
        evidence=tuple(fact.id for fact in (*facts.base, *facts.head)),
        gaps=gaps,
        holds=holds,
        lacks=grading.lacks if holds and grading.lacks != "more" else "",
        basis=grading.basis,
        parts=requirement.parts,
        rests_on=_rests_on(requirement, facts),
        missing=_missing(counts, facts) if grading.grade is Grade.UNJUDGED else (),
    )


def _missing(counts: "_Counts", facts: Facts) -> tuple[MissingFromEnvironment, ...]:
    return each_once([*(part for _, count in counts for part in count.missing), *facts.own_tests.missing])


def _cap_until_agreed(requirement: Requirement, grading: _Grading) -> _Grading:
    """Lower a requirement to unproven if an agent proposes that it supersedes existing tests, or if it lost cases. The
    cap ends when a person agrees. A requirement that consists of parts is lowered even without checks of its own."""
    added = [reasons.proposes_to_supersede(requirement.proposed)] if requirement.proposed else []
    added += [reasons.lost_cases([lost.clause for lost in requirement.lost])] if requirement.lost else []
    if not added or grading.grade < Grade.UNPROVEN:
        return grading
    lacks = grading.lacks
    if lacks != "more":
        only_parts = requirement.parts and not requirement.checks
        lacks = "approve" if grading.grade >= Grade.EXAMINED or lacks == "approve" or only_parts else "attest"
    return _Grading(Grade.UNPROVEN, (*added, *grading.why), lacks)


def _lower_for_objections(grading: _Grading, facts: Facts) -> _Grading:
    """Refute the requirement if the case of an objection fails on the head. Otherwise, an objection that is not closed
    makes the requirement unproven at most."""
    confirmed = [objection.finding for objection in facts.objected if objection.refutes and not objection.closed]
    disputed = [objection.finding for objection in facts.objected if not (objection.refutes or objection.closed)]
    if not confirmed and not disputed:
        return grading
    ceiling = Grade.REFUTED if confirmed else Grade.UNPROVEN
    why = (*map(_confirmed, confirmed), *map(_disputed, disputed), *grading.why)
    return _Grading(min(grading.grade, ceiling), why, grading.lacks)


def _confirmed(finding: Finding) -> str:
    return f"{reasons.CONFIRMED}{finding.what}"


def _disputed(finding: Finding) -> str:
    return f"{reasons.DISPUTED}{f' by {finding.by}' if finding.by else ''}: {finding.what}"


def judge_by_parts(whole: Judged, parts: Sequence[Judged], caps: Sequence[str] = ()) -> Judged:
    """The verdict on a requirement that consists of parts: the worst grade of its parts and of its own checks.
    `caps`: reasons for which the grade is `examined` at most."""
    if not parts:
        return whole
    every = [*parts, *([] if whole.basis == "no check" else [whole])]
    worst = min(every, key=lambda judged: judged.grade)
    named = [
        f"{judged.id} is {judged.grade}" for judged in every if judged.grade is worst.grade and judged is not whole
    ]
    why: tuple[str, ...] = (f"{reasons.PARTS} {counted(len(parts), 'part')}: {', '.join(named) or 'its own cases'}",)
    grade = worst.grade
    lacks: Lacks = next((judged.lacks for judged in every if judged.lacks), "")
    basis: Basis = "parts"
    if caps and grade > Grade.EXAMINED:
        grade, lacks, why, basis = Grade.EXAMINED, "approve", (*caps, *why), ""
    own = () if whole.basis == "no check" else whole.why
    holds = all(judged.holds for judged in every)
    missing = each_once(part for judged in every for part in judged.missing)
    return whole.model_copy(
        update={
            "grade": grade,
            "why": (*why, *own),
            "holds": holds,
            "lacks": lacks if holds else "",
            "basis": basis,
            "missing": missing if grade is Grade.UNJUDGED else (),
            "own": _without_parts(whole, caps),
        }
    )


def _without_parts(whole: Judged, caps: Sequence[str]) -> Judged:
    """The verdict on the whole without its parts, from its own checks, objections and caps alone."""
    update: dict[str, object] = {"parts": ()}
    if caps and whole.basis == "no check":
        update |= {"grade": Grade.EXAMINED, "why": tuple(caps), "lacks": "approve", "basis": ""}
    return whole.model_copy(update=update)


def _rests_on(requirement: Requirement, facts: Facts) -> str:
    """The phrase that says who wrote the cases."""
    authors = [
        facts.authors.get(check_hash(check)) for check in requirement.checks if not isinstance(check, ManualCheck)
    ]
    phrases = [_by(author) if author else "the user's own checks" for author in authors]
    return "; ".join(dict.fromkeys(phrases)) or "no check that can be run"


def _by(author: Author) -> str:
    who = f"{author.role} ({author.agent}{f', {author.vendor}' if author.vendor else ''})"
    alike = f", answered alike by {', '.join(author.agreed)}" if author.agreed else ""
    return f"cases by {who}{alike}"


# -- one check ---------------------------------------------------------------------------------------------------------


def _count(requirement: Requirement, check: Check, facts: Facts) -> _Count:
    """Sort the cases of this check by their results on base and head."""
    count = _Count()
    if isinstance(check, ManualCheck):
        return count
    name = check_hash(check)
    base = [fact for fact in facts.base if fact.check == name and fact.requirement == requirement.id]
    head = [fact for fact in facts.head if fact.check == name and fact.requirement == requirement.id]
    lacks = lacking(base) | lasting(base) | {(WHOLE_CHECK, kind) for kind in facts.awaited}
    is_guard = facts.suite or name in facts.guards  # a suite guards, even if a requirement has it as its own check
    status_on_base = on_base(base, facts.new_modules)
    if not status_on_base:
        count.broken.append((WHOLE_CHECK, "it was never run on the base"))
    for case, stood in status_on_base.items():
        is_own = not is_guard and is_own_case(requirement, check, case)
        why_left_out = _why_left_out(case, full_name(check.kind, name, case), stood, facts, is_own=is_own)
        if why_left_out is not None:
            count.notes += [f"{case} {why_left_out}: not counted"] if why_left_out else []
        elif is_guard and stood is not Base.GUARD:
            _place_kept(count, case, stood, head)
        elif requirement.keep and isinstance(check, DATA) and stood is not Base.GUARD:
            _place_not_kept(count, case, stood, on_head(case, head, lacks))
        elif _is_setup(check, case):
            _place_setup(count, case, stood, on_head(case, head, lacks), must=is_own)
        else:
            _place(count, case, stood, on_head(case, head, lacks), must=is_own)
            if case in count.proving and _is_self_made(case, head):
                count.proving.remove(case)
                count.self_made.append(case)
            if isinstance(check, DATA) and _has_passed_only_once(case, head):
                count.notes.append(f"{case} {reasons.RUN_TWICE_FAILED}")
    _add_details_of_whole_check(count, base)
    count.notes += [reasons.skipped_on_base(count.unreached)] if count.unreached else []
    may_quote = any(fact.held_out for fact in (*base, *head))
    count.missing += _missing_for(check, count, base, facts, may_quote=may_quote)
    return count


def _why_left_out(case: str, name: str, stood: Base, facts: Facts, *, is_own: bool) -> str | None:
    """Why the case does not count for this requirement, whatever it shows on the head. "" stands for a reason that
    people need not know, None for a case that counts. `name`: the case's full name, as in `Facts.uncounted`."""
    if superseded := _why_superseded(case, facts):
        return superseded
    if facts.suite and stood is not Base.GUARD:
        return ""  # the case did not pass on the base, so it guards nothing
    if case in facts.elsewhere and not is_own:
        return ""  # the case counts for the requirement that has it as its own
    if name in facts.uncounted:
        unstable = (
            "fails on the base, too, in another order or other surroundings, or passes there whatever value it expects"
        )
        return unstable if stood is Base.GUARD else "depends on the date"
    return None


def _missing_for(
    check: Check, count: _Count, base: Sequence[Evidence], facts: Facts, *, may_quote: bool
) -> list[MissingFromEnvironment]:
    """What the environment lacked for the cases that could not be judged.

    For three kinds of results, only the base's results are used, because the head could put anything into its own:
    results of a whole check (`WHOLE_CHECK`) instead of one case, failed imports, and cases that could not be judged on
    the base. `may_quote`: the text of results might quote something held out.
    """
    unjudged_on_both = {
        *count.blind,
        *(case for case, tried in count.unjudged if case == WHOLE_CHECK or tried.kind == IMPORT),
    }
    seen_on_base = {
        (tried.id, tried.kind): tried for fact in base for tried in fact.tried
    }  # results on the base keep their details
    unjudged = [
        seen_on_base.get((case, tried.kind), tried) for case, tried in count.unjudged if case not in unjudged_on_both
    ]
    on_base_too = [tried for fact in base for tried in fact.tried if tried.id in unjudged_on_both]
    unjudged += [tried for tried in on_base_too if is_unjudged_on_base(tried) or tried.kind == IMPORT]
    return [
        facts.awaited.get(tried.kind) or missing_part(check, tried, may_quote_held_out=may_quote) for tried in unjudged
    ]


def _is_setup(check: Check, case: str) -> bool:
    """Whether the case is an HTTP exchange that only prepares other exchanges: it can fail, but its pass shows
    nothing."""
    number = case.removeprefix("case ")
    exchange = check.cases[int(number) - 1] if isinstance(check, ExamplesCheck) and number.isdigit() else None
    return isinstance(exchange, HttpCase) and exchange.setup


def _is_self_made(case: str, head: Sequence[Evidence]) -> bool:
    return any(tried.kind == BY_OWN_DRIVERS for fact in head for tried in results_with_id(case, fact))


def _has_passed_only_once(case: str, head: Sequence[Evidence]) -> bool:
    turns = {fact.turn: tried.outcome for fact in head for tried in results_with_id(case, fact)}
    return turns.get(1) is Outcomes.PASSED and turns.get(2) is Outcomes.FAILED


def _place_setup(count: _Count, case: str, stood: Base, shown: tuple[Head, list[Tried]], *, must: bool) -> None:
    """Add an exchange that only prepares other exchanges. Only a failed or unjudged exchange of this kind counts."""
    alone = _Count()
    _place(alone, case, stood, shown, must=must)
    count.failed += alone.failed
    count.unjudged += alone.unjudged


def _place(count: _Count, case: str, stood: Base, shown: tuple[Head, list[Tried]], *, must: bool) -> None:
    """Add one case to the count, by its status on the base and what it showed on the head. `must`: the case is the
    requirement's own, so its failure counts even if the case did not pass on the base."""
    state, bad = shown
    if stood is Base.BROKEN:
        count.broken.append((case, "broken on the base"))
    elif stood is Base.UNREACHED:
        count.unreached.append(case)
    elif case == WHOLE_CHECK:
        count.unjudged.append((case, bad[0] if bad else _NO_WORK))
    elif not must and stood is not Base.GUARD:
        _add_uncounted(count, case, stood)  # the case can neither prove nor refute, whatever it shows on the head
    elif state is Head.FAILED:
        count.failed.append((case, bad[0]))
    elif state is Head.UNJUDGED:
        count.unjudged.append((case, bad[0]))
    elif stood is Base.GUARD:
        count.guarding.append(case)
        count.still_green += [case] if must else []
    elif stood is Base.RED:
        count.proving.append(case)
    else:
        _add_uncounted(count, case, stood)


def _place_kept(count: _Count, case: str, stood: Base, head: Sequence[Evidence]) -> None:
    """Add a case that must keep passing, but does not pass on the base. If the case was red and passes now, it proves
    as much as any other red case. If it still fails, nothing got worse, but nothing is proven."""
    if stood is Base.UNJUDGED:
        _add_uncounted(count, case, stood)
    if stood not in (Base.RED, Base.UNSTABLE):
        return
    if on_head(case, head)[0] is not Head.PASSED:
        count.still_red.append(case)
    elif stood is Base.UNSTABLE:
        _add_uncounted(count, case, stood)
    elif _is_self_made(case, head):
        count.self_made.append(case)
    else:
        count.proving.append(case)


def _place_not_kept(count: _Count, case: str, stood: Base, shown: tuple[Head, list[Tried]]) -> None:
    """Add a case that did not pass on the base, although its requirement has `keep: true`. By `keep`, the user says
    that the case passes already, so the requirement is not met while the case fails. A pass on the head shows
    nothing."""
    state, bad = shown
    if case == WHOLE_CHECK or stood in (Base.BROKEN, Base.UNREACHED) or state is Head.PASSED:
        _place(count, case, stood, shown, must=False)
    elif stood is Base.UNJUDGED:
        count.unjudged.append((case, bad[0]))
    else:  # also if the head's result is unjudged, which must not be better for the head than a failure
        count.still_red.append(case)


_NO_WORK = Tried(id=WHOLE_CHECK, outcome=Outcomes.UNJUDGED, kind=NO_WORK)


def _add_uncounted(count: _Count, case: str, stood: Base) -> None:
    why = "fails on the base already, and this requirement does not ask to change that"
    if stood is Base.UNJUDGED:
        count.blind.append(case)
        why = "could not be judged on the base"
    elif stood is Base.UNSTABLE:
        count.unstable.append(case)
        why = "did not fail all three times on the base"
    count.notes.append(f"{case} {why}: not counted")


def _add_details_of_whole_check(count: _Count, base: Sequence[Evidence]) -> None:
    for fact in base:
        for tried in fact.tried:
            # `missing` already says why a preparation failed; the rest of its output differs between runs.
            if tried.id == WHOLE_CHECK and tried.kind != "prepare" and tried.detail not in count.notes:
                count.notes.append(tried.detail)


def _why_superseded(case: str, facts: Facts) -> str:
    if any(is_superseded(case, named) for named in facts.superseded):
        return "is superseded"
    proposed = facts.suite and any(is_superseded(case, named) for named in facts.proposed)
    return "is superseded, if a person agrees" if proposed else ""


def is_superseded(case: str, named: str) -> bool:
    """Whether `named` (a test, a group of tests or a file) covers this test id."""
    separators = ("[", "::", " > ", "/") if "::" in named else ("::",)
    return case == named or any(case.startswith(f"{named}{separator}") for separator in separators)


def is_own_case(requirement: Requirement, check: Check, case: str) -> bool:
    """Whether the case is the requirement's own. Other tests that the same command runs are regression tests."""
    if requirement.keep:
        return isinstance(check, CommandCheck | DependenciesCheck)
    if isinstance(check, TestsCheck) and check.files and case != WHOLE_CHECK:
        return any(is_below(case.split("::")[0], named) for named in check.files)
    return True


# -- all checks together -----------------------------------------------------------------------------------------------

_Counts = list[tuple[Check, _Count]]


def _grading(requirement: Requirement, counts: _Counts, facts: Facts) -> _Grading:
    """The grade, its reasons, and the approval that it lacks."""
    failed = [(check, case, tried) for check, count in counts for case, tried in count.failed]
    if failed:
        undeclared = facts.undeclared if any(tried.failure == "module" for _, _, tried in failed) else ()
        meant = [case for _, case, _ in failed if facts.suite and case.split("::")[0] in facts.edited]
        why = [*(reason_for_people(*failure) for failure in failed), *undeclared]
        why += [reasons.if_meant(meant)] if meant else []
        return _Grading(Grade.REFUTED, tuple(dict.fromkeys(why)), "more")
    if any(count.unjudged for _, count in counts):
        return _unjudged(part for _, count in counts for part in count.missing)
    if manual := [check for check in requirement.checks if isinstance(check, ManualCheck)]:
        steps = "; ".join(step for check in manual for step in check.steps)
        return _Grading(Grade.UNPROVEN, (f"{reasons.BY_HAND}{steps}",), "attest")
    if not requirement.checks and requirement.aside:
        return _Grading(Grade.UNPROVEN, (f"{requirement.aside}{reasons.TO_AGREE}",), "approve")
    if not requirement.checks:
        return _Grading(Grade.UNPROVEN, (reasons.NO_CHECK,), "attest", "no check")
    return _grading_without_failure(requirement, counts, facts)


def _unjudged(missing: Iterable[MissingFromEnvironment], *, first: Sequence[str] = ()) -> _Grading:
    """The grade if the checks neither pass nor fail, because they need something that is missing."""
    return _Grading(Grade.UNJUDGED, (*first, *(reasons.not_judged(str(part)) for part in each_once(missing))), "more")


def _grading_without_failure(requirement: Requirement, counts: _Counts, facts: Facts) -> _Grading:
    """The grade of a requirement if none of its cases failed. The strongest evidence decides: first cases that went
    from red to green, then cases that were green before, then the implementer's own tests."""
    has_proof = any(count.proving for _, count in counts)
    guards = sum(len(count.guarding) for _, count in counts)
    if requirement.keep and guards:
        return _lower_for_own_cases(_kept(counts, facts), counts)
    if not facts.changed and (has_proof or requirement.keep or not guards):
        return _Grading(Grade.UNPROVEN, (reasons.EMPTY_DIFF,), "more")
    if still_red := _still_red(counts):
        return _Grading(Grade.UNPROVEN, (reasons.fails_on_base_too(still_red),), "attest")
    if has_proof:
        return _red_to_green(counts, guards, facts)
    if self_made := sum(len(count.self_made) for _, count in counts):
        turned = reasons.own_commands_turned(self_made)
        return _Grading(Grade.SELF_TESTED, (turned, reasons.NO_OTHER_CHECK), "attest")
    if guards and _is_all_green(counts):
        grading = _already_green(counts, guards, facts)
        # `aside`: why nothing had to be built (the plan marks the requirement as done, or an examiner calls it
        # background). Whoever approves the contract confirms this reason.
        if grading.lacks == "attest" and requirement.aside:
            return grading._replace(why=(*grading.why, requirement.aside), lacks="approve")
        return grading
    if facts.own_tests.failing:
        return _Grading(Grade.UNPROVEN, (reasons.own_tests_fail(facts.own_tests.failing),), "more")
    if facts.own_tests.missing:
        return _unjudged(facts.own_tests.missing)
    if facts.own_tests.turned and not any(count.blind for _, count in counts):
        turned = reasons.own_tests_turned(facts.own_tests.turned)
        return _Grading(Grade.SELF_TESTED, (turned, reasons.NO_OTHER_CHECK), "attest")
    return _nothing_proven(counts, guards)


def _kept(counts: _Counts, facts: Facts) -> _Grading:
    """The grade of a requirement with `keep`, which only asks for things to keep working. Cases that passed on the base
    cannot go from red to green, so the grade depends on which cases still pass."""
    asked_of_base = all(check_hash(check) in facts.guards for check, _ in counts)
    if not asked_of_base and not facts.changed:
        return _Grading(Grade.UNPROVEN, (reasons.EMPTY_DIFF,), "more")
    if not asked_of_base and not facts.touched:
        return _Grading(Grade.UNPROVEN, (reasons.UNTOUCHED if facts.traced else reasons.UNTRACED,), "attest")
    if read := [check for check, _ in counts if isinstance(check, DependenciesCheck)]:
        unchanged = any(check.unchanged for check in read)
        sentence = reasons.NO_OTHER_DEPENDENCY if unchanged else reasons.NO_NEW_DEPENDENCY
        if facts.unread:
            return _Grading(Grade.TESTED, (sentence, reasons.may_install_packages(facts.unread)), "attest")
        if len(read) == len(counts):  # the engine itself read the manifests, so the head could not influence the result
            return _Grading(Grade.PROVEN, (sentence,))
    sentence = f"its {_still_pass(counts)}; {reasons.NO_NEW_BEHAVIOUR}"
    grading = _shown_green([(check, count.guarding) for check, count in counts], sentence, facts)
    still_red = _still_red([(check, count) for check, count in counts if not isinstance(check, DATA)])
    return grading._replace(why=(*grading.why, reasons.fails_on_base_too(still_red))) if still_red else grading


def _lower_for_own_cases(grading: _Grading, counts: _Counts) -> _Grading:
    """Lower a requirement with `keep` to unproven if one of its own cases is broken, or fails on base and head. A
    behaviour that never worked cannot have been kept."""
    own: _Counts = [(check, count) for check, count in counts if isinstance(check, DATA)]
    if any(count.broken for _, count in own):
        return _Grading(Grade.UNPROVEN, (reasons.BROKEN_CHECK, *grading.why), "more")
    if not (never_passed := _still_red(own)):
        return grading
    why = (reasons.fails_on_base_too(never_passed), *grading.why)
    return _Grading(Grade.UNPROVEN, why, "more" if grading.lacks == "more" else "attest")


def _still_red(counts: _Counts) -> list[str]:
    """The tests and commands that must keep passing, but fail on the base and here."""
    return [
        check.command if isinstance(check, CommandCheck) else case
        for check, count in counts
        for case in count.still_red
    ]


def _already_green(counts: _Counts, guards: int, facts: Facts) -> _Grading:
    """The grade if every case passed on the base already. Only the user's own cases can show that nothing had to be
    built. `guards`: how many cases passed on the base and pass here."""
    if all(_is_users_data(check, facts) for check, _ in counts):
        still_green = [(check, count.still_green) for check, count in counts]
        return _shown_green(still_green, reasons.already_satisfied(guards), facts)._replace(basis="already satisfied")
    if facts.held_out and all(is_hidden_data(check) for check, _ in counts):
        # An agent wrote these cases about behaviour that must not change. A person who approves the contract adopts
        # them.
        return _Grading(Grade.UNPROVEN, (reasons.ALL_GREEN_BEFORE, reasons.STAYS), "approve", "green before")
    why = [reasons.ALL_GREEN_BEFORE]
    why += [reasons.unused_tests(facts.left_out)] if facts.left_out else []
    return _Grading(Grade.UNPROVEN, tuple(why), "attest")


def _shown_green(still_green: Sequence[tuple[Check, Sequence[str]]], sentence: str, facts: Facts) -> _Grading:
    """The grade of cases that still pass. It is above `tested` only if held-out cases of the user are among them."""
    data = [check for check, cases in still_green if cases and _is_users_data(check, facts)]
    return _by_held_out_cases(data, sentence, facts, otherwise=reasons.INFLUENCED)


def _is_users_data(check: Check, facts: Facts) -> bool:
    """Whether the check contains the user's own cases or page, which implementers cannot see and the engine itself
    compares."""
    return is_hidden_data(check) and check_hash(check) not in facts.authors


def _red_to_green(counts: _Counts, guards: int, facts: Facts) -> _Grading:
    """The grade if cases failed on the base and pass here. It depends on who wrote these cases and who can see them.
    `guards`: how many other cases passed on the base and pass here."""
    proving = [(check, count.proving) for check, count in counts if count.proving]
    hidden = [(check, cases) for check, cases in proving if is_hidden_data(check)]
    visible = [(check, cases) for check, cases in proving if not is_hidden_data(check)]
    data = sum(len(cases) for _, cases in hidden)
    pages = sum(len(cases) for check, cases in visible if isinstance(check, DATA))
    tests = sum(
        number_of_tests(case, facts.head) for check, cases in visible if not isinstance(check, DATA) for case in cases
    )
    sentence = reasons.turned(data, held_out=facts.held_out, pages=pages, tests=tests)
    sentence = f"{sentence}; {_still_pass(counts)}" if guards else sentence
    return _by_held_out_cases([check for check, _ in hidden], sentence, facts, otherwise=reasons.NOTHING_HELD_OUT)


def _by_held_out_cases(checks: Sequence[Check], sentence: str, facts: Facts, *, otherwise: str) -> _Grading:
    """The grade to which these checks lead, whose cases can be held out. `sentence`: what the cases show. `otherwise`:
    the reason for `tested` if there are no checks."""
    if not checks:
        return _Grading(Grade.TESTED, (sentence, otherwise), "attest")
    if not facts.held_out:
        return _Grading(Grade.TESTED, (sentence, facts.held_out_why or reasons.NOT_HELD_OUT), "attest")
    # None stands for the user. With a check of the user, the verdict does not rest on agents' cases alone.
    authors = [facts.authors.get(check_hash(check)) for check in checks]
    if all(authors) and not all(author.independent for author in authors if author):
        return _Grading(Grade.EXAMINED, (sentence, reasons.written_by(authors)), "approve")
    if facts.caps:
        return _Grading(Grade.EXAMINED, (sentence, *facts.caps), "approve")
    return _Grading(Grade.PROVEN, (sentence,))


def _still_pass(counts: _Counts) -> str:
    """The phrase that counts what passed on the base and passes here: `4 existing tests still pass`."""
    tests = sum(len(count.guarding) for check, count in counts if isinstance(check, TestsCheck))
    commands = sum(len(count.guarding) for check, count in counts if isinstance(check, CommandCheck))
    cases = sum(len(count.guarding) for check, count in counts if isinstance(check, DATA))
    return reasons.still_pass(tests=tests, cases=cases, commands=commands)


def _is_all_green(counts: _Counts) -> bool:
    doubtful = any(count.broken or count.blind or count.unstable for _, count in counts)
    return not doubtful and all(count.still_green for _, count in counts)


def _nothing_proven(counts: _Counts, guards: int) -> _Grading:
    """The grade if no case went from red to green. `guards`: how many cases passed on the base and pass here."""
    if any(count.blind for _, count in counts):
        missing = (part for _, count in counts for part in count.missing)
        return _unjudged(missing, first=(reasons.UNJUDGED_ON_BASE,))
    if any(count.broken for _, count in counts):
        return _Grading(Grade.UNPROVEN, (reasons.BROKEN_CHECK,), "more")
    return _Grading(Grade.UNPROVEN, (reasons.NOTHING_TURNED if guards else reasons.NOTHING_COUNTED,), "attest")


def _gaps(requirement: Requirement, check: Check, count: _Count, facts: Facts) -> list[Finding]:
    own_files = not isinstance(check, DATA) and any(
        fact.held_out for fact in facts.head if fact.check == check_hash(check)
    )
    failed = [
        gap(requirement, check, case, tried, held_out=facts.held_out, own_files=own_files)
        for case, tried in count.failed
    ]
    if any(tried.failure == "module" for _, tried in count.failed):
        failed += [
            Finding(what=f"{requirement.id}: {sentence}", requirement=requirement.id) for sentence in facts.undeclared
        ]
    return list(dict.fromkeys(failed))  # without unjudged cases: what the environment lacks is not a gap in the work


def _gaps_of_own_tests(requirement: Requirement, facts: Facts) -> tuple[Finding, ...]:
    """Why the implementer's own tests do not count. The implementer wrote them, so it may read all their output."""
    own = facts.own_tests
    if own.failing:
        output = f"\n{own.output[-MOST_TEXT:]}" if own.output else ""
        sentence = f"{reasons.own_tests_fail(own.failing)}{output}"
    elif own.idle:
        sentence = reasons.own_tests_idle(own.idle)
    elif own.absent:
        sentence = reasons.own_tests_absent(own.absent)
    else:
        return ()
    return (Finding(what=f"{requirement.id}: {sentence}", requirement=requirement.id),)
