"""History of runs: how often each agent's *done* was false, what runs cost, and what they achieved."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trued.engine.verification_log import VerificationLog
from trued.page.pages.common import HOME, Paging, made, paged
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.format import agent_names
from trued.reporting.views.history import choices
from trued.reporting.views.stats import HistoryFilter, RunFacts, Stats, Total, since
from trued.support.money import money

AGENTS = 12  # agents that have a row of their own in the first figure
LINES = 6  # agents in the plot over time: more cannot be told apart
WEEKS = 26  # the plots show at most this many weeks, the newest; the tables add up the whole chosen time
CHOICES = 200  # choices of one filter that are offered
ROWS = 50  # rows of a table of weeks, agents, roles or workflows
TIMES = {"30d": "30 days", "90d": "90 days", "1y": "a year", "all": "all time"}
USUAL = "90d"
# Vertical measures of a plot, in pixels. Horizontal ones are per cent of its width: a plot stretches with the screen,
# but its letters keep their size.
HEIGHT, TOP, FOOT = 170.0, 10.0, 22.0
LABELS, FEW_LABELS = 7, 3  # weeks that have a label: on a wide screen, and on a narrow one
EDGE = 10.0  # per cent of the width: a label this near to an edge is not centred, so that it is not cut off there
DAY = 86400.0


@dataclass(frozen=True)
class Line:
    """One agent's share of false claims, week by week."""

    name: str
    number: int  # the number of its colour
    points: tuple[tuple[float, float, str], ...]  # x, y, label

    @property
    def path(self) -> str:
        return " ".join(f"{x:.2f},{y:.1f}" for x, y, _ in self.points)


@dataclass(frozen=True)
class WeekBar:
    """One week's cost."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class WeekLabel:
    """The name of a week below the plots."""

    x: float
    name: str
    is_wide: bool  # shown only on a wide screen: a narrow one has no room for it

    @property
    def anchor(self) -> str:
        return "start" if self.x < EDGE else "end" if self.x > 100 - EDGE else "middle"


@dataclass(frozen=True)
class Plot:
    """Two plots over the same weeks, and the labels of their axes."""

    labels: tuple[WeekLabel, ...]
    lines: tuple[Line, ...]
    columns: tuple[WeekBar, ...]
    most_share: float
    most_usd: float
    height: float = HEIGHT
    top: float = TOP
    foot: float = HEIGHT - FOOT


def history(reader: Reader, params: Params) -> PageView:
    filters = {name: params.get(name, "")[:300] for name in ("repository", "workflow", "agent", "role", "since")}
    when = filters["since"] or USUAL
    begin = 0.0 if when == "all" else since(when, time.time())
    wanted = HistoryFilter(
        filters["repository"],
        filters["workflow"],
        filters["agent"],
        filters["role"],
        begin // DAY * DAY,  # rounded to whole days, so that the result can be cached
    )
    stats = reader.history(wanted)
    found_choices = {} if reader.is_empty else choices(reader.store)
    claiming = sorted((agent for agent in stats.agents if agent.claims), key=lambda agent: (-agent.claims, agent.name))
    names = agent_names(agent.name for agent in stats.agents)
    parts = {"agent": stats.agents, "role": stats.roles, "workflow": stats.workflows, "week": stats.weeks}
    pieces = {
        "chosen": piece(
            "history/chosen.html.j2",
            given={**filters, "since": when},
            choices={name: options[:CHOICES] for name, options in found_choices.items()},
            times=TIMES,
            total=stats.total,
        ),
        "false-claims": piece(
            "history/false_claims.html.j2", agents=claiming[:AGENTS], more=claiming[AGENTS:], since=when, names=names
        ),
        "over-time": piece(
            "history/over_time.html.j2", plot=plotted(stats), weeks=stats.weeks, stats=stats, names=names
        ),
        "parts": piece("history/parts.html.j2", parts=parts, most=ROWS, total=stats.total, names=names),
        "runs": _runs(reader, paged(stats.runs, params, *filters, size=ROWS)),
    }
    # a verification has no workflow, agent or role: if one of these is chosen, no verification is listed
    if not (wanted.workflow or wanted.agent or wanted.role):
        where = Path(wanted.repository) if wanted.repository else None
        verified = [record for record in VerificationLog(reader.home).records(where) if record.at >= wanted.since]
        pieces["verifications"] = piece("history/verifications.html.j2", every=verified, most=ROWS)
    return made(reader, "History", pieces, HOME)


def _runs(reader: Reader, paging: Paging[RunFacts]) -> str:
    worked = {run.record.id: reader.summary(run.record).worked for run in paging.items}
    return piece("history/runs.html.j2", paging=paging, worked=worked)


def plotted(stats: Stats) -> Plot:
    """The geometry of both plots: shares of false claims as lines, cost as columns."""
    weeks = sorted(stats.weeks, key=lambda week: week.name)[-WEEKS:]
    step = 100 / max(1, len(weeks))
    positions = {week.name: step * (number + 0.5) for number, week in enumerate(weeks)}
    agents = sorted(stats.agents, key=lambda agent: -agent.claims)[:LINES]
    shares = [week.false_share or 0.0 for agent in agents for week in stats.agent_weeks[agent.name]]
    most_share = max([0.1, *shares])
    most_usd = max([week.usd for week in weeks], default=0.0)
    high = HEIGHT - FOOT - TOP
    lines = (
        Line(agent.name, number, tuple(_points(stats.agent_weeks[agent.name], positions, high / most_share)))
        for number, agent in enumerate(agents, 1)
    )
    columns = (
        WeekBar(
            positions[week.name] - step * 0.35,
            HEIGHT - FOOT - high * week.usd / most_usd,
            step * 0.7,
            high * week.usd / most_usd,
            f"{week.name}: {money(week.usd)}",
        )
        for week in weeks
        if most_usd
    )
    labels = tuple(_labels([week.name for week in weeks], positions))
    return Plot(labels, tuple(line for line in lines if line.points), tuple(columns), most_share, most_usd)


def _labels(weeks: Sequence[str], positions: dict[str, float]) -> Iterator[WeekLabel]:
    """Labels of weeks, as many as there is room for: the newest week, and older weeks at equal distances."""
    named = weeks[:: -max(1, -(-len(weeks) // LABELS))]
    few = max(1, -(-len(named) // FEW_LABELS))
    for number, name in enumerate(named):
        yield WeekLabel(positions[name], name, is_wide=number % few != 0)


def _points(weeks: Sequence[Total], positions: dict[str, float], scale: float) -> Iterator[tuple[float, float, str]]:
    for week in weeks:
        if week.name in positions and week.false_share is not None:
            description = f"{week.name}: {week.fell} of {week.claims} claims were false"
            yield positions[week.name], HEIGHT - FOOT - week.false_share * scale, description


ROUTE = PageRoute("/history", history)
