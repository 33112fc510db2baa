"""Describes one failed case: for people in full, and for implementers as far as they may know the case. Sentences about
a requirement's grade are in `reasons.py`."""

from trued.model import (
    BrowserCheck,
    Case,
    Check,
    CommandCheck,
    ExamplesCheck,
    Finding,
    Requirement,
    TestsCheck,
    Tried,
)
from trued.proof.checks.examples import case_in_words
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.frozen_files import is_below
from trued.proof.room.held_out import DATA, is_hidden_data
from trued.proof.verdict.case_status import HUSHED

AGAIN = "existing checks fail when they are run a second time in the same checkout (another order, date, host and user)"
NO_WORK = "the check did not work on the base"
MOST_TEXT = 1500  # at most this many characters of a failure's output are quoted: enough for one failed assertion
_LACKING = {
    "module": "something that it needs is not installed",
    "program": "a program that it needs is not installed",
    "version": "a program that it needs is too old",
}
_KINDS = {
    "returned": "it does not return the expected value",
    "raised": "it raises an error instead of returning a value",
    "raised another error": "it does not raise the expected error, but another one",
    "did not raise": "it does not raise the expected error",
    "missing": "the function, program or page that it uses does not exist",
    "import": "its module cannot be imported",
    "awaited": "its callers must await its result, unlike on the base, or must no longer do so",
    "arguments changed": "it changes its arguments, which must stay as they were",
    "arguments after": "after the call, its arguments do not have the expected values",
    "exit": "it does not end with the expected exit code",
    "stdout": "it does not print the expected output",
    "status": "it does not answer with the expected status",
    "body": "it does not answer with the expected body",
    "header": "its answer does not have the expected headers",
    "server": "its server does not start, or does not answer",
    "sees": "the page does not show what it must",
    "hides": "the page shows what it must not",
    "url": "the page does not lead to the expected address",
    "tree": "the accessibility tree of the page does not have the expected element",
    "console": "the page reports errors, and must report none",
    "page": "the page does not load",
    "action": "an action on the page cannot be done",
    "before sees": "the page does not show, before the first action, what it must show at that point",
    "before hides": "the page shows, before the first action, what it must not show at that point",
    "time": "it does not end within its time limit",
    "lingers": "it leaves something running for which its caller waits",
    "memory": "it needs more memory than its limit",
    "flood": "it writes more output than is allowed",
    "framing": "its answer is not valid HTTP, so clients may read it in different ways",
    "no answer": "it ends without a valid answer",
    "vanished": "the test runner does not report it",
    "environment": "the environment of the checks broke",
    "start": "the environment of the checks broke",
    "prepare": "its preparation fails",
    "malformed": "the case is malformed",
    NO_WORK: NO_WORK,
    "worthless": "the results of its run cannot be trusted",
    "meddled": "it changes frozen files, by which it is judged",
}
# What the implementer learns about a failure in a held-out test file.
_HELD_OUT_TESTS = {
    "error": "it breaks in its set-up or tear-down",
    "collection": "its file cannot be imported",
    "module": "something that it needs is not installed",
    "skipped": "it is skipped",
    "vanished": "the test runner does not report it",
    "time": "it does not end within its time limit",
    "worthless": "the results of its run cannot be trusted",
    "build": "the build before it fails",
    "meddled": "it changes frozen files, by which it is judged",
}


# Phrases for tests and commands. For kinds of failure that are not listed here, those of `_KINDS` are used.
_VISIBLE = {
    "failed": "it fails",
    "error": "it breaks in its set-up or tear-down",
    "collection": "its file cannot be imported",
    "skipped": "it is skipped",
    "marked": "it is marked to be skipped",
    "xfailed": "it fails, and is marked as an expected failure",
    "xpassed": "it passes, but is marked as an expected failure",
    "build": "the build before it fails",
    "nothing collected": "no test was collected",
    "start": "the test runner could not start",
}


