"""Lands a finished run: its proven commit or, if the target branch has moved, a new commit that is proven first."""

from dataclasses import replace
from pathlib import Path

from trued.engine.impersonation import refuse_if_agent_could_answer
from trued.engine.landing.consent import OPTIONS, ask_consent
from trued.engine.landing.offer import is_offered, offer
from trued.engine.landing.parts import up_to_chunk
from trued.engine.landing.records import (
    LandingCandidate,
    LandingContext,
    LandingRecord,
    LandingRequest,
    LandingResult,
    begun_landings,
    journal_part,
)
from trued.engine.landing.reproof import RebasedProof, SecondProof, carried_approvals, needed_approvals
from trued.engine.pending import waits
from trued.engine.run_store import RunStore
from trued.engine.sensitive_files import SensitiveChanges, sensitive_changes
from trued.engine.signals import stop_on_signals
from trued.errors import BadInput, Waiting
from trued.model import Approval, Question, RunRecord
from trued.model.events import of_kind
from trued.model.events.landing import ApprovalsCarried, WorkLanded
from trued.model.step_keys import landing_key
from trued.proof.hashes import contract_hash
from trued.proof.verdict.conclusion import conclude, exit_code_of_run
from trued.run.context import Person
from trued.support.hashing import digest
from trued.support.plain_text import inert
from trued.support.plurals import counted, few
from trued.workflows.registry import descriptor
from trued.workspace.git import rebase
from trued.workspace.git.landing import TargetBranch
from trued.workspace.git.workspace import GitWorkspace

FAST, REBASED, MERGED, THERE = "fast-forward", "rebase", "merge", "there already"


async def land(store: RunStore, run_id: str, request: LandingRequest, person: Person) -> LandingResult:
    """Land the run's work on the user's branch, or offer it as a pull request. `person` is asked if consent is needed.

    No branch of the user changes unless the result says `landed`. Raises BadInput for a request that cannot be carried
    out.
    """
    record = store.journal.run(run_id)
    refuse_if_agent_could_answer(store, record)
    with store.journal.claim(record.id), stop_on_signals():
        record = store.journal.run(record.id)
        if request.commit not in ("", record.head):
            what = f"run {record.id} is at {record.head or record.base}, not at {request.commit}"
            raise BadInput(what, then="look at the run again")
        unfit = refusal_of_unproven(store, record)
        offered = request.draft and record.head not in ("", record.base)
        if unfit and not offered and not request.through:
            return unfit
        context = await _context(store, record, request, person)
        context = await up_to_chunk(context, request.through) if request.through else context
        if request.way == "pr" or request.draft or (not request.way and not request.onto and is_offered(context)):
            # a part of a run counts as unproven, because it was never judged alone
            return await offer(context, proven=unfit is None and not request.through)
        if not (tip := await context.target.tip() or await _empty_root(context)):
            raise BadInput(
                f"there is no branch {context.onto!r} in {record.repository}", then=await _branch_hint(context)
            )
        await context.workspace.store.bring(await context.workspace.store.source(), tip, f"onto/{tip}")
        if done := await _landed_before(context, tip):
            return done
        return await _land(context, tip)


def refusal_of_unproven(store: RunStore, record: RunRecord) -> LandingResult | None:
    """The refusal if the run is not proven, with the command that a person should run next; None if the run is
    proven."""
    name, verdict, contract = record.id, store.verdict(record.id), store.contract(record.id)
    proven = verdict and contract and conclude(verdict, contract, store.inputs(name).settings.accept).state == "done"
    if record.state == "done" and proven and verdict and verdict.commit == record.head:
        return None
    helps = {
        "running": (f"`trued resume {name}` continues it", "it was cut short"),
        "interrupted": (f"`trued resume {name}` continues it", "it was interrupted"),
        "planned": (f"`trued resume {name}` starts the work", "no work has started"),
        "waiting": _what_waits(store, record),
        "limited": (f"`trued resume {name} --limit …` continues it", "a limit is reached"),
        "failed": (f"`trued resume {name}` retries the failed call", "an agent failed"),
        "unjudged": (f"`trued resume {name}` tries again", "it could not be judged"),
    }
    default = (f"`trued ledger {name}` shows every requirement", record.why or f"it is {record.state}")
    then, what = helps.get(record.state, default)
    why = f"run {name} is not proven: {what}"
    return LandingResult(run=name, code=record.code or 1, why=why, then=then)


