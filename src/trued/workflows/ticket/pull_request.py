"""The pull request of a ticket: whether the work may be offered, and how it is offered once."""

from collections.abc import Mapping
from dataclasses import asdict

from trued.errors import AgentFailed, BadInput, ForgeFailed, Waiting
from trued.model import Finding, Judged, Outcome, Severity, Value
from trued.model.events.landing import PullRequestOffered, PullRequestWithheld
from trued.proof.verdict.conclusion import conclude
from trued.run.run import Run
from trued.support.hashing import digest


class Offering(Value):
    """The recorded result of an offer: the pull request, or `asks`, the files that need a person's consent first. If
    the offer has neither, the pull request must be opened on the machine that has the repository."""

    number: int = 0
    url: str = ""
    state: str = ""
    asks: dict[str, str] = {}  # noqa: RUF012 (a frozen value)
    title: str = ""
    body: str = ""
    draft: bool = False
    head: str = ""


def grade_finding(judged: Judged) -> Finding:
    """A requirement's grade, as a finding for the agent that writes the pull request: a fact, not an issue."""
    return Finding(what=f"{judged.id} is {judged.grade}", where=judged.text, severity=Severity.NONE)


def succeeded(run: Run, outcome: Outcome) -> bool:
    """Whether the outcome counts as a success, by everything known now, approvals included."""
    verdict = outcome.verdict
    if verdict is None:
        return False
    approved = run.context.with_approvals(verdict)
    return conclude(approved, run.judgement.contract(), run.settings.accept).state == "done"


async def offer(run: Run, *, draft: bool = False) -> Offering:
    """Push the head and open its pull request, or update the open one. This happens only once, even if the engine is
    killed.

    If files that tools execute automatically need a person's consent, or the repository is on another machine,
    nothing is pushed, and the work waits to be landed. Raises Waiting or AgentFailed if the offer fails: a resumed run
    tries again.
    """
    open_request, name = run.context.offer, run.id
    if open_request is None:
        raise BadInput("there is no forge to offer the work to")

    async def step() -> Offering:
        try:
            offered = await open_request(draft)
        except BadInput as error:
            raise Waiting(f"the work is not offered yet: {error}; `trued resume {name}` offers it") from error
        except ForgeFailed as error:
            raise AgentFailed(f"the work is not offered yet: {error}; `trued resume {name}` offers it") from error
        if isinstance(offered, str):
            run.steps.emit("offer", PullRequestWithheld(files=(), why=offered))
            return Offering()
        if isinstance(offered, Mapping):
            why = f"`trued land {name} --pr` shows them, asks, and offers the work"
            run.steps.emit("offer", PullRequestWithheld(files=tuple(offered), why=f"they are sensitive files; {why}"))
            return Offering(asks=dict(offered))
        fields = asdict(offered)
        run.steps.emit("offer", PullRequestOffered(**{name: fields[name] for name in fields if name != "body"}))
        return Offering(**fields)

    inputs = digest(run.branch.head, draft)
    return await run.steps.compute(Offering, run.steps.key("offer"), inputs, step)
