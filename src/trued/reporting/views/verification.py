"""A verification for people and programs. All forms are made from the data that `verify --json` prints."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from trued.model import (
    Case,
    Check,
    Contract,
    Evidence,
    ExamplesCheck,
    Grade,
    Judged,
    Outcome,
    Outcomes,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.proof.hashes import contract_hash
from trued.proof.verdict.conclusion import exit_code_of_run
from trued.proof.verdict.notes import fact_notes
from trued.proof.verdict.quick_verdict import QUICK_NOTE
from trued.reporting.views.cases import FailedCase, failed_case
from trued.reporting.views.ledger import ledger
from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import counted, few

YOURS = "your own cases"
PROGRAMS = {"node": "Node", "go": "Go", "chromium": "Chromium"}  # key in the evidence's versions → name of the program
# part of the evidence's command → name of the program, if no version is recorded
RUNNERS = {" nodes.mjs ←": "Node", " test -json ←": "Go"}
NOT_IMPORTED = "collection"  # the kind of failure of a test file that cannot be imported
REASONS = 6  # at most this many reasons are shown for one requirement; `trued why` shows all
# A reason about one case: `case 1: it raises an error …`, `tests/test_a.py::test_b: it fails`, `page /, sees Hello: …`
_CASE = lazy_regex(r"(case \d+|\S+::.*?|page \S+, .*?): (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verification:
    """A finished verification: contract, verdict, outcome, and how to repeat it."""

    contract: Contract
    verdict: Verdict
    outcome: Outcome
    accept: Grade = Grade.ATTESTED
    reproduce: str = ""  # the one command that repeats the verification

    @property
    def code(self) -> int:
        """The exit code."""
        return exit_code_of_run(self.outcome)

    @property
    def met(self) -> int:
        """How many requirements are met."""
        return sum(row.grade.is_met(self.accept) for row in self.verdict.requirements)

    @property
    def is_quick(self) -> bool:
        """Whether every check ran only once on the head."""
        return QUICK_NOTE in self.verdict.undecided

    def has_failed(self, judged: Judged) -> bool:
        """Whether a requirement is refuted, has gaps, or does not hold. What could not be judged has not failed.

        In a quick verdict no requirement holds, even if all its checks passed. In such a verdict a requirement has
        failed only if it is refuted or has gaps.
        """
        if judged.grade is Grade.UNJUDGED:
            return False
        return judged.grade is Grade.REFUTED or bool(judged.gaps) or not (judged.holds or self.is_quick)

    @property
    def seconds(self) -> float:
        """How long all checks ran, on both commits."""
        return sum(fact.seconds for fact in (*self.contract.base_facts, *self.verdict.evidence))

    @property
    def isolation(self) -> tuple[str, ...]:
        """The sandbox levels in which checks ran."""
        facts = (*self.contract.base_facts, *self.verdict.evidence)
        return tuple(sorted({fact.isolation for fact in facts if fact.isolation != "not run"}))

    @property
    def environment(self) -> tuple[str, ...]:
        """The interpreters and programs that ran the checks."""
        facts = [fact for fact in (*self.contract.base_facts, *self.verdict.evidence) if fact.isolation != "not run"]
        return tuple(
            dict.fromkeys(filter(None, (ran_by(fact.interpreter, fact.versions, fact.command) for fact in facts)))
        )

    @property
    def facts(self) -> tuple[str, ...]:
        """Notes with facts about how the checks ran, such as whose files and which environment they used."""
        return fact_notes(self.verdict)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Notes about what no check covers."""
        return tuple(note for note in self.verdict.undecided if note not in self.facts)

    @property
    def suite_owner(self) -> str:
        """The id of the requirement whose check runs all existing tests, if any of the tests passed on the base. "" if
        no requirement has such a check, or if the verdict lists the existing tests separately."""
        if self.verdict.suites:
            return ""
        passed = {fact.requirement for fact in self.contract.base_facts if fact.kind == "tests" and _any_passed(fact)}
        owners = [
            requirement for requirement in self.contract.requirements if any(map(_is_whole_suite, requirement.checks))
        ]
        return next((requirement.id for requirement in owners if requirement.id in passed), "")

    @property
    def headline(self) -> str:
        """The outcome in one line."""
        total = len(self.verdict.requirements)
        states = {"done": "success", "waiting": "waits for a person", "unjudged": "could not be judged"}
        state = states.get(self.outcome.state, "not proven")
        return f"{state}: {self.met} of {counted(total, 'requirement')} met{_worst_grade(self)}"

    @property
    def bar(self) -> str:
        """A sentence about a lower grade that the user accepts, or ""."""
        return f"the bar was lowered: {self.accept} counts as met" if self.accept.is_lowered_bar else ""

    def checks(self, judged: Judged) -> list["CheckedSides"]:
        """What each check of a requirement showed on base and head."""
        from trued.proof.hashes import check_hash  # imported here, because `--help` needs no verdict

        taken = set(judged.evidence)
        facts = [fact for fact in (*self.contract.base_facts, *self.verdict.evidence) if fact.id in taken]
        listed = {check_hash(check): check for requirement in self.contract.every for check in requirement.checks}
        if self.verdict.commit == self.contract.base:  # base and head are one commit: all evidence has the side `base`
            sealed = {fact.id for fact in self.contract.base_facts}
            facts = [fact if fact.id in sealed else fact.model_copy(update={"side": "head"}) for fact in facts]
        names = list(dict.fromkeys(fact.check for fact in facts))
        replaced = tuple(name for requirement in self.contract.requirements for name in requirement.supersedes)
        return [
            _checked_sides([fact for fact in facts if fact.check == name], listed.get(name), replaced) for name in names
        ]

    def rests_on(self, judged: Judged) -> str:
        """Who wrote the checks of a requirement; "" if the author is not known, or if there are no checks."""
        return judged.rests_on or ("" if not self.checks(judged) else YOURS if not self.contract.authors else "")


