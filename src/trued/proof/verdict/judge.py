"""Judges one requirement: from facts and objections to a grade and its reasons. Pure: it runs, reads and asks nothing.

Claims of agents cannot raise a grade, because there is no parameter for them. Objections and failing facts can only
lower it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trued.model import (
    Author,
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
from trued.proof.verdict.gaps import MOST_TEXT, NO_WORK, gap, reason
from trued.proof.verdict.missing import each_once, missing_part
from trued.support.plurals import counted

_Lacking: TypeAlias = Lacks | Literal["nothing"]  # "nothing": no approval would help
_Graded: TypeAlias = tuple[Grade, tuple[str, ...], _Lacking]  # grade, reasons, what only a person can add


@dataclass(frozen=True, slots=True)
class CheckedObjection:
    """An objection after the engine ran its case, if it has one."""

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
    traced: bool = True  # some files that its guards run are known; those that a command runs are not
    superseded: Sequence[str] = ()  # tests of the base that the user's file changes on purpose
    proposed: Sequence[str] = ()  # tests that agents propose to change: left out when the existing tests are judged
    suite: bool = False  # this is the base's own test suite, not a requirement
    edited: frozenset[str] = frozenset()  # files of which the head has another version, and the base's was used
    elsewhere: frozenset[str] = frozenset()  # tests that another requirement of this verdict has as its own
    # tests that are not counted: they depend on the date, or they fail on the base, too, in another order or with other
    # expected values
    order_bound: frozenset[str] = frozenset()
    own_modules: frozenset[str] = frozenset()
    # kind of failure → the package that only the head declares and that could not be installed
    awaited: Mapping[str, MissingFromEnvironment] = field(default_factory=dict)
    undeclared: Sequence[str] = ()  # sentences about what the head imports without declaring it
    unread: Sequence[str] = ()  # changed files that may install a package without a manifest
    left_out: Sequence[str] = ()  # test files that the head changed or added and that the checks did not use
    own_tests: OwnTests = OwnTests()  # results of the test files that the checks name and the base lacks
    objected: Sequence[CheckedObjection] = ()


@dataclass(slots=True)
class _Count:
    """The cases of one check, sorted by what they show."""

    proving: list[str] = field(default_factory=list)
    self_made: list[str] = field(
        default_factory=list
    )  # red before, green now, but only with build files, scripts or settings that the change wrote
    guarding: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)  # guards that are the requirement's own cases
    failed: list[tuple[str, Tried]] = field(default_factory=list)
    unjudged: list[tuple[str, Tried]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    blind: list[str] = field(default_factory=list)  # cases that could not be judged on the base
    missing: list[MissingFromEnvironment] = field(default_factory=list)  # why blind and unjudged cases were not judged
    unstable: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)  # skipped on the base
    still_red: list[str] = field(default_factory=list)  # asked to keep, but failing on the base and here
    notes: list[str] = field(default_factory=list)


def judge(requirement: Requirement, facts: Facts) -> Judged:
    """The verdict on one requirement: grade, reasons, gaps for the implementer, and what only a person can add."""
    counts = [(check, _count(requirement, check, facts)) for check in requirement.checks]
    grade, why, lacks = _cap_until_agreed(requirement, *_graded(requirement, counts, facts))
    disputed = [one for one in facts.objected if not one.closed]
    if disputed:
        refuting = [one for one in disputed if one.refutes]
        ceiling = Grade.REFUTED if refuting else Grade.UNPROVEN
        grade = min(grade, ceiling)
        words = [f"an objection is confirmed, its case fails on this commit: {one.finding.what}" for one in refuting]
        why = (*words, *(_disputed(one.finding) for one in disputed if not one.refutes), *why)
    closed = tuple(f"{reasons.OBJECTION_CLOSED}{one.finding.what}" for one in facts.objected if one.closed)
    gaps = tuple(one for check, count in counts for one in _gaps(requirement, check, count, facts))
    gaps += _gaps_of_own_tests(requirement, facts) if (grade, lacks) == (Grade.UNPROVEN, "nothing") else ()
    holds = not disputed and not gaps and grade not in (Grade.REFUTED, Grade.UNJUDGED) and lacks != "nothing"
    return Judged(
        id=requirement.id,
        text=requirement.text,
        source=str(requirement.source),
        grade=grade,
        why=tuple(dict.fromkeys((*why, *(word for _, count in counts for word in count.notes), *closed))),
        evidence=tuple(one.id for one in (*facts.base, *facts.head)),
        gaps=gaps,
        holds=holds,
        lacks=lacks if holds and lacks != "nothing" else "",
        parts=requirement.parts,
        rests_on=_rests_on(requirement, facts),
        missing=_missing(counts, facts) if grade is Grade.UNJUDGED else (),
    )


def _missing(counts: "_Counts", facts: Facts) -> tuple[MissingFromEnvironment, ...]:
    return each_once([*(one for _, count in counts for one in count.missing), *facts.own_tests.missing])


def _cap_until_agreed(requirement: Requirement, grade: Grade, why: tuple[str, ...], lacks: _Lacking) -> _Graded:
    """Lower a requirement to unproven, until a person agrees, if an agent proposes that it supersedes existing tests,
    or if it lost cases. A requirement that consists of others is lowered even if it has no check of its own."""
    words = [reasons.proposes_to_supersede(requirement.proposed)] if requirement.proposed else []
    words += [reasons.lost_cases([one.clause for one in requirement.lost])] if requirement.lost else []
    if not words or grade < Grade.UNPROVEN:
        return grade, why, lacks
    if lacks != "nothing":
        only_parts = requirement.parts and not requirement.checks
        lacks = "approve" if grade >= Grade.EXAMINED or lacks == "approve" or only_parts else "attest"
    return Grade.UNPROVEN, (*words, *why), lacks


def _disputed(finding: Finding) -> str:
    return f"disputed{f' by {finding.by}' if finding.by else ''}: {finding.what}"


def judge_by_parts(whole: Judged, parts: Sequence[Judged], caps: Sequence[str] = ()) -> Judged:
    """The verdict on a requirement that is made of others: the worst grade of its parts and of its own checks."""
    if not parts:
        return whole
    every = [*parts, *([] if whole.why[:1] == (reasons.NO_CHECK,) else [whole])]
    worst = min(every, key=lambda judged: judged.grade)
    words = tuple(f"{one.id} is {one.grade}" for one in every if one.grade is worst.grade and one is not whole)
    why: tuple[str, ...] = (f"{reasons.PARTS} {counted(len(parts), 'part')}: {', '.join(words) or 'its own cases'}",)
    grade = worst.grade
    lacks: Lacks = next((one.lacks for one in every if one.lacks), "")
    if caps and grade > Grade.EXAMINED:
        grade, lacks, why = Grade.EXAMINED, "approve", (*caps, *why)
    own = () if whole.why[:1] == (reasons.NO_CHECK,) else whole.why
    holds = all(one.holds for one in every)
    missing = each_once(part for one in every for part in one.missing)
    return whole.model_copy(
        update={
            "grade": grade,
            "why": (*why, *own),
            "holds": holds,
            "lacks": lacks if holds else "",
            "missing": missing if grade is Grade.UNJUDGED else (),
            "own": _without_parts(whole, caps),
        }
    )


def _without_parts(whole: Judged, caps: Sequence[str]) -> Judged:
    """The verdict on the whole without its parts, from its own checks, objections and caps alone."""
    update: dict[str, object] = {"parts": ()}
    if caps and whole.why[:1] == (reasons.NO_CHECK,):
        update |= {"grade": Grade.EXAMINED, "why": tuple(caps), "lacks": "approve"}
    return whole.model_copy(update=update)


def _rests_on(requirement: Requirement, facts: Facts) -> str:
    """The phrase that says who wrote the cases."""
    authors = [
        facts.authors.get(check_hash(check)) for check in requirement.checks if not isinstance(check, ManualCheck)
    ]
    words = [_by(one) if one else "the user's own checks" for one in authors]
    return "; ".join(dict.fromkeys(words)) or "no check that can be run"


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
    base = [one for one in facts.base if one.check == name and one.requirement == requirement.id]
    head = [one for one in facts.head if one.check == name and one.requirement == requirement.id]
    stands = on_base(base, facts.own_modules)
    lacks = lacking(base) | lasting(base) | {(WHOLE_CHECK, kind) for kind in facts.awaited}
    guard = facts.suite or name in facts.guards  # a suite guards, even if a requirement has it as its own check
    if not stands:
        count.broken.append((WHOLE_CHECK, "it was never run on the base"))
    for case, stood in stands.items():
        if superseded := _note_if_superseded(case, facts):
            count.notes.append(superseded)
            continue
        own = not guard and is_own_case(requirement, check, case)
        if facts.suite and stood is not Base.GUARD:
            continue  # the case did not pass on the base, so it guards nothing
        if case in facts.elsewhere and not own:
            continue  # the case counts for the requirement that has it as its own
        if full_name(check.kind, name, case) in facts.order_bound:
            always = (
                "fails on the base, too, in another order or with other values"
                if stood is Base.GUARD
                else "depends on the date"
            )
            count.notes.append(f"{case} {always}: not counted")
            continue
        if guard and stood is not Base.GUARD:
            _place_kept(count, case, stood, head)
            continue
        placed = _Count() if _is_setup(check, case) else count
        _place(placed, case, stood, on_head(case, head, lacks), must=own)
        if case in placed.proving and _is_self_made(case, head):
            placed.proving.remove(case)
            placed.self_made.append(case)
        if placed is not count:  # a case that only sets up others can fail, but its pass shows nothing
            count.failed += placed.failed
            count.unjudged += placed.unjudged
            continue
        if isinstance(check, DATA) and _has_passed_only_once(case, head):
            count.notes.append(f"{case} {reasons.RUN_TWICE_FAILED}")
    _add_details_of_whole_check(count, base)
    count.notes += [reasons.skipped_on_base(count.unreached)] if count.unreached else []
    # Of these, the base's text is quoted, because the head could put anything into its own.
    on_both = {*count.blind, *(case for case, tried in count.unjudged if case == WHOLE_CHECK or tried.kind == IMPORT)}
    alike = {(one.id, one.kind): one for fact in base for one in fact.tried}  # the base's details are never hidden
    unjudged = [alike.get((case, tried.kind), tried) for case, tried in count.unjudged if case not in on_both]
    on_base_too = [one for fact in base for one in fact.tried if one.id in on_both]
    unjudged += [one for one in on_base_too if is_unjudged_on_base(one) or one.kind == IMPORT]
    count.missing += [facts.awaited.get(one.kind) or missing_part(check, one) for one in unjudged]
    return count


def _is_setup(check: Check, case: str) -> bool:
    number = case.removeprefix("case ")
    one = check.cases[int(number) - 1] if isinstance(check, ExamplesCheck) and number.isdigit() else None
    return isinstance(one, HttpCase) and one.setup


def _is_self_made(case: str, head: Sequence[Evidence]) -> bool:
    return any(one.kind == BY_OWN_DRIVERS for fact in head for one in results_with_id(case, fact))


def _has_passed_only_once(case: str, head: Sequence[Evidence]) -> bool:
    turns = {fact.turn: one.outcome for fact in head for one in results_with_id(case, fact)}
    return turns.get(1) is Outcomes.PASSED and turns.get(2) is Outcomes.FAILED


def _place(count: _Count, case: str, stood: Base, showed: tuple[Head, list[Tried]], *, must: bool) -> None:
    """Add one case to the count, by its status on the base and what it showed on the head."""
    state, bad = showed
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
        count.held += [case] if must else []
    elif stood is Base.RED:
        count.proving.append(case)
    else:
        _add_uncounted(count, case, stood)


def _place_kept(count: _Count, case: str, stood: Base, head: Sequence[Evidence]) -> None:
    """Add a case that a sentence asks to keep, and that does not pass on the base. If it was red and passes now, it
    shows as much as any other; if it still fails, nothing got worse, but the sentence is not shown."""
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


_NO_WORK = Tried(id=WHOLE_CHECK, outcome=Outcomes.UNJUDGED, kind=NO_WORK)


def _add_uncounted(count: _Count, case: str, stood: Base) -> None:
    why = "already fails on the base and is not a case of this requirement"
    if stood is Base.UNJUDGED:
        count.blind.append(case)
        why = "could not be judged on the base"
    elif stood is Base.UNSTABLE:
        count.unstable.append(case)
        why = "did not fail all three times on the base"
    count.notes.append(f"{case} {why}: not counted")


def _add_details_of_whole_check(count: _Count, base: Sequence[Evidence]) -> None:
    for fact in base:
        for one in fact.tried:
            # `missing` already says why a preparation failed; the rest of its output differs between runs.
            if one.id == WHOLE_CHECK and one.kind != "prepare" and one.detail not in count.notes:
                count.notes.append(one.detail)


def _note_if_superseded(case: str, facts: Facts) -> str:
    if any(is_superseded(case, one) for one in facts.superseded):
        return f"{case} is superseded: not counted"
    proposed = facts.suite and any(is_superseded(case, one) for one in facts.proposed)
    return f"{case} is superseded, if a person agrees: not counted" if proposed else ""


def is_superseded(case: str, named: str) -> bool:
    """Whether `named` (a test, a group of tests or a file) covers this test id."""
    parts = ("[", "::", " > ", "/") if "::" in named else ("::",)
    return case == named or any(case.startswith(f"{named}{one}") for one in parts)


def is_own_case(requirement: Requirement, check: Check, case: str) -> bool:
    """Whether the case is the requirement's own. Other tests that the same command runs are regression tests."""
    if requirement.keep:
        return isinstance(check, CommandCheck | DependenciesCheck)
    if isinstance(check, TestsCheck) and check.files and case != WHOLE_CHECK:
        return any(is_below(case.split("::")[0], named) for named in check.files)
    return True