def _what_waits(store: RunStore, record: RunRecord) -> tuple[str, str]:
    """The command that a person should run next, and what the run waits for. If the run waits for several things, this
    command lists them."""
    found = waits(store, record)
    if len(found) == 1:
        return f"`{found[0].command}`", found[0].what
    return f"`trued show {record.id}` lists what it waits for, each with its command", "it waits for you"


async def _context(store: RunStore, record: RunRecord, request: LandingRequest, person: Person) -> LandingContext:
    inputs, contract = store.inputs(record.id), store.contract(record.id)
    if contract is None:
        raise BadInput(f"run {record.id} has no contract", then=f"`trued show {record.id}` shows its status")
    if not (onto := request.onto or inputs.onto):
        raise BadInput(f"no branch was checked out when run {record.id} began", then="name one: --onto BRANCH")
    if onto == record.branch:
        raise BadInput(f"{onto} is the run's own branch", then="name another one: --onto BRANCH")
    workspace = store.workspace(record, inputs)
    await workspace.begin()
    await _move_local_branch(store, record, workspace)
    target = TargetBranch(workspace.store, onto, store.environ)
    own = await TargetBranch(workspace.store, record.branch, store.environ).tip()
    if own and own != record.head:
        what = f"{record.branch} was moved to {own[:12]}, but the proven commit is {record.head[:12]}"
        raise BadInput(what, then="`trued verify` checks the new commit; to land the proven one, move the branch back")
    if not await workspace.store.has_commit(record.head):  # the store was lost, and only the branch is left
        await workspace.store.bring(await workspace.store.source(), record.head, "head")
    return LandingContext(store, record, inputs, contract, workspace, request, target, person)


async def _move_local_branch(store: RunStore, record: RunRecord, workspace: GitWorkspace) -> None:
    """Move the run's local branch to the run's newest commit, which another machine may have made. If somebody else
    moved the branch, it stays where it is. Raises BadInput if the run's repository is not on this machine."""
    if not store.travel(record):
        return
    if not Path(record.repository).exists():
        what = f"the repository of run {record.id}, {record.repository}, is not on this machine"
        raise BadInput(what, then="land it where the run was begun")
    workspace.publishes = True
    if record.head not in ("", record.base):
        await workspace.publish(record.head)  # if the branch points elsewhere, the caller reports it


async def _empty_root(context: LandingContext) -> str:
    """The empty root commit if the run began in an empty repository whose target branch does not exist yet; else ""."""
    store, base = context.workspace.store, context.record.base
    if context.onto != context.inputs.onto or await store.entries(base):
        return ""
    return base if await store.git.line("rev-list", "--count", base) == "1" else ""


async def _branch_hint(context: LandingContext) -> str:
    known = [name for name in await context.target.branches() if not name.startswith("trued/")][:8]
    return f"--onto BRANCH, one of {', '.join(known)}" if known else "make one with `git branch`"


