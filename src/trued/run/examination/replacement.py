"""Replaces cases that were disclosed or disputed during the work, and seals the contract again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from trued.model import (
    BrowserCheck,
    Case,
    Check,
    Contract,
    ExamplesCheck,
    Finding,
    HttpCase,
    Outcomes,
    Requirement,
    Requirements,
    Verdict,
)
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.seal import SealTerms, requirements_of, seal
from trued.run.examination.examiner import NOT_CHOSEN, SECOND, EarlierCases, Examination, ExaminerConversation
from trued.run.examination.lost_cases import lost_cases
from trued.run.examination.replies import Proposed
from trued.run.examination.second_examiner import as_setup, is_known_from
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
    """The failed held-out cases that agents wrote, sorted by check and number. The user's own cases are left out,
    because they are never disclosed."""
    checks = {check_hash(check): check for requirement in contract.requirements for check in requirement.checks}
    failing: dict[tuple[str, int], FailingCase] = {}
    for fact in verdict.evidence:
        check = checks.get(fact.check)
        if fact.side != "head" or fact.check not in contract.authors or not isinstance(check, ExamplesCheck):
            continue
        for attempt in fact.tried:
            number = attempt.id.removeprefix("case ")
            if attempt.outcome in (Outcomes.FAILED, Outcomes.MISSING) and number.isdigit():
                place = int(number) - 1
                if getattr(check.cases[place], "setup", False):
                    continue  # a set-up exchange only prepares other exchanges: there is nothing to disclose
                failing[fact.check, place] = FailingCase(fact.requirement, fact.check, place, check.cases[place])
    return [failing[key] for key in sorted(failing)]


async def replace_case(steps: Steps, contract: Contract, disclosed: FailingCase) -> Contract:
    """The contract with new cases in place of the disclosed case, and of every other case whose result the disclosed
    case gives away. A case without a replacement is recorded as lost."""
    known = contract.model_copy(update={"disclosed": (*contract.disclosed, disclosed.case)})
    requirements = [
        requirement for requirement in contract.requirements if _cases_known_from(contract, requirement, disclosed.case)
    ]
    conversation = _conversation(steps, known, requirements)
    gaps = [
        Finding(
            what=f"the case for the clause “{case.quotes}” was shown to the implementers, so it no longer counts: "
            "write a new case for the same clause, with another input",
            requirement=requirement.id,
        )
        for requirement in requirements
        for case in _cases_known_from(contract, requirement, disclosed.case)
    ]
    weighed = await conversation.ask_for_cases(*gaps)
    return await _seal_again(steps, known, contract, requirements, await conversation.examination_of(weighed))


async def answer_dispute(steps: Steps, contract: Contract, requirement: str) -> Contract | None:
    """Have another examiner answer the requirement's cases blind. Returns the new contract; None if the answers change
    no case."""
    disputed = [candidate for candidate in contract.requirements if candidate.id == requirement]
    conversation = _conversation(steps, contract, disputed, is_dispute=True)
    weighed = await conversation.weigh(())
    settled = await conversation.put_to_second_examiner(weighed) if weighed.kept and conversation.second else weighed
    if all(proposal in settled.kept for proposal in weighed.kept):
        await conversation.close()
        return None
    return await _seal_again(steps, contract, contract, disputed, conversation.assemble(settled))


def _conversation(
    steps: Steps, contract: Contract, requirements: Sequence[Requirement], *, is_dispute: bool = False
) -> ExaminerConversation:
    """An examiner's conversation about those cases of these requirements that agents wrote and nobody disclosed.
    `is_dispute`: as in `ExaminerConversation`."""
    bare = tuple(requirement.model_copy(update={"checks": ()}) for requirement in requirements)
    bare_requirements = Requirements(
        requirements=bare, interface=contract.interface, serve=contract.serve, disclosed=contract.disclosed
    )
    checks_by_agents = [
        (requirement.id, check)
        for requirement in requirements
        for check in requirement.checks
        if check_hash(check) in contract.authors
    ]
    first, own = list[Proposed](), list[Proposed]()
    for name, check in checks_by_agents:
        cases = tuple(_not_disclosed(check.cases, contract.disclosed)) if isinstance(check, ExamplesCheck) else ()
        proposal = Proposed(requirement=name, cases=cases, page=check if check.kind == "browser" else None)
        if cases or proposal.page:
            (own if contract.authors[check_hash(check)].role == SECOND else first).append(proposal)
    before = EarlierCases.of(contract, *first)
    return ExaminerConversation(steps.apart(), bare_requirements, before=before, own=own, is_dispute=is_dispute)


def _not_disclosed(cases: Sequence[Case], disclosed: Sequence[Case]) -> Iterator[Case]:
    """The cases that are not disclosed. A disclosed exchange stays, as set-up for the cases after it."""
    for case in cases:
        if not any(is_known_from(shown, case) for shown in disclosed):
            yield case
        elif isinstance(case, HttpCase):
            yield as_setup(case)


def _cases_known_from(contract: Contract, requirement: Requirement, disclosed: Case) -> list[Case]:
    """The agents' cases of a requirement whose results are known to somebody who was shown the case `disclosed`."""
    checks = [check for check in requirement.checks if check_hash(check) in contract.authors]
    cases = [case for check in checks if isinstance(check, ExamplesCheck) for case in check.cases]
    return [case for case in cases if is_known_from(disclosed, case) and not getattr(case, "setup", False)]