def ran_by(interpreter: str, versions: Mapping[str, str], command: str) -> str:
    """The programs that ran a check, such as Node, Go or Chromium. The Python `interpreter` is named only if no other
    program ran the check, or if the check's command names Python."""
    others = [f"{name} {versions[key]}" for key, name in PROGRAMS.items() if key in versions]
    program = next((name for ending, name in RUNNERS.items() if ending in command), "")
    others += [program] if program and not others else []
    python = interpreter and (not others or "python" in command.partition("←")[0])
    return ", ".join([*([interpreter] if python else []), *others])


def _is_whole_suite(check: Check) -> bool:
    """Whether the check runs all tests there are, because its command names no file."""
    # imported here, because only a verdict needs it
    from trued.proof.text.command_parser import files_in_command, recognise_runner

    call = recognise_runner(check.command) if isinstance(check, TestsCheck) and not check.files else None
    return call is not None and not files_in_command(call)


def _any_passed(fact: Evidence) -> bool:
    return any(case.outcome is Outcomes.PASSED for case in fact.tried)


def _worst_grade(verification: Verification) -> str:
    return f", the worst is {verification.verdict.grade}" if verification.verdict.requirements else ""


@dataclass(frozen=True, slots=True)
class CheckedSides:
    """One check: how many of its cases passed on each side, and which fail on the head."""

    kind: str
    command: str
    before: int  # how many passed on the base, out of `known`
    known: int
    after: int  # how many passed in every run on the head, out of `total`
    total: int
    turns: int
    held_out: bool
    failing: tuple[Tried, ...]
    void: str
    cases: tuple[Case, ...] = ()  # of an examples check
    skipped: int = 0  # on both sides: neither a pass nor a failure
    superseded: int = 0  # tests among `failing` that a requirement says may fail
    unimported: int = 0  # test files that could not be imported on the base, so that their tests are not counted there

    def failed_case_line(self, tried: Tried, *, brief: bool = False) -> str:
        """One failing case in one sentence; `brief` as in `failed_case`."""
        case = self.failed_case(tried, brief=brief)
        if case.expected:
            return f"{case.name}, {case.asked}: expected {case.expected}, got {case.got}"
        return f"{case.name}: {case.got}"

    def failed_case(self, tried: Tried, *, brief: bool = False) -> FailedCase:
        """One failing case with its expected and actual result. `brief`: only the assertions of a test's trace."""
        asserted = [text.removeprefix("E").strip() for text in tried.detail.splitlines() if re.match(r"E\s", text)]
        detail = "; ".join(asserted) if brief and asserted else tried.detail
        return failed_case(tried.id, detail, tried.kind or tried.outcome, self.cases)

    @property
    def result_line(self) -> str:
        """The result in one line: `examples 5/5 twice (base 0/5)`."""
        times = {0: "not run", 1: "once", 2: "twice"}.get(self.turns, f"{self.turns} times")
        known = self.known - self.unimported
        base = [f"{self.before}/{known}"] if known or not self.unimported else []
        base += [f"{counted(self.unimported, 'file')} cannot be imported"] if self.unimported else []
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        superseded = f", {self.superseded} superseded" if self.superseded else ""
        return f"{self.kind} {self.after}/{self.total} {times}{skipped}{superseded} (base {', '.join(base)})"


