"""What runs cost and what came of them: by week, by agent and by role. Pure."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from trued.model import RunRecord
from trued.wire import Spend


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run: its record, its requirements that are met, and what it spent."""

    record: RunRecord
    met: int
    requirements: int
    spends: Sequence[Spend] = ()


@dataclass(slots=True)
class Total:
    """Runs added up. A run counts once in each total that it took part in."""

    name: str
    runs: int = 0
    proven: int = 0  # runs of which every requirement is proven
    met: int = 0  # requirements
    requirements: int = 0
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    is_estimated: bool = False  # a price was computed, or is a ceiling
    met_per_usd: float | None = None  # None where nothing was paid
    _runs: set[str] = field(default_factory=set)

    def add(self, run: RunFacts, spends: Iterable[Spend]) -> None:
        rows = list(spends)
        if run.record.id not in self._runs:
            self._runs.add(run.record.id)
            self.runs += 1
            self.proven += run.record.grade == "proven" and run.record.state == "done"
            self.met, self.requirements = self.met + run.met, self.requirements + run.requirements
        self.calls += len({row.step for row in rows})
        self.tokens += sum(row.spent.tokens for row in rows)
        self.usd += sum(row.spent.usd for row in rows)
        self.is_estimated |= any(row.cost != "reported" and row.spent.usd for row in rows)
        self.met_per_usd = round(self.met / self.usd, 2) if self.usd > 0 else None

    @property
    def data(self) -> dict[str, object]:
        return {**{name: value for name, value in asdict(self).items() if name != "_runs"}, "usd": round(self.usd, 4)}


@dataclass(frozen=True, slots=True)
class Stats:
    """All runs added up, and the same by week, agent and role."""

    total: Total
    weeks: list[Total]
    agents: list[Total]
    roles: list[Total]

    @property
    def data(self) -> dict[str, object]:
        parts = {"weeks": self.weeks, "agents": self.agents, "roles": self.roles}
        return {"total": self.total.data, **{name: [one.data for one in every] for name, every in parts.items()}}


def add_up(runs: Iterable[RunFacts]) -> Stats:
    """The figures of these runs; weeks from the newest, agents and roles from the most expensive."""
    total, weeks, agents, roles = Total("all"), dict[str, Total](), dict[str, Total](), dict[str, Total]()
    for run in runs:
        total.add(run, run.spends)
        week = week_of(run.record.created_at)
        weeks.setdefault(week, Total(week)).add(run, run.spends)
        for found, names in ((agents, [row.agent for row in run.spends]), (roles, [row.role for row in run.spends])):
            for name in dict.fromkeys(names):
                own = [row for row, its in zip(run.spends, names, strict=True) if its == name]
                found.setdefault(name, Total(name)).add(run, own)

    def by_cost(found: dict[str, Total]) -> list[Total]:
        return sorted(found.values(), key=lambda one: (-one.usd, -one.tokens, one.name))

    return Stats(total, sorted(weeks.values(), key=lambda one: one.name, reverse=True), by_cost(agents), by_cost(roles))


def week_of(at: float) -> str:
    """The ISO week of a moment, as `2026-W47`."""
    return time.strftime("%G-W%V", time.localtime(at))
