"""A sample contract and its verdict, for tests of receipts that run no checks."""

from trued.model import Approval, Author, Contract, Evidence, Finding, Grade, Judged, Requirement, Tried, Verdict
from trued.proof.hashes import check_hash
from trued.proof.receipts.statement import ReceiptSurroundings, Statement, statement

BASE, HEAD, TREE = "b" * 40, "a" * 40, "c" * 40
HOSTILE = 'quote " \\ slash / \x1b[31mred\x1b[0m \u202eevil\u200b \x00 \ud800 <script> 名'


def requirement(name: str = "slug", text: str = "slugify joins words with one dash") -> Requirement:
    case = {"call": "textkit:slugify", "args": ["A b", 1.5], "returns": "a-b"}
    return Requirement.model_validate(
        {
            "id": name,
            "text": text,
            "source": {"file": "r.yaml", "line": 3},
            "checks": [{"kind": "examples", "cases": [case]}],
        }
    )


def evidence(one: Requirement, side: str, turn: int, outcome: str, **more: object) -> Evidence:
    return Evidence.model_validate(
        {
            "id": f"{side}{turn}",
            "requirement": one.id,
            "check": check_hash(one.checks[0]),
            "kind": "examples",
            "side": side,
            "turn": turn,
            "commit": BASE if side == "base" else HEAD,
            "tree": TREE,
            "interpreter": "python 3.11 at some place",
            "versions": {"python": "3.11.9"},
            "isolation": "bubblewrap",
            "tried": [
                Tried.model_validate(
                    {"id": "case 1", "outcome": outcome, "kind": "" if outcome == "passed" else "missing"}
                )
            ],
            "began": 1_700_000_000.25 + turn,
            "seconds": 0.125,
            **more,
        }
    )


def contract(*requirements: Requirement, authors: dict[str, Author] | None = None) -> Contract:
    every = requirements or (requirement(),)
    facts = tuple(evidence(one, "base", turn, "missing") for one in every for turn in (1, 2, 3))
    return Contract(base=BASE, requirements=every, held_out=True, authors=authors or {}, base_facts=facts)


def verdict(sealed: Contract, grade: Grade = Grade.PROVEN, *objections: Finding) -> Verdict:
    judged = tuple(
        Judged(
            id=one.id,
            text=one.text,
            source=str(one.source),
            grade=grade,
            why=("1 examples failed on the base and pass here",),
            holds=grade is not Grade.REFUTED,
        )
        for one in sealed.requirements
    )
    facts = tuple(evidence(one, "head", turn, "passed") for one in sealed.requirements for turn in (1, 2))
    return Verdict(
        subject="verify",
        commit=HEAD,
        tree=TREE,
        requirements=judged,
        evidence=facts,
        objections=objections,
        undecided=("no check reaches: speed",),
    )


def stated(grade: Grade = Grade.PROVEN, accept: Grade = Grade.ATTESTED) -> Statement:
    sealed = contract()
    return statement(sealed, verdict(sealed, grade), ReceiptSurroundings(accept=accept))


def given(name: str = "*", who: str = "Ada", why: str = "read it") -> Approval:
    return Approval(requirement=name, who=who, why=why, at=1_700_000_100.5)
