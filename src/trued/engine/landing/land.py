"""Brings a finished run home: exactly the commit that was proven, or one that is proven again on a moved target."""

from dataclasses import replace

from trued.engine.drive import told_to_stop
from trued.engine.impersonation import refuse_if_agent_could_answer
from trued.engine.landing.consent import OPTIONS, not_agreed
from trued.engine.landing.offer import is_offered, offer
from trued.engine.landing.records import Candidate, Ground, Landed, Landing, Wanted, landings, part_of
from trued.engine.landing.reproof import Again, Proof, carried, needed
from trued.engine.run_store import RunStore
from trued.engine.sensitive_files import Entrusted, entrusted
from trued.errors import BadInput
from trued.model import Approval, Grade, Question, RunRecord
from trued.model.events import of_kind
from trued.model.events.landing import ApprovalsCarried, WorkLanded
from trued.model.step_keys import landing_key
from trued.proof.contract import contract_hash, exit_code, is_success
from trued.run.context import Person
from trued.support.hashing import digest
from trued.support.plurals import counted
from trued.support.redaction import inert
from trued.workflows.registry import descriptor
from trued.workspace.git import rebase
from trued.workspace.git.landing import TargetBranch as Home

__all__ = ["Landing", "Wanted", "land", "unproven"]

FAST, REBASED, MERGED, THERE = "fast-forward", "rebase", "merge", "there already"


async def land(store: RunStore, run_id: str, wanted: Wanted, person: Person) -> Landing:
    """Bring the run's work onto a branch of the user's. Nothing is changed unless all of it can be."""
    record = store.journal.run(run_id)
    refuse_if_agent_could_answer(store, record)
    with store.journal.claim(record.id), told_to_stop():
        record = store.journal.run(record.id)
        unfit = unproven(store, record)
        if unfit and not (wanted.draft and record.head not in ("", record.base)):
            return unfit
        ground = await _ground(store, record, wanted, person)
        if wanted.way == "pr" or wanted.draft or (not wanted.way and not wanted.onto and is_offered(ground)):
            return await offer(ground, proven=unfit is None)
        if not (tip := await ground.home.tip() or await _nothing_yet(ground)):
            raise BadInput(f"there is no branch {ground.onto!r} in {record.repository}", then=await _others(ground))
        await ground.workspace.store.bring(await ground.workspace.store.source(), tip, f"onto/{tip}")
        if done := await _landed_before(ground, tip):
            return done
        return await _land(ground, tip)


def unproven(store: RunStore, record: RunRecord) -> Landing | None:
    """What is missing where a run did not end with success, and which command helps."""
    name, verdict = record.id, store.verdict(record.id)
    holds = verdict is not None and is_success(verdict, store.inputs(name).settings.accept)
    if record.state == "done" and holds and verdict and verdict.commit == record.head:
        return None
    helps = {
        "running": (f"`trued resume {name}` goes on", "it was broken off"),
        "interrupted": (f"`trued resume {name}` goes on", "it was interrupted"),
        "planned": (f"`trued resume {name}` begins the work", "nobody has worked yet"),
        "waiting": (f"`trued show {name}` lists what it waits for: answer or approve", "a person's word is missing"),
        "limited": (f"`trued resume {name} --limit …` goes on", "a limit is reached"),
        "failed": (f"`trued resume {name}` makes the failed call again", "an agent failed"),
        "unjudged": (f"`trued resume {name}` tries again", "it could not be judged"),
    }
    default = (f"`trued ledger {name}` shows every requirement", record.why or f"it is {record.state}")
    then, what = helps.get(record.state, default)
    why = f"run {name} is not proven: {what}"
    return Landing(run=name, code=record.code or 1, why=why, then=then)


async def _ground(store: RunStore, record: RunRecord, wanted: Wanted, person: Person) -> Ground:
    inputs, contract = store.inputs(record.id), store.contract(record.id)
    if contract is None:
        raise BadInput(f"run {record.id} has no contract", then=f"`trued show {record.id}` tells where it stands")
    if not (onto := wanted.onto or inputs.onto):
        raise BadInput(f"no branch was checked out when run {record.id} began", then="name one: --onto BRANCH")
    if onto == record.branch:
        raise BadInput(f"{onto} is the run's own branch", then="name another one: --onto BRANCH")
    workspace = store.workspace(record, inputs)
    await workspace.begin()
    home = Home(workspace.store, onto, store.environ)
    own = await Home(workspace.store, record.branch, store.environ).tip()
    if own and own != record.head:
        what = f"somebody moved {record.branch} to {own[:12]}, and what was proven is {record.head[:12]}"
        raise BadInput(what, then="`trued verify` judges what is there; move the branch back to land what was proven")
    if not await workspace.store.has_commit(record.head):  # the store was lost, and the branch is what is left
        await workspace.store.bring(await workspace.store.source(), record.head, "head")
    return Ground(store, record, inputs, contract, workspace, wanted, home, person)


