"""The page on which a person approves a contract: all of it, as `trued approve` shows it, above the form."""

from trued.model import Contract, RunRecord
from trued.page.pages.common import run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.proof.hashes import contract_hash
from trued.reporting.views.contract import DescribedRequirement, contract_terms, described_requirement
from trued.support.plain_text import plain_line

LONGEST = 2_000_000  # maximum length of a contract that a browser shows, in characters


def approve(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    return run_page(reader, record, "contract", "Approve", {"approving": _approving(reader, record)})


def _approving(reader: Reader, record: RunRecord) -> str:
    """The contract with the form that names its hash, in one piece: nothing but what is shown can be approved.

    Held-out cases are shown here before the run has ended, but only if it waits for this approval.
    """
    waits = any(wait.kind == "approve" for wait in reader.waits(record))
    contract = reader.store.contract(record.id) if waits else None
    requirements, terms = _in_lines(contract) if contract and reader.can_steer else ([], [])
    length = sum(len(text) for one in requirements for text in (one.words, *one.facts, *one.checks))
    return piece(
        "approve/contract.html.j2",
        record=record,
        waits=waits,
        can_steer=reader.can_steer,
        is_too_long=length > LONGEST,
        name=contract_hash(contract) if contract else "",
        requirements=requirements,
        terms=terms,
    )


def _in_lines(contract: Contract) -> tuple[list[DescribedRequirement], list[str]]:
    described = [described_requirement(requirement, cases=True) for requirement in contract.requirements]
    return described, [plain_line(term) for term in contract_terms(contract, cases=True)]


ROUTE = PageRoute("/r/{run}/approve", approve)
