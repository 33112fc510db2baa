"""What runs cost and achieved, and how often an agent's *done* was false: by week, agent, role and workflow.

Nothing in this module reads a journal: the facts of the runs are passed in."""

import re
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from trued.errors import BadInput
from trued.model import RunRecord
from trued.reporting.views.claims import DoneClaim
from trued.support.money import least_certain
from trued.wire import Spend

DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run: its record, how many requirements are met, what it spent, and what its agents claimed."""

    record: RunRecord
    met: int
    requirements: int
    spends: Sequence[Spend] = ()
    claims: Sequence[DoneClaim] = ()
    estimated: Collection[str] = frozenset()  # keys of the calls whose tokens are estimated

    @property
    def data(self) -> dict[str, object]:
        total, record = Total(self.record.id), self.record
        total.add(self)
        left_out = ("name", "runs", "proven", "met_per_usd")
        facts = {name: value for name, value in total.data.items() if name not in left_out}
        named = {"run": record.id, "title": record.title, "workflow": record.workflow, "repository": record.repository}
        return {**named, "state": record.state, "grade": str(record.grade), "created_at": record.created_at, **facts}


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Selects runs, and in them only what one agent or role did; an empty field selects everything."""

    repository: str = ""  # the path in the run's record, or that path resolved
    workflow: str = ""
    agent: str = ""
    role: str = ""
    since: float = 0.0

    def fits(self, record: RunRecord) -> bool:
        """Whether the filter selects the run, judged only by its record."""
        if self.workflow not in ("", record.workflow) or record.created_at < self.since:
            return False
        is_named = self.repository in ("", record.repository)
        return is_named or Path(record.repository).resolve() == Path(self.repository)

    def part_of(self, run: RunFacts) -> RunFacts | None:
        """What this agent and role did in a run; None if they had no part in it."""
        if not self.agent and not self.role:
            return run
        spends = [spend for spend in run.spends if self._is_of(spend.agent, spend.role)]
        claims = [claim for claim in run.claims if self._is_of(claim.agent, claim.role)]
        return replace(run, spends=spends, claims=claims) if spends or claims else None

    def _is_of(self, agent: str, role: str) -> bool:
        return self.agent in ("", agent, agent.partition(":")[0]) and self.role in ("", role)


def since(text: str, now: float) -> float:
    """The time that `30d`, `8w`, `6m`, `1y` or `2026-11-01` means; 0 for "". Raises BadInput for any other text."""
    if not text:
        return 0.0
    if match := re.fullmatch(r"(\d{1,4})([dwmy])", text):
        return now - int(match[1]) * DAYS[match[2]] * 86400.0
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d"))
    except (ValueError, OverflowError):
        raise BadInput(f"{text!r} is not a time", then="use 30d, 8w, 6m, 1y or a day such as 2026-11-01") from None


@dataclass(slots=True)
class Total:
    """The sum of some runs. A run counts once, even if what several agents or roles did in it is added separately."""

    name: str
    runs: int = 0
    proven: int = 0  # runs with every requirement proven
    met: int = 0  # requirements that are met
    requirements: int = 0
    calls: int = 0
    tokens: int = 0
    has_estimated_tokens: bool = False
    usd: float = 0.0
    cost: str = ""  # how `usd` is known, by its least certain part: reported, computed or ceiling
    met_per_usd: float | None = None  # None if nothing was paid
    seconds: float = 0.0  # working time of agents
    claims: int = 0  # calls that ended with a *done*
    fell: int = 0  # claims that the engine's next check refuted
    _runs: set[str] = field(default_factory=set)

    @property
    def false_share(self) -> float | None:
        """How often a *done* was false; None if no call claimed to be done."""
        return self.fell / self.claims if self.claims else None

    def add(self, run: RunFacts) -> None:
        """Add a run, or what one agent or role did in it."""
        rows = run.spends
        if run.record.id not in self._runs:
            self._runs.add(run.record.id)
            self.runs += 1
            self.proven += run.record.grade == "proven" and run.record.state == "done"
            self.met, self.requirements = self.met + run.met, self.requirements + run.requirements
        self.calls += len({row.step for row in rows})
        self.tokens += sum(row.spent.tokens for row in rows)
        self.has_estimated_tokens |= any(row.spent.tokens and row.step in run.estimated for row in rows)
        self.usd += sum(row.spent.usd for row in rows)
        self.cost = least_certain((self.cost, *(row.cost for row in rows if row.spent.usd)))
        self.met_per_usd = round(self.met / self.usd, 2) if self.usd > 0 else None
        self.seconds += sum(row.spent.seconds for row in rows)
        self.claims, self.fell = self.claims + len(run.claims), self.fell + sum(claim.fell for claim in run.claims)

    @property
    def data(self) -> dict[str, object]:
        plain = {name: value for name, value in asdict(self).items() if name != "_runs"}
        share = None if self.false_share is None else round(self.false_share, 4)
        return {**plain, "usd": round(self.usd, 4), "seconds": round(self.seconds, 1), "false_share": share}