async def _landed_before(context: LandingContext, tip: str) -> LandingResult | None:
    """The result if the target branch already contains the work; None if it does not. An earlier `land`, even a killed
    one, or a merge by hand may have put the work there.

    The result is a refusal if the work was undone since. It is also a refusal if only a part of an unproven run should
    land, and nothing has proven this part.
    """
    store, head = context.workspace.store, context.record.head
    for landing in reversed(begun_landings(context.store, context.record.id)):
        same = (landing.onto, landing.head) == (context.onto, head) and await store.has_commit(landing.commit)
        if same and await rebase.has_ancestor(store, tip, landing.commit):
            return await _undone(context, landing, tip) or _already_landed(context, landing)
    if await rebase.has_ancestor(store, tip, head):
        if context.request.through and refusal_of_unproven(context.store, context.store.journal.run(context.record.id)):
            why = f"{context.onto} already contains {head[:12]}, but nothing has proven it"
            then = f"`trued verify` judges {context.onto}; `trued show {context.record.id}` shows the run"
            return context.result(code=1, why=why, then=then, how=THERE, before=tip, commit=head)
        landing = LandingRecord(
            onto=context.onto, before=tip, commit=head, head=head, how=THERE, who=context.request.who
        )
        return await _undone(context, landing, tip) or _already_landed(context, landing)
    return None


async def _undone(context: LandingContext, landing: LandingRecord, tip: str) -> LandingResult | None:
    """The refusal if the target branch contains the landed commit, but every file that this commit changed has its old
    content again; else None."""
    store = context.workspace.store
    before = landing.before if landing.how in (REBASED, MERGED) else context.record.base
    changed = await store.changed_files(before, landing.commit)
    old, now = await store.entries(before), await store.entries(tip)
    if not changed or any(old.get(path) != now.get(path) for path in changed):
        return None
    why = f"{context.onto} contains {landing.commit[:12]} of run {context.record.id}, but its changes were undone since"
    then = "to restore them, revert the commit that undid them, and check the result with `trued verify`"
    return context.result(code=1, why=why, then=then, how=landing.how, before=tip, commit=landing.commit)


def _already_landed(context: LandingContext, landing: LandingRecord) -> LandingResult:
    events = context.store.journal.events(context.record.id)
    if not any(
        (event.onto, event.commit) == (landing.onto, landing.commit) for _, event in of_kind(events, WorkLanded)
    ):
        _emit_landed(context, landing)
    said = (f"run {context.record.id} is on {landing.onto} already, as {landing.commit[:12]}",)
    return context.result(landed=True, how=landing.how, before=landing.before, commit=landing.commit, said=said)


# -- one landing -------------------------------------------------------------------------------------------------------


async def _land(context: LandingContext, tip: str) -> LandingResult:
    candidate = await _candidate(context, tip)
    if isinstance(candidate, LandingResult):
        return candidate
    await context.target.ready(tip, candidate.commit)
    used, contract = await context.target.used_by_git(), context.store.contract(context.record.id)
    found = await sensitive_changes(context.workspace, tip, candidate.commit, used, contract)
    if refused := await ask_consent(context, candidate, found):
        return refused
    part = bool(context.request.through)  # only a part of the run lands, which has to be proven by itself
    again = await _prove_landed_commit(context, candidate) if candidate.how != FAST or part else None
    if again and again.outcome.state != "done":
        return _not_proven(context, candidate, again)
    rejected = refusal_of_unproven(context.store, context.record) if not part else None
    if rejected:  # a person rejected the run while the new commit was being proven
        return rejected
    return await _move_branch(context, candidate, again, found)


