"""Offers a run's commit as a pull request: pushed in the user's name, opened once, brought up to date later."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from .. import proof
from ..edges import Forge
from ..errors import BadInput
from ..forges import forge_of
from ..offering import Spent, Work, offered
from ..types import Event, Grade, Verdict
from .agreeing import not_agreed
from .entrusted import entrusted
from .landings import Candidate, Ground, Landing, part_of

HOW = "pull request"
TICKET = "ticket"  # the workflow whose work is offered, where there is a forge
_MARKS = {"ceiling": "≤", "computed": "~"}


def is_offered(ground: Ground) -> bool:
    """Work on a ticket goes to the forge, if there is one; all other work lands on a branch."""
    return ground.inputs.settings.workflow == TICKET and bool(_forge(ground).remote)


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
        work = _work(ground, proven=proven)
        there = await offered(forge, ground.workspace, work, lambda name: _kept(ground, name))
    if there.state != "open":
        why = f"the pull request of {record.branch}, {there.url}, is {there.state}, and is not touched"
        return ground.result(code=1, why=why, then="reopen it, or land with --onto BRANCH", url=there.url)
    facts = {"url": there.url, "number": there.number, "commit": record.head, "who": ground.wanted.who}
    ground.engine._of(record).tell("offered", f"offer {record.branch}", onto=ground.onto, draft=draft, **facts)
    said = (f"{there.url} shows this commit already",) if same else ()
    return ground.result(landed=True, how=HOW, commit=record.head, said=said, asks=found.files, url=there.url)


def _forge(ground: Ground) -> Forge:
    folder = ground.engine.folder(ground.record.id) / "files"
    return forge_of(ground.inputs.settings.forge, ground.engine.environ, Path(ground.record.repository), folder)


def _kept(ground: Ground, name: str) -> bytes | None:
    file = ground.engine.folder(ground.record.id) / "artifacts" / name
    return file.read_bytes() if file.is_file() else None


def _work(ground: Ground, *, proven: bool) -> Work:
    record, accept = ground.record, ground.inputs.settings.accept
    verdict = ground.engine.verdict(record.id) or Verdict.open("nothing was judged")
    lowered = f"the bar was lowered to {accept}" if accept.rank < Grade.ATTESTED.rank else ""
    return Work(
        run=record.id,
        branch=record.branch,
        onto=ground.onto,
        head=record.head,
        title=record.title,
        verdict=verdict,
        proven=proven,
        contract=proof.contract_hash(ground.contract),
        bar=lowered,
        spent=tuple(spent(ground.engine.journal.events(record.id))),
        evidence=(*ground.contract.base_facts, *verdict.evidence),
        draft=ground.wanted.draft,
        when=record.updated_at,
    )


def spent(events: list[Event]) -> Iterator[Spent]:
    """What every agent used in every role, by what was told of its calls."""
    told = [event.data for event in events if event.kind == "answered"]
    for role, agent in dict.fromkeys((str(one.get("role", "")), str(one.get("agent", ""))) for one in told):
        own = [one for one in told if (one.get("role"), one.get("agent")) == (role, agent)]
        used = [one.get("tokens") or {} for one in own]
        marks = [_MARKS.get(str(one.get("cost")), "") for one in own]
        estimated = any(one.get("estimated") for one in used)
        yield Spent(
            role=role,
            agent=agent,
            calls=len(own),
            tokens_in=sum(int(one.get("in", 0)) for one in used),
            tokens_out=sum(int(one.get("out", 0)) for one in used),
            cached=sum(int(one.get("cached", 0)) for one in used),
            peak=max((int(one.get("peak", 0)) for one in used), default=0),
            usd=sum(float(one.get("cost_usd") or 0.0) for one in own),
            mark="≤" if "≤" in marks else "~" if "~" in marks or estimated else "",
        )