@dataclass(frozen=True, slots=True)
class Stats:
    """The figures of all runs together, and separately by week, agent, role and workflow."""

    total: Total
    weeks: list[Total]
    agents: list[Total]
    roles: list[Total]
    workflows: list[Total]
    agent_weeks: dict[str, list[Total]]  # agent → its weeks, oldest first
    runs: list[RunFacts]

    @property
    def data(self) -> dict[str, object]:
        parts = {"weeks": self.weeks, "agents": self.agents, "roles": self.roles, "workflows": self.workflows}
        return {
            "total": self.total.data,
            **{name: [total.data for total in every] for name, every in parts.items()},
            "agent_weeks": {name: [total.data for total in every] for name, every in self.agent_weeks.items()},
            "runs": [run.data for run in self.runs],
        }


def add_up(runs: Iterable[RunFacts]) -> Stats:
    """The figures of these runs. Weeks begin with the newest; agents, roles and workflows with the most expensive."""
    total, every = Total("all"), list(runs)
    weeks, agents, roles, workflows = (dict[str, Total]() for _ in range(4))
    agent_weeks: dict[str, dict[str, Total]] = {}
    for run in every:
        week = week_of(run.record.created_at)
        total.add(run)
        weeks.setdefault(week, Total(week)).add(run)
        workflows.setdefault(run.record.workflow, Total(run.record.workflow)).add(run)
        for name in dict.fromkeys([row.agent for row in run.spends] + [row.agent for row in run.claims]):
            part = _part(run, agent=name)
            agents.setdefault(name, Total(name)).add(part)
            agent_weeks.setdefault(name, {}).setdefault(week, Total(week)).add(part)
        for name in dict.fromkeys([row.role for row in run.spends] + [row.role for row in run.claims]):
            roles.setdefault(name, Total(name)).add(_part(run, role=name))

    def by_cost(totals: dict[str, Total]) -> list[Total]:
        return sorted(totals.values(), key=lambda total: (-total.usd, -total.tokens, total.name))

    return Stats(
        total,
        sorted(weeks.values(), key=lambda total: total.name, reverse=True),
        by_cost(agents),
        by_cost(roles),
        by_cost(workflows),
        {
            total.name: [agent_weeks[total.name][week] for week in sorted(agent_weeks[total.name])]
            for total in by_cost(agents)
        },
        every,
    )


def _part(run: RunFacts, *, agent: str | None = None, role: str | None = None) -> RunFacts:
    """What one agent or one role did in a run."""

    def is_of(row: Spend | DoneClaim) -> bool:
        return agent in (None, row.agent) and role in (None, row.role)

    return replace(run, spends=[*filter(is_of, run.spends)], claims=[*filter(is_of, run.claims)])


def week_of(moment: float) -> str:
    """The ISO week of a moment, as `2026-W47`."""
    return time.strftime("%G-W%V", time.localtime(moment))
