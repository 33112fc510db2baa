"""One agent call: provide a clone, place the order, wait for the report, commit what the agent left."""

import asyncio
import time
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from trued.agents.roles.tools import size_of
from trued.errors import AgentFailed, LimitReached
from trued.model import Role, Value
from trued.model.events import JournalEvent
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
from trued.run.briefs.brief import brief_after_stop
from trued.run.budget import AttemptRequest, Reservation
from trued.run.comments import comments_after_stop, has_to_stop
from trued.run.context import RunContext
from trued.run.questions import answer_for_agent, question_text
from trued.run.state import Position
from trued.support.hashing import folder_name
from trued.support.plain_text import inert
from trued.wire import Confinement, EmitAgentEvent, Order, ProcessLimits, Report, Usage, add_usage

LAPSES = 20  # a call fails if the hub was out of reach this often and its session could not be resumed
# A call fails after this many attempts at one order died in this process: something on the machine kills them. The
# limits nest: an attempt starts its agent at most `MOST_STARTS` times (`agents/spool/call_folder.py`), and each start
# restarts a killed program at most `MOST_RESTARTS` times (`agents/driver/streaming_runtime.py`).
MOST_ATTEMPTS = 20
UNREAD = 3  # a call fails after this many unreadable reports: each of them was paid for
QUESTIONS = 5  # most questions in one call: an agent that asks more is not working
SUBJECT = 60  # characters of a ticket's summary in the first line of a commit
UNDONE_BYTES = 200_000  # of each file whose change was undone, this many bytes are recorded
PIECE_S = 30.0  # a longer wait is split into pieces: after each the clock is read, because the machine may have slept
PICTURES = "pictures"  # the folder below an agent's HOME for the pictures that it gets
LOOK_S = 0.5  # how often to check whether a person wants the call to be stopped
LATER = ("rate", "overloaded")  # the provider says "not now": a refusal is neither a failure nor a lost attempt


class Equipment(Value):
    """What an agent gets besides its brief."""

    browser: tuple[str, ...] = ()  # the command that starts an MCP server, which drives a browser
    readable: tuple[str, ...] = ()  # paths on this machine that the MCP server must be able to read
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
    fresh_brief: str = ""  # the brief to use if the session turns out to be lost
    native: str = ""  # the agent's own id of the session; empty if it is not known
    before: Usage = Usage()  # usage of the session so far
    about: str = ""  # the first line of the agent's commit message, unless the run has a ticket
    fixed: tuple[str, ...] = ()  # documents of people and of the engine: changes to them are undone
    only: tuple[str, ...] = ()  # the only files that the agent may write; empty: no such restriction
    equipment: Equipment = Equipment()

    @property
    def model(self) -> str:
        """The model that the order names: the size of the role's model (small, medium or large), because every agent
        understands a size. If the size of the model is unknown: the model's name."""
        return size_of(self.role.model) or self.role.model


class AgentAnswer(Value):
    """The result of an agent request, as the step records it."""

    reply: dict[str, Any] | None
    failure: str = ""
    kind: str = ""  # the kind of failure
    head: str
    when: float
    changed: tuple[str, ...] = ()
    # path → what the agent wrote into a file that it may not change, now undone; None: the agent had removed the file
    undone: dict[str, str | None] = {}  # noqa: RUF012
    commands: tuple[str, ...] = ()  # commands that the agent ran, as far as the agent reports them
    resumed: bool = False
    clone: str = ""  # where the agent worked; dropped only after this answer is recorded
    native: str = ""
    usage: Usage = Usage()
    thread: Usage | None = None  # usage of the current session, without that of lost sessions


