"""The runtime of every agent that streams its events as lines of JSON."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

from trued.agents.driver.agent import Agent
from trued.agents.driver.discovery import find_program
from trued.agents.driver.program import (
    Program,
    ProgramExit,
    ProgramLauncher,
    Stop,
    done_report,
    estimate_usage,
    failed_report,
)
from trued.agents.driver.reply_format import BrokenReply, parse_final_reply
from trued.agents.driver.transcript import Transcript
from trued.support.foreign_json import parse_json
from trued.wire import Capabilities, EmitAgentEvent, Order, Report, Usage, add_usage, remaining

MOST_RESTARTS = 2  # how often one `work` restarts an agent that was killed from outside; more will not help
SIGNALS = (6, 9, 11, 15)
LOGGED = 2000  # characters of a line that is not a known event
# the errors that an event of an unexpected shape can cause
ODD = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)


class StreamingRuntime:
    """The runtime of an agent that has a `build_program` and a `fold`."""

    def __init__(self, agent: Agent, launch: ProgramLauncher) -> None:
        self._agent, self._launch = agent, launch

    @property
    def capabilities(self) -> Capabilities:
        return self._agent.capabilities

    async def work(self, order: Order, emit: EmitAgentEvent) -> Report:
        """Ask the agent. If it is killed from outside and can resume, start it again in its session, at most
        MOST_RESTARTS times. The report has the usage of all starts."""
        first_order, spent, lost = order, Usage(), False
        order = replace(order, brief=_interrupted_brief(order.brief)) if order.interrupted and order.resume else order
        for death in count(1):
            order, transcript, ended = await self._ask(order, emit)
            report = _report(order, transcript, ended)
            spent, lost = add_usage(spent, report.usage), lost or (first_order.resume and not order.resume)
            if not _was_killed(transcript, ended) or death > MOST_RESTARTS or not self.capabilities.resume:
                return replace(report, usage=spent, resumed=report.resumed and not lost)
            emit("agent died", why=report.why)
            resumes = order.resume or bool(transcript.native)
            order = replace(
                first_order,
                brief=_interrupted_brief(first_order.brief if resumes else first_order.anew or first_order.brief),
                resume=resumes,
                native=transcript.native or order.native,
                before=add_usage(order.before, report.usage),
                allowance=remaining(first_order.allowance, spent),
            )
        raise AssertionError("the loop ends after MOST_RESTARTS")

    async def _ask(self, order: Order, emit: EmitAgentEvent) -> tuple[Order, Transcript, ProgramExit]:
        """Ask the agent, and return the order that was used last. If the session to resume is lost, start over with the
        full brief. If the session to begin already exists, an earlier start was interrupted: resume the session."""
        transcript, ended = await self._listen(order, emit)
        message = f"{ended.stderr}\n{transcript.refusal.why if transcript.refusal else ''}"
        if order.resume and _mentions_any(self._agent.lost, message):
            emit("session lost", session=order.native or order.session)
            order = replace(order, brief=order.anew or order.brief, resume=False, native="", before=Usage())
            transcript, ended = await self._listen(order, emit)
        elif not order.resume and _mentions_any(self._agent.taken, message):
            emit("session was begun before", session=order.session)
            order = replace(order, brief=_interrupted_brief(order.brief), resume=True)
            transcript, ended = await self._listen(order, emit)
        return order, transcript, ended

    async def _listen(self, order: Order, emit: EmitAgentEvent) -> tuple[Transcript, ProgramExit]:
        transcript = Transcript(order, emit)
        installed = find_program(self._agent.program)
        if installed is None or self._agent.build_program is None:
            why = f"{self._agent.title} is not installed: there is no program {self._agent.program} on PATH"
            return transcript, ProgramExit(None, kind="missing", why=f"{why}; {self._agent.install}")
        program = self._agent.build_program(order, installed)
        seen, needed = (*installed.readable, *program.readable), {**installed.variables, **program.variables}
        look = program.poll or (lambda transcript: None)
        program = replace(
            program, readable=seen, variables=needed, listener=_EventListener(self._agent, transcript, look)
        )
        ended = await self._launch(order, program, _stderr_logger(transcript, program))
        look(transcript)
        return transcript, ended


class _EventListener:
    """Folds stdout line by line; logs lines that are not events."""

    def __init__(self, agent: Agent, transcript: Transcript, look: Callable[[Transcript], None]) -> None:
        self._fold, self._transcript, self._look = agent.fold, transcript, look

    @property
    def busy(self) -> bool:
        return bool(self._transcript.running)

    @property
    def stop(self) -> Stop | None:
        return self._transcript.stop

    def handle_line(self, line: str) -> Stop | None:
        self._look(self._transcript)
        event = parse_json(line) if line.startswith("{") else None
        if isinstance(event, dict) and self._fold is not None:
            try:
                self._fold(event, self._transcript)
            except ODD as error:
                self._transcript.emit("unreadable", text=line[:LOGGED], why=f"{type(error).__name__}: {error}")
        elif line.strip():
            self._transcript.emit("log", text=line[:LOGGED])
        return self._transcript.stop


def _report(order: Order, transcript: Transcript, ended: ProgramExit) -> Report:
    usage = transcript.usage
    if usage.estimated and not (usage.tokens_in or usage.tokens_out):
        # Only tokens are guessed: the agent might have reported the cost.
        guess = estimate_usage(order, len(transcript.text))
        transcript.usage = replace(
            usage, tokens_in=guess.tokens_in, tokens_out=guess.tokens_out, peak=max(usage.peak, guess.peak)
        )
    report = _report_at_end(order, transcript, ended)
    return replace(
        report,
        native=transcript.native,
        resumed=order.resume and bool(transcript.native),
        reaped=ended.reaped,
        usage=transcript.usage_with_cost(),
        quota=transcript.quota,
    )


def _report_at_end(order: Order, transcript: Transcript, ended: ProgramExit) -> Report:
    if transcript.question:
        return Report(order.call, order.attempt, "asks", question=transcript.question, session=order.session)
    # If a refusal is of the same kind, it is reported below: it might contain the time to retry.
    if ended.kind and not (transcript.refusal and transcript.refusal.kind == ended.kind):
        return failed_report(order, ended.kind, ended.why)
    if transcript.refusal is not None:
        refusal = transcript.refusal
        kind = "crashed" if refusal.kind == "other" else refusal.kind
        return replace(failed_report(order, kind, f"{order.agent}: {refusal.why}"), until=refusal.until)
    if not transcript.finished or (ended.code != 0 and not transcript.text and transcript.structured is None):
        return _exit_without_result(order, ended)
    try:
        reply = transcript.structured if transcript.structured is not None else parse_final_reply(transcript.text)
    except BrokenReply as error:
        from trued.agents.driver.provider_errors import parse_refusal  # loaded only for a reply that cannot be read

        # The agent might have reported a provider's notice as if it were the model's reply.
        if notice := parse_refusal(transcript.text, now=time.time(), prose=True):
            return replace(failed_report(order, notice.kind, f"{order.agent}: {notice.why}"), until=notice.until)
        return failed_report(order, "contract", f"the reply cannot be read: {error}")
    return done_report(order, reply)


def _was_killed(transcript: Transcript, ended: ProgramExit) -> bool:
    """Whether a signal from outside ended the agent in mid-turn: it ran out of memory, or was killed."""
    code = ended.code or 0
    said_something = transcript.finished or transcript.question or transcript.refusal
    return not ended.kind and not said_something and (code < 0 or code - 128 in SIGNALS)


def _exit_without_result(order: Order, ended: ProgramExit) -> Report:
    """The report on an agent that ended without reporting the end of its turn. Its stderr might show why."""
    from trued.agents.driver.provider_errors import parse_refusal  # loaded only after a failure

    code = ended.code or 0
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    how += f" (signal {code - 128})" if 128 < code < 160 else ""
    why = f"{order.agent} {how} in mid-turn{f': {ended.stderr}' if ended.stderr else ''}"
    refusal = parse_refusal(ended.stderr, now=time.time()) if code else None
    if refusal is None or refusal.kind == "other":
        return failed_report(order, "crashed", why)
    return replace(failed_report(order, refusal.kind, why), until=refusal.until)


def _interrupted_brief(brief: str) -> str:
    template = (Path(__file__).parent / "interrupted.md").read_text(encoding="utf-8")
    return template.replace("{{brief}}", brief)


def _mentions_any(phrases: tuple[str, ...], message: str) -> bool:
    return any(phrase.casefold() in message.casefold() for phrase in phrases)


def _stderr_logger(transcript: Transcript, program: Program) -> Callable[[str], None]:
    def log(line: str) -> None:
        transcript.emit("log", text=line)
        if program.on_stderr_line:
            program.on_stderr_line(line, transcript)

    return log
