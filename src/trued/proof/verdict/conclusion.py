"""What approvals add to a verdict, and how a verdict ends a run. Does no I/O."""

from collections.abc import Iterable, Mapping

from trued.model import Approval, Contract, Grade, Judged, Outcome, Requirement, Verdict
from trued.proof.verdict.reasons import (
    ACCEPTED,
    ALL_GREEN_BEFORE,
    CASES_APPROVED,
    CONTRACT_APPROVED,
    NOT_IN_VERDICT,
    PARTS,
    STAYS,
    without_unapproved,
)
from trued.support.plurals import counted

_CODES = {"done": 0, "planned": 0, "not proven": 1, "stopped": 1, "waiting": 3, "unjudged": 6}


def apply_approvals(verdict: Verdict, approvals: Iterable[Approval]) -> Verdict:
    """The verdict after people's approvals and rejections of the contract or of single requirements.

    No approval raises a refuted requirement. Objections to requirements that an approval has attested are removed.
    """
    given = tuple(approvals)
    lifted = {judged.id: _lifted(judged, given) for judged in (*verdict.beside, *verdict.requirements)}
    judged = tuple(_by_parts(lifted[before.id], lifted, given) for before in verdict.requirements)
    settled = {after.id for after in judged if after.grade is Grade.ATTESTED}
    objections = tuple(objection for objection in verdict.objections if objection.requirement not in settled)
    return verdict.model_copy(update={"requirements": judged, "objections": objections})


def _by_parts(judged: Judged, lifted: Mapping[str, Judged], approvals: tuple[Approval, ...]) -> Judged:
    """Raise a requirement that consists of parts if approvals raised all of its parts. So a person who accepted every
    part need not accept the whole. A refuted part refutes the whole.

    An approval of a part settles no check, cap or objection of the whole itself (`Judged.own`), so they still count.
    """
    parts = [lifted[name] for name in judged.parts if name in lifted]
    if judged.grade is Grade.REFUTED or not parts:
        return judged
    if refuted := [part.id for part in parts if part.grade is Grade.REFUTED]:
        verb = "is" if len(refuted) == 1 else "are"
        why = (f"{PARTS} {counted(len(parts), 'part')}: {', '.join(refuted)} {verb} refuted", *judged.why)
        update = {"grade": Grade.REFUTED, "lacks": "", "holds": False, "why": why, "basis": "parts"}
        return judged.model_copy(update=update)
    if len(parts) < len(judged.parts) or judged.own is None:
        return judged
    own = _lifted(judged.own, approvals)
    own_counts = own.basis != "no check"
    every = [*parts, own] if own_counts else parts
    worst = min(counting.grade for counting in every)
    if worst <= judged.grade:
        return judged
    why = (f"{PARTS} {counted(len(parts), 'part')}: {worst}", *(own.why if own_counts else ()))
    lacks = next((counting.lacks for counting in every if counting.lacks), "")
    holds = all(counting.holds for counting in every)
    update = {"grade": worst, "lacks": lacks if holds else "", "holds": holds, "why": why, "missing": ()}
    return judged.model_copy(update={**update, "basis": "parts"})


def _lifted(judged: Judged, approvals: tuple[Approval, ...]) -> Judged:
    """One requirement's verdict after its own approval or rejection, and after the contract's approval."""
    own = next((approval for approval in approvals if approval.requirement == judged.id), None)
    if own and own.rejected and not own.stale:
        return _rejected(judged, own)
    judged = _with_stale_approval(judged, own) if own and own.stale else judged
    contract = next((approval for approval in approvals if approval.is_of_contract), None)
    if contract and judged.grade is Grade.EXAMINED:
        why = f"{CONTRACT_APPROVED}{contract.who}{_because(contract)}"
        before = without_unapproved(judged.why)
        return judged.model_copy(update={"grade": Grade.PROVEN, "lacks": "", "why": (why, *before), "basis": ""})
    needs_contract = judged.grade is Grade.UNPROVEN and judged.lacks == "approve" and not judged.parts
    if contract and needs_contract and judged.basis == "green before":
        before = tuple(reason for reason in judged.why if reason not in (ALL_GREEN_BEFORE, STAYS))
        why = f"{CASES_APPROVED}{contract.who} approved{_because(contract)}"
        update: dict[str, object] = {"grade": Grade.PROVEN, "basis": "already satisfied"}
        return judged.model_copy(update={**update, "lacks": "", "holds": True, "why": (why, *before)})
    if contract and needs_contract:
        return _attested(judged, f"{ACCEPTED}with the contract by {contract.who}{_because(contract)}")
    settled = judged.grade is Grade.REFUTED or judged.grade.is_proven_or_attested
    if settled or own is None or own.stale or not own.who:
        return judged
    return _attested(judged, f"{ACCEPTED}by {own.who}{_because(own)}").model_copy(update={"gaps": ()})


