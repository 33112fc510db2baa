"""Gathers what a pull request says about a run, pushes the work, and opens or updates the pull request."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trued.engine.pull_request_body import (
    PullRequestWork,
    VerificationRound,
    body_of,
    picture_names,
    rounds_document,
    title_of,
)
from trued.engine.role_spending import orchestrator_spending, spending_by_role
from trued.engine.run_store import RunStore
from trued.engine.sensitive_files import sensitive_changes
from trued.errors import BadInput
from trued.integrations.forges import forge_of
from trued.integrations.forges.local import LocalForge
from trued.model import Event, Evidence, RunRecord, Ticket, Verdict
from trued.model.events import of_kind
from trued.model.events.call import CallAnswered
from trued.model.events.proof import ClaimRefuted
from trued.model.step_keys import is_verdict
from trued.proof.hashes import contract_hash
from trued.proof.verdict.conclusion import conclude
from trued.protocols import Forge, ForgePullRequest, PullRequestProposal, Workspace
from trued.support import atomic_files
from trued.workflows.ticket.events import IssuesFixed, PagesNotOpened, PicturesClaimed, PreviewShown, RoundVerified
from trued.workspace.git.landing import TargetBranch
from trued.workspace.git.workspace import GitWorkspace

PR_AGENT = "pr-agent"
ROUNDS = "ROUNDS.md"


def forge_for(store: RunStore, record: RunRecord, workspace: GitWorkspace) -> Forge:
    """The forge to which the run's work is offered. If the run has no forge: a local forge, which writes files into the
    run's folder."""
    folder = store.folder(record.id) / "files"
    settings = store.inputs(record.id).settings.forge
    forge = forge_of(settings, store.environ, Path(record.repository), folder)
    return LocalForge(folder, workspace.store.folder) if forge.name == LocalForge.name else forge


async def offer_run(
    store: RunStore, record: RunRecord, workspace: GitWorkspace, *, draft: bool
) -> ForgePullRequest | Mapping[str, str] | str:
    """Offer the run's finished head as a pull request while the run is being driven.

    Returns one of:
    - the pull request;
    - the sensitive files that change, with the reasons why they are sensitive: a person has to land the run;
    - if the repository is on another machine, a sentence on how to open the pull request there.
    """
    travel, kind = store.travel(record), store.inputs(record.id).settings.forge.kind
    # only the machine where the run was begun has its remotes and tokens
    if travel and not travel.is_origin and kind != "local":
        how = f"trued land {record.id} --pr{' --draft' if draft else ''}"
        return f"the repository is on the machine where the run was begun: `{how}` there opens the pull request"
    verdict = store.verdict(record.id) or Verdict.open("nothing was judged")
    record = record.model_copy(update={"head": verdict.commit})
    used, contract = await used_by_git(store, workspace), store.contract(record.id)
    if asking := (await sensitive_changes(workspace, record.base, record.head, used, contract)).files:
        return asking
    accept = store.inputs(record.id).settings.accept
    proven = contract is not None and conclude(verdict, contract, accept).state == "done"
    work = await pull_request_work(store, record, workspace, proven=proven, draft=draft)
    return await offer_pull_request(forge_for(store, record, workspace), workspace, work)


async def offer_pull_request(forge: Forge, workspace: Workspace, work: PullRequestWork) -> ForgePullRequest:
    """Push the commit and open its pull request, or update the open one.

    Safe to repeat after a kill: a second push changes nothing, and the forge is asked for the branch's pull request
    before one is opened. A closed or merged pull request is left as it is.
    """
    await asyncio.to_thread(forge.ready)
    there = await asyncio.to_thread(forge.offered, work.branch)
    if there and there.state != "open":
        return there
    links = await _pictures_pushed(forge, workspace, work)
    if forge.remote and (why := await workspace.push(forge.remote, work.head, f"refs/heads/{work.branch}")):
        raise BadInput(why, then=f"fix that, then `trued resume {work.run}`")
    offer = PullRequestProposal(
        work.branch, work.onto, title_of(work), body_of(work, links), work.head, draft=work.draft
    )
    return await asyncio.to_thread(forge.offer, offer)


async def _pictures_pushed(forge: Forge, workspace: Workspace, work: PullRequestWork) -> dict[str, str]:
    """Push the pictures to a branch of their own, if the forge has a remote. Returns each picture's hash → its address.
    Raises BadInput if the pictures cannot be pushed."""
    names = picture_names(work)
    contents = {name: await workspace.load_artifact(sha256) for sha256, name in names.items()}
    files = {name: content for name, content in contents.items() if content is not None}
    if not files:
        return {}
    message = f"docs: pictures of run {work.run}\n\nEvidence that was taken on {work.head}."
    commit = await workspace.commit_without_history(files, message=message, when=work.when)
    if forge.remote:
        ref = f"refs/heads/trued/evidence/{work.run}"
        why = await workspace.push(forge.remote, commit, ref)
        # a second name, in case `ref` has other pictures already
        if why and await workspace.push(forge.remote, commit, f"{ref}-{commit[:8]}"):
            raise BadInput(why, then=f"fix that, then `trued resume {work.run}`")
    return {sha256: forge.picture(commit, name) for sha256, name in names.items() if name in files}


