"""Offers a run's commit as a pull request: pushed in the user's name, opened once, brought up to date later."""

import asyncio

from trued.engine.landing.consent import not_agreed
from trued.engine.landing.records import Candidate, Ground, Landing, part_of
from trued.engine.pull_request import forge_for, work_of
from trued.engine.pull_request_body import offered
from trued.engine.sensitive_files import entrusted
from trued.errors import BadInput
from trued.model.events.landing import PullRequestOffered
from trued.protocols import Forge
from trued.workflows.registry import descriptor

HOW = "pull request"


def is_offered(ground: Ground) -> bool:
    """Work of some workflows goes to the forge, if there is one; all other work lands on a branch."""
    return descriptor(ground.inputs.settings.workflow).offers_pull_request and bool(_forge(ground).remote)


async def offer(ground: Ground, *, proven: bool) -> Landing:
    """Push the commit and open its pull request, or bring the open one up to date. Unproven work is a draft."""
    record, draft = ground.record, ground.wanted.draft
    if not proven and not draft:
        raise BadInput(f"run {record.id} is not proven", then="--draft offers it, and its title says so")
    candidate = Candidate(record.head, record.base, HOW, part_of(ground.onto, record.head, record.base, HOW))
    found = await entrusted(ground.workspace, record.base, record.head)
    if refused := await not_agreed(ground, candidate, found):
        return refused
    forge = _forge(ground)
    await asyncio.to_thread(forge.ready)
    there = await asyncio.to_thread(forge.offered, record.branch)
    same = there is not None and there.state == "open" and (there.head, there.draft) == (record.head, draft)
    if there is None or not same:
        work = await work_of(ground.store, record, ground.workspace, proven=proven, draft=draft, onto=ground.onto)
        there = await offered(forge, ground.workspace, work)
    if there.state != "open":
        why = f"the pull request of {record.branch}, {there.url}, is {there.state}, and is not touched"
        return ground.result(code=1, why=why, then="reopen it, or land with --onto BRANCH", url=there.url)
    event = PullRequestOffered(
        onto=ground.onto, draft=draft, url=there.url, number=there.number, commit=record.head, who=ground.wanted.who
    )
    ground.store.writer(record).emit(event, f"offer {record.branch}")
    said = (f"{there.url} shows this commit already",) if same else ()
    return ground.result(landed=True, how=HOW, commit=record.head, said=said, asks=found.files, url=there.url)


def _forge(ground: Ground) -> Forge:
    return forge_for(ground.store, ground.record, ground.workspace)