async def _candidate(context: LandingContext, tip: str) -> LandingCandidate | LandingResult:
    store, head, way = context.workspace.store, context.record.head, context.request.way
    forward = await rebase.has_ancestor(store, head, tip)
    if forward and way != "merge":
        return _landing_candidate(context, head, tip, FAST)
    if way == "ff":
        why = f"{context.onto} has moved to {tip[:12]}, which the run's commit does not contain: no fast-forward"
        then = "without --ff the work is rebased and proven again; --merge makes a merge of both"
        return context.result(code=1, why=why, then=then, before=tip, commit=head)
    if not await rebase.merge_base(store, tip, head):
        what = f"{context.onto} has no history in common with the run"
        raise BadInput(what, then="name another one with --onto")
    how = MERGED if way == "merge" else REBASED
    views = await _views(context)
    made = await (
        _merge(context, tip, views)
        if how == MERGED
        else rebase.rebase_commits(store, context.record.base, head, tip, views)
    )
    if made.conflicts:
        why = f"{how} onto {context.onto} has conflicts in {', '.join(made.conflicts)} (at “{made.at}”)"
        then = (
            f"nothing was changed; `git switch {context.record.branch}` and `git rebase {context.onto}` let you resolve"
            " them by hand, and `trued verify` judges the result"
        )
        return context.result(code=1, why=why, then=then, conflicts=made.conflicts, before=tip, commit=head)
    return replace(_landing_candidate(context, made.commit, tip, how), replaced=made.replaced)


async def _views(context: LandingContext) -> rebase.HeadViews:
    """The run's files in folders that every run rewrites completely. When the run lands, these files replace the files
    of an earlier run in the same folders."""
    owned = context.store.owned_files(context.record.id)
    whole = [path for path in descriptor(context.record.workflow).rewritten_folders if path in owned]
    record, workspace = context.record, context.workspace
    return await rebase.HeadViews.of(workspace.store, record.base, record.head, whole, workspace.folder)


async def _merge(context: LandingContext, tip: str, views: rebase.HeadViews) -> rebase.RebaseResult:
    record = context.record
    message = f"Merge {record.branch}: {inert(record.title)}\n\nRun {record.id}, proven at {record.head}."
    # the merge commit has the date of the run's end, so that a repeated landing makes the same commit
    who = await context.target.person(record.updated_at)
    return await rebase.merge_into(context.workspace.store, tip, record.head, message, who, views)


def _landing_candidate(context: LandingContext, commit: str, tip: str, how: str) -> LandingCandidate:
    terms = contract_hash(context.contract)
    if context.objections:
        terms = digest(terms, [objection.model_dump(mode="json") for objection in context.objections])
    return LandingCandidate(commit, tip, how, journal_part(context.onto, commit, tip, terms))


# -- proof of another commit than the run's ----------------------------------------------------------------------------


async def _prove_landed_commit(context: LandingContext, candidate: LandingCandidate) -> SecondProof:
    """Prove the commit that will land. The run's verdict is about another commit, and what a check shows depends on the
    base.

    If only approvals of single requirements are missing, the run's approvals are carried over. This needs `--carry`, or
    a person who confirms that the approvals also apply to this commit.
    """
    known = context.store.evidence(context.record.id) if context.request.through else ()
    proof = RebasedProof(context.store, context.record, context.inputs, context.workspace, context.objections, known)
    sealed, verdict, key = await proof.seal_and_prove(context.contract, candidate.tip, candidate.commit, candidate.part)
    carried = carried_approvals(context.contract, sealed, context.store.approvals(context.record.id))
    accept = context.inputs.settings.accept
    again = SecondProof(sealed, verdict, carried.contract, accept, key)
    lacking = needed_approvals(again, carried.single)
    if not lacking:
        return again
    journal, key = context.store.writer(context.record), f"{candidate.part}/carried"
    if not context.store.journal.step(context.record.id, key):
        who = context.request.who if context.request.carry else await _confirm_approvals(context, candidate, lacking)
        if not who:
            return again

        async def step() -> str:
            return who

        await journal.once(key, digest([approval.requirement for approval in lacking]), step)
        requirements = tuple(approval.requirement for approval in lacking)
        journal.emit(ApprovalsCarried(requirements=requirements, who=who), candidate.part)
    return replace(again, approvals=(*carried.contract, *lacking))


async def _confirm_approvals(
    context: LandingContext, candidate: LandingCandidate, lacking: tuple[Approval, ...]
) -> str:
    given = "\n".join(f"  {approval.requirement}: {approval.who}, {approval.why}" for approval in lacking)
    text = f"Approved for {context.record.head[:12]}:\n{given}\nDoes this also apply to {candidate.commit[:12]}?"
    answer = await context.person(Question(key="carry", text=text, options=OPTIONS))
    return answer.who if answer and answer.answer == "yes" else ""


