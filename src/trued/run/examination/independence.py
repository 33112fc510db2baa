"""Whether cases by agents are independent: their author, or an agent that confirmed them, is of another vendor than all
agents that plan and build."""

from collections.abc import Iterable, Set

from trued.model import Author, Contract, ManualCheck, Requirement
from trued.model.step_keys import EXAMINERS
from trued.proof.hashes import check_hash
from trued.run.context import RunContext


def implementer_vendors(context: RunContext) -> set[str]:
    """The vendors of all agents that plan and build."""
    others = {*EXAMINERS, *context.repairing_roles, *context.reviewing_roles}
    return {context.capabilities(agent).vendor for role, agent in context.settings.agents.items() if role not in others}


def authors_of(requirements: Iterable[Requirement], role: str) -> dict[str, Author]:
    """Hash of a check → author, for the checks that a plan brings with its requirements, except manual checks. `role`:
    the role of the agent that wrote the plan. If the user wrote the plan, `role` is "" and the result is empty."""
    checks = (
        [check for requirement in requirements for check in requirement.checks if not isinstance(check, ManualCheck)]
        if role
        else []
    )
    return {check_hash(check): Author(role=role) for check in checks}


def is_independent(context: RunContext, author: Author, others: Set[str]) -> bool:
    """Whether an agent that wrote or confirmed the cases has a known vendor that is not in `others`.

    False if `others` is empty or contains an unknown vendor ("").
    """
    vendors = {context.capabilities(agent).vendor for agent in (author.agent, *author.agreed)} - {""}
    return bool(others) and "" not in others and bool(vendors - others)


def weaken_authors(context: RunContext, contract: Contract, repairing: Set[str]) -> Contract:
    """The contract after agents of the `repairing` vendors changed code: cases by these vendors are no longer
    independent."""
    others = implementer_vendors(context) | repairing
    weakened = {
        name: author.model_copy(update={"independent": False})
        for name, author in contract.authors.items()
        if author.independent and not is_independent(context, author, others)
    }
    if not weakened:
        return contract
    note = f"{', '.join(sorted(repairing))} repaired code: the cases of its examiner no longer come from another vendor"
    return contract.model_copy(
        update={"authors": {**contract.authors, **weakened}, "undecided": (*contract.undecided, note)}
    )
