"""Proves a run's work on another base: seals the same contract again and runs all checks, without an agent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from trued.engine.inputs import Inputs
from trued.engine.run_store import RunStore
from trued.model import Approval, Contract, Evidence, Finding, Grade, Outcome, Requirement, RunRecord, Verdict
from trued.model.events import JournalEvent
from trued.model.events.proof import ProvingAgain, RequirementJudged, VerdictReached
from trued.model.step_keys import numbered
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.prove import prove
from trued.proof.seal import SealTerms, requirements_of, seal
from trued.proof.verdict.conclusion import apply_approvals, conclude
from trued.proof.verdict.reasons import without_unapproved
from trued.protocols import Emit
from trued.run.examination.existing_tests import with_existing_tests
from trued.support.hashing import digest
from trued.support.redaction import in_json
from trued.workspace.git.workspace import GitWorkspace


@dataclass(frozen=True)
class SecondProof:
    """A verdict on another commit than the run's own, with the approvals that apply to it."""

    contract: Contract
    found: Verdict
    approvals: tuple[Approval, ...]
    accept: Grade
    step: str  # the key of the verdict's step

    @property
    def outcome(self) -> Outcome:
        return conclude(apply_approvals(self.found, self.approvals), self.contract, self.accept)


@dataclass(frozen=True)
class CarriedApprovals:
    """Approvals of the run that can be carried over to another commit."""

    contract: tuple[Approval, ...] = ()  # approvals of the contract, and rejections that still apply
    single: tuple[Approval, ...] = ()  # approvals of single requirements


def carried_approvals(before: Contract, after: Contract, approvals: Iterable[Approval]) -> CarriedApprovals:
    """The approvals that can be carried over. An approval of the contract applies if both contracts have the same
    requirements and checks. A rejection applies until the person takes it back or the work is changed."""
    given = tuple(approvals)
    same = _agreed(before) == _agreed(after)
    asked = {requirement.id for requirement in after.requirements}
    rejected = [
        approval for approval in given if approval.rejected and not approval.stale and approval.requirement in asked
    ]
    return CarriedApprovals(
        (*rejected, *(approval for approval in given if approval.is_of_contract and not approval.rejected and same)),
        tuple(
            approval for approval in given if not approval.is_of_contract and not (approval.rejected or approval.stale)
        ),
    )


def _agreed(contract: Contract) -> dict[str, object]:
    """What an approval of the contract covers: the requirements and all checks except guards, which can only refute."""

    def approved_parts(requirement: Requirement) -> tuple[object, ...]:
        checks = {check_hash(check) for check in requirement.checks} - set(contract.guards)
        return (
            requirement.text,
            requirement.keep,
            requirement.supersedes,
            frozenset(checks),
            frozenset(requirement.parts),
        )

    return {requirement.id: approved_parts(requirement) for requirement in contract.requirements}


def needed_approvals(again: SecondProof, single: Sequence[Approval]) -> tuple[Approval, ...]:
    """The approvals of single requirements without which the new commit is not accepted. Empty if the commit is
    accepted anyway, or if it would not be accepted even with these approvals."""
    short = {requirement.id for requirement in again.found.requirements if not requirement.grade.is_met(again.accept)}
    useful = tuple(approval for approval in single if approval.requirement in short)
    if again.outcome.state == "done" or not useful:
        return ()
    whole = replace(again, approvals=(*again.approvals, *useful))
    return useful if whole.outcome.state == "done" else ()


@dataclass(frozen=True)
class RebasedProof:
    """Proves a commit on a new base, in durable steps of the run."""

    store: RunStore
    record: RunRecord
    inputs: Inputs
    workspace: GitWorkspace
    objections: tuple[Finding, ...] = ()  # unsettled objections
    known: tuple[Evidence, ...] = ()  # the run's evidence: where it is about the same files, the worse result counts

    async def seal_and_prove(
        self, contract: Contract, base: str, commit: str, part: str
    ) -> tuple[Contract, Verdict, str]:
        """Seal the contract on `base`, and prove `commit`. Returns the sealed contract, the verdict, and the key of the
        verdict's step. Recorded steps are not run again. `part`: the prefix of the steps' keys.
        """
        journal = self.store.writer(self.record)
        self.workspace.base = base
        against = [objection.model_dump(mode="json") for objection in self.objections]
        given = digest(contract_hash(contract), base, commit, *([against] if against else []))

        def emit(event: JournalEvent) -> None:
            journal.emit(event, part)

        async def seal_on_base() -> str:
            emit(ProvingAgain(base=base, commit=commit))
            return (await self._sealed(contract, base, emit)).model_dump_json()

        sealed = Contract.model_validate_json(await journal.once(f"{part}/contract", given, seal_on_base))
        carried = carried_approvals(contract, sealed, self.store.approvals(self.record.id)).contract
        is_approved = any(not approval.rejected for approval in carried)

        def emit_judged(event: JournalEvent) -> None:
            """Emit the event. If an approval of the contract is carried over, first remove "nobody approved it" from
            the reasons of a judged requirement."""
            if is_approved and isinstance(event, RequirementJudged):
                event = event.model_copy(update={"why": without_unapproved(event.why)})
            emit(event)

        async def prove_commit() -> str:
            ids = [requirement.id for requirement in sealed.requirements]
            owned = self.store.owned_files(self.record.id)
            verdict = await prove(
                self.workspace,
                sealed,
                ids,
                commit,
                subject="landing",
                objections=self.objections,
                known=self.known,
                owned=owned,
                tell=emit_judged,
            )
            emit(VerdictReached(subject=verdict.subject, commit=commit, grade=verdict.grade, holds=verdict.holds))
            redact = self.store.redact(self.inputs)
            return in_json(redact, verdict.model_dump_json())

        key = self._key(f"{part}/verdict")
        return sealed, Verdict.model_validate_json(await journal.once(key, given, prove_commit)), key

    def _key(self, name: str) -> str:
        """The key of the attempt at the step `name` that recorded a verdict other than `unjudged`. If there is none,
        the key for the next attempt."""
        number = 1
        while (found := self.store.journal.step(self.record.id, numbered(name, number))) is not None:
            if Verdict.model_validate_json(found).grade is not Grade.UNJUDGED:
                break
            number += 1
        return numbered(name, number)

    async def _sealed(self, contract: Contract, base: str, emit: Emit) -> Contract:
        if base == contract.base and contract.base_facts:
            return contract
        asked, more = await with_existing_tests(self.workspace, requirements_of(contract), sealed=True)
        guards = tuple(dict.fromkeys((*contract.guards, *more)))
        terms = replace(SealTerms.of(contract), guards=guards, project_roots=None)  # this base may have other projects
        return await seal(self.workspace, asked, terms, tell=emit)
