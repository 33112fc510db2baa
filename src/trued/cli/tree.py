"""The tree of a run as lines: scopes with their calls and checks, and a footer with status and usage."""

import time
from collections.abc import Callable, Iterable

from rich.text import Text

from trued.cli.format import GRADE_COLOURS, line, sentences_line, short_agent, spent, tokens, until
from trued.cli.status_line import status_lines
from trued.model import Grade
from trued.model.events.call import QuotaReported
from trued.model.step_keys import label_of, step_name
from trued.reporting.views.progress import Progress
from trued.reporting.views.rows import Call, Checks, Remark, Row
from trued.support.durations import duration
from trued.support.plurals import counted

MARKS = {
    "running": ("●", "bold cyan"),
    "done": ("✓", "green"),
    "held": ("✓", "green"),
    "open": ("?", "yellow"),
    "failed": ("✗", "bold red"),
    "unfinished": ("…", "yellow"),
}
ENGINE = {"prove": "checks", "finish": "final checks", "seal": "seal"}
ACTIVITY = 70  # maximum length of an agent's current activity, in characters
WIDTH, WIDEST = 18, 30  # minimum and maximum width of the column with the names of calls and checks


def header(run: str, seen: Progress, *, live: bool = False) -> Text:
    facts = [f"branch {seen.branch}" if seen.branch else "", f"sandbox {seen.level}" if seen.level else ""]
    facts += [f"Ctrl-C is safe: trued resume {run}"] if live else []
    text = Text.assemble((run, "bold"), f"  {seen.workflow}  {line(seen.title, 70)}\n")
    return text.append(" · ".join(fact for fact in facts if fact), "dim")


def scope_lines(
    scope: str,
    rows: Iterable[Row],
    now: float,
    *,
    accept: Grade,
    called: str = "",
    continued: bool = False,
    doing: Callable[[str], str] = lambda _: "",
) -> list[Text]:
    """A scope's name and its rows, indented below it; rows without a scope are not indented.

    `accept`: with this grade or a better one, a requirement is met. `called`: the scope's title. `continued`: earlier
    rows of this scope were printed before. `doing`: gives the current activity of a running call's agent, by the
    call's key.
    """
    named = not scope.startswith("/")
    lines = [Text(line(scope), style="bold")] if named else []
    for head in lines:
        head.append("" if continued or not called else f"  {line(called, 70)}", "not bold")
        head.append(" (continued)" if continued else "")
    rows = list(rows)
    width = max((len(line(label_of(row.key))) for row in rows if isinstance(row, Call)), default=0)
    for row in rows:
        lines += [Text("  " if named else "") + text for text in row_lines(row, now, accept, min(width, WIDEST))]
        if isinstance(row, Call) and row.state == "running" and (activity := line(doing(row.key), ACTIVITY)):
            lines.append(Text(f"{'  ' if named else ''}    {activity}", "dim"))
    return lines


def row_lines(row: Row, now: float, accept: Grade = Grade.ATTESTED, width: int = 0) -> list[Text]:
    if isinstance(row, Remark):
        mark, style = ("⚠", "yellow") if row.warning else ("·", "dim")
        return [Text.assemble((f"{mark} ", style), (line(row.text, 300), style))]
    width = max(width, WIDTH)
    return [_call(row, now, width)] if isinstance(row, Call) else [_checks(row, now, width), *_unmet_lines(row, accept)]


