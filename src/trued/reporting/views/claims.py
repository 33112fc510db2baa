"""Claims of agents that the work is good, and which of them fell: the engine's next check of the same part failed."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trued.model.step_keys import scope_of

FIRST = ("impl-agent",)  # builds before the first round that looks at it
ADVISERS = (
    frozenset(  # say what is to be done, or look at something else than what is checked: no claim of theirs can fall
        {"pm", "techlead", "researcher", "spec", "designer", "planner", "v-build", "r-knowledge"}
        | {"ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"}
    )
)
DONE = ("", "DONE", "PASS", "passed")  # claims that all is well


@dataclass(frozen=True, slots=True)
class DoneClaim:
    """One call whose agent said that the work is good."""

    key: str
    role: str
    agent: str
    at: float
    fell: bool = False


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How one call ended, without its texts."""

    key: str
    role: str
    agent: str
    state: str
    at: float
    reply: Mapping[str, Any]  # the fields by which it claims something


@dataclass(frozen=True, slots=True)
class VerdictFact:
    """One verdict of the engine: requirement → grade, and the worst of them."""

    key: str
    at: float
    grades: Mapping[str, str]  # empty in journals of earlier versions
    worst: str = ""

    @property
    def is_refuted(self) -> bool:
        return "refuted" in self.grades.values() if self.grades else self.worst == "refuted"


def claim_of(reply: Mapping[str, Any]) -> str:
    """The word by which an agent says how its work ended."""
    if isinstance(passed := reply.get("passes", reply.get("passed")), bool):
        return "PASS" if passed else "not yet"
    return str(reply.get("result") or reply.get("decision") or reply.get("status") or "")


def claims_done(role: str, state: str, reply: Mapping[str, Any]) -> bool:
    """Whether a call says that the work is good. Who names gaps, asks or only advises does not."""
    return state == "done" and claim_of(reply) in DONE and role not in ADVISERS and not reply.get("asks")


def done_claims(calls: Iterable[CallEnd], verdicts: Iterable[VerdictFact]) -> Iterator[DoneClaim]:
    """The claims of one run that all is well, each with what became of it."""
    in_order = sorted(verdicts, key=lambda one: one.at)
    by_scope: dict[str, list[VerdictFact]] = defaultdict(list)
    for one in in_order:
        by_scope[scope_of(one.key)].append(one)
    for call in calls:
        if not claims_done(call.role, call.state, call.reply):
            continue
        candidates = in_order if call.role in FIRST else by_scope[scope_of(call.key)]
        place = bisect_left(candidates, call.at, key=lambda one: one.at)
        fell = place < len(candidates) and candidates[place].is_refuted
        yield DoneClaim(call.key, call.role, call.agent, call.at, fell)
