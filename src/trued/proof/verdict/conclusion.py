"""What approvals add to a verdict, and how a verdict ends a run. Pure."""

from collections.abc import Iterable, Mapping

from trued.model import Approval, Grade, Judged, Outcome, Verdict
from trued.proof.verdict.reasons import ALL_GREEN_BEFORE, ALREADY_SATISFIED, NO_CHECK, PARTS, STAYS, without_unapproved
from trued.support.plurals import counted

_CODES = {"done": 0, "planned": 0, "not proven": 1, "stopped": 1, "waiting": 3, "unjudged": 6}


def apply_approvals(verdict: Verdict, approvals: Iterable[Approval]) -> Verdict:
    """The verdict after people's approvals and rejections of the contract or of single requirements. No approval raises
    a refuted requirement.
    """
    given = tuple(approvals)
    lifted = {one.id: _lifted(one, given) for one in (*verdict.beside, *verdict.requirements)}
    judged = tuple(_by_parts(lifted[one.id], lifted, given) for one in verdict.requirements)
    settled = {one.id for one in judged if one.grade is Grade.ATTESTED}
    objections = tuple(one for one in verdict.objections if one.requirement not in settled)
    return verdict.model_copy(update={"requirements": judged, "objections": objections})


def _by_parts(judged: Judged, lifted: Mapping[str, Judged], approvals: tuple[Approval, ...]) -> Judged:
    """Raise a requirement that consists of others if approvals raised all its parts, so that a person who accepted
    every part need not accept the whole. A refuted part refutes the whole.

    The whole's own checks, caps and objections still count, because an approval of a part does not settle them.
    """
    parts = [lifted[name] for name in judged.parts if name in lifted]
    if fallen := [one.id for one in parts if one.grade is Grade.REFUTED and judged.grade is not Grade.REFUTED]:
        why = (f"{PARTS} {counted(len(parts), 'part')}: {', '.join(fallen)} is refuted", *judged.why)
        return judged.model_copy(update={"grade": Grade.REFUTED, "lacks": "", "holds": False, "why": why})
    whole = bool(parts) and len(parts) == len(judged.parts)
    if not whole or judged.grade is Grade.REFUTED or not _is_made_of_parts(judged):
        return judged
    own = _lifted(judged.own, approvals) if judged.own else None
    every = [*parts, own] if own and own.why[0] != NO_CHECK else parts
    worst = min(one.grade for one in every)
    if worst <= judged.grade:
        return judged
    why = (f"{PARTS} {counted(len(parts), 'part')}: {worst}", *(own.why if own and own in every else ()))
    lacks = next((one.lacks for one in every if one.lacks), "")
    holds = all(one.holds for one in every)
    update = {"grade": worst, "lacks": lacks if holds else "", "holds": holds, "why": why, "missing": ()}
    return judged.model_copy(update=update)


def _is_made_of_parts(judged: Judged) -> bool:
    """Whether the grade can be computed again from the parts.

    That needs `own`, the verdict on the whole without its parts. Verdicts of earlier versions lack it. Their grade can
    be computed again only if the first reason is about the parts, and either there is no other reason or the whole is
    unproven.
    """
    if judged.own is not None:
        return True
    return judged.why[0].startswith(PARTS) and (judged.grade is Grade.UNPROVEN or len(judged.why) == 1)


def _lifted(judged: Judged, approvals: tuple[Approval, ...]) -> Judged:
    """One requirement's verdict after its own approval or rejection, and after the contract's approval."""
    own = next((one for one in approvals if one.requirement == judged.id), None)
    if own and own.rejected and not own.stale:
        return _rejected(judged, own)
    judged = _with_stale_approval(judged, own) if own and own.stale else judged
    contract = next((one for one in approvals if one.requirement == "*"), None)
    if contract and judged.grade is Grade.EXAMINED:
        why = f"the contract is approved by {contract.who}{_because(contract)}"
        before = without_unapproved(judged.why)
        return judged.model_copy(update={"grade": Grade.PROVEN, "lacks": "", "why": (why, *before)})
    unread = judged.grade is Grade.UNPROVEN and judged.lacks == "approve" and not judged.parts
    if contract and unread and STAYS in judged.why:
        before = tuple(one for one in judged.why if one not in (ALL_GREEN_BEFORE, STAYS))
        why = f"{ALREADY_SATISFIED}, by cases that {contract.who} approved{_because(contract)}"
        return judged.model_copy(update={"grade": Grade.PROVEN, "lacks": "", "holds": True, "why": (why, *before)})
    if contract and unread:
        why = f"accepted with the contract by {contract.who}{_because(contract)}"
        return judged.model_copy(
            update={"grade": Grade.ATTESTED, "lacks": "", "holds": True, "why": (why, *judged.why)}
        )
    settled = judged.grade is Grade.REFUTED or judged.grade.is_met()
    if settled or own is None or own.stale or not own.who:
        return judged
    why = f"accepted by {own.who}{_because(own)}"
    update = {"grade": Grade.ATTESTED, "lacks": "", "holds": True, "gaps": (), "why": (why, *judged.why)}
    return judged.model_copy(update=update)


def _rejected(judged: Judged, rejection: Approval) -> Judged:
    """Refute a requirement that a person rejected: a rejection counts like a failed check."""
    why = (f"rejected by {rejection.who}{_because(rejection)}", *judged.why)
    gaps = (rejection.gap, *judged.gaps)
    return judged.model_copy(update={"grade": Grade.REFUTED, "lacks": "", "holds": False, "gaps": gaps, "why": why})


def _with_stale_approval(judged: Judged, approval: Approval) -> Judged:
    """Mention an approval or rejection that was given for an earlier state of the work; it changes no grade."""
    if judged.grade.is_met():
        return judged
    return judged.model_copy(update={"why": (*judged.why[:1], approval.stale, *judged.why[1:])})


def _because(approval: Approval) -> str:
    return f": {approval.why}" if approval.why else ""


def is_success(verdict: Verdict, accept: Grade = Grade.ATTESTED) -> bool:
    """Whether there are requirements, all reach the grade `accept`, and no remark or objection is left."""
    reached = all(one.grade.is_met(accept) for one in verdict.requirements)
    return bool(verdict.commit and verdict.requirements and reached) and not verdict.remarks and not verdict.objections


def conclude(verdict: Verdict, accept: Grade = Grade.ATTESTED) -> Outcome:
    """How a run with this last verdict ends: its state, its reasons, and which requirements lack only a person's
    approval."""
    if is_success(verdict, accept):
        state = "done"
    elif any(one.grade is Grade.UNJUDGED for one in verdict.requirements):
        state = "unjudged"
    elif verdict.requirements and verdict.holds:
        state = "waiting"
    else:
        state = "not proven"
    short = [one for one in verdict.requirements if not one.grade.is_met(accept)]
    why = [f"{one.id} is {one.grade}: {'; '.join(one.why[:2])}" for one in short]
    why += dict.fromkeys(finding.what for finding in (*verdict.remarks, *verdict.objections))
    if not verdict.requirements:
        why.append("there is no requirement: nothing can be proven")
    if state == "done" and accept.is_lowered_bar:
        why.append(f"the bar was lowered to {accept}")
    return Outcome(
        state=state,
        grade=verdict.grade,
        head=verdict.commit,
        verdict=verdict,
        why=tuple(why),
        lacking=tuple(one.id for one in short if one.lacks),
    )


def exit_code(outcome: Outcome) -> int:
    """The exit code of the command line for this outcome."""
    return _CODES.get(outcome.state, 1)
