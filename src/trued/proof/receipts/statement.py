"""The content of a receipt: an in-toto statement about one commit, its contract and its approvals."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from trued.model import Approval, Contract, Evidence, Finding, Grade, Judged, Requirement, Value, Verdict
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.verdict.conclusion import conclude, with_whole_contract
from trued.proof.verdict.reasons import OBJECTION_CLOSED

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://in-toto.io/attestation/test-result/v0.1"
UNSIGNED = "unsigned: a changed byte shows, but whoever can write this file could forge it anew"
SIGNED = "signed: it stands for as much as the key that signed it"
DIFFERENCES = 20  # at most this many differences are listed; nobody reads more

Result: TypeAlias = Literal["PASSED", "WARNED", "FAILED"]


class _Shape(Value):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class Descriptor(_Shape):
    """in-toto's resource descriptor: a commit or a contract, identified by its hash."""

    name: str = ""
    digest: dict[str, str]


class CheckSummary(_Shape):
    """What one execution of one check showed, without times and anything else that differs between two executions."""

    check: str
    kind: str
    side: Literal["base", "head"]
    turn: int
    counted: dict[str, int]  # outcome → how many cases
    cases: str  # sha256 of the list of all cases with their outcomes
    void: bool


class RequirementSummary(_Shape):
    """One requirement, as it was judged."""

    id: str
    text: str
    source: str
    grade: Grade
    why: tuple[str, ...]
    holds: bool
    lacks: str
    rests_on: tuple[str, ...]  # who wrote and who approved its checks
    evidence: tuple[CheckSummary, ...]


class EvidenceRecord(_Shape):
    """One piece of evidence, identified by its id in the journal and the hash of its content."""

    id: str
    sha256: str
    milliseconds: int


class Circumstances(_Shape):
    """What may differ between two proofs of the same commit: times, interpreters, sandbox levels."""

    engine: str
    began: str
    ended: str
    levels: tuple[str, ...]
    interpreters: tuple[str, ...]
    versions: dict[str, str]
    records: tuple[EvidenceRecord, ...]
    closed: tuple[str, ...]  # objections with a case that passed; these cases are not in the contract


class Account(_Shape):
    """The extension to in-toto's test result: grades, reasons, approvals and circumstances."""

    format: Literal[1] = 1
    note: str
    signer: str  # the public key in base64; "" if the receipt is unsigned
    subject: str
    grade: Grade
    accept: Grade
    why: tuple[str, ...]  # why the verdict is not a success
    base: str
    held_out: bool
    held_out_why: str
    requirements: tuple[RequirementSummary, ...]
    objections: tuple[Finding, ...]
    remarks: tuple[str, ...]
    undecided: tuple[str, ...]
    words: tuple[Approval, ...]  # approvals by people, which cannot be proven again
    owned: tuple[str, ...]  # files that the engine itself wrote, which are not part of the work
    taken: Circumstances


class Predicate(_Shape):
    """in-toto's test result, in which each requirement counts as a test."""

    result: Result
    configuration: tuple[Descriptor, ...]
    passed_tests: tuple[str, ...]
    warned_tests: tuple[str, ...]
    failed_tests: tuple[str, ...]
    trued: Account


class Statement(_Shape):
    """The whole statement: a commit, and what is claimed about it."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(default=STATEMENT, alias="_type")
    subject: tuple[Descriptor, ...] = Field(min_length=1)
    predicate_type: Literal["https://in-toto.io/attestation/test-result/v0.1"] = PREDICATE
    predicate: Predicate

    @property
    def commit(self) -> str:
        """The commit that the statement is about."""
        return self.subject[0].digest.get("gitCommit", "")

    @property
    def contract(self) -> str:
        """The hash of the contract by which the commit was judged."""
        return self.predicate.configuration[0].digest.get("sha256", "")

    def data(self) -> dict[str, Any]:
        """The statement as JSON data."""
        return self.model_dump(mode="json", by_alias=True)


# -- the content -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReceiptSurroundings:
    """What a verdict does not contain: the lowest accepted grade, approvals, the files that the engine wrote, and the
    engine's version."""

    accept: Grade = Grade.ATTESTED
    approvals: tuple[Approval, ...] = ()
    owned: tuple[str, ...] = ()
    engine: str = "trued"


