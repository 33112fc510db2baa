"""The lines of the gate's messages: reasons, headline and what a person can add.

The lines are short, and contain nothing that is held out from the implementer.
The text around the reasons is elsewhere: for a blocked agent `_block_reason` in `claude_stop.py`, for a refused push
`hook_git` in `cli/gate.py`. How one failed case is worded is decided in `proof/verdict/failed_cases.py`.
"""

from trued.model import Grade, Judged, Outcome, Verdict
from trued.proof.verdict.for_agents import reason_for_agents
from trued.support.plurals import counted, few

MOST = 8  # reasons shown at once; the next attempt shows more
LONGEST = 400


def reasons(verdict: Verdict, accept: Grade) -> list[str]:
    """Why the work is not accepted: at most MOST reasons, and a line that counts the others. For held-out cases only
    the kind of failure is named."""
    not_accepted = [
        requirement for requirement in verdict.requirements if not requirement.grade.is_met(accept) or requirement.gaps
    ]
    reasons = [line for requirement in not_accepted for line in _reasons_for(requirement)]
    reasons += [finding.what for finding in (*verdict.remarks, *verdict.objections)]
    if not verdict.requirements:
        reasons.append("the contract has no requirement: nothing can be proven")
    reasons = list(dict.fromkeys(_shorten(reason) for reason in reasons))
    unlisted = len(reasons) - MOST
    return [*reasons[:MOST], *([f"… and {unlisted} more"] if unlisted > 0 else [])]


def _reasons_for(requirement: Judged) -> list[str]:
    if not requirement.gaps:
        return [f"{requirement.id} is {requirement.grade}: {reason_for_agents(requirement)}"]
    return [
        f"{gap.what} (requirement: {_shorten(gap.where, 160)})" if gap.where else gap.what for gap in requirement.gaps
    ]


def _shorten(text: str, most: int = LONGEST) -> str:
    """Shorten a long text in the middle: the beginning names the subject, and the end says what went wrong."""
    text = text.strip()
    return text if len(text) <= most else f"{text[: most // 3]} … {text[-(most - most // 3) :]}"


def headline(outcome: Outcome, accept: Grade) -> str:
    """The verdict in one line."""
    verdict = outcome.verdict or Verdict.open("nothing")
    number, met = (
        len(verdict.requirements),
        [requirement for requirement in verdict.requirements if requirement.grade.is_met(accept)],
    )
    if outcome.state == "done":
        lowered = f" (--accept {accept}: {accept} or better counts as met)" if accept.is_lowered_bar else ""
        return f"{number} of {counted(number, 'requirement')} met, lowest grade {outcome.grade}{lowered}"
    state = {"unjudged": "could not judge", "waiting": "waiting for approval"}.get(outcome.state, "NOT PROVEN")
    return f"{state}: {len(met)} of {counted(number, 'requirement')} met, lowest grade {outcome.grade}"


def missing_approval(outcome: Outcome) -> str:
    """Which requirements only a person can accept, and with which command."""
    return f"only your approval is missing for {', '.join(outcome.lacking)}: `trued gate amend --attest REQUIREMENT`"


def missing_from_machine(verdict: Verdict) -> str:
    """What the checks need and this machine lacks."""
    named = few([_shorten(str(fix)) for fix in verdict.missing_from_environment], MOST)
    return f"this machine lacks what the checks need: {named}"
