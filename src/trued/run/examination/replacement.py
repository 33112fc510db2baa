"""Replaces cases that were disclosed or disputed during the work, and seals the contract again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trued.model import Case, Contract, ExamplesCheck, Finding, HttpCase, Outcomes, Requirement, Requirements, Verdict
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.seal import SealTerms, seal
from trued.run.examination.examiner import Examination, ExaminerConversation
from trued.run.examination.replies import Examined, Proposed
from trued.run.examination.second_examiner import as_setup
from trued.run.steps import Steps
from trued.support.hashing import digest


@dataclass(frozen=True)
class FailingCase:
    """An agent's case that the head does not pass."""

    requirement: str
    check: str
    number: int
    case: Case


def failing_cases(contract: Contract, verdict: Verdict) -> list[FailingCase]:
    """The failed held-out cases that agents wrote, in order. The user's own are left out: they are never disclosed."""
    checks = {check_hash(check): check for one in contract.requirements for check in one.checks}
    found: dict[tuple[str, int], FailingCase] = {}
    for fact in verdict.evidence:
        check = checks.get(fact.check)
        if fact.side != "head" or fact.check not in contract.authors or not isinstance(check, ExamplesCheck):
            continue
        for one in fact.tried:
            number = one.id.removeprefix("case ")
            if one.outcome in (Outcomes.FAILED, Outcomes.MISSING) and number.isdigit():
                place = int(number) - 1
                if getattr(check.cases[place], "setup", False):
                    continue  # a set-up exchange only prepares others: there is nothing to disclose
                found[fact.check, place] = FailingCase(fact.requirement, fact.check, place, check.cases[place])
    return [found[key] for key in sorted(found)]


async def replace_case(steps: Steps, contract: Contract, gone: FailingCase) -> Contract:
    """The contract with a new case in place of the disclosed one, or without it if no new case was written."""
    conversation = _conversation(steps, contract, gone.requirement, without=gone.case)
    disclosed = f"the case for the clause “{gone.case.quotes}” was shown to the implementers, so it no longer counts"
    words = f"{disclosed}: write a new case for the same clause"
    weighed = await conversation.ask_for_cases(Finding(what=words, requirement=gone.requirement))
    return await _seal_again(steps, contract, gone.requirement, await conversation.conclude(weighed))


async def answer_dispute(steps: Steps, contract: Contract, requirement: str) -> Contract | None:
    """Have another examiner answer the requirement's cases blind. Returns the new contract; None if its answers change
    no case."""
    conversation = _conversation(steps, contract, requirement, always_second=True)
    weighed = await conversation.weigh(())
    settled = await conversation.put_to_second_examiner(weighed) if weighed.kept and conversation.second else weighed
    if settled.kept == weighed.kept:
        await conversation.close()
        return None
    return await _seal_again(steps, contract, requirement, conversation.assemble(settled))


def _conversation(
    steps: Steps, contract: Contract, requirement: str, *, without: Case | None = None, always_second: bool = False
) -> ExaminerConversation:
    one = _requirement_of(contract, requirement)
    theirs = [check for check in one.checks if check_hash(check) in contract.authors]
    left = [
        Proposed(requirement=requirement, cases=tuple(_cases_without(check.cases, without)))
        if isinstance(check, ExamplesCheck)
        else Proposed(requirement=requirement, page=check if check.kind == "browser" else None)
        for check in theirs
    ]
    bare = one.model_copy(update={"checks": ()})
    asked = Requirements(requirements=(bare,), interface=contract.interface, serve=contract.serve)
    before = Examined(cases=tuple(each for each in left if each.cases or each.page))
    return ExaminerConversation(steps.apart(), asked, before=before, always_second=always_second)


def _cases_without(cases: Sequence[Case], gone: Case | None) -> Iterator[Case]:
    """The cases without the case `gone`. If `gone` is an exchange, it stays, as set-up for the cases after it."""
    for one in cases:
        if one != gone:
            yield one
        elif isinstance(one, HttpCase):
            yield as_setup(one)


async def _seal_again(steps: Steps, contract: Contract, requirement: str, found: Examination) -> Contract:
    """Seal the contract again with the requirement's new checks, as a step: changed checks are run on the base
    again."""
    one = _requirement_of(contract, requirement)
    own = tuple(check for check in one.checks if check_hash(check) not in contract.authors)
    made = next(each for each in found.asked.requirements if each.id == requirement)
    changed = one.model_copy(update={"checks": (*own, *made.checks)})
    requirements = tuple(changed if each.id == requirement else each for each in contract.requirements)
    caps = {**contract.caps, **found.caps}
    undecided = tuple(dict.fromkeys((*contract.undecided, *found.undecided)))

    async def step() -> Contract:
        asked = Requirements(
            requirements=requirements,
            environment=contract.environment,
            serve=contract.serve,
            interface=tuple(dict.fromkeys((*contract.interface, *found.asked.interface))),
            carried=contract.carried,
            suites=contract.suites,
            unguarded=contract.unguarded,
            red_suites=contract.red_suites,
        )
        terms = SealTerms(
            contract.held_out,
            contract.held_out_why,
            authors={**contract.authors, **found.authors},
            guards=contract.guards,
            caps=caps,
            undecided=undecided,
            known=contract.base_facts,
        )
        return await seal(steps.context.workspace, asked, terms, tell=steps.emitter("sealed anew"))

    inputs = digest(contract_hash(contract), [each.model_dump(mode="json") for each in requirements])
    sealed = await steps.compute(Contract, steps.key("sealed anew"), inputs, step)
    await found.close()
    return sealed


def _requirement_of(contract: Contract, requirement: str) -> Requirement:
    return next(one for one in contract.requirements if one.id == requirement)


def failing_signature(found: Sequence[FailingCase]) -> tuple[tuple[str, int], ...]:
    """Which cases fail, as a value that can be compared between rounds."""
    return tuple((one.check, one.number) for one in found)


def has_check_by_agent(contract: Contract, one: Requirement) -> bool:
    """Whether an agent wrote any check of this requirement."""
    return any(check_hash(check) in contract.authors for check in one.checks)