def statement(
    contract: Contract,
    verdict: Verdict,
    surroundings: ReceiptSurroundings = ReceiptSurroundings(),  # noqa: B008 (frozen)
) -> Statement:
    """The unsigned statement about a verdict and its contract."""
    verdict = with_whole_contract(verdict, contract)
    summaries = tuple(
        _requirement_summary(contract, verdict, judged, surroundings.approvals) for judged in verdict.requirements
    )
    account = Account(
        note=UNSIGNED,
        signer="",
        subject=verdict.subject,
        grade=verdict.grade,
        accept=surroundings.accept,
        why=conclude(verdict, contract, surroundings.accept).why,
        base=contract.base,
        held_out=contract.held_out,
        held_out_why=contract.held_out_why,
        requirements=summaries,
        objections=verdict.objections,
        remarks=tuple(remark.what for remark in verdict.remarks),
        undecided=verdict.undecided,
        words=surroundings.approvals,
        owned=surroundings.owned,
        taken=_circumstances(contract, verdict, surroundings.engine),
    )
    raw_statement = _make_statement(
        Descriptor(digest={"gitCommit": verdict.commit, "gitTree": verdict.tree}), contract, account
    )
    return Statement.model_validate_json(canonical_bytes(encodable_data(raw_statement.data())))


def _make_statement(subject: Descriptor, contract: Contract, account: Account) -> Statement:
    configuration = (
        Descriptor(name="contract", digest={"sha256": contract_hash(contract)}),
        Descriptor(name="base", digest={"gitCommit": contract.base}),
    )
    result, sorted_out = tally(account)
    passed, warned, failed = sorted_out
    predicate = Predicate(
        result=result,
        configuration=configuration,
        passed_tests=passed,
        warned_tests=warned,
        failed_tests=failed,
        trued=account,
    )
    return Statement(subject=(subject,), predicate=predicate)


def tally(account: Account) -> tuple[Result, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    """The overall result, and the ids of the requirements that passed, that passed with a warning, and that failed.

    A requirement fails if its grade is below `accept`, the lowest accepted grade. It passes with a warning if its grade
    is accepted, but below `attested`. The overall result is FAILED if a requirement failed, if there is no requirement,
    or if there are objections or remarks.
    """
    full_grade, accepted_grade = max(account.accept, Grade.ATTESTED), account.accept
    passed = tuple(requirement.id for requirement in account.requirements if requirement.grade >= full_grade)
    warned = tuple(
        requirement.id for requirement in account.requirements if accepted_grade <= requirement.grade < full_grade
    )
    failed = tuple(requirement.id for requirement in account.requirements if requirement.grade < accepted_grade)
    is_success = bool(account.requirements) and not (failed or account.objections or account.remarks)
    return ("FAILED" if not is_success else "WARNED" if warned else "PASSED"), (passed, warned, failed)


def _requirement_summary(
    contract: Contract, verdict: Verdict, judged: Judged, approvals: Iterable[Approval]
) -> RequirementSummary:
    requirement = next((candidate for candidate in contract.requirements if candidate.id == judged.id), None)
    checks = [check_hash(check) for check in requirement.checks] if requirement else []
    facts = [fact for fact in (*contract.base_facts, *verdict.evidence) if fact.requirement == judged.id]
    facts = sorted(
        (fact for fact in facts if fact.check in checks),
        key=lambda fact: (fact.side, checks.index(fact.check), fact.turn),
    )
    return RequirementSummary(
        id=judged.id,
        text=judged.text,
        source=judged.source,
        grade=judged.grade,
        why=tuple(reason for reason in judged.why if not reason.startswith(OBJECTION_CLOSED)),
        holds=judged.holds,
        lacks=judged.lacks,
        rests_on=tuple(_rests_on(contract, requirement, judged, approvals)),
        evidence=tuple(map(_check_summary, facts)),
    )


def _rests_on(
    contract: Contract, requirement: Requirement | None, judged: Judged, approvals: Iterable[Approval]
) -> Iterator[str]:
    """Who wrote the checks, and who approved them."""
    if judged.rests_on:
        yield judged.rests_on
    elif requirement and requirement.checks:
        authors = [contract.authors.get(check_hash(check)) for check in requirement.checks]
        if None in authors:
            yield f"the user's own checks{f' ({requirement.source})' if str(requirement.source) else ''}"
        for author in dict.fromkeys(
            f"{author.role} ({author.agent}, {author.vendor or 'vendor unknown'})" for author in authors if author
        ):
            yield f"checks written by {author}"
    for approval in approvals:
        if approval.requirement == judged.id and approval.stale:
            yield f"an approval that no longer applies: {approval.stale}"
        elif approval.requirement == judged.id:
            yield f"{'rejected' if approval.rejected else 'accepted'} by {approval.who}: {approval.why}"
        elif approval.requirement == "*":
            yield f"the contract is approved by {approval.who}: {approval.why}"


def _check_summary(fact: Evidence) -> CheckSummary:
    cases = sorted([attempt.id, str(attempt.outcome), attempt.kind] for attempt in fact.tried)
    outcomes = [outcome for _, outcome, _ in cases]
    return CheckSummary(
        check=fact.check,
        kind=fact.kind,
        side=fact.side,
        turn=fact.turn,
        counted={outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))},
        cases=hashlib.sha256(canonical_bytes(encodable_data(cases))).hexdigest(),
        void=bool(fact.why_void),
    )


