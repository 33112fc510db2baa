"""One agent call: a clone, an order, a report, and the commit of what was left."""

import asyncio
import time
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from trued.agents.roles.tools import size_of
from trued.errors import AgentFailed, LimitReached
from trued.model import Role, Value
from trued.model.events.call import (
    CallAnswered,
    CallAsked,
    CallDied,
    CallFileCorrupted,
    CallRepeated,
    CallWaited,
    CallWaits,
    QuotaReported,
    ReportFound,
    TokenCount,
    from_runtime,
)
from trued.protocols import Taken
from trued.run.backoff import GiveUp, Waited, got_further, patience
from trued.run.budget import Reserved, Wanted
from trued.run.context import RunContext
from trued.run.questions import answer_for_agent
from trued.run.state import Position
from trued.support.hashing import folder_name
from trued.support.redaction import inert
from trued.wire import Limits, Order, Report, Usage, total

DEATHS = 20  # in one drive, and only from outside: this ends a machine that kills everything, and nothing else
UNREAD = 3  # reports of one call that cannot be read: each of them was paid for
QUESTIONS = 5  # of one call: an agent that asks more is not working
SUBJECT = 60  # characters of a ticket's summary in a commit's first line
UNDONE_BYTES = 200_000  # of one file that was not the agent's to write
PIECE_S = 30.0  # of a wait: then the clock is looked at again
LATER = ("rate", "overloaded")  # the provider's word for "not now": neither a failure nor an attempt


class Ask(Value):
    """What one agent is asked, settled before its clone is made."""

    key: str
    role: Role
    agent: str
    brief: str
    reply_schema: dict[str, Any]
    session: str
    resume: bool
    clone: str
    anew: str = ""  # the brief for a session that turns out to be lost
    native: str = ""
    before: Usage = Usage()
    about: str = ""  # what it works on, as the first line of a commit
    fixed: tuple[str, ...] = ()  # files that are not the agent's: what it does to them is undone
    only: tuple[str, ...] = ()  # all that is the agent's, where that is not everything else

    @property
    def model(self) -> str:
        """By size where the role's word has one: `sonnet` means something to one agent only."""
        return size_of(self.role.model) or self.role.model


class Answered(Value):
    """What came of it: recorded as the step's result."""

    reply: dict[str, Any] | None
    failure: str = ""
    kind: str = ""  # of failure
    head: str
    when: float
    changed: tuple[str, ...] = ()
    undone: dict[str, str | None] = {}  # noqa: RUF012  what it wrote into files that are not its own; None: it took them away
    commands: tuple[str, ...] = ()  # that it ran, as far as it tells
    resumed: bool = False
    clone: str = ""  # where it worked: dropped only after this has been recorded
    native: str = ""
    usage: Usage = Usage()
    thread: Usage | None = None  # all of the session that it ended in: one that was lost does not count


@dataclass
class Exchange:
    """What goes back and forth until there is an answer: calls that were refused for a while, questions, answers."""

    name: str  # of the next order: the first has the call's own name
    brief: str
    resume: bool
    native: str
    interrupted: bool = False
    spent: Usage = field(default_factory=Usage)
    waits: list[Waited] = field(default_factory=list)
    refusals: int = 0
    row: int = 0  # refusals without any work between them
    questions: int = 0
    answers: list[str] = field(default_factory=list)
    died: int = 0  # attempts of which nothing is left: whoever comes next has a clone and a session of its own
    thread: Usage = field(default_factory=Usage)  # of the session that it is in
    found: bool = False  # the last report was there before this process came

    def whole(self, ask: Ask) -> str:
        """For an agent that knows of nothing."""
        return "\n\n".join([ask.anew or ask.brief, *self.answers])

    def count(self, report: Report) -> None:
        lost = bool(report.native) and not report.resumed
        self.spent, self.thread = total(self.spent, report.usage), total(Usage() if lost else self.thread, report.usage)

    def begins_anew(self) -> None:
        self.died, self.thread = self.died + 1, Usage()
        self.resume, self.native, self.interrupted = False, "", False

    def goes_on(self, report: Report, name: str, brief: str, *, interrupted: bool) -> None:
        self.native = report.native or self.native
        self.resume = self.resume or bool(report.native)
        self.name, self.brief, self.interrupted = name, brief, interrupted and self.resume


