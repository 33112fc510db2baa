"""What is said of a failed case: everything to the user, and to the implementer what it may know."""

from trued.types import Case, Check, CommandCheck, ExamplesCheck, Finding, Requirement, Tried

from .examples import said

NO_WORK = "the check did not work on the base"
MOST_TEXT = 1500  # enough for one failed assertion
_LACKING = {"module": "something that it needs is not installed", "program": "a program that it needs is not installed"}
_KINDS = {
    "returned": "it returns another value",
    "raised": "it raises an error",
    "raised another error": "it raises another error",
    "did not raise": "it does not raise the error",
    "missing": "it is not there",
    "import": "its module cannot be imported",
    "arguments changed": "it changes its arguments",
    "arguments after": "it leaves other arguments behind",
    "exit": "it ends with another exit code",
    "stdout": "it prints something else",
    "time": "it takes too long",
    "memory": "it takes too much memory",
    "flood": "it writes too much",
    "no answer": "it does not come back with an answer",
    "vanished": "it was not reported",
    "environment": "the environment of the checks broke",
    "start": "the environment of the checks broke",
    "prepare": "its preparation fails",
    "malformed": "the case is malformed",
    NO_WORK: NO_WORK,
    "worthless": "no result of its run is worth anything",
    "meddled": "it changes what judges it",
}


def word(check: Check, kind: str) -> str:
    """How it failed. Of examples a fixed word: names of modules and programs are what the head made them."""
    if isinstance(check, ExamplesCheck):
        short = kind.split()[0] if kind else ""
        return _KINDS.get(kind) or _LACKING.get(short, "it fails")
    return _KINDS.get(kind, kind)


def reason(check: Check, case: str, tried: Tried) -> str:
    """For the user, in the ledger."""
    what = word(check, tried.kind) or str(tried.outcome)
    return f"{check.kind} {case}: {what}"


def gap(requirement: Requirement, check: Check, case: str, tried: Tried, *, held_out: bool) -> Finding:
    """For the implementer: a visible check with its output; a held-out one by requirement, clause and kind only."""
    if isinstance(check, ExamplesCheck):
        kind = word(check, tried.kind)
        what = f"{requirement.id}: a held-out example fails: {kind}"
        if not held_out:
            what = f"{requirement.id}: {said(_case(check, case))}: {tried.detail[:MOST_TEXT] or kind}"
        return Finding(what=what, where=requirement.text, requirement=requirement.id)
    name = check.command if isinstance(check, CommandCheck) else case
    detail = f"\n{tried.detail[-MOST_TEXT:]}" if tried.detail else ""
    kind = word(check, tried.kind)
    return Finding(what=f"{requirement.id}: {name} fails ({kind}){detail}", requirement=requirement.id)


def _case(check: ExamplesCheck, name: str) -> Case:
    return check.cases[int(name.removeprefix("case ")) - 1]
