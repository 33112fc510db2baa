"""Whose word stands behind an agent's cases: that of another vendor than everybody's who writes code."""

from collections.abc import Iterable, Set

from trued.model import Author, Contract, ManualCheck, Requirement
from trued.proof.room.bench import check_hash
from trued.run.context import RunContext

EXAMINERS = ("examiner", "second-examiner")


def implementers(context: RunContext) -> set[str]:
    """The vendors of all who plan and build."""
    others = {*EXAMINERS, *context.repairing_roles, *context.reviewing_roles}
    return {context.capabilities(agent).vendor for role, agent in context.settings.agents.items() if role not in others}


def authors_of(brought: Iterable[Requirement], role: str) -> dict[str, Author]:
    """Checks that an agent of this role named are not the user's own; they are visible, so that no vendor helps."""
    checks = [check for one in brought for check in one.checks if not isinstance(check, ManualCheck)] if role else []
    return {check_hash(check): Author(role=role) for check in checks}


def is_independent(context: RunContext, author: Author, others: Set[str]) -> bool:
    """One of those who wrote or answered the cases is of another vendor; whose vendor nobody knows is no other."""
    vendors = {context.capabilities(agent).vendor for agent in (author.agent, *author.agreed)} - {""}
    return bool(others) and "" not in others and bool(vendors - others)


def weaken_authors(context: RunContext, contract: Contract, mended: Set[str]) -> Contract:
    """The contract when agents of these vendors have written code, too. Nobody becomes independent by it."""
    others = implementers(context) | mended
    fallen = {
        name: one.model_copy(update={"independent": False})
        for name, one in contract.authors.items()
        if one.independent and not is_independent(context, one, others)
    }
    if not fallen:
        return contract
    said = f"{', '.join(sorted(mended))} mended code: cases of its examiner are no other vendor's any more"
    return contract.model_copy(
        update={"authors": {**contract.authors, **fallen}, "undecided": (*contract.undecided, said)}
    )