# -- all checks together -----------------------------------------------------------------------------------------------

_Counts = list[tuple[Check, _Count]]


def _graded(requirement: Requirement, counts: _Counts, facts: Facts) -> _Graded:
    """The grade, its reasons, and the approval that it lacks: "attest", "approve", or "" if it lacks none. "nothing"
    means that no approval would help."""
    failed = [(check, case, tried) for check, count in counts for case, tried in count.failed]
    if failed:
        lacking = facts.undeclared if any(_lacks_module(tried) for _, _, tried in failed) else ()
        meant = [case for _, case, _ in failed if facts.suite and case.split("::")[0] in facts.edited]
        words = [*(reason(*one) for one in failed), *lacking, *([reasons.if_meant(meant)] if meant else [])]
        return Grade.REFUTED, tuple(dict.fromkeys(words)), "nothing"
    if any(count.unjudged for _, count in counts):
        missing = each_once(one for _, count in counts for one in count.missing)
        return Grade.UNJUDGED, tuple(reasons.not_judged(str(one)) for one in missing), "nothing"
    if manual := [check for check in requirement.checks if isinstance(check, ManualCheck)]:
        steps = "; ".join(step for check in manual for step in check.steps)
        return Grade.UNPROVEN, (f"only a person can judge this: {steps}",), "attest"
    if not requirement.checks and requirement.aside:
        return Grade.UNPROVEN, (f"{requirement.aside}: approve the contract to agree",), "approve"
    if not requirement.checks:
        return Grade.UNPROVEN, (reasons.NO_CHECK,), "attest"
    return _positive(requirement, counts, facts)


