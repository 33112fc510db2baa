"""Decision tables for every combination of answers of a cluster, compared with a plain oracle that counts."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

import pytest

from trued.model import Status
from trued.workflows.pipeline import decision_tables as decide
from trued.workflows.pipeline.decision_tables import (
    CRITICS,
    RESEARCH,
    REVIEWERS,
    VERIFIERS,
    ClusterDecision,
    Concern,
    Flaw,
    Result,
    Scale,
)
from trued.workflows.pipeline.memory import Memory


class Says(NamedTuple):
    """One agent's answer, for the oracle. An empty status means that it gave no reply."""

    status: str = ""
    severity: str = ""


Decides = Callable[[Mapping[str, Memory | None]], ClusterDecision]
STATUSES = ("DONE", "NEEDS_REVISION", "ERROR")


def all_says(*severities: str) -> list[Says]:
    return [Says(), *(Says(*pair) for pair in product(STATUSES, ("", *severities)))]


def memory(name: str, says: Says) -> Memory | None:
    if not says.status:
        return None
    return Memory(agent=name, role=name, status=Status(says.status), severity=says.severity)


def disagreements(
    decides: Decides, oracle: Callable[..., str], names: tuple[str, ...], says: list[Says]
) -> list[tuple[Says, ...]]:
    made = {name: [(one, memory(name, one)) for one in says] for name in names}
    wrong = []
    for pairs in product(*made.values()):
        decided = decides(dict(zip(names, (kept for _, kept in pairs), strict=True)))
        said = tuple(one for one, _ in pairs)
        if decided.status.value != oracle(*said):
            wrong.append(said)
    return wrong


# -- the oracle, from the specification's sentences --------------------------------------------------------------------


def oracle_research(*four: Says) -> str:
    outputs = 0
    for one in four:
        if one.status == "DONE":  # no researcher may ask for a revision
            outputs += 1
    if outputs < 2:
        return "ERROR"
    return "DONE"


def oracle_critique(*four: Says) -> str:
    outputs = [one for one in four if one.status in ("DONE", "NEEDS_REVISION")]
    if len(outputs) < 2:
        return "ERROR"
    serious = 0
    for one in four:
        if one.severity in ("Critical", "High"):
            serious += 1
        if one.severity == "" and one.status == "NEEDS_REVISION":
            serious += 1
        if one.severity not in ("", "Low", "Medium", "High", "Critical"):
            serious += 1
    return "NEEDS_REVISION" if serious else "DONE"


def oracle_verification(build: Says, *three: Says) -> str:
    if build.status != "DONE" or build.severity == "fail":
        return "ERROR"
    silent_or_failed = revisions = 0
    for one in three:
        if one.status in ("", "ERROR"):
            silent_or_failed += 1
        elif one.status == "NEEDS_REVISION" or one.severity == "fail":
            revisions += 1
    if silent_or_failed > 1:
        return "ERROR"
    if revisions > 0:
        return "NEEDS_REVISION"
    return "DONE"  # a single failed or missing agent blocks nothing


def oracle_review(quality: Says, security: Says, testing: Says, knowledge: Says) -> str:
    del knowledge  # its status and its findings change nothing
    if security.status == "" or security.status == "ERROR":
        return "ERROR"
    if security.severity in ("Blocker", "Critical"):
        return "ERROR"
    if security.status == "NEEDS_REVISION" and security.severity == "":
        return "ERROR"  # without a severity, the worst is assumed
    if quality.status in ("", "ERROR") and testing.status in ("", "ERROR"):
        return "ERROR"
    for one in (quality, security, testing):
        if one.severity in ("Major", "Blocker", "Critical"):
            return "NEEDS_REVISION"
        if one.status == "NEEDS_REVISION" and one.severity == "":
            return "NEEDS_REVISION"
    return "DONE"


# -- full products -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("PIPE-4", "PIPE-5", "PIPE-18")
def test_research_needs_two_that_are_done() -> None:
    assert disagreements(decide.RESEARCH_TABLE.decide, oracle_research, RESEARCH, all_says("Critical", "Low")) == []


@pytest.mark.spec("PIPE-4", "PIPE-5")
def test_critique_is_decided_as_the_specification_says_whatever_four_critics_say() -> None:
    says = all_says("Low", "Medium", "High", "Critical")
    assert disagreements(decide.CRITIQUE_TABLE.decide, oracle_critique, CRITICS, says) == []


@pytest.mark.spec("PIPE-4", "PIPE-6")
def test_verification_is_decided_as_the_specification_says_whatever_four_verifiers_say() -> None:
    assert (
        disagreements(decide.VERIFICATION_TABLE.decide, oracle_verification, VERIFIERS, all_says("pass", "fail")) == []
    )


@pytest.mark.spec("PIPE-4", "PIPE-7")
def test_review_is_decided_as_the_specification_says_whatever_four_reviewers_say() -> None:
    says = all_says("Minor", "Major", "Blocker", "Critical")
    assert disagreements(decide.REVIEW_TABLE.decide, oracle_review, REVIEWERS, says) == []


