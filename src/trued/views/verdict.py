"""A verification as data: what `verify --json` prints."""

from typing import Any

from .. import proof
from ..types import Contract, Grade, Outcome, Verdict
from . import ledger


def verification(contract: Contract, verdict: Verdict, outcome: Outcome, accept: Grade) -> dict[str, Any]:
    """Grade and requirements with their evidence, then what else a reader may ask for."""
    found = ledger(verdict, contract, over=True)
    taken = [one.isolation for one in (*contract.base_facts, *verdict.evidence)]
    return {
        "grade": found["grade"],
        "requirements": found["requirements"],
        "state": outcome.state,
        "code": proof.exit_code(outcome),
        "why": list(outcome.why),
        "accept": str(accept),
        "lowered": accept.rank < Grade.ATTESTED.rank,
        "commit": verdict.commit,
        "tree": verdict.tree,
        "base": contract.base,
        "contract": proof.contract_hash(contract),
        "held_out": contract.held_out,
        "held_out_why": contract.held_out_why,
        "isolation": sorted(set(taken)),
        "undecided": list(verdict.undecided),
        "lacking": list(outcome.lacking),
    }