def _positive(requirement: Requirement, counts: _Counts, facts: Facts) -> _Graded:
    """The grade of a requirement if none of its cases failed."""
    proving = [(check, count) for check, count in counts if count.proving]
    guards = sum(len(count.guarding) for _, count in counts)
    if requirement.keep and guards:
        return _kept(counts, facts)
    if not facts.changed and (proving or requirement.keep or not guards):
        return Grade.UNPROVEN, (reasons.EMPTY_DIFF,), "nothing"
    if still_red := _still_red(counts):
        return Grade.UNPROVEN, (reasons.fails_on_base_too(still_red),), "attest"
    if proving:
        return _red_to_green(counts, guards, facts)
    if self_made := sum(len(count.self_made) for _, count in counts):
        words = reasons.own_commands_turned(self_made)
        return Grade.SELF_TESTED, (words, reasons.NO_OTHER_CHECK), "attest"
    if guards and _is_all_green(counts):
        grade, why, lacks = _already_green(counts, guards, facts)
        # `aside`: why nothing had to be built (the plan marks it as done, or an examiner calls it background). Whoever
        # approves the contract confirms that.
        agreeing = lacks == "attest" and requirement.aside
        return (grade, (*why, requirement.aside), "approve") if agreeing else (grade, why, lacks)
    if facts.own_tests.failing:
        return Grade.UNPROVEN, (reasons.own_tests_fail(facts.own_tests.failing),), "nothing"
    if facts.own_tests.missing:
        return Grade.UNJUDGED, tuple(reasons.not_judged(str(one)) for one in facts.own_tests.missing), "nothing"
    if facts.own_tests.turned and not any(count.blind for _, count in counts):
        return Grade.SELF_TESTED, (reasons.own_tests_turned(facts.own_tests.turned), reasons.NO_OTHER_CHECK), "attest"
    return _nothing_proven(counts, guards)


