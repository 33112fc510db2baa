"""What agents may read of the reasons for a grade. Does no I/O.

`Judged.why` is for people. It can name held-out tests, and files and tests that code under proof chose. Code under
proof that sees a held-out case could tell an agent about the case through the names of files that it imports and tests
that it lets fail. So reasons reach agents only in forms that are listed here: without names, or with names that come
from the contract or a person.
"""

import re
from collections.abc import Iterator
from itertools import product

from trued.model import EXISTING_TESTS, Finding, Grade, Judged
from trued.proof.verdict import reasons

NAMELESS = "…"  # stands for the names that agents do not read
# Beginnings of reasons whose names and words come from the contract or from a person, never from a run of checks.
_OPEN = (
    reasons.BY_HAND,
    reasons.PARTS,
    reasons.NOT_JUDGED,  # what is missing quotes nothing that could quote something held out (see `missing_part`)
    reasons.ACCEPTED,
    reasons.CASES_APPROVED,
    reasons.CONTRACT_APPROVED,
    reasons.CASES_WRITTEN,
    reasons.PROPOSAL,
    reasons.LOST,
)
# Beginning of a reason → what agents read instead.
_INSTEAD = {
    reasons.CONFIRMED: "the case of an objection fails on this commit",
    reasons.DISPUTED: "an objection to it is open",
    reasons.QUICK: reasons.QUICK,
}
_FIXED = (
    reasons.NO_CHECK,
    reasons.NO_NEW_DEPENDENCY,
    reasons.NO_OTHER_DEPENDENCY,
    reasons.EMPTY_DIFF,
    reasons.ALL_GREEN_BEFORE,
    reasons.STAYS,
    reasons.INFLUENCED,
    reasons.NO_NEW_BEHAVIOUR,
    reasons.UNTOUCHED,
    reasons.UNTRACED,
    reasons.NOTHING_HELD_OUT,
    reasons.NOT_HELD_OUT,
    reasons.NO_OTHER_CHECK,
    reasons.UNJUDGED_ON_BASE,
    reasons.BROKEN_CHECK,
    reasons.NOTHING_TURNED,
    reasons.NOTHING_COUNTED,
)
_WITH_NAMES = (
    reasons.not_run_by_any_check,
    reasons.known_by_exit_code_only,
    reasons.passes_with_superseded_tests,
    reasons.not_loaded_by_tests,
    reasons.reached_by_failing_tests,
    reasons.hiding_from_tests,
    reasons.hidden_from_tests,
    reasons.tests_vanished,
    reasons.used_by_tests_only,
    reasons.tests_need_base_version,
    reasons.in_place_of_others,
    reasons.hiding_modules,
    reasons.submodules_not_there,
    reasons.submodules_moved,
    reasons.converted_at_checkout,
    reasons.fails_on_base_too,
    reasons.may_install_packages,
    reasons.unused_tests,
)
_NO_REASON = {
    Grade.UNJUDGED: "the environment of the checks lacks something",
    Grade.UNPROVEN: "no check shows it",
}


def reason_for_agents(judged: Judged) -> str:
    """Why the requirement has this grade, in words that any agent may read. The words are the requirement's first two
    gaps, which were scanned for held-out data. Without gaps, they are the first reason that agents may read."""
    shown = dict.fromkeys(gap.what.partition("\n")[0] for gap in judged.gaps)
    return "; ".join([*shown][:2]) or next(iter(reasons_for_agents(judged)))


def reasons_for_agents(judged: Judged) -> tuple[str, ...]:
    """The reasons of the requirement, as far as agents may read them; at least one."""
    shown = tuple(dict.fromkeys(filter(None, map(_for_agents, judged.why))))
    if shown:
        return shown
    holding = "its checks pass" if judged.holds else "it does not hold"
    return (_NO_REASON.get(judged.grade, holding),)


def as_gap(judged: Judged) -> Finding:
    """A gap for a requirement that does not hold although it has no gaps. It says why the requirement has its grade."""
    return Finding(what=f"{judged.id}: {reason_for_agents(judged)}", requirement=judged.id)


def _for_agents(reason: str) -> str:
    """The part of the reason that agents may read, which may be all of it; "" if this file does not list the reason's
    form."""
    if reason.startswith(_OPEN) or reason.endswith(reasons.TO_AGREE):
        return reason
    for beginning, instead in _INSTEAD.items():
        if reason.startswith(beginning):
            return instead
    for sentence in _WITH_NAMES:
        before, _, after = sentence([NAMELESS]).partition(NAMELESS)
        if reason.startswith(before) and reason.endswith(after):
            return f"{before}{NAMELESS}{after}"
    if reason.startswith(EXISTING_TESTS):  # as `caps.lower_for_existing_tests` words it
        return reason if reasons.NOT_JUDGED in reason else f"{EXISTING_TESTS} fail"
    return reason if all(map(_is_fixed_or_count, reason.split("; "))) else ""


def _is_fixed_or_count(clause: str) -> bool:
    return clause in _FIXED or re.sub(r"\d+", "1", clause) in _COUNTS


def _counts() -> Iterator[str]:
    """The sentences that contain only counts, with example numbers in place of the counts."""
    numbers = [number for number in product((0, 1, 2), repeat=3) if any(number)]
    for first, second, third in numbers:
        for held_out in (True, False):
            yield reasons.turned(first, held_out=held_out, pages=second, tests=third)
        kept = reasons.still_pass(tests=first, cases=second, commands=third)
        yield from (kept, f"its {kept}")
    for number in (1, 2):
        yield reasons.already_satisfied(number)
        yield reasons.own_tests_turned(number)
        yield reasons.own_commands_turned(number)


_COUNTS = frozenset(re.sub(r"\d+", "1", sentence) for sentence in _counts())