async def _nothing_yet(ground: Ground) -> str:
    """Where the run began with nothing at all, and its branch is still to come: the commit that stands for nothing."""
    store, base = ground.workspace.store, ground.record.base
    if ground.onto != ground.inputs.onto or await store.entries(base):
        return ""
    return base if await store.git.line("rev-list", "--count", base) == "1" else ""


async def _others(ground: Ground) -> str:
    known = [name for name in await ground.home.branches() if not name.startswith("trued/")][:8]
    return f"--onto BRANCH, one of {', '.join(known)}" if known else "make one with `git branch`"


async def _landed_before(ground: Ground, tip: str) -> Landing | None:
    """Brought home already: by an earlier `land`, also one that was killed before it could say so, or by hand."""
    store, head = ground.workspace.store, ground.record.head
    for one in reversed(landings(ground.store, ground.record.id)):
        same = (one.onto, one.head) == (ground.onto, head) and await store.has_commit(one.commit)
        if same and await rebase.has_ancestor(store, tip, one.commit):
            return _over(ground, one)
    if await rebase.has_ancestor(store, tip, head):
        one = Landed(onto=ground.onto, before=tip, commit=head, head=head, how=THERE, who=ground.wanted.who)
        return _over(ground, one)
    return None


def _over(ground: Ground, one: Landed) -> Landing:
    events = ground.store.journal.events(ground.record.id)
    if not any((event.onto, event.commit) == (one.onto, one.commit) for _, event in of_kind(events, WorkLanded)):
        _tell(ground, one)
    said = (f"run {ground.record.id} is on {one.onto} already, as {one.commit[:12]}",)
    return ground.result(landed=True, how=one.how, before=one.before, commit=one.commit, said=said)


# -- one landing -------------------------------------------------------------------------------------------------------


async def _land(ground: Ground, tip: str) -> Landing:
    candidate = await _candidate(ground, tip)
    if isinstance(candidate, Landing):
        return candidate
    await ground.home.ready(tip, candidate.commit)
    found = await entrusted(ground.workspace, tip, candidate.commit)
    if refused := await not_agreed(ground, candidate, found):
        return refused
    again = await _proven_again(ground, candidate) if candidate.how != FAST else None
    if again and again.outcome.state != "done":
        return _short(ground, candidate, again)
    if rejected := unproven(ground.store, ground.record):  # by somebody who spoke while it was proven again
        return rejected
    return await _moved(ground, candidate, again, found)


async def _candidate(ground: Ground, tip: str) -> Candidate | Landing:
    store, head, way = ground.workspace.store, ground.record.head, ground.wanted.way
    forward = await rebase.has_ancestor(store, head, tip)
    if forward and way != "merge":
        return _named(ground, head, tip, FAST)
    if way == "ff":
        why = f"{ground.onto} has moved to {tip[:12]}, which the run's commit does not hold: it cannot be forwarded"
        then = "without --ff the work is rebased and proven again; --merge makes a merge of both"
        return ground.result(code=1, why=why, then=then, before=tip, commit=head)
    if not await rebase.merge_base(store, tip, head):
        what = f"{ground.onto} has no history in common with the run"
        raise BadInput(what, then="name another one with --onto")
    how = MERGED if way == "merge" else REBASED
    views = await _views(ground)
    made = await (
        _merge(ground, tip, views)
        if how == MERGED
        else rebase.rebase_commits(store, ground.record.base, head, tip, views)
    )
    if made.conflicts:
        why = f"{how} onto {ground.onto} meets conflicts in {', '.join(made.conflicts)} (at “{made.at}”)"
        then = (
            f"nothing was changed; `git switch {ground.record.branch}` and `git rebase {ground.onto}` lets you settle"
            " them by hand, and `trued verify` judges the result"
        )
        return ground.result(code=1, why=why, then=then, conflicts=made.conflicts, before=tip, commit=head)
    return replace(_named(ground, made.commit, tip, how), replaced=made.replaced)


async def _views(ground: Ground) -> rebase.HeadViews:
    """Folders that each run writes whole: the version of the run that lands last is kept."""
    owned = ground.store.owned_files(ground.record.id)
    whole = [path for path in descriptor(ground.record.workflow).rewritten_folders if path in owned]
    record, workspace = ground.record, ground.workspace
    return await rebase.HeadViews.of(workspace.store, record.base, record.head, whole, workspace.folder)


async def _merge(ground: Ground, tip: str, views: rebase.HeadViews) -> rebase.RebaseResult:
    record = ground.record
    message = f"Merge {record.branch}: {inert(record.title)}\n\nRun {record.id}, proven at {record.head}."
    # dated like the run's end: the same merge is the same commit again
    who = await ground.home.person(record.updated_at)
    return await rebase.merge_into(ground.workspace.store, tip, record.head, message, who, views)


def _named(ground: Ground, commit: str, tip: str, how: str) -> Candidate:
    return Candidate(commit, tip, how, part_of(ground.onto, commit, tip, contract_hash(ground.contract)))


# -- proof of another commit than the run's ----------------------------------------------------------------------------