def _kept(counts: _Counts, facts: Facts) -> _Graded:
    """The grade of a requirement that only asks for things to keep working. None of its cases can be red, so the grade
    depends on what still passes."""
    asked_of_base = all(check_hash(check) in facts.guards for check, _ in counts)
    if not asked_of_base and not facts.changed:
        return Grade.UNPROVEN, (reasons.EMPTY_DIFF,), "nothing"
    if not asked_of_base and not facts.touched:
        return Grade.UNPROVEN, (reasons.UNTOUCHED if facts.traced else reasons.UNTRACED,), "attest"
    if read := [check for check, _ in counts if isinstance(check, DependenciesCheck)]:
        words = reasons.NO_OTHER_DEPENDENCY if any(one.unchanged for one in read) else reasons.NO_NEW_DEPENDENCY
        if facts.unread:
            return Grade.TESTED, (words, reasons.may_install_packages(facts.unread)), "attest"
        if len(read) == len(counts):  # the engine itself read the manifests, so the head could not influence the result
            return Grade.PROVEN, (words,), ""
    words = f"its {_still_pass(counts)}; {reasons.NO_NEW_BEHAVIOUR}"
    grade, why, lacks = _shown_green([(check, count.guarding) for check, count in counts], words, facts)
    still_red = _still_red(counts)
    return grade, (*why, *([reasons.fails_on_base_too(still_red)] if still_red else [])), lacks


