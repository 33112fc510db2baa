"""Claims of an implementer: the branch, the commit and the files that it names, compared with git."""

from collections.abc import Sequence

from trued.model import Finding, Severity, Value
from trued.model.events.proof import ClaimRefuted
from trued.run.claims import unchanged_files, unnamed_files
from trued.run.run import Run
from trued.support.hashing import digest
from trued.workflows.ticket.issues import ENGINE


class ImplementerClaims(Value):
    """What an implementer claims about its work: the branch, its last commit, and the files that it changed."""

    branch: str = ""
    commit: str = ""
    files: tuple[str, ...] = ()


def claim_mismatches(
    claimed: ImplementerClaims, branch: str, files: Sequence[str], *, known: bool
) -> tuple[Finding, ...]:
    """A minor gap for each claim that git refutes. `known`: whether the claimed commit belongs to the run."""
    wrong: list[str] = []
    if claimed.branch != branch:
        wrong.append(f"the implementer names the branch {claimed.branch or '(none)'}, but the work is on {branch}")
    if claimed.commit and not known:
        wrong.append(f"the implementer names the commit {claimed.commit[:40]}, which is not on {branch}")
    if unnamed := sorted(unnamed_files(claimed.files, files)):
        wrong.append(f"changed but not named: {', '.join(unnamed[:20])}")
    if unchanged := sorted(unchanged_files(claimed.files, files)):
        wrong.append(f"named but not changed: {', '.join(unchanged[:20])}")
    return tuple(Finding(what=what, severity=Severity.MINOR, by=ENGINE) for what in wrong)


class Findings(Value):
    found: tuple[Finding, ...] = ()


async def check_claims(run: Run, claimed: ImplementerClaims, since: str) -> tuple[Finding, ...]:
    """Compare an implementer's claims with git. Each mismatch is a gap in the briefs of later agents."""
    files = await run.branch.changes(since)

    async def step() -> Findings:
        known = await run.context.workspace.is_known_commit(claimed.commit)
        wrong = claim_mismatches(claimed, run.branch.name, files, known=known)
        for gap in wrong:
            run.steps.emit("claims", ClaimRefuted(what=run.context.redact(gap.what)))
        return Findings(found=wrong)

    inputs = digest(claimed.model_dump(mode="json"), since, run.branch.head)
    return (await run.steps.compute(Findings, run.steps.key("claims"), inputs, step)).found
