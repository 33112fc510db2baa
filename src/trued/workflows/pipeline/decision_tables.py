"""Decision tables: they derive the result of a cluster of agents from the agents' memories alone. In a table, the first
rule that matches wins."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import NamedTuple, cast

from trued.model import Status, Value
from trued.workflows.pipeline.memory import Memory

RESEARCH = ("researcher-architecture", "researcher-impact", "researcher-dependencies", "researcher-patterns")
CRITICS = ("ct-security", "ct-scalability", "ct-maintainability", "ct-strategy")
GATE, CHECKERS = "v-build", ("v-tests", "v-tasks", "v-feature")
VERIFIERS = (GATE, *CHECKERS)
SECURITY, KNOWLEDGE, OTHERS = "r-security", "r-knowledge", ("r-quality", "r-testing")
REVIEWERS = ("r-quality", SECURITY, "r-testing", KNOWLEDGE)
# Agents that may ask for a revision; any other agent is done or has failed.
REVISING = (*CRITICS, *CHECKERS, *REVIEWERS)
LEAST = 2  # a cluster of four agents needs at least this many outputs for a decision


class Scale(StrEnum):
    """A scale of severities, mildest first. Each kind of agent has its own scale; severities of two scales are never
    compared."""

    @property
    def rank(self) -> int:
        return _ranks(type(self))[self]

    @classmethod
    def worst(cls) -> "Scale":
        return [*_ranks(cls)][-1]

    @classmethod
    def read(cls, word: str) -> "Scale | None":
        """The severity that a word names; None for "none", "n/a", "-" and "". Any unknown word means the worst one."""
        normal = word.strip().casefold()
        if normal in NOTHING:
            return None
        return next((rank for rank in _ranks(cls) if rank.casefold() == normal), cls.worst())


@cache
def _ranks(scale: type[Scale]) -> dict[Scale, int]:
    return {word: rank for rank, word in enumerate(scale)}


class Concern(Scale):
    """Severities of a critic of the design."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"
    CRITICAL = "Critical"


class Flaw(Scale):
    """Severities of a reviewer. Critical is not on this scale, so it reads as Blocker."""

    MINOR = "Minor"
    MAJOR = "Major"
    BLOCKER = "Blocker"


class Result(Scale):
    """Results of a verifier."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"


NOTHING = ("", "none", "n/a", "-")


class ClusterDecision(Value):
    """The result of a cluster of agents, and the agents that caused it."""

    status: Status
    why: tuple[str, ...] = ()


class Rule(Value):
    """Matches if at least `least` of the agents in `of` have the status `are`. If `are` is a severity, agents with this
    or a worse severity are counted. A missing agent counts as ERROR."""

    least: int
    of: tuple[str, ...]
    are: Status | Concern | Flaw | Result
    then: Status
    note: str = ""  # for people

    @property
    def when(self) -> str:
        """The condition, for people who apply the table without the engine."""
        many = len(self.of)
        who = f"at least {self.least} of {', '.join(self.of)}" if many > 1 else self.of[0]
        what = {Status.ERROR: "missing or `ERROR`", Status.NEEDS_REVISION: "`NEEDS_REVISION`"}
        worst = self.are in (Concern.CRITICAL, Flaw.BLOCKER, Result.FAIL)
        scale = f"at {self.are}" if worst else f"at {self.are} or worse"
        return f"{who}: {what.get(cast('Status', self.are), scale)}"


class DecisionTable(Value):
    """The rules for one cluster of agents. The first rule that matches decides; if no rule matches, the cluster is
    DONE."""

    cluster: str
    names: tuple[str, ...]
    scale: type[Scale]
    rules: tuple[Rule, ...]
    note: str = ""

    def decide(self, memories: Mapping[str, Memory | None]) -> ClusterDecision:
        """Decide from the memories of this cluster's agents. A missing memory counts as ERROR; memories of other agents
        are ignored."""
        opinions = {name: Opinion.of(name, memories.get(name), self.scale) for name in self.names}
        for rule in self.rules:
            met = [opinions[name] for name in rule.of if opinions[name].meets(rule.are)]
            if len(met) >= rule.least:
                return ClusterDecision(status=rule.then, why=tuple(condition.said for condition in met))
        return ClusterDecision(
            status=Status.DONE,
            why=tuple(opinion.said for opinion in opinions.values() if opinion.status is Status.ERROR),
        )

    def render(self) -> str:
        """The table in Markdown, for people who apply it without the engine."""
        rules = [(rule.when, rule.then, rule.note) for rule in self.rules]
        cells = enumerate([*rules, ("otherwise", Status.DONE, self.note)], 1)
        rows = [f"| {number} | {when} | `{then}` | {note} |" for number, (when, then, note) in cells]
        return "\n".join(["| # | when | result | |", "| --- | --- | --- | --- |", *rows])


class Opinion(NamedTuple):
    """An agent's status and severity. If one of them is unknown, or contradicts the other, the worst reading counts."""

    name: str
    status: Status
    severity: Scale | None
    said: str

    @classmethod
    def of(cls, name: str, memory: Memory | None, scale: type[Scale]) -> "Opinion":
        if memory is None:
            return cls(name, Status.ERROR, None, f"{name}: missing")
        severity, status = scale.read(memory.severity), allowed_status(name, memory.status)
        if severity is None and memory.status is Status.NEEDS_REVISION:
            severity = scale.worst()  # the agent asks for a revision and gives no severity
        if severity is Result.FAIL and status is Status.DONE:
            # The agent says DONE and "fail": the worse of the two counts.
            status = allowed_status(name, Status.NEEDS_REVISION)
        status_text = f"{name}: {memory.status.value}"
        return cls(name, status, severity, f"{status_text}, {memory.severity}" if memory.severity else status_text)

    def meets(self, what: Status | Scale) -> bool:
        if isinstance(what, Status):
            return self.status is what
        return self.severity is not None and self.severity.rank >= what.rank