def _still_red(counts: _Counts) -> list[str]:
    """The tests and commands that a sentence asks to keep and that fail on the base and here."""
    return [
        check.command if isinstance(check, CommandCheck) else case
        for check, count in counts
        for case in count.still_red
    ]


def _already_green(counts: _Counts, guards: int, facts: Facts) -> _Graded:
    """The grade if every case passed on the base. Only the user's own cases can show that nothing had to be built."""
    if all(_is_users_data(check, facts) for check, _ in counts):
        held = [(check, count.held) for check, count in counts]
        return _shown_green(held, reasons.already_satisfied(guards), facts)
    if facts.held_out and all(is_hidden_data(check) for check, _ in counts):
        # An agent wrote these cases about behaviour that must not change. A person who approves the contract adopts
        # them.
        return Grade.UNPROVEN, (reasons.ALL_GREEN_BEFORE, reasons.STAYS), "approve"
    words = [reasons.ALL_GREEN_BEFORE]
    words += [reasons.unused_tests(facts.left_out)] if facts.left_out else []
    return Grade.UNPROVEN, tuple(words), "attest"


def _shown_green(held: Sequence[tuple[Check, Sequence[str]]], words: str, facts: Facts) -> _Graded:
    """The grade of cases that still pass. It is above `tested` only if held-out cases of the user are among them."""
    data = [check for check, cases in held if cases and _is_users_data(check, facts)]
    if not data:
        return Grade.TESTED, (words, reasons.INFLUENCED), "attest"
    if not facts.held_out:
        return Grade.TESTED, (words, facts.held_out_why or reasons.NOT_HELD_OUT), "attest"
    return (Grade.EXAMINED, (words, *facts.caps), "approve") if facts.caps else (Grade.PROVEN, (words,), "")


def _is_users_data(check: Check, facts: Facts) -> bool:
    """Whether the check contains the user's own cases or page: hidden from implementers, and compared in the engine's
    process."""
    return is_hidden_data(check) and check_hash(check) not in facts.authors