@dataclass
class CallProgress:
    """The state of one call until it has an answer: what its next order will say, and what has happened so far."""

    name: str  # the name of the next order; the first order has the name of the call
    brief: str
    resume: bool
    native: str
    interrupted: bool = False
    spent: Usage = field(default_factory=Usage)
    waits: list[PastWait] = field(default_factory=list)
    refusals: int = 0
    refusals_in_a_row: int = 0  # without any work between them
    questions: int = 0
    stops: int = 0  # how often people stopped the call in order to comment
    answers: list[str] = field(default_factory=list)  # people's answers and comments that the agent got during the call
    deaths: int = 0  # attempts that left nothing; the next attempt gets a new clone and a new session
    thread: Usage = field(default_factory=Usage)  # usage of the current session
    # The last report was written before this process started, so a person has resumed the run since.
    has_earlier_report: bool = False

    def full_brief(self, request: AgentRequest) -> str:
        """The brief for a new session: all facts, and what people answered or commented during the call."""
        return "\n\n".join([request.fresh_brief or request.brief, *self.answers])

    def add_report(self, report: Report) -> None:
        """Add a report's usage to `spent` (the whole call) and `thread` (only the current session)."""
        is_new_session = bool(report.native) and not report.resumed
        self.spent, self.thread = (
            add_usage(self.spent, report.usage),
            add_usage(Usage() if is_new_session else self.thread, report.usage),
        )

    def start_over(self) -> None:
        """Prepare an attempt with a new session."""
        self.deaths, self.thread = self.deaths + 1, Usage()
        self.resume, self.native, self.interrupted = False, "", False

    def continue_with(self, report: Report, name: str, brief: str, *, interrupted: bool) -> None:
        """Prepare the next order in the same session."""
        self.native = report.native or self.native
        self.resume = self.resume or bool(report.native)
        self.name, self.brief, self.interrupted = name, brief, interrupted and self.resume


@dataclass
class FailedAttempts:
    """How many attempts at one order failed in this process, by cause."""

    deaths: int = 0
    lapses: int = 0
    unread: int = 0

    def count(self, event: JournalEvent) -> None:
        """Count an event of the runtime, if it reports a failed attempt."""
        if isinstance(event, CallDied):  # deaths that an earlier process found do not count: they are not emitted here
            self.deaths += not event.lapsed
            self.lapses += event.lapsed
        self.unread += isinstance(event, CallFileCorrupted)

    def check_limits(self, key: str) -> None:
        """Raise AgentFailed if there were too many failed attempts for one cause."""
        if self.deaths >= MOST_ATTEMPTS:
            raise AgentFailed(f"{key}: the call died {self.deaths} times; something on this machine kills it")
        if self.lapses >= LAPSES:
            raise AgentFailed(
                f"{key}: the hub was out of reach {self.lapses} times in mid-call; each further try costs a new call"
            )
        if self.unread >= UNREAD:
            why = "the disk is faulty, or a supervisor of another version wrote them"
            raise AgentFailed(f"{key}: {self.unread} reports could not be read: {why}")


