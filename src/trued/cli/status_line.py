"""The status of a pipeline or team run in a line or two: while it works, and at its end."""

from collections.abc import Iterator

from rich.text import Text

from trued.cli.format import counted, line, money, tokens
from trued.model.step_keys import step_name
from trued.reporting.views.progress import Progress
from trued.support.durations import duration
from trued.workflows.pipeline import view as stages
from trued.workflows.pipeline.view import Stage
from trued.workflows.team import view as team

LONG = 160  # characters of a line about features and tasks
MARKS = {  # by a step's state, or by its result once it has one
    "running": ("●", "bold cyan"),
    "unfinished": ("…", "yellow"),
    "DONE": ("✓", "green"),
    "NEEDS_REVISION": ("↻", "yellow"),
    "ERROR": ("✗", "bold red"),
}
SHORT = {"implementation": "implement", "verification": "verify"}
FAILED = 8  # failed tasks listed at the end; more are counted


def standing(seen: Progress) -> list[Text]:
    """What is running in which step, or for which feature; empty for other workflows."""
    lines = []
    if seen.stages.seen:
        lines.append(steps_line(seen))
        lines += [Text(line(words), "dim")] if (words := stages.waved(seen.stages)) else []
    if words := team.now(seen.team) if seen.state == "running" else "":
        lines.append(Text(line(words, LONG), "cyan"))
    return lines


def steps_line(seen: Progress) -> Text:
    """`✓ research  ✓ spec  ✓ design  ● critique 2/4  · plan  · implement  · verify  · review`."""
    text = Text()
    for stage in list(seen.stages.all.values()):  # a copy: another thread adds to it
        if stage.number == "0":
            continue
        mark, style = MARKS.get(_how(stage, seen), ("·", "dim"))
        text.append("  " if text.plain else "")
        text.append(f"{mark} ", style)
        name = line(SHORT.get(stage.name, stage.name), 24)
        text.append(f"{name}{_part(stage, seen)}", "bold" if stage.state == "running" else style if mark == "·" else "")
    return text


def _how(stage: Stage, seen: Progress) -> str:
    """A step's result, or "unfinished" if the run ended while it was running."""
    if stage.state == "running":
        return "running" if seen.state == "running" else "unfinished"
    return stage.result


def _part(stage: Stage, seen: Progress) -> str:
    """How many of the step's agents have ended; for implementation, how many tasks are merged."""
    wave = seen.stages.wave if stage.name == "implementation" else 0
    if stage.state != "running":
        again = f" ×{stage.times}" if stage.times > 1 else ""  # waves are not retries
        return f", {counted(wave, 'wave')}" if wave > 1 else again if not wave else ""
    if stage.name == "implementation":
        return f" {seen.stages.merged}/{len(seen.stages.tasks)}" if seen.stages.tasks else ""
    if len(stage.agents) < 2:
        return ""
    ended = {step_name(one.key): one.state != "running" for one in seen.calls}
    return f" {sum(ended.get(name, False) for name in stage.agents)}/{len(stage.agents)}"


def ending(seen: Progress) -> Iterator[Text]:
    """The result of an ended pipeline or team run; empty for other workflows."""
    if not seen.stages.seen and not seen.team.seen:
        return
    used, estimated = seen.tokens
    parts = [
        *_of_stages(seen),
        team.counts(seen.team),
        tokens(used, estimated=estimated),
        money(seen.cost_usd, seen.cost),
        duration(seen.last - seen.began),
    ]
    if seen.stages.seen:
        yield steps_line(seen)
        for stage in list(seen.stages.all.values()):  # a copy: another thread adds to it
            if stage.result in ("NEEDS_REVISION", "ERROR"):
                why = f": {'; '.join(stage.why)}" if stage.why else ""
                yield Text(line(f"{stage.name} ended as {stage.result}{why}", 400), "yellow")
    where = f"git show {line(seen.branch)}:{team.RESULTS}" if seen.branch else team.RESULTS
    for one in seen.team.failed[:FAILED]:
        name = f"{one.id}: {one.name}" if one.name else one.id
        yield Text.assemble(
            ("task ", "red"),
            (line(name, 120), "bold"),
            (f" failed after {counted(one.attempt, 'attempt')}; QA's last findings: {where}", "red"),
        )
    if (more := len(seen.team.failed) - FAILED) > 0:
        yield Text(f"and {counted(more, 'more task')} failed", "red")
    yield Text(" · ".join(part for part in parts if part))


def _of_stages(seen: Progress) -> Iterator[str]:
    found = seen.stages
    if not found.seen:
        return
    if found.tasks:
        yield f"{found.merged}/{counted(len(found.tasks), 'task')} merged in {counted(found.wave, 'wave')}"
    if found.conflicts:
        yield counted(len(found.conflicts), "conflict")
    if found.rounds:
        yield f"{counted(found.rounds, 'round')} of verification"
    if found.revisions:
        yield counted(found.revisions, "revision")
