"""The contract: requirements in the user's words, their checks, what limits their grades until a person approves, who
wrote the cases, and every amendment."""

from collections.abc import Sequence

from trued.model import Case, Contract
from trued.model.evidence import Author
from trued.page.pages.common import paged, run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.ledger import checks_of
from trued.reporting.views.cases import described

CASES = 20  # cases of one requirement that are shown; the others are counted
LONGEST = 2_000  # maximum length of a case, in characters
WHOLE = "`trued approve` in a terminal shows all"
NOTES = 100


def contract(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    material = reader.material(record)
    sealed = material.contract
    notes = material.verdict.undecided if material.verdict else sealed.undecided if sealed else ()
    paging = paged(sealed.requirements if sealed else (), params)
    shows_cases = sealed is not None and (material.ended or not sealed.held_out)
    cases = {
        requirement.id: _cases([case for check in requirement.checks for case in getattr(check, "cases", ())])
        for requirement in (paging.items if shows_cases else ())
    }
    pieces = {
        "terms": piece(
            "contract/terms.html.j2",
            record=record,
            contract=sealed,
            name=material.contract_hash,
            accept=material.settings.accept,
            authors=_authors(sealed) if sealed else [],
            caps=list(sealed.caps.items())[:NOTES] if sealed else [],
            notes=() if material.holds_out else notes[:NOTES],
            notes_held_back=len(notes) if material.holds_out else 0,
            amendments=reader.store.amendments(record.id)[-NOTES:],
        ),
        "requirements": piece(
            "contract/requirements.html.j2",
            record=record,
            paging=paging,
            checks={requirement.id: checks_of(requirement) for requirement in paging.items},
            cases=cases,
            held_back=bool(sealed and not shows_cases),
        ),
    }
    return run_page(reader, record, "contract", "Contract", pieces)


def _cases(every: Sequence[Case]) -> list[str]:
    """The cases for a person to read before they approve them, with a remark if cases are cut or left out."""
    texts = [described(text) for text in every[:CASES]]
    shown = [text if len(text) <= LONGEST else f"{text[:LONGEST]} … (cut: {WHOLE})" for text in texts]
    return shown + ([f"… and {len(every) - CASES} more: {WHOLE}"] if len(every) > CASES else [])


def _authors(sealed: Contract) -> list[Author]:
    """Who wrote cases, each once."""
    return list({author.model_dump_json(): author for author in sealed.authors.values()}.values())


ROUTE = PageRoute("/r/{run}/contract", contract)
