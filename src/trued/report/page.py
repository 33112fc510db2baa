"""The page as values: what stands where, before any HTML."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ..types import Approval, Finding, Grade, Question
from .calls import Call, Text, calls
from .ledger import Row, rows
from .material import Material
from .timeline import Timeline, timeline
from .words import agent_name, amount, counted, cut, duration, moment, money

DOCUMENT = 200_000  # characters of one document
OBEYED = (
    "trued.toml",
    ".trued",
    ".claude",
    ".codex",
    ".github",
    ".githooks",
    "AGENTS.md",
    "CLAUDE.md",
)  # by tools, unasked
NOTICES = {
    "branch not moved": "The run's branch was not moved",
    "sealed file edited": "An agent edited what is sealed or the engine's; the edit counts for nothing",
    "tried to start an agent": "An agent tried to start another agent and was refused",
    "no progress": "A loop ended early: the same checks failed twice, and nothing was changed",
}
GOOD = {
    "done": "Every requirement is met, on evidence.",
    "not proven": "Not everything is proven.",
    "waiting": "It waits for a person.",
    "running": "It is still going on.",
    "planned": "The contract is sealed; no work has begun.",
    "stopped": "It was stopped by a person.",
    "failed": "An agent or its provider failed.",
    "unjudged": "The environment broke: nothing could be judged.",
    "cancelled": "It was cancelled.",
    "interrupted": "It was interrupted and can be resumed.",
}


@dataclass(frozen=True)
class Spent:
    """Tokens and money of one agent in one role."""

    role: str
    agent: str
    calls: int
    tokens_in: str
    tokens_out: str
    cached: str
    peak: str
    cost: str
    time: str
    share: float  # of all tokens, in per cent
    remark: str


@dataclass(frozen=True)
class Environment:
    """What checks ran with, and how many of them."""

    interpreter: str
    versions: tuple[tuple[str, str], ...]
    times: int


@dataclass(frozen=True)
class Document:
    name: str
    text: Text


@dataclass(frozen=True)
class Page:
    title: str
    run: str
    workflow: str
    state: str
    grade: str
    says: str
    why: str
    scripted: bool
    notices: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, str, str], ...]  # figure, what of, remark
    grades: tuple[tuple[str, int], ...]
    timeline: Timeline
    rows: tuple[Row, ...]
    calls: tuple[Call, ...]
    spent: tuple[Spent, ...]
    gaps: tuple[Finding, ...]
    objections: tuple[Finding, ...]
    undecided: tuple[str, ...]
    approvals: tuple[Approval, ...]
    questions: tuple[Question, ...]
    documents: tuple[Document, ...]
    environments: tuple[Environment, ...]
    commands: tuple[tuple[str, str], ...]
    held_back: bool
    made: str
    version: str


def page(material: Material) -> Page:
    record, verdict = material.record, material.verdict
    every, ledger = calls(material), rows(material)
    count = Counter(row.grade for row in ledger)
    line = timeline(material, every)
    return Page(
        title=record.title or record.id,
        run=record.id,
        workflow=record.workflow,
        state=record.state,
        grade=str(record.grade if record.state != "running" or verdict is None else verdict.grade),
        says=GOOD.get(record.state, record.state),
        why=record.why,
        scripted=any(call.scripted for call in every),
        notices=tuple(_notices(material, every)),
        facts=tuple((name, value) for name, value in _facts(material) if value),
        figures=tuple(_figures(material, every, ledger, line)),
        grades=tuple((str(grade), count[grade]) for grade in reversed(Grade) if count[grade]),
        timeline=line,
        rows=ledger,
        calls=every,
        spent=tuple(_spent(every)),
        gaps=verdict.gaps if verdict else (),
        objections=verdict.objections if verdict else (),
        undecided=verdict.undecided if verdict else (),
        approvals=tuple(material.approvals),
        questions=tuple(material.questions),
        documents=tuple(Document(name, Text.of(text, DOCUMENT)) for name, text in material.documents.items()),
        environments=tuple(_environments(material)),
        commands=tuple(_commands(material, ledger)),
        held_back=bool(material.contract and material.contract.held_out and not material.ended),
        made=moment(material.now),
        version=material.version,
    )


def _facts(material: Material) -> Iterator[tuple[str, str]]:
    record, contract = material.record, material.contract
    yield "workflow", record.workflow
    yield "repository", record.repository
    yield "branch", record.branch
    yield "base", record.base
    yield "commit", record.head
    yield "contract", material.contract_hash
    yield "held out", contract.held_out_why or ("yes" if contract.held_out else "no") if contract else ""
    yield "isolation", material.level
    yield "success is", f"every requirement at {material.settings.accept} or better"
    yield "plan", str(material.goal.source)
    yield "began", moment(record.created_at)
    yield "ended" if material.ended else "last change", moment(record.updated_at)


def _figures(
    material: Material, every: Sequence[Call], ledger: Sequence[Row], line: Timeline
) -> Iterator[tuple[str, str, str]]:
    met = sum(Grade(row.grade).rank >= material.settings.accept.rank for row in ledger)
    yield f"{met}/{len(ledger)}", "requirements met", ""
    yield amount(len(every)), "agent call" if len(every) == 1 else "agent calls", ""
    refuted = sum(1 for call in every if call.refuted)
    yield amount(refuted), "claim refuted" if refuted == 1 else "claims refuted", "by the engine's own checks"
    crashes = sum(1 for one in material.events if one.kind == "resumed")
    if crashes:
        adopted = sum(1 for call in every for one in call.lost if one.kind == "adopted")
        yield amount(crashes), "resume" if crashes == 1 else "resumes", f"{counted(adopted, 'call')} adopted"
    tokens = sum(_tokens(call, "in") + _tokens(call, "out") for call in every)
    yield _about(tokens, every), "tokens", "simulated" if every and all(call.scripted for call in every) else ""
    yield duration(line.seconds), "from first to last event", ""


def _notices(material: Material, every: Sequence[Call]) -> Iterator[str]:
    if material.settings.accept.rank < Grade.ATTESTED.rank:
        yield f"The bar was lowered: --accept {material.settings.accept}. What counts as success here is not proof."
    if material.level == "none":
        yield "Nothing was confined: agents and checks could read and write everything (--allow-unsandboxed)."
    if material.contract and not material.contract.held_out and material.contract.held_out_why:
        yield f"Nothing was held out: {material.contract.held_out_why}."
    touched = sorted({path for call in every for path in call.changed if PurePosixPath(path).parts[0] in OBEYED})
    if touched:
        yield f"This run changed files that tools obey without asking: {', '.join(touched[:20])}."
    for kind, words in NOTICES.items():
        told = dict.fromkeys(_told(one.data) for one in material.events if one.kind == kind)
        for rest in list(told)[:3]:
            yield f"{words}: {rest}" if rest else f"{words}."
        if len(told) > 3:
            yield f"{words}, {len(told) - 3} times more."


def _told(data: Mapping[str, Any]) -> str:
    values = (", ".join(map(str, one)) if isinstance(one, list) else str(one) for one in data.values() if one)
    return cut("; ".join(values), 400)[0]


def _environments(material: Material) -> Iterator[Environment]:
    facts = [*(material.contract.base_facts if material.contract else ())]
    facts += [one for proved in material.history for one in proved.verdict.evidence]
    kinds = Counter((one.interpreter, tuple(one.versions.items())) for one in facts)
    for (interpreter, versions), times in kinds.items():
        yield Environment(interpreter or "no interpreter recorded", versions, times)


def _spent(every: Sequence[Call]) -> Iterator[Spent]:
    everything = sum(_tokens(call, "in") + _tokens(call, "out") for call in every) or 1
    for role, agent in dict.fromkeys((call.role, call.agent) for call in every):
        own = [call for call in every if (call.role, call.agent) == (role, agent)]
        total = {name: sum(_tokens(call, name) for call in own) for name in ("in", "out", "cached")}
        cost = sum(call.cost_usd for call in own)
        yield Spent(
            role=role,
            agent=agent_name(agent),
            calls=len(own),
            tokens_in=_about(total["in"], own),
            tokens_out=_about(total["out"], own),
            cached=_about(total["cached"], own),
            peak=_about(max(_tokens(call, "peak") for call in own), own),
            cost=f"{'~' if _estimated(own) else ''}{money(cost)}" if cost else "not reported",
            time=duration(sum(call.seconds for call in own)),
            share=100 * (total["in"] + total["out"]) / everything,
            remark="simulated: a script, not a model" if own[0].scripted else "",
        )


def _tokens(call: Call, name: str) -> int:
    return int(call.tokens.get(name) or 0)


def _estimated(every: Sequence[Call]) -> bool:
    return any(call.tokens.get("estimated") for call in every)


def _about(number: int, every: Sequence[Call]) -> str:
    return f"{'~' if _estimated(every) and number else ''}{amount(number)}"


def _commands(material: Material, ledger: Sequence[Row]) -> Iterator[tuple[str, str]]:
    record = material.record
    yield "what happened, step by step", f"trued show {record.id}"
    yield "the same ledger", f"trued ledger {record.id}"
    if ledger:
        yield "one requirement and its evidence", f"trued why {ledger[0].id} {record.id}"
    yield "what changed", f"git -C {record.repository} diff {record.base[:10]}..{record.branch}"
    yield "the work itself", f"git -C {record.repository} log --oneline {record.base[:10]}..{record.branch}"
    yield "this page again, from the journal", f"trued report {record.id}"
