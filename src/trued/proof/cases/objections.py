"""Selects the objections whose cases the engine runs: only about known entry points, and a limited number per role."""

from collections.abc import Sequence

from trued.model import Case, Contract, ExamplesCheck, Finding
from trued.proof.cases.entry_points import KnownNames
from trued.proof.cases.vacuous_cases import declares, entry_point, unnamed_entry, why_not_the_projects
from trued.proof.hashes import check_hash
from trued.proof.text.commit_texts import text_files
from trued.protocols import Workspace

MOST_A_ROUND = 12  # at most this many new cases of one role are run in a round; no honest reviewer has written more
# At most this many new cases of one role about one requirement and entry point are run in a round: enough to show a
# mistake, and too few to find out held-out data by trying.
MOST_AN_ENTRY_POINT = 3
MOST_A_RUN = 40  # at most this many cases of one role are run in a whole run


def without_case(finding: Finding, why: str) -> Finding:
    """The objection without its case, with the reason why the case was not run. The objection still disputes the
    requirement."""
    where = f"{finding.where}; " if finding.where else ""
    return finding.model_copy(update={"case": None, "where": f"{where}not run: {why}"})


class ObjectionLimits:
    """Limits how many cases of each role are run in a round and in a run. A case that was run before may be run again,
    and does not count again."""

    def __init__(self, before: set[tuple[str, str]]) -> None:
        """`before`: the cases that the engine has already tried in this run, each with the role that objected.
        `allowed` adds new cases to this set."""
        self.before, self.known = before, frozenset(before)
        self.by_entry_point: dict[tuple[str, str, str], set[str]] = {}  # role, requirement, entry point → cases

    def allowed(self, finding: Finding, role: str) -> Finding:
        """The objection as it is, or without its case if the role has used up its limit. A new case that is allowed is
        counted."""
        if finding.case is None:
            return finding
        name = check_hash(ExamplesCheck(cases=(finding.case,)))
        cases = self.by_entry_point.setdefault((role, finding.requirement, entry_point(finding.case)), set())
        if (role, name) in self.known or name in cases:
            return finding
        if why := self._why_too_many(role, name, cases):
            return without_case(finding, why)
        cases.add(name)
        self.before.add((role, name))
        return finding

    def _why_too_many(self, role: str, name: str, cases: set[str]) -> str:
        cases_of_role = {case for who, case in self.before if who == role}
        new_cases = {case for case in cases_of_role if (role, case) not in self.known}
        if len(cases) >= MOST_AN_ENTRY_POINT:
            return f"more than {MOST_AN_ENTRY_POINT} cases about one requirement and entry point in one round"
        if name in new_cases:
            return ""  # the case is already counted, for another requirement
        if len(new_cases) >= MOST_A_ROUND:
            return f"more than {MOST_A_ROUND} cases in one round"
        return f"more than {MOST_A_RUN} cases in one run" if len(cases_of_role) >= MOST_A_RUN else ""


async def split_runnable(
    workspace: Workspace, contract: Contract, objections: Sequence[Finding]
) -> tuple[list[Finding], list[tuple[Finding, str]]]:
    """The objections whose cases may be run, and the other objections, each with the reason why its case may not."""
    words = "\n".join((*(requirement.text for requirement in contract.requirements), *contract.interface))
    all_names: KnownNames | None = None
    runnable, not_runnable = list[Finding](), list[tuple[Finding, str]]()
    for objection in objections:
        assert objection.case is not None  # noqa: S101  (callers pass only objections with a case)
        why = why_not_runnable(objection.case, contract, KnownNames(words))
        if why:
            # the files are read only if needed
            all_names = all_names or KnownNames(words, await text_files(workspace, contract.base))
            why = why_not_runnable(objection.case, contract, all_names)
        if why:
            not_runnable.append((objection, why))
        else:
            runnable.append(objection)
    return runnable, not_runnable


def why_not_runnable(case: Case, contract: Contract, known_names: KnownNames) -> str:
    """Why the engine does not run this case, or "".

    The case's entry point must occur in the interface, in the user's words or on the base, and the case must contain no
    code of its own. So no case can call a back door of the head.
    """
    if why := why_not_the_projects(case, known_names):
        return why
    if any(declares(line, case) for line in contract.interface) or not unnamed_entry(
        case, contract.interface, known_names
    ):
        return ""
    return f"neither the interface nor the user's words nor the base names {entry_point(case)}"