def allowed_status(name: str, status: Status) -> Status:
    """The status that counts: ERROR if the agent asks for a revision, but is not allowed to do so."""
    return Status.ERROR if status is Status.NEEDS_REVISION and name not in REVISING else status


_ERROR, _REVISE = Status.ERROR, Status.NEEDS_REVISION
_TOO_FEW = 4 - LEAST + 1  # if this many of four agents are ERROR, too few outputs are left

RESEARCH_TABLE = DecisionTable(
    cluster="research",
    names=RESEARCH,
    scale=Concern,
    rules=(Rule(least=_TOO_FEW, of=RESEARCH, are=_ERROR, then=_ERROR, note="fewer than 2 outputs: the run ends"),),
    note="later briefs name what is missing",
)
CRITIQUE_TABLE = DecisionTable(
    cluster="critique",
    names=CRITICS,
    scale=Concern,
    rules=(
        Rule(least=_TOO_FEW, of=CRITICS, are=_ERROR, then=_ERROR, note="fewer than 2 outputs"),
        Rule(least=1, of=CRITICS, are=Concern.HIGH, then=_REVISE, note="to the designer, once"),
    ),
    note="all Medium or Low",
)
VERIFICATION_TABLE = DecisionTable(
    cluster="verification",
    names=VERIFIERS,
    scale=Result,
    rules=(
        Rule(least=1, of=(GATE,), are=_ERROR, then=_ERROR, note="the others are skipped; the next round"),
        Rule(least=2, of=CHECKERS, are=_ERROR, then=_ERROR, note="the next round"),
        Rule(least=1, of=CHECKERS, are=_REVISE, then=_REVISE, note="to the planner; the next round"),
        Rule(least=1, of=CHECKERS, are=_ERROR, then=Status.DONE, note="continue with what is there"),
    ),
    note="all are `DONE`",
)
REVIEW_TABLE = DecisionTable(
    cluster="review",
    names=REVIEWERS,
    scale=Flaw,
    rules=(
        Rule(least=1, of=(SECURITY,), are=_ERROR, then=_ERROR, note="it is mandatory: the run is `ERROR`"),
        Rule(least=1, of=(SECURITY,), are=Flaw.BLOCKER, then=_ERROR, note="Critical counts as Blocker, too"),
        Rule(least=2, of=OTHERS, are=_ERROR, then=_ERROR),
        # A Major of the security reviewer counts like any other reviewer's: one is enough for a revision.
        Rule(least=1, of=(SECURITY, *OTHERS), are=Flaw.MAJOR, then=_REVISE, note="to the implementers, once"),
    ),
    note=f"{KNOWLEDGE} never changes the result",
)
TABLES = (RESEARCH_TABLE, CRITIQUE_TABLE, VERIFICATION_TABLE, REVIEW_TABLE)