def _not_proven(context: LandingContext, candidate: LandingCandidate, again: SecondProof) -> LandingResult:
    name, outcome = context.record.id, again.outcome
    carried = carried_approvals(context.contract, again.contract, context.store.approvals(name))
    lacking = [approval.requirement for approval in needed_approvals(again, carried.single)]
    then = f"`trued diff {name}` shows the work; run it again from {context.onto}, or fix it by hand and `trued verify`"
    if lacking:
        approved = f"{', '.join(lacking)} for {context.record.head[:12]}"
        then = f"the approvals of {approved} also count with: trued land {name} --carry"
    why = f"{candidate.how} onto {context.onto} is not proven: {'; '.join(outcome.why)}"
    return context.result(
        code=Waiting.code if lacking else exit_code_of_run(outcome),
        why=why,
        then=then,
        how=candidate.how,
        before=candidate.tip,
        commit=candidate.commit,
        verdict=outcome.verdict,
    )


# -- the move ----------------------------------------------------------------------------------------------------------


async def _move_branch(
    context: LandingContext, candidate: LandingCandidate, again: SecondProof | None, found: SensitiveChanges
) -> LandingResult:
    record, target, tip, commit = context.record, context.target, candidate.tip, candidate.commit
    landed = LandingRecord(
        onto=context.onto,
        before=tip,
        commit=commit,
        head=record.head,
        how=candidate.how if commit != tip else THERE,
        who=context.request.who,
        contract=f"{candidate.part}/contract" if again else "",
        verdict=again.step if again else "",
        words=again.approvals if again else (),
    )
    journal = context.store.writer(record)
    given = landed.model_dump_json()

    async def step() -> str:
        return given

    # recorded before the branch is moved, so that after a crash it is known who moved it
    await journal.once(f"{candidate.part}/landing", digest(commit, tip), step)
    if commit != tip:
        await target.bring(commit)
        await target.move(tip, commit, await target.ready(tip, commit), f"trued land {record.id}: {candidate.how}")
    _emit_landed(context, landed)
    await context.workspace.clean_up()
    return context.result(
        landed=True,
        how=landed.how,
        before=tip,
        commit=commit,
        said=tuple(await _remarks(context, candidate)),
        asks=found.files,
        digest=found.digest,
        verdict=again.outcome.verdict if again else None,
    )


async def _remarks(context: LandingContext, candidate: LandingCandidate) -> list[str]:
    accept, said = context.inputs.settings.accept, list[str]()
    if through := context.request.through:
        said.append(f"landed up to chunk {through}; later chunks are only on {context.record.branch}")
    if accept.is_lowered_bar:
        said.append(f"--accept {accept}: the bar was lowered, and {accept} counted as met")
    if (there := candidate.replaced) and candidate.commit != candidate.tip:
        old = f"`git show {candidate.tip[:12]}:PATH`"
        said.append(
            f"this run's version replaced files that describe an earlier run: {few(there, 3)} (old version: {old})"
        )
    if candidate.how == FAST:
        store = context.workspace.store
        behind = await store.git.line("rev-list", "--count", f"{candidate.tip}..{context.record.base}")
        if behind != "0":
            said.append(
                f"{counted(int(behind), 'commit')} before the run's base also landed: {context.onto} did not have them"
            )
    return said


def _emit_landed(context: LandingContext, landing: LandingRecord) -> None:
    through = context.request.through
    landed = WorkLanded(
        onto=landing.onto,
        commit=landing.commit,
        before=landing.before,
        how=landing.how,
        who=landing.who,
        through=through,
    )
    context.store.writer(context.record).emit(landed, landing_key(landing.onto))