def _red_to_green(counts: _Counts, guards: int, facts: Facts) -> _Graded:
    """The grade if cases failed on the base and pass here. It depends on who wrote them and who can see them."""
    proving = [(check, count) for check, count in counts if count.proving]
    shown = [(check, count) for check, count in proving if is_hidden_data(check)]
    data = sum(len(count.proving) for _, count in shown)
    rest = [(check, count.proving) for check, count in proving if not is_hidden_data(check)]
    pages = sum(len(cases) for check, cases in rest if isinstance(check, DATA))
    tests = sum(
        number_of_tests(case, facts.head) for check, cases in rest if not isinstance(check, DATA) for case in cases
    )
    words = reasons.turned(data, held_out=facts.held_out, pages=pages, tests=tests)
    words = f"{words}; {_still_pass(counts)}" if guards else words
    if not data:
        return Grade.TESTED, (words, reasons.NOTHING_HELD_OUT), "attest"
    if not facts.held_out:
        return Grade.TESTED, (words, facts.held_out_why or reasons.NOT_HELD_OUT), "attest"
    authors = [facts.authors.get(check_hash(check)) for check, count in shown if count.proving]
    if all(authors) and not all(one.independent for one in authors if one):
        return Grade.EXAMINED, (words, reasons.written_by(authors)), "approve"
    if facts.caps:
        return Grade.EXAMINED, (words, *facts.caps), "approve"
    return Grade.PROVEN, (words,), ""


def _still_pass(counts: _Counts) -> str:
    """The phrase for what passed on the base and passes here, by kind."""
    tests = sum(len(count.guarding) for check, count in counts if isinstance(check, TestsCheck))
    commands = sum(len(count.guarding) for check, count in counts if isinstance(check, CommandCheck))
    cases = sum(len(count.guarding) for check, count in counts if isinstance(check, DATA))
    return reasons.still_pass(tests=tests, cases=cases, commands=commands)


def _is_all_green(counts: _Counts) -> bool:
    doubtful = any(count.broken or count.blind or count.unstable for _, count in counts)
    return not doubtful and all(count.held for _, count in counts)


def _nothing_proven(counts: _Counts, guards: int) -> _Graded:
    """The grade if no case went from red to green."""
    if any(count.blind for _, count in counts):
        missing = each_once(one for _, count in counts for one in count.missing)
        words = tuple(reasons.not_judged(str(one)) for one in missing)
        return Grade.UNJUDGED, (reasons.UNJUDGED_ON_BASE, *words), "nothing"
    if any(count.broken for _, count in counts):
        return Grade.UNPROVEN, (reasons.BROKEN_CHECK,), "nothing"
    why = reasons.NOTHING_TURNED if guards else reasons.NOTHING_COUNTED
    return Grade.UNPROVEN, (why,), "attest"


def _gaps(requirement: Requirement, check: Check, count: _Count, facts: Facts) -> list[Finding]:
    own_files = not isinstance(check, DATA) and any(
        one.held_out for one in facts.head if one.check == check_hash(check)
    )
    failed = [
        gap(requirement, check, case, tried, held_out=facts.held_out, own_files=own_files)
        for case, tried in count.failed
    ]
    if any(_lacks_module(tried) for _, tried in count.failed):
        failed += [Finding(what=f"{requirement.id}: {one}", requirement=requirement.id) for one in facts.undeclared]
    return list(dict.fromkeys(failed))  # without unjudged cases: what the environment lacks is not a gap in the work


def _lacks_module(tried: Tried) -> bool:
    return tried.kind.split(" ")[0] == "module"


def _gaps_of_own_tests(requirement: Requirement, facts: Facts) -> tuple[Finding, ...]:
    """Why the implementer's own tests do not count. The implementer wrote them, so it may read all their output."""
    own = facts.own_tests
    if own.failing:
        output = f"\n{own.output[-MOST_TEXT:]}" if own.output else ""
        words = f"{reasons.own_tests_fail(own.failing)}{output}"
    elif own.idle:
        words = reasons.own_tests_idle(own.idle)
    elif own.absent:
        words = reasons.own_tests_absent(own.absent)
    else:
        return ()
    return (Finding(what=f"{requirement.id}: {words}", requirement=requirement.id),)