async def answered(context: RunContext, here: Position, ask: Ask) -> Answered:
    """Let the agent work, however often its process dies or its provider says no, and take what it left."""
    brief, role = context.redact(ask.brief), ask.role.name
    asked = CallAsked(role=role, agent=ask.agent, brief=brief, chars=len(brief), resume=ask.resume)
    context.journal.emit(asked, ask.key)
    report, clone, exchange = await _exchanged(context, here, ask)
    report = replace(report, reply=context.redact(report.reply), why=context.redact(report.why), usage=exchange.spent)
    report = replace(report, attempt=exchange.died + 1)
    taken = await _taken(context, here, ask, report, clone)
    context.journal.emit(_answer_event(context, ask, report, taken), ask.key)
    failure = "" if report.state == "done" else f"{ask.role.name} ({ask.agent}): {report.why or report.kind}"
    return Answered(
        reply=report.reply if report.state == "done" else None,
        failure=failure,
        kind=report.kind,
        head=taken.commit,
        when=max(here.when, report.ended),
        changed=taken.changed,
        undone=context.redact({path: _readable(content) for path, content in taken.undone.items()}),
        commands=report.commands,
        resumed=report.resumed,
        clone=clone,
        native=report.native or exchange.native,
        usage=report.usage,
        thread=exchange.thread,
    )


async def _exchanged(context: RunContext, here: Position, ask: Ask) -> tuple[Report, str, Exchange]:
    call = folder_name(ask.key)
    exchange = Exchange(call, ask.brief, ask.resume, ask.native, thread=ask.before)
    while True:
        report, clone = await _reported(context, here, ask, exchange)
        exchange.count(report)
        if question := report.question or str((report.reply or {}).get("question") or ""):
            exchange.questions += 1
            if exchange.questions > QUESTIONS and not exchange.found:  # who resumes wants to answer
                return replace(report, state="failed", why=f"it asked more than {QUESTIONS} questions"), clone, exchange
            answer = await answer_for_agent(
                context, f"{ask.key}?{exchange.questions}", f"{ask.role.name} asks: {context.redact(question)}"
            )
            exchange.answers.append(answer)
            exchange.goes_on(report, f"{call}.q{exchange.questions}", answer, interrupted=False)
        elif report.state == "failed" and report.kind in LATER:
            await _later(context, ask, report, exchange)
            exchange.goes_on(report, f"{call}.w{exchange.refusals}", exchange.brief, interrupted=True)
        elif report.state == "failed" and report.kind == "budget":
            exchange.refusals += 1
            # An agent's own budget is nothing that we can raise; but who resumes has done something about it.
            if not context.budget.raised(exchange.name) and not exchange.found:
                raise LimitReached(f"{ask.key}: {report.why}; `trued resume {context.run} --limit …` goes on with more")
            exchange.goes_on(report, f"{call}.w{exchange.refusals}", exchange.brief, interrupted=True)
        else:
            return report, clone, exchange


async def _later(context: RunContext, ask: Ask, report: Report, exchange: Exchange) -> None:
    """Wait as long as the provider says, or as is sensible where it does not; nobody is charged for it."""
    exchange.refusals += 1
    if got_further(report):
        exchange.row, exchange.waits = 0, []
    exchange.row += 1
    decided = patience(report, exchange.row, exchange.waits, wait=context.settings.wait, now=time.time())
    if isinstance(decided, GiveUp):
        raise LimitReached(f"{ask.key}: {decided.why}; `trued resume {context.run}` goes on")
    left = decided.until - time.time()
    if left <= 0:  # it was waited for before we came back
        return
    waits = CallWaits(until=decided.until, why=decided.why, failure=report.kind, agent=ask.agent)
    context.journal.emit(waits, ask.key)
    while (still := decided.until - time.time()) > 0:  # noqa: ASYNC110 (a machine that slept meanwhile has waited, too)
        await asyncio.sleep(min(still, PIECE_S))
    exchange.waits.append(Waited(left, told=bool(report.until)))
    context.journal.emit(CallWaited(seconds=round(left, 1)), ask.key)


