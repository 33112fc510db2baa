"""Offers a run's commit as a pull request: pushes it, and opens or updates the pull request."""

import asyncio
from pathlib import Path

from trued.engine.landing.consent import ask_consent
from trued.engine.landing.records import LandingCandidate, LandingContext, LandingResult, journal_part
from trued.engine.pull_request import forge_for, offer_pull_request, pull_request_work
from trued.engine.sensitive_files import sensitive_changes
from trued.errors import BadInput
from trued.integrations.git_remotes import remote_address
from trued.model.events.landing import PullRequestOffered
from trued.protocols import Forge
from trued.workflows.registry import descriptor

HOW = "pull request"


def is_offered(context: LandingContext) -> bool:
    """Whether this work is offered as a pull request by default: the workflow offers pull requests, and there is a
    remote forge."""
    return descriptor(context.inputs.settings.workflow).offers_pull_request and bool(_forge(context).remote)


async def offer(context: LandingContext, *, proven: bool) -> LandingResult:
    """Push the commit and open its pull request, or update the open one. Raises BadInput for unproven work unless a
    draft is requested."""
    record, draft = context.record, context.request.draft
    if not proven and not draft:
        raise BadInput(f"run {record.id} is not proven", then="--draft opens a draft, marked as not proven")
    candidate = LandingCandidate(
        record.head, record.base, HOW, journal_part(context.onto, record.head, record.base, HOW)
    )
    used = await context.target.used_by_git()
    contract = context.store.contract(record.id)
    found = await sensitive_changes(context.workspace, record.base, record.head, used, contract)
    if refused := await ask_consent(context, candidate, found):
        return refused
    forge = _forge(context)
    await asyncio.to_thread(forge.ready)
    there = await asyncio.to_thread(forge.offered, record.branch)
    same = there is not None and there.state == "open" and (there.head, there.draft) == (record.head, draft)
    if there is None or not same:
        work = await pull_request_work(
            context.store, record, context.workspace, proven=proven, draft=draft, onto=context.onto
        )
        there = await offer_pull_request(forge, context.workspace, work)
    if there.state != "open":
        why = f"the pull request of {record.branch}, {there.url}, is {there.state} and was not changed"
        return context.result(code=1, why=why, then="reopen it, or land with --onto BRANCH", url=there.url)
    event = PullRequestOffered(
        onto=context.onto, draft=draft, url=there.url, number=there.number, commit=record.head, who=context.request.who
    )
    context.store.writer(record).emit(event, f"offer {record.branch}")
    said = (f"{there.url} shows this commit already",) if same else ()
    if not forge.remote:
        said = (*said, await _push_without_forge(context, there.url))
    return context.result(landed=True, how=HOW, commit=record.head, said=said, asks=found.files, url=there.url)


async def _push_without_forge(context: LandingContext, file: str) -> str:
    """Push the branch to a remote where trued cannot open pull requests. Return what a person has to do. `file`: the
    file with the text of the pull request."""
    record, settings = context.record, context.inputs.settings.forge
    address = "" if settings.kind == "local" else remote_address(Path(record.repository), settings.remote)
    if not address:
        return f"nothing was pushed: no remote is set; the text of the pull request is in {file}"
    if why := await context.workspace.push(settings.remote, record.head, f"refs/heads/{record.branch}"):
        raise BadInput(why, then=f"push {record.branch} yourself; the text of the pull request is in {file}")
    pushed = f"{record.branch} is pushed to {settings.remote}; trued opens pull requests on GitHub only"
    return f"{pushed}: open it there, with the text in {file}"


def _forge(context: LandingContext) -> Forge:
    return forge_for(context.store, context.record, context.workspace)