def _attested(judged: Judged, why: str) -> Judged:
    update: dict[str, object] = {"grade": Grade.ATTESTED, "lacks": "", "holds": True, "basis": ""}
    return judged.model_copy(update={**update, "why": (why, *judged.why)})


def _rejected(judged: Judged, rejection: Approval) -> Judged:
    """Refute a requirement that a person rejected: a rejection counts like a failed check."""
    why = (f"rejected by {rejection.who}{_because(rejection)}", *judged.why)
    gaps = (rejection.gap, *judged.gaps)
    update: dict[str, object] = {"grade": Grade.REFUTED, "lacks": "", "holds": False, "basis": ""}
    return judged.model_copy(update={**update, "gaps": gaps, "why": why})


def _with_stale_approval(judged: Judged, approval: Approval) -> Judged:
    """Mention an approval or rejection that was given for an earlier state of the work; it changes no grade."""
    if judged.grade.is_proven_or_attested:
        return judged
    return judged.model_copy(update={"why": (*judged.why[:1], approval.stale, *judged.why[1:])})


def _because(approval: Approval) -> str:
    return f": {approval.why}" if approval.why else ""


def with_whole_contract(verdict: Verdict, contract: Contract) -> Verdict:
    """The verdict with every requirement of the contract. A requirement that the verdict does not judge is unproven and
    does not hold, so a verdict on a part of the contract never counts as a verdict on all of it."""
    judged = {row.id for row in verdict.requirements if not row.outside}
    absent = [requirement for requirement in contract.requirements if requirement.id not in judged]
    rows = (*verdict.requirements, *map(_not_in_verdict, absent))
    return verdict.model_copy(update={"requirements": rows}) if absent else verdict


def _not_in_verdict(requirement: Requirement) -> Judged:
    source, why = str(requirement.source), (NOT_IN_VERDICT,)
    return Judged(id=requirement.id, text=requirement.text, source=source, grade=Grade.UNPROVEN, why=why, holds=False)


def _is_success(verdict: Verdict, accept: Grade) -> bool:
    """Whether the verdict has requirements, all of them reach the grade `accept`, and no remark or objection is
    left."""
    reached = all(judged.grade.is_met(accept) for judged in verdict.requirements)
    return bool(verdict.commit and verdict.requirements and reached) and not verdict.remarks and not verdict.objections


def conclude(verdict: Verdict, contract: Contract, accept: Grade = Grade.ATTESTED) -> Outcome:
    """How a run with this contract and this last verdict ends: its state, its reasons, and which requirements lack only
    a person's approval.

    Nothing else decides about success: it takes every requirement of the contract, whatever the verdict was asked for.
    """
    verdict = with_whole_contract(verdict, contract)
    if _is_success(verdict, accept):
        state = "done"
    elif any(judged.grade is Grade.UNJUDGED for judged in verdict.requirements):
        state = "unjudged"
    elif verdict.requirements and verdict.holds:
        state = "waiting"
    else:
        state = "not proven"
    unmet = [judged for judged in verdict.requirements if not judged.grade.is_met(accept)]
    why = [f"{judged.id} is {judged.grade}: {'; '.join(judged.why[:2])}" for judged in unmet]
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
        lacking=tuple(judged.id for judged in unmet if judged.lacks),
    )


def exit_code_of_run(outcome: Outcome) -> int:
    """The exit code of the command line for this outcome."""
    return _CODES.get(outcome.state, 1)