def how_it_failed(check: Check, result: Tried) -> str:
    """The phrase for the kind of failure; "" if the result has no kind. For cases and pages it never names a module or
    program, because the head could choose that name."""
    kind, failure, named = result.kind, result.failure, result.named
    if isinstance(check, DATA):
        return _KINDS.get(kind) or _LACKING.get(failure, "it fails")
    if failure in ("module", "program") and named:
        return f"{failure} {named} is not installed"
    if failure == "exit" and named:
        return f"it ends with exit code {named}"
    if failure == "error" and named.startswith("in "):
        return f"it breaks {named}"
    return _VISIBLE.get(kind) or _KINDS.get(kind, kind)


def reason_for_people(check: Check, case: str, result: Tried) -> str:
    """Why a case failed, in words for people: `case 2: it does not return the expected value`. `trued why` also shows
    the two values."""
    what = how_it_failed(check, result) or str(result.outcome)
    if isinstance(check, CommandCheck):
        return f"`{check.command}`: {what}"
    subject = {WHOLE_CHECK: "the tests" if isinstance(check, TestsCheck) else "the cases"}.get(case, case)
    return f"page {check.page}, {subject}: {what}" if isinstance(check, BrowserCheck) else f"{subject}: {what}"


def gap(
    requirement: Requirement, check: Check, case: str, result: Tried, *, held_out: bool, own_files: bool = False
) -> Finding:
    """What the implementer learns about a failed case. The gap of a visible check includes the output. The gap of a
    held-out check has only the requirement, the clause and the kind of failure.

    If a visible check failed only after something held out ran in the same room, its gap does not even name the test.
    The head's code may have seen the held-out data, and could reveal them by choosing which test fails. `own_files`:
    the check's test files came with the contract and are held out.
    """
    if own_files:
        phrase = _HELD_OUT_TESTS.get(result.failure, "it fails")
        files = check.files if isinstance(check, TestsCheck | CommandCheck) else ()
        is_own = case == WHOLE_CHECK or not files or any(is_below(case.split("::")[0], file) for file in files)
        regression = "an existing test fails beside a held-out test"
        what = f"a held-out test fails: {phrase}" if is_own else regression
        return Finding(what=f"{requirement.id}: {what}", where=requirement.text, requirement=requirement.id)
    if result.id == HUSHED and not is_hidden_data(check):
        return Finding(what=f"{requirement.id}: {AGAIN}", requirement=requirement.id)
    if isinstance(check, DATA):
        phrase = how_it_failed(check, result)
        what = f"{requirement.id}: a held-out example fails: {phrase}"
        if not held_out or not is_hidden_data(check):
            what = f"{requirement.id}: {_with_case(check, case, result.detail[:MOST_TEXT] or phrase)}"
        return Finding(what=what, where=_clause(check, case) or requirement.text, requirement=requirement.id)
    name = check.command if isinstance(check, CommandCheck) else case
    detail = f"\n{result.detail[-MOST_TEXT:]}" if result.detail else ""
    phrase = how_it_failed(check, result) or str(result.outcome)
    return Finding(what=f"{requirement.id}: {name}: {phrase}{detail}", requirement=requirement.id)


def _with_case(check: ExamplesCheck | BrowserCheck, name: str, what: str) -> str:
    """The case, followed by `what`, which says how the case failed. The case of a page is left out if `what` already
    names the page."""
    if not isinstance(check, BrowserCheck):
        return f"{case_in_words(_case(check, name))}: {what}"
    return what if check.page in what else f"{check.page} {name}: {what}"


def _clause(check: ExamplesCheck | BrowserCheck, name: str) -> str:
    """The user's words that the case quotes, or ""."""
    return check.quotes if isinstance(check, BrowserCheck) else _case(check, name).quotes


def _case(check: ExamplesCheck, name: str) -> Case:
    """The case with this id; for the id of the whole check, its first case."""
    number = name.removeprefix("case ")
    return check.cases[int(number) - 1 if number.isdigit() else 0]