async def _seal_again(
    steps: Steps, contract: Contract, before: Contract, changed: Sequence[Requirement], examination: Examination
) -> Contract:
    """Seal the contract again with new checks for the `changed` requirements, as a step: changed checks are run on the
    base again. Each of these requirements records the cases that it lost since the contract `before`."""
    names = {requirement.id for requirement in changed}
    new_checks = {requirement.id: requirement.checks for requirement in examination.asked.requirements}
    requirements = tuple(
        requirement.model_copy(
            update={"checks": (*_checks_that_stay(contract, requirement), *new_checks[requirement.id])}
        )
        if requirement.id in names
        else requirement
        for requirement in contract.requirements
    )

    stale = tuple(f"{name}{NOT_CHOSEN}" for name in names)  # the examination says it again where it is still true

    async def step() -> Contract:
        interface = tuple(dict.fromkeys((*contract.interface, *examination.asked.interface)))
        asked = requirements_of(contract).model_copy(update={"requirements": requirements, "interface": interface})
        terms = SealTerms.of(contract)
        notes = [note for note in terms.undecided if not note.startswith(stale)]
        terms = replace(
            terms,
            authors={**contract.authors, **examination.authors},
            caps=_both_caps(contract.caps, examination.caps),
            undecided=tuple(dict.fromkeys((*notes, *examination.undecided))),
            known=contract.base_facts,
        )
        sealed = await seal(steps.context.workspace, asked, terms, tell=steps.emitter("sealed anew"))
        words = steps.context.goal.text
        counted = tuple(
            requirement.model_copy(update={"lost": lost_cases(before, sealed, requirement.id, words)})
            if requirement.id in names
            else requirement
            for requirement in sealed.requirements
        )
        return sealed.model_copy(update={"requirements": counted})

    inputs = digest(contract_hash(contract), [requirement.model_dump(mode="json") for requirement in requirements])
    sealed = await steps.compute(Contract, steps.key("sealed anew"), inputs, step)
    await examination.close()
    return sealed


def _checks_that_stay(contract: Contract, requirement: Requirement) -> tuple[Check, ...]:
    """The user's own checks, and those checks of agents that are no cases, such as a test command. Only cases are
    replaced."""
    return tuple(
        check for check in requirement.checks if check_hash(check) not in contract.authors or not _is_case(check)
    )


def _is_case(check: Check) -> bool:
    return isinstance(check, ExamplesCheck | BrowserCheck)


def _both_caps(
    before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """The reasons of both, by requirement: a new case removes no reason that only a person can settle."""
    names = dict.fromkeys((*before, *after))
    return {name: tuple(dict.fromkeys((*before.get(name, ()), *after.get(name, ())))) for name in names}


def failing_signature(failing: Sequence[FailingCase]) -> tuple[tuple[str, int], ...]:
    """Which cases fail, as a value that can be compared between rounds."""
    return tuple((case.check, case.number) for case in failing)


def has_check_by_agent(contract: Contract, requirement: Requirement) -> bool:
    """Whether an agent wrote any check of this requirement."""
    return any(check_hash(check) in contract.authors for check in requirement.checks)