# -- single rules, for people who read ---------------------------------------------------------------------------------


def said(**words: tuple[str, str]) -> dict[str, Memory | None]:
    """The memories of all agents, from arguments such as r_security=("DONE", "Major"). Others are DONE, without
    findings."""
    named = {name.replace("_", "-"): Says(*pair) for name, pair in words.items()}
    everybody = (*RESEARCH, *CRITICS, *VERIFIERS, *REVIEWERS)
    return {name: memory(name, named.get(name, Says("DONE"))) for name in everybody}


@pytest.mark.spec("PIPE-9")
@pytest.mark.parametrize("scale", [Concern, Flaw, Result])
def test_a_scale_is_in_order_and_a_word_that_is_not_on_it_is_its_worst(scale: type[Scale]) -> None:
    words = list(scale)
    assert [one.rank for one in words] == list(range(len(words)))
    assert [scale.read(one.upper()) for one in words] == words
    assert [scale.read(word) for word in ("", " none ", "N/A")] == [None] * 3
    assert {scale.read(word) for word in ("apocalyptic", "High Minor pass", "0", "nothing at all")} == {words[-1]}


@pytest.mark.spec("PIPE-9")
def test_every_kind_of_agent_keeps_its_own_words() -> None:
    assert [[*one] for one in (Concern, Flaw, Result)] == [
        ["Low", "Medium", "High", "Critical"],
        ["Minor", "Major", "Blocker"],
        ["pass", "fail"],
    ]


@pytest.mark.spec("PIPE-7", "PIPE-9")
def test_critical_from_the_security_reviewer_is_a_blocker() -> None:
    assert decide.REVIEW_TABLE.decide(said(r_security=("DONE", "critical"))).status is Status.ERROR
    assert decide.REVIEW_TABLE.decide(said(r_quality=("DONE", "critical"))).status is Status.NEEDS_REVISION


@pytest.mark.spec("PIPE-7")
def test_a_silent_security_reviewer_ends_the_run_and_a_silent_archivist_does_not() -> None:
    silent = said(r_security=("", ""))
    assert decide.REVIEW_TABLE.decide(silent) == ClusterDecision(status=Status.ERROR, why=("r-security: missing",))
    assert decide.REVIEW_TABLE.decide(said(r_knowledge=("", ""))).status is Status.DONE
    assert decide.REVIEW_TABLE.decide(said(r_knowledge=("ERROR", "Blocker"))).status is Status.DONE
    assert decide.REVIEW_TABLE.decide({}).status is Status.ERROR


@pytest.mark.spec("PIPE-18")
@pytest.mark.parametrize("name", [*RESEARCH, "spec", "designer", "planner", "implementer-T03", "v-build"])
def test_whoever_may_not_ask_for_a_revision_and_does_has_failed(name: str) -> None:
    assert decide.allowed_status(name, Status.NEEDS_REVISION) is Status.ERROR
    assert decide.allowed_status(name, Status.DONE) is Status.DONE


@pytest.mark.spec("PIPE-18")
def test_critics_checkers_and_reviewers_may_ask_for_a_revision() -> None:
    asking = (*CRITICS, *VERIFIERS[1:], *REVIEWERS)
    assert {decide.allowed_status(name, Status.NEEDS_REVISION) for name in asking} == {Status.NEEDS_REVISION}


@pytest.mark.spec("PIPE-4")
def test_a_decision_says_who_made_it() -> None:
    found = decide.CRITIQUE_TABLE.decide(said(ct_strategy=("NEEDS_REVISION", "High"), ct_security=("DONE", "Critical")))
    assert found.why == ("ct-security: DONE, Critical", "ct-strategy: NEEDS_REVISION, High")
    gone_on = decide.VERIFICATION_TABLE.decide(said(v_tasks=("", "")))
    assert gone_on == ClusterDecision(status=Status.DONE, why=("v-tasks: missing",))


@pytest.mark.spec("PIPE-4")
def test_somebody_from_elsewhere_has_no_say() -> None:
    quiet = said()
    forged = {**quiet, "r-security-2": memory("r-security", Says("ERROR", "Blocker")), "v-build": None}
    assert decide.REVIEW_TABLE.decide(forged) == decide.REVIEW_TABLE.decide(quiet)


@pytest.mark.spec("PIPE-4", "PIPE-13")
@pytest.mark.parametrize("table", decide.TABLES, ids=[table.cluster for table in decide.TABLES])
def test_the_table_that_people_read_is_the_table_that_decides(table: decide.DecisionTable) -> None:
    rows = table.render().splitlines()[2:]
    assert len(rows) == len(table.rules) + 1
    for row, rule in zip(rows, table.rules, strict=False):
        assert all(name in row for name in rule.of)
        assert f"`{rule.then}`" in row
        assert rule.are.value in row
        assert len(rule.of) == 1 or f"at least {rule.least} of" in row
    assert "| otherwise | `DONE` |" in rows[-1]