async def used_by_git(store: RunStore, workspace: GitWorkspace) -> set[str]:
    """Files and folders of the project that the user's own git runs or reads by itself. Empty if the repository is on
    another machine."""
    if not workspace.store.repo.exists():
        return set()
    return await TargetBranch(workspace.store, "", store.environ).used_by_git()


async def pull_request_work(
    store: RunStore, record: RunRecord, workspace: GitWorkspace, *, proven: bool, draft: bool, onto: str = ""
) -> PullRequestWork:
    inputs, events = store.inputs(record.id), store.journal.events(record.id)
    verdict = store.verdict(record.id) or Verdict.open("nothing was judged")
    # a verdict is about one commit, and says nothing about another
    if verdict.commit and verdict.commit != record.head:
        verdict = Verdict.open(f"no verdict since commit {verdict.commit[:12]}")
    contract, ticket = store.contract(record.id), inputs.ticket
    accept, written = inputs.settings.accept, _agents_title_and_body(events)
    used = await used_by_git(store, workspace)
    trusted = await sensitive_changes(workspace, record.base, record.head, used, contract)
    return PullRequestWork(
        run=record.id,
        branch=record.branch,
        onto=onto or inputs.onto,
        head=record.head,
        title=str(written.get("title") or record.title),
        verdict=verdict,
        proven=proven,
        contract=contract_hash(contract) if contract else "",
        bar=f"the bar was lowered to {accept}" if accept.is_lowered_bar else "",
        key=ticket.key if ticket else "",
        url=ticket.source.file if ticket and ticket.source.file.startswith("http") else "",
        words=str(written.get("body") or ""),
        by=PR_AGENT,
        rounds=tuple(verification_rounds(events)),
        spent=(*orchestrator_spending(ticket, events), *spending_by_role(events)),
        evidence=tuple(_evidence(store, record.id, contract.base_facts if contract else ())),
        claimed=tuple(_claimed(events)),
        said=(
            *(f"{path} is a sensitive file: {why}" for path, why in trusted.files.items()),
            *_remarks(ticket, events),
        ),
        draft=draft,
        when=record.created_at,
    )


def write_rounds(store: RunStore, record: RunRecord) -> None:
    """Write ROUNDS.md, a summary of the verification rounds for people. Called whenever the run ends; writes nothing if
    there were no rounds."""
    events = store.journal.events(record.id)
    if rounds := tuple(verification_rounds(events)):
        folder = store.folder(record.id) / "files"
        folder.mkdir(parents=True, exist_ok=True)
        atomic_files.write(
            folder / ROUNDS,
            rounds_document(
                rounds, (*orchestrator_spending(store.inputs(record.id).ticket, events), *spending_by_role(events))
            ),
            sync=False,
        )


def _agents_title_and_body(events: Sequence[Event]) -> dict[str, Any]:
    """The newest title and body by the pr-agent; {} if it wrote none."""
    answers = [event for _, event in of_kind(events, CallAnswered) if event.role == PR_AGENT]
    done = [answer.reply for answer in answers if answer.state == "done" and answer.reply is not None]
    return done[-1] if done else {}


def verification_rounds(events: Sequence[Event]) -> Iterator[VerificationRound]:
    """The verification rounds by number. If a round was recorded several times, the last record counts."""
    found = {event.number: event for _, event in of_kind(events, RoundVerified)}
    fixes = {event.number: event for _, event in of_kind(events, IssuesFixed)}
    for number, verified in sorted(found.items()):
        fixed = fixes.get(number)
        yield VerificationRound(
            number=number,
            issues=verified.open,
            fate=verified.fate,
            fixed=fixed.summary if fixed else "",
            beyond=tuple(
                f"{change.path}: {change.why or 'no reason was given'}" for change in (fixed.beyond if fixed else ())
            ),
        )


def _evidence(store: RunStore, run_id: str, base: Sequence[Evidence]) -> Iterator[Evidence]:
    """The evidence on the base, then the evidence of all verdicts, oldest first."""
    yield from base
    for key, _, _ in store.journal.steps(run_id):
        if is_verdict(key):
            yield from Verdict.model_validate_json(store.journal.step(run_id, key) or "").evidence


def _claimed(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    for _, claimed in of_kind(events, PicturesClaimed):
        yield from claimed.pictures.items()


def _remarks(ticket: Ticket | None, events: Sequence[Event]) -> Iterator[str]:
    """Remarks: what the ticket lacks, refuted claims, and previews that could not be opened."""
    yield from (f"the ticket does not say: {fact}" for fact in (ticket.missing if ticket else ()))
    for stored in events:
        if refuted := ClaimRefuted.read(stored):
            yield f"an implementer's claim that git contradicts: {refuted.what}"
        elif (preview := PreviewShown.read(stored)) and preview.why:
            yield f"preview {preview.url}: {preview.why}"
        elif unopened := PagesNotOpened.read(stored):
            yield f"preview: {unopened.sentence}"
