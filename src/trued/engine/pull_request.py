"""What a pull request tells of a run, gathered from its journal: the same whoever offers it, and whenever."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trued.engine.pull_request_body import Round, Spent, Work, offered, rounds_told
from trued.engine.sensitive_files import entrusted
from trued.integrations.forges import forge_of
from trued.integrations.forges.local import LocalForge
from trued.model import Event, Evidence, Grade, RunRecord, Ticket, Verdict
from trued.proof.contract import contract_hash, is_success
from trued.protocols import Forge, Offered
from trued.support import atomic_files as durable
from trued.workspace.git.workspace import GitWorkspace

if TYPE_CHECKING:
    from trued.engine.engine import Engine

PR_AGENT = "pr-agent"
ROUNDS = "ROUNDS.md"
CHARACTERS = 4  # of a token, about
JUDGED = ("prove#", "finish#")
_MARKS = {"ceiling": "≤", "computed": "~"}


def forge_for(engine: "Engine", record: RunRecord, workspace: GitWorkspace) -> Forge:
    """Where the run's work is offered; pictures of a pull request that is a file come from the private store."""
    folder = engine.folder(record.id) / "files"
    settings = engine.inputs(record.id).settings.forge
    forge = forge_of(settings, engine.environ, Path(record.repository), folder)
    return LocalForge(folder, workspace.store.folder) if forge.name == LocalForge.name else forge


async def offered_run(
    engine: "Engine", record: RunRecord, workspace: GitWorkspace, *, draft: bool
) -> Offered | Mapping[str, str]:
    """The run's finished head as a pull request, while it is still being driven; or the files of it that ask for trust
    (what would run by itself once it is pushed), with the reasons: then a person lands it."""
    verdict = engine.verdict(record.id) or Verdict.open("nothing was judged")
    record = record.model_copy(update={"head": verdict.commit})
    if asking := (await entrusted(workspace, record.base, record.head)).files:
        return asking
    accept = engine.inputs(record.id).settings.accept
    work = await work_of(engine, record, workspace, proven=is_success(verdict, accept), draft=draft)
    return await offered(forge_for(engine, record, workspace), workspace, work)


async def work_of(
    engine: "Engine", record: RunRecord, workspace: GitWorkspace, *, proven: bool, draft: bool, onto: str = ""
) -> Work:
    inputs, events = engine.inputs(record.id), engine.journal.events(record.id)
    verdict = engine.verdict(record.id) or Verdict.open("nothing was judged")
    if verdict.commit and verdict.commit != record.head:  # it belongs to that commit alone
        verdict = Verdict.open(f"nothing was judged since {verdict.commit[:12]}")
    contract, ticket = engine.contract(record.id), inputs.ticket
    accept, words = inputs.settings.accept, _words(events)
    trusted = await entrusted(workspace, record.base, record.head)
    return Work(
        run=record.id,
        branch=record.branch,
        onto=onto or inputs.onto,
        head=record.head,
        title=str(words.get("title") or record.title),
        verdict=verdict,
        proven=proven,
        contract=contract_hash(contract) if contract else "",
        bar=f"the bar was lowered to {accept}" if accept.rank < Grade.ATTESTED.rank else "",
        key=ticket.key if ticket else "",
        url=ticket.source.file if ticket and ticket.source.file.startswith("http") else "",
        words=str(words.get("body") or ""),
        by=PR_AGENT,
        rounds=tuple(rounds(events)),
        spent=(*leading(ticket, events), *spent(events)),
        evidence=tuple(_evidence(engine, record.id, contract.base_facts if contract else ())),
        claimed=tuple(_claimed(events)),
        said=(*(f"{path} asks for trust: {why}" for path, why in trusted.files.items()), *_said(ticket, events)),
        draft=draft,
        when=record.created_at,
    )


def write_rounds(engine: "Engine", record: RunRecord) -> None:
    """The rounds of a ticket for people: a view, made anew whenever the run ends."""
    events = engine.journal.events(record.id)
    if told := tuple(rounds(events)):
        folder = engine.folder(record.id) / "files"
        folder.mkdir(parents=True, exist_ok=True)
        durable.write(
            folder / ROUNDS,
            rounds_told(told, (*leading(engine.inputs(record.id).ticket, events), *spent(events))),
            sync=False,
        )


def _words(events: Sequence[Event]) -> dict[str, Any]:
    """The last that an agent wrote for people, where one did."""
    told = [one.data for one in events if one.kind == "answered" and one.data.get("role") == PR_AGENT]
    done = [one["reply"] for one in told if one.get("state") == "done" and isinstance(one.get("reply"), dict)]
    return done[-1] if done else {}


def rounds(events: Sequence[Event]) -> Iterator[Round]:
    """Round by round, each told once or twice and counted once."""
    found = {int(one.data.get("number", 0)): one.data for one in events if one.kind == "round"}
    mended = {int(one.data.get("number", 0)): one.data for one in events if one.kind == "mended"}
    for number, data in sorted(found.items()):
        after = mended.get(number, {})
        beyond = [
            f"{one.get('path', '')}: {one.get('why') or 'no reason was given'}" for one in after.get("beyond") or ()
        ]
        yield Round(
            number=number,
            issues=tuple(map(str, data.get("open") or ())),
            fate=str(data.get("fate") or ""),
            mended=str(after.get("summary") or ""),
            beyond=tuple(beyond),
        )


def spent(events: Sequence[Event]) -> Iterator[Spent]:
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


def leading(ticket: Ticket | None, events: Sequence[Event]) -> Iterator[Spent]:
    """What whoever leads the agents of a ticket holds: its summary and theirs, and nothing else."""
    if ticket is None:
        return
    replies = [
        one.data["reply"] for one in events if one.kind == "answered" and isinstance(one.data.get("reply"), dict)
    ]
    said = [str(one.get(name) or "") for one in replies for name in ("summary", "changes_summary")]
    found = [str(sentence) for one in events if one.kind == "round" for sentence in one.data.get("open") or ()]
    characters = sum(map(len, (ticket.key, ticket.summary, ticket.branch, *said, *found)))
    yield Spent("orchestrator", "trued", peak=characters // CHARACTERS, mark="~")


def _evidence(engine: "Engine", run_id: str, base: Sequence[Evidence]) -> Iterator[Evidence]:
    """Everything that was ever run for it, in order."""
    yield from base
    for key, _, _ in engine.journal.steps(run_id):
        if key.rpartition("/")[2].startswith(JUDGED):
            yield from Verdict.model_validate_json(engine.journal.step(run_id, key) or "").evidence


def _claimed(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    for one in events:
        if one.kind == "pictures claimed":
            yield from ((str(name), str(digest)) for name, digest in (one.data.get("pictures") or {}).items())


def _said(ticket: Ticket | None, events: Sequence[Event]) -> Iterator[str]:
    """What the ticket does not say, what an agent said that is not so, what could not be looked at."""
    yield from (f"the ticket does not say: {one}" for one in (ticket.missing if ticket else ()))
    for one in events:
        if one.kind == "claim refuted":
            yield f"an implementer's claim: {one.data.get('what', '')}"
        elif one.kind == "preview" and one.data.get("why"):
            yield f"preview {one.data.get('url') or ''}: {one.data['why']}"
