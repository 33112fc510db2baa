"""One agent call: a clone, an order, a report, and the commit of what was left."""

from dataclasses import replace
from itertools import count
from typing import Any

from .errors import AgentFailed
from .kit import Kit, Line, folder_name
from .protocols import Taken
from .types import Role, Value
from .wire import Limits, Order, Report

DEATHS = 20  # in one drive, and only from outside: this ends a machine that kills everything, and nothing else


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


class Answered(Value):
    """What came of it: recorded as the step's result."""

    reply: dict[str, Any] | None
    failure: str = ""
    head: str
    when: float
    changed: tuple[str, ...] = ()
    resumed: bool = False
    clone: str = ""  # where it worked: dropped only after this has been recorded


async def answered(kit: Kit, line: Line, ask: Ask) -> Answered:
    """Let the agent work, however often its process dies, and take what it left."""
    brief, who = kit.redact(ask.brief), {"role": ask.role.name, "agent": ask.agent}
    kit.journal.tell("asked", ask.key, **who, brief=brief, chars=len(brief), resume=ask.resume)
    report, clone = await _reported(kit, line, ask)
    report = replace(report, reply=kit.redact(report.reply), why=kit.redact(report.why))
    taken = await _taken(kit, line, ask, report, clone)
    _tell_answer(kit, ask, report, taken)
    failure = "" if report.state == "done" else f"{ask.role.name} ({ask.agent}): {report.why or report.kind}"
    return Answered(
        reply=report.reply if report.state == "done" else None,
        failure=failure,
        head=taken.commit,
        when=max(line.when, report.ended),
        changed=taken.changed,
        resumed=report.resumed,
        clone=clone,
    )


async def _reported(kit: Kit, line: Line, ask: Ask) -> tuple[Report, str]:
    deaths = 0

    def tell(kind: str, /, **data: object) -> None:
        nonlocal deaths
        deaths += kind == "died"  # attempts of earlier resumes that ended badly do not count again
        kit.journal.tell(kind, ask.key, **data)

    for attempt in count(1):
        clone = ask.clone if attempt == 1 else f"{ask.clone}.{attempt}"
        call = folder_name(ask.key)
        work, home = await kit.workspace.clone(clone, line.head, token=f"{call}.{attempt}")
        order = Order(
            run=kit.run,
            key=ask.key,
            call=call,
            attempt=attempt,
            role=ask.role.name,
            agent=ask.agent,
            brief=ask.brief,
            schema=ask.reply_schema,
            session=ask.session,
            resume=ask.resume and attempt == 1,
            folder=str(work),
            home=str(home),
            tools=ask.role.tools,
            model=ask.role.model,
            limits=Limits(idle_s=kit.settings.idle_s, wall_s=kit.settings.wall_s),
            confinement=kit.workspace.confinement(),
        )
        report = await kit.runtime.work(order, tell)
        if report.state != "died":
            return report, clone
        if deaths >= DEATHS:
            raise AgentFailed(f"{ask.key}: the call died {deaths} times; something on this machine ends it")
        await kit.workspace.drop(clone, f"attempt {attempt} died")
        tell("run again", attempt=attempt + 1, why=report.why)
    raise AssertionError("there is always a next attempt")


async def _taken(kit: Kit, line: Line, ask: Ask, report: Report, clone: str) -> Taken:
    """A role that may not write, and a call that failed, leave nothing on the line: a rescue ref keeps it."""
    if report.state != "done" or not ask.role.writes:
        return Taken(line.head, ())
    message = f"{ask.role.name}: {ask.key}"
    return await kit.workspace.take(clone, line.head, author=ask.role.name, message=message, when=report.ended)


def _tell_answer(kit: Kit, ask: Ask, report: Report, taken: Taken) -> None:
    usage = report.usage
    kit.journal.tell(
        "answered",
        ask.key,
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
        changed=kit.redact(list(taken.changed)),
        tokens={
            "in": usage.tokens_in,
            "out": usage.tokens_out,
            "cached": usage.tokens_cached,
            "peak": usage.peak,
            "estimated": usage.estimated,
        },
        cost_usd=usage.cost_usd,
        began=report.began,
        ended=report.ended,
    )
