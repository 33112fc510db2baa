"""One agent call: provide a clone, place the order, wait for the report, commit what the agent left."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, takewhile
from pathlib import Path
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
    FreshSession,
    QuotaReported,
    ReportFound,
    TokenCount,
    from_runtime,
)
from trued.model.settings import agent_kind
from trued.protocols import AgentCommit, StoppableRuntime
from trued.run.backoff import GiveUp, PastWait, decide_wait, made_progress
from trued.run.briefs import brief_after_stop
from trued.run.budget import CallRequest, Reservation
from trued.run.comments import comments_after_stop, has_to_stop
from trued.run.context import RunContext
from trued.run.questions import answer_for_agent, question_text
from trued.run.state import Position
from trued.support.hashing import folder_name
from trued.support.plain_text import inert
from trued.wire import Confinement, EmitAgentEvent, Limits, Order, Report, Usage, add_usage

LAPSES = 20  # a call whose session cannot be resumed fails after the hub was out of reach this often
DEATHS = 20  # a call fails after dying this often in this process: something on the machine kills every attempt
UNREAD = 3  # a call fails after this many unreadable reports: each of them was paid for
QUESTIONS = 5  # at most this many questions from one call: an agent that asks more is not working
SUBJECT = 60  # at most this many characters of a ticket's summary in the first line of a commit
UNDONE_BYTES = 200_000  # at most this many bytes of an undone change are recorded, per file
PIECE_S = 30.0  # a longer wait is split into pieces: after each the clock is read, because the machine may have slept
PICTURES = "pictures"  # the folder below an agent's HOME for the pictures that it gets
LOOK_S = 0.5  # how often to check whether a person wants the call to be stopped
LATER = ("rate", "overloaded")  # the provider says "not now": counts neither as a failure nor as an attempt


class Equipment(Value):
    """What an agent gets besides its brief."""

    browser: tuple[str, ...] = ()  # the command that starts an MCP server, which drives a browser
    readable: tuple[str, ...] = ()  # paths of the machine that this server must be able to read
    pictures: dict[str, str] = {}  # noqa: RUF012  name → artifact: put into the folder `pictures` of the agent's HOME


class AgentRequest(Value):
    """What one agent is asked, fixed before its clone is made."""

    key: str
    role: Role
    agent: str
    brief: str
    reply_schema: dict[str, Any]
    session: str
    resume: bool
    clone: str
    anew: str = ""  # the brief to use if the session turns out to be lost
    native: str = ""
    before: Usage = Usage()
    about: str = ""  # the first line of the agent's commit message
    fixed: tuple[str, ...] = ()  # documents of people and of the engine: changes to them are undone
    only: tuple[str, ...] = ()  # the only files that the agent may write; empty: no such restriction
    equipment: Equipment = Equipment()

    @property
    def model(self) -> str:
        """The size of the role's model (small, medium or large), which every agent understands; the model's name if its
        size is unknown."""
        return size_of(self.role.model) or self.role.model


class AgentAnswer(Value):
    """The result of an agent request, as the step records it."""

    reply: dict[str, Any] | None
    failure: str = ""
    kind: str = ""  # the kind of failure
    head: str
    when: float
    changed: tuple[str, ...] = ()
    # path → what the agent wrote into a file that it may not change, now undone; None: it had removed the file
    undone: dict[str, str | None] = {}  # noqa: RUF012
    commands: tuple[str, ...] = ()  # commands that the agent ran, as far as it reports them
    resumed: bool = False
    clone: str = ""  # where the agent worked; dropped only after this answer is recorded
    native: str = ""
    usage: Usage = Usage()
    thread: Usage | None = None  # usage of the current session, without that of lost ones


@dataclass
class Exchange:
    """The state of one call until it has an answer: temporary refusals, questions, answers, restarts."""

    name: str  # the name of the next order; the first order has the name of the call
    brief: str
    resume: bool
    native: str
    interrupted: bool = False
    spent: Usage = field(default_factory=Usage)
    waits: list[PastWait] = field(default_factory=list)
    refusals: int = 0
    row: int = 0  # refusals in a row, without any work between them
    questions: int = 0
    stops: int = 0  # how often people stopped the call in order to comment
    answers: list[str] = field(default_factory=list)  # people's answers and comments that the agent got during the call
    died: int = 0  # attempts that left nothing; the next gets a new clone and a new session
    thread: Usage = field(default_factory=Usage)  # usage of the current session
    found: bool = False  # the last report was written before this process started: somebody has resumed the run since

    def full_brief(self, ask: AgentRequest) -> str:
        """The brief for an agent that knows nothing yet."""
        return "\n\n".join([ask.anew or ask.brief, *self.answers])

    def add(self, report: Report) -> None:
        """Add the usage of a report."""
        lost = bool(report.native) and not report.resumed
        self.spent, self.thread = (
            add_usage(self.spent, report.usage),
            add_usage(Usage() if lost else self.thread, report.usage),
        )

    def start_over(self) -> None:
        """Prepare an attempt with a new session."""
        self.died, self.thread = self.died + 1, Usage()
        self.resume, self.native, self.interrupted = False, "", False

    def continue_with(self, report: Report, name: str, brief: str, *, interrupted: bool) -> None:
        """Prepare the next order in the same session."""
        self.native = report.native or self.native
        self.resume = self.resume or bool(report.native)
        self.name, self.brief, self.interrupted = name, brief, interrupted and self.resume


async def call_agent(context: RunContext, here: Position, ask: AgentRequest) -> AgentAnswer:
    """Let the agent work, and commit what it left. If its process dies or its provider refuses for now, try again.
    Raises LimitReached if the budget is used up or waiting takes too long, AgentFailed if the call keeps dying."""
    brief, role = context.redact(ask.brief), ask.role.name
    asked = CallAsked(role=role, agent=ask.agent, brief=brief, chars=len(brief), resume=ask.resume)
    context.journal.emit(asked, ask.key)
    report, clone, exchange = await _exchange(context, here, ask)
    report = replace(report, reply=context.redact(report.reply), why=context.redact(report.why), usage=exchange.spent)
    report = replace(report, attempt=exchange.died + 1)
    taken = await _commit_work(context, here, ask, report, clone)
    context.journal.emit(_answer_event(context, ask, report, taken), ask.key)
    failure = "" if report.state == "done" else f"{ask.role.name} ({ask.agent}): {report.why or report.kind}"
    return AgentAnswer(
        reply=report.reply if report.state == "done" else None,
        failure=failure,
        kind=report.kind,
        head=taken.commit,
        when=max(here.when, report.ended),
        changed=taken.changed,
        undone=context.redact({path: _as_text(content) for path, content in taken.undone.items()}),
        commands=report.commands,
        resumed=report.resumed,
        clone=clone,
        native=report.native or exchange.native,
        usage=report.usage,
        thread=exchange.thread,
    )


async def _exchange(context: RunContext, here: Position, ask: AgentRequest) -> tuple[Report, str, Exchange]:
    call = folder_name(ask.key)
    exchange = Exchange(call, ask.brief, ask.resume, ask.native, thread=ask.before)
    if ask.resume and not context.has_session(ask.clone):
        exchange.resume, exchange.native, exchange.thread = False, "", Usage()
        why = "the agent's session is on another machine, so the agent gets all facts again"
        context.journal.emit(FreshSession(why=why), ask.key)
    while True:
        report, clone = await _work_until_reported(context, here, ask, exchange)
        exchange.add(report)
        if report.state == "stopped":
            await _continue_after_stop(context, ask, report, exchange)
            continue
        replied = str((report.reply or {}).get("question") or "") if context.asks_people else ""
        if question := report.question or replied:
            exchange.questions += 1
            # Past the limit, a question is still asked if somebody resumed the run after the agent asked it: they want
            # to answer.
            if exchange.questions > QUESTIONS and not exchange.found:
                return replace(report, state="failed", why=f"it asked more than {QUESTIONS} questions"), clone, exchange
            answer = await answer_for_agent(
                context, f"{ask.key}?{exchange.questions}", question_text(ask.role.name, context.redact(question))
            )
            exchange.answers.append(answer)
            exchange.continue_with(report, f"{call}.q{exchange.questions}", answer, interrupted=False)
        elif report.state == "failed" and report.kind in LATER:
            await _wait_for_provider(context, ask, report, exchange)
            exchange.continue_with(report, f"{call}.w{exchange.refusals}", exchange.brief, interrupted=True)
        elif report.state == "failed" and report.kind == "budget":
            exchange.refusals += 1
            # If the call used up the agent's own budget and not its reservation, trued cannot raise that budget. It
            # tries again after a resume, because the person may have raised it.
            if not context.budget.has_used_up(exchange.name) and not exchange.found:
                raise LimitReached(
                    f"{ask.key}: {report.why}; that budget is {ask.agent}'s own, and no limit of trued: raise it there,"
                    f" then `trued resume {context.run}` continues"
                )
            exchange.continue_with(report, f"{call}.w{exchange.refusals}", exchange.brief, interrupted=True)
        else:
            return report, clone, exchange


async def _continue_after_stop(context: RunContext, ask: AgentRequest, report: Report, exchange: Exchange) -> None:
    """Prepare an order that continues in the same session, with the comment of the person who stopped the call."""
    exchange.stops += 1
    comments = await comments_after_stop(context, ask.role.name, ask.key, exchange.stops)
    name = f"{folder_name(ask.key)}.c{exchange.stops}"
    if not comments:  # another call of the role got the comments meanwhile: continue with the interrupted brief
        exchange.continue_with(report, name, exchange.brief, interrupted=True)
        return
    brief = brief_after_stop(comments)
    exchange.answers.append(brief)
    exchange.continue_with(report, name, brief, interrupted=False)


async def _wait_for_provider(context: RunContext, ask: AgentRequest, report: Report, exchange: Exchange) -> None:
    """Wait as long as the provider says, or a sensible time if it does not. Waiting costs nothing."""
    exchange.refusals += 1
    if made_progress(report):
        exchange.row, exchange.waits = 0, []
    exchange.row += 1
    decided = decide_wait(report, exchange.row, exchange.waits, wait=context.settings.wait, now=time.time())
    if isinstance(decided, GiveUp):
        raise LimitReached(f"{ask.key}: {decided.why}; `trued resume {context.run}` continues")
    left = decided.until - time.time()
    if left <= 0:  # the time has passed already
        return
    waits = CallWaits(until=decided.until, why=decided.why, failure=report.kind, agent=ask.agent)
    context.journal.emit(waits, ask.key)
    while (still := decided.until - time.time()) > 0:  # noqa: ASYNC110 (a machine that slept meanwhile has waited enough)
        await asyncio.sleep(min(still, PIECE_S))
    exchange.waits.append(PastWait(left, has_provider_time=bool(report.until)))
    context.journal.emit(CallWaited(seconds=round(left, 1)), ask.key)


async def _work_until_reported(
    context: RunContext, here: Position, ask: AgentRequest, exchange: Exchange
) -> tuple[Report, str]:
    deaths = unread = lapses = 0

    def record_event(kind: str, /, **data: object) -> None:
        nonlocal deaths, unread, lapses
        event = from_runtime(kind, data)
        exchange.found = isinstance(event, ReportFound)
        if isinstance(event, CallDied):  # not emitted for deaths that an earlier process found: they do not count
            deaths += not event.lapsed
            lapses += event.lapsed
        unread += isinstance(event, CallFileCorrupted)
        context.journal.emit(event, ask.key)

    for attempt in count(1):
        clone = f"{ask.clone}.{exchange.died + 1}" if exchange.died else ask.clone
        wanted = CallRequest(exchange.name, attempt, ask.key, ask.role.name, ask.agent, ask.model)
        if context.is_begun_elsewhere(exchange.name, attempt):
            report = await _settle_lost(context, wanted, ask)
        elif await _stop_if_repeated_elsewhere(context, ask, exchange, wanted, record_event):
            report = _died(wanted, ask, "another machine made the call again meanwhile")
        else:
            async with context.budget.reserve(wanted) as reserved:
                # All orders of the call have the same token, so that they get the same clone: after a refusal the agent
                # continues with the files it left.
                work, home = await context.workspace.clone(
                    clone, here.head, token=f"{folder_name(ask.key)}.{exchange.died + 1}"
                )
                await _lay_pictures(context, ask.equipment.pictures, home)
                order = _order(context, ask, exchange, reserved)
                order = replace(order, folder=str(work), home=str(home))
                report = await _work_unless_stopped(context, ask, exchange, order, record_event)
                await context.journal.available()
                report = reserved.settle(report)
                if report.quota:
                    context.journal.emit(QuotaReported(agent=ask.agent, **report.quota), ask.key)
        if report.state != "died":
            for later in takewhile(partial(context.is_begun_elsewhere, exchange.name), count(attempt + 1)):
                lost = await _settle_lost(context, replace(wanted, attempt=later), ask)
                exchange.spent = add_usage(exchange.spent, lost.usage)
            return report, clone
        exchange.spent = add_usage(exchange.spent, report.usage)
        exchange.start_over()
        if deaths >= DEATHS:
            raise AgentFailed(f"{ask.key}: the call died {deaths} times; something on this machine kills it")
        if lapses >= LAPSES:
            raise AgentFailed(
                f"{ask.key}: the hub was out of reach {lapses} times in mid-call; each further try costs a new call"
            )
        if unread >= UNREAD:
            why = "the disk is faulty, or a supervisor of another version wrote them"
            raise AgentFailed(f"{ask.key}: {unread} reports could not be read: {why}")
        await context.workspace.drop_clone(clone, f"attempt {attempt} died")
        context.journal.emit(CallRepeated(attempt=attempt + 1, why=report.why), ask.key)
    raise AssertionError("there is always a next attempt")


async def _settle_lost(context: RunContext, request: CallRequest, ask: AgentRequest) -> Report:
    """Settle an attempt that began on another machine: its usage there is unknown."""
    await context.journal.available()
    lost = _died(request, ask, "another machine began it and did not finish it")
    return context.budget.existing_reservation(request).settle(lost)


async def _stop_if_repeated_elsewhere(
    context: RunContext, ask: AgentRequest, exchange: Exchange, request: CallRequest, tell: EmitAgentEvent
) -> bool:
    """Stop the agent of this attempt, which began here, if another machine has settled the attempt and made the next
    one. Returns whether it was stopped: then it must not be started again. It is not if the attempt's report is already
    here, because the report can still be used."""
    runtime = context.runtime
    if not context.is_begun_elsewhere(request.call, request.attempt + 1) or not isinstance(runtime, StoppableRuntime):
        return False
    order = _order(context, ask, exchange, context.budget.existing_reservation(request))
    return (await runtime.stop(order, tell)).state == "stopped"


def _died(request: CallRequest, ask: AgentRequest, why: str) -> Report:
    return Report(request.call, request.attempt, "died", why=why, session=ask.session, usage=Usage(estimated=True))


async def _work_unless_stopped(
    context: RunContext, ask: AgentRequest, exchange: Exchange, order: Order, tell: EmitAgentEvent
) -> Report:
    """The report of the order; its state is "stopped" if a person stopped the call to comment."""

    def is_stop_wanted() -> bool:
        return has_to_stop(context, ask.role.name, ask.key, exchange.stops + 1)

    began = time.time()
    if not is_stop_wanted():
        working = asyncio.ensure_future(context.runtime.work(order, tell))
        try:
            while not working.done() and not is_stop_wanted():
                await asyncio.wait({working}, timeout=LOOK_S)
                await context.journal.available()
            if working.done():
                return working.result()
        finally:
            working.cancel()
            await asyncio.wait({working})
    if isinstance(context.runtime, StoppableRuntime):
        return await context.runtime.stop(order, tell)
    native = order.session if context.runtime.capabilities.chosen_session else ""
    return Report(
        order.call,
        order.attempt,
        "stopped",
        session=order.session,
        native=native,
        resumed=order.resume,
        began=began,
        ended=time.time(),
    )


async def _lay_pictures(context: RunContext, pictures: Mapping[str, str], home: Path) -> None:
    for name, artifact in pictures.items():
        if content := await context.workspace.load_artifact(artifact):
            (home / PICTURES).mkdir(exist_ok=True)
            (home / PICTURES / Path(name).name).write_bytes(content)


def _order(context: RunContext, ask: AgentRequest, exchange: Exchange, reserved: Reservation) -> Order:
    settings = context.settings
    return Order(
        run=context.run,
        key=ask.key,
        call=exchange.name,
        attempt=reserved.request.attempt,
        role=ask.role.name,
        agent=ask.agent,
        brief=exchange.brief if exchange.resume else exchange.full_brief(ask),
        schema=ask.reply_schema,
        session=ask.session,
        resume=exchange.resume,
        folder="",
        home="",
        tools=ask.role.tools,
        browser=ask.equipment.browser if "browser" in ask.role.tools else (),
        model=ask.model,
        native=exchange.native,
        interrupted=exchange.interrupted,
        anew=exchange.full_brief(ask) if exchange.resume else "",
        before=exchange.thread,
        bring=agent_kind(ask.agent) in settings.bring,
        login=settings.login_of(ask.agent),
        prompts=settings.prompts,
        allowance=reserved.allowance,
        price=reserved.price,
        limits=Limits(idle_s=settings.idle_s, wall_s=reserved.wall_s(settings.wall_s)),
        confinement=_confinement(context, ask),
    )


def _confinement(context: RunContext, ask: AgentRequest) -> Confinement:
    usual = context.workspace.confinement()
    return replace(usual, readable=(*usual.readable, *ask.equipment.readable)) if ask.equipment.readable else usual


async def _commit_work(
    context: RunContext, here: Position, ask: AgentRequest, report: Report, clone: str
) -> AgentCommit:
    """Commit what the agent left. Work of a role that may not write, or of a failed call, is not committed; a rescue
    ref keeps it. An agent's own documents (`only`) are committed even if the call failed: people read them, and they
    decide nothing."""
    if not ask.role.writes or (report.state != "done" and not ask.only):
        return AgentCommit(here.head, ())
    return await context.workspace.commit_clone(
        clone,
        here.head,
        author=ask.role.name,
        message=_commit_message(context, ask),
        when=report.ended,
        fixed=ask.fixed,
        only=ask.only,
    )


def _commit_message(context: RunContext, ask: AgentRequest) -> str:
    """The commit message: what the commit is about, then who made it."""
    who, ticket = f"{ask.role.name}: {ask.key}", context.ticket
    first = f"{ticket.kind}: {inert(ticket.summary[:SUBJECT])} ({ticket.key})" if ticket else context.redact(ask.about)
    return f"{first}\n\n{who}" if first else who


def _as_text(content: bytes | None) -> str | None:
    return None if content is None else content[:UNDONE_BYTES].decode(errors="replace")


def _answer_event(context: RunContext, ask: AgentRequest, report: Report, taken: AgentCommit) -> CallAnswered:
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