def _checked_sides(facts: Sequence[Evidence], check: Check | None, replaced: Sequence[str] = ()) -> CheckedSides:
    from trued.proof.verdict.judge import is_superseded  # imported here, because `--help` needs no verdict

    base = [fact for fact in facts if fact.side == "base"]
    head = [fact for fact in facts if fact.side == "head"]
    first = facts[0]
    before = {case.id: case for case in _tried_cases(base)}
    after: dict[str, Tried] = {}
    for case in _tried_cases(head):  # the worst of all runs counts
        if case.id not in after or after[case.id].outcome is Outcomes.PASSED:
            after[case.id] = case
    aside = {name for name, case in after.items() if _is_skipped(case) and _is_skipped(before.get(name, case))}
    failing = tuple(case for case in after.values() if case.outcome is not Outcomes.PASSED and case.id not in aside)
    return CheckedSides(
        kind=first.kind,
        command=first.command,
        before=sum(case.outcome is Outcomes.PASSED for case in before.values()),
        known=len(before.keys() - aside),
        after=len(after) - len(failing) - len(aside),
        total=len(after) - len(aside),
        skipped=len(aside),
        turns=len({fact.turn for fact in head}),
        held_out=first.held_out,
        failing=failing,
        superseded=sum(any(is_superseded(case.id, name) for name in replaced) for case in failing),
        void=next((fact.why_void for fact in facts if fact.why_void), ""),
        cases=check.cases if isinstance(check, ExamplesCheck) else (),
        unimported=sum(case.kind == NOT_IMPORTED and "::" not in case.id for case in before.values()),
    )


def _is_skipped(case: Tried) -> bool:
    return case.outcome is Outcomes.SKIPPED


def _tried_cases(facts: Iterable[Evidence]) -> list[Tried]:
    return [case for fact in facts for case in fact.tried]


def reasons_sentence(why: Sequence[str]) -> str:
    """The reasons as one sentence; cases that failed in the same way are listed together."""
    alike: dict[str, list[str]] = {}
    for reason in why:
        match = _CASE.fullmatch(reason)
        what, name = (match[2], match[1]) if match else (reason, "")
        alike.setdefault(what, []).append(name)
    sentences = [f"{_together(names)}: {what}" if names[0] else what for what, names in alike.items()]
    more = len(sentences) - REASONS
    return "; ".join(sentences[:REASONS]) + (f"; and {more} more reasons" if more > 0 else "")


def _together(names: Sequence[str]) -> str:
    first, *others = names
    return few([first, *(name.removeprefix("case ") for name in others)], REASONS + 1)


def short_source(source: str) -> str:
    """File and line without folders of this machine: an absolute path is shortened to its last part."""
    return PurePosixPath(source).name if source.startswith("/") else source


def verification_data(verification: Verification) -> dict[str, Any]:
    """The verification as JSON data. The grade comes first, then the requirements with their evidence."""
    ledger_data = ledger(verification.verdict, verification.contract, over=True)
    for row, judged in zip(ledger_data["requirements"], verification.verdict.requirements, strict=False):
        row["rests_on"] = verification.rests_on(judged)
    return {
        "grade": ledger_data["grade"],
        "requirements": ledger_data["requirements"],
        "existing_tests": ledger_data["existing_tests"],
        "state": verification.outcome.state,
        "code": verification.code,
        "why": list(verification.outcome.why),
        "accept": str(verification.accept),
        "lowered": verification.accept.is_lowered_bar,
        "commit": verification.verdict.commit,
        "tree": verification.verdict.tree,
        "base": verification.contract.base,
        "contract": contract_hash(verification.contract),
        "held_out": verification.contract.held_out,
        "held_out_why": verification.contract.held_out_why,
        "isolation": list(verification.isolation),
        "environment": list(verification.environment),
        "undecided": list(verification.verdict.undecided),
        "reported": list(verification.facts),
        "lacking": list(verification.outcome.lacking),
        "reproduce": verification.reproduce,
    }
