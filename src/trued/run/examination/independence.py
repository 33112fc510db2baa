"""Whose word stands behind an agent's cases: that of another vendor than everybody's who writes code."""

from collections.abc import Iterable, Set

from trued.model import Author, Contract, ManualCheck, Requirement
from trued.proof.room.bench import check_hash
from trued.run.context import Kit

EXAMINERS = ("examiner", "second-examiner")
# They check or tell; one that has changed something is an implementer from then on.
MENDERS = frozenset({"purple-team-b", "verify-agent", "pr-agent", "qa", "uat"})
# They look, and write down what they see: their one document is no code.
CRITICS = frozenset(
    {
        *("ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"),
        *("v-build", "v-tests", "v-tasks", "v-feature", "r-quality", "r-security", "r-testing", "r-knowledge"),
    }
)


def implementers(kit: Kit) -> set[str]:
    """The vendors of all who plan and build."""
    agents = kit.settings.agents.items()
    return {kit.capabilities(agent).vendor for role, agent in agents if role not in (*EXAMINERS, *MENDERS, *CRITICS)}


def written(brought: Iterable[Requirement], role: str) -> dict[str, Author]:
    """Checks that an agent of this role named are not the user's own; they are visible, so that no vendor helps."""
    checks = [check for one in brought for check in one.checks if not isinstance(check, ManualCheck)] if role else []
    return {check_hash(check): Author(role=role) for check in checks}


def independent(kit: Kit, author: Author, others: Set[str]) -> bool:
    """One of those who wrote or answered the cases is of another vendor; whose vendor nobody knows is no other."""
    vendors = {kit.capabilities(agent).vendor for agent in (author.agent, *author.agreed)} - {""}
    return bool(others) and "" not in others and bool(vendors - others)


def weakened(kit: Kit, contract: Contract, mended: Set[str]) -> Contract:
    """The contract when agents of these vendors have written code, too. Nobody becomes independent by it."""
    others = implementers(kit) | mended
    fallen = {
        name: one.model_copy(update={"independent": False})
        for name, one in contract.authors.items()
        if one.independent and not independent(kit, one, others)
    }
    if not fallen:
        return contract
    said = f"{', '.join(sorted(mended))} mended code: cases of its examiner are no other vendor's any more"
    return contract.model_copy(
        update={"authors": {**contract.authors, **fallen}, "undecided": (*contract.undecided, said)}
    )