def _call(call: Call, now: float, width: int) -> Text:
    mark, style = MARKS.get(call.state, ("?", "yellow"))
    waits = call.waits_until > now and call.state == "running"
    mark, style = ("◌", "yellow") if waits else (mark, style)
    facts = [
        short_agent(call.agent),
        duration((call.ended or now) - call.began),
        tokens(call.tokens.total, estimated=call.tokens.estimated),
        spent(call.cost_usd, call.cost),
        f"peak {tokens(call.tokens.peak, estimated=call.tokens.estimated)}" if call.requests > 1 else "",
        counted(len(call.changed), "file") if call.changed else "",
        f"claims {line(call.claim, 20)}" if call.claim else "",
        f"attempt {call.attempts}" if call.attempts > 1 else "",
        f"waited {duration(call.waited)} for its provider" if call.waited else "",
        *call.remarks,
    ]
    text = Text.assemble(
        (f"{mark} ", style), f"{line(label_of(call.key)):<{width}} ", ("  ".join(fact for fact in facts if fact), "")
    )
    if waits:
        text.append(f"  waiting until {until(call.waits_until, now)}: {line(call.waits_for, 80)}", "yellow")
    return text.append(f"  {line(call.why, 200)}", "red") if call.state == "failed" else text


def _checks(checks: Checks, now: float, width: int) -> Text:
    mark, style = MARKS.get(checks.state, ("?", "yellow"))
    name = step_name(checks.key)
    end = now if checks.state == "running" else checks.ended
    facts = [duration(end - checks.began), counted(checks.runs, "check run") if checks.runs else ""]
    text = Text.assemble((f"{mark} ", style), f"{ENGINE.get(name, line(name)):<{width}} ", ("engine  ", "dim"))
    text.append("  ".join(fact for fact in facts if fact))
    grade = checks.summary.partition(",")[0]
    return text.append(f"  {line(checks.summary, 200)}", GRADE_COLOURS.get(grade, "")) if checks.summary else text


def _unmet_lines(checks: Checks, accept: Grade) -> list[Text]:
    """A line for each requirement below the grade `accept`, with its grade and the reason."""
    unmet = [judged for judged in checks.grades if judged[1] and not Grade(judged[1]).is_met(accept)]
    return [
        Text.assemble(
            "    ", (line(name, 60), "bold"), " ", (grade, GRADE_COLOURS.get(grade, "")), f"  {line(why, 300)}"
        )
        for name, grade, why in unmet
    ]


def footer(seen: Progress, now: float, *, at_work: bool = True) -> list[Text]:
    used, estimated = seen.tokens
    met = sum(Grade(grade).is_met(seen.accept) for grade in seen.grades.values() if grade)
    parts = [
        line(seen.view.counts(running=seen.state == "running"), 120),
        f"{met}/{max(seen.requirements, len(seen.grades))} requirements met"
        if seen.requirements or seen.grades
        else "",
        tokens(used, estimated=estimated),
        spent(seen.cost_usd, seen.cost),
        *(f"{line(kind, 20)} {quota.used:.0f}% of its {window(quota)} window" for kind, quota in seen.quotas.items()),
        duration(now - seen.began) if seen.began else "",
    ]
    waits = waiting(seen, now) if at_work else ""
    lines = [*status_lines(seen), *([Text(waits, style="bold")] if waits else [])]
    return [*lines, Text(" · ".join(part for part in parts if part), style="dim")]


def window(quota: QuotaReported) -> str:
    return line((quota.window or "quota").replace("_", "-"), 20)


def waiting(seen: Progress, now: float | None = None) -> str:
    """What the run is waiting for, in one line; "" if it waits for nothing."""
    now = now or time.time()
    if seen.question:
        return f"waiting for you: {sentences_line(seen.question[1], 200)}"
    names = [_awaited_text(row, now) for row in seen.at_work]
    if not names and seen.state == "running":
        names = ["the engine's checks" if seen.calls else "the engine, which first runs every check on the base"]
    return (
        f"waiting for {', '.join(line(name, 80) for name in names[:4])}{' …' if len(names) > 4 else ''}"
        if names
        else ""
    )


def _awaited_text(row: Call | Checks, now: float) -> str:
    if not isinstance(row, Call):
        return "the engine's checks"
    if row.waits_until > now:
        return f"{label_of(row.key)}, from {until(row.waits_until, now)}: {row.waits_for}"
    return f"{label_of(row.key)} ({duration(now - row.began)})"
