"""Amendments: a person changes a sealed contract. Each amendment is a step that records who changed what, and why."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from trued.engine.impersonation import refuse_if_agent_could_answer
from trued.engine.inputs import Inputs
from trued.engine.requirements_source import blobs_of
from trued.engine.run_end import conclude_after_decision
from trued.engine.run_store import REGRADED, RunStore
from trued.engine.stored_amendment import Amendment
from trued.errors import BadInput
from trued.inputs.plans.plan_to_seal import plan_to_seal
from trued.inputs.plans.selection import chosen_requirements
from trued.inputs.recognition import plan_of
from trued.inputs.requirements.coverage import user_requirements, with_named_commands
from trued.inputs.requirements.file import load_requirements
from trued.inputs.tickets.plan import ticket_plan
from trued.model import Contract, Finding, Plan, Requirement, Requirements, RunRecord, Source, Value, Verdict
from trued.model.events.proof import ContractAmended
from trued.model.step_keys import amendment_key
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.prove import prove
from trued.proof.seal import SealTerms, requirements_of, seal
from trued.proof.verdict.conclusion import apply_approvals, conclude
from trued.protocols import Emit
from trued.run.examination.existing_tests import with_existing_tests
from trued.run.examination.start_command import find_server, with_server
from trued.support.hashing import digest
from trued.support.redaction import in_json
from trued.workflows.descriptor import Input
from trued.workflows.registry import descriptor
from trued.workspace.git.workspace import GitWorkspace

EVERY = "all"  # stands for all criteria that the contract does not contain


class ContractChange(Value):
    """A person's request to change a run's contract."""

    requirements: Path | None = None  # a requirements file that replaces the old one
    add: Path | None = None  # a file with requirements to add
    remove: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    supersedes: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 (a frozen value)
    # criteria to add: their ids, ids of the parts of the work that they belong to, or EVERY
    criteria: tuple[str, ...] = ()
    who: str
    why: str

    @property
    def what(self) -> tuple[str, ...]:
        """What changes, as texts for the journal."""
        words = [f"requirements from {self.requirements.name}"] if self.requirements else []
        words += [f"requirements of {self.add.name} added"] if self.add else []
        words += [f"criteria added: {', '.join(self.criteria)}"] if self.criteria else []
        words += [f"{name} removed" for name in self.remove] + [f"{name} only keeps behaviour" for name in self.keep]
        return (*words, *(f"{name} supersedes {', '.join(tests)}" for name, tests in self.supersedes.items()))


async def amend(store: RunStore, run_id: str, change: ContractChange, looked_at: str = "") -> RunRecord:
    """Change the run's contract, and run changed checks on the base. If the run has a final verdict, the commit of that
    verdict is judged again by the new contract. No agent is called.

    `looked_at`: the hash of the contract that the person saw. Raises BadInput if the run has another contract by now,
    and for a change that cannot be made.
    """
    record = store.journal.run(run_id)
    contract = store.sealed_contract(record.id)
    if looked_at not in ("", contract_hash(contract)):
        what = f"run {record.id} has the contract {contract_hash(contract)}, not {looked_at}"
        raise BadInput(what, then="look at the contract again")
    if not change.what:
        raise BadInput(
            "the amendment changes nothing",
            then="pass at least one of --requirements, --add, --criterion, --remove, --keep, --supersedes",
        )
    asked, fresh = _changed(store, record, contract, change)
    refuse_if_agent_could_answer(store, record)
    with store.journal.claim(record.id):
        # read again, because the run may have moved on before we held the claim
        record, now = store.journal.run(record.id), store.contract(record.id)
        if now is None or contract_hash(now) != contract_hash(contract):
            raise BadInput(f"run {record.id} has another contract now", then="look at the contract again")
        inputs = store.inputs(record.id)
        workspace, journal = store.workspace(record, inputs), store.writer(record)
        await workspace.begin()
        number = len(store.amendments(record.id)) + 1
        before = tuple(key for key, _, _ in store.journal.steps(record.id))

        async def step() -> str:
            sealed = await _sealed(workspace, contract, change, asked, fresh, journal.emit)
            verdict = await _judged(store, record, workspace, (contract, sealed), journal.emit)
            return Amendment(
                who=change.who, why=change.why, what=change.what, before=before, contract=sealed, verdict=verdict
            ).model_dump_json()

        given = digest(change.model_dump(mode="json"), contract_hash(contract))
        made = Amendment.model_validate_json(await journal.once(amendment_key(number), given, step))
        name = contract_hash(made.contract)
        amended = ContractAmended(who=change.who, why=change.why, what=tuple(made.what), contract=name)
        journal.emit(amended, amendment_key(number))
        # An amendment does not end a run that was cancelled, or that is still at work after its final verdict. When
        # such a run is resumed, it judges its newer work by the new contract, with the objections raised meanwhile.
        if made.verdict is None or made.verdict.commit != record.head or record.state not in REGRADED:
            return store.journal.run(record.id)
        if store.task_verdicts_since_finish(record.id) or store.is_halted_at_work(record.id):
            return store.journal.run(record.id)
        await workspace.clean_up()
        verdict = apply_approvals(made.verdict, store.approvals(record.id))
        outcome = conclude(verdict, made.contract, inputs.settings.accept)
        return conclude_after_decision(store, record, outcome)


def check_names(record: RunRecord, contract: Contract, change: ContractChange, listed: Sequence[Requirement]) -> None:
    """Raise BadInput if an id occurs twice, if the change names an unknown requirement, or if no requirement would be
    left.

    `contract`: the contract so far. `listed`: the requirements of the changed contract, before any is removed. The
    requirements in `change.remove` must be in `contract` or in `listed`. The requirements in `change.keep` and
    `change.supersedes` must be in `listed`.
    """
    ids = [requirement.id for requirement in listed]
    if twice := [name for at, name in enumerate(ids) if name in ids[:at]]:
        file = str(change.add or change.requirements or "")
        raise BadInput(f"requirement {twice[0]} already exists", file, "give it another id, or leave it out")
    known = {*ids, *(requirement.id for requirement in contract.requirements)}
    wrong = [name for name in change.remove if name not in known]
    wrong += [name for name in (*change.keep, *change.supersedes) if name not in ids]
    if wrong:
        raise BadInput(f"run {record.id} has no requirement {wrong[0]!r}", then=f"it has {', '.join(ids)}")
    if {*ids} <= {*change.remove}:
        raise BadInput("a contract without requirements proves nothing", then="leave one, or cancel the run")


def _criteria(
    store: RunStore, record: RunRecord, contract: Contract, wanted: tuple[str, ...]
) -> tuple[Requirement, ...]:
    """The criteria that `wanted` names, as requirements to add. Raises BadInput for a criterion that the final verdict
    does not list as outside the contract.

    If a person's criterion names a command, the command becomes the requirement's check. A command in an agent's
    criterion does not become a check.
    """
    if not wanted:
        return ()
    final, held = store.final_verdict(record.id), {requirement.id for requirement in contract.requirements}
    outside = [
        requirement
        for requirement in (final.requirements if final else ())
        if requirement.outside and requirement.id not in held
    ]
    for name in wanted:
        if not any(name in (judged.id, judged.outside, EVERY) for judged in outside):
            listed = ", ".join(judged.id for judged in outside)
            then = f"it has {listed}" if listed else "its final verdict lists none, or it has no final verdict yet"
            raise BadInput(f"run {record.id} has no criterion {name!r} outside its contract", then=then)
    wanted_criteria = [judged for judged in outside if {judged.id, judged.outside, EVERY} & {*wanted}]
    bare = [
        Requirement(
            id=judged.id,
            text=judged.text,
            source=_source(judged.source),
            covers=(judged.outside,),
            author=judged.author,
        )
        for judged in wanted_criteria
    ]
    checked = {
        requirement.id: requirement
        for requirement in with_named_commands(requirement for requirement in bare if not requirement.author)
    }
    return tuple(checked.get(requirement.id, requirement) for requirement in bare)


def _source(written: str) -> Source:
    file, _, line = written.rpartition(":")
    return Source(file=file, line=int(line)) if file and line.isdigit() else Source(file=written)


async def _sealed(
    workspace: GitWorkspace,
    contract: Contract,
    change: ContractChange,
    asked: Requirements,
    fresh: list[Path],
    tell: Emit,
) -> Contract:
    """Seal `asked`, the requirements after the change. `fresh`: the files that `asked` was read from."""
    asked = await with_server(asked, partial(find_server, workspace, asked.environment, emit=tell))
    guards = list(contract.guards)
    if change.requirements or change.keep or change.criteria:
        asked, more = await with_existing_tests(workspace, asked, sealed=True)
        guards += [name for name in more if name not in guards]
    hidden, why = await _hidden(workspace, contract, fresh)
    present = {check_hash(check) for holder in (*asked.requirements, *asked.suites) for check in holder.checks}
    ids = {requirement.id for requirement in asked.requirements}
    terms = replace(
        SealTerms.of(contract),
        held_out=hidden,
        why=why,
        authors={name: author for name, author in contract.authors.items() if name in present},
        guards=[name for name in guards if name in present],
        caps={name: reasons for name, reasons in contract.caps.items() if name in ids},
        known=contract.base_facts,
    )
    return await seal(workspace, asked, terms, tell=tell)


def _changed(
    store: RunStore, record: RunRecord, contract: Contract, change: ContractChange
) -> tuple[Requirements, list[Path]]:
    """The new requirements, and the files that they were read from. Raises BadInput for a change that cannot be made,
    such as one that leaves no requirement."""
    inputs, requirements = store.inputs(record.id), contract.requirements
    given = requirements_of(contract)
    if change.requirements and descriptor(inputs.settings.workflow).takes is not Input.PLAN:
        what = f"a run of {inputs.settings.workflow} cannot replace its requirements file"
        raise BadInput(what, str(change.requirements), "change it instead: --add FILE, --remove ID")
    if change.requirements:
        given = load_requirements(change.requirements)
        plan = _plan(inputs)
        if plan and descriptor(inputs.settings.workflow).takes_parts:
            part = plan_to_seal(plan, inputs.settings, given)
            given, plan = chosen_requirements(given, plan, part), part
        before = {(requirement.id, requirement.text): requirement for requirement in requirements if requirement.checks}
        new_requirements = user_requirements(plan, inputs.goal, given)
        requirements = tuple(
            requirement if requirement.checks else before.get((requirement.id, requirement.text), requirement)
            for requirement in new_requirements
        )
    added = load_requirements(change.add) if change.add else None
    if added:
        given = given.model_copy(
            update={"carried": {**given.carried, **added.carried}, "serve": given.serve or added.serve}
        )
    criteria = _criteria(store, record, contract, change.criteria)
    listed = (*requirements, *(added.requirements if added else ()), *criteria)
    check_names(record, contract, change, listed)
    every = [_amended(requirement, change) for requirement in listed if requirement.id not in change.remove]
    ids = {requirement.id for requirement in every}
    whole = tuple(
        requirement.model_copy(update={"parts": tuple(name for name in requirement.parts if name in ids)})
        for requirement in every
    )
    return given.model_copy(update={"requirements": whole}), [
        path for path in (change.requirements, change.add) if path
    ]


def _plan(inputs: Inputs) -> Plan | None:
    return ticket_plan(inputs.ticket) if inputs.ticket else plan_of(inputs.goal)


def _amended(requirement: Requirement, change: ContractChange) -> Requirement:
    more = change.supersedes.get(requirement.id, ())
    keep = requirement.keep or requirement.id in change.keep
    superseded = tuple(dict.fromkeys((*requirement.supersedes, *more)))
    proposed = tuple(name for name in requirement.proposed if name not in superseded)
    return requirement.model_copy(update={"keep": keep, "supersedes": superseded, "proposed": proposed})


async def _hidden(workspace: GitWorkspace, contract: Contract, files: list[Path]) -> tuple[bool, str]:
    """Whether the changed contract's cases count as held out, and why. They count as visible if one of `files` is in
    the repository, if agents can read one of `files`, or if the contract already had visible cases."""
    blobs = set((await workspace.blobs(workspace.base)).values())
    for path in files:
        if not blobs.isdisjoint(blobs_of(path.read_bytes())):
            return False, f"{path.name} is in the repository, too: its cases count as visible"
        if await workspace.can_agents_read(path.resolve()):
            return False, f"agents can read {path.name}: its cases count as visible"
    if files and (contract.held_out or not any(requirement.checks for requirement in contract.requirements)):
        return True, "agents cannot read the requirements file: tried in their sandbox"
    return contract.held_out, contract.held_out_why


def objections_left(
    objections: Iterable[Finding], before: Iterable[Requirement], after: Iterable[Requirement], roles: Collection[str]
) -> tuple[Finding, ...]:
    """The objections that stay open when the requirements change.

    If a requirement is removed, agents' objections to it are dropped. The engine's objections to it, for example that
    a part of the work is not done, move to a requirement that covers the same part. If no requirement covers that
    part, the engine's objections are dropped, too. `roles`: the roles of agents.
    """
    parts_before, parts_after = (
        {requirement.id: {*requirement.covers} for requirement in before},
        {requirement.id: {*requirement.covers} for requirement in after},
    )
    open_objections: list[Finding] = []
    for objection in objections:
        if objection.requirement in parts_after or not objection.requirement:
            meant = [objection.requirement]
        else:
            parts = set[str]() if objection.by in roles else parts_before.get(objection.requirement, set())
            meant = [name for name, also in parts_after.items() if parts & also][:1]
        moved = [objection.model_copy(update={"requirement": name}) for name in meant]
        open_objections += [objection for objection in moved if objection not in open_objections]
    return tuple(open_objections)


async def _judged(
    store: RunStore, record: RunRecord, workspace: GitWorkspace, contracts: tuple[Contract, Contract], tell: Emit
) -> Verdict | None:
    """Judge the commit of the final verdict by the new contract; None if there is no final verdict. The new verdict
    keeps the open objections and the workflow's own notes. A check that failed on this commit in the run stays failed.
    `contracts`: the old and the new contract."""
    (before, contract), final, inputs = contracts, store.final_verdict(record.id), store.inputs(record.id)
    if final is None:
        return None
    ids = [requirement.id for requirement in contract.requirements]
    verdict = await prove(
        workspace,
        contract,
        ids,
        final.commit,
        subject="plan",
        objections=objections_left(final.objections, before.requirements, contract.requirements, inputs.roles),
        known=store.evidence(record.id),
        owned=store.owned_files(record.id),
        tell=tell,
    )
    outside = [requirement for requirement in final.requirements if requirement.outside and requirement.id not in ids]
    notes = (*verdict.undecided, *(note for note in final.noted if note not in verdict.undecided))
    verdict = verdict.model_copy(
        update={"requirements": (*verdict.requirements, *outside), "undecided": notes, "noted": final.noted}
    )
    return Verdict.model_validate_json(in_json(store.redact(inputs), verdict.model_dump_json()))