def _circumstances(contract: Contract, verdict: Verdict, engine: str) -> Circumstances:
    evidence = (*contract.base_facts, *verdict.evidence)
    began = [fact.began for fact in evidence]
    ended = [fact.began + fact.seconds for fact in evidence]
    return Circumstances(
        engine=engine,
        began=_moment(min(began)) if began else "",
        ended=_moment(max(ended)) if ended else "",
        levels=tuple(sorted({fact.isolation for fact in evidence})),
        interpreters=tuple(sorted({fact.interpreter for fact in evidence if fact.interpreter})),
        versions={name: version for fact in evidence for name, version in sorted(fact.versions.items())},
        records=tuple(_record(fact) for fact in evidence),
        closed=tuple(
            why for requirement in verdict.requirements for why in requirement.why if why.startswith(OBJECTION_CLOSED)
        ),
    )


def _record(fact: Evidence) -> EvidenceRecord:
    digest = hashlib.sha256(canonical_bytes(encodable_data(fact.model_dump(mode="json")))).hexdigest()
    return EvidenceRecord(id=fact.id, sha256=digest, milliseconds=round(fact.seconds * 1000))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).isoformat()


def canonical_bytes(data: Any) -> bytes:
    """The data as canonical JSON: equal data gives equal bytes."""
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def encodable_data(data: Any) -> Any:
    """A copy of the data, with characters that UTF-8 cannot encode written as escapes."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, Mapping):
        return {encodable_data(name): encodable_data(part) for name, part in data.items()}
    return [encodable_data(part) for part in data] if isinstance(data, list | tuple) else data


# -- comparing two statements ------------------------------------------------------------------------------------------


def claim_differences(before: Statement, after: Statement) -> tuple[str, ...]:
    """How two statements differ in what they claim, in at most `DIFFERENCES` sentences. Times, sandbox levels,
    interpreters and the signer are not claims."""
    claims_before, claims_after = _claims(before), _claims(after)
    if before.predicate.trued.taken.interpreters != after.predicate.trued.taken.interpreters:
        claims_before["predicate"]["trued"].pop("undecided")  # this field names the interpreter, which may differ
        claims_after["predicate"]["trued"].pop("undecided")
    return tuple(_differences(claims_before, claims_after, ""))[:DIFFERENCES]


def is_only_unjudged(before: Statement, after: Statement) -> bool:
    """Whether the second proof differs from the first only in requirements that it could not judge. Commit, contract
    and requirements must be the same, and at least one grade must differ."""
    pairs = list(zip(before.predicate.trued.requirements, after.predicate.trued.requirements, strict=False))
    is_same_work = before.contract == after.contract and before.commit == after.commit
    is_same_list = [(one.id, one.text) for one in before.predicate.trued.requirements] == [
        (one.id, one.text) for one in after.predicate.trued.requirements
    ]
    differing = [later.grade for earlier, later in pairs if earlier.grade is not later.grade]
    return is_same_work and is_same_list and bool(differing) and set(differing) == {Grade.UNJUDGED}


def _claims(stated: Statement) -> dict[str, Any]:
    data = stated.data()
    for name in ("taken", "note", "signer"):
        data["predicate"]["trued"].pop(name)
    return data


def _differences(before: Any, after: Any, where: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(name), after.get(name), f"{where}.{name}" if where else name)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for position, (part_before, part_after) in enumerate(zip(before, after, strict=True)):
            name = part_before.get("id") if isinstance(part_before, dict) else None
            yield from _differences(part_before, part_after, f"{where}[{name or position}]")
    elif before != after:
        yield f"{where}: {_brief(before)}, but here {_brief(after)}"


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"
