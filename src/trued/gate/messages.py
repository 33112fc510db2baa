"""What a gate says: short, and nothing that an implementer must not know."""

from trued.model import Grade, Judged, Outcome, Verdict
from trued.proof.contract import success

MOST = 8  # reasons; whoever mends these comes back for the rest
LONGEST = 400


def reasons(verdict: Verdict, accept: Grade) -> list[str]:
    """Why the bar is not reached, requirement by requirement; of held-out cases the kind of failure only."""
    short = [one for one in verdict.requirements if one.grade.rank < accept.rank or one.gaps]
    found = [line for one in short for line in _of(one)]
    found += [finding.what for finding in (*verdict.remarks, *verdict.objections)]
    if not verdict.requirements:
        found.append("there is no requirement: nothing can be proven")
    found = list(dict.fromkeys(_cut(one) for one in found))
    left = len(found) - MOST
    return [*found[:MOST], *([f"… and {left} more"] if left > 0 else [])]


def _of(one: Judged) -> list[str]:
    if not one.gaps:
        return [f"{one.id} is {one.grade}: {one.reason}"]
    return [f"{gap.what} (asked for: {_cut(gap.where, 160)})" if gap.where else gap.what for gap in one.gaps]


def _cut(text: str, most: int = LONGEST) -> str:
    """The end of a long text tells most; the beginning says of what."""
    text = text.strip()
    return text if len(text) <= most else f"{text[: most // 3]} … {text[-(most - most // 3) :]}"


def heading(outcome: Outcome, accept: Grade) -> str:
    """One line: how it stands."""
    verdict = outcome.verdict or Verdict.open("nothing")
    number, met = len(verdict.requirements), [one for one in verdict.requirements if one.grade.rank >= accept.rank]
    if success(verdict, accept):
        lowered = f" (the bar was lowered to {accept})" if accept.rank < Grade.ATTESTED.rank else ""
        return f"{number} of {number} requirements are met, the worst is {outcome.grade}{lowered}"
    state = {"unjudged": "could not be judged", "waiting": "waits for a person's word"}.get(outcome.state, "NOT PROVEN")
    return f"{state}: {len(met)} of {number} requirements are met, the worst is {outcome.grade}"


def lacking(outcome: Outcome) -> str:
    """What only a person can give."""
    return f"only your word is missing for {', '.join(outcome.lacking)}: `trued gate amend --attest REQUIREMENT`"
