"""Agents' claims that the work is good, and which of them the engine's next check of the same work refuted."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trued.model.history import claim_of
from trued.model.step_keys import is_landing, scope_of
from trued.reporting.views.rows import Call

FIRST = ("impl-agent",)  # roles that build before the first round: the next verdict of any scope is about their work
ADVISERS = frozenset(  # roles that plan, or review what no check covers, so that no check can refute their claims
    {"pm", "techlead", "researcher", "spec", "designer", "planner", "v-build", "r-knowledge"}
    | {"ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"}
)
DONE = ("", "DONE", "PASS", "passed")  # claims that all is well; a reply without a claim counts as one


@dataclass(frozen=True, slots=True)
class DoneClaim:
    """A call that ended with the claim that the work is good."""

    key: str
    role: str
    agent: str
    at: float
    fell: bool = False
    refuted: tuple[str, ...] = ()  # the requirements whose check failed, if the journal names them


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How one call ended, without its texts."""

    key: str
    role: str
    agent: str
    state: str
    at: float
    reply: Mapping[str, Any]  # at least those fields of the reply that hold the claim

    @classmethod
    def of(cls, row: Call) -> "CallEnd":
        answer = row.answer
        return cls(
            row.key, row.role, row.agent, answer.state if answer else "", row.ended, (answer and answer.reply) or {}
        )


@dataclass(frozen=True, slots=True)
class VerdictFact:
    """One verdict of the engine: the grade of each requirement, and the worst grade."""

    key: str
    at: float
    grades: Mapping[str, str]  # empty in journals of earlier versions
    worst: str = ""

    @property
    def is_refuted(self) -> bool:
        return bool(self.refuted) if self.grades else self.worst == "refuted"

    @property
    def refuted(self) -> tuple[str, ...]:
        return tuple(name for name, grade in self.grades.items() if grade == "refuted")


def claims_done(role: str, state: str, reply: Mapping[str, Any]) -> bool:
    """Whether a call says that the work is good. A call that names gaps, asks or only advises does not."""
    return state == "done" and claim_of(reply) in DONE and role not in ADVISERS and not reply.get("asks")


def done_claims(calls: Iterable[CallEnd], verdicts: Iterable[VerdictFact]) -> Iterator[DoneClaim]:
    """A run's claims that all is well. Each says whether the next check refuted it. A landing's checks do not count:
    they judge another commit."""
    about_work = (verdict for verdict in verdicts if not is_landing(verdict.key))
    in_order = sorted(about_work, key=lambda verdict: verdict.at)
    by_scope: dict[str, list[VerdictFact]] = defaultdict(list)
    for verdict in in_order:
        by_scope[scope_of(verdict.key)].append(verdict)
    for call in calls:
        if not claims_done(call.role, call.state, call.reply):
            continue
        candidates = in_order if call.role in FIRST else by_scope[scope_of(call.key)]
        position = bisect_left(candidates, call.at, key=lambda verdict: verdict.at)
        after = candidates[position] if position < len(candidates) else None
        fell = after is not None and after.is_refuted
        yield DoneClaim(call.key, call.role, call.agent, call.at, fell, after.refuted if after else ())