class AgentCall:
    """One call: the agent's work until it has an answer, and the commit of what it left.

    A call consists of orders: the first one, and one more after each question, comment or refusal. If the process of an
    attempt at an order dies, the order is attempted again, with a new clone and a new session.
    """

    def __init__(self, context: RunContext, position: Position, request: AgentRequest) -> None:
        self.context, self.position, self.request = context, position, request
        self.name = folder_name(request.key)
        self.progress = CallProgress(self.name, request.brief, request.resume, request.native, thread=request.before)

    async def run(self) -> AgentAnswer:
        """Let the agent work, and commit what it left. If its process dies or its provider refuses for now, try again.

        If the agent fails, the answer has no reply and says why. Raises LimitReached if the budget is used up or
        waiting takes too long, AgentFailed if too many attempts are lost, and Waiting if nobody answers its question.
        """
        context, request, progress = self.context, self.request, self.progress
        brief, role = context.redact(request.brief), request.role.name
        asked = CallAsked(role=role, agent=request.agent, brief=brief, chars=len(brief), resume=request.resume)
        context.journal.emit(asked, request.key)
        report, clone = await self._exchange()
        report = replace(
            report, reply=context.redact(report.reply), why=context.redact(report.why), usage=progress.spent
        )
        report = replace(report, attempt=progress.deaths + 1)
        commit = await self._commit_work(report, clone)
        context.journal.emit(self._answer_event(report, commit), request.key)
        failure = "" if report.state == "done" else f"{role} ({request.agent}): {report.why or report.kind}"
        return AgentAnswer(
            reply=report.reply if report.state == "done" else None,
            failure=failure,
            kind=report.kind,
            head=commit.commit,
            when=max(self.position.when, report.ended),
            changed=commit.changed,
            undone=context.redact({path: _as_text(content) for path, content in commit.undone.items()}),
            commands=report.commands,
            resumed=report.resumed,
            clone=clone,
            native=report.native or progress.native,
            usage=report.usage,
            thread=progress.thread,
        )

    # -- orders --------------------------------------------------------------------------------------------------------

    async def _exchange(self) -> tuple[Report, str]:
        """Give the agent order after order until an order ends with a final report. Returns the final report, and
        the clone of the attempt that left this report."""
        context, request, progress = self.context, self.request, self.progress
        if request.resume and not context.has_session(request.clone):
            progress.resume, progress.native, progress.thread = False, "", Usage()
            why = "the agent's session is on another machine, so the agent gets all facts again"
            context.journal.emit(FreshSession(why=why), request.key)
        while True:
            report, clone = await self._work_until_reported()
            progress.add_report(report)
            if report.state == "stopped":
                await self._continue_after_stop(report)
                continue
            reply_question = str((report.reply or {}).get("question") or "") if context.asks_people else ""
            if question := report.question or reply_question:
                progress.questions += 1
                # Past the limit, a question is still asked if a person resumed the run after the agent asked it: they
                # want to answer.
                if progress.questions > QUESTIONS and not progress.has_earlier_report:
                    return replace(report, state="failed", why=f"it asked more than {QUESTIONS} questions"), clone
                answer = await answer_for_agent(
                    context,
                    f"{request.key}?{progress.questions}",
                    question_text(request.role.name, context.redact(question)),
                )
                progress.answers.append(answer)
                progress.continue_with(report, f"{self.name}.q{progress.questions}", answer, interrupted=False)
            elif report.state == "failed" and report.kind in LATER:
                await self._wait_for_provider(report)
                progress.continue_with(report, f"{self.name}.w{progress.refusals}", progress.brief, interrupted=True)
            elif report.state == "failed" and report.kind == "budget":
                progress.refusals += 1
                # If the call used up the agent's own budget and not its reservation, trued cannot raise that budget.
                # After a resume trued tries again, because the person may have raised the budget.
                if not context.budget.has_used_up(progress.name) and not progress.has_earlier_report:
                    raise LimitReached(
                        f"{request.key}: {report.why}; this budget is {request.agent}'s own, not a limit of trued: "
                        f"raise it in {request.agent}'s settings, then `trued resume {context.run}` continues"
                    )
                progress.continue_with(report, f"{self.name}.w{progress.refusals}", progress.brief, interrupted=True)
            else:
                return report, clone

    async def _continue_after_stop(self, report: Report) -> None:
        """Prepare an order that continues in the same session, with the comment of the person who stopped the call."""
        request, progress = self.request, self.progress
        progress.stops += 1
        comments = await comments_after_stop(self.context, request.role.name, request.key, progress.stops)
        name = f"{self.name}.c{progress.stops}"
        if not comments:  # another call of the role got the comments meanwhile: continue with the interrupted brief
            progress.continue_with(report, name, progress.brief, interrupted=True)
            return
        brief = brief_after_stop(comments)
        progress.answers.append(brief)
        progress.continue_with(report, name, brief, interrupted=False)

    async def _wait_for_provider(self, report: Report) -> None:
        """Wait until the time that the provider names, or for a growing back-off if it names none. Raises LimitReached
        if the wait would be too long."""
        context, request, progress = self.context, self.request, self.progress
        progress.refusals += 1
        if made_progress(report):
            progress.refusals_in_a_row, progress.waits = 0, []
        progress.refusals_in_a_row += 1
        decision = decide_wait(
            report, progress.refusals_in_a_row, progress.waits, wait=context.settings.wait, now=time.time()
        )
        if isinstance(decision, GiveUp):
            raise LimitReached(f"{request.key}: {decision.why}; `trued resume {context.run}` continues")
        seconds = decision.until - time.time()
        if seconds <= 0:  # the time has passed already
            return
        waits = CallWaits(until=decision.until, why=decision.why, failure=report.kind, agent=request.agent)
        context.journal.emit(waits, request.key)
        while (remaining := decision.until - time.time()) > 0:  # noqa: ASYNC110 (a machine that slept meanwhile has waited enough)
            await asyncio.sleep(min(remaining, PIECE_S))
        progress.waits.append(PastWait(seconds, has_provider_time=bool(report.until)))
        context.journal.emit(CallWaited(seconds=round(seconds, 1)), request.key)

    # -- attempts ------------------------------------------------------------------------------------------------------

    async def _work_until_reported(self) -> tuple[Report, str]:
        """Attempt the next order until an attempt leaves a report. Returns the report and the clone of that attempt."""
        context, request, progress = self.context, self.request, self.progress
        failed = FailedAttempts()

        def record_event(kind: str, /, **data: object) -> None:
            event = from_runtime(kind, data)
            progress.has_earlier_report |= isinstance(event, ReportFound)
            failed.count(event)
            context.journal.emit(event, request.key)

        for number in count(1):
            progress.has_earlier_report = False
            clone = f"{request.clone}.{progress.deaths + 1}" if progress.deaths else request.clone
            attempt = AttemptRequest(
                progress.name, number, request.key, request.role.name, request.agent, request.model
            )
            if context.is_begun_elsewhere(progress.name, number):
                report = await self._settle_lost(attempt)
            elif await self._stop_if_repeated_elsewhere(attempt, record_event):
                report = self._died(attempt, "another machine made the call again meanwhile")
            else:
                report = await self._attempt(attempt, clone, record_event)
            if report.state != "died":
                for later in takewhile(partial(context.is_begun_elsewhere, progress.name), count(number + 1)):
                    lost = await self._settle_lost(replace(attempt, attempt=later))
                    progress.spent = add_usage(progress.spent, lost.usage)
                return report, clone
            progress.spent = add_usage(progress.spent, report.usage)
            progress.start_over()
            failed.check_limits(request.key)
            await context.workspace.drop_clone(clone, f"attempt {number} died")
            context.journal.emit(CallRepeated(attempt=number + 1, why=report.why), request.key)
        raise AssertionError("there is always a next attempt")

    async def _attempt(self, attempt: AttemptRequest, clone: str, emit: EmitAgentEvent) -> Report:
        """Reserve budget, provide the clone and let the agent work in it. Returns the settled report."""
        context = self.context
        async with context.budget.reserve(attempt) as reservation:
            # Until an attempt dies, all orders of the call have the same token, so that they get the same clone: after
            # a refusal the agent continues with the files it left.
            work, home = await context.workspace.clone(
                clone, self.position.head, token=f"{self.name}.{self.progress.deaths + 1}"
            )
            await self._write_pictures(home)
            order = replace(self._order(reservation), folder=str(work), home=str(home))
            report = await self._work_unless_stopped(order, emit)
            await context.journal.available()
            report = reservation.settle(report)
            if report.quota:
                context.journal.emit(QuotaReported(agent=self.request.agent, **report.quota), self.request.key)
        return report

    async def _settle_lost(self, attempt: AttemptRequest) -> Report:
        """Settle an attempt that another machine began and did not finish. Returns a report that the attempt died. The
        usage in the report is an estimate, because nobody knows what the attempt used."""
        await self.context.journal.available()
        lost = self._died(attempt, "another machine began it and did not finish it")
        return self.context.budget.existing_reservation(attempt).settle(lost)

    async def _stop_if_repeated_elsewhere(self, attempt: AttemptRequest, emit: EmitAgentEvent) -> bool:
        """Stop the agent of this attempt if another machine has settled the attempt and made the next one meanwhile.

        Returns whether the agent was stopped. A stopped agent must not be started again. If the attempt's report has
        arrived, nothing is stopped, because the report can still be used.
        """
        context, runtime = self.context, self.context.runtime
        repeated = context.is_begun_elsewhere(attempt.call, attempt.attempt + 1)
        if not repeated or not isinstance(runtime, StoppableRuntime):
            return False
        order = self._order(context.budget.existing_reservation(attempt))
        return (await runtime.stop(order, emit)).state == "stopped"

    def _died(self, attempt: AttemptRequest, why: str) -> Report:
        return Report(
            attempt.call, attempt.attempt, "died", why=why, session=self.request.session, usage=Usage(estimated=True)
        )

    async def _work_unless_stopped(self, order: Order, emit: EmitAgentEvent) -> Report:
        """The report of the order; its state is "stopped" if a person stopped the call to comment."""
        context, runtime = self.context, self.context.runtime

        def is_stop_wanted() -> bool:
            return has_to_stop(context, self.request.role.name, self.request.key, self.progress.stops + 1)

        began = time.time()
        if not is_stop_wanted():
            working = asyncio.ensure_future(runtime.work(order, emit))
            try:
                while not working.done() and not is_stop_wanted():
                    await asyncio.wait({working}, timeout=LOOK_S)
                    await context.journal.available()
                if working.done():
                    return working.result()
            finally:
                working.cancel()
                await asyncio.wait({working})
        if isinstance(runtime, StoppableRuntime):
            return await runtime.stop(order, emit)
        native = order.session if runtime.capabilities.chosen_session else ""
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

    async def _write_pictures(self, home: Path) -> None:
        for name, artifact in self.request.equipment.pictures.items():
            if content := await self.context.workspace.load_artifact(artifact):
                (home / PICTURES).mkdir(exist_ok=True)
                (home / PICTURES / Path(name).name).write_bytes(content)

    def _order(self, reservation: Reservation) -> Order:
        request, progress, settings = self.request, self.progress, self.context.settings
        return Order(
            run=self.context.run,
            key=request.key,
            call=progress.name,
            attempt=reservation.request.attempt,
            role=request.role.name,
            agent=request.agent,
            brief=progress.brief if progress.resume else progress.full_brief(request),
            schema=request.reply_schema,
            session=request.session,
            resume=progress.resume,
            folder="",
            home="",
            tools=request.role.tools,
            browser=request.equipment.browser if "browser" in request.role.tools else (),
            model=request.model,
            native=progress.native,
            interrupted=progress.interrupted,
            anew=progress.full_brief(request) if progress.resume else "",
            before=progress.thread,
            bring=agent_kind(request.agent) in settings.bring,
            login=settings.login_of(request.agent),
            prompts=settings.prompts,
            allowance=reservation.allowance,
            price=reservation.price,
            limits=ProcessLimits(idle_s=settings.idle_s, wall_s=reservation.wall_s(settings.wall_s)),
            confinement=self._confinement(),
        )

    def _confinement(self) -> Confinement:
        usual, readable = self.context.workspace.confinement(), self.request.equipment.readable
        return replace(usual, readable=(*usual.readable, *readable)) if readable else usual

    # -- answer --------------------------------------------------------------------------------------------------------

    async def _commit_work(self, report: Report, clone: str) -> AgentCommit:
        """Commit what the agent left. If the role may not write, or the call failed, commit nothing and return the
        head; a rescue ref keeps the work.

        If the request allows only some documents (`only`), they are committed even after a failed call, because people
        read them, and no verdict rests on them.
        """
        request, head = self.request, self.position.head
        if not request.role.writes or (report.state != "done" and not request.only):
            return AgentCommit(head, ())
        return await self.context.workspace.commit_clone(
            clone,
            head,
            author=request.role.name,
            message=self._commit_message(),
            when=report.ended,
            fixed=request.fixed,
            only=request.only,
        )

    def _commit_message(self) -> str:
        """The commit message: what the commit is about, then who made it."""
        author, ticket = f"{self.request.role.name}: {self.request.key}", self.context.ticket
        if ticket:
            subject = f"{ticket.kind}: {inert(ticket.summary[:SUBJECT])} ({ticket.key})"
        else:
            subject = self.context.redact(self.request.about)
        return f"{subject}\n\n{author}" if subject else author

    def _answer_event(self, report: Report, commit: AgentCommit) -> CallAnswered:
        usage = report.usage
        return CallAnswered(
            role=self.request.role.name,
            agent=self.request.agent,
            state=report.state,
            kind=report.kind,
            why=report.why,
            reply=report.reply,
            attempts=report.attempt,
            asks=report.asks,
            resumed=report.resumed,
            reaped=report.reaped,
            commit=commit.commit,
            changed=tuple(self.context.redact(list(commit.changed))),
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


def _as_text(content: bytes | None) -> str | None:
    return None if content is None else content[:UNDONE_BYTES].decode(errors="replace")