async def _reported(context: RunContext, here: Position, ask: Ask, exchange: Exchange) -> tuple[Report, str]:
    deaths = unread = 0

    def tell(kind: str, /, **data: object) -> None:
        nonlocal deaths, unread
        event = from_runtime(kind, data)
        exchange.found = isinstance(event, ReportFound)
        deaths += isinstance(event, CallDied)  # attempts of earlier resumes that ended badly do not count again
        unread += isinstance(event, CallFileCorrupted)
        context.journal.emit(event, ask.key)

    for attempt in count(1):
        clone = f"{ask.clone}.{exchange.died + 1}" if exchange.died else ask.clone
        wanted = Wanted(exchange.name, attempt, ask.key, ask.role.name, ask.agent, ask.model)
        async with context.budget.reserved(wanted) as reserved:
            # One token for all orders of the call: what the agent left when it was refused is what it goes on with.
            work, home = await context.workspace.clone(
                clone, here.head, token=f"{folder_name(ask.key)}.{exchange.died + 1}"
            )
            order = _order(context, ask, exchange, reserved)
            order = replace(order, folder=str(work), home=str(home))
            report = reserved.settled(await context.runtime.work(order, tell))
            if report.quota:
                context.journal.emit(QuotaReported(agent=ask.agent, **report.quota), ask.key)
        if report.state != "died":
            return report, clone
        exchange.spent = total(exchange.spent, report.usage)
        exchange.begins_anew()
        if deaths >= DEATHS:
            raise AgentFailed(f"{ask.key}: the call died {deaths} times; something on this machine ends it")
        if unread >= UNREAD:
            why = "the disk, or a supervisor of another version, writes what cannot be read"
            raise AgentFailed(f"{ask.key}: {unread} reports could not be read: {why}")
        await context.workspace.drop(clone, f"attempt {attempt} died")
        context.journal.emit(CallRepeated(attempt=attempt + 1, why=report.why), ask.key)
    raise AssertionError("there is always a next attempt")


def _order(context: RunContext, ask: Ask, exchange: Exchange, reserved: Reserved) -> Order:
    settings = context.settings
    return Order(
        run=context.run,
        key=ask.key,
        call=exchange.name,
        attempt=reserved.wanted.attempt,
        role=ask.role.name,
        agent=ask.agent,
        brief=exchange.brief if exchange.resume else exchange.whole(ask),
        schema=ask.reply_schema,
        session=ask.session,
        resume=exchange.resume,
        folder="",
        home="",
        tools=ask.role.tools,
        model=ask.model,
        native=exchange.native,
        interrupted=exchange.interrupted,
        anew=exchange.whole(ask) if exchange.resume else "",
        before=exchange.thread,
        bring=ask.agent.partition(":")[0] in settings.bring,
        login=settings.login_of(ask.agent),
        prompts=settings.prompts,
        allowance=reserved.allowance,
        price=reserved.price,
        limits=Limits(idle_s=settings.idle_s, wall_s=reserved.wall_s(settings.wall_s)),
        confinement=context.workspace.confinement(),
    )


async def _taken(context: RunContext, here: Position, ask: Ask, report: Report, clone: str) -> Taken:
    """A role that may not write, and a call that failed, leave nothing on the line: a rescue ref keeps it. An agent's
    own documents are taken whatever it said in the end: they are for reading, and decide nothing."""
    if not ask.role.writes or (report.state != "done" and not ask.only):
        return Taken(here.head, ())
    return await context.workspace.take(
        clone,
        here.head,
        author=ask.role.name,
        message=_message(context, ask),
        when=report.ended,
        fixed=ask.fixed,
        only=ask.only,
    )


def _message(context: RunContext, ask: Ask) -> str:
    """What it is about, to those who read the history later; then who it was."""
    who, ticket = f"{ask.role.name}: {ask.key}", context.ticket
    first = f"{ticket.kind}: {inert(ticket.summary[:SUBJECT])} ({ticket.key})" if ticket else context.redact(ask.about)
    return f"{first}\n\n{who}" if first else who


def _readable(content: bytes | None) -> str | None:
    return None if content is None else content[:UNDONE_BYTES].decode(errors="replace")


def _answer_event(context: RunContext, ask: Ask, report: Report, taken: Taken) -> CallAnswered:
    usage = report.usage
    return CallAnswered(
        role=ask.role.name,
        agent=ask.agent,
        state=report.state,
        kind=report.kind,
        why=report.why,
        reply=report.reply,
        attempts=report.attempt,
        asks=report.asks,
        resumed=report.resumed,
        reaped=report.reaped,
        commit=taken.commit,
        changed=tuple(context.redact(list(taken.changed))),
        tokens=TokenCount(
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            cached=usage.tokens_cached,
            peak=usage.peak,
            estimated=usage.estimated,
        ),
        cost_usd=usage.cost_usd,
        cost=usage.cost,
        requests=usage.requests,
        compactions=usage.compactions,
        began=report.began,
        ended=report.ended,
    )