async def _proven_again(ground: Ground, candidate: Candidate) -> Again:
    """A verdict belongs to one commit, and a new base means that red is taken anew."""
    taking = Proof(ground.store, ground.record, ground.inputs, ground.workspace)
    sealed, verdict, key = await taking.of(ground.contract, candidate.tip, candidate.commit, candidate.part)
    words = carried(ground.contract, sealed, ground.store.approvals(ground.record.id))
    accept = ground.inputs.settings.accept
    again = Again(sealed, verdict, words.contract, accept, key)
    lacking = needed(again, words.single)
    if not lacking:
        return again
    journal, key = ground.store.writer(ground.record), f"{candidate.part}/carried"
    if not ground.store.journal.step(ground.record.id, key):
        who = ground.wanted.who if ground.wanted.carry else await _said_again(ground, candidate, lacking)
        if not who:
            return again

        async def step() -> str:
            return who

        await journal.once(key, digest([one.requirement for one in lacking]), step)
        requirements = tuple(one.requirement for one in lacking)
        journal.emit(ApprovalsCarried(requirements=requirements, who=who), candidate.part)
    return replace(again, words=(*words.contract, *lacking))


async def _said_again(ground: Ground, candidate: Candidate, lacking: tuple[Approval, ...]) -> str:
    given = "\n".join(f"  {one.requirement}: {one.who}, {one.why}" for one in lacking)
    text = f"These words were given for {ground.record.head[:12]}:\n{given}\nDo they hold for {candidate.commit[:12]}?"
    answer = await ground.person(Question(key="carry", text=text, options=OPTIONS))
    return answer[2] if answer and answer[0] == "yes" else ""


def _short(ground: Ground, candidate: Candidate, again: Again) -> Landing:
    name, outcome = ground.record.id, again.outcome
    words = carried(ground.contract, again.contract, ground.store.approvals(name))
    lacking = [one.requirement for one in needed(again, words.single)]
    then = f"`trued diff {name}` shows the work; run it again from {ground.onto}, or mend it by hand and `trued verify`"
    if lacking:
        then = (
            f"{', '.join(lacking)} was accepted for {ground.record.head[:12]}: trued land {name} --carry says it again"
        )
    why = f"{candidate.how} onto {ground.onto} is not proven: {'; '.join(outcome.why)}"
    return ground.result(
        code=3 if lacking else exit_code(outcome),
        why=why,
        then=then,
        how=candidate.how,
        before=candidate.tip,
        commit=candidate.commit,
        verdict=outcome.verdict,
    )


# -- the move ----------------------------------------------------------------------------------------------------------


async def _moved(ground: Ground, candidate: Candidate, again: Again | None, found: Entrusted) -> Landing:
    record, home, tip, commit = ground.record, ground.home, candidate.tip, candidate.commit
    landed = Landed(
        onto=ground.onto,
        before=tip,
        commit=commit,
        head=record.head,
        how=candidate.how if commit != tip else THERE,
        who=ground.wanted.who,
        contract=f"{candidate.part}/contract" if again else "",
        verdict=again.step if again else "",
        words=again.words if again else (),
    )
    journal = ground.store.writer(record)
    given = landed.model_dump_json()

    async def step() -> str:
        return given

    # before the branch is moved: whoever finds it moved after a crash knows by whom
    await journal.once(f"{candidate.part}/landing", digest(commit, tip), step)
    if commit != tip:
        await home.bring(commit)
        await home.move(tip, commit, await home.ready(tip, commit), f"trued land {record.id}: {candidate.how}")
    _tell(ground, landed)
    await ground.workspace.clean_up()
    return ground.result(
        landed=True,
        how=landed.how,
        before=tip,
        commit=commit,
        said=tuple(await _remarks(ground, candidate)),
        asks=found.files,
        digest=found.digest,
        verdict=again.outcome.verdict if again else None,
    )


async def _remarks(ground: Ground, candidate: Candidate) -> list[str]:
    accept, said = ground.inputs.settings.accept, list[str]()
    if accept.rank < Grade.ATTESTED.rank:
        said.append(f"--accept {accept}: the bar was lowered, and {accept} counted as met")
    if (there := candidate.replaced) and candidate.commit != candidate.tip:
        files = f"{', '.join(there[:3])}{f' and {len(there) - 3} more' if len(there) > 3 else ''}"
        said.append(
            f"{files} told of an earlier run and tell of this one now; `git show {candidate.tip[:12]}:PATH` has them"
        )
    if candidate.how == FAST:
        store = ground.workspace.store
        behind = await store.git.line("rev-list", "--count", f"{candidate.tip}..{ground.record.base}")
        if behind != "0":
            said.append(
                f"{counted(int(behind), 'commit')} below the run's base came along: {ground.onto} did not have them"
            )
    return said


def _tell(ground: Ground, one: Landed) -> None:
    landed = WorkLanded(onto=one.onto, commit=one.commit, before=one.before, how=one.how, who=one.who)
    ground.store.writer(ground.record).emit(landed, landing_key(one.onto))
